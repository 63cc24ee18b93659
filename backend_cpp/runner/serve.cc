#include "serve.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts.h"
#include "inputs.h"
#include "json.h"
#include "xir/library.h"
#include "xir/machine.h"
#include "xir/program.h"

namespace xir::runner {
namespace {

// The longest request, its end included.
constexpr size_t kLongestLine = 8 << 20;

// The most bytes of an output that one answer has.
constexpr uint64_t kMostBytes = 3 << 20;

constexpr uint64_t kMostRuns = 1'000'000;
constexpr size_t kMostTimes = 1000;

// A file that is coming in, or has come.
struct ServedFile {
  std::vector<uint8_t> bytes;
  uint64_t size = 0;

  bool is_complete() const { return bytes.size() == size; }
};

struct Loaded {
  std::vector<std::shared_ptr<const ServedFile>> files;  // outlive what uses their bytes
  std::shared_ptr<const Program> program;
  std::unique_ptr<Method> method;
  std::vector<Given> inputs;
  bool has_run = false;
};

class Server {
 public:
  explicit Server(const Arguments& arguments) : arguments_(arguments) {
    xnnpack_paths_ = PythonLibraryPaths();
    if (!arguments.xnnpack.empty()) xnnpack_paths_ = {arguments.xnnpack};
  }

  Status LoadLibraries() {
    auto registry = std::make_shared<KernelRegistry>();
    for (const std::string& library : arguments_.libraries) {
      XIR_RETURN_IF_ERROR(registry->LoadLibrary(library));
    }
    kernels_ = std::move(registry);
    return {};
  }

  bool is_done() const { return is_done_; }

  // The answer, whatever the line is.
  std::string Handle(std::string_view line) {
    Answer answer;
    Status status;
    try {
      status = Dispatch(line, &answer);
    } catch (const std::exception& error) {
      status = Fail(Code::kResource, error.what());
    }
    if (status.ok()) return answer.Line();
    Answer failure;
    if (has_id_) failure.Count("id", id_);
    return failure.Text("error", status.message()).Text("code", CodeName(status.code())).Line();
  }

 private:
  using Handler = Status (Server::*)(const Request&, Answer*);

  Status Dispatch(std::string_view line, Answer* answer) {
    has_id_ = false;
    XIR_ASSIGN_OR_RETURN(const Request request, Request::Parse(line));
    if (request.has("id")) {
      XIR_ASSIGN_OR_RETURN(id_, request.Count("id"));
      has_id_ = true;
      answer->Count("id", id_);
    }
    XIR_ASSIGN_OR_RETURN(const std::string_view name, request.Text("request"));
    static const std::map<std::string_view, Handler> handlers = {
        {"hello", &Server::Hello},   {"core", &Server::Core},          {"put", &Server::Put},
        {"drop", &Server::Drop},     {"load", &Server::Load},          {"input", &Server::Input},
        {"run", &Server::Run},       {"profile", &Server::GetProfile}, {"output", &Server::Output},
        {"unload", &Server::Unload}, {"reference", &Server::Check},    {"quit", &Server::Quit},
    };
    const auto handler = handlers.find(name);
    if (handler == handlers.end()) {
      return Fail(Code::kUnsupported, "there is no request '", name, "'");
    }
    return (this->*handler->second)(request, answer);
  }

  Status Hello(const Request&, Answer* answer) {
    utsname system{};
    uname(&system);
    XIR_ASSIGN_OR_RETURN(const std::string build, XnnpackBuild(xnnpack_paths_));
    answer->Count("protocol", kProtocol);
    answer->Text("xir", XIR_VERSION).Text("machine", system.machine);
    answer->Text("system", std::string(system.sysname) + " " + system.release);
    answer->Text("xnnpack", build).Value("cores", CoreList());
    return {};
  }

  Status Core(const Request& request, Answer* answer) {
    XIR_ASSIGN_OR_RETURN(const uint64_t core, request.Count("core", 0));
    if (request.has("core")) XIR_RETURN_IF_ERROR(PinToCore(core));
    answer->Append(CoreFacts(core));
    return {};
  }

