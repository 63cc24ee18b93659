// Changes to a file by its schema: the result is a well-formed flatbuffer that says something else.
#pragma once

#include <vector>

#include "draws.h"
#include "program_file.h"

namespace xir::fuzz {

// Changes one to four things in the program or in one of its delegates' graphs: numbers, elements,
// which table an offset leads to (its like, a copy, one of another type), what a union says it is.
// Empty for a file that cannot be taken apart.
Blob MutateProgramFile(Bytes file, Draws* draws);

// The program with each of its sizes made large, one after the other, and with no elements in each
// of the first dimensions: whoever walks what is left of such a shape walks for ever. Empty for a
// file that cannot be taken apart.
std::vector<Blob> StretchedPrograms(Bytes file);

}  // namespace xir::fuzz
