"""Constant tensors: between `dense<...>` or `dense_resource<...>` and numpy.

One value is one storage element, also below eight bits (`i1` and `i4` take a byte each). numpy has no bfloat16, so bf16
values are read as float32 (exactly) and their raw form is `uint16`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyDenseElement,
    BFloat16Type,
    BytesAttr,
    ContainerType,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    RankedStructure,
    Signedness,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser

from xir.ir import nibbles
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import Locatable
from xir.ir.tensor_types import tensor_type
from xir.ir.unverified import unverified

DenseAttr = DenseIntOrFPElementsAttr | DenseResourceAttr

LARGE = 1 << 20
"""The size in bytes from which on a splat is not expanded: a few characters of text may stand for a terabyte."""

DENSE_LIMIT = 16
"""Up to this many elements `make_dense` writes the values into the attribute; more become a resource."""

_FLOAT_DTYPES: dict[type[Attribute], np.dtype] = {
    BFloat16Type: np.dtype("<u2"),
    Float16Type: np.dtype("<f2"),
    Float32Type: np.dtype("<f4"),
    Float64Type: np.dtype("<f8"),
}

_I4 = IntegerType(4)

_ELEMENT_TYPES: dict[str, Attribute] = {"f2": f16, "f4": f32, "f8": f64, "b1": IntegerType(1)}


def parse_dense(parser: Parser) -> DenseAttr:
    """Parse `dense<...>` or `dense_resource<...>` of a tensor type."""
    pos = parser.pos
    value = parser.parse_attribute()
    if not isinstance(value, DenseAttr) or not isinstance(value.get_type(), TensorType):
        parser.raise_error("expected dense<...> or dense_resource<...> of a tensor type", pos, parser.pos)
    return value


def storage_dtype(element_type: Attribute) -> np.dtype:
    """The numpy dtype that stores one element: `uint16` for bf16, `bool` for i1, the next power of two for integers.

    Signless integers are signed in numpy. TypeError if numpy has nothing for the type.
    """
    if (dtype := _FLOAT_DTYPES.get(type(element_type))) is not None:
        return dtype
    if isinstance(element_type, IndexType):
        return np.dtype("<i8")
    if isinstance(element_type, IntegerType) and element_type.width.data <= 64:
        width = element_type.width.data
        if width == 1:
            return np.dtype(np.bool_)
        kind = "u" if element_type.signedness.data is Signedness.UNSIGNED else "i"
        return np.dtype(f"<{kind}{max(1, (1 << (width - 1).bit_length()) // 8)}")
    raise TypeError(f"no numpy type stores {element_type}")


def element_type_of(dtype: np.dtype) -> Attribute:
    """The element type of a numpy dtype: `int8` is `i8`, `uint8` is `ui8`. TypeError if there is none."""
    code = f"{dtype.kind}{dtype.itemsize}"
    if (element_type := _ELEMENT_TYPES.get(code)) is not None:
        return element_type
    if dtype.kind == "i":
        return IntegerType(8 * dtype.itemsize)
    if dtype.kind == "u":
        return IntegerType(8 * dtype.itemsize, Signedness.UNSIGNED)
    raise TypeError(f"no element type for numpy's {dtype}")


def element_type_of_constant(attr: Attribute) -> Attribute:
    """The element type of a `dense` or `dense_resource` attribute."""
    assert isinstance(attr, DenseIntOrFPElementsAttr | DenseResourceAttr)
    return cast(ContainerType[Attribute], attr.type).get_element_type()


def storage_array(attr: Attribute, ctx: XirContext, where: Locatable = None) -> np.ndarray:
    """The constant's elements as stored (bf16 as `uint16`), shaped like its type; no copy is made.

    A splat, one value for all elements, is a view in which they are all at one address.

    DiagnosticError at `where` if the attribute is no dense constant, or its resource is missing or of another size.
    """
    if isinstance(attr, DenseIntOrFPElementsAttr):
        data = np.frombuffer(attr.data.data, dtype=storage_dtype(attr.get_element_type()))
        if math.prod(attr.get_shape()) > sys.maxsize // data.itemsize:
            raise DiagnosticError(where, f"the constant takes more memory than there is: {attr.type}")
        return np.broadcast_to(data[0], attr.get_shape()) if data.size == 1 else data.reshape(attr.get_shape())
    if not isinstance(attr, DenseResourceAttr):
        raise DiagnosticError(where, f"expected a dense constant, got {attr}")
    key = attr.resource_handle.data
    shape = attr.type.get_shape()
    dtype = storage_dtype(element_type_of_constant(attr))
    if key not in ctx.blobs:
        raise DiagnosticError(
            where, f'resource "{key}" has no data here: print the module with --print-resources to keep the weights'
        )
    data = ctx.blobs.get(key)
    expected = math.prod(shape) * dtype.itemsize
    if data.nbytes != expected:
        raise DiagnosticError(where, f'resource "{key}" holds {data.nbytes} bytes, but {attr.type} needs {expected}')
    if data.dtype.itemsize == dtype.itemsize and data.shape == tuple(shape):
        return data if data.dtype == dtype else data.view(dtype)
    return np.ascontiguousarray(data).reshape(-1).view(dtype).reshape(shape)


def constant_array(attr: Attribute, ctx: XirContext, where: Locatable = None) -> np.ndarray:
    """The constant's values, shaped like its type: as `storage_array`, with bf16 widened to float32 (the one copy)."""
    array = storage_array(attr, ctx, where)
    if element_type_of_constant(attr) != bf16:
        return array
    if _is_splat_view(array):
        return np.broadcast_to(_widen_bfloat16(array.flat[0]), array.shape)
    return _widen_bfloat16(array)


