"""Why ops of a quantised program stay in floating point, inside their subgraph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, TensorType, f32, i8, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import moves_data
from xir.ir.context import XirContext
from xir.ir.diagnostics import Severity
from xir.ir.location import find_name
from xir.ir.provenance import origins_of
from xir.ir.remarks import Figure, Remark, RemarkKind, function_of, sentence
from xir.transforms.analysis.cost import multiply_adds
from xir.transforms.analysis.refusal import Refusal, RefusalError
from xir.transforms.xnnpack.analysis.tables import is_8_bit, is_dequantize, tables

ANY = UniformType.per_tensor(i8, f32, 1.0)
"""Some type of integers."""

NO_SCALES_BETWEEN = Refusal("it is {count} nodes, and the numbers between them have no scale")
FILTER_NOT_QUANTIZED = Refusal("its filter is not quantised")
OPERANDS_NOT_QUANTIZED = Refusal("its operands are not quantised")
RESULT_NOT_QUANTIZED = Refusal("its result is not quantised")
RESULT_QUANTIZED_TWICE = Refusal("its result is quantised in several ways")


@dataclass(frozen=True, kw_only=True)
class StaysFloat(Remark):
    """The remark about an op that computes in floating point though its neighbours, or its filter, are integers.

    Nobody has to ask for it. Its figures are what the op costs, and what it would save as integers.
    """

    op: str
    """The op's name: what the program calls it, else the node's."""


def report_floats(block: Block, ctx: XirContext) -> None:
    """Emit a remark for each op that computes in floating point beside integers with known scales.

    Nodes that only move data, that XNNPACK makes tables of, and that quantise their input at run time are not meant.
    """
    nodes = [op for op in block.ops if isinstance(op, xnnpack.NodeOp)]
    if not any(is_8_bit(result) for op in nodes for result in op.results):
        return
    in_tables = {node for chain in tables(block) for node in chain}
    groups: dict[object, list[xnnpack.NodeOp]] = {}
    for op in nodes:
        if op not in in_tables and computes_in_float(op):
            groups.setdefault(origins_of(op) or op, []).append(op)
    for group in groups.values():
        report_float(group, "fold-qdq", "{} stays in floating point", why(group).reason, ctx)


def report_filter(node: xnnpack.WeightedOp, value: Attribute, kernel: Attribute, ctx: XirContext) -> None:
    """Emit a remark for a quantised filter of type `kernel` that XNNPACK does not take beside an input of `value`."""
    reason = refusal(node, [value, kernel], [f32]) or "the node has a bias and bounds"
    report_float([node], "fold-qdq", "{} has its filter in floating point", reason, ctx)


def report_float(
    nodes: Sequence[Operation],
    by: str,
    text: str,
    reason: str,
    ctx: XirContext,
    figures: Mapping[str, Figure] = MappingProxyType({}),
) -> None:
    """Emit a pass's remark about the nodes of an op, whose name goes into the braces of `text`; `figures` are further
    ones."""
    node, name = nodes[0], name_of(nodes[0])
    said = text.format(name)
    ctx.diagnostics.emit(
        StaysFloat(
            Severity.REMARK,
            node.location,
            sentence(by, said, reason, None),
            kind=RemarkKind.MISSED,
            category=by,
            name="stays-float",
            text=said,
            function=function_of(node),
            reason=reason,
            figures=(("Op", name), *costs(nodes).items(), *figures.items()),
            op=name,
        )
    )


def costs(nodes: Sequence[Operation]) -> dict[str, int]:
    """What nodes cost in floating point: multiplications, bytes moved with the conversions around, and how many bytes
    fewer they would move on integers of 8 bits. What depends on sizes that are not known is left out."""
    figures: dict[str, int] = {}
    products = [count for node in nodes if (count := multiply_adds(node)) is not None]
    if products:
        figures["MultiplyAdds"] = sum(products)
    inside = {result for node in nodes for result in node.results}
    read = {value for node in nodes for value in node.operands} - inside
    inputs = [value for value in read if not isinstance(value.owner, xnnpack.ConstantOp)]
    outputs = [value for value in inside if any(use.operation not in nodes for use in value.uses)]
    if any(DYNAMIC_INDEX in shape_of(value) for value in (*inputs, *outputs)):
        return figures
    elements = sum(prod(shape_of(value)) for value in (*inputs, *outputs))
    # A conversion reads one byte and writes four, or the other way round.
    converted = [value for value in inputs if isinstance(value.owner, Operation) and is_dequantize(value.owner)]
    converted += [value for value in outputs if is_quantized_next(value)]
    moved = 4 * elements + 5 * sum(prod(shape_of(value)) for value in converted)
    return figures | {"BytesMoved": moved, "BytesSavedAsIntegers": moved - elements}


def is_float(value: SSAValue) -> bool:
    """Whether a value has fp32 numbers."""
    return isinstance(element_type(value), Float32Type)


def computes_in_float(op: xnnpack.NodeOp) -> bool:
    """Whether a node computes fp32 numbers from such."""
    if moves_data(op) or isinstance(op, xnnpack.ConvertOp):
        return False
    moving = [value for value in op.operands if not isinstance(value.owner, xnnpack.ConstantOp)]
    return all(is_float(value) for value in (*moving, *op.results))


def name_of(op: Operation) -> str:
    """What the program calls the op that a node comes from, without the number that export gives it."""
    if (name := find_name(op.location)) is not None:
        return re.sub(r"_\d+$", "", name)
    kind = getattr(op, "kind", None)
    return op.name if kind is None else f"{op.name} {kind.data}"


def why(nodes: list[xnnpack.NodeOp]) -> RefusalError:
    """Why an op's nodes stay in floating point."""
    for node in nodes:
        if (refusal := refused_kind(node)) is not None:
            return RefusalError(refusal)
    if len(nodes) > 1:
        return NO_SCALES_BETWEEN(count=len(nodes))
    (node,) = nodes
    if (
        isinstance(node, xnnpack.WeightedOp)
        and isinstance(node.filter.owner, xnnpack.ConstantOp)
        and is_float(node.filter)
    ):
        return FILTER_NOT_QUANTIZED()
    if not all(is_from_integers(value) for value in node.operands):
        return OPERANDS_NOT_QUANTIZED()
    if not all(is_quantized_next(value) for value in node.results):
        return RESULT_NOT_QUANTIZED()
    scales = refused_scales(node)
    return RESULT_QUANTIZED_TWICE() if scales is None else RefusalError(scales)