  Status Put(const Request& request, Answer* answer) {
    XIR_ASSIGN_OR_RETURN(const std::string_view name, request.Text("name"));
    XIR_ASSIGN_OR_RETURN(const uint64_t size, request.Count("size"));
    XIR_ASSIGN_OR_RETURN(const uint64_t at, request.Count("at", 0));
    XIR_ASSIGN_OR_RETURN(const std::string_view text, request.Text("data"));
    XIR_ASSIGN_OR_RETURN(const std::vector<uint8_t> data, DecodeBase64(text));
    std::shared_ptr<ServedFile>& file = files_[std::string(name)];
    if (at == 0) {
      file = std::make_shared<ServedFile>();
      file->size = size;
      try {
        file->bytes.reserve(size);
      } catch (const std::exception&) {
        files_.erase(std::string(name));
        return Fail(Code::kResource, "there is no room for ", size, " bytes");
      }
    }
    if (file == nullptr || file->size != size || file->bytes.size() != at) {
      const size_t has = file == nullptr ? 0 : file->bytes.size();
      if (file == nullptr) files_.erase(std::string(name));
      return Fail(Code::kInvalidArgument, "'", name, "' goes on at ", has, ", not ", at);
    }
    if (data.size() > size - at) {
      return Fail(Code::kInvalidArgument, "'", name, "' has ", size, " bytes, and ",
                  at + data.size(), " came");
    }
    file->bytes.insert(file->bytes.end(), data.begin(), data.end());
    answer->Count("received", file->bytes.size());
    return {};
  }

  Status Drop(const Request& request, Answer*) {
    XIR_ASSIGN_OR_RETURN(const std::string_view name, request.Text("name"));
    if (files_.erase(std::string(name)) == 0) return NoFile(name);
    return {};
  }

  Status Load(const Request& request, Answer* answer) {
    Loaded loaded;
    XIR_ASSIGN_OR_RETURN(const Source source, FindSource(request, "name", "path", &loaded));
    std::string method = "forward";
    if (request.has("method")) {
      XIR_ASSIGN_OR_RETURN(const std::string_view given, request.Text("method"));
      method = given;
    }
    LoadOptions options;
    XIR_ASSIGN_OR_RETURN(options.threads, request.Count("threads", 1));
    options.max_seconds = arguments_.max_seconds;
    options.xnnpack_paths = xnnpack_paths_;
    options.kernels = kernels_;
    if (request.has("data") || request.has("data_path")) {
      XIR_ASSIGN_OR_RETURN(const Source data, FindSource(request, "data", "data_path", &loaded));
      options.data.push_back(data);
    }
    const double start = WallTime();
    XIR_ASSIGN_OR_RETURN(loaded.program, Program::Load(source, options));
    XIR_ASSIGN_OR_RETURN(loaded.method, loaded.program->LoadMethod(method));
    answer->Number("nanoseconds", WallTime() - start);
    XIR_ASSIGN_OR_RETURN(loaded.inputs, MakeInputs(*loaded.method, {}));
    std::vector<double> indices;
    for (const Given& given : loaded.inputs) indices.push_back(static_cast<double>(given.index));
    answer->Count("program", ++last_program_).Numbers("inputs", indices);
    answer->Count("outputs", loaded.method->num_outputs());
    answer->Count("delegates", loaded.method->num_delegates());
    programs_[last_program_] = std::move(loaded);
    return {};
  }

  Status Input(const Request& request, Answer*) {
    XIR_ASSIGN_OR_RETURN(Loaded * loaded, FindProgram(request));
    XIR_ASSIGN_OR_RETURN(const uint64_t index, request.Count("index"));
    XIR_ASSIGN_OR_RETURN(const std::string_view name, request.Text("name"));
    XIR_ASSIGN_OR_RETURN(const auto file, Find(name));
    for (Given& given : loaded->inputs) {
      if (given.index != index) continue;
      const Tensor& tensor = *loaded->method->input(index).get<Tensor>();
      XIR_ASSIGN_OR_RETURN(given.array, ParseInput(tensor, std::string(name), file->bytes));
      return {};
    }
    return Fail(Code::kInvalidArgument, "the method has no tensor as input ", index);
  }

  // Each execution wants them anew.
  static Status SetInputs(Loaded* loaded) {
    for (auto& [index, array] : loaded->inputs) {
      XIR_RETURN_IF_ERROR(
          loaded->method->SetInput(index, array.data.data(), array.data.size(), array.shape));
    }
    return {};
  }

