#include "runtime/output_placement.h"

#include <algorithm>
#include <optional>

#include "runtime/place.h"

namespace xir {
namespace {

bool Contains(const std::vector<size_t>& values, size_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Which values an instruction touches, and which of them it writes as a whole.
struct Access {
  std::vector<size_t> all;
  std::vector<size_t> written;
};

// Empty for a jump: what runs behind it is not known.
std::optional<Access> AccessOf(const MethodPlan::Instruction& instruction) {
  if (const auto* call = std::get_if<MethodPlan::KernelCall>(&instruction)) {
    return Access{call->tensors, call->written};
  }
  if (const auto* call = std::get_if<MethodPlan::DelegateCall>(&instruction)) {
    return Access{call->tensors, call->written};
  }
  if (const auto* move = std::get_if<MethodPlan::Move>(&instruction)) {
    return Access{{move->from, move->to}, {}};
  }
  if (std::holds_alternative<MethodPlan::Free>(instruction)) return Access{};
  return std::nullopt;
}

}  // namespace

bool MayMove(const MethodPlan& plan, size_t value) {
  const MethodDescription& method = *plan.method;
  const std::optional<Place> place = PlaceOf(method, value);
  if (!place.has_value() || method.TensorAt(value)->IsBuffer() || Contains(method.inputs, value) ||
      std::count(method.outputs.begin(), method.outputs.end(), value) != 1) {
    return false;
  }
  for (const size_t output : method.outputs) {
    const auto other = output == value ? std::nullopt : PlaceOf(method, output);
    if (other.has_value() && other->Overlaps(*place)) return false;
  }
  bool written = false;
  for (const MethodPlan::Instruction& instruction : plan.instructions) {
    const std::optional<Access> access = AccessOf(instruction);
    if (!access.has_value()) return false;
    // Whatever shares the bytes may be read up to the instruction that writes the output.
    for (const size_t other : access->all) {
      if (!written || other == value) continue;
      const auto shared = PlaceOf(method, other);
      if (shared.has_value() && shared->Overlaps(*place)) return false;
    }
    if (Contains(access->written, value)) {
      written = true;
    } else if (!written && Contains(access->all, value)) {
      return false;
    }
  }
  return written;
}

}  // namespace xir
