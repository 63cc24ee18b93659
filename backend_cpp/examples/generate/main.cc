// Continues tokens by a file of `xir-llm export`, and prints each token as it comes, one a line.
//
//   generate MODEL.pte LIBRARY TOKEN,TOKEN,... [COUNT [TEMPERATURE [SEED]]]
//
// Weights that are apart are in the .ptd beside MODEL.pte. LIBRARY holds XNNPACK. At temperature 0,
// the default, the likeliest token is taken. Tokens are numbers: text is the tokenizer's.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "xir/program.h"

namespace {

using Tokens = std::vector<int64_t>;

struct Logits {
  const float* data;
  size_t size;
};

// The methods of the file on one set of caches, and what it says of itself.
struct Model {
  std::unique_ptr<xir::Method> prefill;  // several tokens, at most `max_seq_len`
  std::unique_ptr<xir::Method> decode;   // one token
  size_t max_seq_len = 0;
  size_t max_context_len = 0;  // prompt and answer together
  Tokens eos_ids;
};

// What a method without inputs answers.
xir::Result<Tokens> Constants(const xir::Program& program, std::string_view name) {
  XIR_ASSIGN_OR_RETURN(const auto method, program.LoadMethod(name));
  XIR_RETURN_IF_ERROR(method->Execute());
  Tokens values;
  for (size_t i = 0; i < method->num_outputs(); ++i) {
    const auto* value = method->output(i).get<int64_t>();
    if (value == nullptr || *value < 0) {
      return xir::Fail(xir::Code::kInvalidArgument, "'", name, "' answers no whole numbers");
    }
    values.push_back(*value);
  }
  return values;
}

xir::Result<size_t> Constant(const xir::Program& program, std::string_view name) {
  XIR_ASSIGN_OR_RETURN(const Tokens values, Constants(program, name));
  if (values.size() != 1) {
    return xir::Fail(xir::Code::kInvalidArgument, "'", name, "' answers not one number");
  }
  return static_cast<size_t>(values[0]);
}

// With the weights from beside it, if they are apart.
xir::Result<std::shared_ptr<const xir::Program>> OpenProgram(const char* path,
                                                             xir::LoadOptions options) {
  auto whole = xir::Program::Open(path, options);
  if (whole.ok()) return whole;
  xir::Status status = std::move(whole).status();
  if (status.code() != xir::Code::kMissingData) return status;
  const auto weights = std::filesystem::path(path).replace_extension(".ptd");
  options.data = {xir::Source::Path(weights.string())};
  return xir::Program::Open(path, options);
}

xir::Result<Model> Load(const char* path, const char* xnnpack) {
  xir::LoadOptions options;
  options.xnnpack_paths = {xnnpack};
  XIR_ASSIGN_OR_RETURN(const auto program, OpenProgram(path, options));
  Model model;
  XIR_ASSIGN_OR_RETURN(model.max_seq_len, Constant(*program, "get_max_seq_len"));
  XIR_ASSIGN_OR_RETURN(model.max_context_len, Constant(*program, "get_max_context_len"));
  const auto names = program->method_names();
  if (std::find(names.begin(), names.end(), "get_eos_ids") != names.end()) {
    XIR_ASSIGN_OR_RETURN(model.eos_ids, Constants(*program, "get_eos_ids"));
  }
  XIR_ASSIGN_OR_RETURN(const auto state, program->NewState());
  XIR_ASSIGN_OR_RETURN(model.prefill, program->LoadMethod("prefill", state));
  XIR_ASSIGN_OR_RETURN(model.decode, program->LoadMethod("decode", state));
  return model;
}

// Runs tokens that stand at `position` and behind it; the logits of the last are valid until the
// next run.
xir::Result<Logits> Run(const Model& model, Tokens tokens, size_t position) {
  xir::Method& method = tokens.size() > 1 ? *model.prefill : *model.decode;
  const auto count = static_cast<int64_t>(tokens.size());
  Tokens positions(tokens.size());
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<int64_t>(position + i);
  const size_t nbytes = tokens.size() * sizeof(int64_t);
  XIR_RETURN_IF_ERROR(method.SetInput(0, tokens.data(), nbytes, {2, {1, count}}));
  XIR_RETURN_IF_ERROR(method.SetInput(1, positions.data(), nbytes, {1, {count}}));
  XIR_RETURN_IF_ERROR(method.Execute());
  const auto* logits = method.output(0).get<xir::Tensor>();
  if (logits == nullptr || logits->dtype != xir::DType::kFloat || logits->numel() == 0) {
    return xir::Fail(xir::Code::kInvalidArgument, "'", method.name(), "' computes no floats");
  }
  return Logits{logits->as<float>(), static_cast<size_t>(logits->numel())};
}

// A prompt may be longer than the method takes at once.
xir::Result<Logits> Prefill(const Model& model, const Tokens& prompt) {
  Logits logits{};
  for (size_t begin = 0; begin < prompt.size(); begin += model.max_seq_len) {
    const size_t end = std::min(begin + model.max_seq_len, prompt.size());
    const Tokens part(prompt.begin() + static_cast<ptrdiff_t>(begin),
                      prompt.begin() + static_cast<ptrdiff_t>(end));
    XIR_ASSIGN_OR_RETURN(logits, Run(model, part, begin));
  }
  return logits;
}

int64_t Sample(const Logits& logits, double temperature, std::mt19937_64* random) {
  const float* largest = std::max_element(logits.data, logits.data + logits.size);
  if (temperature == 0) return largest - logits.data;
  std::vector<double> odds(logits.size);
  std::transform(logits.data, logits.data + logits.size, odds.begin(),
                 [&](float logit) { return std::exp((logit - *largest) / temperature); });
  return std::discrete_distribution<int64_t>(odds.begin(), odds.end())(*random);
}

struct Arguments {
  Tokens prompt;
  size_t count = 0;  // 0 for as many as the caches hold
  double temperature = 0;
  uint64_t seed = 0;
};

xir::Status Generate(const char* path, const char* xnnpack, const Arguments& arguments) {
  XIR_ASSIGN_OR_RETURN(const Model model, Load(path, xnnpack));
  if (arguments.prompt.size() >= model.max_context_len) {
    return xir::Fail(xir::Code::kInvalidArgument, "the prompt has ", arguments.prompt.size(),
                     " tokens, and the caches hold ", model.max_context_len,
                     ", the answer included");
  }
  const size_t room = model.max_context_len - arguments.prompt.size();
  const size_t count = arguments.count == 0 ? room : std::min(arguments.count, room);
  std::mt19937_64 random(arguments.seed);
  XIR_ASSIGN_OR_RETURN(Logits logits, Prefill(model, arguments.prompt));
  const auto start = std::chrono::steady_clock::now();
  size_t made = 0;
  while (true) {
    const int64_t token = Sample(logits, arguments.temperature, &random);
    if (std::count(model.eos_ids.begin(), model.eos_ids.end(), token) > 0) break;
    std::printf("%lld\n", static_cast<long long>(token));
    std::fflush(stdout);
    if (++made == count) break;
    XIR_ASSIGN_OR_RETURN(logits, Run(model, {token}, arguments.prompt.size() + made - 1));
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "decode: %.1f tokens/s\n", static_cast<double>(made) / passed.count());
  return {};
}

template <typename T>
bool Parse(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseTokens(std::string_view text, Tokens* tokens) {
  while (true) {
    const size_t comma = text.find(',');
    tokens->emplace_back();
    if (!Parse(text.substr(0, comma), &tokens->back())) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (argc < 4 || argc > 7 || !ParseTokens(argv[3], &arguments.prompt) ||
      (argc > 4 && !Parse(argv[4], &arguments.count)) ||
      (argc > 5 && (!Parse(argv[5], &arguments.temperature) || arguments.temperature < 0)) ||
      (argc > 6 && !Parse(argv[6], &arguments.seed))) {
    std::fprintf(stderr,
                 "usage: generate MODEL.pte libexecutorch_backend_xnnpack.so TOKEN,TOKEN,... "
                 "[COUNT [TEMPERATURE [SEED]]]\n");
    return 2;
  }
  const xir::Status status = Generate(argv[1], argv[2], arguments);
  if (!status.ok()) std::fprintf(stderr, "generate: error: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
