#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "xir/dtype.h"
#include "xir/span.h"
#include "xir/status.h"

namespace xir {

inline constexpr size_t kMaxRank = 16;

// Sizes of a tensor in logical order (NCHW for images), without heap memory.
struct Shape {
  size_t rank = 0;
  std::array<int64_t, kMaxRank> dims{};

  int64_t operator[](size_t i) const { return dims[i]; }
  int64_t& operator[](size_t i) { return dims[i]; }
  int64_t numel() const;
  std::string ToString() const;
  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const { return !(*this == other); }
};

// A dense tensor over memory that somebody else owns: an arena, the mapped file, or the caller.
// `dim_order` lists the dimensions from the outermost in memory to the innermost, so
// (0, 2, 3, 1) is NHWC; there are no other strides.
struct Tensor {
  DType dtype = DType::kFloat;
  Shape shape;
  Shape bound;  // the largest shape; equal to `shape` where the tensor is static
  bool resizable = false;
  bool writable = true;  // false for constants and for memory that the caller lends read-only
  std::array<uint8_t, kMaxRank> dim_order{};
  void* data = nullptr;
  size_t capacity = 0;  // bytes that `data` holds

  size_t rank() const { return shape.rank; }
  int64_t numel() const { return shape.numel(); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * ElementSize(dtype); }
  bool is_contiguous() const;  // dim_order is 0, 1, 2, …
  Shape physical_shape() const;
  std::array<int64_t, kMaxRank> strides() const;  // in elements, by logical dimension

  // Whether the tensor may have this shape: its own, or one within the bound where it is resizable.
  Status CheckShape(const Shape& to) const;
  // Sets the shape. Fails where CheckShape does, and for a shape that `capacity` does not hold:
  // memory that a caller lent may be smaller than the bound.
  Status Resize(const Shape& to);

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

}  // namespace xir