def _widen_bfloat16(bits: np.ndarray) -> np.ndarray:
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def _is_splat_view(array: np.ndarray) -> bool:
    """Whether all elements are known to be the same, because they are stored at one address."""
    return array.size > 0 and all(step == 0 or size == 1 for step, size in zip(array.strides, array.shape, strict=True))


def is_large_splat(array: np.ndarray) -> bool:
    """Whether this is a splat that would take more than `LARGE` bytes if it were expanded to compute with it."""
    return array.nbytes > LARGE and _is_splat_view(array)


def dense_elements(type: RankedStructure[AnyDenseElement], data: bytes) -> DenseIntOrFPElementsAttr:
    """The `dense` attribute of the elements' bytes, all of them or those of one; a splat keeps one, whatever its size.

    xDSL writes a splat out, which takes as much memory as its type says.
    """
    size = type.element_type.compile_time_size
    # Compared as bytes: 0.0 equals -0.0, and a NaN equals nothing.
    if len(data) > size and data == data[:size] * (len(data) // size):
        data = data[:size]
    return DenseIntOrFPElementsAttr(type, BytesAttr(data))


def make_dense(
    array: np.ndarray, ctx: XirContext, name: str = "constant", element_type: Attribute | None = None
) -> DenseAttr:
    """The constant attribute of `array`: `dense` when small or a splat, else a resource whose key starts from `name`.

    `element_type` says what numpy cannot: bf16 (from float32 values, rounded to nearest even, or from `uint16` bits),
    i4 (from `int8`), or another signedness. A resource keeps the array itself, without a copy; of i4, its packed form.
    """
    element_type = element_type_of(array.dtype) if element_type is None else element_type
    if array.size > 1 and _is_splat_view(array):
        one = make_dense(array.flat[:1], ctx, name, element_type)
        assert isinstance(one, DenseIntOrFPElementsAttr)
        return dense_elements(TensorType(cast(AnyDenseElement, element_type), array.shape), one.data.data)
    dtype = storage_dtype(element_type)
    if element_type == bf16 and array.dtype.kind == "f":
        array = round_to_bfloat16(array)
    elif array.dtype != dtype:
        same_bits = array.dtype.itemsize == dtype.itemsize and array.dtype.kind in "iu" and dtype.kind in "iu"
        array = array.view(dtype) if same_bits else array.astype(dtype)
    if array.size <= DENSE_LIMIT:
        type = TensorType(cast(AnyDenseElement, element_type), array.shape)
        return dense_elements(type, array.tobytes())
    type = tensor_type(element_type, array.shape)
    if element_type == _I4:
        with suppress(ValueError):  # which whoever writes the file tells
            return _resource(ctx.blobs.add(name, nibbles.pack(array)), type)
    return _resource(ctx.blobs.add(name, array), type)


def reshaped_dense(elements: DenseAttr, shape: Sequence[int]) -> DenseAttr:
    """The same elements in another shape: a resource keeps its key, and nothing is copied."""
    type = tensor_type(element_type_of_constant(elements), tuple(shape))
    if isinstance(elements, DenseResourceAttr):
        return _resource(elements.resource_handle.data, type)
    return DenseIntOrFPElementsAttr(cast("TensorType[AnyDenseElement]", type), elements.data)


def _resource(key: str, type: TensorType) -> DenseResourceAttr:
    """A resource of the blob store. A program has thousands, with a key of its own each."""
    return unverified(DenseResourceAttr, resource_handle=StringAttr(key), type=type)


def round_to_bfloat16(array: np.ndarray) -> np.ndarray:
    """bf16 bit patterns (`uint16`) of float values, rounded to nearest, ties to even; NaNs stay NaNs."""
    bits = np.asarray(array, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | np.uint32(0x0040)
    return np.where(np.isnan(array), quiet_nan, rounded).astype(np.uint16)
