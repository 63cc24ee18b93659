// xir_load_check FILE...: loads and runs each program once; exit status 1 if one fails.

#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "exercise.h"

int main(int argc, char** argv) {
  int failed = argc < 2 ? 1 : 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::vector<char> data((std::istreambuf_iterator<char>(file)), {});
    const xir::Bytes bytes(reinterpret_cast<const uint8_t*>(data.data()), data.size());
    const xir::Status status = xir::testing::Exercise(bytes, uint64_t{1} << 32);
    std::printf("%s: %s\n", argv[i], status.ok() ? "ran" : status.message().c_str());
    if (!status.ok()) failed = 1;
  }
  return failed;
}
