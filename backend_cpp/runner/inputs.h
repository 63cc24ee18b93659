// What a method is run on: the tensors that files have, or ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "npy.h"
#include "xir/program.h"
#include "xir/status.h"

namespace xir::runner {

// An input, and its number among the method's.
struct Given {
  size_t index;
  Array array;
};

// Copies between C order and a tensor's dimension order; `to_c_order` says which way.
void Reorder(const Tensor& layout, const uint8_t* from, uint8_t* to, bool to_c_order);

// A tensor of ones, at its largest shape.
Array Ones(const Tensor& tensor);

// What a file holds, .npy or the bytes of the largest shape, in the tensor's dimension order.
// `path` names it in errors.
Result<Array> ParseInput(const Tensor& tensor, const std::string& path, std::vector<uint8_t> bytes);

// The tensors, from one file for each or, without files, as ones. Numbers, strings and None are
// what the program was exported for.
Result<std::vector<Given>> MakeInputs(const Method& method, const std::vector<std::string>& paths);

}  // namespace xir::runner
