// Whole .pte programs from draws: values of every kind, kernels with odd arguments, delegates,
// moves and jumps, constants and state, several methods.
#pragma once

#include <string>
#include <vector>

#include "draws.h"
#include "program_file.h"

namespace xir::fuzz {

enum class Manner {
  kOdd,    // anything may disagree with anything
  kValid,  // what a compiler could have written: graphs whose every part agrees, each called once
};

Blob BuildProgram(Draws* draws, Manner manner);

// A program that calls one of the runtime's kernels, or calls it twice, on tensors and numbers that
// it may well take. Every result is an output.
Blob BuildKernelProgram(Draws* draws, const std::string& kernel);

}  // namespace xir::fuzz
