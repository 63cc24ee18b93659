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
#include "npy.h"
#include "xir/library.h"
#include "xir/program.h"

namespace xir::runner {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

template <typename T>
void FillWithOnes(std::vector<uint8_t>* data) {
  const T one = 1;
  for (size_t i = 0; i + sizeof(T) <= data->size(); i += sizeof(T)) {
    std::memcpy(data->data() + i, &one, sizeof(T));
  }
}

// What a tensor of ones of `dtype` looks like in memory.
void FillWithOnes(DType dtype, std::vector<uint8_t>* data) {
  switch (dtype) {
    case DType::kFloat:
      return FillWithOnes<float>(data);
    case DType::kDouble:
      return FillWithOnes<double>(data);
    case DType::kHalf: {
      const uint16_t one = 0x3C00;
      for (size_t i = 0; i + 1 < data->size(); i += 2) std::memcpy(data->data() + i, &one, 2);
      return;
    }
    case DType::kBFloat16: {
      const uint16_t one = 0x3F80;
      for (size_t i = 0; i + 1 < data->size(); i += 2) std::memcpy(data->data() + i, &one, 2);
      return;
    }
    default:
      break;
  }
  switch (ElementSize(dtype)) {
    case 1:
      return FillWithOnes<uint8_t>(data);
    case 2:
      return FillWithOnes<uint16_t>(data);
    case 4:
      return FillWithOnes<uint32_t>(data);
    default:
      return FillWithOnes<uint64_t>(data);
  }
}

// Copies between C order and a tensor's dimension order; `to_c_order` says which way.
void Reorder(const Tensor& layout, const uint8_t* from, uint8_t* to, bool to_c_order) {
  const size_t element = ElementSize(layout.dtype);
  const auto strides = layout.strides();
  const int64_t count = layout.numel();
  std::vector<int64_t> index(layout.rank(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < layout.rank(); ++d) at += index[d] * strides[d];
    const auto c_order = static_cast<size_t>(i) * element;
    const auto physical = static_cast<size_t>(at) * element;
    std::memcpy(to + (to_c_order ? c_order : physical), from + (to_c_order ? physical : c_order),
                element);
    for (size_t d = layout.rank(); d-- > 0;) {
      if (++index[d] < layout.shape[d]) break;
      index[d] = 0;
    }
  }
}

// A file of a tensor's bytes alone, at its largest shape.
Result<Array> RawInput(const Tensor& tensor, const std::string& path, std::vector<uint8_t> bytes) {
  const auto wanted = static_cast<size_t>(tensor.bound.numel()) * ElementSize(tensor.dtype);
  if (bytes.size() != wanted) {
    return Fail(Code::kInvalidArgument, "'", path, "' has ", bytes.size(), " bytes and is no .npy ",
                "file; a tensor of ", Name(tensor.dtype), " ", tensor.bound.ToString(), " has ",
                wanted);
  }
  return Array{tensor.dtype, tensor.bound, std::move(bytes)};
}

// One input, in the order in which the method wants it.
Result<Array> MakeInput(const Tensor* tensor, const std::string* path) {
  if (path == nullptr) {
    Array ones{tensor->dtype, tensor->bound, {}};
    ones.data.resize(static_cast<size_t>(tensor->bound.numel()) * ElementSize(tensor->dtype));
    FillWithOnes(tensor->dtype, &ones.data);
    return ones;
  }
  XIR_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ReadFile(*path));
  if (!IsNpy(bytes)) return RawInput(*tensor, *path, std::move(bytes));
  XIR_ASSIGN_OR_RETURN(Array array, ParseNpy(*path, bytes));
  const bool bits = array.dtype == DType::kUInt16 && tensor->dtype == DType::kBFloat16;
  if (array.dtype != tensor->dtype && !bits) {
    return Fail(Code::kInvalidArgument, "'", *path, "' holds ", Name(array.dtype), ", not ",
                Name(tensor->dtype));
  }
  Tensor layout = *tensor;
  XIR_RETURN_IF_ERROR(layout.CheckShape(array.shape).In("'" + *path + "'"));
  layout.shape = array.shape;
  if (!layout.is_contiguous()) {
    std::vector<uint8_t> reordered(array.data.size());
    Reorder(layout, array.data.data(), reordered.data(), /*to_c_order=*/false);
    array.data = std::move(reordered);
  }
  return array;
}

// An input, and its number among the method's.
struct Given {
  size_t index;
  Array array;
};

// The tensors. Numbers, strings and None are what the program was exported for.
Result<std::vector<Given>> MakeInputs(const Method& method, const std::vector<std::string>& paths) {
  std::vector<size_t> tensors;
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    if (method.input(i).get<Tensor>() != nullptr) tensors.push_back(i);
  }
  if (!paths.empty() && paths.size() != tensors.size()) {
    const char* of = tensors.size() == method.num_inputs() ? " inputs" : " tensors";
    return Fail(Code::kInvalidArgument, "the method takes ", tensors.size(), of, ", and ",
                paths.size(), " files were given");
  }
  std::vector<Given> inputs;
  for (const size_t i : tensors) {
    const std::string* path = paths.empty() ? nullptr : &paths[inputs.size()];
    auto input = MakeInput(method.input(i).get<Tensor>(), path);
    if (!input.ok()) return std::move(input).status().In("input " + std::to_string(i));
    inputs.push_back({i, std::move(input).value()});
  }
  return inputs;
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
