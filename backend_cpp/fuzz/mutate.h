// Changes to a file by its schema: the result is a well-formed flatbuffer that says something else.
#pragma once

#include "draws.h"
#include "program_file.h"

namespace xir::fuzz {

// Changes one to four things in the program or in one of its delegates' graphs: numbers, elements,
// which table an offset leads to (its like, a copy, one of another type), what a union says it is.
// Empty for a file that cannot be taken apart.
Blob MutateProgramFile(Bytes file, Draws* draws);

}  // namespace xir::fuzz
