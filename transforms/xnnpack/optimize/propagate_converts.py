"""Keep values in fp32 between nodes that compute in it.

XNNPACK has no kernels for most nodes on bf16, and a rule asks for fp32 where a 16-bit type would overflow. Each such
node comes with conversions around it. Where the conversion behind one node meets the one before the next, also across
nodes that only move elements, both go away: the value is then not rounded in between, which makes it more accurate than
rounding after every node does, and saves two passes over it. Compilers that fuse elementwise ops do the same.

A conversion that the program asks for stays: who writes `x.half().float()` wants the rounding, and the infinities.
Those of the compiler's own are marked, `xir.unasked`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr, bf16, f16, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import moves_data
from xir.ir.analyses import ValueAnalysis
from xir.ir.annotations import UNASKED
from xir.ir.constants import constant_array, make_dense
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import may_rewrite
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.building.outputs import keep_distinct

SHORT: tuple[Attribute, ...] = (f16, bf16)
"""Types whose values fp32 holds exactly."""


@dataclass(frozen=True)
class PropagateConvertsPass(XirPass):
    """Remove the compiler's own conversions from fp32 to a 16-bit type and back, also across nodes that move elements.

    Before:
    ```mlir
    %1 = xnnpack.convert %0 {xir.unasked} : tensor<2x3xf32> -> tensor<2x3xbf16>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 1, 0>} : tensor<2x3xbf16> -> tensor<3x2xbf16>
    %3 = xnnpack.convert %2 : tensor<3x2xbf16> -> tensor<3x2xf32>
    ```
    After:
    ```mlir
    %3 = xnnpack.static_transpose %0 {perm = array<i32: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "moves between conversions, of which the program asked for some, where other nodes may read what is between"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every subgraph."""
        for each in ops_in(op, xnnpack.SubgraphOp):
            propagate(each.body.block, ctx)
            keep_distinct(each.yield_op)


def propagate(block: Block, ctx: XirContext) -> None:
    """Remove the conversions of one subgraph that meet."""
    wanted = wanted_in_fp32(block)
    if not wanted:
        return
    wide: dict[SSAValue, SSAValue] = {}
    for op in list(block.ops):
        if isinstance(op, xnnpack.ConvertOp):
            if is_unasked_narrowing(op):
                wide[op.output] = op.input
            elif op.input in wide and element_type(op.output) == f32 and may_rewrite(op, "remove"):
                op.output.replace_all_uses_with(wide[op.input])
                block.erase_op(op)
        elif isinstance(op, xnnpack.NodeOp) and any(result in wanted for result in op.results):
            dynamic = [value for value in op.operands if not isinstance(value.owner, xnnpack.ConstantOp)]
            movable = moves_data(op) and dynamic and all(value in wide for value in dynamic)
            if movable and may_rewrite(op, "move"):
                move_in_fp32(op, wide, ctx)
    for op in reversed(list(narrowings(block))):
        if op.output.first_use is None:
            block.erase_op(op)


def wanted_in_fp32(block: Block) -> set[SSAValue]:
    """The 16-bit values that are converted to fp32, directly or behind nodes that move elements."""
    wanted: set[SSAValue] = set()
    for op in reversed(list(block.ops)):
        if isinstance(op, xnnpack.ConvertOp):
            if element_type(op.input) in SHORT and element_type(op.output) == f32:
                wanted.add(op.input)
        elif isinstance(op, xnnpack.NodeOp) and moves_data(op) and any(result in wanted for result in op.results):
            wanted.update(op.operands)
    return wanted


def is_unasked_narrowing(op: xnnpack.ConvertOp) -> bool:
    """Whether a conversion of the compiler's own rounds fp32 to a 16-bit type."""
    return UNASKED in op.attributes and element_type(op.input) == f32 and element_type(op.output) in SHORT


def narrowings(block: Block) -> Iterator[xnnpack.ConvertOp]:
    """The conversions of a block that round and that no program asked for."""
    return (op for op in block.ops if isinstance(op, xnnpack.ConvertOp) and is_unasked_narrowing(op))


def move_in_fp32(op: xnnpack.NodeOp, wide: dict[SSAValue, SSAValue], ctx: XirContext) -> None:
    """Replace a node that moves elements by one on fp32 and a conversion behind it."""
    operands = [wide[value] if value in wide else widened_constant(op, value, ctx) for value in op.operands]
    node = type(op).create(
        operands=operands,
        result_types=[TensorType(f32, shape_of(result)) for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
    insert(node, op)
    for old, new in zip(op.results, node.results, strict=True):
        narrowing = xnnpack.ConvertOp.create(operands=[new], result_types=[old.type], attributes={UNASKED: UnitAttr()})
        insert(narrowing, op)
        wide[narrowing.output] = new
        old.replace_all_uses_with(narrowing.output)
    block = op.parent
    assert block is not None
    block.erase_op(op)


def widened_constant(before: Operation, value: SSAValue, ctx: XirContext) -> SSAValue:
    """A 16-bit constant in fp32."""
    assert isinstance(value.owner, xnnpack.ConstantOp)
    constant = xnnpack.ConstantOp(make_dense(constant_array(value.owner.value, ctx), ctx, "constant", f32))
    insert(constant, before)
    return constant.output


def insert(op: Operation, before: Operation) -> None:
    """Put `op`, with the location and origins of `before`, in front of it."""
    inherit(op, before)
    block = before.parent
    assert block is not None
    block.insert_op_before(op, before)
