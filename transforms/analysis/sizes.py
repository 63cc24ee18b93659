"""Follow sizes through a function: the shape of every value when the inputs have given shapes.

Run at the largest inputs, this gives each value's upper bound. Run at symbolic ones, it tells which dynamic dimensions
are the same, or multiples of one another: `xir.ir.symbolic_size`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge
from xir.dialects.delegate import GraphOp, InfersShapes, RegionOp
from xir.dialects.edge.families import SizeArithmetic
from xir.dialects.edge.types import replaced, tensor_type
from xir.dialects.xnnpack.base import FLOATS, Shape, element_type
from xir.ir.symbolic_size import (
    SymbolicSize,
    UndecidedSizeError,
    floor_div,
    is_dynamic,
    largest,
    modulo,
    parse_size,
    smallest,
    symbol,
    upper_bound,
)
from xir.transforms.analysis.dim_annotations import argument_names, largest_arguments, largest_results, result_names

Number = tuple[int, int]
"""The smallest and the largest value of a size that the program computes; both the same where it is symbolic."""


class UnknownSizeError(Exception):
    """The inputs' shapes do not tell a size."""


class Sizes:
    """The shapes of all values of a block for inputs of given shapes.

    `bounds` says that shapes are upper bounds, so that sizes which the program computes lie between 1 and them.
    """

    def __init__(self, block: Block, inputs: Mapping[SSAValue, Shape], *, bounds: bool):
        self.bounds = bounds
        self.shapes: dict[SSAValue, Shape] = dict(inputs)
        self.numbers: dict[SSAValue, Number] = {}
        for op in block.ops:
            self.follow(op)

    def follow(self, op: Operation) -> None:
        """Add the results of an op, whose operands are there."""
        try:
            if isinstance(op, GraphOp):
                self.follow_graph(op)
            elif isinstance(op, RegionOp):
                self.follow_region(op)
            elif all(isinstance(result.type, TensorType) and result.type.has_static_shape() for result in op.results):
                return
            elif isinstance(op, InfersShapes):
                shapes = [self.known(value) for value in op.operands]
                self.shapes.update(zip(op.results, op.result_shapes(shapes), strict=True))
            elif isinstance(op, edge.SymSizeIntOp):
                self.follow_size(op)
            elif isinstance(op, SizeArithmetic):
                self.numbers[op.results[0]] = ARITHMETIC[op.name](self.interval(op.a), self.interval(op.b))
            elif isinstance(op, edge.EdgeOp) and op.row.infer is not None:
                self.follow_edge(op)
            else:
                self.shapes.update(self.annotated(op))
        except (UnknownSizeError, UndecidedSizeError, VerifyException):
            # The results stay unknown, and who needs them says so. Shapes that fit together at some sizes only are
            # refused by shape inference at the others.
            return

    def known(self, value: SSAValue) -> Shape:
        """The shape of a tensor; UnknownSizeError where the inputs' shapes do not tell."""
        assert isinstance(value.type, TensorType)
        if value.type.has_static_shape():
            return value.type.get_shape()
        if (shape := self.shapes.get(value)) is None:
            raise UnknownSizeError
        return shape

    def interval(self, value: int | SSAValue) -> Number:
        """The bounds of a number; UnknownSizeError where the inputs' shapes do not tell."""
        if not isinstance(value, SSAValue):
            return value, value
        if (number := self.numbers.get(value)) is None:
            raise UnknownSizeError
        return number

    def follow_graph(self, op: GraphOp) -> None:
        """The values inside of a delegate's graph, and its results."""
        for argument, value in zip(op.block.args, op.operands, strict=True):
            self.shapes[argument] = self.known(value)
        for node in op.block.ops:
            self.follow(node)
        for result, value in zip(op.results, op.block_outputs, strict=True):
            self.shapes[result] = self.known(value)

    def follow_region(self, op: RegionOp) -> None:
        """The values inside of a region, and its results."""
        for inner in op.body.block.ops:
            self.follow(inner)
        for result, value in zip(op.results, op.yield_op.values, strict=True):
            if isinstance(result.type, TensorType) and not result.type.has_static_shape():
                self.shapes[result] = self.known(value)

    def follow_size(self, op: edge.SymSizeIntOp) -> None:
        """A size that the program asks for."""
        value, dim = op.self, op.dim
        assert isinstance(value.type, TensorType)
        is_open = value.type.get_shape()[dim] == DYNAMIC_INDEX
        size = self.known(value)[dim]
        self.numbers[op.results[0]] = (1 if self.bounds and is_open else size, size)

    def follow_edge(self, op: edge.EdgeOp) -> None:
        """The results of an op, by its shape inference for operands of the shapes at hand."""
        types = op.infer_at([self.stand_in(value) for value in op.tensor_operands], self.argument)
        for result, inferred in zip(op.results, types, strict=True):
            if isinstance(inferred, TensorType) and inferred.has_static_shape():
                self.shapes[result] = inferred.get_shape()

    def annotated(self, op: Operation) -> Iterable[tuple[SSAValue, Shape]]:
        """The results' shapes by what is written on an op that has no shape inference."""
        return largest_results(op).items()

    def argument(self, name: str, value: SSAValue) -> int:
        """A size among the arguments that the program computes: that of the largest result."""
        low, high = self.interval(value)
        # A negative start counts from the end, so it says little.
        return max(low, 0) if name == "start" else high

    def stand_in(self, value: SSAValue) -> SSAValue:
        """A value with the type that `value` has at these sizes."""
        assert isinstance(value.type, TensorType)
        if value.type.has_static_shape():
            return value
        return Block(arg_types=[tensor_type(value.type.element_type, self.known(value))]).args[0]


