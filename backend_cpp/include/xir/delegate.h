// The interface of backends. A backend runs delegates: parts of a program that are each compiled as
// a whole. For each delegate a file has the id of its backend, bytes that only that backend
// understands, and the options that it was compiled with. A program calls a delegate with values,
// as it calls a kernel.
//
//   class Doubler final : public Backend {
//    public:
//     explicit Doubler(const BackendOptions& options);
//     Result<std::unique_ptr<const DelegatePlan>> Prepare(const DelegateData& data) override;
//     Result<std::vector<std::unique_ptr<Delegate>>> Instantiate(
//         Span<const PlannedDelegate> delegates, bool profile) override;
//   };
//   constexpr TypedBackend kBackends[] = {MakeBackend<Doubler>("DoublerBackend")};
//
// A program has at most one instance of each backend. The backend turns each delegate of the file
// into a plan when the program loads, and each plan into a Delegate when a method is instantiated.
// XNNPACK implements the same interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "xir/allocator.h"
#include "xir/kernel.h"
#include "xir/span.h"
#include "xir/status.h"
#include "xir/thread_pool.h"
#include "xir/value.h"

namespace xir {

class WorkBudget;

// One option that a delegate was compiled with. By convention the value is zero-terminated text,
// but the compiler may have written any bytes.
struct CompileSpec {
  std::string_view key;
  Bytes value;
};

// The named data of a file and of the .ptd files that were given with it.
class NamedData {
 public:
  virtual ~NamedData() = default;
  // Null if there is none of that name.
  virtual const Bytes* Find(std::string_view name) const = 0;
};

// What a file holds of one delegate. None of it is trusted. The memory lives as long as the
// program, and kOverreadBytes (buffer.h) past its end are readable.
struct DelegateData {
  size_t index = 0;  // among its method's delegates, for messages
  Bytes bytes;       // at whatever alignment the file gives them
  Span<const CompileSpec> specs;
  const NamedData* named = nullptr;
  WorkBudget* budget = nullptr;

  // Charges `count` bytes that are walked, hashed or copied to the budget of the file: many
  // delegates may refer to the same bytes. Fails once the work is out of proportion to the file.
  Status Charge(uint64_t count) const;
};

// What a backend is created with, once per program.
struct BackendOptions {
  std::shared_ptr<ThreadPool> thread_pool;
  Allocator* allocator = nullptr;  // of methods' memory; null is the system's (AllocateBuffer)
  uint64_t max_memory = 0;         // that one delegate may take, in bytes
  std::vector<std::string> xnnpack_paths;
  // LoadOptions::packed_weights, the file in which XNNPACK keeps packed weights. Other backends
  // append a suffix to the name.
  std::string packed_weights;
  uint64_t packed_weights_limit = 0;
  // Identifies the program's files in the state in which they were opened. 0, which identifies
  // nothing, if some of the data comes from memory, or if a file is so new that a later change
  // might leave its time stamps as they are.
  uint64_t source = 0;
  // Tells the runtime that a part of the file has been read and is not likely to be read again.
  std::function<void(Bytes)> release;
};

// A delegate that was verified, shared by all its instances. Immutable, except for what the first
// instance adds, such as packed weights.
class DelegatePlan {
 public:
  virtual ~DelegatePlan() = default;
  // Checks the arguments of one call, as the file declares them: kinds, dtypes, largest shapes,
  // dimension orders; tensors need not have memory yet. Returns the tensors that an execution
  // overwrites completely. Called when a method loads; Delegate::Execute relies on it.
  virtual Result<std::vector<Value*>> Bind(KernelArgs args) const = 0;
};

// One operator that a delegate runs, for profiles. `name` and `microkernel` as in ProfileEvent.
struct DelegateOperator {
  static constexpr size_t kUnknownNode = SIZE_MAX;
  static constexpr uint32_t kNoHandle = 65535;

  std::string name;
  std::string microkernel;
  size_t node = kUnknownNode;         // index among the nodes of the delegate's graph
  uint32_t debug_handle = kNoHandle;  // into the file's debug information (docs/debug_info.md)
  uint64_t result_bytes = 0;          // at the largest shapes
  uint64_t constant_bytes = 0;
};

// An instance of a plan. Not thread-safe.
class Delegate {
 public:
  virtual ~Delegate() = default;
  // Runs one call, on arguments of the kinds that Bind saw. Every tensor has memory for its shape,
  // results are writable, and no shape exceeds the declared one. Resizes its results
  // (Tensor::Resize), and checks that their memory is large enough (Tensor::capacity).
  virtual Status Execute(KernelContext& context, KernelArgs args) = 0;

  // For delegates that were instantiated with `profile`: the operators in the order in which they
  // run, and the microseconds that each of them took in the last execution.
  virtual Result<std::vector<DelegateOperator>> Operators() const {
    return std::vector<DelegateOperator>();
  }
  virtual Status ReadOperatorTimes(std::vector<uint64_t>* microseconds) const {
    microseconds->clear();
    return {};
  }
};

struct PlannedDelegate {
  size_t index = 0;  // among its method's delegates, for messages
  const DelegatePlan* plan = nullptr;
};

// What became of LoadOptions::packed_weights.
struct PackedFileState {
  bool read = false;     // some weights came from the file
  bool written = false;  // weights that were packed are in the file now
  std::string remark;    // why the file was not used, or not written; usually empty
};

// A backend of one program. It outlives its plans and delegates. Prepare is called while the
// program loads, from one thread; Instantiate may be called from several threads at once.
class Backend {
 public:
  virtual ~Backend() = default;
  // Verifies what a file holds of a delegate. The file may have been made to do harm.
  virtual Result<std::unique_ptr<const DelegatePlan>> Prepare(const DelegateData& data) = 0;
  // Instantiates the delegates of this backend in one instance of a method, and returns them in the
  // same order. They never run at the same time, so they may share scratch memory. `profile` says
  // that executions measure the time of each operator.
  virtual Result<std::vector<std::unique_ptr<Delegate>>> Instantiate(
      Span<const PlannedDelegate> delegates, bool profile) = 0;
  virtual PackedFileState packed_file() const { return {}; }
  // Bytes of the weights that have been packed so far, of all plans and instances together.
  virtual size_t packed_bytes() const { return 0; }
};

// A backend and the id by which delegates refer to it. Ids with the same `create` share a backend.
struct TypedBackend {
  std::string_view id;
  Result<std::unique_ptr<Backend>> (*create)(const BackendOptions& options);
};

// A backend that is constructed from the options.
template <typename T>
constexpr TypedBackend MakeBackend(std::string_view id) {
  return {id, [](const BackendOptions& options) -> Result<std::unique_ptr<Backend>> {
            return std::unique_ptr<Backend>(std::make_unique<T>(options));
          }};
}

}  // namespace xir
