// libFuzzer's entry points; `make fuzz-loader` runs them.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fuzz_one.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xir::fuzz::FuzzOne(xir::Bytes(data, size));
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const xir::fuzz::Blob derived = xir::fuzz::Derive(xir::Bytes(data, size), seed);
  if (derived.empty() || derived.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(derived.begin(), derived.end(), data);
  return derived.size();
}
