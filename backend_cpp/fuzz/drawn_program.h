// A program under construction: its data, and the values and instructions of the method at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "draws.h"
#include "program_file.h"
#include "program_generated.h"

namespace xir::fuzz {

using program::ScalarType;
using Sizes = std::vector<int32_t>;

inline constexpr ScalarType kTypes[] = {
    ScalarType::Float,  ScalarType::Float,  ScalarType::Long,     ScalarType::Int,
    ScalarType::Half,   ScalarType::Char,   ScalarType::Byte,     ScalarType::Bool,
    ScalarType::Double, ScalarType::Short,  ScalarType::BFloat16, ScalarType::UInt32,
    ScalarType::QInt8,  ScalarType::UInt16, ScalarType::QUInt8,   ScalarType::QInt32,
    ScalarType::UInt64, ScalarType::Bits16};

// What kernels of any runtime compute with.
inline constexpr ScalarType kPlainTypes[] = {
    ScalarType::Float, ScalarType::Float, ScalarType::Float, ScalarType::Long,
    ScalarType::Int,   ScalarType::Half,  ScalarType::Bool,  ScalarType::Double};

enum class Place { kPlanned, kInput, kConstant, kState };

class DrawnProgram {
 public:
  // With `odd`, now and then anything disagrees with anything.
  DrawnProgram(Draws* draws, bool odd);

  Draws& draws() { return draws_; }
  bool odd() const { return odd_; }
  bool Odd() { return odd_ && draws_.OneIn(rarity_); }
  bool OneIn(uint64_t n) { return draws_.OneIn(n); }

  // Begins a method; what follows is added to it.
  void BeginMethod(const std::string& name);
  void FinishMethod();
  Blob Write();

  // Of the method at hand.
  program::ExecutionPlanT& plan() { return *plan_; }
  program::ChainT& chain() { return *chain_; }
  std::vector<int32_t>& tensors() { return tensors_; }
  // Results of the call at hand.
  std::vector<int32_t>& results() { return results_; }
  // Buffers of all methods.
  const std::vector<program::TensorT>& buffers() const { return buffers_; }

  // What the tensors of the call at hand look like: most calls get far only when their arguments
  // agree.
  struct Look {
    ScalarType type = ScalarType::Float;
    Sizes sizes;
    bool stretched = false;
  };
  Look look;
  void NewLook();
  Sizes AnySizes();

  // The index of a value or another part, unless it is odd.
  int32_t Index(size_t index);

  template <typename T>
  int32_t AddValue(T content) {
    auto value = std::make_unique<program::EValueT>();
    value->val.Set(std::move(content));
    plan_->values.push_back(std::move(value));
    return Index(plan_->values.size() - 1);
  }

  // Each adds a value and gives its index.
  int32_t AddNone() { return AddValue(program::NullT()); }
  int32_t AddInt();
  int32_t AddInt(int64_t number);
  int32_t AddBool() { return AddBool(OneIn(2)); }
  int32_t AddBool(bool flag);
  int32_t AddDouble();
  int32_t AddString();
  int32_t AddInts();
  int32_t AddInts(std::initializer_list<int32_t> items);
  int32_t AddDoubles();
  int32_t AddBools();
  int32_t AddTensor(ScalarType type, const Sizes& sizes, Place place, bool dynamic,
                    const std::vector<uint8_t>& order = {});
  // A buffer that this method, or one before it, has already; seldom another where it lies.
  int32_t AddKnownBuffer();

  // A call of the operator, which has no arguments yet.
  program::KernelCallT CallOf(std::string_view name);

  template <typename T>
  void AddInstruction(T content) {
    auto instruction = std::make_unique<program::InstructionT>();
    instruction->instr_args.Set(std::move(content));
    chain_->instructions.push_back(std::move(instruction));
  }

  // Where a delegate's bytes are: in the program or in a segment.
  std::unique_ptr<program::BackendDelegateDataReferenceT> AddDelegateData(const Blob& blob);

 private:
  struct Data {
    Blob bytes;
    std::vector<uint64_t> offsets;
  };

  // Nothing, in as many rows as there may be: who walks them walks for ever.
  void Stretch(Sizes* sizes);
  double AnyDouble();
  uint32_t AddData(Data* data, uint64_t size);
  // An offset in the arena, mostly behind everything else.
  std::unique_ptr<program::AllocationDetailsT> Plan(uint64_t size);
  // A place in the arena of all methods' buffers, behind the others.
  std::unique_ptr<program::AllocationDetailsT> PlanBuffer(uint64_t size);
  // Has a tensor keep what it holds. Half of them lie where methods can share them.
  void MakeBuffer(program::TensorT* tensor, uint64_t size);
  uint32_t AddSegment(Blob bytes);

  Draws& draws_;
  const bool odd_;
  uint64_t rarity_ = 48;  // of what is odd
  program::ProgramT program_;
  Data constants_;
  Data state_;
  std::vector<program::TensorT> buffers_;
  uint64_t buffer_arena_ = 0;
  std::vector<Blob> blobs_;
  std::vector<program::BackendDelegateDataReferenceT*> blob_references_;
  std::vector<Blob> segments_;

  // Of the method at hand.
  program::ExecutionPlanT* plan_ = nullptr;
  program::ChainT* chain_ = nullptr;
  std::vector<int32_t> tensors_;
  std::vector<int32_t> results_;
  uint64_t arena_ = 0;
};

}  // namespace xir::fuzz
