// Loads a program and runs its methods as an application would, and as none should.
#pragma once

#include <cstddef>

#include "draws.h"
#include "xir/span.h"

namespace xir::fuzz {

struct Outcome {
  bool loaded = false;
  size_t executions = 0;  // that succeeded
};

// Inputs that are refused and then given again, smaller shapes, executions without inputs,
// several instances, of one state or of their own, buffers that are read, written and reset,
// outputs in lent memory, allocations that fail, a fallback, kernels that throw or use the method
// that runs them, files of packed weights that are damaged, cut or shared with other versions;
// inputs' memory vanishes after each execution. Ends the process where the runtime breaks its word,
// or takes more memory or time than is in proportion to the file's size.
Outcome RunProgram(Bytes file, Draws* draws);

// Whether the program's one method takes small numbers for its inputs and succeeds, or those that
// index any table of two rows.
bool Succeeds(Bytes file);

}  // namespace xir::fuzz
