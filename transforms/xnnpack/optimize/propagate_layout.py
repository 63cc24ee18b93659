"""Choose the layout of every value, and transpose only where layouts meet.

Rules lower each op on its own, so a subgraph starts with a transpose before and after every node that wants NHWC. Most
of the ops in between do not care: an elementwise node computes the same in any order of the dimensions. Such flexible
ops that are joined by values, directly or through transposes, form an *island*, which takes one layout as a whole. Each
transpose at an island's border says what layout would make it go away; the island takes the one with the least data
left to transpose, or stays as it is written where that moves least. The cost of a transpose is the number of elements
it moves, in whole tiles: XNNPACK transposes squares of 32 bytes a side, so that 3 channels of an image in int8 cost as
much as 32, and four times what they cost in fp32. A transpose of a constant is free (its bytes are reordered when the
file is written), and one that moves only dimensions of size 1 is a reshape.

`_layouts.py` says what a layout is, and `_layout_islands.py` finds and lays out the islands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, rank_of, shape_of, tensor_type, u32s
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.remarks import RemarkKind, analysis, passed, wanted
from xir.ir.rewriting import may_try
from xir.ir.walking import ops_in
from xir.transforms.analysis.cost import bytes_moved
from xir.transforms.xnnpack.building.constants import constant_like
from xir.transforms.xnnpack.building.outputs import keep_distinct
from xir.transforms.xnnpack.optimize._layout_islands import LayoutChooser, Layouts, transpose_cost
from xir.transforms.xnnpack.optimize._layouts import (
    Layout,
    Traced,
    compose,
    identity,
    inverse,
    relaid,
    traced_values,
    transposes_behind,
)


@dataclass(frozen=True)
class PropagateLayoutPass(XirPass):
    """Let flexible nodes take the layout of their neighbours, so that transposes meet and cancel.

    Before:
    ```mlir
    %1 = xnnpack.conv2d %0, %w : (tensor<1x8x8x3xf32>, tensor<4x1x1x3xf32>) -> tensor<1x8x8x4xf32>
    %2 = xnnpack.static_transpose %1 {perm = array<i32: 0, 3, 1, 2>} : tensor<1x8x8x4xf32> -> tensor<1x4x8x8xf32>
    %3 = xnnpack.unary hardswish %2 : tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
    %4 = xnnpack.static_transpose %3 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x4x8x8xf32> -> tensor<1x8x8x4xf32>
    ```
    After:
    ```mlir
    %1 = xnnpack.conv2d %0, %w : (tensor<1x8x8x3xf32>, tensor<4x1x1x3xf32>) -> tensor<1x8x8x4xf32>
    %2 = xnnpack.unary hardswish %1 : tensor<1x8x8x4xf32> -> tensor<1x8x8x4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "nodes of each kind between transposes of up to four dimensions, values that meet, and "
        "convolutions with a residual"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Lay out every subgraph of the module."""
        for subgraph in list(ops_in(op, xnnpack.SubgraphOp)):
            before = transposes(subgraph) if wanted(RemarkKind.PASSED) else []
            lay_out(subgraph.body.block, ctx)
            say_what_is_left(subgraph, before)


def transposes(subgraph: xnnpack.SubgraphOp) -> list[xnnpack.StaticTransposeOp]:
    """The transposes of what is no constant."""
    return [op for op in subgraph.body.block.ops if isinstance(op, xnnpack.StaticTransposeOp) and is_moved(op)]


def is_moved(op: xnnpack.StaticTransposeOp) -> bool:
    """Whether a transpose moves data at run time."""
    return not isinstance(op.input.owner, xnnpack.ConstantOp)


def say_what_is_left(subgraph: xnnpack.SubgraphOp, before: Sequence[Operation]) -> None:
    """Remark how many transposes went away, and what each costs that is left."""
    if before and len(left := transposes(subgraph)) < len(before):
        gone = f"{len(before) - len(left)} of {len(before)} transposes are not needed"
        passed(subgraph, "layout", gone, figures={"Transposes": len(left), "TransposesBefore": len(before)})
    if not wanted(RemarkKind.ANALYSIS):
        return
    for op in transposes(subgraph):
        text = f"transposes {op.input.type} between {described(op.input)} and {reader_of(op.output)}"
        moved = bytes_moved(op)
        analysis(op, "transpose", text, figures={} if moved is None else {"BytesMoved": moved})


def described(value: SSAValue) -> str:
    """What makes a value."""
    return value.owner.name if isinstance(value.owner, Operation) else "the input of the subgraph"


def reader_of(value: SSAValue) -> str:
    """What reads a value."""
    names = dict.fromkeys(use.operation.name for use in value.uses)
    return "the output of the subgraph" if list(names) == [xnnpack.YieldOp.name] else ", ".join(names)


def lay_out(block: Block, ctx: XirContext) -> None:
    """Choose the layouts, then rewrite the block."""
    ops = list(block.ops)
    if not any(isinstance(op, xnnpack.StaticTransposeOp) for op in ops):
        return
    writer = LayoutWriter(ctx, block, LayoutChooser(traced_values(block)).run(ops))
    for op in ops:
        writer.rewrite(op)
    for op in reversed(ops):
        if op.results and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()


class LayoutWriter:
    """Writes the ops of a block in their layouts."""

    def __init__(self, ctx: XirContext, block: Block, layouts: Layouts):
        self.ctx = ctx
        self.block = block
        self.layouts = layouts
        """The layout chosen for each flexible op."""
        self.physical: dict[SSAValue, Traced] = {}
        """Old value -> what holds its elements now, and in which layout."""
        self.made: dict[tuple[SSAValue, Layout], SSAValue] = {}
        """Transposes that were written already."""
        self.written: set[SSAValue] = set()
        """Their results."""

    def rewrite(self, op: Operation) -> None:
        """Write one op in its layout."""
        if isinstance(op, xnnpack.StaticTransposeOp):
            # op is T_perm of its operand, which `held` holds in layout x; so it holds op in layout perm⁻¹∘x.
            held = self.holder(op.input)
            self.physical[op.output] = Traced(held.root, compose(inverse(ints(op.perm)), held.perm))
            return
        layout = self.layouts.get(op)
        if layout is not None and layout != identity(len(layout)) and not may_try(op, "lay out"):
            layout = identity(len(layout))
        if layout is None:
            op.operands = self.operands(op, [identity(rank_of(value)) for value in op.operands])
            if isinstance(op, xnnpack.YieldOp):
                keep_distinct(op)
            return
        op.operands = self.operands(op, [layout] * len(op.operands))
        if layout == identity(len(layout)):
            return
        moved = relaid(op, layout)
        inherit(moved, op)
        self.block.insert_op_before(moved, op)
        for old, new in zip(op.results, moved.results, strict=True):
            new.name_hint = old.name_hint
            self.physical[old] = Traced(new, layout)

    def operands(self, op: Operation, layouts: Sequence[Layout]) -> list[SSAValue]:
        """The old operands of an op in these layouts. The op inherits the locations of transposes that this removes."""
        found = [self.get(value, layout, op) for value, layout in zip(op.operands, layouts, strict=True)]
        gone = [
            transpose
            for old, new in zip(op.operands, found, strict=True)
            if new not in self.written
            for transpose in transposes_behind(old)
        ]
        if gone and isinstance(op, xnnpack.NodeOp):
            inherit(op, op, *gone)
        return found

    def holder(self, value: SSAValue) -> Traced:
        """What holds the elements of an old value now."""
        return self.physical.get(value) or Traced.itself(value)

    def get(self, value: SSAValue, layout: Layout, user: Operation) -> SSAValue:
        """The old `value` in `layout`, for a use by `user`; writes a transpose if nothing holds it so."""
        held = self.holder(value)
        if len(layout) > rank_of(held.root):
            return self.get_constant(held.root, layout, user)
        step = compose(inverse(held.perm), layout)
        if step == identity(len(step)):
            return held.root
        if (held.root, step) not in self.made:
            self.made[held.root, step] = self.transposed(held.root, step, user, transposes_behind(value))
        return self.made[held.root, step]

    def get_constant(self, value: SSAValue, layout: Layout, user: Operation) -> SSAValue:
        """A constant of lower rank, widened with leading 1s as broadcasting would and then permuted."""
        assert isinstance(value.owner, xnnpack.ConstantOp)
        if layout == identity(len(layout)) or prod(shape_of(value)) == 1:
            return value
        if (value, layout) not in self.made:
            array = storage_array(value.owner.value, self.ctx, value.owner)
            array = array.reshape((1,) * (len(layout) - array.ndim) + array.shape)
            self.made[value, layout] = self.constant(value.owner, array.transpose(layout), user)
        return self.made[value, layout]

    def transposed(self, value: SSAValue, step: Layout, user: Operation, through: Sequence[Operation]) -> SSAValue:
        """T_step(value), written before `user`, in the place of the transposes `through`, if there were any."""
        if isinstance(value.owner, xnnpack.ConstantOp):
            array = storage_array(value.owner.value, self.ctx, value.owner)
            return self.constant(value.owner, array.transpose(step), user)
        shape = [shape_of(value)[i] for i in step]
        result_type = tensor_type(element_type(value), shape)
        if transpose_cost(shape_of(value), step, element_type(value)) == 0 and DYNAMIC_INDEX not in shape:
            properties: dict[str, Attribute] = {"new_shape": u32s(shape)}
            op = xnnpack.StaticReshapeOp.create(operands=[value], result_types=[result_type], properties=properties)
        else:
            op = xnnpack.StaticTransposeOp.create(
                operands=[value], result_types=[result_type], properties={"perm": u32s(step)}
            )
        inherit(op, *(through or (user,)))
        self.block.insert_op_before(op, user)
        self.written.add(op.results[0])
        return op.results[0]

    def constant(self, old: xnnpack.ConstantOp, array: np.ndarray, user: Operation) -> SSAValue:
        """The constant `old` with its elements reordered to `array`, a view; written before `user`."""
        op = constant_like(old, array, self.ctx)
        self.block.insert_op_before(op, user)
        return op.output
