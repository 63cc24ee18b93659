#include "program/check_text.h"

#include <string>

#include "core/text.h"
#include "verify/flatbuffer.h"

namespace xir {
namespace {

using flatbuffers::uoffset_t;

template <typename... Parts>
Status CheckOne(const flatbuffers::String* text, WorkBudget* budget, const Parts&... what) {
  XIR_RETURN_IF_ERROR(budget->Charge(text));
  if (text == nullptr || IsUtf8(View(text))) return {};
  return Fail(Code::kInvalidProgram, what..., " is not UTF-8: '", View(text), "'");
}

Status CheckMethod(const program::ExecutionPlan& plan, WorkBudget* budget) {
  if (const auto* operators = plan.operators()) {
    for (uoffset_t i = 0; i < operators->size(); ++i) {
      XIR_RETURN_IF_ERROR(CheckOne(operators->Get(i)->name(), budget, "the name of operator ", i));
      XIR_RETURN_IF_ERROR(
          CheckOne(operators->Get(i)->overload(), budget, "the overload of operator ", i));
    }
  }
  if (const auto* delegates = plan.delegates()) {
    for (uoffset_t i = 0; i < delegates->size(); ++i) {
      XIR_RETURN_IF_ERROR(CheckOne(delegates->Get(i)->id(), budget, "the backend of delegate ", i));
    }
  }
  if (plan.values() == nullptr) return {};
  for (uoffset_t i = 0; i < plan.values()->size(); ++i) {
    const program::EValue& value = *plan.values()->Get(i);
    if (const auto* string = value.val_as_String()) {
      XIR_RETURN_IF_ERROR(CheckOne(string->string_val(), budget, "value ", i));
    }
    const auto* tensor = value.val_as_Tensor();
    if (tensor == nullptr || tensor->extra_tensor_info() == nullptr) continue;
    XIR_RETURN_IF_ERROR(CheckOne(tensor->extra_tensor_info()->fully_qualified_name(), budget,
                                 "the name of the tensor that is value ", i));
  }
  return {};
}

}  // namespace

Status CheckText(const program::Program& program, WorkBudget* budget) {
  const auto& plans = *program.execution_plan();
  for (uoffset_t i = 0; i < plans.size(); ++i) {
    const program::ExecutionPlan& plan = *plans[i];
    XIR_RETURN_IF_ERROR(CheckOne(plan.name(), budget, "the name of method ", i));
    XIR_RETURN_IF_ERROR(CheckMethod(plan, budget).In("method '" + plan.name()->str() + "'"));
  }
  return {};
}

}  // namespace xir
