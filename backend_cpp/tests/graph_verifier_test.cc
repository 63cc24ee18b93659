// One thing broken at a time in a valid XNNPACK graph; each is refused before XNNPACK sees it.

#include <functional>
#include <memory>
#include <utility>

#include "golden.h"
#include "testing.h"

namespace xir::testing {
namespace {

using graph::XNNGraphT;
using graph::XNodeUnion;

void ExpectRefused(const char* golden, const std::function<void(XNNGraphT*)>& edit,
                   const char* text) {
  EXPECT_ERROR(LoadForward(EditGraph(ReadGolden(golden), edit)), text);
}

void ExpectSmallRefused(const std::function<void(XNNGraphT*)>& edit, const char* text) {
  ExpectRefused("stock_small.pte", edit, text);
}

void ExpectManyRefused(const std::function<void(XNNGraphT*)>& edit, const char* text) {
  ExpectRefused("stock_many.pte", edit, text);
}

graph::XNNNodeConvT* Conv(XNNGraphT* g) {
  return FindNode(g, XNodeUnion::XNNConv2d)->xnode_union.AsXNNConv2d();
}

graph::XNNPooling2DT* MaxPool(XNNGraphT* g) {
  return FindNode(g, XNodeUnion::XNNMaxPooling2d)->xnode_union.AsXNNMaxPooling2d();
}

graph::XNNTensorValueT* Filter(XNNGraphT* g) { return FindValue(g, Conv(g)->filter_id); }

}  // namespace

XIR_TEST(graph_edits_alone_change_nothing) {
  for (const char* name :
       {"stock_small.pte", "stock_many.pte", "stock_q8.pte", "stock_qd8.pte", "stock_qb4.pte"}) {
    EXPECT_OK(LoadForward(EditGraph(ReadGolden(name), [](XNNGraphT*) {})));
  }
}

XIR_TEST(graph_values_refused) {
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->dims[0] *= 2; }, "takes 1728 bytes");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->dims[0] = 0; }, "a dimension of 0");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->dims.assign(7, 1); }, "rank 7");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->dims.assign(6, INT32_MAX); }, "overflows");
  ExpectSmallRefused(
      [](XNNGraphT* g) { Filter(g)->datatype = static_cast<graph::XNNDatatype>(77); },
      "datatype 77");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->datatype = graph::XNNDatatype::QPInt8; },
                     "datatype 11");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->datatype = graph::XNNDatatype::QCInt8; },
                     "without quantisation");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->constant_buffer_idx = 99; }, "constant 99");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->constant_buffer_idx = 0; },
                     "before it is written");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->flags = 4; }, "flags 4");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->flags = 1; }, "does not agree with flags");
  ExpectSmallRefused([](XNNGraphT* g) { Filter(g)->id_out = Conv(g)->input1_id; }, "not unique");
  ExpectSmallRefused(
      [](XNNGraphT* g) {
        FindValue(g, Conv(g)->input1_id)->dq_datatype = graph::XNNDatatype::QInt8;
      },
      "dq_datatype");
  ExpectSmallRefused([](XNNGraphT* g) { g->num_externs = 1; }, "external id 1 of 1");
  ExpectSmallRefused([](XNNGraphT* g) { g->num_externs = 1u << 20; }, "claims 1048576");
  ExpectSmallRefused(
      [](XNNGraphT* g) {
        Filter(g)->constant_buffer_idx = 0;
        Filter(g)->flags = 1;
        Filter(g)->external_id = 0;
      },
      "is used twice");
  ExpectSmallRefused([](XNNGraphT* g) { g->constant_data[1]->named_key = "nothing"; },
                     "its data 'nothing' is missing");
  ExpectSmallRefused(
      [](XNNGraphT* g) {
        g->constant_data[1]->named_key.clear();
        g->constant_data[1]->offset = UINT64_MAX;
      },
      "leaves the 0 bytes of the blob's constants");
}

XIR_TEST(graph_order_refused) {
  ExpectSmallRefused([](XNNGraphT* g) { std::swap(g->xnodes[0], g->xnodes[1]); },
                     "read before it is written");
  ExpectSmallRefused([](XNNGraphT* g) { g->xnodes.pop_back(); }, "no node writes output");
  ExpectSmallRefused([](XNNGraphT* g) { g->xnodes.clear(); }, "no node");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->input1_id = 9999; }, "operand 9999");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->output_id = 9999; }, "result 9999");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->output_id = Conv(g)->input1_id; },
                     "already written");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->output_id = Conv(g)->filter_id; },
                     "is a constant");
}

