#include <algorithm>
#include <cstddef>
#include <utility>

#include "draw_calls.h"
#include "kernels/registry.h"

namespace xir::fuzz {
namespace {

// Adds an instruction somewhere, at first before all others.
template <typename T>
void InsertInstruction(DrawnProgram* p, T content) {
  auto& all = p->chain().instructions;
  const auto at = static_cast<std::ptrdiff_t>(p->draws().Below(all.size() + 1));
  p->AddInstruction(std::move(content));
  std::rotate(all.begin() + at, all.end() - 1, all.end());
}

program::KernelTypes KindOf(DrawnProgram* p, int32_t value) {
  return p->plan().values[static_cast<size_t>(value)]->val.type;
}

// Whether a move between the two may pass the verifier.
bool Alike(DrawnProgram* p, int32_t a, int32_t b) {
  if (KindOf(p, a) != KindOf(p, b)) return false;
  const auto tensor = [&](int32_t value) {
    return p->plan().values[static_cast<size_t>(value)]->val.AsTensor();
  };
  return tensor(a) == nullptr || (tensor(a)->scalar_type == tensor(b)->scalar_type &&
                                  tensor(a)->sizes.size() == tensor(b)->sizes.size());
}

// One of the values for which `fits`; -1 if there is none.
template <typename Predicate>
int32_t AnyValue(DrawnProgram* p, const Predicate& fits) {
  std::vector<int32_t> found;
  for (size_t i = 0; i < p->plan().values.size(); ++i) {
    if (fits(static_cast<int32_t>(i))) found.push_back(static_cast<int32_t>(i));
  }
  return found.empty() ? -1 : found[p->draws().Below(found.size())];
}

int32_t AnyNumber(DrawnProgram* p) {
  return AnyValue(p, [&](int32_t value) {
    const program::KernelTypes kind = KindOf(p, value);
    return kind == program::KernelTypes::Int || kind == program::KernelTypes::Bool ||
           kind == program::KernelTypes::Double;
  });
}

// Some value of the method is given to another, which something may read by then.
void MoveKnown(DrawnProgram* p) {
  program::MoveCallT move;
  move.move_to = p->OneIn(3) ? AnyValue(p, [](int32_t) { return true; }) : AnyNumber(p);
  if (move.move_to < 0) return;
  move.move_from = AnyValue(
      p, [&](int32_t value) { return value != move.move_to && Alike(p, value, move.move_to); });
  if (move.move_from < 0) move.move_from = AnyNumber(p);
  InsertInstruction(p, move);
}

// A number that something may read is computed.
void ComputeKnown(DrawnProgram* p, const std::vector<std::string_view>& kernels) {
  const auto number = [](std::string_view kind) { return kind == "a number" || kind == "an int"; };
  std::vector<const TypedKernel*> computing;
  for (const std::string_view name : kernels) {
    const TypedKernel* kernel = FindPortableKernel(name);
    const auto& kinds = kernel->parameters;
    if (std::all_of(kinds.begin(), kinds.end(), number)) computing.push_back(kernel);
  }
  const int32_t result = AnyNumber(p);
  if (computing.empty() || result < 0) return;
  const TypedKernel& kernel = *computing[p->draws().Below(computing.size())];
  program::KernelCallT call = p->CallOf(kernel.name);
  for (size_t i = 1; i < kernel.parameters.size(); ++i) call.args.push_back(AnyNumber(p));
  call.args.insert(call.args.end(), {result, result});
  InsertInstruction(p, std::move(call));
}

// Over calls or back to them.
void JumpAnywhere(DrawnProgram* p) {
  program::JumpFalseCallT jump;
  jump.cond_value_index = AnyValue(p, [&](int32_t value) {
    const auto* tensor = p->plan().values[static_cast<size_t>(value)]->val.AsTensor();
    return KindOf(p, value) == program::KernelTypes::Bool ||
           (tensor != nullptr && tensor->scalar_type == ScalarType::Bool);
  });
  if (jump.cond_value_index < 0) jump.cond_value_index = p->AddBool();
  jump.destination_instruction =
      static_cast<int32_t>(p->draws().Below(p->chain().instructions.size() + 2));
  InsertInstruction(p, jump);
}

}  // namespace

void Disturb(DrawnProgram* p, const std::vector<std::string_view>& kernels) {
  if (!p->OneIn(2)) return;
  if (p->OneIn(3)) AddProduct(p);
  for (uint64_t i = 1 + p->draws().Below(4); i > 0; --i) {
    switch (p->draws().Below(5)) {
      case 3:
        ComputeKnown(p, kernels);
        break;
      case 4:
        JumpAnywhere(p);
        break;
      default:
        MoveKnown(p);
    }
  }
}

}  // namespace xir::fuzz
