// xir_fuzz_replay [--recipes N] [--derived N] [--stretched] [--seed S] [--each-kernel]
// [FILE|DIRECTORY]...
//
// The loader's fuzzer without coverage, the same each time: runs the inputs given, N programs that
// are changed from each of them, each of them with its sizes stretched, and N recipes of random
// bytes. With --each-kernel it is an error
// if a kernel of the runtime has not succeeded then.
//
// xir_fuzz_replay --write PREFIX --recipes N [--seed S] [--valid | --kernels FILE]
//
// Writes N programs as PREFIX<seed>.pte instead of running them; with --kernels, programs that call
// the kernels whose names are the file's lines, each in turn: of many the first that succeeds,
// since few arguments drawn at random fit a kernel. With FILEs, the program that each of them is
// goes to PREFIX<name>.pte, or, with --stretched, the stretched ones to PREFIX<name>-<number>.pte.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "counted_kernels.h"
#include "draws.h"
#include "fuzz_one.h"
#include "kernels/registry.h"
#include "mutate.h"
#include "program_builder.h"
#include "run_program.h"

namespace {

namespace fs = std::filesystem;
using xir::fuzz::Blob;

struct Options {
  std::vector<std::string> inputs;
  uint64_t recipes = 0;
  uint64_t derived = 0;
  uint64_t seed = 0;
  std::string write;
  std::vector<std::string> kernels;
  bool stretched = false;
  bool valid = false;
  bool verbose = false;
  bool each_kernel = false;
};

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool flag = name == "--valid" || name == "--verbose" || name == "--each-kernel" ||
                      name == "--stretched";
    if (name[0] == '-' && !flag && i + 1 == argc) return false;
    if (name == "--valid") {
      options->valid = true;
    } else if (name == "--verbose") {
      options->verbose = true;
    } else if (name == "--each-kernel") {
      options->each_kernel = true;
    } else if (name == "--stretched") {
      options->stretched = true;
    } else if (name == "--recipes") {
      options->recipes = std::stoull(argv[++i]);
    } else if (name == "--derived") {
      options->derived = std::stoull(argv[++i]);
    } else if (name == "--seed") {
      options->seed = std::stoull(argv[++i]);
    } else if (name == "--write") {
      options->write = argv[++i];
    } else if (name == "--kernels") {
      for (std::string& kernel : Lines(argv[++i])) {
        if (xir::FindPortableKernel(kernel) != nullptr)
          options->kernels.push_back(std::move(kernel));
      }
      if (options->kernels.empty()) return false;
    } else if (name[0] == '-') {
      return false;
    } else {
      options->inputs.push_back(name);
    }
  }
  return true;
}

Blob Recipe(std::mt19937_64 random) {
  Blob bytes(64 + random() % 2048);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() >> 56);
  return bytes;
}

Blob Recipe(uint64_t seed) { return Recipe(std::mt19937_64(seed)); }

xir::Bytes View(const Blob& blob) { return xir::Bytes(blob.data(), blob.size()); }

std::vector<fs::path> Files(const std::string& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Blob ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return Blob((std::istreambuf_iterator<char>(stream)), {});
}

struct Counts {
  size_t inputs = 0;
  size_t loaded = 0;
  size_t ran = 0;
};

// `plainly` runs it with small numbers first.
void Try(const Blob& input, const std::string& what, bool verbose, bool plainly, Counts* counts) {
  if (verbose) std::fprintf(stderr, "%s\n", what.c_str());
  if (plainly) xir::fuzz::Succeeds(View(input));
  const xir::fuzz::Outcome outcome = xir::fuzz::FuzzOne(View(input));
  ++counts->inputs;
  counts->loaded += outcome.loaded ? 1 : 0;
  counts->ran += outcome.executions > 0 ? 1 : 0;
}

