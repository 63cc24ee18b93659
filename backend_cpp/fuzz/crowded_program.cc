#include "crowded_program.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "debug_generated.h"
#include "graph_builder.h"
#include "graph_values.h"
#include "program_generated.h"
#include "xir/dtype.h"

namespace xir::fuzz {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using program::EValue;
using program::Instruction;
using program::InstructionArguments;
using program::KernelTypes;

template <typename T>
using Many = std::vector<T>;

// What a program may have plenty of.
enum Part {
  kName,
  kTensors,
  kNumbers,
  kReals,
  kFlags,
  kValues,
  kCalls,
  kMoves,
  kArguments,
  kOperators,
  kDelegates,
  kInputs,
  kOutputs,
  kArenas,
  kFrames,
  kMethods,
  kTexts,
  kOrigins,
  kHandles,
  kParts
};

template <typename... Parts>
constexpr uint32_t Set(Parts... parts) {
  return ((1U << parts) | ...);
}

// What is long, or costs much, and how often it may be shared. What has a greatest length by itself
// is shared twice over.
constexpr uint32_t kTogether[] = {
    Set(kName, kValues),         Set(kName, kOperators),      Set(kName, kFrames),
    Set(kName, kCalls),          Set(kTensors, kValues),      Set(kTensors, kCalls),
    Set(kNumbers, kValues),      Set(kReals, kValues),        Set(kFlags, kValues),
    Set(kArguments, kCalls),     Set(kArguments, kValues),    Set(kFrames, kCalls),
    Set(kMoves, kInputs),        Set(kTexts, kOrigins),       Set(kTexts, kHandles),
    Set(kOrigins, kHandles),     Set(kValues, kMethods),      Set(kCalls, kMethods),
    Set(kArenas, kMethods),      Set(kDelegates, kNumbers),   Set(kDelegates, kTexts),
    Set(kDelegates, kArguments), Set(kName, kFrames, kCalls), Set(kTexts, kOrigins, kCalls),
};

// flatbuffers counts tables, each as often as it is referred to, and refuses more than this.
constexpr uint64_t kBytesPerTable = 4;

class CrowdedProgram {
 public:
  // Cost that nobody bounds is mostly that of a few parts, each of which has its own bound.
  explicit CrowdedProgram(Draws* draws) : draws_(*draws) {
    if (draws_.OneIn(2)) {
      const uint32_t together = kTogether[draws_.Below(std::size(kTogether))];
      for (size_t part = 0; part < kParts; ++part) plenty_[part] = (together >> part & 1U) != 0;
    } else {
      for (uint64_t i = 2 + draws_.Below(2); i > 0; --i) plenty_[draws_.Below(kParts)] = true;
    }
  }

  Blob Build() {
    name_ = b_.CreateString(std::string(Amount(kName), 'a'));
    AddValues();
    AddInstructions();
    const auto plans = AddMethods();
    Many<Offset<program::BackendDelegateInlineData>> data;
    if (!delegates_.empty()) {
      b_.ForceVectorAlignment(graph_.size(), sizeof(uint8_t), 16);
      data.push_back(program::CreateBackendDelegateInlineData(b_, b_.CreateVector(graph_)));
    }
    const auto inlined = b_.CreateVector(data);
    Many<Offset<program::DataSegment>> segments;
    Many<Offset<program::NamedData>> named;
    ProgramFile file;
    if (Has({kTexts, kOrigins, kHandles})) {
      file.segments.push_back(DebugInfo());
      named.push_back(program::CreateNamedData(b_, b_.CreateString("xir.debug"), 0));
    }
    for (const Extent& extent : PlaceSegments(file.segments)) {
      segments.push_back(program::CreateDataSegment(b_, extent.offset, extent.size));
    }
    const auto listed = b_.CreateVector(segments);
    const auto names = b_.CreateVector(named);
    program::ProgramBuilder program(b_);
    program.add_execution_plan(plans);
    program.add_backend_delegate_data(inlined);
    program.add_segments(listed);
    program.add_named_data(names);
    program::FinishProgramBuffer(b_, program.Finish());
    file.program.assign(b_.GetBufferPointer(), b_.GetBufferPointer() + b_.GetSize());
    return WriteProgramFile(file);
  }