  Status Run(const Request& request, Answer* answer) {
    XIR_ASSIGN_OR_RETURN(Loaded * loaded, FindProgram(request));
    XIR_ASSIGN_OR_RETURN(const uint64_t runs, request.Count("runs", 1));
    XIR_ASSIGN_OR_RETURN(const double seconds, request.Number("seconds", 0));
    std::string_view clock = "processor";
    if (request.has("clock")) {
      XIR_ASSIGN_OR_RETURN(clock, request.Text("clock"));
    }
    if (clock != "processor" && clock != "wall") {
      return Fail(Code::kInvalidArgument, "'clock' is 'processor' or 'wall', not '", clock, "'");
    }
    if (runs == 0 || runs > kMostRuns) {
      return Fail(Code::kInvalidArgument, "'runs' is a number from 1 to ", kMostRuns);
    }
    const auto now = clock == "wall" ? WallTime : ProcessorTime;
    std::vector<double> times;
    const double end = WallTime() + seconds * 1e9;
    do {
      const double start = now();
      XIR_RETURN_IF_ERROR(SetInputs(loaded));
      XIR_RETURN_IF_ERROR(loaded->method->Execute());
      times.push_back(now() - start);
    } while (times.size() < runs || (WallTime() < end && times.size() < kMostRuns));
    loaded->has_run = true;
    std::vector<double> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    // On virtual machines the clock stands still now and then.
    const auto moved = std::upper_bound(sorted.begin(), sorted.end(), 0.0);
    const size_t half = sorted.size() / 2;
    const double median =
        sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    answer->Count("runs", times.size());
    if (moved != sorted.end()) answer->Number("shortest", *moved);
    times.resize(std::min(times.size(), kMostTimes));
    answer->Number("median", median).Numbers("times", times);
    return {};
  }

  Status GetProfile(const Request& request, Answer* answer) {
    XIR_ASSIGN_OR_RETURN(Loaded * loaded, FindProgram(request));
    XIR_ASSIGN_OR_RETURN(const uint64_t runs, request.Count("runs", 1));
    if (runs == 0 || runs > kMostTimes) {
      return Fail(Code::kInvalidArgument, "'runs' is a number from 1 to ", kMostTimes);
    }
    std::vector<Profile> profiles;
    for (uint64_t i = 0; i <= runs; ++i) {
      XIR_RETURN_IF_ERROR(SetInputs(loaded));
      XIR_ASSIGN_OR_RETURN(Profile profile, loaded->method->ExecuteProfiled());
      if (i > 0) profiles.push_back(std::move(profile));  // the first one is slow
    }
    loaded->has_run = true;
    answer->Text("table", ProfileTable(profiles, {})).Text("trace", ProfileTrace(profiles));
    return {};
  }

  Status Output(const Request& request, Answer* answer) {
    XIR_ASSIGN_OR_RETURN(const Loaded* loaded, FindProgram(request));
    XIR_ASSIGN_OR_RETURN(const uint64_t index, request.Count("index"));
    XIR_ASSIGN_OR_RETURN(const uint64_t at, request.Count("at", 0));
    if (!loaded->has_run || index >= loaded->method->num_outputs()) {
      return Fail(Code::kInvalidArgument, "there is no output ", index, " of a run");
    }
    const auto* tensor = loaded->method->output(index).get<Tensor>();
    if (tensor == nullptr) {
      return Fail(Code::kInvalidArgument, "output ", index, " is no tensor");
    }
    if (at > tensor->nbytes()) {
      return Fail(Code::kInvalidArgument, "output ", index, " has ", tensor->nbytes(), " bytes");
    }
    std::vector<uint8_t> data(tensor->nbytes());
    Reorder(*tensor, tensor->as<uint8_t>(), data.data(), /*to_c_order=*/true);
    const uint64_t size = std::min<uint64_t>(kMostBytes, data.size() - at);
    std::vector<double> shape;
    for (size_t i = 0; i < tensor->rank(); ++i) {
      shape.push_back(static_cast<double>(tensor->shape[i]));
    }
    answer->Text("dtype", Name(tensor->dtype)).Numbers("shape", shape).Count("size", data.size());
    answer->Text("data", EncodeBase64(data.data() + at, size));
    return {};
  }

  Status Unload(const Request& request, Answer*) {
    XIR_RETURN_IF_ERROR(std::move(FindProgram(request)).status());
    XIR_ASSIGN_OR_RETURN(const uint64_t program, request.Count("program"));
    programs_.erase(program);
    return {};
  }

  Status Check(const Request&, Answer* answer) {
    answer->Number("nanoseconds", ReferenceNanoseconds());
    const std::string hot = HotSensor();
    if (!hot.empty()) answer->Text("hot", hot);
    return {};
  }

