#include <utility>

#include "draw_calls.h"

namespace xir::fuzz {
namespace {

// An operand as the call's others are, for the most part; or a result of an earlier call.
int32_t PlainOperand(DrawnProgram* p) {
  if (!p->plan().outputs.empty() && p->OneIn(6)) {
    return p->plan().outputs[p->draws().Below(p->plan().outputs.size())];
  }
  Sizes sizes = p->look.sizes;
  if (p->OneIn(4)) {
    for (int32_t& size : sizes) size = p->OneIn(3) ? 1 : size;
  }
  if (p->OneIn(8)) sizes = p->AnySizes();
  return p->AddTensor(p->OneIn(5) ? p->draws().Of(kPlainTypes) : p->look.type, sizes,
                      p->OneIn(2) ? Place::kInput : Place::kConstant, /*dynamic=*/false);
}

// A result with room for whatever is computed. It is an output once its call is complete.
int32_t PlainResult(DrawnProgram* p) {
  const Sizes room(p->OneIn(4) ? p->draws().Below(5) : p->look.sizes.size(), 8);
  const ScalarType type = p->OneIn(3) ? p->draws().Of(kPlainTypes) : p->look.type;
  p->results().push_back(p->AddTensor(type, room, Place::kPlanned, /*dynamic=*/true));
  return p->results().back();
}

int32_t AnyTensors(DrawnProgram* p, bool written, bool optional) {
  std::vector<int32_t> items;
  for (uint64_t i = p->draws().Below(4); i > 0; --i) {
    items.push_back(optional && p->OneIn(3) ? (p->OneIn(2) ? -1 : p->AddNone())
                                            : AnyTensor(p, written));
  }
  if (optional) {
    program::OptionalTensorListT list;
    list.items = std::move(items);
    return p->AddValue(std::move(list));
  }
  program::TensorListT list;
  list.items = std::move(items);
  return p->AddValue(std::move(list));
}

}  // namespace

int32_t AnyTensor(DrawnProgram* p, bool written) {
  if (!p->odd()) return written ? PlainResult(p) : PlainOperand(p);
  if (!p->tensors().empty() && p->OneIn(written ? 8 : 3))
    return p->tensors()[p->draws().Below(p->tensors().size())];
  if (!p->buffers().empty() && p->OneIn(4)) return p->AddKnownBuffer();
  constexpr Place kPlaces[] = {Place::kInput, Place::kPlanned, Place::kConstant, Place::kState};
  const ScalarType type = p->OneIn(4) ? p->draws().Of(kTypes) : p->look.type;
  const Sizes sizes = p->OneIn(3) ? p->AnySizes() : p->look.sizes;
  if (!written) return p->AddTensor(type, sizes, p->draws().Of(kPlaces), p->OneIn(3));
  if (p->look.stretched && !p->OneIn(4))
    return p->AddTensor(type, p->look.sizes, Place::kPlanned, p->OneIn(2));
  // Room for most results of this rank, so that kernels come as far as to write.
  if (p->OneIn(3)) return p->AddTensor(type, sizes, Place::kPlanned, p->OneIn(2));
  Sizes room(sizes.size(), sizes.size() > 6 ? 2 : 6);
  return p->AddTensor(type, room, Place::kPlanned, true);
}

int32_t Argument(DrawnProgram* p, std::string_view kind) {
  if (p->Odd()) kind = "anything";
  if (kind == "a tensor") return AnyTensor(p, false);
  if (kind == "a tensor to write") return AnyTensor(p, true);
  if (kind == "a tensor or none") return p->OneIn(3) ? p->AddNone() : AnyTensor(p, false);
  if (kind == "a list of tensors to write") return AnyTensors(p, true, false);
  if (kind == "a list of tensors, none of them absent") return AnyTensors(p, false, false);
  if (kind == "a list of tensors") return AnyTensors(p, false, true);
  if (kind == "an int") return p->AddInt();
  if (kind == "a bool") return p->AddBool();
  if (kind == "a number") return p->OneIn(2) ? p->AddInt() : p->AddDouble();
  if (kind == "a string") return p->AddString();
  if (kind == "a list of floats") return p->OneIn(4) ? p->AddNone() : p->AddDoubles();
  if (kind == "a list of ints") return p->OneIn(8) ? p->AddNone() : p->AddInts();
  if (p->Odd()) return p->AddBools();
  return p->Odd() && !p->plan().values.empty()
             ? static_cast<int32_t>(p->draws().Below(p->plan().values.size()))
             : p->AddNone();
}

}  // namespace xir::fuzz
