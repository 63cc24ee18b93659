#include "xir/tensor.h"

#include <algorithm>

#include "xir/value.h"

namespace xir {

// INT64_MAX where it is larger than that, which no tensor of a program is.
int64_t Shape::numel() const {
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] == 0) return 0;
    if (__builtin_mul_overflow(count, dims[i], &count)) count = INT64_MAX;
  }
  return count;
}

std::string Shape::ToString() const {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + "]";
}

bool Shape::operator==(const Shape& other) const {
  return rank == other.rank && std::equal(dims.begin(), dims.begin() + rank, other.dims.begin());
}

bool Tensor::is_contiguous() const {
  for (size_t i = 0; i < rank(); ++i) {
    if (dim_order[i] != i) return false;
  }
  return true;
}

Shape Tensor::physical_shape() const {
  Shape physical;
  physical.rank = rank();
  for (size_t i = 0; i < rank(); ++i) physical[i] = shape[dim_order[i]];
  return physical;
}

std::array<int64_t, kMaxRank> Tensor::strides() const {
  std::array<int64_t, kMaxRank> strides{};
  int64_t step = 1;
  for (size_t i = rank(); i-- > 0;) {
    strides[dim_order[i]] = step;
    step *= shape[dim_order[i]];
  }
  return strides;
}

Status Tensor::CheckShape(const Shape& to) const {
  if (to == shape) return {};
  if (!resizable) {
    return Fail(Code::kInvalidArgument, "the shape is fixed at ", shape.ToString(), ", not ",
                to.ToString());
  }
  bool fits = to.rank == bound.rank;
  for (size_t i = 0; fits && i < to.rank; ++i) fits = to[i] >= 0 && to[i] <= bound[i];
  if (!fits) {
    return Fail(Code::kInvalidArgument, "shape ", to.ToString(), " exceeds the bound ",
                bound.ToString());
  }
  return {};
}

Status Tensor::Resize(const Shape& to) {
  XIR_RETURN_IF_ERROR(CheckShape(to));
  const size_t needed = static_cast<size_t>(to.numel()) * ElementSize(dtype);
  if (needed > capacity) {
    return Fail(Code::kInvalidArgument, "shape ", to.ToString(), " takes ", needed,
                " bytes, and its memory has ", capacity);
  }
  shape = to;
  return {};
}

std::string_view KindName(const Value& value) {
  struct Namer {
    std::string_view operator()(const None&) { return "none"; }
    std::string_view operator()(int64_t) { return "int"; }
    std::string_view operator()(bool) { return "bool"; }
    std::string_view operator()(double) { return "double"; }
    std::string_view operator()(const Tensor&) { return "tensor"; }
    std::string_view operator()(const std::string&) { return "string"; }
    std::string_view operator()(const IntList&) { return "int list"; }
    std::string_view operator()(const std::vector<double>&) { return "double list"; }
    std::string_view operator()(const std::vector<bool>&) { return "bool list"; }
    std::string_view operator()(const TensorList&) { return "tensor list"; }
  };
  return std::visit(Namer{}, value.content);
}

}  // namespace xir
