"""torch's dtypes and values as the IR's types, and constants as arrays."""

from typing import Any

import numpy as np
import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    ComplexType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    IntegerType,
    LocationAttr,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from xir.dialects.edge.types import tensor_type
from xir.ir.diagnostics import DiagnosticError

ELEMENT_TYPES: dict[torch.dtype, Attribute] = {
    torch.bool: i1,
    torch.int8: i8,
    torch.int16: i16,
    torch.int32: i32,
    torch.int64: i64,
    torch.uint8: IntegerType(8, Signedness.UNSIGNED),
    torch.uint16: IntegerType(16, Signedness.UNSIGNED),
    torch.uint32: IntegerType(32, Signedness.UNSIGNED),
    torch.uint64: IntegerType(64, Signedness.UNSIGNED),
    torch.float16: f16,
    torch.bfloat16: bf16,
    torch.float32: f32,
    torch.float64: f64,
    torch.complex64: ComplexType(f32),
    torch.complex128: ComplexType(f64),
    torch.float8_e4m3fn: Float8E4M3FNType(),
    torch.float8_e4m3fnuz: Float8E4M3FNUZType(),
    torch.float8_e5m2: Float8E5M2Type(),
    torch.float8_e5m2fnuz: Float8E5M2FNUZType(),
}

DTYPES: dict[Attribute, torch.dtype] = {element: dtype for dtype, element in ELEMENT_TYPES.items()}

_RAW: dict[torch.dtype, torch.dtype] = {
    torch.bfloat16: torch.uint16,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e4m3fnuz: torch.uint8,
    torch.float8_e5m2: torch.uint8,
    torch.float8_e5m2fnuz: torch.uint8,
}
"""numpy has no such types: their bits travel as unsigned integers."""


def is_open(size: object) -> bool:
    """Whether a size is known only when the program runs.

    torch keeps the symbol of an input's size that the program has fixed: such a size is a number.
    """
    return size.node.maybe_as_int() is None if isinstance(size, torch.SymInt) else not isinstance(size, int)


def is_dynamic(value: object) -> bool:
    """Whether a value is a tensor with open sizes."""
    return isinstance(value, torch.Tensor) and any(map(is_open, value.shape))


def remedy(tensor: torch.Tensor) -> str:
    """What to do with a tensor that has no form in the IR, behind the words that it has none."""
    if tensor.layout is not torch.strided:
        return ": make it dense (x.to_dense())"
    return ": convert it to an element type that has one, such as x.to(torch.float32)"


def import_type(value: Any, location: LocationAttr) -> Attribute:
    """The type of an fx value: a tensor's with `?` for open sizes, i64 for a size, f64, i1.

    DiagnosticError at `location` if there is none, as for sparse tensors, or if a size depends on data.
    """
    match value:
        case torch.Tensor():
            if value.layout is not torch.strided:
                layout = str(value.layout).removeprefix("torch.")
                raise DiagnosticError(location, f"a {layout} tensor has no form here{remedy(value)}")
            if value.dtype not in ELEMENT_TYPES:
                raise DiagnosticError(location, f"element type {value.dtype} has no form here{remedy(value)}")
            shape = tuple(_open_size(size, location) if is_open(size) else int(size) for size in value.shape)
            return tensor_type(ELEMENT_TYPES[value.dtype], shape)
        case bool() | torch.SymBool():
            return i1
        case int():
            return i64
        case torch.SymInt():
            _open_size(value, location)
            return i64
        case float() | torch.SymFloat():
            return f64
        case _:
            raise DiagnosticError(location, f"a value of type {type(value).__name__} has no form here")


def _open_size(size: Any, location: LocationAttr) -> int:
    if free_unbacked_symbols(size):
        raise DiagnosticError(
            location,
            "the size of this result depends on the data: make it static (torch.where or a mask instead of selecting "
            "elements, a constant instead of .item())",
        )
    return DYNAMIC_INDEX


def numpy_view(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's memory as an array, strides and all, which keeps the tensor alive. No copy for a CPU tensor."""
    tensor = tensor.detach().cpu()
    if tensor.is_neg() or tensor.is_conj():
        tensor = tensor.resolve_neg().resolve_conj()
    raw = _RAW.get(tensor.dtype)
    return (tensor if raw is None else tensor.view(raw)).numpy()


def torch_view(array: np.ndarray, element: Attribute, shape: tuple[int, ...]) -> torch.Tensor:
    """The tensor of a blob: the inverse of `numpy_view`, also for raw bytes."""
    dtype = DTYPES[element]
    if (array.dtype == np.uint8 and dtype != torch.uint8) or array.shape != shape:
        array = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if not array.flags.writeable:
            array = array.copy()  # torch has no read-only tensors
        return torch.from_numpy(array).view(dtype).reshape(shape)
    tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
    return tensor.view(dtype) if isinstance(element, BFloat16Type) else tensor


def number_type(example: Any) -> Attribute:
    """The type of a number that a program computes, of torch's stand-in for it."""
    if isinstance(example, bool | torch.SymBool):
        return i1
    return f64 if isinstance(example, float | torch.SymFloat) else i64


def number_tensor(value: bool | float) -> torch.Tensor:
    """A number as a tensor without dimensions, whose element is that number: torch makes fp32 of a Python float."""
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
