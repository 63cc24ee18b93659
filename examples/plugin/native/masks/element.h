// What the operations compute, on blocks of elements of one type.
#pragma once

#include <cstddef>

#include "masks/program.h"

namespace masks {

// Computes `count` elements of a result from as many of each operand. Bools are bytes of 0 and 1.
// The result is none of the operands.
using BlockFunction = void (*)(const void* a, const void* b, const void* c, void* result,
                               size_t count);

// Of a computed value, whose operands have types that it takes. kBroadcast and kReshape move
// nothing within a block, and copy.
BlockFunction FunctionOf(const Program& program, const Value& value);

}  // namespace masks
