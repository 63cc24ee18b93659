// Nodes of each kind: draws operands and attributes, and adds the node and its result to the graph.
// Where there is no operand that the kind takes, an absolute value is added instead.
#pragma once

#include "drawn_graph.h"

namespace xir::fuzz {

// XNN_FLAG_KEEP_DIMS of a node.
inline constexpr uint32_t kKeepDims = 0x40;

// draw_elementwise.cc
void AddUnary(DrawnGraph* g, XNodeUnion kind);
void AddWithSlope(DrawnGraph* g, XNodeUnion kind);
void AddBinary(DrawnGraph* g, XNodeUnion kind);

// draw_matrix.cc
void AddFullyConnected(DrawnGraph* g);
void AddMatrixMultiply(DrawnGraph* g);
void AddConv(DrawnGraph* g, XNodeUnion kind);
// Float to rows of integers, which a matrix node takes; between floats, to integers and back.
void AddConvert(DrawnGraph* g);

// draw_windows.cc
void AddPooling(DrawnGraph* g, XNodeUnion kind);
void AddArgMax(DrawnGraph* g);
void AddGlobalPooling(DrawnGraph* g);
void AddResize(DrawnGraph* g);

// draw_movement.cc
void AddReduce(DrawnGraph* g, XNodeUnion kind);
void AddTranspose(DrawnGraph* g);
void AddReshape(DrawnGraph* g);
void AddSlice(DrawnGraph* g);
void AddPad(DrawnGraph* g);
void AddConcatenate(DrawnGraph* g, XNodeUnion kind);

}  // namespace xir::fuzz
