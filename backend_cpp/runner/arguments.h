#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "xir/status.h"

namespace xir::runner {

struct Arguments {
  std::string model_path;
  std::string method = "forward";
  std::vector<std::string> inputs;  // .npy files; empty feeds ones
  std::string output_dir;           // empty writes nothing
  size_t threads = 0;
  size_t warmup = 10;
  size_t iterations = 50;
  bool profile = false;
  bool help = false;
};

extern const char kUsage[];

// "--name value" and "--name=value".
Result<Arguments> ParseArguments(int argc, const char* const* argv);

}  // namespace xir::runner
