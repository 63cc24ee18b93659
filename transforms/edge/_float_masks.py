"""Boolean and integer values as fp32 numbers: what is True is 1, what is False is 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue, SSAValues

from xir.dialects import edge
from xir.dialects.edge.families import CompareTensors, CompareWithNumber
from xir.dialects.edge.types import element_of, is_integral, shape_of, tensor_type
from xir.ir.constants import constant_array, make_dense
from xir.ir.context import XirContext
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._ranges import LARGE, MOVES, Arithmetic, integer_ranges
from xir.transforms.edge._whole_index import whole_dims

AND = frozenset({"edge.bitwise_and.Tensor", "edge.logical_and"})
OR = frozenset({"edge.bitwise_or.Tensor", "edge.logical_or"})
NOT = frozenset({"edge.bitwise_not", "edge.logical_not"})


class FloatMasks:
    """Builds the fp32 forms of integer and boolean values of one block, each once, behind the op that computes it.

    Moves of elements, logic, and comparisons with a number become arithmetic on fp32, and so does what computes with
    positions and other integers that fp32 has. What is left to kernels is the conversion of integers, and what compares
    or reduces those of any size.
    """

    def __init__(self, block: Block, ctx: XirContext, sizes: SymbolicSizes):
        self.block = block
        self.ctx = ctx
        self.sizes = sizes
        self.small = integer_ranges(block, ctx, sizes)
        """The integers and booleans that fp32 has."""
        self.floats: dict[SSAValue, SSAValue] = {}

    def build(self, wanted: Iterable[SSAValue]) -> None:
        """Add the forms of these values, and of what they are computed from."""
        needed: dict[SSAValue, None] = {}
        pending = list(wanted)
        while pending:
            value = pending.pop()
            if value not in needed:
                needed[value] = None
                pending += self.sources(value)
        for argument in self.block.args:
            if argument in needed:
                # An input has no place in the model: what reads it first has.
                self.floats[argument] = MaskBuilder(self.block, None, first_reader(argument)).converted(argument)
        for op in list(self.block.ops):
            for result in op.results:
                if result in needed:
                    self.floats[result] = self.form(result, op)

    def sources(self, value: SSAValue) -> list[SSAValue]:
        """The operands whose fp32 forms give that of `value`; none where a kernel computes it."""
        op = value.owner
        if not isinstance(op, edge.EdgeOp) or isinstance(op, edge.ConstantOp):
            return []
        tensors = list(op.tensor_operands)
        elements = {element_of(operand) for operand in tensors}
        if not all(map(is_integral, elements)):
            return []
        if op.name in MOVES:
            return tensors if elements == {element_of(value)} else []
        if isinstance(op, edge.IndexTensorOp):
            return tensors[:1] if whole_dims(op, self.ctx, self.sizes) is not None else []
        is_small = value in self.small and all(operand in self.small for operand in tensors)
        if element_of(value) != i1:
            return tensors if is_small and isinstance(op, Arithmetic | edge.ToCopyOp) else []
        if op.name in ("edge._to_copy", "edge.logical_not") or (op.name in AND | OR | NOT and elements == {i1}):
            return tensors
        if isinstance(op, CompareTensors) and is_small:
            return tensors
        if isinstance(op, CompareWithNumber) and isinstance(op.other, int) and abs(op.other) < LARGE:
            return tensors
        return []

    def form(self, value: SSAValue, op: Operation) -> SSAValue:
        """The fp32 form of an op's result, whose sources have theirs."""
        build = MaskBuilder(self.block, op)
        if isinstance(op, edge.ConstantOp):
            array = constant_array(op.value, self.ctx, op).astype(np.float32)
            return build.insert(edge.ConstantOp(make_dense(array, self.ctx, "mask"), op.location))
        assert isinstance(op, edge.EdgeOp)
        if isinstance(op, edge.ArangeStartStepOp) and value in self.small:
            floats = edge.ArangeStartStepOp(start=op.start, end=op.end, step=op.step, dtype=f32)
            return build.call(floats, shape_of(value))
        if not (sources := self.sources(value)):
            return build.converted(value)
        floats = [self.floats[source] for source in sources]
        if isinstance(op, edge.IndexTensorOp):
            return build.unsqueezed(floats[0], whole_dims(op, self.ctx, self.sizes) or ())
        shape = shape_of(value)
        if op.name in MOVES or isinstance(op, Arithmetic):
            return build.moved(op, floats, shape)
        if element_of(value) != i1:
            return floats[0]
        if op.name in AND:
            return build.call(edge.MulTensorOp(self=floats[0], other=floats[1]), shape)
        if op.name in OR:
            return build.call(edge.MaximumOp(self=floats[0], other=floats[1]), shape)
        if isinstance(op, CompareWithNumber):
            return build.compared(op.name, floats[0], op.other)
        if isinstance(op, CompareTensors):
            difference = build.call(edge.SubTensorOp(self=floats[0], other=floats[1]), shape)
            return build.compared(op.name, difference, 0)
        chosen = floats[0] if element_of(sources[0]) == i1 else build.is_not(floats[0], 0)
        return build.inverted(chosen) if op.name in NOT else chosen


