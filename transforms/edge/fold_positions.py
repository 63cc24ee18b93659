"""`fold-positions`: what follows from positions being counted, 0, 1, 2, …, up to an open size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, is_integral, shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import constant_array, make_dense
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.tensor_types import has_dynamic_size
from xir.ir.walking import functions_in, only_block, ops_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._float_masks import AND, OR, MaskBuilder
from xir.transforms.edge._open_positions import Elementwise, Followed, OpenPositions

Shifted = edge.AddScalarOp | edge.MulScalarOp
"""What makes a line begin elsewhere, or take other steps."""


@dataclass(frozen=True)
class FoldPositionsPass(XirPass):
    """Compute values that depend on positions alone at compile time, for every size.

    Values computed only from `arange` along an open dimension are known at compile time, whatever the size.

    - Integers that count up or down by the same number are `arange`, times and plus a number.
    - A value that is the same everywhere is one element: `diff(positions) != 1` is False, and its sums are 0.
      Conjunctions with True, disjunctions with False, and masks that hide nothing are removed.
    - Masks that are repeated, for example for each text of a batch, are computed once, and repeated only where
      necessary.

    Before, where `%n` is the size of the dimension:
    ```mlir
    %0 = edge.arange.start_step()[%n] {start = 0 : i64, end} : (i64) -> tensor<?xi64>
    %1 = edge.ge.Scalar(%0) {other = 0 : i64} : (tensor<?xi64>) -> tensor<?xi1>
    %2 = edge.logical_and(%mask, %1) : (tensor<2x?xi1>, tensor<?xi1>) -> tensor<2x?xi1>
    ```
    After, `%mask` stands for `%2`.
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "lines of positions, their comparisons and differences, and masks of attention, at three sizes"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every function that counts up to an open size."""
        for function in functions_in(op):
            if any(has_dynamic_size(each.results[0]) for each in ops_in(function, edge.ArangeStartStepOp)):
                sizes = ctx.analyses.get(SymbolicSizes, function)
                PositionFolding(only_block(function), ctx, sizes).run()


class PositionFolding:
    """Rewrites one block."""

    def __init__(self, block: Block, ctx: XirContext, sizes: SymbolicSizes):
        self.block = block
        self.ctx = ctx
        self.sizes = sizes
        self.positions = OpenPositions(ctx, sizes)
        self.narrow: dict[SSAValue, SSAValue] = {}
        """Values -> what they repeat: a size of 1 stands for dimensions along which all elements are the same."""

    def run(self) -> None:
        """Rewrite op by op, so that an op sees what its operands have become."""
        for op in list(self.block.ops):
            if not isinstance(op, Followed | edge.ScaledDotProductAttentionOp) or not has_dynamic_size(op.results[0]):
                continue
            is_read = any(value in self.narrow for value in op.tensor_operands)
            if not (is_read or is_integral(element_of(op.results[0]))) or not may_try(op, "fold"):
                continue
            narrow = self.known(op) or self.repeated(op)
            if narrow is not None:
                passed(op, "positions", f"{op.operator_name} is computed of less")
                self.narrow[op.results[0]] = narrow
                if self.sizes.known(narrow) == self.sizes.known(op.results[0]):
                    self.replace(op, narrow)
        erase_dead_ops(self.block)

    def known(self, op: edge.EdgeOp) -> SSAValue | None:
        """What is known of an integer at every size: one element, or what counts along one dimension."""
        if not isinstance(op, Followed) or not is_integral(element_of(op.results[0])) or self.is_counted(op.results[0]):
            return None
        positions = self.positions.known(op.results[0])
        array = None if positions is None else positions.array
        if array is None:
            return None
        if array.size == 1:
            return self.constant(op, array)
        dims = [dim for dim, length in enumerate(array.shape) if length > 1]
        return self.counted(op, array.reshape(-1), dims[0]) if len(dims) == 1 else None

    def counted(self, op: edge.EdgeOp, line: np.ndarray, dim: int) -> SSAValue | None:
        """What counts up or down along a dimension by one number, as `arange`."""
        first, step = int(line[0]), int(line[1]) - int(line[0])
        shape = self.sizes.known(op.results[0])
        end = self.positions.ends.get(shape[dim])
        if end is None or line.dtype != np.int64 or not np.array_equal(line, first + step * np.arange(len(line))):
            return None
        build = MaskBuilder(self.block, op.prev_op, op)
        value = build.call(edge.ArangeStartStepOp.build_from({"start": 0, "end": end, "step": 1}))
        if step != 1:
            value = build.call(edge.MulScalarOp(self=value, other=step))
        if first:
            value = build.call(edge.AddScalarOp(self=value, other=first))
        return build.unsqueezed(value, [each for each in range(len(shape)) if each != dim])

    def is_counted(self, value: SSAValue) -> bool:
        """Whether a value is computed as `counted` does."""
        op = value.owner
        while isinstance(op, edge.UnsqueezeOp | Shifted):
            op = op.self.owner
        return isinstance(op, edge.ArangeStartStepOp)

    def repeated(self, op: edge.EdgeOp) -> SSAValue | None:
        """What an op computes of narrow operands."""
        match op:
            case edge.ExpandOp() if is_integral(element_of(op.self)):
                value = self.narrow.get(op.self, op.self)
                build = MaskBuilder(self.block, op.prev_op, op)
                return build.unsqueezed(value, range(len(op.size) - len(shape_of(value))))
            case edge.UnsqueezeOp() if op.self in self.narrow:
                return MaskBuilder(self.block, op.prev_op, op).call(
                    edge.UnsqueezeOp(self=self.narrow[op.self], dim=op.dim)
                )
            case edge.ScaledDotProductAttentionOp():
                return self.attention(op)
            case _ if isinstance(op, Elementwise) and any(value in self.narrow for value in op.tensor_operands):
                return self.elementwise(op)
            case _:
                return None

    def elementwise(self, op: Elementwise) -> SSAValue | None:
        """An op on elements, of narrow operands."""
        if op.has_run_time_numbers:
            return None
        operands = [self.narrow.get(value, value) for value in op.tensor_operands]
        if (other := self.not_neutral(op, operands)) is not None:
            return other
        arguments = dict(zip(op.schema.tensors, operands, strict=True))
        arguments |= {name: op.argument(name) for name in op.schema.values}
        build = MaskBuilder(self.block, op.prev_op, op)
        value = build.call(op.build_from(arguments))
        if self.sizes.known(value) == self.sizes.known(op.results[0]):
            return build.call(op.build_from(arguments), shape_of(op.results[0]))
        return value

    def not_neutral(self, op: Elementwise, operands: Sequence[SSAValue]) -> SSAValue | None:
        """The other operand of a conjunction with True, or of a disjunction with False; None for any other op."""
        if op.name not in AND | OR or any(element_of(value) != i1 for value in operands):
            return None
        for value, other in (operands, reversed(operands)):
            constant = value.owner
            if isinstance(constant, edge.ConstantOp) and len(shape_of(value)) <= len(shape_of(other)):
                array = constant_array(constant.value, self.ctx, constant)
                if array.size == 1 and bool(array.all()) == (op.name in AND):
                    return other
        return None

    def attention(self, op: edge.ScaledDotProductAttentionOp) -> SSAValue | None:
        """Attention with a narrow mask, which scores broadcast, or without one."""
        if op.attn_mask is None or (mask := self.narrow.get(op.attn_mask)) is None:
            return None
        constant = mask.owner
        if isinstance(constant, edge.ConstantOp) and element_of(mask) == i1:
            if not constant_array(constant.value, self.ctx, constant).all():
                return None
            mask = None
        arguments = {name: op.argument(name) for name in (*op.schema.tensors, *op.schema.values)}
        made = op.build_from(arguments | {"attn_mask": mask}, op.result_types, op.location)
        self.block.insert_op_before(made, op)
        return made.results[0]

    def constant(self, op: edge.EdgeOp, array: np.ndarray) -> SSAValue:
        """A constant before an op, in the type of its result."""
        value = make_dense(np.ascontiguousarray(array), self.ctx, "positions", element_of(op.results[0]))
        constant = edge.ConstantOp(value, op.location)
        self.block.insert_op_before(constant, op)
        return constant.result

    def replace(self, op: edge.EdgeOp, value: SSAValue) -> None:
        """Let `value` stand for an op's result."""
        value.name_hint = value.name_hint or op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
