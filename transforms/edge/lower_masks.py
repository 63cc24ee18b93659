"""`lower-masks`: masks of integers and booleans become floating-point arithmetic where floats are masked."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f16, f32, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, is_integral, shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import constant_array, make_dense
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import RemarkKind, missed, passed, wanted
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.walking import functions_in, only_block, ops_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._float_masks import FloatMasks, MaskBuilder
from xir.transforms.edge._numbers import are_numbers

LARGEST: dict[Attribute, float] = {f32: float(np.finfo(np.float32).max), f16: 65504.0, bf16: 2.0**128 - 2.0**120}
"""Element type -> its largest number."""

Masking = (
    edge.ScaledDotProductAttentionOp
    | edge.WhereSelfOp
    | edge.MaskedFillScalarOp
    | edge.MaskedFillTensorOp
    | edge.ToCopyOp
)
"""Ops that mask floats, or make floats of a mask."""


MOST_KEYS = 2**24
"""More keys than any attention has: the share of those that a row sees, times this, is 1 at least, or 0."""


@dataclass(frozen=True)
class LowerMasksPass(XirPass):
    """Compute masks in floating point where they are combined with floats.

    XNNPACK has neither booleans nor `where`. A mask computed from integers, such as token ids or a padding mask,
    becomes numbers 1 and 0: conjunctions are products, and comparisons with a number are clamped differences. Only the
    conversion of the integers, at the beginning, is left to a kernel.

    - Attention adds 0 or the lowest number to its scores. Rows that see nothing, for which attention gives zeros, are
      multiplied by 0 afterwards. This is computed once for each mask, however many layers use it.
    - `where` of two numbers is a sum of products; of attention scores, the smaller of a score and ±∞. `where` of values
      that may be NaN stays with a kernel, because processors differ in the smaller of NaN and −∞.
    - Integers become floats before they are reshaped, not after.

    Masks that depend on floats are left alone, since a kernel has to compare those anyway.

    Before:
    ```mlir
    %0 = edge._to_copy(%mask) {dtype = i1} : (tensor<2x4xi64>) -> tensor<2x4xi1>
    %1 = edge.where.self(%0, %zero, %low) : (tensor<2x4xi1>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
    ```
    After, with `%low` of −1000.0:
    ```mlir
    %0 = edge._to_copy(%mask) {dtype = f32} : (tensor<2x4xi64>) -> tensor<2x4xf32>
    %1 = edge.abs(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = edge.clamp(%1) {min = 0.0 : f64, max = 1.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = edge.rsub.Scalar(%2) {other = 1.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = edge.mul.Scalar(%3) {other = -1000.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "each comparison and each mask of two tokens, for each of four integers that a token may be"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every function."""
        for function in functions_in(op):
            MaskLowering(function, ctx).run()


def say_why_not(op: Masking, computed: Container[SSAValue]) -> None:
    """Remark why an op goes on choosing by booleans."""
    mask = next((value for value in op.operands if element_of(value) == i1), None)
    if mask is None:
        return
    reason = "what it chooses from may be NaN" if mask in computed else "its mask does not come of integers alone"
    missed(op, "mask", f"{op.operator_name} chooses by booleans", reason)


class MaskLowering:
    """Rewrites one block."""

    def __init__(self, function: FuncOp, ctx: XirContext):
        self.function = function
        self.block = only_block(function)
        self.ctx = ctx
        self.floats: dict[SSAValue, SSAValue] = {}
        """Mask -> its fp32 form."""
        self.attended: dict[tuple[SSAValue, Attribute], tuple[SSAValue, SSAValue]] = {}
        """Mask and element type -> what is added to scores, and the factor of the result's rows."""

    def run(self) -> None:
        """Find what masks floats, build the masks' fp32 forms, then rewrite what reads them."""
        masking: list[Masking] = list(ops_in(self.function, Masking))
        if not masking:
            return
        computed = of_integers(self.block)
        masked = {op: mask for op in masking if (mask := self.mask_of(op, computed)) is not None}
        if wanted(RemarkKind.MISSED):
            for op in masking:
                if op not in masked and not isinstance(op, edge.ToCopyOp | edge.ScaledDotProductAttentionOp):
                    say_why_not(op, computed)
        if not masked:
            return
        masks = FloatMasks(self.block, self.ctx, self.ctx.analyses.get(SymbolicSizes, self.function))
        masked = {op: mask for op, mask in masked.items() if not isinstance(op, edge.ToCopyOp) or masks.sources(mask)}
        masked = {op: mask for op, mask in masked.items() if may_try(op, "lower")}
        masks.build(masked.values())
        self.floats = masks.floats
        for op, mask in masked.items():
            passed(op, "mask", f"computes the mask of {op.operator_name} in floating point")
            match op:
                case edge.ScaledDotProductAttentionOp():
                    self.attention(op, mask)
                case edge.WhereSelfOp():
                    self.choice(op, mask, op.self, op.other)
                case edge.MaskedFillScalarOp():
                    self.choice(op, mask, self.constant(op, op.value), self.filled(op))
                case edge.MaskedFillTensorOp():
                    self.choice(op, mask, op.value, op.self)
                case edge.ToCopyOp():
                    build = self.behind(mask)
                    self.replace(op, build.converted(self.floats[mask], element_of(op.results[0])))
        erase_dead_ops(self.block)

    def mask_of(self, op: Masking, computed: Container[SSAValue]) -> SSAValue | None:
        """The mask by which an op masks floats, or which it makes floats of, if it is to be lowered.

        `computed` are the values that the program computes of integers alone.
        """
        element = element_of(op.results[0])
        if element not in LARGEST:
            return None
        match op:
            case edge.ToCopyOp():
                exact = element == f32 or element_of(op.self) == i1
                return op.self if exact and op.self in computed else None
            case edge.WhereSelfOp():
                is_lowered = op.condition in computed and all(are_numbers(x, self.ctx) for x in (op.self, op.other))
                return op.condition if is_lowered else None
            case edge.MaskedFillScalarOp():
                number = op.argument("value")
                is_lowered = isinstance(number, int | float) and not math.isnan(number)
                return op.mask if is_lowered and op.mask in computed and are_numbers(op.self, self.ctx) else None
            case edge.MaskedFillTensorOp():
                is_lowered = op.mask in computed and all(are_numbers(x, self.ctx) for x in (op.self, op.value))
                return op.mask if is_lowered else None
            case edge.ScaledDotProductAttentionOp(attn_mask=mask):
                if mask is None or element_of(mask) != i1 or op.dropout_p or isinstance(mask.owner, edge.ConstantOp):
                    return None
        # Scores broadcast it in any case.
        while isinstance(owner := mask.owner, edge.ExpandOp) and is_plain_expand(owner):
            mask = owner.self
        return mask

    def attention(self, op: edge.ScaledDotProductAttentionOp, mask: SSAValue) -> None:
        """Add a mask to the scores; a row of it that is False throughout makes a row of zeros."""
        element = element_of(op.results[0])
        if (mask, element) not in self.attended:
            kept, build = self.floats[mask], self.behind(mask)
            hidden = build.less(kept, 1.0)
            added = build.converted(build.times(hidden, LARGEST[element]), element)
            share = build.call(edge.MeanDimOp(self=kept, dim=[-1], keepdim=True))
            seen = build.converted(build.clamped(build.times(share, float(MOST_KEYS))), element)
            self.attended[mask, element] = added, seen
        added, seen = self.attended[mask, element]
        op.operands[list(op.schema.tensors).index("attn_mask")] = added
        result, build = op.results[0], MaskBuilder(self.block, op)
        rows = build.call(edge.MulTensorOp(self=result, other=seen), shape_of(result))
        result.replace_uses_with_if(rows, lambda use: use.operation is not rows.owner)

    def choice(self, op: edge.EdgeOp, mask: SSAValue, value: SSAValue, other: SSAValue) -> None:
        """`value` where the mask holds, else `other`."""
        element, shape = element_of(op.results[0]), shape_of(op.results[0])
        build = MaskBuilder(self.block, op)
        kept = build.converted(self.floats[mask], element)
        numbers = [self.number(each, len(shape_of(kept))) for each in (value, other)]
        if all(number is not None and math.isfinite(number) for number in numbers):
            sides = zip((kept, build.inverted(kept)), numbers, strict=True)
            parts = [build.times(side, number) for side, number in sides if number]
            total = parts[0] if parts else build.times(kept, 0.0)
            for part in parts[1:]:
                total = build.call(edge.AddTensorOp(self=total, other=part))
            self.replace(op, total)
            return
        value, other = (build.converted(each, element) for each in (value, other))
        keeping = build.times(build.less(kept, 0.5), math.inf)
        dropping = build.times(keeping, -1.0)
        sides = [
            build.call(edge.MinimumOp(self=each, other=limit))
            for each, limit, number in zip((value, other), (keeping, dropping), numbers, strict=True)
            if number != -math.inf
        ]
        result = sides[0]
        for side in sides[1:]:
            result = build.call(edge.MaximumOp(self=result, other=side), shape)
        self.replace(op, result)

    def filled(self, op: edge.MaskedFillScalarOp) -> SSAValue:
        """What numbers are written to: one number, where it stands everywhere in the mask's shape.

        So `MultiheadAttention` makes floats of a mask of booleans.
        """
        made = op.self.owner
        if not isinstance(made, edge.FullLikeOp) or made.self is not op.mask:
            return op.self
        number = made.argument("fill_value")
        return self.constant(op, number) if isinstance(number, int | float) else op.self

    def number(self, value: SSAValue, rank: int) -> float | None:
        """The one number that a constant of at most so many dimensions is; None for any other value."""
        op = value.owner
        if not isinstance(op, edge.ConstantOp) or len(shape_of(value)) > rank or set(shape_of(value)) - {1}:
            return None
        return float(constant_array(op.value, self.ctx, op).reshape(-1)[0])

    def constant(self, op: edge.EdgeOp, number: float) -> SSAValue:
        """A number as tensor without dimensions, before an op, in its result's type."""
        value = make_dense(np.array(number, np.float32), self.ctx, "value", element_of(op.results[0]))
        constant = edge.ConstantOp(value, op.location)
        self.block.insert_op_before(constant, op)
        return constant.result

    def behind(self, mask: SSAValue) -> MaskBuilder:
        """Builds right behind the fp32 form of a mask."""
        form = self.floats[mask].owner
        assert isinstance(form, Operation)
        return MaskBuilder(self.block, form)

    def replace(self, op: edge.EdgeOp, value: SSAValue) -> None:
        """Let `value` stand for an op's result."""
        value.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)


def of_integers(block: Block) -> set[SSAValue]:
    """The integers and booleans that a block computes of its arguments, or of sizes and other numbers, no floats being
    among their operands."""
    found: set[SSAValue] = {value for value in block.args if is_integral(value_element(value))}
    for op in block.ops:
        if not isinstance(op, edge.EdgeOp):
            continue
        operands = op.tensor_operands
        if op.symbols or any(value in found for value in operands):
            known = all(value in found or isinstance(value.owner, edge.ConstantOp) for value in operands)
            if known and all(is_integral(value_element(value)) for value in (*operands, *op.results)):
                found.update(op.results)
    return found


def value_element(value: SSAValue) -> Attribute | None:
    """The element type of a tensor; None for what is none."""
    return value.type.element_type if isinstance(value.type, TensorType) else None


def is_plain_expand(op: edge.ExpandOp) -> bool:
    """Whether an op repeats dimensions of size 1, and adds none."""
    return len(shape_of(op.self)) == len(shape_of(op.results[0]))
