#pragma once

#include "xir/span.h"
#include "xir/status.h"

namespace xir {

// The two parts of a .pte or .ptd file.
struct Container {
  Bytes program;   // the flatbuffer, from byte 0 of the file
  Bytes segments;  // what segment offsets count in
};

// Reads the extended header ("eh00" at byte 8; absent in a file without segments).
Result<Container> ReadContainer(Bytes file);

// Reads the header "FH01" of a .ptd file.
Result<Container> ReadDataContainer(Bytes file);

// The two parts of an XNNPACK delegate's blob.
struct DelegateBlob {
  Bytes graph;
  Bytes constant_data;
};

// Reads the "XH00" header (absent: the whole blob is the flatbuffer).
Result<DelegateBlob> ReadDelegateBlob(Bytes blob);

}  // namespace xir
