// Texts, shapes and values as Python has them, and back.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

#include "xir/buffer.h"
#include "xir/program.h"
#include "xir/tensor.h"
#include "xir/value.h"

namespace xir::python {

namespace py = pybind11;

// Text of a file or of an operating system, which need not be UTF-8.
py::str ToText(std::string_view text);
py::list ToTexts(const std::vector<std::string>& texts);

// A name that a caller gives as the bytes of its text, lone surrogates too: no file has such a
// name, which is for the runtime to say.
std::string ToName(const py::str& name);

// Raises where it has more dimensions than a tensor may have.
Shape ToShape(const py::tuple& sizes);

// An array of the tensor's elements in memory order: over `data`, which `base` keeps alive, or a
// copy of it without a base, or new memory without either. Types that NumPy lacks travel as bits.
py::array ToArray(const Tensor& tensor, const void* data, const py::handle& base = {});
// (array, dtype, dimension order)
py::tuple WithType(const py::array& array, const Tensor& tensor);

// A number, a text or None; a tensor as WithType has it, copied.
py::object ToPython(const Value& value);

// What a caller needs to know of a value: kind, and for a tensor dtype, largest shape and dimension
// order; of a buffer its name too.
py::dict Describe(const ValueInfo& value);
py::dict Describe(const BufferInfo& buffer);

template <typename T>
py::list DescribeAll(const std::vector<T>& all) {
  py::list list;
  for (const T& each : all) list.append(Describe(each));
  return list;
}

}  // namespace xir::python
