// Loads a program and runs its methods as an application would, and as none should.
#pragma once

#include "draws.h"
#include "xir/span.h"

namespace xir::fuzz {

struct Outcome {
  bool loaded = false;
  size_t executions = 0;  // that succeeded
};

// Inputs that are refused and then given again, smaller shapes, executions without inputs,
// several instances, allocations that fail; lent memory vanishes after each execution. Ends the
// process where the runtime breaks its word.
Outcome RunProgram(Bytes file, Draws* draws);

// Whether the program's one method takes small numbers for its inputs and succeeds.
bool Succeeds(Bytes file);

}  // namespace xir::fuzz
