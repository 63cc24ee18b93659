// What values of a drawn graph are: types, sizes, and how much memory they take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program_generated.h"
#include "xnnpack_generated.h"

namespace xir::fuzz {

using graph::XNNDatatype;
using Dims = std::vector<uint32_t>;

// Types of operands that most nodes take, and all types.
inline constexpr XNNDatatype kPlain[] = {
    XNNDatatype::FP32,   XNNDatatype::FP32, XNNDatatype::QInt8, XNNDatatype::FP16,
    XNNDatatype::QUInt8, XNNDatatype::FP32, XNNDatatype::Int32, XNNDatatype::BF16};
inline constexpr XNNDatatype kAny[] = {
    XNNDatatype::Invalid, XNNDatatype::FP32,   XNNDatatype::FP16,   XNNDatatype::QInt8,
    XNNDatatype::QUInt8,  XNNDatatype::QInt32, XNNDatatype::QCInt8, XNNDatatype::QCInt32,
    XNNDatatype::QCInt4,  XNNDatatype::QDInt8, XNNDatatype::QBInt4, XNNDatatype::QPInt8,
    XNNDatatype::Int32,   XNNDatatype::PFP32,  XNNDatatype::BF16};

size_t Bits(XNNDatatype type);
bool IsFloat(XNNDatatype type);
// Of a constant, whose rows begin at whole bytes.
size_t ByteSize(XNNDatatype type, const Dims& dims);
uint64_t Numel(const Dims& dims);

// What a program calls elements of the type.
program::ScalarType ScalarTypeOf(XNNDatatype type);

}  // namespace xir::fuzz
