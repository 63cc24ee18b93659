"""Constants made from constants."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseResourceAttr, TensorType

from xir.dialects import xnnpack
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext


def part_of(constant: xnnpack.ConstantOp, index: Any, ctx: XirContext) -> xnnpack.ConstantOp:
    """The elements of `constant` that numpy's `index` selects: a view where that is one."""
    elements = constant.elements
    stored = elements.get_type()
    assert isinstance(stored, TensorType)
    name = elements.resource_handle.data if isinstance(elements, DenseResourceAttr) else "constant"
    selected = storage_array(elements, ctx, constant)[index]
    part = xnnpack.ConstantOp(make_dense(selected, ctx, name, stored.get_element_type()))
    part.location = constant.location
    return part
