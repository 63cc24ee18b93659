#include "inputs.h"

#include <cstring>
#include <utility>

#include "files.h"

namespace xir::runner {
namespace {

template <typename T>
void FillWithOnes(std::vector<uint8_t>* data) {
  const T one = 1;
  for (size_t i = 0; i + sizeof(T) <= data->size(); i += sizeof(T)) {
    std::memcpy(data->data() + i, &one, sizeof(T));
  }
}

// What a tensor of ones of `dtype` looks like in memory.
void FillWithOnes(DType dtype, std::vector<uint8_t>* data) {
  switch (dtype) {
    case DType::kFloat:
      return FillWithOnes<float>(data);
    case DType::kDouble:
      return FillWithOnes<double>(data);
    case DType::kHalf: {
      const uint16_t one = 0x3C00;
      for (size_t i = 0; i + 1 < data->size(); i += 2) std::memcpy(data->data() + i, &one, 2);
      return;
    }
    case DType::kBFloat16: {
      const uint16_t one = 0x3F80;
      for (size_t i = 0; i + 1 < data->size(); i += 2) std::memcpy(data->data() + i, &one, 2);
      return;
    }
    default:
      break;
  }
  switch (ElementSize(dtype)) {
    case 1:
      return FillWithOnes<uint8_t>(data);
    case 2:
      return FillWithOnes<uint16_t>(data);
    case 4:
      return FillWithOnes<uint32_t>(data);
    default:
      return FillWithOnes<uint64_t>(data);
  }
}

// A file of a tensor's bytes alone, at its largest shape.
Result<Array> RawInput(const Tensor& tensor, const std::string& path, std::vector<uint8_t> bytes) {
  const auto wanted = static_cast<size_t>(tensor.bound.numel()) * ElementSize(tensor.dtype);
  if (bytes.size() != wanted) {
    return Fail(Code::kInvalidArgument, "'", path, "' has ", bytes.size(), " bytes and is no .npy ",
                "file; a tensor of ", Name(tensor.dtype), " ", tensor.bound.ToString(), " has ",
                wanted);
  }
  return Array{tensor.dtype, tensor.bound, std::move(bytes)};
}

}  // namespace

void Reorder(const Tensor& layout, const uint8_t* from, uint8_t* to, bool to_c_order) {
  const size_t element = ElementSize(layout.dtype);
  const auto strides = layout.strides();
  const int64_t count = layout.numel();
  std::vector<int64_t> index(layout.rank(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < layout.rank(); ++d) at += index[d] * strides[d];
    const auto c_order = static_cast<size_t>(i) * element;
    const auto physical = static_cast<size_t>(at) * element;
    std::memcpy(to + (to_c_order ? c_order : physical), from + (to_c_order ? physical : c_order),
                element);
    for (size_t d = layout.rank(); d-- > 0;) {
      if (++index[d] < layout.shape[d]) break;
      index[d] = 0;
    }
  }
}

Array Ones(const Tensor& tensor) {
  Array ones{tensor.dtype, tensor.bound, {}};
  ones.data.resize(static_cast<size_t>(tensor.bound.numel()) * ElementSize(tensor.dtype));
  FillWithOnes(tensor.dtype, &ones.data);
  return ones;
}

Result<Array> ParseInput(const Tensor& tensor, const std::string& path,
                         std::vector<uint8_t> bytes) {
  if (!IsNpy(bytes)) return RawInput(tensor, path, std::move(bytes));
  XIR_ASSIGN_OR_RETURN(Array array, ParseNpy(path, bytes));
  const bool bits = array.dtype == DType::kUInt16 && tensor.dtype == DType::kBFloat16;
  if (array.dtype != tensor.dtype && !bits) {
    return Fail(Code::kInvalidArgument, "'", path, "' holds ", Name(array.dtype), ", not ",
                Name(tensor.dtype));
  }
  Tensor layout = tensor;
  XIR_RETURN_IF_ERROR(layout.CheckShape(array.shape).In("'" + path + "'"));
  layout.shape = array.shape;
  if (!layout.is_contiguous()) {
    std::vector<uint8_t> reordered(array.data.size());
    Reorder(layout, array.data.data(), reordered.data(), /*to_c_order=*/false);
    array.data = std::move(reordered);
  }
  return array;
}

namespace {

Result<Array> MakeInput(const Tensor& tensor, const std::string* path) {
  if (path == nullptr) return Ones(tensor);
  XIR_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(*path));
  return ParseInput(tensor, *path, std::move(bytes));
}

}  // namespace

Result<std::vector<Given>> MakeInputs(const Method& method, const std::vector<std::string>& paths) {
  std::vector<size_t> tensors;
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    if (method.input(i).get<Tensor>() != nullptr) tensors.push_back(i);
  }
  if (!paths.empty() && paths.size() != tensors.size()) {
    const char* of = tensors.size() == method.num_inputs() ? " inputs" : " tensors";
    return Fail(Code::kInvalidArgument, "the method takes ", tensors.size(), of, ", and ",
                paths.size(), " files were given");
  }
  std::vector<Given> inputs;
  for (const size_t i : tensors) {
    const std::string* path = paths.empty() ? nullptr : &paths[inputs.size()];
    auto input = MakeInput(*method.input(i).get<Tensor>(), path);
    if (!input.ok()) return std::move(input).status().In("input " + std::to_string(i));
    inputs.push_back({i, std::move(input).value()});
  }
  return inputs;
}

}  // namespace xir::runner
