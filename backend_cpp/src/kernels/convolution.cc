#include <algorithm>

#include "kernels/arguments.h"
#include "kernels/kernels.h"

namespace xir::kernels {
namespace {

struct Axis {
  int64_t in = 0, out = 0, kernel = 0, stride = 0, padding = 0, dilation = 0;

  // Where on the operand kernel element `k` meets result element 0.
  int64_t start(int64_t k) const { return k * dilation - padding; }
  // The results [first, last) for which kernel element `k` lies on the operand.
  int64_t first(int64_t k) const {
    const int64_t at = start(k);
    return at >= 0 ? 0 : std::min(out, (-at + stride - 1) / stride);
  }
  int64_t last(int64_t k) const {
    const int64_t room = in - start(k);
    return room <= 0 ? 0 : std::min(out, (room + stride - 1) / stride);
  }
};

// Adds one kernel element's share of one input plane to one output plane.
void AccumulatePlane(const float* in, float weight, float* out, const Axis& rows, int64_t row,
                     const Axis& columns, int64_t column) {
  const int64_t first = columns.first(column), count = columns.last(column) - first;
  if (count <= 0) return;
  for (int64_t y = rows.first(row); y < rows.last(row); ++y) {
    const float* from = in + (y * rows.stride + rows.start(row)) * columns.in +
                        first * columns.stride + columns.start(column);
    float* to = out + y * columns.out + first;
    if (columns.stride == 1) {
      for (int64_t x = 0; x < count; ++x) to[x] += weight * from[x];
    } else {
      for (int64_t x = 0; x < count; ++x) to[x] += weight * from[x * columns.stride];
    }
  }
}

bool IsContiguousFloat(const Tensor& t) { return t.dtype == DType::kFloat && t.is_contiguous(); }

Result<Axis> MakeAxis(const Tensor& in, const Tensor& weight, size_t dim, int64_t stride,
                      int64_t padding, int64_t dilation) {
  Axis axis{in.shape[dim], 0, weight.shape[dim], stride, padding, dilation};
  constexpr int64_t kLimit = INT32_MAX;
  if (stride < 1 || dilation < 1 || padding < 0 || axis.kernel < 1 || stride > kLimit ||
      dilation > kLimit || padding > kLimit) {
    return Fail(Code::kInvalidArgument, "kernel ", axis.kernel, ", stride ", stride, ", padding ",
                padding, ", dilation ", dilation);
  }
  const int64_t room = axis.in + 2 * padding - ((axis.kernel - 1) * dilation + 1);
  if (room < 0) return Fail(Code::kInvalidArgument, "the kernel is larger than its padded operand");
  axis.out = room / stride + 1;
  return axis;
}

}  // namespace

// (input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups, out), NCHW
// float32.
Status Convolution(KernelArgs args) {
  const Tensor& in = TensorArg(args, 0);
  const Tensor& weight = TensorArg(args, 1);
  const Tensor* bias = args[2]->get<Tensor>();
  const std::vector<int64_t> stride = IntsArg(*args[3]);
  const std::vector<int64_t> padding = IntsArg(*args[4]);
  const std::vector<int64_t> dilation = IntsArg(*args[5]);
  const int64_t groups = *args[8]->get<int64_t>();
  Tensor& out = TensorArg(args, 9);
  if (*args[6]->get<bool>() || in.rank() != 4 || weight.rank() != 4 || stride.size() != 2 ||
      padding.size() != 2 || dilation.size() != 2 || !IsContiguousFloat(in) ||
      !IsContiguousFloat(weight) || !IsContiguousFloat(out) ||
      (bias != nullptr && !IsContiguousFloat(*bias))) {
    return Unsupported("a convolution that is not two-dimensional over contiguous float32");
  }
  const int64_t out_channels = weight.shape[0], group_in = weight.shape[1];
  if (groups < 1 || out_channels % groups != 0 || in.shape[1] % groups != 0 ||
      in.shape[1] / groups != group_in || (bias != nullptr && bias->numel() != out_channels)) {
    return Mismatch(in, weight);
  }
  XIR_ASSIGN_OR_RETURN(const Axis rows,
                       MakeAxis(in, weight, 2, stride[0], padding[0], dilation[0]));
  XIR_ASSIGN_OR_RETURN(const Axis columns,
                       MakeAxis(in, weight, 3, stride[1], padding[1], dilation[1]));
  Shape shape;
  shape.rank = 4;
  shape[0] = in.shape[0];
  shape[1] = out_channels;
  shape[2] = rows.out;
  shape[3] = columns.out;
  XIR_RETURN_IF_ERROR(out.Resize(shape));

  const int64_t plane_in = rows.in * columns.in, plane_out = rows.out * columns.out;
  const int64_t group_out = out_channels / groups;
  const int64_t kernel_size = rows.kernel * columns.kernel;
  for (int64_t n = 0; n < in.shape[0]; ++n) {
    for (int64_t oc = 0; oc < out_channels; ++oc) {
      float* to = out.as<float>() + (n * out_channels + oc) * plane_out;
      std::fill_n(to, plane_out, bias == nullptr ? 0.0f : bias->as<float>()[oc]);
      const int64_t first_in = oc / group_out * group_in;
      for (int64_t ic = 0; ic < group_in; ++ic) {
        const float* from = in.as<float>() + (n * in.shape[1] + first_in + ic) * plane_in;
        const float* weights = weight.as<float>() + (oc * group_in + ic) * kernel_size;
        for (int64_t k = 0; k < kernel_size; ++k) {
          AccumulatePlane(from, weights[k], to, rows, k / columns.kernel, columns,
                          k % columns.kernel);
        }
      }
    }
  }
  return {};
}

}  // namespace xir::kernels