  Status Quit(const Request&, Answer*) {
    is_done_ = true;
    return {};
  }

  static Status NoFile(std::string_view name) {
    return Fail(Code::kNotFound, "there is no file '", name, "'");
  }

  Result<std::shared_ptr<const ServedFile>> Find(std::string_view name) const {
    const auto found = files_.find(std::string(name));
    if (found == files_.end()) return NoFile(name);
    const std::shared_ptr<const ServedFile> file = found->second;
    if (file->is_complete()) return file;
    return Fail(Code::kInvalidArgument, "of '", name, "' only ", file->bytes.size(), " of ",
                file->size, " bytes have come");
  }

  // A file that came, which `loaded` keeps, or one that the device has.
  Result<Source> FindSource(const Request& request, const std::string& name,
                            const std::string& path, Loaded* loaded) const {
    if (request.has(path)) {
      XIR_ASSIGN_OR_RETURN(const std::string_view given, request.Text(path));
      return Source::Path(std::string(given));
    }
    XIR_ASSIGN_OR_RETURN(const std::string_view given, request.Text(name));
    XIR_ASSIGN_OR_RETURN(auto file, Find(given));
    loaded->files.push_back(std::move(file));
    return Source::Borrowed(loaded->files.back()->bytes);
  }

  Result<Loaded*> FindProgram(const Request& request) {
    XIR_ASSIGN_OR_RETURN(const uint64_t program, request.Count("program"));
    const auto found = programs_.find(program);
    if (found == programs_.end()) return Fail(Code::kNotFound, "there is no program ", program);
    return &found->second;
  }

  const Arguments& arguments_;
  std::vector<std::string> xnnpack_paths_;
  std::shared_ptr<const KernelRegistry> kernels_;
  std::map<std::string, std::shared_ptr<ServedFile>> files_;
  std::map<uint64_t, Loaded> programs_;
  uint64_t last_program_ = 0;
  uint64_t id_ = 0;
  bool has_id_ = false;
  bool is_done_ = false;
};

// Lines of a descriptor.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  // False at the end. A line that is too long is skipped, and `is_too_long`.
  bool Next(std::string* line, bool* is_too_long) {
    line->clear();
    *is_too_long = false;
    while (true) {
      if (at_ == size_ && !Fill()) return false;
      const auto* begin = block_ + at_;
      const auto* end = static_cast<const char*>(std::memchr(begin, '\n', size_ - at_));
      const size_t count = end == nullptr ? size_ - at_ : static_cast<size_t>(end - begin);
      *is_too_long = *is_too_long || line->size() + count > kLongestLine;
      if (!*is_too_long) line->append(begin, count);
      at_ += count + (end == nullptr ? 0 : 1);
      if (end != nullptr) return true;
    }
  }

 private:
  bool Fill() {
    ssize_t count = 0;
    do {
      count = read(descriptor_, block_, sizeof(block_));
    } while (count < 0 && errno == EINTR);
    at_ = 0;
    size_ = count > 0 ? static_cast<size_t>(count) : 0;
    return count > 0;
  }

  int descriptor_;
  char block_[1 << 16];
  size_t at_ = 0;
  size_t size_ = 0;
};

std::string TooLong() {
  const Status status =
      Fail(Code::kInvalidArgument, "the line has more than ", kLongestLine, " bytes");
  return Answer().Text("error", status.message()).Text("code", CodeName(status.code())).Line();
}

}  // namespace

Status Serve(const Arguments& arguments) {
  Server server(arguments);
  XIR_RETURN_IF_ERROR(server.LoadLibraries());
  // What libraries print is no answer.
  const int descriptor = dup(STDOUT_FILENO);
  if (descriptor < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return Fail(Code::kInternal, "cannot set standard output apart: ", std::strerror(errno));
  }
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> answers(fdopen(descriptor, "w"));
  const auto lines = std::make_unique<Lines>(STDIN_FILENO);
  std::string line;
  bool is_too_long = false;
  while (!server.is_done() && lines->Next(&line, &is_too_long)) {
    const std::string answer = is_too_long ? TooLong() : server.Handle(line);
    std::fprintf(answers.get(), "%s\n", answer.c_str());
    if (std::fflush(answers.get()) != 0) {
      return Fail(Code::kInternal, "cannot answer: ", std::strerror(errno));
    }
  }
  return {};
}

}  // namespace xir::runner
