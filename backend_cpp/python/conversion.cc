#include "conversion.h"

#include <pybind11/stl.h>

#include "errors.h"

namespace xir::python {
namespace {

// NumPy's type of the same size.
const char* NumpyFormat(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "f4";
    case DType::kDouble:
      return "f8";
    case DType::kHalf:
      return "f2";
    case DType::kChar:
    case DType::kQInt8:
      return "i1";
    case DType::kShort:
      return "i2";
    case DType::kInt:
    case DType::kQInt32:
      return "i4";
    case DType::kLong:
      return "i8";
    case DType::kBool:
      return "?";
    case DType::kUInt32:
      return "u4";
    case DType::kUInt64:
      return "u8";
    default:
      return ElementSize(dtype) == 2 ? "u2" : "u1";
  }
}

py::tuple ToTuple(const Shape& shape) {
  py::tuple tuple(shape.rank);
  for (size_t i = 0; i < shape.rank; ++i) tuple[i] = shape[i];
  return tuple;
}

py::tuple DimOrder(const Tensor& tensor) {
  py::tuple tuple(tensor.rank());
  for (size_t i = 0; i < tensor.rank(); ++i) tuple[i] = static_cast<int>(tensor.dim_order[i]);
  return tuple;
}

std::vector<py::ssize_t> PhysicalSizes(const Tensor& tensor) {
  const Shape physical = tensor.physical_shape();
  return std::vector<py::ssize_t>(physical.dims.begin(), physical.dims.begin() + physical.rank);
}

}  // namespace

py::str ToText(std::string_view text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

py::list ToTexts(const std::vector<std::string>& texts) {
  py::list list;
  for (const std::string& each : texts) list.append(ToText(each));
  return list;
}

std::string ToName(const py::str& name) {
  return py::reinterpret_steal<py::bytes>(
      PyUnicode_AsEncodedString(name.ptr(), "utf-8", "surrogatepass"));
}

Shape ToShape(const py::tuple& sizes) {
  if (sizes.size() > kMaxRank) {
    Raise(Fail(Code::kInvalidArgument, "rank ", sizes.size(), " exceeds ", kMaxRank));
  }
  Shape shape;
  shape.rank = sizes.size();
  for (size_t i = 0; i < shape.rank; ++i) shape[i] = sizes[i].cast<int64_t>();
  return shape;
}

py::array ToArray(const Tensor& tensor, const void* data, const py::handle& base) {
  return py::array(py::dtype(NumpyFormat(tensor.dtype)), PhysicalSizes(tensor), data, base);
}

py::tuple WithType(const py::array& array, const Tensor& tensor) {
  return py::make_tuple(array, static_cast<int>(tensor.dtype), DimOrder(tensor));
}

py::object ToPython(const Value& value) {
  if (const auto* tensor = value.get<Tensor>()) {
    if (tensor->data == nullptr && tensor->numel() > 0) {
      Raise(Fail(Code::kInvalidProgram, "an output has no memory"));
    }
    return WithType(ToArray(*tensor, tensor->data), *tensor);
  }
  if (const auto* integer = value.get<int64_t>()) return py::int_(*integer);
  if (const auto* flag = value.get<bool>()) return py::bool_(*flag);
  if (const auto* real = value.get<double>()) return py::float_(*real);
  if (const auto* text = value.get<std::string>()) return ToText(*text);
  if (value.is_none()) return py::none();
  Raise(Fail(Code::kUnsupported, "an output is a ", KindName(value)));
}

py::dict Describe(const ValueInfo& value) {
  py::dict info;
  info["kind"] = std::string(value.kind);
  if (value.kind == "tensor") {
    info["dtype"] = static_cast<int>(value.dtype);
    info["dtype_name"] = std::string(Name(value.dtype));
    info["shape"] = ToTuple(value.shape);
    info["least"] = ToTuple(value.least);
    info["dynamic"] = value.dynamic;
    info["dim_order"] =
        py::tuple(py::cast(std::vector<int>(value.dim_order.begin(), value.dim_order.end())));
  }
  return info;
}

py::dict Describe(const BufferInfo& buffer) {
  py::dict info = Describe(
      ValueInfo{"tensor", buffer.dtype, buffer.shape, buffer.shape, false, buffer.dim_order});
  info["name"] = ToText(buffer.name);
  return info;
}

}  // namespace xir::python