def first_reader(argument: BlockArgument) -> Operation | None:
    """The first op of a block that reads an argument of it."""
    return next((op for op in argument.block.ops if argument in op.operands), None)


class MaskBuilder:
    """Inserts ops behind another one, in order; None is the start of the block."""

    def __init__(self, block: Block, after: Operation | None, located_at: Operation | None = None):
        self.block = block
        self.after = after
        located_at = located_at or after
        self.location = None if located_at is None else located_at.location

    def insert(self, op: Operation) -> SSAValue:
        """Add an op; its first result."""
        if self.after is not None:
            self.block.insert_op_after(op, self.after)
        elif self.block.first_op is not None:
            self.block.insert_op_before(op, self.block.first_op)
        else:
            self.block.add_op(op)
        self.after = op
        return op.results[0]

    def call(self, op: edge.EdgeOp, shape: Sequence[int] | None = None) -> SSAValue:
        """Add an op; its result, which has the given shape where the op says less than is known of it."""
        if shape is not None:
            type = tensor_type(element_of(op.results[0]), tuple(shape))
            op.results = SSAValues([OpResult(type, op, 0)])
        if self.location is not None:
            op.location = self.location
        return self.insert(op)

    def converted(self, value: SSAValue, element: Attribute = f32) -> SSAValue:
        """`value` with elements of another type."""
        if element_of(value) == element:
            return value
        return self.call(edge.ToCopyOp(self=value, dtype=element))

    def moved(self, op: edge.EdgeOp, values: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue:
        """What an op that moves elements makes of other ones."""
        return self.insert(
            type(op).create(
                operands=(*values, *op.symbols),
                properties=op.properties,
                result_types=[tensor_type(element_of(values[0]), tuple(shape))],
                location=op.location,
            )
        )

    def unsqueezed(self, value: SSAValue, dims: Sequence[int]) -> SSAValue:
        """`value` with new dimensions of size 1 at these places of the result."""
        for dim in dims:
            value = self.call(edge.UnsqueezeOp(self=value, dim=dim))
        return value

    def times(self, value: SSAValue, number: float) -> SSAValue:
        """The product with a number."""
        return self.call(edge.MulScalarOp(self=value, other=number))

    def less(self, value: SSAValue, number: float) -> SSAValue:
        """`value` − `number`."""
        return self.call(edge.SubScalarOp(self=value, other=number))

    def short_of(self, value: SSAValue, number: float) -> SSAValue:
        """`number` − `value`."""
        return self.call(edge.RsubScalarOp(self=value, other=number))

    def clamped(self, value: SSAValue) -> SSAValue:
        """A value within 0 and 1."""
        return self.call(edge.ClampOp(self=value, min=0.0, max=1.0))

    def inverted(self, value: SSAValue) -> SSAValue:
        """1 − `value`."""
        return self.short_of(value, 1.0)

    def is_not(self, value: SSAValue, number: float) -> SSAValue:
        """1 where a whole number is not the given one, else 0."""
        distance = self.less(value, float(number)) if number else value
        return self.clamped(self.call(edge.AbsOp(self=distance)))

    def compared(self, name: str, value: SSAValue, number: float) -> SSAValue:
        """1 where a comparison of a whole number with the given one holds, else 0."""
        match name.split(".")[1]:
            case "eq":
                return self.inverted(self.is_not(value, number))
            case "ne":
                return self.is_not(value, number)
            case "gt":
                return self.clamped(self.less(value, float(number)) if number else value)
            case "le":
                return self.inverted(self.compared("edge.gt", value, number))
            case "lt":
                return self.clamped(self.short_of(value, float(number)))
            case _:
                return self.inverted(self.compared("edge.lt", value, number))
