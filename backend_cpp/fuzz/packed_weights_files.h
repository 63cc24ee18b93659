// Files of packed weights: of the program, of its versions, damaged and cut.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <random>
#include <string>

#include "xir/program.h"
#include "xir/span.h"

namespace xir::fuzz {

// A file for packed weights that is this process's, and goes with it.
const std::string& PackedPath();

// Has a packed file of a program, or of what became of it.
void KeepPacked(Bytes file, const LoadOptions& options, bool grown, bool damaged,
                std::mt19937_64* random);

// Programs that pack nothing have no such file.
void TruncatePackedFile(off_t left);

}  // namespace xir::fuzz
