// Rewrites keep the order of the nodes; only where operators were inserted are nodes sorted anew.
#include "xnnpack/mirrors/operator_map.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "xnnpack/api.h"
#include "xnnpack/mirrors/long_chains.h"
#include "xnnpack/mirrors/turned_transposes.h"
#include "xnnpack/mirrors/widened_outputs.h"
#include "xnnpack/node_values.h"
#include "xnnpack/output_bounds.h"

namespace xir {
namespace {

using Kinds = std::vector<std::string_view>;

// What XNNPACK calls a look-up table that it made of quantised elementwise nodes.
constexpr std::string_view kTable = "Invalid Unary Op";

// An operator's name without what it computes on: "Convolution" of "Convolution (NHWC, F32) IGEMM".
std::string_view KindOf(std::string_view name) { return name.substr(0, name.find(" (")); }

const Kinds kFullyConnected = {"Fully Connected", "Dynamic Fully Connected"};
const Kinds kSoftmax = {"Softmax"};
const Kinds kStaticTranspose = {"Transpose"};
const Kinds kClamp = {"Clamp", "Copy", kTable};
// One of 1x1 is a matrix product.
const Kinds kConv2d = {"Convolution", "Fully Connected"};
const Kinds kDepthwiseConv2d = {"Convolution"};
const Kinds kStaticResizeBilinear2D = {"Resize Bilinear"};
const Kinds kStaticConstantPad = {"Constant Pad"};
const Kinds kAvgPooling2d = {"Average Pooling"};
const Kinds kMaxPooling2d = {"Max Pooling"};
const Kinds kConvert = {"Convert", kTable};
const Kinds kGlobalAvgPooling2d = {"Mean"};
const Kinds kStaticReshape = {"Static Reshape"};
const Kinds kArgMaxPooling2d = {"ArgMax Pooling"};
const Kinds kLeakyReLU = {"LeakyReLU", kTable};
const Kinds kELU = {"ELU", kTable};
const Kinds kConcatenate2 = {"Copy"};
const Kinds kConcatenate3 = {"Copy"};
const Kinds kConcatenate4 = {"Copy"};
const Kinds kConcatenate5 = {"Copy"};
const Kinds kStaticSlice = {"Slice"};
const Kinds kBatchMatrixMultiply = {"Batch Matrix Multiply"};
const Kinds kConvTranspose2d = {"Deconvolution"};
const Kinds kCopy = {"Copy"};

// The kinds of operators that a node may become.
Kinds KindsOf(graph::XNodeUnion node) {
  using graph::XNodeUnion;
  switch (node) {
#include "xnnpack/operator_names.inc"
#define XIR_UNARY(name, op)
#define XIR_BINARY(name, op)
#define XIR_REDUCE(name, op)
#define XIR_NODE(name)        \
  case XNodeUnion::XNN##name: \
    return k##name;
#include "xnnpack/node_dispatch.inc"
#undef XIR_UNARY
#undef XIR_BINARY
#undef XIR_REDUCE
#undef XIR_NODE
    default:
      return {};
  }
}

// A place for an operator: a node's own, that of the clamp to a node's bounds, or that of the copy
// of a widened output, between the parts of a long chain or behind a turned transpose.
struct Slot {
  size_t node;
  uint32_t debug_handle;
  Kinds kinds;

  bool Takes(std::string_view kind) const {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }
};

std::vector<Slot> SlotsOf(const GraphView& view) {
  std::vector<Slot> slots;
  const std::unordered_set<uint32_t> widened = WidenedOutputs(view);
  std::unordered_set<uint32_t> cuts = CutsOfLongChains(view);
  cuts.merge(TurnedTransposes(view));
  size_t index = 0;
  for (const graph::XNode* node : *view.graph->xnodes()) {
    slots.push_back({index, node->debug_handle(), KindsOf(node->xnode_union_type())});
    if (node->xnode_union_type() != graph::XNodeUnion::XNNClamp && BoundsOf(*node).finite()) {
      slots.push_back({index, node->debug_handle(), {"Clamp"}});
    }
    for (const uint32_t output : ValuesOf(*node).outputs) {
      if (widened.count(output) == 0 && cuts.count(output) == 0) continue;
      slots.push_back({index, node->debug_handle(), {"Slice", "Static Reshape"}});
    }
    ++index;
  }
  return slots;
}

// Whether there are operators that stand for no node.
bool HasInserted(const std::vector<Slot>& slots, Span<const std::string> names) {
  size_t converts = 0;
  for (const std::string& name : names) {
    if (KindOf(name) == "Pack LH") return true;
    if (KindOf(name) == "Convert") ++converts;
  }
  for (const Slot& slot : slots) {
    if (converts > 0 && slot.Takes("Convert")) --converts;
  }
  return converts > 0;
}

// The first and the last slot that each operator can have with those before and behind it; false
// where there are too few.
struct Range {
  size_t first;
  size_t last;
};

bool FindRanges(const std::vector<Slot>& slots, Span<const std::string> names,
                std::vector<Range>* ranges) {
  ranges->resize(names.size());
  size_t next = 0;
  for (size_t i = 0; i < names.size(); ++i, ++next) {
    while (next < slots.size() && !slots[next].Takes(KindOf(names[i]))) ++next;
    if (next == slots.size()) return false;
    (*ranges)[i].first = next;
  }
  next = slots.size();
  for (size_t i = names.size(); i-- > 0;) {
    do {
      --next;
    } while (!slots[next].Takes(KindOf(names[i])));
    (*ranges)[i].last = next;
  }
  return true;
}

// Which nodes a node depends on, directly or not.
class Dependences {
 public:
  static constexpr size_t kMaxNodes = 4096;

