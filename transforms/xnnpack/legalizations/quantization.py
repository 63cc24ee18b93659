"""Quantise and dequantise ops.

Inside a subgraph a quantised value has its parameters in its type, and both ops are conversions. Between edge ops it is
a plain tensor of integers; a cast stands wherever a rule crosses that border.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.quant import UniformType, storage_limits
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.quantization import expect_normal
from xir.ir.context import XirContext
from xir.transforms.analysis.quantization_parameters import CHOOSE, DEQUANTISE, QUANTISE, parameters
from xir.transforms.analysis.static_tensor import is_static, range_of, stored_as
from xir.transforms.xnnpack.legalizations.rule import NodeBuilder, RefusalError, rule

ROW_OF_ONE = 1
"""Rows of the last dimension; `fold-qdq` knows the node that reads them, and gives it the rows that it wants."""


def activation_type(op: edge.EdgeOp, ctx: XirContext) -> UniformType:
    """The type of the integers that an op writes or reads; RefusalError if XNNPACK has no activations of it."""
    element = parameters(op, ctx)
    if element is None:
        raise RefusalError("its scale is computed at run time", "let choose_qparams of the same tensor compute it")
    if not element.is_per_tensor:
        raise RefusalError("its scales differ along a dimension; XNNPACK quantises activations by tensor")
    if element.storage.width.data != 8:
        raise RefusalError(f"XNNPACK quantises activations in 8 bits, not to {element.storage}")
    expect_normal(element)
    return element


@rule(*sorted(QUANTISE))
def quantise(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """round(input / scale) + zero_point, clamped to the range of the integers."""
    element = activation_type(op, b.ctx)
    value = op.operands[0]
    low, high = range_of(element)
    whole = storage_limits(element.storage)
    bounds = [
        None if end == limit else (end - element.zero_point) * element.scale
        for end, limit in zip((low, high), whole, strict=True)
    ]
    if bounds != [None, None]:
        value = b.clamp(value, *bounds)
    return b.cast(b.quantise(value, stored_as(element, element.storage)), element.storage)


@rule(*sorted(DEQUANTISE))
def dequantise(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """scale · (input − zero_point)."""
    if not isinstance(element_type(op.results[0]), Float32Type):
        raise RefusalError(f"XNNPACK dequantises to f32, not to {element_type(op.results[0])}")
    if is_static(op.results[0]):
        return b.static(b.weight(op.results[0], "input"))
    source = quantised_at_run_time(op)
    if source is not None:
        return b.dequantise(b.quantise(source, xnnpack.DynamicType.of(ROW_OF_ONE)))
    element = activation_type(op, b.ctx)
    value = op.operands[0]
    for other in readers_and_writers(value):
        found = parameters(other, b.ctx)
        if found is None or stored_as(found, found.storage) != stored_as(element, element.storage):
            raise RefusalError("its integers are written or read elsewhere with another scale or zero point")
    return b.dequantise(b.cast(value, stored_as(element, element.storage)))


def readers_and_writers(value: SSAValue) -> list[edge.EdgeOp]:
    """The quantise and dequantise ops that give integers their meaning."""
    ops = [use.operation for use in value.uses if use.index == 0] + [value.owner]
    return [op for op in ops if isinstance(op, edge.EdgeOp) and op.name in QUANTISE | DEQUANTISE and op.operands]


def quantised_at_run_time(op: edge.EdgeOp) -> SSAValue | None:
    """The numbers that an op gives back which were quantised with a scale of their own, found at run time."""
    writer = op.operands[0].owner
    if not isinstance(writer, edge.EdgeOp) or writer.name not in QUANTISE or len(writer.operands) < 2:
        return None
    chooser = writer.operands[1].owner
    if not isinstance(chooser, edge.EdgeOp) or chooser.name not in CHOOSE:
        return None
    same = chooser.operands[0] is writer.operands[0] and list(op.operands[1:]) == list(writer.operands[1:])
    return writer.operands[0] if same else None
