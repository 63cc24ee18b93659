#include "arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace xir::runner {

const char kUsage[] =
    R"(usage: xnn_executor_runner --model_path m.pte [options]

Loads a .pte program, runs one of its methods, and prints how long that took.

  --model_path FILE    the program
  --method NAME        the method to run (forward)
  --inputs A,B,...     one file for each input, .npy or the tensor's bytes in memory
                       order; by default, every input is ones
  --output-dir DIR     write each output as DIR/output_<i>.npy
  --output_file BASE   write each output's bytes as BASE-<i>.bin
  --libraries A,B,...  shared libraries of your own kernels and backends, the native half
                       of plugins (xir/kernel_library.h)
  --data_path A,B,...  .ptd files with the program's weights
  --threads N          worker threads (one for each core)
  --warmup N           executions that are not counted, the first included (10)
  --iterations N       executions that are counted (50)
  --profile            print where the time of the counted executions went: by operator,
                       with its source line, module and share, and in all by kind and module
  --profile-order O    print its lines by 'time' (the default) or as they 'ran'
  --profile-trace FILE write a trace of them, for ui.perfetto.dev or chrome://tracing
  --etdump_path FILE   write an ETDump of them, for ExecuTorch's Inspector
  --max-seconds S      stop an execution after so many seconds (no limit)
  --xnnpack FILE       the library to take XNNPACK from, before any that is found
  --packed-weights F   keep packed weights in this file, and map it the next time
  --packed-weights-limit N
                       bytes that this file keeps, of several programs; the least recently
                       used go (256 MiB, or twice the program's if that is more)
  --memory             print the memory of the loaded program
  --serve              answer requests on standard input, one line of JSON each
                       (docs/device_protocol.md), instead of running one program
  --help               this text

ExecuTorch's options have its names; its --method_name, --cpu_threads and --num_executions
mean --method, --threads and --iterations. --kernels is --libraries. In all names '_' and
'-' are the same.
)";

namespace {

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

Status ParseCount(std::string_view name, std::string_view text, size_t minimum, size_t* count) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *count);
  if (error == std::errc() && end == text.data() + text.size() && *count >= minimum) return {};
  return Fail(Code::kInvalidArgument, name, " takes a whole number from ", minimum, ", not '", text,
              "'");
}

Status ParseSeconds(std::string_view name, std::string_view text, double* seconds) {
  const std::string owned(text);
  char* end = nullptr;
  *seconds = std::strtod(owned.c_str(), &end);
  if (!owned.empty() && *end == '\0' && *seconds >= 0) return {};
  return Fail(Code::kInvalidArgument, name, " takes a number of seconds, not '", text, "'");
}

// `given` is the name as the user wrote it.
Status SetOption(std::string_view given, std::string_view value, Arguments* arguments) {
  std::string name(given);
  std::replace(name.begin(), name.end(), '_', '-');
  if (name == "--model-path") {
    arguments->model_path = value;
  } else if (name == "--method" || name == "--method-name") {
    arguments->method = value;
  } else if (name == "--packed-weights") {
    arguments->packed_weights = value;
  } else if (name == "--packed-weights-limit") {
    return ParseCount(given, value, 1, &arguments->packed_weights_limit);
  } else if (name == "--xnnpack") {
    arguments->xnnpack = value;
  } else if (name == "--max-seconds") {
    return ParseSeconds(given, value, &arguments->max_seconds);
  } else if (name == "--inputs") {
    arguments->inputs = SplitAtCommas(value);
  } else if (name == "--libraries" || name == "--kernels") {
    arguments->libraries = SplitAtCommas(value);
  } else if (name == "--data-path") {
    arguments->data = SplitAtCommas(value);
  } else if (name == "--output-dir") {
    arguments->output_dir = value;
  } else if (name == "--output-file") {
    arguments->output_file = value;
  } else if (name == "--profile-trace") {
    arguments->profile_trace = value;
  } else if (name == "--etdump-path") {
    arguments->etdump_path = value;
  } else if (name == "--profile-order") {
    if (value != "time" && value != "ran") {
      return Fail(Code::kInvalidArgument, given, " is 'time' or 'ran', not '", value, "'");
    }
    arguments->profile_in_order = value == "ran";
  } else if (name == "--cpu-threads" && value == "-1") {
    arguments->threads = 0;
  } else if (name == "--threads" || name == "--cpu-threads") {
    return ParseCount(given, value, 1, &arguments->threads);
  } else if (name == "--warmup") {
    return ParseCount(given, value, 0, &arguments->warmup);
  } else if (name == "--iterations" || name == "--num-executions") {
    return ParseCount(given, value, 1, &arguments->iterations);
  } else {
    return Fail(Code::kInvalidArgument, "unknown option '", given, "'");
  }
  return {};
}

}  // namespace

Result<Arguments> ParseArguments(int argc, const char* const* argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    if (name == "--help" || name == "-h") {
      arguments.help = true;
      return arguments;
    }
    if (name == "--memory") {
      arguments.memory = true;
      continue;
    }
    if (name == "--serve") {
      arguments.serve = true;
      continue;
    }
    if (name == "--profile") {
      arguments.profile = true;
      continue;
    }
    std::string_view value;
    if (const size_t equals = name.find('='); equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      return Fail(Code::kInvalidArgument, "'", name, "' takes a value");
    }
    XIR_RETURN_IF_ERROR(SetOption(name, value, &arguments));
  }
  if (arguments.serve && !arguments.model_path.empty()) {
    return Fail(Code::kInvalidArgument, "--serve takes no --model_path: requests bring programs");
  }
  if (arguments.model_path.empty() && !arguments.serve)
    return Fail(Code::kInvalidArgument, "--model_path is missing");
  return arguments;
}

}  // namespace xir::runner
