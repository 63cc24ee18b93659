// Each allocation fails once, the runtime's own and XNNPACK's: loading or running ends in an error,
// nothing is left behind, and what runs afterwards is as it would have been.

#ifdef XIR_FUZZING

#include "core/failing_allocations.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "golden.h"
#include "library_calls.h"
#include "testing.h"
#include "xir/library.h"
#include "xnnpack/api.h"

namespace xir::testing {
namespace {

// XNNPACK uses what these functions of its own allocate without looking whether it is there
// (src/subgraph.c, src/operators/fingerprint_cache.c, src/operators/binary-elementwise-nd.c,
// src/operators/reduce-nd.c), so all that can be done is to let them have it.
constexpr const char* kUnchecked[] = {"xnn_subgraph_rewrite_ssa", "xnn_subgraph_clean_up",
                                      "fingerprint", "xnn_create_binary_elementwise_nd",
                                      "xnn_create_reduce_nd"};

// Whether one of them is what allocates now.
bool IsUnchecked() {
  void* frames[10];
  const int count = backtrace(frames, 10);
  for (int i = 0; i < count; ++i) {
    Dl_info function;
    if (dladdr(frames[i], &function) == 0 || function.dli_sname == nullptr) continue;
    for (const char* name : kUnchecked) {
      if (std::strstr(function.dli_sname, name) != nullptr) return true;
    }
  }
  return false;
}

// XNNPACK's allocations fail as the runtime's own do while one of these lives. Its library has
// initialised it without an allocator by the time that it is loaded, so its calls are redirected.
class FailingXnnpack {
 public:
  FailingXnnpack() {
    fails_ = true;
    static const bool redirected = Redirect("malloc", reinterpret_cast<void*>(Allocate)) &&
                                   Redirect("realloc", reinterpret_cast<void*>(Reallocate)) &&
                                   Redirect("posix_memalign", reinterpret_cast<void*>(Align));
    EXPECT(redirected);
  }
  FailingXnnpack(const FailingXnnpack&) = delete;
  ~FailingXnnpack() { fails_ = false; }

 private:
  static bool Redirect(const char* name, void* to) {
    return RedirectCalls(reinterpret_cast<const void*>(XIR_XNNPACK_ADDRESS(xnn_create_runtime_v4)),
                         name, to);
  }
  static bool Fails() { return fails_ && AllocationFails() && !IsUnchecked(); }
  static void* Allocate(size_t size) { return Fails() ? nullptr : std::malloc(size); }
  static void* Reallocate(void* memory, size_t size) {
    return Fails() ? nullptr : std::realloc(memory, size);
  }
  static int Align(void** memory, size_t alignment, size_t size) {
    return Fails() ? ENOMEM : posix_memalign(memory, alignment, size);
  }

  static inline bool fails_ = false;
};

// Loads a program and runs it on bytes that are a small float, or as integers 0.
Result<std::vector<uint8_t>> LoadAndRun(const Blob& file) {
  XIR_ASSIGN_OR_RETURN(const auto method, LoadForward(file));
  std::vector<std::vector<uint8_t>> inputs(method->num_inputs());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto* tensor = method->input(i).get<Tensor>();
    if (tensor == nullptr) continue;
    inputs[i].assign(static_cast<size_t>(tensor->bound.numel()) * ElementSize(tensor->dtype),
                     tensor->dtype == DType::kFloat ? 1 : 0);
    XIR_RETURN_IF_ERROR(method->SetInput(i, inputs[i].data(), inputs[i].size(), tensor->bound));
  }
  XIR_RETURN_IF_ERROR(method->Execute());
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < method->num_outputs(); ++i) {
    const auto* tensor = method->output(i).get<Tensor>();
    if (tensor == nullptr) continue;
    bytes.insert(bytes.end(), tensor->as<uint8_t>(), tensor->as<uint8_t>() + tensor->nbytes());
  }
  return bytes;
}

void FailEach(const char* name, size_t at_least) {
  const Blob file = ReadGolden(name);
  auto usual = LoadAndRun(file);
  EXPECT(usual.ok());
  size_t failed = 0;
  for (uint64_t count = 0;; ++count) {
    FailAllocationAfter(count);
    auto result = LoadAndRun(file);
    const bool pending = FailureIsPending();
    FailAllocationAfter(kNoFailure);
    if (pending) break;
    // XNNPACK may do without what it did not get.
    const Status status = std::move(result).status();
    if (status.ok()) continue;
    ++failed;
    EXPECT(!status.message().empty());
  }
  EXPECT(failed >= at_least);
  auto again = LoadAndRun(file);
  EXPECT(again.ok() && again.value() == usual.value());
}

}  // namespace

XIR_TEST(own_allocations_fail_one_by_one) {
  for (const char* name : {"stock_small.pte", "stock_many.pte", "stock_q8.pte", "stock_qd8.pte",
                           "stock_qb4.pte", "stock_dynamic.pte", "stock_portable.pte"}) {
    FailEach(name, 2);
  }
}

#ifndef XIR_LINK_XNNPACK
XIR_TEST(allocations_of_xnnpack_fail_one_by_one) {
  EXPECT_OK(LoadForward(ReadGolden("stock_small.pte")));
  const FailingXnnpack failing;
  for (const char* name : {"stock_small.pte", "stock_many.pte", "stock_q8.pte", "stock_qd8.pte",
                           "stock_qb4.pte", "stock_dynamic.pte"}) {
    FailEach(name, 15);
  }
}
#endif

}  // namespace xir::testing

#endif
