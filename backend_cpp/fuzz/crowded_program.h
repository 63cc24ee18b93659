// Programs in which many places share one part: one string, list, value, instruction or delegate
// that offsets of the file lead to thousands of times. What they unfold to grows with a square of
// their size, and so would work or memory that no budget bounds.
#pragma once

#include "draws.h"
#include "program_file.h"

namespace xir::fuzz {

// Of parts that there are plenty of, mostly one to three; the file has up to about a megabyte.
Blob BuildCrowdedProgram(Draws* draws);

}  // namespace xir::fuzz