def exactly(size: int) -> Number:
    """The bounds of a number that is known."""
    return size, size


def corners(function: Callable[[int, int], int]) -> Callable[[Number, Number], Number]:
    """The bounds of a function that is monotone in both arguments."""

    def bounds(a: Number, b: Number) -> Number:
        if a[0] == a[1] and b[0] == b[1]:
            return exactly(function(a[0], b[0]))
        values = [function(x, y) for x in a for y in b]
        return min(values), max(values)

    return bounds


def remainder(a: Number, b: Number) -> Number:
    """The bounds of a modulo b."""
    if a[0] == a[1] and b[0] == b[1]:
        return exactly(modulo(a[0], b[0]))
    return 0, b[1] - 1


ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "edge.executorch_prim.add.Scalar": corners(lambda a, b: a + b),
    "edge.executorch_prim.sub.Scalar": corners(lambda a, b: a - b),
    "edge.executorch_prim.mul.Scalar": corners(lambda a, b: a * b),
    "edge.executorch_prim.floordiv.Scalar": corners(lambda a, b: floor_div(a, b) if b else 0),
    "edge.executorch_prim.mod.Scalar": remainder,
    "edge.executorch_prim.sym_max.Scalar": corners(largest),
    "edge.executorch_prim.sym_min.Scalar": corners(smallest),
}
"""What the ops on sizes compute."""


