// What a backend is: it runs delegates, the parts of a program that are compiled as a whole. A file
// has a delegate's id, bytes that only its backend understands, and the options that it was
// compiled with; the program calls it with values, as it calls a kernel.
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
// A program has one backend of a kind, which makes of each delegate a plan when the program loads,
// and of each plan a delegate when a method is instantiated. XNNPACK is behind the same interface.
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

// One option that a delegate was compiled with. The value is text with a zero behind it, or
// whatever else the compiler wrote.
struct CompileSpec {
  std::string_view key;
  Bytes value;
};

// What a file and the .ptd files that were given with it hold by name.
class NamedData {
 public:
  virtual ~NamedData() = default;
  // Null where there is none of the name.
  virtual const Bytes* Find(std::string_view name) const = 0;
};

// What a file holds of one delegate. None of it is trusted. It stays as long as the program, and is
// readable for kOverreadBytes (buffer.h) behind its end.
struct DelegateData {
  size_t index = 0;  // among its method's delegates, for messages
  Bytes bytes;       // at whatever alignment the file gives them
  Span<const CompileSpec> specs;
  const NamedData* named = nullptr;
  WorkBudget* budget = nullptr;

  // Accounts for so many bytes of the file that are walked, hashed or copied: any number of
  // delegates may share them. Fails once a small file makes much work.
  Status Charge(uint64_t count) const;
};

// What a program is loaded with.
struct BackendOptions {
  std::shared_ptr<ThreadPool> thread_pool;
  Allocator* allocator = nullptr;  // of methods' memory; null is the system's (AllocateBuffer)
  uint64_t max_memory = 0;         // that one delegate may take, in bytes
  std::vector<std::string> xnnpack_paths;
  // LoadOptions::packed_weights. The file of that name is XNNPACK's; other backends append to it.
  std::string packed_weights;
  // Names the program's files as they were when they were opened; 0, which is no name, where some
  // of it comes from memory, or is so new that a change that follows might not show.
  uint64_t source = 0;
  // Says that a part of the file, once read, will hardly be read again.
  std::function<void(Bytes)> release;
};

// A delegate's call that was verified, for any number of instances. Immutable but for what the
// first instance makes, such as packed weights.
class DelegatePlan {
 public:
  virtual ~DelegatePlan() = default;
  // Checks the arguments of one call, as the file declares them: kinds, dtypes, largest shapes,
  // dimension orders; tensors need not have memory yet. Answers the tensors that an execution
  // writes as a whole. Called when a method loads; Delegate::Execute trusts it.
  virtual Result<std::vector<Value*>> Bind(KernelArgs args) const = 0;
};

// One operator that a delegate runs, for profiles. `name` and `microkernel` as in ProfileEvent.
struct DelegateOperator {
  static constexpr size_t kUnknownNode = SIZE_MAX;
  static constexpr uint32_t kNoHandle = 65535;

  std::string name;
  std::string microkernel;
  size_t node = kUnknownNode;         // an index that its users know: of the graph's nodes
  uint32_t debug_handle = kNoHandle;  // into the file's debug information (docs/debug_info.md)
  uint64_t result_bytes = 0;          // at the largest shapes
  uint64_t constant_bytes = 0;
};

// An instance of a plan. Not for use from two threads at once.
class Delegate {
 public:
  virtual ~Delegate() = default;
  // Runs one call, on arguments of the kinds that Bind saw. Every tensor among them has memory for
  // its shape, and written ones are writable; shapes are within the declared ones. Sizes its
  // results (Tensor::Resize), and checks that their memory holds them (Tensor::capacity).
  virtual Status Execute(KernelContext& context, KernelArgs args) = 0;

  // For profiles, of delegates that were instantiated for one: the operators in the order in which
  // they run, and the microseconds that each of them took in the last execution.
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
  std::string remark;    // why the file was of no use, or could not be written; mostly empty
};

// A backend of one program, which it outlives the plans and delegates of. Prepare is called while
// the program loads, from one thread; Instantiate from any number at once.
class Backend {
 public:
  virtual ~Backend() = default;
  // Verifies what a file holds of a delegate, as if its author were hostile.
  virtual Result<std::unique_ptr<const DelegatePlan>> Prepare(const DelegateData& data) = 0;
  // The delegates of this backend in one instance of a method, in the order in which they came.
  // They never run at the same time, so they may share scratch memory. `profile` is asked for
  // where executions are to tell their operators' times.
  virtual Result<std::vector<std::unique_ptr<Delegate>>> Instantiate(
      Span<const PlannedDelegate> delegates, bool profile) = 0;
  virtual PackedFileState packed_file() const { return {}; }
  // Bytes of the weights that are packed by now, for all plans and instances together.
  virtual size_t packed_bytes() const { return 0; }
};

// A backend by the id that delegates name it by. Ids with one `create` share a backend.
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
