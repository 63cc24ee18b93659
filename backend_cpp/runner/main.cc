// Runs a .pte program from the command line: no Python, no torch.

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <string>
#include <vector>

#include "arguments.h"
#include "files.h"
#include "inputs.h"
#include "npy.h"
#include "serve.h"
#include "xir/library.h"
#include "xir/program.h"

namespace xir::runner {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The milliseconds that it took; with `profiles`, what they were spent on is appended to those.
Result<double> RunOnce(Method* method, std::vector<Given>* inputs,
                       std::vector<Profile>* profiles = nullptr) {
  const auto start = Clock::now();
  for (auto& [index, input] : *inputs) {
    XIR_RETURN_IF_ERROR(method->SetInput(index, input.data.data(), input.data.size(), input.shape));
  }
  if (profiles != nullptr) {
    XIR_ASSIGN_OR_RETURN(Profile profile, method->ExecuteProfiled());
    profiles->push_back(std::move(profile));
    return profiles->back().duration / 1000;
  }
  XIR_RETURN_IF_ERROR(method->Execute());
  return MillisecondsSince(start);
}

Status WriteOutputs(const Method& method, const std::string& directory) {
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return Fail(Code::kNotFound, "cannot create '", directory, "': ", std::strerror(errno));
  }
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    const auto* tensor = method.output(i).get<Tensor>();
    if (tensor == nullptr) continue;
    std::vector<uint8_t> data(tensor->nbytes());
    Reorder(*tensor, tensor->as<uint8_t>(), data.data(), /*to_c_order=*/true);
    const std::string path = directory + "/output_" + std::to_string(i) + ".npy";
    XIR_RETURN_IF_ERROR(WriteNpy(path, tensor->dtype, tensor->shape, data.data()));
    std::printf("wrote %s: %s %s\n", path.c_str(), std::string(Name(tensor->dtype)).c_str(),
                tensor->shape.ToString().c_str());
  }
  return {};
}

Status WriteRawOutputs(const Method& method, const std::string& base) {
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    const auto* tensor = method.output(i).get<Tensor>();
    if (tensor == nullptr) continue;
    const std::string path = base + "-" + std::to_string(i) + ".bin";
    XIR_RETURN_IF_ERROR(WriteFile(path, "", tensor->data, tensor->nbytes()));
  }
  return {};
}

double Median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const size_t half = times.size() / 2;
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

void PrintTimes(double first, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double median = Median(times);
  const double mean =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  std::printf("first iteration: %.3f ms\n", first);
  std::printf("%zu iterations: mean %.3f ms, median %.3f ms, min %.3f ms\n", times.size(), mean,
              median, times.front());
}

// The width of the terminal, or what fits most of them.
size_t LineWidth() {
  winsize size;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long width = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  return width > 0 ? static_cast<size_t>(width) : ProfileTableOptions().width;
}

Status WriteProfile(const Arguments& arguments, const std::vector<Profile>& profiles) {
  if (arguments.profile) {
    const ProfileTableOptions options{!arguments.profile_in_order, LineWidth()};
    std::printf("\n%s", ProfileTable(profiles, options).c_str());
  }
  if (!arguments.profile_trace.empty()) {
    const std::string trace = ProfileTrace(profiles);
    XIR_RETURN_IF_ERROR(WriteFile(arguments.profile_trace, "", trace.data(), trace.size()));
  }
  if (!arguments.etdump_path.empty()) {
    const std::string etdump = ProfileEtdump(profiles);
    XIR_RETURN_IF_ERROR(WriteFile(arguments.etdump_path, "", etdump.data(), etdump.size()));
  }
  return {};
}

// A line of /proc/self/status such as "VmHWM:     4200 kB", in megabytes.
double StatusMegabytes(const std::string& name) {
  const auto bytes = ReadFile("/proc/self/status");
  if (!bytes.ok()) return 0;
  const std::string text(bytes.value().begin(), bytes.value().end());
  const size_t line = text.find("\n" + name + ":");
  if (line == std::string::npos) return 0;
  return std::strtod(text.c_str() + line + name.size() + 2, nullptr) * 1024 / 1e6;
}

// What is resident is the process's own, or pages of files: libraries' code and the program.
void PrintMemory(const Program& program, const MethodMetadata& metadata) {
  std::printf("memory: %.1f MB packed weights, %.1f MB arenas",
              static_cast<double>(program.packed_bytes()) / 1e6,
              static_cast<double>(metadata.arena_bytes) / 1e6);
  const double resident = StatusMegabytes("VmRSS");
  if (resident > 0) {  // Linux tells
    std::printf("; resident %.1f MB, %.1f MB of them its own, at most %.1f MB", resident,
                StatusMegabytes("RssAnon"), StatusMegabytes("VmHWM"));
  }
  std::printf("\n");
}

