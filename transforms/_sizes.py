"""Follow sizes through a function: the shape of every value when the inputs have given shapes.

Run at the largest inputs, this gives each value's upper bound. Run at inputs whose sizes are `distinct`, it tells which
dynamic dimensions are the same, or multiples of one another: they have the same number, and others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import isqrt
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, xnnpack
from xir.dialects.edge.types import replaced, tensor_type
from xir.dialects.xnnpack.base import Shape, ints, same_shape
from xir.ir.diagnostics import DiagnosticError

MAX_SHAPE = "xir.max_shape"
"""The attribute of a function's argument that bounds its dynamic dimensions: array<i64>, the largest shape."""

DIM_NAMES = "xir.dim_names"
"""The attribute of a function's argument that names its dynamic dimensions: an array with a string for each dimension,
empty for a static one. Dimensions of one name have one size."""

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
            if isinstance(op, xnnpack.SubgraphOp):
                self.follow_subgraph(op)
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

    def follow_subgraph(self, op: xnnpack.SubgraphOp) -> None:
        """The values inside of a subgraph, and its results."""
        for argument, value in zip(op.body.block.args, op.inputs, strict=True):
            self.shapes[argument] = self.known(value)
        for node in op.body.block.ops:
            self.follow(node)
        for result, value in zip(op.results, op.yield_op.values, strict=True):
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

    def inputs(self, block: Block) -> Iterator[tuple[SSAValue, Shape]]:
        """The shapes of `arguments`."""
        function = block.parent_op()
        if not isinstance(function, FuncOp):
            return
        bounds = largest_shapes(function)
        for argument, given in argument_attributes(function, DIM_NAMES):
            if isinstance(argument.type, TensorType) and not argument.type.has_static_shape():
                names = [n.data for n in given if isinstance(n, StringAttr)] if isinstance(given, ArrayAttr) else []
                shape = self.stand_ins(argument, dict(enumerate(names)))
                self.limits.update(zip(shape, bounds.get(argument, ()), strict=False))
                yield argument, shape

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

    def input_with(self, size: int, element: Attribute) -> tuple[SSAValue, int] | None:
        """An argument of the function with a dimension of the given open size, and which that is."""
        for argument, shape in self.arguments.items():
            assert isinstance(argument.type, TensorType)
            if argument.type.element_type == element and size in shape:
                return argument, shape.index(size)
        return None

    def number(self, value: SSAValue) -> int:
        """A size that the program computes: the same `OpenSize` as the dimensions have that are as large."""
        if value not in self.numbers:
            number = self.names.setdefault(f"#{len(self.names)}", distinct(len(self.names)))
            self.numbers[value] = number, number
        return sized(self.numbers[value][0])


def upper_bounds(function: FuncOp) -> Sizes:
    """The largest shape of every value, from the arguments' `xir.max_shape`."""
    return Sizes(function.body.block, largest_shapes(function), bounds=True)


def largest_shapes(function: FuncOp) -> dict[SSAValue, Shape]:
    """The `xir.max_shape` of each argument that has one."""
    inputs: dict[SSAValue, Shape] = {}
    for argument, attribute in argument_attributes(function, MAX_SHAPE):
        if not isinstance(attribute, DenseArrayBase) or not isinstance(argument.type, TensorType):
            continue
        shape, type = ints(attribute), argument.type
        if min(shape, default=0) < 0 or not same_shape(shape, type.get_shape()):
            raise DiagnosticError(argument, f"{MAX_SHAPE} {list(shape)} is not the largest shape of a {type}")
        inputs[argument] = shape
    return inputs


def argument_attributes(function: FuncOp, name: str) -> Iterator[tuple[SSAValue, Attribute | None]]:
    """Each argument of a function with one of its attributes."""
    attributes = function.arg_attrs
    for index, argument in enumerate(function.body.block.args):
        yield argument, None if attributes is None else attributes.data[index].data.get(name)