void TryStretched(const Options& options, Counts* counts) {
  if (!options.stretched) return;
  for (const std::string& path : options.inputs) {
    for (const fs::path& file : Files(path)) {
      size_t number = 0;
      for (const Blob& stretched : xir::fuzz::StretchedPrograms(View(ReadFile(file)))) {
        Try(stretched, file.string() + " stretched " + std::to_string(number++), options.verbose,
            /*plainly=*/false, counts);
      }
    }
  }
}

bool WriteFile(const std::string& path, xir::Bytes bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file) std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return file.good();
}

// A call of `kernel` that succeeds, or one that does not where none is found.
Blob KernelProgram(const std::string& kernel, uint64_t seed) {
  constexpr int kTrials = 400;
  Blob program;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::seed_seq numbers{seed, static_cast<uint64_t>(trial)};
    const Blob recipe = Recipe(std::mt19937_64(numbers));
    xir::fuzz::Draws draws(View(recipe));
    program = xir::fuzz::BuildKernelProgram(&draws, kernel);
    if (xir::fuzz::Succeeds(View(program))) break;
  }
  return program;
}

int Write(const Options& options) {
  using xir::fuzz::Manner;
  for (const std::string& path : options.inputs) {
    for (const fs::path& input : Files(path)) {
      const Blob bytes = ReadFile(input);
      const Blob program =
          xir::fuzz::IsProgram(View(bytes)) ? bytes : xir::fuzz::ProgramOf(View(bytes));
      const std::string name = options.write + input.filename().string();
      if (!options.stretched) {
        if (!WriteFile(name + ".pte", View(program))) return 1;
        continue;
      }
      size_t number = 0;
      for (const Blob& stretched : xir::fuzz::StretchedPrograms(View(program))) {
        const std::string path = name + "-" + std::to_string(number++) + ".pte";
        if (!WriteFile(path, View(stretched))) return 1;
      }
    }
  }
  for (uint64_t seed = options.seed; seed < options.seed + options.recipes; ++seed) {
    const Blob recipe = Recipe(seed);
    xir::fuzz::Draws draws(View(recipe));
    const Blob program =
        !options.kernels.empty()
            ? KernelProgram(options.kernels[seed % options.kernels.size()], seed)
            : xir::fuzz::BuildProgram(&draws, options.valid ? Manner::kValid : Manner::kOdd);
    if (!WriteFile(options.write + std::to_string(seed) + ".pte", View(program))) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(
        stderr,
        "usage: xir_fuzz_replay [--recipes N] [--derived N] [--stretched] [--seed S] [--verbose] "
        "[--each-kernel]\n"
        "                       [--write PREFIX [--valid | --kernels FILE]] [FILE|DIRECTORY]...\n");
    return 2;
  }
  if (!options.write.empty()) return Write(options);
  Counts counts;
  for (const std::string& path : options.inputs) {
    for (const fs::path& file : Files(path)) {
      const Blob input = ReadFile(file);
      Try(input, file.string(), options.verbose, options.each_kernel, &counts);
      for (uint64_t seed = options.seed; seed < options.seed + options.derived; ++seed) {
        const Blob derived = xir::fuzz::Derive(View(input), seed);
        if (derived.empty()) continue;
        Try(derived, file.string() + " derived " + std::to_string(seed), options.verbose,
            options.each_kernel, &counts);
      }
    }
  }
  TryStretched(options, &counts);
  for (uint64_t seed = options.seed; seed < options.seed + options.recipes; ++seed) {
    Try(Recipe(seed), "recipe " + std::to_string(seed), options.verbose, options.each_kernel,
        &counts);
  }
  std::printf("%zu inputs: %zu loaded, %zu ran\n", counts.inputs, counts.loaded, counts.ran);
  if (!options.each_kernel) return 0;
  const std::vector<std::string> without = xir::fuzz::KernelsWithoutSuccess();
  for (const std::string& kernel : without) std::printf("%s\n", kernel.c_str());
  std::printf("%zu kernels have not succeeded\n", without.size());
  return without.empty() ? 0 : 1;
}