  explicit Dependences(const graph::XNNGraph& graph) {
    std::unordered_map<uint32_t, size_t> producers;
    for (const graph::XNode* node : *graph.xnodes()) {
      const NodeValues values = ValuesOf(*node);
      std::vector<bool> on(graph.xnodes()->size(), false);
      for (const uint32_t input : values.inputs) {
        const auto producer = producers.find(input);
        if (producer == producers.end()) continue;
        on[producer->second] = true;
        for (size_t i = 0; i < producer->second; ++i) {
          if (depends_[producer->second][i]) on[i] = true;
        }
      }
      for (const uint32_t output : values.outputs) producers[output] = depends_.size();
      depends_.push_back(std::move(on));
    }
  }

  bool Ordered(size_t a, size_t b) const { return depends_[a][b] || depends_[b][a]; }
  bool Before(size_t a, size_t b) const { return depends_[b][a]; }

 private:
  std::vector<std::vector<bool>> depends_;
};

void Assign(const Slot& slot, MappedOperator* mapped) {
  mapped->node = slot.node;
  mapped->debug_handle = slot.debug_handle;
}

// After a new topological sort only dependent nodes are still in order. A node that is ordered with
// all others of its kind has its place among them, if none was dropped.
void MapByDependence(const graph::XNNGraph& graph, const std::vector<Slot>& slots,
                     Span<const std::string> names, std::vector<MappedOperator>* mapped) {
  if (graph.xnodes()->size() > Dependences::kMaxNodes) return;
  const Dependences dependences(graph);
  std::unordered_map<std::string_view, std::vector<size_t>> operators;
  for (size_t i = 0; i < names.size(); ++i) operators[KindOf(names[i])].push_back(i);
  for (const auto& [kind, places] : operators) {
    if (kind == "Convert") continue;  // which of them were inserted is not told
    std::vector<const Slot*> like;
    for (const Slot& slot : slots) {
      if (slot.Takes(kind)) like.push_back(&slot);
    }
    if (like.size() != places.size()) continue;
    for (const Slot* slot : like) {
      size_t before = 0;
      bool ordered = true;
      for (const Slot* other : like) {
        if (other == slot) continue;
        ordered = ordered && dependences.Ordered(other->node, slot->node);
        if (dependences.Before(other->node, slot->node)) ++before;
      }
      if (ordered) Assign(*slot, &(*mapped)[places[before]]);
    }
  }
}

// Where the order of the nodes is kept: an operator between its neighbours.
void MapByOrder(const std::vector<Slot>& slots, Span<const std::string> names,
                std::vector<MappedOperator>* mapped) {
  std::vector<Range> ranges;
  if (!FindRanges(slots, names, &ranges)) return;
  for (size_t i = 0; i < names.size(); ++i) {
    const Slot& first = slots[ranges[i].first];
    bool one_node = true;
    bool one_handle = true;
    for (size_t at = ranges[i].first + 1; at <= ranges[i].last; ++at) {
      if (!slots[at].Takes(KindOf(names[i]))) continue;
      one_node = one_node && slots[at].node == first.node;
      one_handle = one_handle && slots[at].debug_handle == first.debug_handle;
    }
    if (one_node) (*mapped)[i].node = first.node;
    if (one_handle) (*mapped)[i].debug_handle = first.debug_handle;
  }
}

}  // namespace

std::vector<MappedOperator> MapOperators(const GraphView& view, Span<const std::string> names) {
  std::vector<MappedOperator> mapped(names.size());
  const std::vector<Slot> slots = SlotsOf(view);
  if (slots.empty()) return mapped;
  if (HasInserted(slots, names)) {
    MapByDependence(*view.graph, slots, names, &mapped);
  } else {
    MapByOrder(slots, names, &mapped);
  }
  return mapped;
}

}  // namespace xir
