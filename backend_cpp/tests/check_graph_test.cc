// What a compiler is told of graphs: the answer of loading them, without their weights.

#include "xir/check_graph.h"
#include "xir/library.h"

#include <functional>

#include "golden.h"
#include "testing.h"

namespace xir::testing {
namespace {

using graph::XNNGraphT;

// Asks about the first graph of a golden program, changed; its weights stay behind. (Scales would
// have to come along: no quantised ones.)
std::optional<GraphRefusal> Ask(const char* golden, const std::function<void(XNNGraphT*)>& edit) {
  UnweightedGraph unweighted;
  unweighted.constant_bytes = 1 << 16;  // more than any of them has
  const Blob flatbuffer = GraphOf(ReadGolden(golden), [&](XNNGraphT* graph) {
    for (size_t i = 1; i < graph->constant_data.size(); ++i) {
      graph->constant_data[i]->named_key.clear();
      graph->constant_data[i]->offset = 0;
      graph->constant_data[i]->size = unweighted.constant_bytes;
    }
    edit(graph);
  });
  unweighted.flatbuffer = Bytes(flatbuffer.data(), flatbuffer.size());
  auto answer = CheckGraph(unweighted, PythonLibraryPaths());
  if (answer.ok()) return answer.value();
  EXPECT_OK(std::move(answer).status());
  return {};
}

void ExpectRefused(const std::function<void(XNNGraphT*)>& edit, std::string_view reason) {
  const auto refusal = Ask("stock_many.pte", edit);
  EXPECT(refusal && !refusal->node);
  EXPECT(refusal && refusal->reason.find(reason) != std::string::npos);
}

// Ends a graph behind its resizing node, which makes images of so many rows. Returns the node's
// index.
size_t EndAtResize(XNNGraphT* graph, uint32_t rows) {
  size_t index = 0;
  while (graph->xnodes[index]->xnode_union.AsXNNStaticResizeBilinear2D() == nullptr) ++index;
  auto* node = graph->xnodes[index]->xnode_union.AsXNNStaticResizeBilinear2D();
  graph->xnodes.resize(index + 1);
  node->new_height = rows;
  node->new_width = 1;
  for (const uint32_t id : graph->output_ids) {
    FindValue(graph, id)->flags = 0;
    FindValue(graph, id)->external_id = UINT32_MAX;
  }
  auto* result = FindValue(graph, node->output_id);
  result->dims[1] = rows;
  result->dims[2] = 1;
  result->flags = 2;  // an external output
  result->external_id = static_cast<uint32_t>(graph->input_ids.size());
  graph->output_ids = {node->output_id};
  graph->num_externs = result->external_id + 1;
  return index;
}

}  // namespace

XIR_TEST(check_graph_takes_what_loads) {
  for (const char* name : {"stock_small.pte", "stock_many.pte", "stock_dynamic.pte"}) {
    EXPECT(!Ask(name, [](XNNGraphT*) {}));
  }
}

XIR_TEST(check_graph_says_what_the_verifier_refuses) {
  ExpectRefused(
      [](XNNGraphT* graph) {
        FindNode(graph, graph::XNodeUnion::XNNMaxPooling2d)
            ->xnode_union.AsXNNMaxPooling2d()
            ->input_id = 999;
      },
      "999");
  ExpectRefused([](XNNGraphT* graph) { graph->xnodes.clear(); }, "no nodes");
}

XIR_TEST(check_graph_reads_no_more_zeros_than_there_are) {
  ExpectRefused([](XNNGraphT* graph) { graph->constant_data.back()->offset = uint64_t{1} << 40; },
                "constant");
}

// XNNPACK interpolates in images of less than 2^24 rows, which the verifier does not know.
XIR_TEST(check_graph_names_the_node_that_is_not_defined) {
  EXPECT(!Ask("stock_many.pte", [](XNNGraphT* graph) { EndAtResize(graph, 5); }));
  size_t index = 0;
  const auto refusal =
      Ask("stock_many.pte", [&](XNNGraphT* graph) { index = EndAtResize(graph, 1 << 24); });
  EXPECT(refusal && refusal->node == index);
  EXPECT(refusal && refusal->reason.find("XNNStaticResizeBilinear2D") != std::string::npos);
}

XIR_TEST(check_graph_of_no_flatbuffer) {
  const auto answer = CheckGraph(UnweightedGraph(), PythonLibraryPaths());
  EXPECT(answer.ok() && answer.value());
}

}  // namespace xir::testing
