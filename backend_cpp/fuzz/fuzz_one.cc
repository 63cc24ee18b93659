#include "fuzz_one.h"

#include <cstring>
#include <random>

#include "crowded_program.h"
#include "draws.h"
#include "mutate.h"
#include "program_builder.h"

namespace xir::fuzz {
namespace {

// How a file is run follows from its bytes: the same file is always run the same way.
Blob RandomBytes(uint64_t seed, size_t size) {
  std::mt19937_64 random(seed);
  Blob bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() >> 56);
  return bytes;
}

uint64_t Digest(Bytes bytes) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// A program takes more draws than its run.
size_t RunSize(Bytes recipe) { return recipe.size() / 4; }

// Recipes of crowded programs begin so.
constexpr char kCrowd[] = {'C', 'R', 'O', 'W'};

bool IsCrowd(Bytes recipe) {
  return recipe.size() >= sizeof(kCrowd) && std::memcmp(recipe.data(), kCrowd, sizeof(kCrowd)) == 0;
}

// One that is new, or `old` with other draws here and there.
Blob Crowd(Bytes old, uint64_t seed, Draws* draws) {
  Blob recipe = RandomBytes(seed, 128);
  if (IsCrowd(old) && !draws->OneIn(4)) {
    recipe.assign(old.begin(), old.end());
    for (uint64_t i = 1 + draws->Below(4); i > 0; --i) {
      recipe[draws->Below(recipe.size())] = static_cast<uint8_t>(draws->Below(256));
    }
  }
  std::memcpy(recipe.data(), kCrowd, sizeof(kCrowd));
  return recipe;
}

// A recipe of any program: changes of files alone lead to none.
Blob NewRecipe(uint64_t seed, Draws* draws) { return RandomBytes(seed, 64 + draws->Below(2048)); }

}  // namespace

bool IsProgram(Bytes input) {
  return input.size() >= 8 && std::memcmp(input.data() + 4, "ET12", 4) == 0;
}

Blob ProgramOf(Bytes recipe) {
  if (IsCrowd(recipe)) {
    Draws draws(recipe.subspan(sizeof(kCrowd), recipe.size() - sizeof(kCrowd)));
    return BuildCrowdedProgram(&draws);
  }
  const size_t run = RunSize(recipe);
  Draws draws(recipe.subspan(run, recipe.size() - run));
  return BuildProgram(&draws, Manner::kOdd);
}

Outcome FuzzOne(Bytes input) {
  if (IsProgram(input) || IsCrowd(input)) {
    const Blob built = IsProgram(input) ? Blob() : ProgramOf(input);
    const Blob run = RandomBytes(Digest(input), 64);
    Draws draws(Bytes(run.data(), run.size()));
    return RunProgram(IsProgram(input) ? input : Bytes(built.data(), built.size()), &draws);
  }
  const Blob program = ProgramOf(input);
  Draws draws(input.subspan(0, RunSize(input)));
  return RunProgram(Bytes(program.data(), program.size()), &draws);
}

Blob Derive(Bytes input, uint64_t seed) {
  const Blob random = RandomBytes(seed, 128);
  Draws draws(Bytes(random.data(), random.size()));
  if (IsCrowd(input) || draws.OneIn(6)) return Crowd(input, seed, &draws);
  if (draws.OneIn(4)) return NewRecipe(seed, &draws);
  if (IsProgram(input)) {
    return draws.OneIn(6) ? Blob() : MutateProgramFile(input, &draws);
  }
  if (!draws.OneIn(12)) return {};
  const Blob program = ProgramOf(input);
  return MutateProgramFile(Bytes(program.data(), program.size()), &draws);
}

}  // namespace xir::fuzz
