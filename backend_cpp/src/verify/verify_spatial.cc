#include <algorithm>

#include "core/invalid_program.h"
#include "verify/node_checks.h"

namespace xir {
namespace {

// One spatial axis of a window that slides over its operand.
struct Window {
  uint64_t pad_before, pad_after, kernel, stride, dilation;

  uint64_t extent() const { return (kernel - 1) * dilation + 1; }
};

Status CheckWindow(const Window& w) {
  if (w.kernel == 0 || w.stride == 0 || w.dilation == 0) {
    return Bad("kernel ", w.kernel, ", stride ", w.stride, ", dilation ", w.dilation);
  }
  return {};
}

// Positions of the window along an axis of `size`.
Result<uint64_t> Slide(const Window& w, uint64_t size) {
  XIR_RETURN_IF_ERROR(CheckWindow(w));
  const uint64_t padded = size + w.pad_before + w.pad_after;
  if (padded == 0) return uint64_t{0};
  if (padded < w.extent()) return Bad("a window of ", w.extent(), " over ", padded, " elements");
  return (padded - w.extent()) / w.stride + 1;
}

Status CheckImage(const GraphValue& value) {
  return value.dims.rank == 4 ? Status() : Bad("its operand has rank ", value.dims.rank, ", not 4");
}

bool IsPointwise(const graph::XNNNodeConv& n) {
  return n.kernel_height() == 1 && n.kernel_width() == 1 && n.subsampling_height() == 1 &&
         n.subsampling_width() == 1 && n.padding_top() == 0 && n.padding_right() == 0 &&
         n.padding_bottom() == 0 && n.padding_left() == 0;
}

// XNNPACK keeps a pointer for each element of each window.
Status IndirectionScratch(uint64_t height, uint64_t width, uint64_t kernel_height,
                          uint64_t kernel_width, GraphVerifier* g) {
  return g->Scratch({height, width, kernel_height, kernel_width, sizeof(void*)});
}

Window Rows(const graph::XNNNodeConv& n) {
  return {n.padding_top(), n.padding_bottom(), n.kernel_height(), n.subsampling_height(),
          n.dilation_height()};
}

Window Columns(const graph::XNNNodeConv& n) {
  return {n.padding_left(), n.padding_right(), n.kernel_width(), n.subsampling_width(),
          n.dilation_width()};
}

struct Channels {
  uint64_t in = 0;
  uint64_t out = 0;
};

// Agreement of groups, channels and operand.
Result<Channels> CheckChannels(const graph::XNNNodeConv& n, const GraphValue& input) {
  XIR_RETURN_IF_ERROR(CheckImage(input));
  const uint64_t groups = n.groups();
  if (groups == 0 || n.group_input_channels() == 0 || n.group_output_channels() == 0) {
    return Bad("no groups or no channels");
  }
  const Channels channels{groups * n.group_input_channels(), groups * n.group_output_channels()};
  if (input.dims[3] != channels.in) {
    return Bad("operand ", input.dims.ToString(), " for ", channels.in, " input channels");
  }
  return channels;
}

Status CheckFilter(const GraphValue& filter, uint64_t d0, uint64_t d1, uint64_t d2, uint64_t d3) {
  Dims expected;
  expected.rank = 4;
  expected.size = {d0, d1, d2, d3};
  return filter.dims == expected
             ? Status()
             : Bad("filter ", filter.dims.ToString(), ", not ", expected.ToString());
}

Dims Image(uint64_t batch, uint64_t height, uint64_t width, uint64_t channels) {
  Dims dims;
  dims.rank = 4;
  dims.size = {batch, height, width, channels};
  return dims;
}

Status PackedConvWeights(const graph::XNNNodeConv& n, const GraphValue& filter, GraphVerifier* g) {
  // The filter has as many elements, so the product is small.
  const uint64_t inner = uint64_t{n.kernel_height()} * n.kernel_width() * n.group_input_channels();
  return PackedWeights(n.groups(), inner, n.group_output_channels(), filter, g);
}

Status FinishConv(const graph::XNNNodeConv& node, const GraphValue& input, Channels channels,
                  GraphVerifier* g) {
  XIR_RETURN_IF_ERROR(CheckBias(node.bias_id(), channels.out, *g));
  XIR_ASSIGN_OR_RETURN(const uint64_t height, Slide(Rows(node), input.dims[1]));
  XIR_ASSIGN_OR_RETURN(const uint64_t width, Slide(Columns(node), input.dims[2]));
  if (!IsPointwise(node)) {
    XIR_RETURN_IF_ERROR(
        IndirectionScratch(height, width, node.kernel_height(), node.kernel_width(), g));
  }
  return g->Output(node.output_id(), Image(input.dims[0], height, width, channels.out));
}

}  // namespace

Status VerifyConv2d(const graph::XNNNodeConv& node, GraphVerifier* g) {
  const GraphValue& input = g->Operand(node.input1_id());
  const GraphValue& filter = g->Operand(node.filter_id());
  XIR_ASSIGN_OR_RETURN(const Channels channels, CheckChannels(node, input));
  XIR_RETURN_IF_ERROR(CheckFilter(filter, channels.out, node.kernel_height(), node.kernel_width(),
                                  node.group_input_channels()));
  XIR_RETURN_IF_ERROR(PackedConvWeights(node, filter, g));
  return FinishConv(node, input, channels, g);
}

Status VerifyDepthwiseConv2d(const graph::XNNNodeConv& node, GraphVerifier* g) {
  const GraphValue& input = g->Operand(node.input1_id());
  const GraphValue& filter = g->Operand(node.filter_id());
  XIR_ASSIGN_OR_RETURN(const Channels channels, CheckChannels(node, input));
  if (node.group_input_channels() != 1) {
    return Bad(node.group_input_channels(),
               " input channels to a group of a depthwise convolution");
  }
  XIR_RETURN_IF_ERROR(
      CheckFilter(filter, 1, node.kernel_height(), node.kernel_width(), channels.out));
  XIR_RETURN_IF_ERROR(PackedWeights(1, uint64_t{node.kernel_height()} * node.kernel_width(),
                                    channels.out, filter, g));
  return FinishConv(node, input, channels, g);
}

Status VerifyConvTranspose2d(const graph::XNNNodeConv& node, GraphVerifier* g) {
  const GraphValue& input = g->Operand(node.input1_id());
  const GraphValue& filter = g->Operand(node.filter_id());
  XIR_ASSIGN_OR_RETURN(const Channels channels, CheckChannels(node, input));
  XIR_RETURN_IF_ERROR(CheckFilter(filter, channels.out, node.kernel_height(), node.kernel_width(),
                                  node.group_input_channels()));
  XIR_RETURN_IF_ERROR(PackedConvWeights(node, filter, g));
  XIR_RETURN_IF_ERROR(CheckBias(node.bias_id(), channels.out, *g));
  const auto spread = [](const Window& w, uint64_t size, uint64_t adjustment) -> Result<uint64_t> {
    XIR_RETURN_IF_ERROR(CheckWindow(w));
    if (size == 0) return Bad("no elements");
    const uint64_t full = w.stride * (size - 1) + w.extent() + adjustment;
    const uint64_t pad = w.pad_before + w.pad_after;
    if (pad >= full) return Bad("a padding of ", pad, " leaves nothing of ", full, " elements");
    return full - pad;
  };
  XIR_ASSIGN_OR_RETURN(const uint64_t height,
                       spread(Rows(node), input.dims[1], node.adjustment_height()));
  XIR_ASSIGN_OR_RETURN(const uint64_t width,
                       spread(Columns(node), input.dims[2], node.adjustment_width()));
  XIR_RETURN_IF_ERROR(
      IndirectionScratch(height, width, node.kernel_height(), node.kernel_width(), g));
  return g->Output(node.output_id(), Image(input.dims[0], height, width, channels.out));
}

namespace {

Result<Dims> PooledShape(uint32_t input_id, const Window& rows, const Window& columns,
                         GraphVerifier* g) {
  const GraphValue& input = g->Operand(input_id);
  XIR_RETURN_IF_ERROR(CheckImage(input));
  XIR_ASSIGN_OR_RETURN(const uint64_t height, Slide(rows, input.dims[1]));
  XIR_ASSIGN_OR_RETURN(const uint64_t width, Slide(columns, input.dims[2]));
  // A window that holds nothing but padding has no element to pool.
  if (std::max(rows.pad_before, rows.pad_after) >= rows.extent() ||
      std::max(columns.pad_before, columns.pad_after) >= columns.extent()) {
    return Bad("its padding is as large as its window");
  }
  XIR_RETURN_IF_ERROR(IndirectionScratch(height, width, rows.kernel, columns.kernel, g));
  return Image(input.dims[0], height, width, input.dims[3]);
}

Status VerifyPooling(const graph::XNNPooling2D& n, GraphVerifier* g, Window rows, Window columns) {
  XIR_ASSIGN_OR_RETURN(const Dims dims, PooledShape(n.input_id(), rows, columns, g));
  return g->Output(n.output_id(), dims);
}

}  // namespace

Status VerifyAvgPooling2d(const graph::XNNPooling2D& n, GraphVerifier* g) {
  // XNNPACK's average has no dilation; ExecuTorch leaves the fields at 0 or 1.
  if (n.dilation_height() > 1 || n.dilation_width() > 1) {
    return Fail(Code::kUnsupported, "a dilated average");
  }
  return VerifyPooling(
      n, g, {n.padding_top(), n.padding_bottom(), n.pooling_height(), n.stride_height(), 1},
      {n.padding_left(), n.padding_right(), n.pooling_width(), n.stride_width(), 1});
}

Status VerifyMaxPooling2d(const graph::XNNPooling2D& n, GraphVerifier* g) {
  return VerifyPooling(n, g,
                       {n.padding_top(), n.padding_bottom(), n.pooling_height(), n.stride_height(),
                        n.dilation_height()},
                       {n.padding_left(), n.padding_right(), n.pooling_width(), n.stride_width(),
                        n.dilation_width()});
}

Status VerifyArgMaxPooling2d(const graph::XNNArgMaxPooling2d& n, GraphVerifier* g) {
  const Window rows{n.padding_top(), n.padding_bottom(), n.pooling_height(), n.pooling_height(), 1};
  const Window columns{n.padding_left(), n.padding_right(), n.pooling_width(), n.pooling_width(),
                       1};
  XIR_ASSIGN_OR_RETURN(const Dims dims, PooledShape(n.input_id(), rows, columns, g));
  XIR_RETURN_IF_ERROR(g->Output(n.output_value_id(), dims));
  return g->Output(n.output_index_id(), dims);
}

Status VerifyReduce(const graph::XNNStaticReduce& n, GraphVerifier* g) {
  const GraphValue& input = g->Operand(n.input_id());
  if (n.reduction_axes() == nullptr || n.reduction_axes()->size() == 0) return Bad("no axes");
  const bool keep = (n.flags() & XNN_FLAG_KEEP_DIMS) != 0;
  Dims dims;
  uint32_t next = 0;  // the first axis that was not looked at
  for (const uint32_t axis : *n.reduction_axes()) {
    if (axis < next || axis >= input.dims.rank)
      return Bad("axis ", axis, " is none, or no new one");
    for (; next < axis; ++next) dims[dims.rank++] = input.dims[next];
    if (keep) dims[dims.rank++] = 1;
    ++next;
  }
  for (; next < input.dims.rank; ++next) dims[dims.rank++] = input.dims[next];
  // Sums of types other than fp32 are kept in fp32 or int32 until the last one is added.
  uint64_t count = 1;
  for (size_t i = 0; i < dims.rank; ++i) count *= dims[i];
  XIR_RETURN_IF_ERROR(g->Scratch({count, sizeof(float)}));
  return g->Output(n.output_id(), dims);
}

Status VerifyGlobalAvgPooling2d(const graph::XNNNode1x1& n, GraphVerifier* g) {
  const GraphValue& input = g->Operand(n.input_id());
  if (input.dims.rank < 3) return Bad("its operand has rank ", input.dims.rank);
  Dims dims = input.dims;
  dims[dims.rank - 3] = 1;
  dims[dims.rank - 2] = 1;
  if ((n.flags() & XNN_FLAG_KEEP_DIMS) == 0) {
    dims[dims.rank - 3] = dims.last();
    dims.rank -= 2;
  }
  return g->Output(n.output_id(), dims);
}

Status VerifyStaticResizeBilinear2D(const graph::XNNStaticResizeBilinear2D& n, GraphVerifier* g) {
  const GraphValue& input = g->Operand(n.input_id());
  XIR_RETURN_IF_ERROR(CheckImage(input));
  if (n.new_height() == 0 || n.new_width() == 0) return Bad("a new size of zero");
  // Four pointers and two weights for each pixel.
  XIR_RETURN_IF_ERROR(IndirectionScratch(n.new_height(), n.new_width(), 2, 3, g));
  return g->Output(n.output_id(),
                   Image(input.dims[0], n.new_height(), n.new_width(), input.dims[3]));
}

}  // namespace xir
