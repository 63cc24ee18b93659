#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "xir/status.h"

namespace xir::runner {

struct Arguments {
  std::string model_path;
  std::string method = "forward";
  std::vector<std::string> inputs;     // files, .npy or raw; empty feeds ones
  std::vector<std::string> libraries;  // of kernels and backends
  std::vector<std::string> data;       // .ptd files
  std::string output_dir;              // for .npy files; empty writes none
  std::string output_file;             // what the names of raw files start with; empty writes none
  size_t threads = 0;
  size_t warmup = 10;
  size_t iterations = 50;
  bool profile = false;
  bool profile_in_order = false;  // else by time
  std::string profile_trace;
  std::string etdump_path;
  bool memory = false;
  std::string packed_weights;
  size_t packed_weights_limit = 0;
  std::string xnnpack;
  double max_seconds = 0;
  bool serve = false;
  bool help = false;

  // Whether anything asks for where the time went.
  bool profiles() const { return profile || !profile_trace.empty() || !etdump_path.empty(); }
};

extern const char kUsage[];

// "--name value" and "--name=value". The options of ExecuTorch's executor_runner have its names, or
// are further names of these (examples/portable/executor_runner/executor_runner.cpp); the others
// have dashes. Either is taken for the other.
Result<Arguments> ParseArguments(int argc, const char* const* argv);

}  // namespace xir::runner