void PrintPackedFile(const PackedFileState& state) {
  const char* outcome = state.written ? "written" : state.read ? "read" : "not used";
  std::printf("packed weights: %s%s%s\n", outcome, state.remark.empty() ? "" : "; ",
              state.remark.c_str());
}

Status Run(const Arguments& arguments) {
  LoadOptions options;
  options.threads = arguments.threads;
  options.max_seconds = arguments.max_seconds;
  options.xnnpack_paths = PythonLibraryPaths();
  if (!arguments.xnnpack.empty()) options.xnnpack_paths = {arguments.xnnpack};
  options.packed_weights = arguments.packed_weights;
  options.packed_weights_limit = arguments.packed_weights_limit;
  for (const std::string& path : arguments.data) options.data.push_back(Source::Path(path));
  auto registry = std::make_shared<KernelRegistry>();
  for (const std::string& library : arguments.libraries) {
    XIR_RETURN_IF_ERROR(registry->LoadLibrary(library));
  }
  options.kernels = std::move(registry);
  const auto start = Clock::now();
  auto opened = Program::Open(arguments.model_path, options);
  if (!opened.ok()) {
    Status status = std::move(opened).status();
    if (status.code() != Code::kMissingData) return status;
    return Fail(Code::kMissingData, status.message(), "; --data_path takes .ptd files");
  }
  const auto program = std::move(opened).value();
  XIR_ASSIGN_OR_RETURN(const auto method, program->LoadMethod(arguments.method));
  std::printf("loaded %s: %.3f ms, %zu delegate%s, %zu thread%s\n", arguments.model_path.c_str(),
              MillisecondsSince(start), method->num_delegates(),
              method->num_delegates() == 1 ? "" : "s", program->threads(),
              program->threads() == 1 ? "" : "s");
  if (!arguments.packed_weights.empty()) PrintPackedFile(program->packed_file());
  if (arguments.memory) {
    XIR_ASSIGN_OR_RETURN(const MethodMetadata metadata, program->method_metadata(arguments.method));
    PrintMemory(*program, metadata);
  }
  XIR_ASSIGN_OR_RETURN(std::vector<Given> inputs, MakeInputs(*method, arguments.inputs));

  XIR_ASSIGN_OR_RETURN(const double first, RunOnce(method.get(), &inputs));
  for (size_t i = 1; i < arguments.warmup; ++i) {
    XIR_RETURN_IF_ERROR(std::move(RunOnce(method.get(), &inputs)).status());
  }
  std::vector<Profile> profiles;
  if (arguments.profiles()) {
    XIR_RETURN_IF_ERROR(std::move(RunOnce(method.get(), &inputs, &profiles)).status());
    profiles.clear();
  }
  std::vector<double> times;
  for (size_t i = 0; i < arguments.iterations; ++i) {
    XIR_ASSIGN_OR_RETURN(const double time, RunOnce(method.get(), &inputs,
                                                    arguments.profiles() ? &profiles : nullptr));
    times.push_back(time);
  }
  PrintTimes(first, std::move(times));
  XIR_RETURN_IF_ERROR(WriteProfile(arguments, profiles));
  if (!arguments.output_file.empty()) {
    XIR_RETURN_IF_ERROR(WriteRawOutputs(*method, arguments.output_file));
  }
  return arguments.output_dir.empty() ? Status() : WriteOutputs(*method, arguments.output_dir);
}

}  // namespace
}  // namespace xir::runner

namespace {

xir::Status Main(int argc, char** argv) {
  XIR_ASSIGN_OR_RETURN(const xir::runner::Arguments arguments,
                       xir::runner::ParseArguments(argc, argv));
  if (arguments.serve) return xir::runner::Serve(arguments);
  if (!arguments.help) return xir::runner::Run(arguments);
  std::fputs(xir::runner::kUsage, stdout);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  xir::Status status;
  try {
    status = Main(argc, argv);
  } catch (const std::exception& error) {  // there is no memory left for the runner's own
    status = xir::Fail(xir::Code::kResource, error.what());
  }
  if (status.ok()) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "xnn_executor_runner: error: %s\n", status.message().c_str());
  return 1;
}
