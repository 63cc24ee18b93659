#include "xir/check_graph.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/file_bytes.h"
#include "core/guard.h"
#include "program/description.h"
#include "verify/verify_graph.h"
#include "xnnpack/datatype.h"
#include "xnnpack/loader.h"
#include "xnnpack/subgraph_builder.h"

namespace xir {
namespace {

// Zeros that take address space and no memory: nobody writes to them.
class Zeros {
 public:
  explicit Zeros(size_t size)
      : size_(size + kOverreadBytes),
        data_(mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  }
  Zeros(const Zeros&) = delete;
  ~Zeros() {
    if (ok()) munmap(data_, size_);
  }

  bool ok() const { return data_ != MAP_FAILED; }
  Bytes bytes() const { return Bytes(static_cast<const uint8_t*>(data_), size_ - kOverreadBytes); }

 private:
  size_t size_;
  void* data_;
};

// A cache that has every packed weight already, so that XNNPACK packs none. The runtime that is
// created with it must not run: all packed weights have one address, and no content.
class EmptyWeights {
 public:
  EmptyWeights() {
    provider_.context = this;
    provider_.look_up = [](void*, const xnn_weights_cache_look_up_key*) -> size_t { return 0; };
    // A deconvolution packs before it asks the cache.
    provider_.reserve_space = [](void* self, size_t n) -> void* {
      auto& buffer = static_cast<EmptyWeights*>(self)->buffer_;
      if (n > buffer.size) buffer = {AllocateBuffer(n), n};
      return buffer.memory.get();
    };
    provider_.look_up_or_insert = [](void*, const xnn_weights_cache_look_up_key*, void*,
                                     size_t) -> size_t { return 0; };
    provider_.is_finalized = [](void*) { return true; };
    provider_.offset_to_addr = [](void* self, size_t) -> void* {
      return static_cast<EmptyWeights*>(self)->buffer_.memory.get();
    };
    provider_.delete_cache = [](void*) { return xnn_status_success; };
    provider_.alias_data = [](void*, void*, void*) { return xnn_status_success; };
  }
  EmptyWeights(const EmptyWeights&) = delete;

  xnn_weights_cache_t get() { return &provider_; }

 private:
  struct Buffer {
    AlignedBuffer memory;
    size_t size = 0;
  };

  Buffer buffer_;
  xnn_weights_cache_provider provider_{};
};

// The most memory, in bytes, that values may take while they are checked.
constexpr uint64_t kLargestWorkspace = uint64_t{16} << 20;

// What the values that the graph computes for itself would take side by side, in bytes.
uint64_t BytesInside(const GraphView& view) {
  uint64_t bytes = 0;
  for (const graph::XValue* value : *view.graph->xvalues()) {
    const graph::XNNTensorValue& tensor = *TensorOf(*value);
    if (tensor.flags() != 0 || tensor.constant_buffer_idx() != 0) continue;
    uint64_t elements = 1;
    if (tensor.dims() != nullptr) {
      for (const uint32_t dim : *tensor.dims())
        elements *= dim;  // that fits: the graph is verified
    }
    bytes += elements * DatatypeBits(ToXnnDatatype(tensor.datatype())) / 8;
  }
  return bytes;
}

Result<XnnRuntime> Create(SubgraphBuilder* builder, EmptyWeights* weights,
                          xnn_workspace_t workspace) {
  xnn_runtime_t runtime = nullptr;
  XIR_RETURN_IF_ERROR(
      CheckXnn(builder->CreateRuntime(weights->get(), workspace,
                                      /*threadpool=*/nullptr, /*flags=*/0, &runtime),
               "create the operators"));
  return XnnRuntime(runtime);
}

// XNNPACK takes memory for what is inside of the graph as soon as it knows the shapes, and fills it
// with zeros. Where that is much, the nodes get their shapes in a graph that has numbers outside.
Status CreateAndReshape(SubgraphBuilder* builder, const GraphView& view) {
  EmptyWeights weights;
  xnn_workspace_t workspace = nullptr;
  XIR_RETURN_IF_ERROR(CheckXnn(xnn_create_workspace(&workspace), "create a workspace"));
  const XnnWorkspace workspace_owner(workspace);
  XIR_ASSIGN_OR_RETURN(XnnRuntime runtime, Create(builder, &weights, workspace));
  SubgraphBuilder outside(view, SubgraphBuilder::Inside::kAsOutputs);
  if (BytesInside(view) > kLargestWorkspace) {
    XIR_RETURN_IF_ERROR(outside.Build());
    XIR_ASSIGN_OR_RETURN(runtime, Create(&outside, &weights, workspace));
  }
  return CheckXnn(xnn_reshape_runtime(runtime.get()), "run at these shapes");
}

// The sentence of a failure.
GraphRefusal RefusalOf(const Status& status, std::optional<size_t> node = {}) {
  return {node, status.message()};
}

}  // namespace

namespace {

Result<std::optional<GraphRefusal>> Check(const UnweightedGraph& graph,
                                          Span<const std::string> xnnpack_paths) {
  XIR_RETURN_IF_ERROR(LoadXnnpack(xnnpack_paths));
  XIR_ASSIGN_OR_RETURN(const FileBytes flatbuffer, FileBytes::Copy(graph.flatbuffer));
  const Zeros zeros(graph.constant_bytes);
  if (!zeros.ok()) return Fail(Code::kResource, "no address space for ", graph.constant_bytes);
  ProgramDescription program;
  for (const auto& [name, bytes] : graph.named_data)
    program.named_data.insert_or_assign(std::string(name), bytes);
  // The compiler's own graph: all its constants share one mapping of zeros, as no file's may.
  WorkBudget budget(UINT64_MAX);
  auto view =
      VerifyGraph(DelegateBlob{flatbuffer.bytes(), zeros.bytes()}, program, {UINT64_MAX}, &budget);
  using Refusal = std::optional<GraphRefusal>;
  if (!view.ok()) return Refusal(RefusalOf(std::move(view).status()));
  SubgraphBuilder builder(view.value());
  if (const Status status = builder.Build(); !status.ok()) {
    return Refusal(RefusalOf(status, builder.refused_node()));
  }
  if (const Status status = CreateAndReshape(&builder, view.value()); !status.ok()) {
    return Refusal(RefusalOf(status));
  }
  return Refusal();
}

}  // namespace

Result<std::optional<GraphRefusal>> CheckGraph(const UnweightedGraph& graph,
                                               Span<const std::string> xnnpack_paths) {
  return Guarded([&] { return Check(graph, xnnpack_paths); });
}

}  // namespace xir
