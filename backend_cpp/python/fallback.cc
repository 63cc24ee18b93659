#include "fallback.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conversion.h"
#include "errors.h"

namespace xir::python {
namespace {

py::object Borrow(const Value& value);

py::object BorrowTensor(const Tensor& tensor) {
  // The capsule keeps pybind from copying; the memory is the method's and outlives the call.
  const void* memory = tensor.data == nullptr ? static_cast<const void*>(&tensor) : tensor.data;
  const py::tuple typed =
      WithType(ToArray(tensor, tensor.data, py::capsule(memory, [](void*) {})), tensor);
  return py::make_tuple(typed[0], typed[1], typed[2], tensor.writable, tensor.capacity);
}

// A kernel argument as Python sees it.
py::object Borrow(const Value& value) {
  if (const auto* tensor = value.get<Tensor>()) return BorrowTensor(*tensor);
  if (const auto* list = value.get<TensorList>()) {
    py::list items;
    for (const Value* item : list->items)
      items.append(item == nullptr ? py::none() : Borrow(*item));
    return items;
  }
  if (const auto* list = value.get<IntList>()) {
    py::list items;
    for (const Value* item : list->items) items.append(*item->get<int64_t>());
    return items;
  }
  if (const auto* list = value.get<std::vector<double>>()) return py::cast(*list);
  if (const auto* list = value.get<std::vector<bool>>()) return py::cast(*list);
  return ToPython(value);
}

// Takes over a tensor that Python computed: (shape, array in memory order).
void StoreTensor(Tensor* tensor, const py::tuple& result) {
  if (!tensor->writable) Raise(Fail(Code::kInvalidArgument, "it writes to read-only memory"));
  const auto array = result[1].cast<py::array>();
  Check(tensor->Resize(ToShape(result[0])));
  if ((array.flags() & py::array::c_style) == 0 ||
      static_cast<size_t>(array.nbytes()) != tensor->nbytes()) {
    Raise(Fail(Code::kInternal, "the fallback's result has ", array.nbytes(), " bytes, not ",
               tensor->nbytes(), " in one piece"));
  }
  if (tensor->nbytes() > 0 && tensor->data == nullptr) {
    Raise(Fail(Code::kInvalidProgram, "a tensor has no memory"));
  }
  // The result may be a view of an operand, whose memory may be the result's.
  if (tensor->nbytes() > 0) std::memmove(tensor->data, array.data(), tensor->nbytes());
}

// Takes over what Python computed for one argument: a tensor, a list of them, or a number.
void StoreResult(Value* value, const py::handle& result) {
  if (auto* tensor = value->get<Tensor>()) {
    StoreTensor(tensor, result.cast<py::tuple>());
  } else if (const auto* list = value->get<TensorList>()) {
    const auto results = result.cast<py::list>();
    if (results.size() != list->items.size()) {
      Raise(Fail(Code::kInternal, "the fallback has ", results.size(), " results, not ",
                 list->items.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (list->items[i] != nullptr) StoreResult(list->items[i], results[i]);
    }
  } else if (auto* flag = value->get<bool>()) {
    *flag = result.cast<bool>();
  } else if (auto* integer = value->get<int64_t>()) {
    *integer = result.cast<int64_t>();
  } else if (auto* real = value->get<double>()) {
    *real = result.cast<double>();
  } else {
    Raise(Fail(Code::kInternal, "the fallback answers for a ", KindName(*value)));
  }
}

// A Python object that may be dropped where the interpreter's lock is not held.
std::shared_ptr<py::object> Share(py::object object) {
  return std::shared_ptr<py::object>(new py::object(std::move(object)), [](py::object* owned) {
    const py::gil_scoped_acquire gil;
    delete owned;
  });
}

Status Call(const py::object& kernel, KernelArgs args) {
  py::list list;
  for (const Value* value : args) list.append(Borrow(*value));
  for (const py::handle result : py::list(kernel(list))) {
    const auto [index, what] = result.cast<std::pair<size_t, py::object>>();
    if (index >= args.size()) {
      return Fail(Code::kInternal, "the fallback answers for argument ", index);
    }
    StoreResult(args[index], what);
  }
  return {};
}

}  // namespace

KernelProvider MakeProvider(const py::object& find) {
  const auto shared_find = Share(find);
  return [shared_find](std::string_view op) -> Kernel {
    std::shared_ptr<py::object> kernel;
    const Status found = GuardedPython([&]() -> Status {
      py::object found = (*shared_find)(ToText(op));
      if (!found.is_none()) kernel = Share(std::move(found));
      return {};
    });
    if (!found.ok()) {
      return [message = found.message()](KernelContext&, KernelArgs) {
        return Status(Code::kUnsupported, message);
      };
    }
    if (kernel == nullptr) return {};
    return [kernel](KernelContext&, KernelArgs args) -> Status {
      return GuardedPython([&] { return Call(*kernel, args); });
    };
  };
}

}  // namespace xir::python
