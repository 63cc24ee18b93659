#include "program_builder.h"

#include <string_view>
#include <utility>

#include "draw_calls.h"
#include "kernels/registry.h"

namespace xir::fuzz {
namespace {

using Kernels = std::vector<std::string_view>;

void AddMethod(DrawnProgram* p, const std::string& name, const Kernels& kernels) {
  p->BeginMethod(name);
  const bool calls = !p->odd() && !kernels.empty();
  const uint64_t count = p->odd() ? p->draws().Below(7) : calls ? 1 + p->draws().Below(2) : 1;
  // Stock ExecuTorch wants a list of delegates, and an input: the plainest graph gives it both.
  if (calls) {
    Draws none{Bytes()};
    AddDelegate(p, BuildGraph(&none, /*odd=*/false));
  }
  const bool delegates_only = !calls && (!p->odd() || p->OneIn(6));
  for (uint64_t i = 0; i < count; ++i) {
    switch (delegates_only ? 9 : p->odd() ? p->draws().Below(10) : 0) {
      case 6:
        AddMove(p);
        break;
      case 7:
        p->OneIn(4) ? AddFree(p) : AddJump(p);
        break;
      case 8:
      case 9:
        AddDelegate(p);
        break;
      default:
        AddKernelCall(p, kernels[p->draws().Below(kernels.size())]);
    }
  }
  if (p->odd()) Disturb(p, kernels);
  if (p->odd() && p->OneIn(6)) AddAttention(p);
  if (p->odd() && p->OneIn(8)) AddFrames(p);
  p->FinishMethod();
}

Blob Build(Draws* draws, Manner manner, const Kernels& kernels) {
  DrawnProgram program(draws, manner == Manner::kOdd);
  const uint64_t methods = program.odd() && draws->OneIn(6) ? 1 + draws->Below(3) : 1;
  for (uint64_t i = 0; i < methods; ++i) {
    const bool first = i == 0 || program.Odd();
    AddMethod(&program, first ? "forward" : "method_" + std::to_string(i), kernels);
  }
  return program.Write();
}

}  // namespace

Blob BuildProgram(Draws* draws, Manner manner) {
  return Build(draws, manner, manner == Manner::kOdd ? PortableKernelNames() : Kernels());
}

Blob BuildKernelProgram(Draws* draws, const std::string& kernel) {
  return Build(draws, Manner::kValid, {kernel});
}

}  // namespace xir::fuzz
