// xir_fuzz_replay [--recipes N] [--derived N] [--seed S] [FILE|DIRECTORY]...
//
// The loader's fuzzer without coverage, the same each time: runs the inputs given, N programs that
// are changed from each of them, and N recipes of random bytes.
//
// xir_fuzz_replay --write PREFIX --recipes N [--seed S] [--valid]
//
// Writes N programs as PREFIX<seed>.pte instead of running them.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "draws.h"
#include "fuzz_one.h"
#include "program_builder.h"

namespace {

namespace fs = std::filesystem;
using xir::fuzz::Blob;

struct Options {
  std::vector<std::string> inputs;
  uint64_t recipes = 0;
  uint64_t derived = 0;
  uint64_t seed = 0;
  std::string write;
  bool valid = false;
  bool verbose = false;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const bool flag = name == "--valid" || name == "--verbose";
    if (name[0] == '-' && !flag && i + 1 == argc) return false;
    if (name == "--valid") {
      options->valid = true;
    } else if (name == "--verbose") {
      options->verbose = true;
    } else if (name == "--recipes") {
      options->recipes = std::stoull(argv[++i]);
    } else if (name == "--derived") {
      options->derived = std::stoull(argv[++i]);
    } else if (name == "--seed") {
      options->seed = std::stoull(argv[++i]);
    } else if (name == "--write") {
      options->write = argv[++i];
    } else if (name[0] == '-') {
      return false;
    } else {
      options->inputs.push_back(name);
    }
  }
  return true;
}

Blob Recipe(uint64_t seed) {
  std::mt19937_64 random(seed);
  Blob bytes(64 + random() % 2048);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() >> 56);
  return bytes;
}

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

struct Counts {
  size_t inputs = 0;
  size_t loaded = 0;
  size_t ran = 0;
};

void Try(const Blob& input, const std::string& what, bool verbose, Counts* counts) {
  if (verbose) std::fprintf(stderr, "%s\n", what.c_str());
  const xir::fuzz::Outcome outcome = xir::fuzz::FuzzOne(View(input));
  ++counts->inputs;
  counts->loaded += outcome.loaded ? 1 : 0;
  counts->ran += outcome.executions > 0 ? 1 : 0;
}

int Write(const Options& options) {
  using xir::fuzz::Manner;
  for (uint64_t seed = options.seed; seed < options.seed + options.recipes; ++seed) {
    const Blob recipe = Recipe(seed);
    xir::fuzz::Draws draws(View(recipe));
    const Blob program =
        xir::fuzz::BuildProgram(&draws, options.valid ? Manner::kValid : Manner::kOdd);
    std::ofstream file(options.write + std::to_string(seed) + ".pte", std::ios::binary);
    file.write(reinterpret_cast<const char*>(program.data()),
               static_cast<std::streamsize>(program.size()));
    if (!file) {
      std::fprintf(stderr, "cannot write %s\n", options.write.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: xir_fuzz_replay [--recipes N] [--derived N] [--seed S] [--verbose]\n"
                 "                       [--write PREFIX [--valid]] [FILE|DIRECTORY]...\n");
    return 2;
  }
  if (!options.write.empty()) return Write(options);
  Counts counts;
  for (const std::string& path : options.inputs) {
    for (const fs::path& file : Files(path)) {
      std::ifstream stream(file, std::ios::binary);
      const Blob input((std::istreambuf_iterator<char>(stream)), {});
      Try(input, file.string(), options.verbose, &counts);
      for (uint64_t seed = options.seed; seed < options.seed + options.derived; ++seed) {
        const Blob derived = xir::fuzz::Derive(View(input), seed);
        if (derived.empty()) continue;
        Try(derived, file.string() + " derived " + std::to_string(seed), options.verbose, &counts);
      }
    }
  }
  for (uint64_t seed = options.seed; seed < options.seed + options.recipes; ++seed) {
    Try(Recipe(seed), "recipe " + std::to_string(seed), options.verbose, &counts);
  }
  std::printf("%zu inputs: %zu loaded, %zu ran\n", counts.inputs, counts.loaded, counts.ran);
  return 0;
}
