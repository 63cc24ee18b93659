#pragma once

#include <cstddef>

#include "xnnpack/api.h"
#include "xnnpack_generated.h"

namespace xir {

// The file's numbering of datatypes is not XNNPACK's. xnn_datatype_invalid for a number outside of
// it.
xnn_datatype ToXnnDatatype(graph::XNNDatatype datatype);

// Bits of one element; 0 for a datatype that no value of a file may have.
size_t DatatypeBits(xnn_datatype datatype);

}  // namespace xir
