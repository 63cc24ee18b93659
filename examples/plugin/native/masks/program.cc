#include "masks/program.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace masks {
namespace {

using xir::Code;
using xir::DType;
using xir::Fail;
using xir::Result;
using xir::Shape;
using xir::Status;

constexpr uint8_t kFirstOperation = 16;
constexpr uint8_t kResultFlag = 1;
// What a call of so many arguments takes is small; a larger index is damage.
constexpr uint32_t kMaxArguments = 4096;
constexpr uint64_t kMaxElements = uint64_t{1} << 40;

template <typename... Parts>
Status Bad(const Parts&... parts) {
  return Fail(Code::kInvalidProgram, parts...);
}

// Takes numbers off the front of bytes; behind their end there are zeros.
class Reader {
 public:
  explicit Reader(xir::Bytes bytes) : bytes_(bytes) {}

  uint8_t Byte() {
    uint8_t value = 0;
    Take(&value, sizeof(value));
    return value;
  }
  uint32_t Word() {
    uint8_t bytes[4] = {};
    Take(bytes, sizeof(bytes));
    return uint32_t{bytes[0]} | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 |
           uint32_t{bytes[3]} << 24;
  }
  size_t left() const { return bytes_.size() - at_; }
  bool ok() const { return ok_; }
  xir::Bytes Rest(size_t count) const { return bytes_.subspan(at_, count); }

 private:
  void Take(uint8_t* to, size_t count) {
    ok_ = ok_ && count <= left();
    if (!ok_) return;
    std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
  }

