// What one input of the loader's fuzzer is, and what is done with it.
//
// A .pte file (bytes 4 to 7 are "ET12") is loaded and run as it is. Anything else is a recipe: of a
// crowded program if it begins with "CROW", else of any, with the draws of how it is run before
// those that build it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "program_file.h"
#include "run_program.h"

namespace xir::fuzz {

bool IsProgram(Bytes input);

// The program that a recipe makes.
Blob ProgramOf(Bytes recipe);

Outcome FuzzOne(Bytes input);

// Another input made from this one: a recipe's program, or a program changed by its schema. Empty
// where the input's bytes are better changed as bytes.
Blob Derive(Bytes input, uint64_t seed);

}  // namespace xir::fuzz
