"""Constants made from constants."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DenseResourceAttr, TensorType
from xdsl.ir import Attribute

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type
from xir.ir.constants import dense_of_storage, storage_array
from xir.ir.context import XirContext
from xir.transforms.analysis.static_tensor import Index, selected


def constant_like(
    constant: xnnpack.ConstantOp, array: np.ndarray, ctx: XirContext, element: Attribute | None = None
) -> xnnpack.ConstantOp:
    """A constant of other elements, as they are stored, with the name, the stored type and the location of `constant`.

    `element` is its element type if it is not that of `constant`.
    """
    elements = constant.elements
    stored = elements.get_type()
    assert isinstance(stored, TensorType)
    name = elements.resource_handle.data if isinstance(elements, DenseResourceAttr) else "constant"
    value = dense_of_storage(array, stored.get_element_type(), ctx, name)
    made = xnnpack.ConstantOp(value, TensorType(element or element_type(constant.output), array.shape))
    made.location = constant.location
    return made


def part_of(constant: xnnpack.ConstantOp, index: Sequence[Index], ctx: XirContext) -> xnnpack.ConstantOp:
    """`constant[index]`, as numpy indexes each dimension, with its scales; a view where numpy gives one.

    ValueError where elements that share a scale would be separated.
    """
    array = storage_array(constant.elements, ctx, constant)
    element = element_type(constant.output)
    if isinstance(element, UniformType):
        element = selected(element, index, array.shape)
    return constant_like(constant, array[tuple(index)], ctx, element)
