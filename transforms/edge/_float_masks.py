"""Boolean and integer values as fp32 numbers: what is True is 1, what is False is 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType, f32, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, is_integral, shape_of, tensor_type
from xir.ir.constants import constant_array, make_dense
from xir.ir.context import XirContext
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._magnitudes import ARITHMETIC, LARGE, MOVES, magnitudes
from xir.transforms.edge._whole_index import whole_dims

AND = frozenset({"edge.bitwise_and.Tensor", "edge.logical_and"})
OR = frozenset({"edge.bitwise_or.Tensor", "edge.logical_or"})
NOT = frozenset({"edge.bitwise_not", "edge.logical_not"})
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
WITH_NUMBER = frozenset(f"edge.{name}.Scalar" for name in COMPARISONS)
WITH_TENSOR = frozenset(f"edge.{name}.Tensor" for name in COMPARISONS)


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
        self.small = magnitudes(block, ctx, sizes)
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
                self.floats[argument] = Builder(self.block, None).converted(argument)
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
        if op.name == "edge.index.Tensor":
            return tensors[:1] if whole_dims(op, self.ctx, self.sizes) is not None else []
        is_small = value in self.small and all(operand in self.small for operand in tensors)
        if element_of(value) != i1:
            return tensors if is_small and (op.name in ARITHMETIC or op.name == "edge._to_copy") else []
        if op.name in ("edge._to_copy", "edge.logical_not") or (op.name in AND | OR | NOT and elements == {i1}):
            return tensors
        if op.name in WITH_TENSOR and is_small:
            return tensors
        if op.name in WITH_NUMBER and isinstance(other := op.argument("other"), int) and abs(other) < LARGE:
            return tensors
        return []

    def form(self, value: SSAValue, op: Operation) -> SSAValue:
        """The fp32 form of an op's result, whose sources have theirs."""
        build = Builder(self.block, op)
        if isinstance(op, edge.ConstantOp):
            array = constant_array(op.value, self.ctx, op).astype(np.float32)
            return build.insert(edge.ConstantOp(make_dense(array, self.ctx, "mask"), op.location))
        assert isinstance(op, edge.EdgeOp)
        if op.name == "edge.arange.start_step" and value in self.small:
            numbers = {name: op.argument(name) for name in ("start", "end", "step")}
            return build.insert(op.build_from({**numbers, "dtype": f32}, [as_float(value)], op.location))
        if not (sources := self.sources(value)):
            return build.converted(value)
        floats = [self.floats[source] for source in sources]
        if op.name == "edge.index.Tensor":
            return build.unsqueezed(floats[0], whole_dims(op, self.ctx, self.sizes) or ())
        shape = shape_of(value)
        if op.name in MOVES or op.name in ARITHMETIC:
            return build.moved(op, floats, shape)
        if element_of(value) != i1:
            return floats[0]
        if op.name in AND:
            return build.call("mul.Tensor", {"self": floats[0], "other": floats[1]}, shape)
        if op.name in OR:
            return build.call("maximum", {"self": floats[0], "other": floats[1]}, shape)
        if op.name in WITH_NUMBER:
            return build.compared(op.name, floats[0], op.argument("other"))
        if op.name in WITH_TENSOR:
            difference = build.call("sub.Tensor", {"self": floats[0], "other": floats[1]}, shape)
            return build.compared(op.name, difference, 0)
        chosen = floats[0] if element_of(sources[0]) == i1 else build.is_not(floats[0], 0)
        return build.inverted(chosen) if op.name in NOT else chosen


def as_float(value: SSAValue) -> TensorType:
    """The type of a value's fp32 form."""
    return tensor_type(f32, shape_of(value))


class Builder:
    """Inserts ops behind another one, in order; None is the start of the block."""

    def __init__(self, block: Block, after: Operation | None):
        self.block = block
        self.after = after
        self.location = None if after is None else after.location

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

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        shape: Sequence[int] | None = None,
        element: Attribute | None = None,
    ) -> SSAValue:
        """The result of an op; the shape and the element type are those of its argument `self` if none are given."""
        value: SSAValue = arguments["self"]
        type = tensor_type(element or element_of(value), tuple(shape_of(value) if shape is None else shape))
        return self.insert(edge.OPS[f"edge.{name}"].build_from(arguments, [type], self.location))

    def converted(self, value: SSAValue, element: Attribute = f32) -> SSAValue:
        """`value` with elements of another type."""
        if element_of(value) == element:
            return value
        return self.call("_to_copy", {"self": value, "dtype": element}, element=element)

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
            shape = shape_of(value)
            arguments = {"self": value, "dim": dim}
            value = self.call("unsqueeze", arguments, (*shape[:dim], 1, *shape[dim:]))
        return value

    def number(self, name: str, value: SSAValue, other: float) -> SSAValue:
        """The result of an op of a value and a number."""
        return self.call(f"{name}.Scalar", {"self": value, "other": other})

    def clamped(self, value: SSAValue) -> SSAValue:
        """A value within 0 and 1."""
        return self.call("clamp", {"self": value, "min": 0.0, "max": 1.0})

    def inverted(self, value: SSAValue) -> SSAValue:
        """1 − `value`."""
        return self.number("rsub", value, 1.0)

    def is_not(self, value: SSAValue, number: int) -> SSAValue:
        """1 where a whole number is not the given one, else 0."""
        distance = self.number("sub", value, float(number)) if number else value
        return self.clamped(self.call("abs", {"self": distance}))

    def compared(self, name: str, value: SSAValue, number: int) -> SSAValue:
        """1 where a comparison of a whole number with the given one holds, else 0."""
        match name.split(".")[1]:
            case "eq":
                return self.inverted(self.is_not(value, number))
            case "ne":
                return self.is_not(value, number)
            case "gt":
                return self.clamped(self.number("sub", value, float(number)) if number else value)
            case "le":
                return self.inverted(self.compared("edge.gt", value, number))
            case "lt":
                return self.clamped(self.number("rsub", value, float(number)))
            case _:
                return self.inverted(self.compared("edge.lt", value, number))