 private:
  // Whether a part is the length of a text or a list; others are numbers of tables.
  static bool IsLength(Part part) {
    constexpr Part kLengths[] = {kName, kTensors, kNumbers, kReals, kFlags, kTexts, kOrigins};
    return std::find(std::begin(kLengths), std::end(kLengths), part) != std::end(kLengths);
  }

  // One or few, or of what there is plenty of so many that the product of two such numbers is more
  // than a file of their sum may cost. Tables are few, so what is shared is the longer one.
  uint64_t Amount(Part part) {
    if (!plenty_[part]) return draws_.OneIn(6) ? draws_.Below(8) : 1;
    const uint64_t least = uint64_t{IsLength(part) ? 1024U : 64U} << draws_.Below(8);
    return least + draws_.Below(least);
  }

  // Whether parts that need not be there are.
  bool Has(std::initializer_list<Part> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](Part part) { return plenty_[part]; }) ||
           draws_.OneIn(6);
  }

  template <typename T>
  int32_t AddValue(KernelTypes kind, Offset<T> content) {
    values_.push_back(program::CreateEValue(b_, kind, content.Union()));
    return static_cast<int32_t>(values_.size() - 1);
  }

  int32_t AddTensor(uint32_t at, bool named) {
    const auto sizes = b_.CreateVector(Many<int32_t>{4});
    const auto order = b_.CreateVector(Many<uint8_t>{0});
    const auto place = program::CreateAllocationDetails(b_, 1, at);
    const auto extra = named ? program::CreateExtraTensorInfo(b_, 0, name_) : 0;
    program::TensorBuilder tensor(b_);
    tensor.add_scalar_type(program::ScalarType::Float);
    tensor.add_sizes(sizes);
    tensor.add_dim_order(order);
    tensor.add_allocation_info(place);
    if (named) tensor.add_extra_tensor_info(extra);
    return AddValue(KernelTypes::Tensor, tensor.Finish());
  }

  template <typename T>
  void AddList(Part part, KernelTypes kind, Offset<T> content) {
    const int32_t value = AddValue(kind, content);
    if (plenty_[part]) long_ = value;
  }

  // The lists repeat one item, and one of all values is there many times.
  void AddValues() {
    x_ = AddTensor(0, /*named=*/false);
    out_ = AddTensor(16, /*named=*/false);
    from_ = AddValue(KernelTypes::Null, program::CreateNull(b_));
    to_ = AddValue(KernelTypes::Null, program::CreateNull(b_));
    const int32_t number = AddValue(KernelTypes::Int, program::CreateInt(b_, 3));
    const auto tensors = b_.CreateVector(Many<int32_t>(Amount(kTensors), x_));
    AddList(kTensors, KernelTypes::TensorList, program::CreateTensorList(b_, tensors));
    AddList(kTensors, KernelTypes::OptionalTensorList,
            program::CreateOptionalTensorList(b_, tensors));
    const auto numbers = b_.CreateVector(Many<int64_t>(Amount(kNumbers), number));
    AddList(kNumbers, KernelTypes::IntList, program::CreateIntList(b_, numbers));
    const auto reals = b_.CreateVector(Many<double>(Amount(kReals), 0.5));
    AddList(kReals, KernelTypes::DoubleList, program::CreateDoubleList(b_, reals));
    const auto flags = b_.CreateVector(Many<uint8_t>(Amount(kFlags), 1));
    AddList(kFlags, KernelTypes::BoolList, program::CreateBoolList(b_, flags));
    AddList(kName, KernelTypes::String, program::CreateString(b_, name_));
    const int32_t buffer = AddTensor(32, /*named=*/true);
    if (plenty_[kName]) long_ = buffer;
    values_.insert(values_.end(), Amount(kValues), values_[static_cast<size_t>(AnyValue())]);
  }

  // One that is long, if there is, as often as any.
  int32_t AnyValue() {
    if (long_ >= 0 && !draws_.OneIn(2)) return long_;
    return static_cast<int32_t>(draws_.Below(values_.size()));
  }

  template <typename T>
  void AddInstruction(Part part, InstructionArguments kind, Offset<T> content) {
    instructions_.insert(instructions_.end(), Amount(part),
                         program::CreateInstruction(b_, kind, content.Union()));
  }

  int32_t AddOperator(Offset<flatbuffers::String> name, const char* overload) {
    operators_.insert(operators_.end(), std::max<uint64_t>(Amount(kOperators), 1),
                      program::CreateOperator(b_, name, b_.CreateString(overload)));
    return static_cast<int32_t>(operators_.size()) - 1;
  }

  void AddInstructions() {
    const int32_t absolute = AddOperator(b_.CreateString("aten::abs"), "out");
    const auto arguments = b_.CreateVector(Many<int32_t>{x_, out_, out_});
    AddInstruction(kCalls, InstructionArguments::KernelCall,
                   program::CreateKernelCall(b_, absolute, arguments));
    if (Has({kMoves, kInputs})) {
      AddInstruction(kMoves, InstructionArguments::MoveCall,
                     program::CreateMoveCall(b_, from_, to_));
    }
    if (Has({kArguments, kOperators}) || (plenty_[kName] && draws_.OneIn(2))) {
      // One argument many times, which the kernel refuses when it is bound, and a fallback takes.
      const int32_t called = draws_.OneIn(4) ? absolute : AddOperator(name_, "");
      const auto repeated = b_.CreateVector(Many<int32_t>(Amount(kArguments), AnyValue()));
      AddInstruction(kCalls, InstructionArguments::KernelCall,
                     program::CreateKernelCall(b_, called, repeated));
    }
    if (Has({kDelegates})) AddDelegates();
  }

  // What a delegate takes or gives, behind all else in the arena.
  int32_t AddExternal(const ExternalTensor& external) {
    const program::ScalarType type = ScalarTypeOf(external.datatype);
    Many<uint8_t> order(external.dims.size());
    std::iota(order.begin(), order.end(), uint8_t{0});
    const auto sizes = b_.CreateVector(Many<int32_t>(external.dims.begin(), external.dims.end()));
    const auto dim_order = b_.CreateVector(order);
    const auto place = program::CreateAllocationDetails(b_, 1, arena_);
    uint64_t nbytes = ElementSize(static_cast<DType>(type));
    for (const uint32_t dim : external.dims) nbytes *= dim;
    arena_ += static_cast<uint32_t>((nbytes + 15) / 16 * 16);
    program::TensorBuilder tensor(b_);
    tensor.add_scalar_type(type);
    tensor.add_sizes(sizes);
    tensor.add_dim_order(dim_order);
    tensor.add_allocation_info(place);
    return AddValue(KernelTypes::Tensor, tensor.Finish());
  }

  void AddDelegates() {
    const BuiltGraph built = BuildGraph(&draws_, /*odd=*/false);
    graph_ = built.blob;
    const auto place = program::CreateBackendDelegateDataReference(b_);
    const auto id = b_.CreateString("XnnpackBackend");
    const uint64_t count = Amount(kDelegates);
    delegates_.insert(delegates_.end(), count, program::CreateBackendDelegate(b_, id, place));
    // Each is two tables, and an offset alone has room for one of them.
    graph_.resize(graph_.size() + 2 * kBytesPerTable * count);
    Many<int32_t> arguments;
    for (const ExternalTensor& each : built.externals) arguments.push_back(AddExternal(each));
    if (plenty_[kArguments]) arguments.insert(arguments.end(), Amount(kArguments), x_);
    AddInstruction(kCalls, InstructionArguments::DelegateCall,
                   program::CreateDelegateCall(b_, 0, b_.CreateVector(arguments)));
  }

  // Every instruction comes from the same place.
  Offset<flatbuffers::Vector<Offset<program::FrameList>>> Frames() {
    if (!Has({kFrames, kName})) return 0;
    const auto frame = program::CreateFrame(b_, name_, 1);
    const auto frames = b_.CreateVector(Many<Offset<program::Frame>>(Amount(kFrames), frame));
    const auto list = program::CreateFrameList(b_, frames);
    return b_.CreateVector(Many<Offset<program::FrameList>>(instructions_.size(), list));
  }

  // Methods that have all in common but their names.
  Offset<flatbuffers::Vector<Offset<program::ExecutionPlan>>> AddMethods() {
    const auto frames = Frames();
    const auto chain = program::CreateChain(b_, 0, 0, b_.CreateVector(instructions_), frames);
    const auto chains = b_.CreateVector(Many<Offset<program::Chain>>{chain});
    const auto values = b_.CreateVector(values_);
    const auto inputs = b_.CreateVector(
        Many<int32_t>(Has({kInputs}) ? Amount(kInputs) : 0, draws_.OneIn(2) ? to_ : AnyValue()));
    const auto outputs = b_.CreateVector(Many<int32_t>(Amount(kOutputs), out_));
    const auto operators = b_.CreateVector(operators_);
    const auto delegates = b_.CreateVector(delegates_);
    Many<int64_t> sizes{0, arena_};
    // Each is a mapping here, for each instance of each method; a process has 65,530.
    const uint64_t methods = std::clamp<uint64_t>(Amount(kMethods), 1, 256);
    sizes.resize(1 + std::clamp<uint64_t>(Amount(kArenas), 1, 8192 / methods), 0);
    const auto arenas = b_.CreateVector(sizes);
    Many<Offset<program::ExecutionPlan>> plans;
    for (uint64_t count = methods; count > 0; --count) {
      const auto name = b_.CreateString("method_" + std::to_string(count));
      plans.push_back(program::CreateExecutionPlan(b_, name, 0, values, inputs, outputs, chains,
                                                   operators, delegates, arenas));
    }
    return b_.CreateVector(plans);
  }

  // Of one text that all places have, and of handles that all have the same places.
  Blob DebugInfo() {
    FlatBufferBuilder b;
    const auto text = b.CreateString(std::string(Amount(kTexts), 't'));
    const auto strings = b.CreateVector(Many<Offset<flatbuffers::String>>{text});
    const auto origins =
        b.CreateVector(Many<Offset<debug::Origin>>(Amount(kOrigins), debug::CreateOrigin(b, 0, 1)));
    const auto items = b.CreateVector(Many<uint32_t>(Amount(kOrigins), 0));
    const auto handles = b.CreateVector(
        Many<Offset<debug::Origins>>(Amount(kHandles), debug::CreateOrigins(b, items)));
    const auto of_instructions = b.CreateVector(Many<uint32_t>(instructions_.size(), 0));
    const auto plans =
        b.CreateVector(Many<Offset<debug::Plan>>{debug::CreatePlan(b, of_instructions)});
    debug::FinishDebugInfoBuffer(b, debug::CreateDebugInfo(b, strings, origins, handles, plans));
    return Blob(b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize());
  }

  Draws& draws_;
  FlatBufferBuilder b_;
  Offset<flatbuffers::String> name_;
  Blob graph_;
  Many<Offset<EValue>> values_;
  Many<Offset<program::Operator>> operators_;
  Many<Offset<program::BackendDelegate>> delegates_;
  Many<Offset<Instruction>> instructions_;
  int32_t x_ = 0, out_ = 0, from_ = 0, to_ = 0;
  int32_t long_ = -1;    // a value that is a long list or has a long name
  uint32_t arena_ = 64;  // bytes that tensors take of it
  bool plenty_[kParts] = {};
};

}  // namespace

Blob BuildCrowdedProgram(Draws* draws) { return CrowdedProgram(draws).Build(); }

}  // namespace xir::fuzz