class SymbolicSizes(Sizes):
    """All values' shapes, with symbolic sizes for the dynamic dimensions of a function's arguments.

    What these do not determine is a dynamic dimension of its own, with a symbol `#0`, `#1`, ….
    """

    def __init__(self, block: Block):
        self.names: dict[str, SymbolicSize] = {}
        """Name of a dynamic dimension, which may be an expression -> its size."""
        self.limits: dict[int, int] = {}
        """Symbolic size -> its upper bound, where one is stated."""
        self.arguments = dict(self.inputs(block))
        """The dynamic arguments of the function that `block` is the body of, if it is one."""
        super().__init__(block, self.arguments, bounds=False)
        self.places = {op: place for place, op in enumerate(in_order(block))}
        """The order of the ops, also inside of regions; rewriting may take them away."""

    def inputs(self, block: Block) -> Iterable[tuple[SSAValue, Shape]]:
        """The shapes of `arguments`."""
        function = block.parent_op()
        return self.named(argument_names(function), largest_arguments(function)) if isinstance(function, FuncOp) else ()

    def annotated(self, op: Operation) -> Iterable[tuple[SSAValue, Shape]]:
        """The results' shapes by the names that are written on an op."""
        return self.named(result_names(op), largest_results(op))

    def named(
        self, values: Iterable[tuple[SSAValue, Sequence[str]]], bounds: Mapping[SSAValue, Shape]
    ) -> Iterator[tuple[SSAValue, Shape]]:
        """Values with the sizes that their dimensions' names say, which get the upper bounds that there are."""
        for value, names in values:
            shape = self.symbolic(value, dict(enumerate(names)))
            self.limits.update(zip(shape, bounds.get(value, ()), strict=False))
            yield value, shape

    def symbolic(self, value: SSAValue, names: Mapping[int, str]) -> Shape:
        """A value's shape with symbolic sizes for its dynamic dimensions, which may have names."""
        assert isinstance(value.type, TensorType)
        shape: list[int] = []
        for dim, size in enumerate(value.type.get_shape()):
            shape.append(self.named_size(names.get(dim)) if size == DYNAMIC_INDEX else size)
        return tuple(shape)

    def named_size(self, name: str | None) -> SymbolicSize:
        """The size of this name, a new one without a name."""
        if not name:
            name = f"#{len(self.names)}"
        if name not in self.names:
            self.names[name] = symbol(name) if name.startswith("#") else parse_size(name)
        return self.names[name]

    def limit(self, size: int) -> int | None:
        """The upper bound of a size: as stated, or as it follows from those of its symbols; None if it has none."""
        return upper_bound(size, self.limits)

    def follow_edge(self, op: edge.EdgeOp) -> None:
        """A slice of a static dimension, up to a size that is never larger, has that size."""
        if isinstance(op, edge.SliceTensorOp) and isinstance(end := op.end, SSAValue):
            shape, number = self.known(op.self), self.interval(end)[0]
            dim = op.dim % len(shape)
            limit = None if is_dynamic(shape[dim]) else self.limit(number)
            if not op.start and op.step == 1 and limit is not None and limit <= shape[dim]:
                self.shapes[op.results[0]] = replaced(shape, dim, number)
                return
        super().follow_edge(op)

    def known(self, value: SSAValue) -> Shape:
        """The shape of a tensor; where it is unknown, with dynamic dimensions of its own."""
        assert isinstance(value.type, TensorType)
        shape = value.type.get_shape()
        if DYNAMIC_INDEX not in shape:
            return shape
        found = self.shapes.get(value, shape)
        dynamic = [number for size, number in zip(shape, found, strict=True) if size == DYNAMIC_INDEX]
        if not all(isinstance(number, SymbolicSize) for number in dynamic):
            found = self.shapes[value] = self.symbolic(value, {})
        return found

    def donor(self, size: int, element: Attribute, before: Operation) -> tuple[SSAValue, int] | None:
        """A floating-point value with a dimension of the given symbolic size, and which that is: an argument of the
        function, rather one of type `element`, or the first result of another op, if it is there `before` an op."""
        found = self.donors.get(size, ())
        of_type = (value for value in found if isinstance(value, BlockArgument) and element_type(value) == element)
        value = next(of_type, None) or next((value for value in found if self.is_before(value, before)), None)
        return None if value is None else (value, self.known(value).index(size))

    @cached_property
    def donors(self) -> dict[int, list[SSAValue]]:
        """Size -> the floating-point values with such a dimension, in their order."""
        found: dict[int, list[SSAValue]] = {}
        for value, shape in self.shapes.items():
            if element_type(value) in FLOATS and (isinstance(value, BlockArgument) or value.owner in self.places):
                for size in set(shape):
                    found.setdefault(size, []).append(value)
        return found

    def is_before(self, value: SSAValue, op: Operation) -> bool:
        """Whether a value is an argument, or the result of an op that stands, still, before another, which sees it."""
        owner = value.owner
        if isinstance(owner, Block):
            return True
        seen = owner.parent is not None and (owner.parent is op.parent or not isinstance(owner.parent_op(), RegionOp))
        return seen and self.places[owner] < self.places[op]

    def number(self, value: SSAValue) -> int:
        """A size that the program computes: equal to the dimensions that are as large."""
        if value not in self.numbers:
            self.numbers[value] = exactly(self.named_size(None))
        return self.numbers[value][0]


def in_order(block: Block) -> Iterator[Operation]:
    """A block's ops, each region behind those in it: they come before its results."""
    for op in block.ops:
        if isinstance(op, RegionOp):
            yield from op.body.block.ops
        yield op


def upper_bounds(function: FuncOp) -> Sizes:
    """The largest shape of every value, from the arguments' `xir.max_shape`."""
    return Sizes(function.body.block, largest_arguments(function), bounds=True)