XIR_TEST(graph_convolutions_refused) {
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->kernel_height = 4; }, "filter [8, 3, 3, 3], not");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->kernel_height = 0; }, "filter");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->subsampling_width = 0; }, "stride 0");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->dilation_width = 0; }, "dilation 0");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->dilation_width = UINT32_MAX; }, "a window of");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->groups = 0; }, "no groups");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->groups = UINT32_MAX; }, "input channels");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->group_output_channels = 9; }, "filter");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->padding_top = 9; }, "but has shape");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->padding_top = UINT32_MAX; }, "scratch memory");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->flags = 0x80; }, "flags 128");
  ExpectSmallRefused([](XNNGraphT* g) { FindValue(g, Conv(g)->bias_id)->dims[0] = 4; }, "bias");
  ExpectSmallRefused([](XNNGraphT* g) { Conv(g)->bias_id = Conv(g)->input1_id; }, "not a constant");
  ExpectSmallRefused(
      [](XNNGraphT* g) {
        auto bounds = std::make_unique<graph::OutputMinMaxT>();
        bounds->output_min = 1;
        g->xnodes[0]->output_min_max = std::move(bounds);
      },
      "is empty");
  ExpectManyRefused(
      [](XNNGraphT* g) {
        FindNode(g, XNodeUnion::XNNConvTranspose2d)
            ->xnode_union.AsXNNConvTranspose2d()
            ->padding_top = UINT32_MAX;
      },
      "leaves nothing");
}

XIR_TEST(graph_pools_refused) {
  ExpectManyRefused([](XNNGraphT* g) { MaxPool(g)->pooling_height = 0; }, "kernel 0");
  // 2^16 squared is 0 in 32 bits.
  ExpectManyRefused(
      [](XNNGraphT* g) {
        MaxPool(g)->pooling_height = 1u << 16;
        MaxPool(g)->pooling_width = 1u << 16;
      },
      "a window of 65536");
  ExpectManyRefused([](XNNGraphT* g) { MaxPool(g)->padding_left = 2; }, "as large as its window");
  ExpectManyRefused([](XNNGraphT* g) { MaxPool(g)->padding_top = 2; }, "as large as its window");
  ExpectManyRefused([](XNNGraphT* g) { MaxPool(g)->stride_width = 0; }, "stride 0");
  ExpectManyRefused(
      [](XNNGraphT* g) {
        auto& node = FindNode(g, XNodeUnion::XNNStaticResizeBilinear2D)->xnode_union;
        node.AsXNNStaticResizeBilinear2D()->new_height = UINT32_MAX;
      },
      "scratch memory");
}

XIR_TEST(graph_movements_refused) {
  const auto transpose = [](XNNGraphT* g) {
    return FindNode(g, XNodeUnion::XNNStaticTranspose)->xnode_union.AsXNNStaticTranspose();
  };
  const auto reshape = [](XNNGraphT* g) {
    return FindNode(g, XNodeUnion::XNNStaticReshape)->xnode_union.AsXNNStaticReshape();
  };
  const auto slice = [](XNNGraphT* g) {
    return FindNode(g, XNodeUnion::XNNStaticSlice)->xnode_union.AsXNNStaticSlice();
  };
  const auto pad = [](XNNGraphT* g) {
    return FindNode(g, XNodeUnion::XNNStaticConstantPad)->xnode_union.AsXNNStaticConstantPad();
  };
  const auto cat = [](XNNGraphT* g) {
    return FindNode(g, XNodeUnion::XNNConcatenate3)->xnode_union.AsXNNConcatenate3();
  };
  ExpectManyRefused([&](XNNGraphT* g) { transpose(g)->perm[0] = transpose(g)->perm[1]; },
                    "permutation is none");
  ExpectManyRefused([&](XNNGraphT* g) { transpose(g)->perm[0] = 77; }, "permutation is none");
  ExpectManyRefused([&](XNNGraphT* g) { transpose(g)->perm.pop_back(); }, "does not fit");
  ExpectManyRefused([&](XNNGraphT* g) { reshape(g)->new_shape.assign(3, 0); }, "to infer");
  ExpectManyRefused([&](XNNGraphT* g) { reshape(g)->new_shape[0] = 7; }, "do not make shape");
  ExpectManyRefused([&](XNNGraphT* g) { reshape(g)->new_shape.assign(6, UINT32_MAX); },
                    "overflows");
  ExpectManyRefused([&](XNNGraphT* g) { slice(g)->offsets[0] = UINT32_MAX; }, "of a dimension");
  ExpectManyRefused([&](XNNGraphT* g) { slice(g)->sizes[0] = 0; }, "of a dimension");
  ExpectManyRefused([&](XNNGraphT* g) { slice(g)->sizes.pop_back(); }, "do not fit");
  ExpectManyRefused([&](XNNGraphT* g) { pad(g)->pre_paddings.push_back(0); }, "do not fit");
  ExpectManyRefused([&](XNNGraphT* g) { pad(g)->pre_paddings[0] = UINT32_MAX; }, "but has shape");
  ExpectManyRefused([&](XNNGraphT* g) { cat(g)->axis = 9; }, "axis 9");
  ExpectManyRefused([&](XNNGraphT* g) { cat(g)->axis = 0x80000000; }, "axis -2147483648");
}

