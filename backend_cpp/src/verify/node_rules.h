// What is generated from the dialect's op definitions: on which types, constants and flags XNNPACK
// computes a node. What relates shapes is in node_checks.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "xnnpack/api.h"
#include "xnnpack_generated.h"

namespace xir {

inline constexpr size_t kMaxNodeOperands = 5;
inline constexpr size_t kMaxNodeResults = 2;

// Datatypes that go together. `Invalid` stands for an operand that is absent; bit i of `constants`
// says that operand i must be a constant.
struct Signature {
  std::array<graph::XNNDatatype, kMaxNodeOperands> operands;
  std::array<graph::XNNDatatype, kMaxNodeResults> results;
  uint8_t constants;
};

class SignatureList {
 public:
  template <size_t size>
  constexpr SignatureList(const Signature (&rows)[size]) : begin_(rows), end_(rows + size) {}
  constexpr const Signature* begin() const { return begin_; }
  constexpr const Signature* end() const { return end_; }

 private:
  const Signature* begin_;
  const Signature* end_;
};

// Whether a node has bounds on its result.
enum class BoundsRule : uint8_t { kNone, kOptional, kRequired };

struct NodeRules {
  graph::XNodeUnion kind;
  SignatureList signatures;
  uint32_t flags;  // the bits that may be set
  BoundsRule bounds;
  int32_t filter_axis;  // operand 1's dimension of output channels, where it is a filter; else -1
  int32_t row_rank;     // of operand 0, where it is quantised at run time
  bool whole_bytes;     // whether a filter's rows in 4 bits end with a byte
};

// The rules of a kind of node; null for one that the dialect does not have.
const NodeRules* FindNodeRules(graph::XNodeUnion kind);

// Input channels share a scale in groups of this size, or of a multiple of it.
uint64_t GroupMultiple();

// The ids that a node names, XNN_INVALID_VALUE_ID where there is none.
struct NodeOperands {
  std::array<uint32_t, kMaxNodeOperands> operands;
  std::array<uint32_t, kMaxNodeResults> results;
  uint32_t flags;
};

// The node's kind must have rules.
NodeOperands OperandsOf(const graph::XNode& node);

}  // namespace xir
