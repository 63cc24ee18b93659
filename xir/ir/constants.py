"""Constant tensors: between `dense<...>` or `dense_resource<...>` and numpy.

Each function says whether it means values (`make_dense`, `constant_array`) or elements as they are stored
(`dense_of_storage`, `storage_array`). What the elements of values are, `xir/ir/elements.py` decides.
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
    BytesAttr,
    ContainerType,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerType,
    RankedStructure,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.parser import Parser

from xir.ir import nibbles
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.elements import element_type_of, has_bits_alone, storage_dtype, stored, values_of
from xir.ir.location import Locatable
from xir.ir.tensor_types import tensor_type
from xir.ir.unverified import unverified

DenseAttr = DenseIntOrFPElementsAttr | DenseResourceAttr

LARGE = 1 << 20
"""The size in bytes from which on a splat is not expanded: a few characters of text may stand for a terabyte."""

DENSE_LIMIT = 16
"""Up to this many elements `make_dense` writes the values into the attribute; more become a resource."""

_I4 = IntegerType(4)


def parse_dense(parser: Parser) -> DenseAttr:
    """Parse `dense<...>` or `dense_resource<...>` of a tensor type."""
    pos = parser.pos
    value = parser.parse_attribute()
    if not isinstance(value, DenseAttr) or not isinstance(value.get_type(), TensorType):
        parser.raise_error("expected dense<...> or dense_resource<...> of a tensor type", pos, parser.pos)
    return value


def element_type_of_constant(attr: Attribute) -> Attribute:
    """The element type of a `dense` or `dense_resource` attribute."""
    assert isinstance(attr, DenseIntOrFPElementsAttr | DenseResourceAttr)
    return cast(ContainerType[Attribute], attr.type).get_element_type()


def storage_array(attr: Attribute, ctx: XirContext, where: Locatable = None) -> np.ndarray:
    """The constant's elements as stored (bf16 as its bits), shaped like its type; no copy is made.

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
    """The constant's values, shaped like its type: as `storage_array`, with what numpy lacks (bf16) widened to float32.

    That is the one copy.
    """
    array, element_type = storage_array(attr, ctx, where), element_type_of_constant(attr)
    if not has_bits_alone(element_type):
        return array
    if _is_splat_view(array):
        return np.broadcast_to(values_of(array.flat[:1], element_type).reshape(()), array.shape)
    return values_of(array, element_type)


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
    values: np.ndarray, ctx: XirContext, name: str = "constant", element_type: Attribute | None = None
) -> DenseAttr:
    """The constant of `values`, rounded or wrapped to `element_type` as PyTorch does it (`xir.ir.elements.stored`).

    Without `element_type` it is that of numpy. The values of bf16 are floats, never its bits: see `dense_of_storage`.
    A splat stays one. ValueError for a float that is no number of an integer type.
    """
    element_type = element_type_of(values.dtype) if element_type is None else element_type
    if values.size > 1 and _is_splat_view(values):
        one = stored(values.flat[:1], element_type)
        return dense_of_storage(np.broadcast_to(one.reshape(()), values.shape), element_type, ctx, name)
    return dense_of_storage(stored(values, element_type), element_type, ctx, name)


def dense_of_storage(
    elements: np.ndarray, element_type: Attribute, ctx: XirContext, name: str = "constant"
) -> DenseAttr:
    """The constant of elements as `storage_array` has them: `dense` when small or a splat, else a resource.

    The resource's key starts from `name`; it keeps the array itself, without a copy, of i4 its packed form.
    TypeError if the array's dtype is not the one that stores the type.
    """
    if elements.dtype != storage_dtype(element_type):
        raise TypeError(f"elements of {element_type} are stored as {storage_dtype(element_type)}, not {elements.dtype}")
    if elements.size > 1 and _is_splat_view(elements):
        data = elements.flat[:1].tobytes()
        return dense_elements(TensorType(cast(AnyDenseElement, element_type), elements.shape), data)
    if elements.size <= DENSE_LIMIT:
        type = TensorType(cast(AnyDenseElement, element_type), elements.shape)
        return dense_elements(type, elements.tobytes())
    type = tensor_type(element_type, elements.shape)
    if element_type == _I4:
        with suppress(ValueError):  # which whoever writes the file tells
            return _resource(ctx.blobs.add(name, nibbles.pack(elements)), type)
    return _resource(ctx.blobs.add(name, elements), type)


def reshaped_dense(elements: DenseAttr, shape: Sequence[int]) -> DenseAttr:
    """The same elements in another shape: a resource keeps its key, and nothing is copied."""
    type = tensor_type(element_type_of_constant(elements), tuple(shape))
    if isinstance(elements, DenseResourceAttr):
        return _resource(elements.resource_handle.data, type)
    return DenseIntOrFPElementsAttr(cast("TensorType[AnyDenseElement]", type), elements.data)


def _resource(key: str, type: TensorType) -> DenseResourceAttr:
    """A resource of the blob store. A program has thousands, with a key of its own each."""
    return unverified(DenseResourceAttr, resource_handle=StringAttr(key), type=type)
