"""Follow sizes through a function: the shape of every value when the inputs have given shapes.

Run at the largest inputs, this gives each value's upper bound. Run at inputs whose sizes are `distinct`, it tells which
dynamic dimensions are the same, or multiples of one another: they have the same number, and others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from math import isqrt
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, xnnpack
from xir.dialects.delegate import GraphOp, RegionOp
from xir.dialects.edge.types import replaced, tensor_type
from xir.dialects.xnnpack.base import FLOATS, Shape, element_type
from xir.transforms.analysis.dim_annotations import argument_names, largest_arguments, largest_results, result_names

SMALLEST = 2**16
"""Results of arithmetic on stand-ins that are smaller have no stand-in left in them."""

Number = tuple[int, int]
"""The smallest and the largest value of a size that the program computes."""


class OpenSizeError(Exception):
    """A size that only the run time knows would have to be a number at compile time."""


class OpenSize(int):
    """A dynamic dimension's size, in sums and products with others; as an int it is a stand-in that nothing else has.

    It is taken to be larger than any number that a program states. What would need its true value raises
    OpenSizeError: division with a remainder, conversion to float, which of two is larger.
    """

    def __add__(self, other: int) -> int:
        return sized(int(self) + int(other))

    def __sub__(self, other: int) -> int:
        return sized(int(self) - int(other))

    def __rsub__(self, other: int) -> int:
        return sized(int(other) - int(self))

    def __mul__(self, other: int) -> int:
        return sized(int(self) * int(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> int:
        if int(self) % int(other):
            raise OpenSizeError
        return sized(int(self) // int(other))

    def __mod__(self, other: int) -> int:
        if int(self) % int(other):
            raise OpenSizeError
        return 0

    def minus(self, other: int) -> int:
        """The difference to a number, to compare them: that to another open size has to be known."""
        if isinstance(difference := self - other, OpenSize) and isinstance(other, OpenSize):
            raise OpenSizeError
        return int(difference)

    def __lt__(self, other: int) -> bool:
        return self.minus(other) < 0

    def __le__(self, other: int) -> bool:
        return self.minus(other) <= 0

    def __gt__(self, other: int) -> bool:
        return self.minus(other) > 0

    def __ge__(self, other: int) -> bool:
        return self.minus(other) >= 0

    def unknown(self, *_: object) -> Any:
        """What cannot be computed."""
        raise OpenSizeError

    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __pow__ = __rpow__ = __float__ = unknown

    def __str__(self) -> str:
        return "?"

    __repr__ = __str__

    def __format__(self, format_spec: str) -> str:
        return "?"


def sized(number: int) -> int:
    """A number that comes from open sizes: open as well, unless they cancelled out."""
    return OpenSize(number) if abs(number) >= SMALLEST else number


@cache
def distinct(index: int) -> int:
    """The stand-in for the dynamic size number `index`: a prime, which no other size divides.

    They are scattered over 2^23 to 2^28, so that sums and products with small numbers agree only where they are the
    same expression, and the product of two still fits into the i64 of a size.
    """
    candidate = 2**23 + pow(5, 7 * index + 11, 2**28 - 57) | 1
    while any(candidate % divisor == 0 for divisor in range(3, isqrt(candidate) + 1, 2)):
        candidate += 2
    return candidate


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
            elif isinstance(op, xnnpack.NodeOp):
                shapes = [self.known(value) for value in op.operands]
                self.shapes.update(zip(op.results, op.result_shapes(shapes), strict=True))
            elif op.name == "edge.sym_size.int" and isinstance(op, edge.EdgeOp):
                self.follow_size(op)
            elif op.name in ARITHMETIC and isinstance(op, edge.EdgeOp):
                a, b = (self.interval(op.value(name)) for name in ("a", "b"))
                self.numbers[op.results[0]] = ARITHMETIC[op.name](a, b)
            elif isinstance(op, edge.EdgeOp) and op.row.infer is not None:
                self.follow_edge(op)
            else:
                self.shapes.update(self.annotated(op))
        except (KeyError, ValueError, OverflowError, VerifyException):
            # The results stay unknown; who needs them says so.
            return

    def known(self, value: SSAValue) -> Shape:
        """The shape of a tensor; KeyError where the inputs' shapes do not tell."""
        assert isinstance(value.type, TensorType)
        return value.type.get_shape() if value.type.has_static_shape() else self.shapes[value]

    def interval(self, value: int | SSAValue) -> Number:
        """The bounds of a number; KeyError where they are unknown."""
        return self.numbers[value] if isinstance(value, SSAValue) else (value, value)

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

    def follow_size(self, op: edge.EdgeOp) -> None:
        """A size that the program asks for."""
        value, dim = op.operands[0], op.value("dim")
        assert isinstance(value.type, TensorType)
        is_open = value.type.get_shape()[dim] == DYNAMIC_INDEX
        size = self.known(value)[dim]
        self.numbers[op.results[0]] = (1 if self.bounds and is_open else size, size)

    def follow_edge(self, op: edge.EdgeOp) -> None:
        """The results of an op, by its shape inference for operands of the shapes at hand."""
        arguments: dict[str, Any] = {name: self.argument(op, name) for name in op.schema.values}
        for name, argument in op.schema.tensors.items():
            values = [None if v is None else self.stand_in(v) for v in op.tensors(name)]
            arguments[name] = values if argument.type.is_list else next(iter(values), None)
        built = type(op).build_from(arguments, op.result_types)
        try:
            assert op.row.infer is not None
            types = op.row.infer(built)
        finally:
            built.erase()
        for result, inferred in zip(op.results, types, strict=True):
            if isinstance(inferred, TensorType) and inferred.has_static_shape():
                self.shapes[result] = inferred.get_shape()

    def annotated(self, op: Operation) -> Iterable[tuple[SSAValue, Shape]]:
        """The results' shapes by what is written on an op that has no shape inference."""
        return largest_results(op).items()

    def argument(self, op: edge.EdgeOp, name: str) -> Any:
        """An argument that is no tensor, with numbers for the sizes in it: those of the largest result."""

        def number(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(number, value))
            if not isinstance(value, SSAValue):
                return value
            low, high = self.numbers[value]
            # A negative start counts from the end, so it says little.
            return max(low, 0) if name == "start" else high

        return number(op.value(name))

    def stand_in(self, value: SSAValue) -> SSAValue:
        """A value with the type that `value` has at these sizes."""
        assert isinstance(value.type, TensorType)
        if value.type.has_static_shape():
            return value
        return Block(arg_types=[tensor_type(value.type.element_type, self.known(value))]).args[0]


