"""Sizes of dynamic dimensions: which are the same, or multiples of one another, and how large each gets.

Every size is an expression of the dynamic dimensions of a function's arguments (`xir.ir.symbolic_size`). The ops' own
shape inference computes with such expressions, and upper bounds follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge
from xir.dialects.delegate import GraphOp, InfersShapes, RegionOp
from xir.dialects.edge.families import SizeArithmetic
from xir.dialects.edge.types import replaced
from xir.ir.analyses import ValueAnalysis
from xir.ir.shapes import Shape
from xir.ir.symbolic_size import (
    SymbolicSize,
    UndecidedSizeError,
    bound_of_symbol,
    is_dynamic,
    lower_bound,
    parse_size,
    smallest,
    subtracts,
    symbol,
    upper_bound,
)
from xir.ir.tensor_types import tensor_type
from xir.transforms.analysis.dim_annotations import argument_names, largest_arguments, largest_results, result_names


class UnknownSizeError(Exception):
    """A size, or its upper bound, does not follow from the annotations of functions and ops."""


class SymbolicSizes(ValueAnalysis):
    """The sizes of all values of a function.

    A value is followed when somebody asks for it, and known from then on: one analysis serves all passes of a pipeline,
    which get it of `ctx.analyses`.

    A size that the arguments' do not determine is a symbol of its own, `#0`, `#1`, …, whose bound is what shape
    inference gives for operands as large as they get.
    """

    def __init__(self, function: Operation):
        self.shapes: dict[SSAValue, Shape] = {}
        """Tensors with dynamic dimensions, a `SymbolicSize` for each of these."""
        self.numbers: dict[SSAValue, int | None] = {}
        """Sizes that the program computes; None for a number that is not computed from sizes."""
        self.stand_ins: dict[SSAValue, SymbolicSize] = {}
        """Symbols for such numbers."""
        self.names: dict[str, SymbolicSize] = {}
        """Name of a dynamic dimension, which may be an expression -> its size."""
        self.limits: dict[int, int] = {}
        """Symbolic size -> its upper bound, where one is stated."""
        if isinstance(function, FuncOp):
            self.shapes.update(self.named(argument_names(function), largest_arguments(function)))

    def known(self, value: SSAValue) -> Shape:
        """The shape of a tensor, a `SymbolicSize` for each dynamic dimension."""
        assert isinstance(value.type, TensorType)
        shape = value.type.get_shape()
        if DYNAMIC_INDEX not in shape:
            return shape
        if value not in self.shapes:
            self.follow(value)
        return self.shapes[value]

    def bounds(self, value: SSAValue) -> Shape:
        """The largest shape of a tensor; UnknownSizeError if a size has no bound."""
        return tuple(map(self.bound, self.known(value)))

    def limit(self, size: int) -> int | None:
        """The upper bound of a size: as stated, or as it follows from those of its symbols; None if it has none."""
        return upper_bound(size, self.limits)

    def computed(self, value: SSAValue) -> int | None:
        """The size that a number of the program stands for; None if it is not computed from sizes."""
        if value not in self.numbers:
            self.follow(value)
        return self.numbers[value]

    def number(self, value: SSAValue) -> int:
        """A number that the program computes, taken to be a size: equal to the dimensions that are as large."""
        if (number := self.computed(value)) is not None:
            return number
        if value not in self.stand_ins:
            self.stand_ins[value] = self.named_size(None)
        return self.stand_ins[value]

    def state(self, value: SSAValue, shape: Shape) -> None:
        """Set the shape of a new value, where more is known of it than can be inferred."""
        self.shapes[value] = shape

    def forget(self, op: Operation) -> None:
        """Recompute the shapes of an op's results after its operands have changed."""
        for result in op.results:
            self.shapes.pop(result, None)
            self.numbers.pop(result, None)

    # Following values.

    def follow(self, value: SSAValue) -> None:
        """Analyse a value, after those that its sizes depend on."""
        pending = [value]
        while pending:
            if self.is_known(pending[-1]):
                pending.pop()
            elif sources := [each for each in sources_of(pending[-1]) if not self.is_known(each)]:
                pending += sources
            else:
                self.follow_one(pending.pop())

    def is_known(self, value: SSAValue) -> bool:
        """Whether a value has been analysed, or need not be."""
        if not isinstance(value.type, TensorType):
            return value in self.numbers
        return value in self.shapes or value.type.has_static_shape()

    def follow_one(self, value: SSAValue) -> None:
        """Analyse a value whose sources have been analysed."""
        op = value.owner
        if isinstance(op, GraphOp | RegionOp) or isinstance(value, BlockArgument):
            # One value inside gives one result: the others have their own.
            followed: Sequence[SSAValue] = (value,)
            sources = sources_of(value)
            shapes = {value: self.known(sources[0])} if sources and isinstance(value.type, TensorType) else {}
        else:
            assert isinstance(op, Operation)
            followed = op.results
            shapes = self.inferred(op)
        for each in followed:
            if not isinstance(each.type, TensorType):
                self.numbers.setdefault(each, None)
            elif not each.type.has_static_shape():
                self.shapes[each] = self.completed(each, shapes.get(each))
        if isinstance(op, Operation) and not isinstance(op, GraphOp | RegionOp):
            self.bound_results(op, shapes)

    def inferred(self, op: Operation) -> Mapping[SSAValue, Shape]:
        """The shapes of an op's results, as far as they can be inferred; numbers among the results are recorded."""
        try:
            return self.fitting(op)
        except VerifyException:
            # Shapes that fit together at some sizes only are refused by shape inference at the others.
            return {}

    def fitting(self, op: Operation) -> Mapping[SSAValue, Shape]:
        """The same; VerifyException where the operands' sizes are known not to fit together."""
        try:
            if isinstance(op, InfersShapes):
                shapes = op.result_shapes([self.known(value) for value in op.operands])
                return dict(zip(op.results, shapes, strict=True))
            if not isinstance(op, edge.EdgeOp):
                return self.annotated(op)
            if isinstance(op, edge.SymSizeIntOp):
                self.numbers[op.results[0]] = self.known(op.self)[op.dim]
                return {}
            if isinstance(op, edge.SymNumelOp):
                self.numbers[op.results[0]] = prod(self.known(op.self))
                return {}
            if isinstance(op, SizeArithmetic):
                compute = edge.SIZE_OPERATORS[op.name]
                self.numbers[op.results[0]] = compute(self.argument("a", op.a), self.argument("b", op.b))
                return {}
            if op.row.infer is None:
                return self.annotated(op)
            return self.limited_slice(op) or self.edge_shapes(op, self.known, self.argument)
        except (UnknownSizeError, UndecidedSizeError, ZeroDivisionError):
            return {}

    def edge_shapes(
        self, op: edge.EdgeOp, shape_of: Callable[[SSAValue], Shape], argument: Callable[[str, SSAValue], int]
    ) -> dict[SSAValue, Shape]:
        """The results' shapes by an op's shape inference, for operands of other shapes than their types'."""

        def stand_in(value: SSAValue) -> SSAValue:
            assert isinstance(value.type, TensorType)
            if value.type.has_static_shape():
                return value
            return Block(arg_types=[tensor_type(value.type.element_type, shape_of(value))]).args[0]

        types = op.infer_at([stand_in(value) for value in op.tensor_operands], argument)
        pairs = zip(op.results, types, strict=True)
        return {result: type.get_shape() for result, type in pairs if isinstance(type, TensorType)}

    def limited_slice(self, op: edge.EdgeOp) -> dict[SSAValue, Shape]:
        """The shape of a slice from the start of a static dimension, up to a number that the program computes.

        A size that is never larger than the dimension is that of the slice. Of any other number, as of an item of a
        tensor, it is the smaller of both.
        """
        if not isinstance(op, edge.SliceTensorOp) or not isinstance(op.end, SSAValue):
            return {}
        shape, size = self.known(op.self), self.numbers[op.end]
        dim = op.dim % len(shape)
        if op.start or op.step != 1 or is_dynamic(shape[dim]):
            return {}
        if size is None:
            return {op.results[0]: replaced(shape, dim, smallest(self.number(op.end), shape[dim]))}
        limit = self.limit(size)
        return {} if limit is None or limit > shape[dim] else {op.results[0]: replaced(shape, dim, size)}

    def argument(self, name: str, value: int | SSAValue) -> int:
        """A size among an op's arguments; UnknownSizeError for a number that does not follow from sizes."""
        if not isinstance(value, SSAValue):
            return value
        if (number := self.numbers[value]) is None:
            raise UnknownSizeError
        return number

    # What is not determined.

    def completed(self, value: SSAValue, shape: Shape | None) -> Shape:
        """The shape of a value with symbols of its own for dynamic dimensions that inference does not tell."""
        assert isinstance(value.type, TensorType)
        type = value.type.get_shape()
        found = type if shape is None or len(shape) != len(type) else shape
        pairs = zip(type, found, strict=True)
        return tuple(
            size if size != DYNAMIC_INDEX else each if isinstance(each, SymbolicSize) else self.named_size(None)
            for size, each in pairs
        )

    def bound_results(self, op: Operation, inferred: Mapping[SSAValue, Shape]) -> None:
        """Bound the results' sizes by inference at the operands' bounds: those not inferred, and loosely bounded ones.

        The sizes of a node's results do not fall when its operands' grow, so this is a bound of each.
        """
        own = [
            result
            for result in op.results
            if (shape := self.shapes.get(result)) is not None
            and (shape != inferred.get(result) or (isinstance(op, InfersShapes) and any(map(subtracts, shape))))
        ]
        if not own:
            return
        for result, stated in largest_results(op).items():
            for size, bound in zip(self.shapes.get(result, ()), stated, strict=False):
                if is_dynamic(size):
                    self.limits[size] = min(bound, self.limits.get(size, bound))
        try:
            if isinstance(op, InfersShapes):
                shapes = op.result_shapes([self.bounds(value) for value in op.operands])
                bounds = dict(zip(op.results, shapes, strict=True))
            elif isinstance(op, edge.EdgeOp) and op.row.infer is not None:
                bounds = self.edge_shapes(op, self.bounds, partial(self.largest_argument, op))
            else:
                return
        except (UnknownSizeError, UndecidedSizeError, VerifyException):
            return
        for result in own:
            for size, bound in zip(self.shapes[result], bounds.get(result, ()), strict=False):
                if isinstance(size, SymbolicSize) and not is_dynamic(bound):
                    limit = self.limit(size)
                    self.limits[size] = bound if limit is None else min(limit, bound)

    def bound(self, size: int) -> int:
        """The upper bound of a size; UnknownSizeError if it has none."""
        if (limit := self.limit(size)) is None:
            raise UnknownSizeError
        return limit

    def largest_argument(self, op: edge.EdgeOp, name: str, value: SSAValue) -> int:
        """A size among an op's arguments: that of the largest result."""
        number = self.argument(name, value)
        counts_down = isinstance(op, edge.ArangeStartStepOp) and not isinstance(op.step, SSAValue) and op.step < 0
        # A negative start counts from the end, so it says little.
        is_least = name == ("end" if counts_down else "start")
        return max(lower_bound(number, self.limits), 0) if is_least else self.bound(number)

    # What is written on functions and ops.

    def annotated(self, op: Operation) -> dict[SSAValue, Shape]:
        """The results' shapes by the names that are written on an op without shape inference."""
        return dict(self.named(result_names(op), largest_results(op)))

    def named(
        self, values: Iterable[tuple[SSAValue, Sequence[str]]], bounds: Mapping[SSAValue, Shape]
    ) -> Iterator[tuple[SSAValue, Shape]]:
        """Values with the sizes that their dimensions' names say, which get the upper bounds that there are."""
        for value, names in values:
            assert isinstance(value.type, TensorType)
            given = dict(enumerate(names))
            shape = tuple(
                self.named_size(given.get(dim)) if size == DYNAMIC_INDEX else size
                for dim, size in enumerate(value.type.get_shape())
            )
            for size, bound in zip(shape, bounds.get(value, ()), strict=False):
                self.limits[size] = bound
                if (found := bound_of_symbol(size, bound)) is not None:
                    self.limits[found[0]] = min(found[1], self.limits.get(found[0], found[1]))
            yield value, shape

    def named_size(self, name: str | None) -> SymbolicSize:
        """The size of this name, a new one without a name."""
        if not name:
            name = f"#{len(self.names)}"
        if name not in self.names:
            self.names[name] = symbol(name) if name.startswith("#") else parse_size(name)
        return self.names[name]


def sources_of(value: SSAValue) -> Sequence[SSAValue]:
    """The values that a value's sizes depend on."""
    if isinstance(value, OpResult):
        op = value.op
        if isinstance(op, GraphOp):
            return (op.block_outputs[value.index],)
        if isinstance(op, RegionOp):
            return (op.yield_op.values[value.index],)
        return op.operands
    assert isinstance(value, BlockArgument)
    graph = value.block.parent_op()
    return (graph.operands[value.index],) if isinstance(graph, GraphOp) else ()