def is_from_integers(value: SSAValue) -> bool:
    """Whether a value is known at compile time, or dequantised."""
    owner = value.owner
    return isinstance(owner, xnnpack.ConstantOp) or (isinstance(owner, Operation) and is_dequantize(owner))


def is_quantized_next(value: SSAValue) -> bool:
    """Whether all that reads a value are conversions to integers."""
    readers = [use.operation for use in value.uses]
    return all(isinstance(op, xnnpack.ConvertOp) and is_8_bit(op.output) for op in readers)


def refused_kind(node: xnnpack.NodeOp) -> str | None:
    """Why XNNPACK has no quantised form of the node, for any scales."""
    operands: list[Attribute] = [ANY for _ in node.operands]
    if isinstance(node, xnnpack.WeightedOp) and node.bias is not None:
        operands[-1] = UniformType.per_tensor(i32, f32, 1.0)
    return refusal(node, operands, [ANY for _ in node.results])


def refused_scales(node: xnnpack.NodeOp) -> str | None:
    """Why XNNPACK has no form of the node for the quantised types around it."""
    stored = [value.owner.input if isinstance(value.owner, xnnpack.ConvertOp) else value for value in node.operands]
    operands = [ANY if is_float(value) else element_type(value) for value in stored]
    if isinstance(node, xnnpack.WeightedOp) and node.bias is not None:
        by_channel = isinstance(operands[1], UniformType) and operands[1].is_per_axis
        ones = [1.0] * shape_of(node.bias)[0]
        operands[-1] = UniformType.per_axis(i32, f32, 0, ones) if by_channel else UniformType.per_tensor(i32, f32, 1.0)
    results = [element_type(next(iter(value.uses)).operation.results[0]) for value in node.results]
    return refusal(node, operands, results)


def refusal(node: xnnpack.NodeOp, operands: Iterable[Attribute], results: Iterable[Attribute]) -> str | None:
    """What the verifier says of the node on other element types; operands behind those given are left out."""
    operand_types = [TensorType(each, shape_of(value)) for each, value in zip(operands, node.operands, strict=False)]
    result_types = [TensorType(each, shape_of(value)) for each, value in zip(results, node.results, strict=True)]
    # Bounds hardly fit made-up scales, and constants are laid out as the node wants them.
    left_out = () if isinstance(node, xnnpack.ClampOp) else ("output_min", "output_max", "transpose_weights")
    properties = {name: value for name, value in node.properties.items() if name not in left_out}
    values = Block(arg_types=operand_types).args
    tried = type(node).create(operands=values, result_types=result_types, properties=properties)
    try:
        tried.verify_quantized()
    except VerifyException as error:
        return str(error)
    finally:
        tried.erase()
    return None
