"""Constants made from constants."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseResourceAttr, TensorType

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.transforms.legalizations.static_tensor import Index, selected


def part_of(constant: xnnpack.ConstantOp, index: Sequence[Index], ctx: XirContext) -> xnnpack.ConstantOp:
    """What `index` takes of each dimension of `constant`, as numpy does, and of its scales: a view where that is one.

    ValueError where neighbours that share a scale are parted.
    """
    elements = constant.elements
    stored = elements.get_type()
    assert isinstance(stored, TensorType)
    name = elements.resource_handle.data if isinstance(elements, DenseResourceAttr) else "constant"
    array = storage_array(elements, ctx, constant)
    element, taken = element_type(constant.output), array[tuple(index)]
    if isinstance(element, UniformType):
        element = selected(element, index, array.shape)
    value = make_dense(taken, ctx, name, stored.get_element_type())
    part = xnnpack.ConstantOp(value, TensorType(element, taken.shape))
    part.location = constant.location
    return part
