#include "program/description.h"

#include <algorithm>

namespace xir {

Shape TensorDescription::bound() const {
  Shape shape;
  shape.rank = rank;
  std::copy_n(sizes.begin(), rank, shape.dims.begin());
  return shape;
}

const Bytes* ProgramDescription::Find(std::string_view name) const {
  const auto found = named_data.find(name);
  return found == named_data.end() ? nullptr : &found->second;
}

}  // namespace xir
