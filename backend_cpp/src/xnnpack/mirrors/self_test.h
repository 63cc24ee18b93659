#pragma once

#include "xir/status.h"

namespace xir {

// Whether the XNNPACK that was loaded has the API that api.h declares. That a library has these
// symbols says little: the numbers of operators, types and flags, and the order of parameters,
// differ between versions. So one graph with every elementwise operator and reduction, a
// convolution, a product on integers quantised at run time and each element type is defined, packed
// through a weights cache, run, and compared with what C++ computes. Takes some tenths of a
// millisecond. The API is that of include/xnnpack.h of google/XNNPACK at commit 92a7ad501b.
Status TestXnnpack();

}  // namespace xir