def corners(function: Callable[[int, int], int]) -> Callable[[Number, Number], Number]:
    """The bounds of a function that is monotone in both arguments."""

    def bounds(a: Number, b: Number) -> Number:
        values = [function(x, y) for x in a for y in b]
        return min(values), max(values)

    return bounds


def remainder(a: Number, b: Number) -> Number:
    """The bounds of a modulo b."""
    if a[0] == a[1] and b[0] == b[1]:
        return a[0] % b[0], a[0] % b[0]
    return 0, b[1] - 1


ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "edge.executorch_prim.add.Scalar": corners(lambda a, b: a + b),
    "edge.executorch_prim.sub.Scalar": corners(lambda a, b: a - b),
    "edge.executorch_prim.mul.Scalar": corners(lambda a, b: a * b),
    "edge.executorch_prim.floordiv.Scalar": corners(lambda a, b: a // b if b else 0),
    "edge.executorch_prim.mod.Scalar": remainder,
    "edge.executorch_prim.sym_max.Scalar": corners(max),
    "edge.executorch_prim.sym_min.Scalar": corners(min),
}
"""What the ops on sizes compute."""


class OpenSizes(Sizes):
    """All values' shapes with stand-ins for the dynamic dimensions of a function's arguments.

    What these do not determine is a dynamic dimension of its own.
    """

    def __init__(self, block: Block):
        self.names: dict[str, int] = {}
        """Name of a dynamic dimension -> its stand-in."""
        self.limits: dict[int, int] = {}
        """The stand-in of a dynamic dimension -> its upper bound, as far as it has one."""
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
        """Values with the stand-ins of their dimensions' names, which get the upper bounds that there are."""
        for value, names in values:
            shape = self.stand_ins(value, dict(enumerate(names)))
            self.limits.update(zip(shape, bounds.get(value, ()), strict=False))
            yield value, shape

    def stand_ins(self, value: SSAValue, names: Mapping[int, str]) -> Shape:
        """A value's shape with the stand-ins of its dynamic dimensions, which may have names."""
        assert isinstance(value.type, TensorType)
        shape: list[int] = []
        for dim, size in enumerate(value.type.get_shape()):
            name = names.get(dim) or f"#{len(self.names)}"
            shape.append(self.names.setdefault(name, distinct(len(self.names))) if size == DYNAMIC_INDEX else size)
        return tuple(shape)

    def follow_edge(self, op: edge.EdgeOp) -> None:
        """A slice of a static dimension, up to a size that is never larger, has that size; stand-ins are larger."""
        if op.name == "edge.slice.Tensor" and isinstance(end := op.value("end"), SSAValue):
            shape, number = self.known(op.operands[0]), self.numbers[end][0]
            dim = op.value("dim") % len(shape)
            if not op.value("start") and op.value("step") == 1 and self.limits.get(number, SMALLEST) <= shape[dim]:
                self.shapes[op.results[0]] = replaced(shape, dim, number)
                return
        super().follow_edge(op)

    def known(self, value: SSAValue) -> Shape:
        """The shape of a tensor; where it is unknown, dynamic dimensions of its own."""
        assert isinstance(value.type, TensorType)
        shape = value.type.get_shape()
        if DYNAMIC_INDEX not in shape:
            return shape
        found = self.shapes.get(value, shape)
        if any(size == DYNAMIC_INDEX and number < SMALLEST for size, number in zip(shape, found, strict=True)):
            found = self.shapes[value] = self.stand_ins(value, {})
        return found

    def shape(self, value: SSAValue) -> Shape:
        """The shape of a tensor, an `OpenSize` for each dynamic dimension."""
        assert isinstance(value.type, TensorType)
        return tuple(
            OpenSize(number) if size == DYNAMIC_INDEX else size
            for size, number in zip(value.type.get_shape(), self.known(value), strict=True)
        )

    def donor(self, size: int, element: Attribute, before: Operation) -> tuple[SSAValue, int] | None:
        """A floating-point value with a dimension of the given open size, and which that is: an argument of the
        function, rather one of type `element`, or the first result of another op, if it is there `before` an op."""
        found = self.donors.get(int(size), ())
        of_type = (value for value in found if isinstance(value, BlockArgument) and element_type(value) == element)
        value = next(of_type, None) or next((value for value in found if self.is_before(value, before)), None)
        return None if value is None else (value, self.known(value).index(size))

    @cached_property
    def donors(self) -> dict[int, list[SSAValue]]:
        """Open size -> the floating-point values with such a dimension, in their order."""
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
        """A size that the program computes: the same `OpenSize` as the dimensions have that are as large."""
        if value not in self.numbers:
            number = self.names.setdefault(f"#{len(self.names)}", distinct(len(self.names)))
            self.numbers[value] = number, number
        return sized(self.numbers[value][0])


def in_order(block: Block) -> Iterator[Operation]:
    """A block's ops, each region behind those in it: they come before its results."""
    for op in block.ops:
        if isinstance(op, RegionOp):
            yield from op.body.block.ops
        yield op


def upper_bounds(function: FuncOp) -> Sizes:
    """The largest shape of every value, from the arguments' `xir.max_shape`."""
    return Sizes(function.body.block, largest_arguments(function), bounds=True)
