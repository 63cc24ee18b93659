#pragma once

#include "xir/status.h"

namespace xir {

// Whether the XNNPACK that is bound is the API that api.h declares. That a library has symbols of
// these names says little: numbers of operators, types and flags, and orders of parameters, differ
// between versions. So one graph with every elementwise operator and reduction, a convolution, a
// product on integers quantised at run time and each element type is defined, packed through a
// weights cache, run, and compared with what C++ computes. Takes some tenths of a millisecond.
Status TestXnnpack();

}  // namespace xir
