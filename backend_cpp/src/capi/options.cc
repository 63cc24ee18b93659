// What the C interface's sources and options are for the runtime.

#include <cstring>
#include <utility>

#include "capi/handles.h"

namespace xir::capi {
namespace {

class CallbackAllocator final : public Allocator {
 public:
  explicit CallbackAllocator(const xir_allocator& calls) : calls_(calls) {}
  void* Allocate(size_t bytes, size_t alignment) override {
    return calls_.allocate(calls_.context, bytes, alignment);
  }
  void Release(void* memory, size_t bytes) override {
    calls_.release(calls_.context, memory, bytes);
  }

 private:
  xir_allocator calls_;
};

}  // namespace

Result<Source> MakeSource(const xir_source& from) {
  if (from.size != sizeof(xir_source)) {
    return Fail(Code::kInvalidArgument, "a source's size is ", from.size, ", not ",
                sizeof(xir_source));
  }
  const Bytes bytes(static_cast<const uint8_t*>(from.data), static_cast<size_t>(from.length));
  switch (from.kind) {
    case XIR_SOURCE_PATH:
      if (from.path != nullptr) return Source::Path(from.path);
      break;
    case XIR_SOURCE_DESCRIPTOR:
      return Source::Descriptor(from.descriptor, from.offset, from.length);
    case XIR_SOURCE_COPIED:
      if (from.data != nullptr) return Source::Copied(bytes);
      break;
    case XIR_SOURCE_BORROWED:
      if (from.data != nullptr) return Source::Borrowed(bytes);
      break;
  }
  return Fail(Code::kInvalidArgument, "a source has no path or data, or is of an unknown kind");
}

// Options of an earlier version end before fields that were added since, which stay zero.
Result<LoadOptions> MakeOptions(const xir_options* given) {
  LoadOptions options;
  if (given == nullptr) return options;
  xir_options from = XIR_OPTIONS_INIT;
  if (given->size < sizeof(from.size) || given->size > sizeof(from)) {
    return Fail(Code::kInvalidArgument, "the options' size is ", given->size,
                "; this library knows ", sizeof(from));
  }
  std::memcpy(&from, given, given->size);
  options.threads = from.threads;
  options.max_memory = from.max_memory;
  if (from.max_instructions != 0) options.max_instructions = from.max_instructions;
  options.max_seconds = from.max_seconds;
  if (from.packed_weights != nullptr) options.packed_weights = from.packed_weights;
  options.packed_weights_limit = from.packed_weights_limit;
  if (from.thread_pool != nullptr) options.thread_pool = from.thread_pool->pool;
  // A copy: kernels may be added to the handle while the program runs.
  if (from.kernels != nullptr) {
    options.kernels = std::make_shared<const KernelRegistry>(*from.kernels->registry);
  }
  if (from.num_data > 0 && from.data == nullptr) {
    return Fail(Code::kInvalidArgument, "of ", from.num_data, " data files there is no list");
  }
  for (size_t i = 0; i < from.num_data; ++i) {
    XIR_ASSIGN_OR_RETURN(Source source, MakeSource(from.data[i]));
    options.data.push_back(std::move(source));
  }
  for (size_t i = 0; i < from.num_xnnpack_paths; ++i) {
    if (from.xnnpack_paths == nullptr || from.xnnpack_paths[i] == nullptr) {
      return Fail(Code::kInvalidArgument, "path ", i, " to XNNPACK is null");
    }
    options.xnnpack_paths.emplace_back(from.xnnpack_paths[i]);
  }
  if ((from.allocator.allocate == nullptr) != (from.allocator.release == nullptr)) {
    return Fail(Code::kInvalidArgument, "an allocator has one of its two functions");
  }
  if (from.allocator.allocate != nullptr) {
    options.allocator = std::make_shared<CallbackAllocator>(from.allocator);
  }
  if (from.logger.log != nullptr) {
    options.logger = [logger = from.logger](LogLevel level, std::string_view message) {
      logger.log(logger.context, level == LogLevel::kWarning ? XIR_LOG_WARNING : XIR_LOG_INFO,
                 std::string(message).c_str());
    };
  }
  return options;
}

}  // namespace xir::capi
