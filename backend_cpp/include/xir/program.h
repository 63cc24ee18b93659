// Loading and running .pte programs.
//
//   XIR_ASSIGN_OR_RETURN(auto program, xir::Program::Open("mv2.pte", {}));
//   XIR_ASSIGN_OR_RETURN(auto method, program->LoadMethod("forward"));
//   XIR_RETURN_IF_ERROR(method->SetInput(0, pixels, shape));
//   XIR_RETURN_IF_ERROR(method->Execute());
//   const xir::Tensor& logits = *method->output(0).get<xir::Tensor>();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "xir/allocator.h"
#include "xir/delegate.h"
#include "xir/kernel.h"
#include "xir/kernel_registry.h"
#include "xir/profile.h"
#include "xir/source.h"
#include "xir/span.h"
#include "xir/status.h"
#include "xir/thread_pool.h"
#include "xir/value.h"

namespace xir {

enum class LogLevel { kInfo, kWarning };

struct LoadOptions {
  // Worker threads, the caller's among them; 0 is one for each core that this process may use.
  // Programs that ask for the same number share their threads.
  size_t threads = 0;
  // The threads to use instead.
  std::shared_ptr<ThreadPool> thread_pool;
  // The most memory, in bytes, that a method's arenas, and separately the activations, packed
  // weights and scratch memory of one delegate, may take; 0 is the machine's memory, or what
  // control groups allow of it.
  uint64_t max_memory = 0;
  // Instructions after which one execution is stopped: a file can hold a loop that does not end.
  uint64_t max_instructions = 10'000'000;
  // Seconds after which one execution is stopped, between two instructions; 0 is no limit. A method
  // may have a limit of its own (Method::LimitSeconds).
  double max_seconds = 0;
  // Asked by the thread that executes, between two instructions and some 20 times a second: true
  // stops the execution as Method::Cancel does.
  std::function<bool()> interrupted;
  // Where to look for XNNPACK after XIR_XNNPACK_LIBRARY: files or directories. Nothing else is
  // looked at; tools that belong to a Python take what PythonLibraryPaths (xir/library.h) finds.
  std::vector<std::string> xnnpack_paths;
  // .ptd files with data that the program refers to by name but does not contain. No name may be in
  // two of them.
  std::vector<Source> data;
  // The application's own kernels and backends, which take precedence over the runtime's.
  std::shared_ptr<const KernelRegistry> kernels;
  // Where the memory of methods comes from; the system's by default.
  std::shared_ptr<Allocator> allocator;
  // Called from any thread, with one line of text, for events that are worth a message but no
  // failure.
  std::function<void(LogLevel level, std::string_view message)> logger;
  // A file in which the program keeps its packed weights: mapped instead of packing them again, and
  // written after packing. It is rewritten if it is damaged, or was written for another XNNPACK,
  // processor or program. Failing to write it is no error, see Program::packed_file. Empty: no
  // file.
  std::string packed_weights;
  // The most bytes of packed weights that the file keeps, of several programs and versions of them:
  // when it is written, the least recently used weights go. What the method that is loaded needs
  // always stays. 0 is 256 MiB, or twice that method's if this is more.
  uint64_t packed_weights_limit = 0;
  // Kernels for operators that have no portable one. Instances on several threads share a kernel.
  KernelProvider fallback;
};

// The declaration of an input or output.
struct ValueInfo {
  std::string_view kind;  // "tensor", "int", "none", …
  // A tensor's:
  DType dtype = DType::kFloat;
  Shape shape;  // the largest one where it is dynamic
  Shape least;  // of an input the smallest one: equal to `shape` where a size is fixed
  bool dynamic = false;
  std::vector<uint8_t> dim_order;  // dimensions from the outermost in memory to the innermost
};

// What a mutable buffer is declared as.
struct BufferInfo {
  std::string name;
  DType dtype = DType::kFloat;
  Shape shape;
  std::vector<uint8_t> dim_order;
  size_t nbytes = 0;
};

// What a method takes and returns, and what runs it.
struct MethodMetadata {
  std::string name;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<BufferInfo> buffers;  // that it keeps between executions, those with a name
  size_t num_delegates = 0;
  uint64_t arena_bytes = 0;  // that each instance plans for values, delegates' own aside
  // Names of the operators that run as kernels, each once; there need not be kernels for them.
  std::vector<std::string> kernel_names;
};

class Method;
struct LoadedProgram;

// What mutable buffers hold: caches and counters, which a program keeps from one execution to the
// next. Instances of methods that are loaded with one state share the buffers of one name, and run
// one after the other. Thread-safe.
class State {
 public:
  virtual ~State() = default;
  // Those with a name, in the file's order.
  virtual std::vector<BufferInfo> buffers() const = 0;
  // Copies a buffer's elements, all of them, in its dimension order.
  virtual Status Read(std::string_view name, void* data, size_t nbytes) const = 0;
  virtual Status Write(std::string_view name, const void* data, size_t nbytes) = 0;
  // Makes all buffers what they were at first.
  virtual void Reset() = 0;
};

// A verified file. Thread-safe. A method is loaded once for each thread that runs it: each load
// gives an instance with memory of its own. All instances share the packed weights, which the first
// one packs.
class Program {
 public:
  static Result<std::shared_ptr<const Program>> Load(const Source& source, LoadOptions options);
  // Maps the file. It must not be changed while the program or one of its methods lives. One that
  // has become shorter fails later loads and executions; the end of the process, if it does so
  // during one.
  static Result<std::shared_ptr<const Program>> Open(const std::string& path, LoadOptions options);
  // Copies the bytes.
  static Result<std::shared_ptr<const Program>> FromBytes(Bytes bytes, LoadOptions options);

