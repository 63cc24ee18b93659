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

// A program of a few calls of kernels with these names, on tensors and numbers that they may well
// take. Every result is an output. Names that the runtime has no kernel for are left out.
Blob BuildKernelProgram(Draws* draws, const std::vector<std::string>& kernels);

}  // namespace xir::fuzz
