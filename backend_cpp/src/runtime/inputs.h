#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/memory.h"
#include "runtime/plan.h"
#include "runtime/written_ranges.h"
#include "verify/work_budget.h"
#include "xir/program.h"

namespace xir {

// The inputs of one instance: the memory that callers lend for one execution, and the numbers that
// a model was exported with.
class MethodInputs {
 public:
  // All outlive this.
  MethodInputs(const MethodPlan& plan, MethodMemory* memory, Allocator* allocator);

  // As Method::SetInput.
  Status Set(size_t index, const Tensor& given);
  Status Set(size_t index, void* data, size_t nbytes, const Shape& shape, bool writable);
  Status Set(size_t index, int64_t number) const;
  Status Set(size_t index, bool flag) const;
  Status Set(size_t index, double number) const;

  // Fails if a tensor was not given.
  Status CheckGiven() const;
  // Fails if sizes differ that the model has equal; each was allowed by itself.
  Status CheckEqualSizes() const;
  // Copies what is also in memory that the execution writes: in `written`, or in another input that
  // the model changes. Operators read their inputs while they write there. The copy is not the
  // model's to change: what it wrote there would have to go where something else is.
  Status Separate(WrittenRanges written);
  // Copies inputs to their places in the arena, where those are read under other names.
  void Place();
  // Gives the callers' memory back, whether the execution succeeded or not: no pointer to it
  // remains.
  Status GiveBack();
  // By value that is an input, the tensor as the file has it: in the arena, or without memory.
  std::unordered_map<size_t, const Tensor*> OwnTensors() const;

 private:
  struct Input {
    size_t value = 0;
    bool given = false;
    Tensor own;  // what the file gives it: arena memory, or none
    uint8_t* lent = nullptr;
    AlignedBuffer copy;  // of lent memory that XNNPACK could not over-read
    size_t copy_size = 0;
    AlignedBuffer kept;  // what an output shows of an input without memory of its own
  };
  static_assert(sizeof(Input) + sizeof(ValueInfo) <= WorkBudget::kPort);

  Tensor* TensorOf(const Input& input) { return memory_[input.value].get<Tensor>(); }
  const Tensor* TensorOf(const Input& input) const { return memory_[input.value].get<Tensor>(); }
  Status CheckIndex(size_t index) const;
  Status CheckTensor(size_t index) const;
  Status CheckShape(size_t index, const Shape& shape) const;
  template <typename T>
  Status CheckFixed(size_t index, std::string_view kind, T given) const;
  Status Lend(size_t index, void* data, size_t nbytes, const Shape& shape, bool writable);
  // Has a lent tensor refer to a copy of the memory.
  Status Copy(size_t index, Tensor* lent);
  // By input, whether what it was lent is also in `written` or another input's that may change.
  std::vector<bool> SharedWith(WrittenRanges written) const;
  Status GiveBack(Input* input);

  const MethodPlan& plan_;
  MethodMemory& memory_;
  Allocator* allocator_;
  std::vector<Input> inputs_;
};

}  // namespace xir