  xir::Bytes bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

bool IsInteger(DType dtype) { return dtype == DType::kInt || dtype == DType::kLong; }

bool IsComparison(Operation operation) {
  return operation >= Operation::kEqual && operation <= Operation::kGreaterEqual;
}

bool IsArithmetic(Operation operation) {
  return operation <= Operation::kMaximum || operation == Operation::kNegate;
}

// Whether the operation takes operands of these types, and gives the result's.
bool TypesFit(const Value& value, const std::array<DType, 3>& operands) {
  const DType first = operands[0];
  switch (value.operation) {
    case Operation::kSelect:
      return first == DType::kBool && operands[1] == value.dtype && operands[2] == value.dtype;
    case Operation::kCast:
      return first != DType::kFloat;
    case Operation::kBroadcast:
    case Operation::kReshape:
      return first == value.dtype;
    default:
      break;
  }
  if (value.num_operands() == 2 && operands[1] != first) return false;
  if (IsComparison(value.operation)) return first != DType::kFloat && value.dtype == DType::kBool;
  if (first != value.dtype || first == DType::kFloat) return false;
  return IsInteger(first) || !IsArithmetic(value.operation);
}

Result<Value> ReadValue(Reader* reader) {
  Value value;
  const uint8_t kind = reader->Byte();
  value.dtype = static_cast<DType>(reader->Byte());
  value.largest.rank = reader->Byte();
  const uint8_t flags = reader->Byte();
  value.debug_handle = reader->Word();
  for (uint32_t& operand : value.operands) operand = reader->Word();
  value.result = reader->Word();
  if (!IsInteger(value.dtype) && value.dtype != DType::kBool && value.dtype != DType::kFloat) {
    return Bad("its dtype is ", static_cast<int>(value.dtype));
  }
  if (value.largest.rank > xir::kMaxRank) return Bad("rank ", value.largest.rank);
  uint64_t elements = 1;
  for (size_t i = 0; i < value.largest.rank; ++i) {
    const uint32_t size = reader->Word();
    value.largest[i] = size;
    elements *= size;  // below 2^40 times 2^32
    if (elements > kMaxElements) return Bad("it has too many elements");
  }
  if (((flags & kResultFlag) != 0) != (value.result != kNone) || (flags & ~kResultFlag) != 0 ||
      (value.result != kNone && value.result >= kMaxArguments)) {
    return Bad("its result is argument ", value.result, ", with flags ", int{flags});
  }
  if (kind == 0) {
    value.argument = value.operands[0];
    if (value.argument >= kMaxArguments) return Bad("it is argument ", value.argument);
  } else if (kind == 1) {
    value.kind = Value::Kind::kConstant;
    value.constant = value.operands[0];
  } else if (kind >= kFirstOperation && kind < kFirstOperation + kNumOperations) {
    value.kind = Value::Kind::kComputed;
    value.operation = static_cast<Operation>(kind - kFirstOperation);
  } else {
    return Bad("kind ", int{kind}, " is unknown");
  }
  return value;
}

Status CheckConstant(const Value& value, size_t num_bytes) {
  const uint64_t nbytes = static_cast<uint64_t>(value.largest.numel()) * ElementSize(value.dtype);
  if (nbytes > num_bytes || value.constant > num_bytes - nbytes ||
      value.constant % ElementSize(value.dtype) != 0) {
    return Bad("its ", nbytes, " bytes at ", value.constant, " are not within the constants' ",
               num_bytes);
  }
  return {};
}

Status CheckOperation(const Program& program, size_t index) {
  const Value& value = program.values[index];
  std::array<DType, 3> types{};
  for (size_t i = 0; i < value.num_operands(); ++i) {
    if (value.operands[i] >= index) return Bad("operand ", value.operands[i], " comes later");
    types[i] = program.values[value.operands[i]].dtype;
  }
  if (!TypesFit(value, types)) return Bad("its operands have types that it does not take");
  return {};
}

// The values that calls fill in and take out, each once.
Status CheckArguments(Program* program) {
  std::vector<bool> taken(2 * size_t{kMaxArguments});
  for (size_t i = 0; i < program->values.size(); ++i) {
    const Value& value = program->values[i];
    for (const uint32_t index : {value.argument, value.result}) {
      if (index == kNone) continue;
      if (taken[index]) return Bad("value ", i, ": argument ", index, " is also another's");
      taken[index] = true;
      program->num_arguments = std::max<size_t>(program->num_arguments, index + 1);
    }
  }
  return {};
}

// Sizes of one dimension of two operands.
bool Broadcast(int64_t a, int64_t b, int64_t* to) {
  *to = a == 1 ? b : a;
  return a == b || a == 1 || b == 1;
}

Result<Shape> Broadcast(const Shape& a, const Shape& b) {
  Shape shape;
  shape.rank = std::max(a.rank, b.rank);
  for (size_t i = 0; i < shape.rank; ++i) {  // from the last dimension
    const int64_t in_a = i < a.rank ? a[a.rank - 1 - i] : 1;
    const int64_t in_b = i < b.rank ? b[b.rank - 1 - i] : 1;
    if (!Broadcast(in_a, in_b, &shape[shape.rank - 1 - i])) {
      return Fail(Code::kInvalidArgument, "shapes ", a.ToString(), " and ", b.ToString(),
                  " do not fit");
    }
  }
  return shape;
}

Result<Shape> Reshape(const Shape& from, uint32_t dropped, uint32_t inserted) {
  std::vector<int64_t> kept;
  for (size_t i = 0; i < from.rank; ++i) {
    if ((dropped >> i & 1) == 0) {
      kept.push_back(from[i]);
    } else if (from[i] != 1) {
      return Fail(Code::kInvalidArgument, "dimension ", i, " of ", from.ToString(), " is not 1");
    }
  }
  Shape shape;
  size_t next = 0;
  while (shape.rank < xir::kMaxRank) {
    const bool is_inserted = (inserted >> shape.rank & 1) != 0;
    if (!is_inserted && next == kept.size()) break;
    const int64_t size = is_inserted ? 1 : kept[next++];
    shape[shape.rank++] = size;
  }
  if (next != kept.size() || inserted >> shape.rank != 0 || dropped >> from.rank != 0) {
    return Fail(Code::kInvalidArgument, "it drops or inserts dimensions that there are not");
  }
  return shape;
}

}  // namespace

size_t Value::num_operands() const {
  if (kind != Kind::kComputed) return 0;
  switch (operation) {
    case Operation::kSelect:
      return 3;
    case Operation::kNegate:
    case Operation::kNot:
    case Operation::kCast:
    case Operation::kBroadcast:
    case Operation::kReshape:
      return 1;
    default:
      return 2;
  }
}

Status Program::InferShape(size_t index, std::vector<Shape>* shapes) const {
  const Value& value = values[index];
  Shape& shape = (*shapes)[index];
  if (value.kind == Value::Kind::kConstant) shape = value.largest;
  if (value.kind != Value::Kind::kComputed) return {};
  if (value.operation == Operation::kReshape) {
    XIR_ASSIGN_OR_RETURN(
        shape, Reshape((*shapes)[value.operands[0]], value.operands[1], value.operands[2]));
    return {};
  }
  shape = (*shapes)[value.operands[0]];
  for (size_t i = 1; i < value.num_operands(); ++i) {
    XIR_ASSIGN_OR_RETURN(shape, Broadcast(shape, (*shapes)[value.operands[i]]));
  }
  if (value.operation != Operation::kBroadcast) return {};
  XIR_ASSIGN_OR_RETURN(shape, Broadcast(shape, value.largest));
  if (shape == value.largest) return {};
  return Fail(Code::kInvalidArgument, shape.ToString(), " cannot become ",
              value.largest.ToString());
}

Result<Program> Program::Read(const xir::DelegateData& data, uint64_t max_memory) {
  XIR_RETURN_IF_ERROR(data.Charge(data.bytes.size()));
  Reader reader(data.bytes);
  const bool known = reader.Byte() == 'X' && reader.Byte() == 'M' && reader.Byte() == 'S' &&
                     reader.Byte() == 'K' && reader.Word() == 1;
  if (!known) return Fail(Code::kUnsupported, "its data is no program of masks of version 1");
  const size_t num_values = reader.Word();
  const size_t num_bytes = reader.Word();
  Program program;
  uint64_t memory = num_bytes;
  for (size_t i = 0; i < num_values; ++i) {
    auto value = ReadValue(&reader);
    if (!reader.ok()) return Bad("its data ends within value ", i);
    if (!value.ok()) return std::move(value).status().In("value " + std::to_string(i));
    const Value& read = program.values.emplace_back(std::move(value).value());
    memory += static_cast<uint64_t>(read.largest.numel()) * ElementSize(read.dtype);
    if (memory > max_memory) {
      return Fail(Code::kResource, "it takes more than the limit of ", max_memory, " bytes");
    }
  }
  if (reader.left() != num_bytes) return Bad("it has ", reader.left(), " bytes of constants");
  std::vector<Shape> shapes(num_values);
  for (size_t i = 0; i < num_values; ++i) {
    const Value& value = program.values[i];
    shapes[i] = value.largest;
    const std::string context = "value " + std::to_string(i);
    if (value.kind == Value::Kind::kConstant) {
      XIR_RETURN_IF_ERROR(CheckConstant(value, num_bytes).In(context));
    }
    if (value.kind != Value::Kind::kComputed) continue;
    XIR_RETURN_IF_ERROR(CheckOperation(program, i).In(context));
    XIR_RETURN_IF_ERROR(program.InferShape(i, &shapes).In(context));
    if (shapes[i] != value.largest) {
      return Bad(context, ": it is declared as ", value.largest.ToString(), ", and computed as ",
                 shapes[i].ToString());
    }
  }
  XIR_RETURN_IF_ERROR(CheckArguments(&program));
  program.constants = xir::AllocateBuffer(num_bytes);
  if (program.constants == nullptr) return Fail(Code::kResource, "out of memory for constants");
  if (num_bytes > 0) std::memcpy(program.constants.get(), reader.Rest(num_bytes).data(), num_bytes);
  return program;
}

}  // namespace masks
