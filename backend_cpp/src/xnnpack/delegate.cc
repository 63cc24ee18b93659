#include "xnnpack/delegate.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "build_options.h"  // written by CMake
#include "xnnpack/operator_description.h"
#include "xnnpack/subgraph_builder.h"

namespace xir {
namespace {

Tensor& TensorAt(KernelArgs args, uint32_t id) { return *args[id]->get<Tensor>(); }

// A tensor's sizes as XNNPACK has them. A tensor of rank 0 is a vector of one element where the
// graph says so.
bool ReadDims(const Tensor& tensor, size_t rank, PhysicalDims* dims) {
  *dims = {};
  if (tensor.rank() == 0 && rank == 1) {
    (*dims)[0] = 1;
    return true;
  }
  if (tensor.rank() != rank) return false;
  for (size_t i = 0; i < rank; ++i) {
    (*dims)[i] = static_cast<size_t>(tensor.shape[tensor.dim_order[i]]);
  }
  return true;
}

// The other way around.
bool ReadShape(const PhysicalDims& dims, size_t rank, const Tensor& tensor, Shape* shape) {
  shape->rank = tensor.rank();
  if (tensor.rank() == 0 && rank == 1) return dims[0] == 1;
  if (tensor.rank() != rank) return false;
  for (size_t i = 0; i < rank; ++i) {
    (*shape)[tensor.dim_order[i]] = static_cast<int64_t>(dims[i]);
  }
  return true;
}

// XNNPACK writes indices as int32 where the file has int64; back to front, as both use the same
// memory.
void Widen(const Tensor& tensor) {
  auto* bytes = tensor.as<uint8_t>();
  for (size_t i = static_cast<size_t>(tensor.numel()); i-- > 0;) {
    int32_t narrow;
    std::memcpy(&narrow, bytes + i * sizeof(narrow), sizeof(narrow));
    const int64_t wide = narrow;
    std::memcpy(bytes + i * sizeof(wide), &wide, sizeof(wide));
  }
}

}  // namespace

Result<std::unique_ptr<XnnDelegate>> XnnDelegate::Create(const GraphView& view,
                                                         PackedGraph* weights,
                                                         std::shared_ptr<xnn_workspace> workspace,
                                                         pthreadpool_t threadpool, bool profile) {
  std::unique_ptr<XnnDelegate> delegate(
      new XnnDelegate(view, weights, std::move(workspace), threadpool));
  const uint32_t flags = profile ? XNN_FLAG_BASIC_PROFILING : 0;
  XIR_RETURN_IF_ERROR(delegate->weights_.Create([&](xnn_weights_cache_t cache) {
    SubgraphBuilder builder(view);
    if (Status status = builder.Build(); !status.ok()) {
      if (!builder.refused_node().has_value()) return status;
      return std::move(status).In("node " + std::to_string(*builder.refused_node()));
    }
    xnn_runtime_t runtime = nullptr;
    const xnn_status status =
        builder.CreateRuntime(cache, delegate->workspace_.get(), threadpool, flags, &runtime);
    delegate->runtime_.reset(runtime);
    return CheckXnn(status, "create a runtime");
  }));
  for (const graph::XValue* value : *view.graph->xvalues()) {
    const graph::XNNTensorValue& tensor = *TensorOf(*value);
    if (tensor.external_id() == XNN_INVALID_VALUE_ID) continue;
    External& external = delegate->externals_.emplace_back();
    external.id = tensor.external_id();
    external.value = tensor.id_out();
    external.is_output = (tensor.flags() & XNN_VALUE_FLAG_EXTERNAL_OUTPUT) != 0;
    if (tensor.dims() != nullptr) {
      external.rank = tensor.dims()->size();
      std::copy(tensor.dims()->begin(), tensor.dims()->end(), external.dims.begin());
    }
    delegate->pointers_.push_back({external.id, nullptr});
  }
  // The declared shapes are the largest ones. Planning for them here keeps it out of the first
  // execution.
  XIR_RETURN_IF_ERROR(CheckXnn(xnn_reshape_runtime(delegate->runtime_.get()), "plan memory"));
  XIR_RETURN_IF_ERROR(delegate->ReadOutputShapes());
  delegate->reshape_needed_ = false;
  return delegate;
}

Status XnnDelegate::ReshapeInputs(KernelArgs args) {
  for (External& external : externals_) {
    if (external.is_output) continue;
    const Tensor& tensor = TensorAt(args, external.id);
    PhysicalDims dims;
    if (!ReadDims(tensor, external.rank, &dims)) {
      return Fail(Code::kInvalidArgument, "argument ", external.id, " of shape ",
                  tensor.shape.ToString(), " is of another rank than the graph has it");
    }
    if (!reshape_needed_ && external.dims == dims) continue;
    external.dims = dims;
    // Should anything from here on fail, the next execution starts over.
    reshape_needed_ = true;
  }
  if (!reshape_needed_) return {};
  setup_needed_ = true;
  XIR_RETURN_IF_ERROR(CheckShapes());
  std::unordered_set<uint32_t> empty = shapes_->Empty();
  is_part_ = !empty.empty();
  if (is_part_) return ReshapePart(std::move(empty));
  XIR_RETURN_IF_ERROR(ReshapeRuntime(runtime_.get()));
  XIR_RETURN_IF_ERROR(ReadOutputShapes());
  reshape_needed_ = false;
  return {};
}

Status XnnDelegate::ReshapeRuntime(xnn_runtime_t runtime) {
  for (const External& external : externals_) {
    if (external.is_output || (is_part_ && part_.empty.count(external.value) > 0)) continue;
    XIR_RETURN_IF_ERROR(CheckXnn(
        xnn_reshape_external_value(runtime, external.id, external.rank, external.dims.data()),
        "take the shape of argument " + std::to_string(external.id)));
  }
  return CheckXnn(xnn_reshape_runtime(runtime), "run at these shapes");
}

// Shapes at which something is empty are rare: each time all is checked again, and the weights are
// packed once more, for this runtime alone.
Status XnnDelegate::ReshapePart(std::unordered_set<uint32_t> empty) {
  if (part_.empty != empty) {
    part_ = {};
    SubgraphBuilder builder(view_, SubgraphBuilder::Inside::kInWorkspace, empty);
    if (Status status = builder.Build(); !status.ok()) {
      if (!builder.refused_node().has_value()) return status;
      return std::move(status).In("node " + std::to_string(*builder.refused_node()));
    }
    if (builder.has_nodes()) {
      xnn_runtime_t runtime = nullptr;
      XIR_RETURN_IF_ERROR(CheckXnn(builder.CreateRuntime(/*weights=*/nullptr, workspace_.get(),
                                                         threadpool_, /*flags=*/0, &runtime),
                                   "create a runtime"));
      part_.runtime.reset(runtime);
    }
    part_.empty = std::move(empty);
  }
  for (External& external : externals_) {
    if (!external.is_output) continue;
    const Dims& dims = shapes_->Operand(external.value).dims;
    external.dims = {};
    std::copy_n(dims.size.begin(), external.rank, external.dims.begin());
  }
  return part_.runtime == nullptr ? Status() : ReshapeRuntime(part_.runtime.get());
}

// What was proven of the graph holds for the declared shapes. For others the proof is done again,
// before XNNPACK follows them.
Status XnnDelegate::CheckShapes() {
  if (shapes_ == nullptr) {
    WorkBudget budget(uint64_t{1} << 32);  // the file has passed with its own
    auto shapes = std::make_unique<GraphVerifier>(view_, /*max_memory=*/UINT64_MAX);
    XIR_RETURN_IF_ERROR(shapes->Run(&budget));
    shapes_ = std::move(shapes);
  }
  return shapes_->Follow([this](const graph::XNNTensorValue& input) {
    Dims dims;
    for (const External& external : externals_) {
      if (external.id != input.external_id()) continue;
      dims.rank = external.rank;
      std::copy_n(external.dims.begin(), external.rank, dims.size.begin());
    }
    return dims;
  });
}

Status XnnDelegate::ReadOutputShapes() {
  for (External& external : externals_) {
    if (!external.is_output) continue;
    external.dims = {};
    size_t rank = 0;
    XIR_RETURN_IF_ERROR(CheckXnn(
        xnn_get_external_value_shape(runtime_.get(), external.id, &rank, external.dims.data()),
        "tell the shape of result " + std::to_string(external.id)));
    if (rank != external.rank) {
      return Fail(Code::kInternal, "XNNPACK gives result ", external.id, " rank ", rank);
    }
  }
  return {};
}

Status XnnDelegate::BindTensors(KernelArgs args) {
  for (size_t i = 0; i < externals_.size(); ++i) {
    const External& external = externals_[i];
    Tensor& tensor = TensorAt(args, external.id);
    if (external.is_output) {
      Shape shape;
      if (!ReadShape(external.dims, external.rank, tensor, &shape)) {
        return Fail(Code::kInternal, "result ", external.id, " has another rank than its tensor");
      }
      XIR_RETURN_IF_ERROR(tensor.Resize(shape).In("result " + std::to_string(external.id)));
    }
    if (tensor.nbytes() == 0) continue;
    if (tensor.data == nullptr || tensor.nbytes() > tensor.capacity) {
      return Fail(Code::kInvalidArgument, "argument ", external.id, " has no memory for shape ",
                  tensor.shape.ToString());
    }
    if (pointers_[i].data != tensor.data) {
      pointers_[i].data = tensor.data;
      setup_needed_ = true;
    }
  }
  return {};
}

Status XnnDelegate::Execute(KernelContext&, KernelArgs args) {
  XIR_RETURN_IF_ERROR(weights_.CheckFiles());
  XIR_RETURN_IF_ERROR(ReshapeInputs(args));
  XIR_RETURN_IF_ERROR(BindTensors(args));
  XIR_RETURN_IF_ERROR(Run());
  for (const External& external : externals_) {
    const Tensor& tensor = TensorAt(args, external.id);
    if (external.is_output && tensor.dtype == DType::kLong) Widen(tensor);
  }
  return {};
}

Status XnnDelegate::Run() {
  xnn_runtime_t runtime = is_part_ ? part_.runtime.get() : runtime_.get();
  if (runtime == nullptr) return {};
  if (setup_needed_) {
    std::vector<xnn_external_value> pointers;
    for (size_t i = 0; i < externals_.size(); ++i) {
      if (!is_part_ || part_.empty.count(externals_[i].value) == 0)
        pointers.push_back(pointers_[i]);
    }
    XIR_RETURN_IF_ERROR(
        CheckXnn(xnn_setup_runtime_v2(runtime, pointers.size(), pointers.data()), "take pointers"));
    setup_needed_ = false;
  }
  return CheckXnn(xnn_invoke_runtime(runtime), "run");
}

namespace {

// The first call tells the size that the second one fills.
template <typename T>
Status ReadProfile(xnn_runtime_t runtime, xnn_profile_info info, std::vector<T>* values) {
  size_t size = values->size() * sizeof(T);
  xnn_status status = xnn_get_runtime_profiling_info(runtime, info, size, values->data(), &size);
  if (status == xnn_status_out_of_memory) {
    values->resize(size / sizeof(T));
    status = xnn_get_runtime_profiling_info(runtime, info, size, values->data(), &size);
  }
  return CheckXnn(status, "tell how long its operators took");
}

}  // namespace

Result<std::vector<std::string>> XnnDelegate::OperatorNames() const {
  std::vector<char> text;
  XIR_RETURN_IF_ERROR(ReadProfile(runtime_.get(), xnn_profile_info_operator_name, &text));
  std::vector<std::string> names;
  std::string_view rest(text.data(), text.size());
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

Result<std::vector<DelegateOperator>> XnnDelegate::Operators() const {
  if constexpr (kHasProfiler) {
    XIR_ASSIGN_OR_RETURN(const std::vector<std::string> names, OperatorNames());
    return DescribeOperators(view_, names);
  }
  return std::vector<DelegateOperator>();
}

Status XnnDelegate::ReadOperatorTimes(std::vector<uint64_t>* microseconds) const {
  return ReadProfile(runtime_.get(), xnn_profile_info_operator_timing, microseconds);
}

}  // namespace xir
