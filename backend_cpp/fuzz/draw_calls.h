// Instructions of a drawn program.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "drawn_program.h"
#include "graph_builder.h"

namespace xir::fuzz {

// draw_arguments.cc
// A tensor as a call reads or writes it.
int32_t AnyTensor(DrawnProgram* p, bool written);
// A value that the kernel takes for a parameter, seldom one of another kind.
int32_t Argument(DrawnProgram* p, std::string_view kind);

// draw_calls.cc
void AddKernelCall(DrawnProgram* p, std::string_view name);
// Half of the graphs agree in all, and half have weights to be packed.
void AddDelegate(DrawnProgram* p);
void AddDelegate(DrawnProgram* p, const BuiltGraph& built);
// Moves between values of a kind pass the verifier; the others should not.
void AddMove(DrawnProgram* p);
void AddJump(DrawnProgram* p);
void AddFree(DrawnProgram* p);
// Where instructions come from: one long name for many, or one for each.
void AddFrames(DrawnProgram* p);

// draw_products.cc
// A product whose operands agree.
void AddProduct(DrawnProgram* p);
// A program's caches of keys and values, and attention over them, whose operands agree; positions
// are anything now and then.
void AddAttention(DrawnProgram* p);

// disturb_program.cc
// What the instructions were written for changes while they run: numbers that calls read, the
// tensors in their slots, the order.
void Disturb(DrawnProgram* p, const std::vector<std::string_view>& kernels);

}  // namespace xir::fuzz
