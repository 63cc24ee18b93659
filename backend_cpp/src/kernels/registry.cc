#include "kernels/registry.h"

#include <algorithm>
#include <string>

#include "kernels/kernels.h"

namespace xir {
namespace {

using namespace kernels;

constexpr PortableKernel kKernels[] = {
    {"aten::_softmax.out", "TIBO", Softmax},
    {"aten::_unsafe_view.out", "TLO", ViewCopy},
    {"aten::add.out", "TTSO", Add},
    {"aten::addmm.out", "TTTSSO", AddMm},
    {"aten::cat.out", "GIO", Cat},
    {"aten::clamp.out", "TssO", Clamp},
    {"aten::clone.out", "TxO", Clone},
    {"aten::convolution.out", "TTtLLLBLIO", Convolution},
    {"aten::div.out", "TTO", Div},
    {"aten::embedding.out", "TTxxxO", Embedding},
    {"aten::expand_copy.out", "TLxO", ExpandCopy},
    {"aten::hardtanh.out", "TSSO", Hardtanh},
    {"aten::mean.out", "TlBxO", Mean},
    {"aten::mm.out", "TTO", Mm},
    {"aten::mul.out", "TTO", Mul},
    {"aten::permute_copy.out", "TLO", PermuteCopy},
    {"aten::relu.out", "TO", Relu},
    {"aten::select_copy.int_out", "TIIO", SelectCopy},
    {"aten::slice_copy.Tensor_out", "TIiiIO", SliceCopy},
    {"aten::squeeze_copy.dims_out", "TLO", SqueezeCopy},
    {"aten::sub.out", "TTSO", Sub},
    {"aten::unsqueeze_copy.out", "TIO", UnsqueezeCopy},
    {"aten::view_copy.out", "TLO", ViewCopy},
    {"dim_order_ops::_clone_dim_order.out", "TxxO", CloneDimOrder},
    {"dim_order_ops::_to_dim_order_copy.out", "TxxO", ToDimOrderCopy},
};

bool Matches(char kind, const Value& value) {
  const bool number = value.get<int64_t>() != nullptr || value.get<bool>() != nullptr ||
                      value.get<double>() != nullptr;
  switch (kind) {
    case 'T':
    case 'O':
      return value.get<Tensor>() != nullptr;
    case 't':
      return value.get<Tensor>() != nullptr || value.is_none();
    case 'G':
      return value.get<TensorList>() != nullptr;
    case 'I':
      return value.get<int64_t>() != nullptr;
    case 'i':
      return value.get<int64_t>() != nullptr || value.is_none();
    case 'S':
      return number;
    case 's':
      return number || value.is_none();
    case 'D':
      return value.get<double>() != nullptr;
    case 'B':
      return value.get<bool>() != nullptr;
    case 'L':
      return value.get<IntList>() != nullptr;
    case 'l':
      return value.get<IntList>() != nullptr || value.is_none();
    default:
      return true;
  }
}

}  // namespace

const PortableKernel* FindPortableKernel(std::string_view name) {
  const auto* end = std::end(kKernels);
  const auto* found = std::lower_bound(
      std::begin(kKernels), end, name,
      [](const PortableKernel& row, std::string_view key) { return row.name < key; });
  return found != end && found->name == name ? found : nullptr;
}

std::vector<std::string_view> PortableKernelNames() {
  std::vector<std::string_view> names;
  for (const PortableKernel& row : kKernels) names.push_back(row.name);
  return names;
}

Result<std::vector<size_t>> MatchSignature(std::string_view signature, KernelArgs args) {
  const auto results = static_cast<size_t>(std::count(signature.begin(), signature.end(), 'O'));
  if (args.size() != signature.size() && args.size() != signature.size() + results) {
    return Fail(Code::kInvalidProgram, "it has ", args.size(), " arguments, not ",
                signature.size());
  }
  std::vector<size_t> written;
  for (size_t i = 0; i < signature.size(); ++i) {
    if (!Matches(signature[i], *args[i])) {
      return Fail(Code::kInvalidProgram, "argument ", i, " is a ", KindName(*args[i]));
    }
    if (signature[i] == 'O') written.push_back(i);
  }
  for (size_t i = signature.size(); i < args.size(); ++i) {
    if (args[i] != args[written[i - signature.size()]]) {
      return Fail(Code::kInvalidProgram, "argument ", i, " does not repeat the result");
    }
  }
  return written;
}

}  // namespace xir
