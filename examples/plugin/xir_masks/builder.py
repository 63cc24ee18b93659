"""What the rules build with: ops of a graph, out of the edge ops' operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects.edge import ConstantOp as EdgeConstantOp
from xir.plugin import EdgeOp, XirContext, broadcast, element_type, inherit, make_dense, shape_of
from xir_masks.dialect import ELEMENTS, ComputeOp, ConstantOp, ReshapeOp
from xir_masks.operation import Operation as Name
from xir_masks.refusals import (
    CONVERTS,
    FLOATS,
    NO_NUMBER,
    NOT_VALID,
    OTHER_OPERAND,
    OTHER_RESULT,
    REPEATS_DYNAMIC,
)

LIMITS = {i32: np.iinfo(np.int32), i64: np.iinfo(np.int64)}


class MasksBuilder:
    """Builds one graph, op by op. Values from outside become arguments of its block, and constants ops in it."""

    def __init__(self, ctx: XirContext):
        self.ctx = ctx
        self.block = Block()
        self.inputs: dict[SSAValue, BlockArgument] = {}
        self._made: dict[SSAValue, SSAValue] = {}
        self._origin: Operation | None = None

    def begin(self, op: EdgeOp) -> None:
        """What is built from now on comes from this op."""
        self._origin = op

    def finish(self, op: EdgeOp, result: SSAValue) -> None:
        """`result` is what the op computes. RefusalError where it has another type."""
        if result.type != op.results[0].type:
            raise OTHER_RESULT(given=op.results[0].type, built=result.type)
        self._made[op.results[0]] = result

    def made(self, value: SSAValue) -> SSAValue:
        """What a value from outside is in the graph."""
        return self._made[value]

    def value(self, value: SSAValue) -> SSAValue:
        """An operand. RefusalError for a type that there are no operations on."""
        if (known := self._made.get(value)) is not None:
            return known
        if not isinstance(value.type, TensorType) or value.type.element_type not in ELEMENTS:
            raise OTHER_OPERAND(type=value.type)
        if isinstance(value.owner, EdgeConstantOp):
            made = self._add(ConstantOp(value.owner.value))
        else:
            made = self.inputs[value] = self.block.insert_arg(value.type, len(self.block.args))
            made.name_hint = value.name_hint
        self._made[value] = made
        return made

    def number(self, number: float, element: Attribute) -> SSAValue:
        """A number as a tensor without dimensions. RefusalError for one that the type does not hold."""
        if element in LIMITS and (
            isinstance(number, float) or not LIMITS[element].min <= number <= LIMITS[element].max
        ):
            raise NO_NUMBER(number=number, element=element)
        dtype = {i1: np.bool_, i32: np.int32, i64: np.int64, f32: np.float32}[element]
        return self._add(ConstantOp(make_dense(np.array(number, dtype), self.ctx, "number", element)))

    def compute(self, name: Name, operands: Sequence[SSAValue], element: Attribute) -> SSAValue:
        """An operation whose result has this element type."""
        if name is not Name.SELECT and f32 in map(element_type, operands):
            raise FLOATS()
        try:
            shape = broadcast(*map(shape_of, operands))
            op = ComputeOp(name, operands, TensorType(element, shape))
            op.verify_()
        except VerifyException as error:
            raise NOT_VALID(problem=error) from None
        return self._add(op)

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value repeated to a shape, which is static."""
        if DYNAMIC_INDEX in shape:
            raise REPEATS_DYNAMIC()
        return self._add(ComputeOp(Name.BROADCAST, [value], TensorType(element_type(value), shape)))

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value as another element type."""
        if element_type(value) == element:
            return value
        if element not in ELEMENTS:
            raise CONVERTS(element=element)
        return self.compute(Name.CAST, [value], element)

    def reshape(self, value: SSAValue, drop: Sequence[int], insert: Sequence[int]) -> SSAValue:
        """The value with dimensions of size 1 dropped and inserted."""
        return self._add(ReshapeOp(value, drop, insert))

    def _add(self, op: Operation) -> SSAValue:
        if self._origin is not None:
            inherit(op, self._origin)
        self.block.add_op(op)
        return op.results[0]
