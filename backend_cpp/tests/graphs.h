// XNNPACK graphs written value by value, and programs that run one.
#pragma once

#include <cstdint>
#include <vector>

#include "golden.h"

namespace xir::testing {

class GraphMaker {
 public:
  using Datatype = graph::XNNDatatype;
  using Sizes = std::vector<uint32_t>;

  // Each adds a value and gives its id. Quantised ones are so by tensor, with scale 1/16 and zero
  // point 0, until one of the functions below says otherwise.
  uint32_t Input(Datatype datatype, const Sizes& dims);
  uint32_t Output(Datatype datatype, const Sizes& dims);
  uint32_t Internal(Datatype datatype, const Sizes& dims);
  // Every byte of it is 1.
  uint32_t Constant(Datatype datatype, const Sizes& dims);

  void QuantizeByTensor(uint32_t id, float scale, int32_t zero_point);
  void QuantizeByChannel(uint32_t id, int32_t dim, size_t num_scales);
  void QuantizeByGroup(uint32_t id, int32_t group_size, size_t num_scales);
  void QuantizeByRow(uint32_t id, int32_t row_rank);

  // Adds a node; `T` is the flatbuffer's object of one member of XNodeUnion.
  template <typename T>
  graph::XNodeT* Node(graph::XNodeUnion kind, const T& node) {
    auto added = std::make_unique<graph::XNodeT>();
    added->xnode_union.type = kind;
    added->xnode_union.value = new T(node);
    graph_.xnodes.push_back(std::move(added));
    return graph_.xnodes.back().get();
  }
  void Bounds(graph::XNodeT* node, float min, float max);

  graph::XNNGraphT* graph() { return &graph_; }
  Blob Flatbuffer() const;
  // A program whose method "forward" hands its inputs and outputs to the graph.
  Blob Program() const;

 private:
  uint32_t Add(Datatype datatype, const Sizes& dims, uint32_t flags);
  graph::XNNQuantParamsUnion* Quantize(uint32_t id);

  graph::XNNGraphT graph_;
};

}  // namespace xir::testing
