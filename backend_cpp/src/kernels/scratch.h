// Memory and arrays that kernels need for one call.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "kernels/element.h"
#include "kernels/loop_nest.h"
#include "xir/kernel_checks.h"

namespace xir::kernels {

// Elements without initial value, aligned for vectors.
template <typename T>
class Scratch {
 public:
  Status Allocate(int64_t count) {
    size_t size;
    if (!__builtin_mul_overflow(static_cast<size_t>(count), sizeof(T), &size)) {
      data_.reset(static_cast<T*>(::operator new(size, kAlignment, std::nothrow)));
    }
    if (data_ != nullptr) return {};
    return Fail(Code::kResource, "out of memory for ", count, " elements");
  }
  T* data() const { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Deleter {
    void operator()(T* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<T, Deleter> data_;
};

// An operand as a contiguous array of T in logical order: its own memory where that is one, else a
// converted copy.
template <typename T>
class InputArray {
 public:
  Status Init(const Tensor& tensor) {
    if (!IsNumeric(tensor.dtype)) return Unsupported("elements of this dtype");
    if (IsNative(tensor.dtype, kComputeOf<T>) && tensor.is_contiguous()) {
      data_ = tensor.as<T>();
      return {};
    }
    XIR_RETURN_IF_ERROR(copy_.Allocate(tensor.numel()));
    LoadAll(tensor, kComputeOf<T>, copy_.data());
    data_ = copy_.data();
    return {};
  }
  const T* data() const { return data_; }

 private:
  const T* data_ = nullptr;
  Scratch<T> copy_;
};

// A result likewise; Commit() stores what was written. The tensor has its final shape.
template <typename T>
class OutputArray {
 public:
  Status Init(const Tensor& tensor) {
    if (!IsNumeric(tensor.dtype)) return Unsupported("elements of this dtype");
    tensor_ = &tensor;
    if (IsNative(tensor.dtype, kComputeOf<T>) && tensor.is_contiguous()) {
      data_ = tensor.as<T>();
      return {};
    }
    XIR_RETURN_IF_ERROR(copy_.Allocate(tensor.numel()));
    data_ = copy_.data();
    return {};
  }
  T* data() const { return data_; }
  Status Commit() const {
    if (copy_.data() != nullptr) StoreAll(copy_.data(), kComputeOf<T>, *tensor_);
    return {};
  }

 private:
  const Tensor* tensor_ = nullptr;
  T* data_ = nullptr;
  Scratch<T> copy_;
};

}  // namespace xir::kernels
