#include "kernels/elementwise.h"

#include <algorithm>

namespace xir::kernels {
namespace {

constexpr int64_t kBlock = 512;
constexpr size_t kWidest = sizeof(int64_t);

// One operand's part of a row: its own memory where that is contiguous and of the type computed in,
// else a block of converted elements.
struct Reader {
  const uint8_t* data = nullptr;
  int64_t size = 0;
  bool native = false;
  LoadFunction load = nullptr;
  NarrowFunction narrow = nullptr;
  const void* filled = nullptr;  // the element that the whole block repeats, if it does
  alignas(64) uint8_t block[kBlock * kWidest];

  // Elements [first, first + count) of the row that begins at `offset`.
  const void* Read(int64_t offset, int64_t step, int64_t first, int64_t count) {
    const uint8_t* from = data + (offset + first * step) * size;
    if (native && (step == 1 || count == 1)) return from;
    if (step == 0) {
      if (filled != from) Load(from, 0, kBlock);
      filled = from;
    } else {
      Load(from, step, count);
      filled = nullptr;
    }
    return block;
  }

  void Load(const void* from, int64_t step, int64_t count) {
    load(from, step, count, block);
    if (narrow != nullptr) narrow(block, count);
  }
};

bool IsKept(const Operand& operand, DType common) {
  const bool is_half = common == DType::kHalf || common == DType::kBFloat16;
  return is_half && operand.typed().weight != Weight::kDimensioned;
}

}  // namespace

Status MapRows(Tensor& out, const Operand* operands, size_t count, const Mapping& mapping) {
  Shape shape = operands[0].shape;
  for (size_t k = 0; k < count; ++k) {
    if (!IsNumeric(operands[k].dtype)) return Unsupported("elements of this dtype");
    if (!Broadcast(operands[k].shape, &shape)) return Mismatch(operands[k].shape, shape);
  }
  if (!IsNumeric(out.dtype)) return Unsupported("elements of this dtype");
  XIR_RETURN_IF_ERROR(ResizeResult(out, shape));

  std::array<Strides, LoopNest::kMaxOperands> strides{};
  strides[0] = out.strides();
  std::array<Reader, LoopNest::kMaxOperands - 1> readers;
  for (size_t k = 0; k < count; ++k) {
    if (!BroadcastStrides(operands[k].shape, operands[k].strides, shape, &strides[k + 1])) {
      return Mismatch(operands[k].shape, shape);
    }
    readers[k].data = static_cast<const uint8_t*>(operands[k].data);
    readers[k].size = static_cast<int64_t>(ElementSize(operands[k].dtype));
    readers[k].native = IsNative(operands[k].dtype, mapping.operands[k]);
    readers[k].load = LoaderOf(operands[k].dtype, mapping.operands[k]);
    if (!mapping.common) continue;
    if (mapping.keeps_last && k + 1 == count && IsKept(operands[k], *mapping.common)) continue;
    readers[k].narrow = NarrowerOf(operands[k].dtype, *mapping.common, mapping.operands[k]);
    if (readers[k].narrow != nullptr) readers[k].native = false;
  }
  const bool direct = IsNative(out.dtype, mapping.result);
  const StoreFunction store = StorerOf(out.dtype, mapping.result);
  const auto out_size = static_cast<int64_t>(ElementSize(out.dtype));
  alignas(64) uint8_t results[kBlock * kWidest];

  const LoopNest nest(out, strides);
  nest.ForEachRow([&](const auto& offset, int64_t length, const auto& step) {
    bool whole = direct;
    for (size_t k = 0; k < count; ++k) whole = whole && readers[k].native && step[k + 1] == 1;
    const int64_t block = whole ? length : kBlock;
    for (int64_t first = 0; first < length; first += block) {
      const int64_t n = std::min(block, length - first);
      const void* in[LoopNest::kMaxOperands - 1];
      for (size_t k = 0; k < count; ++k) {
        in[k] = readers[k].Read(offset[k + 1], step[k + 1], first, n);
      }
      uint8_t* to = out.as<uint8_t>() + (offset[0] + first) * out_size;
      mapping.row(mapping.op, direct ? to : results, in, n);
      if (!direct) store(results, n, to, 1);
    }
  });
  return {};
}

Status CheckResultType(DType common, DType out) {
  if (!IsNumeric(common) || !IsNumeric(out)) return Unsupported("elements of this dtype");
  if (common == out) return {};
  const bool exact = common == DType::kFloat || common == DType::kDouble || common == DType::kLong;
  return exact && CanCast(common, out) ? Status() : Unsupported("a result of another dtype");
}

}  // namespace xir::kernels