  ~Program();

  std::vector<std::string> method_names() const;
  size_t threads() const;
  // Only reads the file: packs no weights and looks up no kernels.
  Result<MethodMetadata> method_metadata(std::string_view name) const;
  // An instance with a state of its own.
  Result<std::unique_ptr<Method>> LoadMethod(std::string_view name) const;
  // One with a state of NewState, or of another instance of the method.
  Result<std::unique_ptr<Method>> LoadMethod(std::string_view name,
                                             std::shared_ptr<State> state) const;
  // The buffers of all methods, for instances to share. Fails where methods do not agree on where
  // they are: ExecuTorch plans them so with share_mutable_buffers, xir always.
  Result<std::shared_ptr<State>> NewState() const;
  // Bytes of the weights that have been packed so far, of all methods and instances together.
  size_t packed_bytes() const;
  PackedFileState packed_file() const;

 private:
  explicit Program(std::shared_ptr<const LoadedProgram> loaded) : loaded_(std::move(loaded)) {}
  static Result<std::shared_ptr<const Program>> LoadSource(const Source& source,
                                                           LoadOptions options);
  Result<std::unique_ptr<Method>> LoadInstance(std::string_view name,
                                               std::shared_ptr<State> state) const;
  std::shared_ptr<const LoadedProgram> loaded_;
};

// An instance of a method, with memory of its own. Not thread-safe. It keeps alive what it needs of
// its program.
class Method {
 public:
  virtual ~Method() = default;

  virtual const std::string& name() const = 0;
  virtual size_t num_inputs() const = 0;
  virtual size_t num_outputs() const = 0;
  // The declaration of input `index`: dtype, largest shape, dimension order.
  virtual const Value& input(size_t index) const = 0;
  // The content is valid until the next execution.
  virtual const Value& output(size_t index) const = 0;
  // What it keeps between executions. One that failed or was cancelled may have changed some of it.
  virtual const std::shared_ptr<State>& state() const = 0;
  virtual size_t num_delegates() const = 0;
  // Names of the operators that run as kernels, each once.
  virtual std::vector<std::string> kernel_names() const = 0;

  // Hands in a tensor of `shape` (logical order) stored in the input's dimension order. The memory
  // is used in place, so it must live until Execute returns; a model that writes to this input
  // needs it `writable`. Fails for another rank, other static sizes, sizes beyond the largest, and
  // sizes that the model has equal and other inputs have not; a call that fails leaves what was
  // given before. Memory that overlaps that of a bound output, or the method's own, is copied
  // first.
  virtual Status SetInput(size_t index, void* data, size_t nbytes, const Shape& shape,
                          bool writable = true) = 0;
  // The same of memory whose dtype and dimension order are known, which are checked as well.
  // `capacity` are the bytes that it has.
  virtual Status SetInput(size_t index, const Tensor& tensor) = 0;
  // A number that the program was specialised for must be given unchanged, or not at all, as
  // strings and None, which are not given.
  virtual Status SetInput(size_t index, int64_t value) = 0;
  virtual Status SetInput(size_t index, bool value) = 0;
  virtual Status SetInput(size_t index, double value) = 0;

  // How a bound output gets into the caller's memory: the operator that computes it writes there,
  // or each execution copies it there from the arena.
  enum class Binding { kInPlace, kCopied };
  // Makes this and all later executions leave output `index`, in its dimension order, in memory of
  // the caller. The memory must live until other memory is bound; null unbinds it. An execution
  // whose result does not fit into `nbytes` fails. The operator writes in place, unless the memory
  // ends less than 64 bytes before the end of its page, or the output shares its place in the arena
  // with another value. No input's memory may overlap it.
  virtual Result<Binding> BindOutput(size_t index, void* data, size_t nbytes) = 0;

  // A kernel may not run the method that it is called by. What kernels throw is a failure as well.
  virtual Status Execute() = 0;

  // Later executions of this instance are stopped, between two instructions, after so many seconds;
  // 0 is no limit. They fail with kResource.
  virtual Status LimitSeconds(double max_seconds) = 0;

  // Callable from any thread. Stops the current execution at the next instruction, or, if there is
  // none, the next execution. That execution fails with kCancelled; later ones are not affected.
  virtual void Cancel() = 0;

  // Executes, and measures how long each part takes. The first profiled execution creates XNNPACK
  // runtimes of its own, which share the packed weights, and so is as slow as a first execution.
  virtual Result<Profile> ExecuteProfiled() = 0;
};

}  // namespace xir
