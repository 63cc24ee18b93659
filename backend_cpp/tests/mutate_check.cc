// xir_mutate_check FILE [--truncations N] [--flips N] [--words N] [--seed S] [--first I]
// [--verbose]
//
// Damages a valid program in many ways, and loads and runs each result: cuts it short, flips bits
// of a byte, or overwrites an aligned word with a number that is easily mistaken (0, small ones,
// the largest ones). A damaged file must end in an error or in a run; a crash, a sanitizer's
// report, or too much memory fails. Truncation and flip I depend on the seed and I alone, so
// `--first I --flips 1` repeats one.

#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "exercise.h"

namespace {

constexpr uint64_t kMaxMemory = uint64_t{64} << 20;
// What the process may take at its peak, a sanitizer's shadow and quarantine included.
constexpr long kMaxResidentKiB = 2 << 20;

struct Options {
  std::string path;
  size_t truncations = 200;
  size_t flips = 2000;
  size_t words = 2000;
  size_t first = 0;
  uint64_t seed = 1;
  bool verbose = false;
};

struct Outcome {
  size_t ran = 0;
  size_t refused = 0;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--verbose") {
      options->verbose = true;
    } else if (name[0] != '-') {
      options->path = name;
    } else if (i + 1 == argc) {
      return false;
    } else if (name == "--truncations") {
      options->truncations = std::stoul(argv[++i]);
    } else if (name == "--flips") {
      options->flips = std::stoul(argv[++i]);
    } else if (name == "--words") {
      options->words = std::stoul(argv[++i]);
    } else if (name == "--first") {
      options->first = std::stoul(argv[++i]);
    } else if (name == "--seed") {
      options->seed = std::stoull(argv[++i]);
    } else {
      return false;
    }
  }
  return !options->path.empty();
}

uint32_t EasilyMistaken(uint64_t random) {
  constexpr uint32_t kExtremes[] = {0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x00010000};
  const uint64_t choice = random >> 32;
  return choice % 2 == 0 ? static_cast<uint32_t>(random % 32) : kExtremes[random % 5];
}

void Try(const std::vector<uint8_t>& data, const std::string& what, bool verbose,
         Outcome* outcome) {
  if (verbose) std::fprintf(stderr, "%s: ", what.c_str());
  const xir::Status status = xir::testing::Exercise(data, kMaxMemory);
  ++(status.ok() ? outcome->ran : outcome->refused);
  if (verbose) std::fprintf(stderr, "%s\n", status.ok() ? "ran" : status.message().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: xir_mutate_check FILE [--truncations N] [--flips N] [--words N] [--seed "
                 "S] [--first "
                 "I] [--verbose]\n");
    return 2;
  }
  std::ifstream file(options.path, std::ios::binary);
  const std::vector<uint8_t> valid((std::istreambuf_iterator<char>(file)), {});
  if (const xir::Status status = xir::testing::Exercise(valid, kMaxMemory); !status.ok()) {
    std::fprintf(stderr, "the undamaged file does not run: %s\n", status.message().c_str());
    return 1;
  }
  Outcome truncated, flipped, overwritten;
  for (size_t i = options.first; i < options.first + options.truncations; ++i) {
    std::mt19937_64 random(options.seed * 1'000'003 + i);
    const size_t size = random() % valid.size();
    // A vector of its own size, so that a sanitizer sees where it ends.
    const std::vector<uint8_t> data(valid.begin(),
                                    valid.begin() + static_cast<std::ptrdiff_t>(size));
    Try(data, "truncation " + std::to_string(i) + " to " + std::to_string(size), options.verbose,
        &truncated);
  }
  for (size_t i = options.first; i < options.first + options.flips; ++i) {
    std::mt19937_64 random(options.seed * 1'000'003 + i);
    std::vector<uint8_t> data = valid;
    const size_t at = random() % data.size();
    const auto mask = static_cast<uint8_t>(1 + random() % 255);
    data[at] ^= mask;
    Try(data,
        "flip " + std::to_string(i) + " at " + std::to_string(at) + " by " + std::to_string(mask),
        options.verbose, &flipped);
  }
  for (size_t i = options.first; i < options.first + options.words; ++i) {
    std::mt19937_64 random(options.seed * 1'000'003 + i);
    std::vector<uint8_t> data = valid;
    const size_t at = random() % (data.size() / 4) * 4;
    const uint32_t word = EasilyMistaken(random());
    std::memcpy(data.data() + at, &word, sizeof(word));
    Try(data,
        "word " + std::to_string(i) + " at " + std::to_string(at) + " is " + std::to_string(word),
        options.verbose, &overwritten);
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("truncations: %zu refused, %zu ran; ", truncated.refused, truncated.ran);
  std::printf("flips: %zu refused, %zu ran; ", flipped.refused, flipped.ran);
  std::printf("words: %zu refused, %zu ran; ", overwritten.refused, overwritten.ran);
  std::printf("peak %ld MiB\n", usage.ru_maxrss / 1024);
  if (usage.ru_maxrss > kMaxResidentKiB) {
    std::fprintf(stderr, "too much memory was used\n");
    return 1;
  }
  return 0;
}
