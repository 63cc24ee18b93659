#include <utility>

#include "draw_calls.h"

namespace xir::fuzz {
namespace {

// `right`, or `other`, which is given what `right` holds before it is read.
int32_t Late(DrawnProgram* p, int32_t right, int32_t other) {
  if (!p->OneIn(2)) return right;
  program::MoveCallT move;
  move.move_from = right;
  move.move_to = other;
  p->AddInstruction(move);
  return other;
}

// A constant for the most part, which the runtime packs when it loads.
int32_t AddWeight(DrawnProgram* p, const Sizes& sizes) {
  return p->AddTensor(p->look.type, sizes, p->OneIn(6) ? Place::kState : Place::kConstant,
                      p->OneIn(8));
}

int32_t AddInput(DrawnProgram* p, const Sizes& sizes) {
  return p->AddTensor(p->look.type, sizes, Place::kInput, /*dynamic=*/p->OneIn(4));
}

void FinishProduct(DrawnProgram* p, program::KernelCallT call, const Sizes& sizes) {
  const int32_t result =
      p->AddTensor(p->look.type, sizes, Place::kPlanned, /*dynamic=*/p->OneIn(3));
  call.args.insert(call.args.end(), {result, result});
  p->plan().outputs.push_back(result);
  p->AddInstruction(std::move(call));
}

// A convolution of one dimension in groups, with a filter of one element.
void AddConvolution(DrawnProgram* p) {
  const auto groups = static_cast<int32_t>(1 + p->draws().Below(4));
  const auto in = static_cast<int32_t>(1 + p->draws().Below(4));
  const auto out = static_cast<int32_t>(8 - p->draws().Below(8));
  const auto length = static_cast<int32_t>(1 + p->draws().Below(6));
  const bool transposed = p->OneIn(3);
  program::KernelCallT call = p->CallOf("aten::convolution.out");
  const int32_t right_flag = p->AddBool(transposed), other_flag = p->AddBool(p->OneIn(4));
  const int32_t flag = Late(p, right_flag, other_flag);
  const int32_t right = p->AddInt(groups);
  const int32_t other = p->AddInt(static_cast<int64_t>(1 + p->draws().Below(4)));
  const int32_t number = Late(p, right, other);
  call.args = {AddInput(p, {1, groups * in, length}),
               AddWeight(p, transposed ? Sizes{groups * in, out, 1} : Sizes{groups * out, in, 1}),
               p->AddNone(),
               p->AddInts({p->AddInt(1)}),
               p->AddInts({p->AddInt(0)}),
               p->AddInts({p->AddInt(1)}),
               flag,
               p->AddInts({p->AddInt(0)}),
               number};
  FinishProduct(p, std::move(call), {1, groups * out, length});
}

}  // namespace

void AddAttention(DrawnProgram* p) {
  p->look.type = p->OneIn(6) ? p->draws().Of(kPlainTypes) : ScalarType::Float;
  const auto size = [&](uint64_t below) {
    return static_cast<int32_t>(1 + p->draws().Below(below));
  };
  const int32_t length = size(4), window = length + size(8), kv_heads = size(2);
  const int32_t heads = kv_heads * size(3), features = p->OneIn(2) ? size(40) : size(8);
  const auto position = [&] {
    return p->AddInt(p->OneIn(4) ? static_cast<int64_t>(OddNumber(&p->draws()))
                                 : static_cast<int64_t>(p->draws().Below(8)));
  };
  const Sizes cache{1, window, kv_heads, features};
  int32_t caches[2];
  for (int32_t& each : caches) {
    each =
        p->AddTensor(p->look.type, cache, p->OneIn(3) ? Place::kInput : Place::kState, p->OneIn(4));
    program::KernelCallT update = p->CallOf("llama::update_cache.out");
    const int32_t dummy = p->AddTensor(p->look.type, {1}, Place::kPlanned, /*dynamic=*/true);
    update.args = {AddInput(p, {1, length, kv_heads, features}), each, position(), dummy, dummy};
    p->AddInstruction(std::move(update));
  }
  const int32_t query = AddInput(p, {1, length, heads, features});
  const int32_t result = p->AddTensor(p->look.type, {1, length, heads, features}, Place::kPlanned,
                                      /*dynamic=*/p->OneIn(2));
  const auto scale = [&] { return p->OneIn(2) ? p->AddNone() : p->AddDouble(); };
  program::KernelCallT call = p->CallOf("llama::custom_sdpa.out");
  const int32_t mask = p->OneIn(3) ? AddInput(p, {length, window}) : p->AddNone();
  program::DoubleT none;
  call.args = {query,        caches[0], caches[1], position(), mask, p->AddValue(none),
               p->AddBool(), scale(),   result,    result};
  p->AddInstruction(std::move(call));
  p->plan().outputs.push_back(result);
}

void AddProduct(DrawnProgram* p) {
  p->look.type = p->OneIn(4) ? p->draws().Of(kPlainTypes) : ScalarType::Float;
  if (p->OneIn(2)) return AddConvolution(p);
  const auto size = [&] { return static_cast<int32_t>(24 - p->draws().Below(24)); };
  const int32_t m = size(), k = size(), n = size();
  const bool batched = p->OneIn(3), added = p->OneIn(2);
  const auto shaped = [&](int32_t rows, int32_t columns) {
    return batched ? Sizes{2, rows, columns} : Sizes{rows, columns};
  };
  program::KernelCallT call = p->CallOf(batched ? (added ? "aten::baddbmm.out" : "aten::bmm.out")
                                                : (added ? "aten::addmm.out" : "aten::mm.out"));
  if (added) call.args.push_back(AddInput(p, shaped(m, n)));
  call.args.push_back(AddInput(p, shaped(m, k)));
  call.args.push_back(AddWeight(p, shaped(k, n)));
  if (added) call.args.insert(call.args.end(), {p->AddInt(1), p->AddInt(1)});
  FinishProduct(p, std::move(call), shaped(m, n));
}

}  // namespace xir::fuzz
