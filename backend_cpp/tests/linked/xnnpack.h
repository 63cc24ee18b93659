// Stands for XNNPACK's own header in the test of XIR_XNNPACK_ROOT: the same facts, its functions as
// C symbols.
#pragma once

#include "xnnpack/api_facts.h"
#include "xnnpack/api_functions.h"

extern "C" {
#define XIR_DECLARE(result, name, parameters, arguments) result name parameters;
XIR_XNNPACK_FUNCTIONS(XIR_DECLARE)
#undef XIR_DECLARE
}
