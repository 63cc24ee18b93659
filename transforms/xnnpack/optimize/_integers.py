"""Queries of the patterns of `fold-qdq` on quantised values, and builders of nodes and constants on integers.

What is made is verified, has the location and origins of what it stands for, and is for the caller to insert.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np
from xdsl.dialects.builtin import Float32Type, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import movement_of
from xir.dialects.xnnpack.quantization import is_quantized, stored_bounds
from xir.ir.constants import dense_of_storage
from xir.ir.context import XirContext
from xir.ir.provenance import inherit


def dequantized_from(value: SSAValue) -> SSAValue | None:
    """The quantised value that a conversion to floating point made `value` from."""
    owner = value.owner
    if not isinstance(owner, xnnpack.ConvertOp) or not isinstance(element_type(owner.output), Float32Type):
        return None
    return owner.input if is_quantized(element_type(owner.input)) else None


def is_scaled(element: Attribute) -> TypeGuard[UniformType]:
    """Whether an element type is quantised with known scales."""
    return isinstance(element, UniformType)


def conversion(value: SSAValue) -> xnnpack.ConvertOp:
    """The conversion that makes `value`."""
    assert isinstance(value.owner, xnnpack.ConvertOp)
    return value.owner


def is_activation(value: SSAValue) -> bool:
    """Whether a value is quantised by tensor."""
    element = element_type(value)
    return isinstance(element, UniformType) and element.is_per_tensor


def is_move(op: Operation) -> bool:
    """Whether a node gives elements of its operands, or constants, without computing: rounding goes before or after."""
    return movement_of(op) is not None


def on_elements(op: Operation, operands: Sequence[SSAValue], elements: Sequence[Attribute]) -> xnnpack.NodeOp | None:
    """The node over other operands, its results of other element types; None if XNNPACK has no such node."""
    types = [TensorType(each, shape_of(result)) for each, result in zip(elements, op.results, strict=True)]
    properties = dict(op.properties)
    # A clamp keeps a bound: XNNPACK would take one without for nothing to do, whatever its types.
    if isinstance(op, xnnpack.BoundedOp) and not isinstance(op, xnnpack.ClampOp) and is_scaled(elements[0]):
        drop_implied_bounds(properties, op.bounds, elements[0])
    made = type(op).create(operands=operands, result_types=types, properties=properties)
    assert isinstance(made, xnnpack.NodeOp)
    try:
        made.verify_()
    except VerifyException:
        made.erase()
        return None
    inherit(made, op)
    return made


def drop_implied_bounds(properties: dict[str, Attribute], bounds: tuple[float, float], element: UniformType) -> None:
    """Remove output bounds that the integers of a type keep anyway."""
    low, high = stored_bounds(bounds, element)
    if low == element.storage_min.data:
        properties.pop("output_min", None)
    if high == element.storage_max.data:
        properties.pop("output_max", None)


def converted(value: SSAValue, element: Attribute, user: Operation, rewriter: PatternRewriter) -> SSAValue:
    """`value` converted to another element type, in front of the node that wants it so."""
    convert = xnnpack.ConvertOp.create(operands=[value], result_types=[TensorType(element, shape_of(value))])
    inherit(convert, user)
    return rewriter.insert(convert, InsertPoint.before(user)).output


def stored_constant(
    array: np.ndarray, element: UniformType, like: xnnpack.ConstantOp, ctx: XirContext
) -> xnnpack.ConstantOp:
    """A constant of stored integers, named after another constant."""
    made = xnnpack.ConstantOp(
        dense_of_storage(array, element.storage, ctx, constant_name(like)), TensorType(element, array.shape)
    )
    inherit(made, like)
    return made


def constant_name(op: xnnpack.ConstantOp) -> str:
    """The name of a constant, to derive the names of its rewritten forms from."""
    handle = getattr(op.value, "resource_handle", None)
    return "constant" if handle is None else handle.data