XIR_TEST(graph_matrices_refused) {
  const auto linear = [](XNNGraphT* g) {
    return FindNode(g, XNodeUnion::XNNFullyConnected)->xnode_union.AsXNNFullyConnected();
  };
  ExpectManyRefused([&](XNNGraphT* g) { linear(g)->flags = 2; }, "flags 2");
  ExpectManyRefused(
      [&](XNNGraphT* g) {
        FindValue(g, linear(g)->filter_id)->dims = {4, 16};
      },
      "16 input channels");
  ExpectManyRefused(
      [&](XNNGraphT* g) {
        FindValue(g, linear(g)->filter_id)->dims = {8, 8, 1};
      },
      "rank 3");
  ExpectManyRefused([&](XNNGraphT* g) { FindValue(g, linear(g)->bias_id)->dims = {2}; }, "bias");
  ExpectManyRefused(
      [](XNNGraphT* g) {
        auto& node = FindNode(g, XNodeUnion::XNNBatchMatrixMultiply)->xnode_union;
        node.AsXNNBatchMatrixMultiply()->flags = 0x40000000;
      },
      "flags 1073741824");
}

XIR_TEST(graph_quantization_refused) {
  const auto channels = [](XNNGraphT* g) -> graph::PerChannelQuantT* {
    for (const auto& value : g->xvalues) {
      auto* quantized = value->xvalue_union.AsXNNQuantizedTensorValue();
      if (quantized == nullptr) continue;
      if (auto* params = quantized->quant_params.AsPerChannelQuant()) return params;
    }
    return nullptr;
  };
  ExpectRefused(
      "stock_q8.pte", [&](XNNGraphT* g) { channels(g)->channel_dim = 9; }, "channel dimension 9");
  ExpectRefused(
      "stock_q8.pte", [&](XNNGraphT* g) { channels(g)->channel_dim = -1; }, "channel dimension -1");
  ExpectRefused(
      "stock_q8.pte",
      [&](XNNGraphT* g) { channels(g)->scale.clear(), channels(g)->scale_buffer_idx = 0; },
      "0 scales for");
  ExpectRefused(
      "stock_q8.pte", [&](XNNGraphT* g) { channels(g)->scale_buffer_idx = 999; }, "scales 999");
  const auto odd_scales = [&](XNNGraphT* g) {
    auto odd = std::make_unique<graph::ConstantDataOffsetT>();
    odd->offset = 1;
    odd->size = 4096;
    channels(g)->scale_buffer_idx = static_cast<uint32_t>(g->constant_data.size());
    g->constant_data.push_back(std::move(odd));
  };
  EXPECT_ERROR(LoadForward(EditGraph(ReadGolden("stock_q8.pte"), odd_scales, Blob(4097))),
               "its scales are not aligned");
  ExpectRefused(
      "stock_qd8.pte",
      [](XNNGraphT* g) {
        for (const auto& value : g->xvalues) {
          auto* quantized = value->xvalue_union.AsXNNQuantizedTensorValue();
          if (quantized == nullptr) continue;
          auto* params = quantized->quant_params.AsPerTokenDynamicQuant();
          if (params != nullptr) params->num_nonbatch_dims = 2;
        }
      },
      "quantised over 2 dimensions, not 1");
  for (const int64_t size : {0, -32, 3, 48, 1 << 20}) {
    ExpectRefused(
        "stock_qb4.pte",
        [size](XNNGraphT* g) {
          for (const auto& value : g->xvalues) {
            auto* quantized = value->xvalue_union.AsXNNQuantizedTensorValue();
            if (quantized == nullptr) continue;
            auto* params = quantized->quant_params.AsPerChannelGroupQuant();
            if (params != nullptr) params->group_size = size;
          }
        },
        "group");
  }
}

XIR_TEST(graph_integers_refused) {
  // The only node, on the graph's own input, and all values integers.
  const auto keep = [](XNNGraphT* g, XNodeUnion kind) {
    for (auto& value : g->xvalues) {
      auto* tensor = value->xvalue_union.AsXNNTensorValue();
      if (tensor != nullptr) tensor->datatype = graph::XNNDatatype::Int32;
    }
    std::swap(*FindNode(g, kind), *g->xnodes.front());
    g->xnodes.resize(1);
    return g->xnodes.front().get();
  };
  ExpectManyRefused(
      [&](XNNGraphT* g) {
        auto* node = keep(g, XNodeUnion::XNNStaticConstantPad);
        node->xnode_union.AsXNNStaticConstantPad()->input_id = g->input_ids.front();
      },
      "does not compute it from Int32");
  ExpectManyRefused(
      [&](XNNGraphT* g) {
        auto* node = keep(g, XNodeUnion::XNNDiv)->xnode_union.AsXNNDiv();
        node->input1_id = node->input2_id = g->input_ids.front();
      },
      "does not compute it from Int32, Int32");
}

XIR_TEST(graph_nodes_of_unknown_kind) {
  Blob file = EditGraph(ReadGolden("stock_small.pte"),
                        [](XNNGraphT* g) { g->xnodes[0]->xnode_union.Reset(); });
  EXPECT_ERROR(LoadForward(file), "it is empty");
}

}  // namespace xir::testing
