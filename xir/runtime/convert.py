"""Between the caller's tensors and the arrays that the C++ runtime takes.

The runtime sees a tensor as a C-contiguous NumPy array of its *physical* shape: the logical dimensions listed in
`dim_order`, outermost in memory first. Types that NumPy lacks (bfloat16, float8) travel as integers of their size.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from xir.runtime._native import XirRuntimeError
from xir.runtime.dtypes import NUMPY_DTYPES, NUMPY_NUMBERS, is_torch_tensor, torch_dtype, torch_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from xir.runtime._native import Array

BITS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}


@cache
def is_in_order(dim_order: tuple[int, ...]) -> bool:
    """Whether the dimensions lie in memory one behind the other."""
    return dim_order == tuple(range(len(dim_order)))


def inverse(order: Sequence[int]) -> list[int]:
    """The permutation that undoes `order`."""
    return sorted(range(len(order)), key=order.__getitem__)


def physical_from_torch(tensor: torch.Tensor, dim_order: Sequence[int]) -> Array:
    """A tensor's elements in memory order; a view where the tensor already lies so."""
    import torch

    tensor = tensor.detach()
    if tensor.device.type != "cpu":
        raise XirRuntimeError(f"a tensor is on device '{tensor.device}'; move it to the CPU")
    if tensor.layout is not torch.strided:
        raise XirRuntimeError(f"a tensor's layout is {tensor.layout}; make it dense (x.to_dense())")
    if not is_in_order(tuple(dim_order)):
        tensor = tensor.permute(*dim_order)
    tensor = tensor.resolve_conj().resolve_neg().contiguous()
    number = torch_number(tensor.dtype)
    if number is None:
        raise XirRuntimeError(f"a tensor of {tensor.dtype} cannot be handed to a program")
    if number in NUMPY_DTYPES:
        return tensor.numpy()
    bits = torch.int16 if tensor.element_size() == 2 else torch.uint8
    return tensor.view(bits).numpy().view(BITS[tensor.element_size()])


def torch_from_physical(array: Array, number: int, dim_order: Sequence[int]) -> torch.Tensor:
    """The opposite of `physical_from_torch`; shares the array's memory."""
    import torch

    if number in NUMPY_DTYPES:
        tensor = torch.from_numpy(array)
    else:
        try:
            dtype = torch_dtype(number)
        except KeyError:
            raise XirRuntimeError(f"torch has no dtype for element type {number} of the program") from None
        signed = array.view(np.int16) if array.itemsize == 2 else array
        tensor = torch.from_numpy(signed).view(dtype)
    if is_in_order(tuple(dim_order)):
        return tensor
    return tensor.permute(*inverse(dim_order))


def bound_output(value: object, info: dict[str, Any], index: int) -> Array:
    """Memory of the caller's for an output, as the runtime takes it: the elements in memory order, never a copy."""
    shape, dim_order = tuple(info["shape"]), info["dim_order"]
    if is_torch_tensor(value):
        tensor: torch.Tensor = value  # pyright: ignore[reportAssignmentType]
        given, dtype, given_shape = torch_number(tensor.dtype), tensor.dtype, tuple(tensor.shape)
    elif isinstance(value, np.ndarray):
        given, dtype, given_shape = NUMPY_NUMBERS.get(value.dtype), value.dtype, value.shape
    else:
        raise XirRuntimeError(f"output {index} is a tensor, and a {type(value).__name__} was given")
    if given != info["dtype"]:
        named = str(dtype).removeprefix("torch.")
        raise XirRuntimeError(f"output {index} is {info['dtype_name']}, and memory for {named} was given")
    if given_shape != shape:
        raise XirRuntimeError(f"output {index} has shape {list(shape)}, and memory of {list(given_shape)} was given")
    if isinstance(value, np.ndarray):
        array, begin = np.ascontiguousarray(value.transpose(dim_order)), value.ctypes.data
    else:
        array = physical_from_torch(value, dim_order)  # pyright: ignore[reportArgumentType]
        begin = value.data_ptr()  # pyright: ignore[reportAttributeAccessIssue]
    if array.size > 0 and array.ctypes.data != begin:
        raise XirRuntimeError(f"output {index} lies in memory in the order {list(dim_order)}; other memory was given")
    if not array.flags.writeable:
        raise XirRuntimeError(f"the memory given for output {index} is read-only")
    return array


class TensorInput:
    """An input that is a tensor, and what a call gives for it as the runtime takes it.

    A call of a small program takes some microseconds, and NumPy's view of a tensor one of them. So a tensor that lies
    in memory as it should is handed over by its address; all else is converted or refused.
    """

    def __init__(self, info: dict[str, Any], index: int):
        self._info, self._what = info, f"input {index}"
        self._number, self._rank = info["dtype"], len(info["dim_order"])
        self._is_in_order = is_in_order(tuple(info["dim_order"]))

    def __call__(self, value: Any) -> tuple[Array, tuple[int, ...]] | tuple[int, tuple[int, ...], int, object]:
        """(Elements in memory order, logical shape), or (address, logical shape, bytes, whose memory it is).

        XirRuntimeError for what does not fit.
        """
        torch = sys.modules.get("torch")
        if (
            torch is not None
            and type(value) is torch.Tensor
            and self._is_in_order
            and value.is_cpu
            and value.layout is torch.strided
            and value.is_contiguous()
            and torch_number(value.dtype) == self._number
            and value.dim() == self._rank
            and not value.is_neg()
        ):
            return value.data_ptr(), value.shape, value.nbytes, value
        return _in_memory_order(value, self._info, self._what)


def are_numpy(values: Sequence[object]) -> bool:
    """Whether there are tensors among values and all of them are NumPy's."""
    torch = sys.modules.get("torch")
    found = False
    for value in values:
        if torch is not None and isinstance(value, torch.Tensor):
            return False
        found = found or isinstance(value, (np.ndarray, np.generic))
    return found


def buffer_content(value: object, info: dict[str, Any]) -> Array:
    """What a mutable buffer is to hold, in memory order: of its very shape."""
    array, shape = _in_memory_order(value, info, f"buffer '{info['name']}'")
    if shape != tuple(info["shape"]):
        raise XirRuntimeError(f"buffer '{info['name']}' has shape {list(info['shape'])}, and {list(shape)} was given")
    return array


def _in_memory_order(value: object, info: dict[str, Any], what: str) -> tuple[Array, tuple[int, ...]]:
    dim_order: tuple[int, ...] = info["dim_order"]
    if is_torch_tensor(value):
        tensor: torch.Tensor = value  # pyright: ignore[reportAssignmentType]
        shape = tuple(tensor.shape)
        given, dtype = torch_number(tensor.dtype), tensor.dtype
    elif isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)
        shape = value.shape
        given, dtype = NUMPY_NUMBERS.get(value.dtype), value.dtype
    else:
        raise XirRuntimeError(f"{what} is a tensor, and a {type(value).__name__} was given")
    if len(shape) != len(dim_order):
        raise XirRuntimeError(f"{what} has shape {list(info['shape'])}, and {list(shape)} was given")
    # bfloat16 may be handed in as the bits that NumPy can hold.
    if given != info["dtype"] and not (info["dtype"] == 15 and given == 27):
        named = str(dtype).removeprefix("torch.")
        raise XirRuntimeError(f"{what} is {info['dtype_name']}, and {named} was given")
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value.transpose(dim_order)), shape
    return physical_from_torch(value, dim_order), shape  # pyright: ignore[reportArgumentType]
