"""What a decomposition is, and what it builds with.

A decomposition takes one edge op and returns the values that replace its results, having built edge ops that compute
them; or None, if it has nothing to say to this call, or it raises `RefusalError` with the reason. What it builds may
have a decomposition of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from xir.dialects import edge
from xir.dialects.edge.types import Shape, element_of, shape_of
from xir.ir.plugin_bugs import WrongResultError, check_parameters, check_values, is_of_plugin

HALVES = (f16, bf16)

Arguments = ParamSpec("Arguments")
EdgeOpT = TypeVar("EdgeOpT", bound=edge.EdgeOp)


class EdgeBuilder:
    """Collects the edge ops that a decomposition builds."""

    def __init__(self) -> None:
        self.ops: list[edge.EdgeOp] = []

    def call(
        self,
        op_class: Callable[Arguments, edge.EdgeOp],
        /,
        *args: Arguments.args,
        **arguments: Arguments.kwargs,
    ) -> SSAValue:
        """Call an op, `b.call(edge.AddTensorOp, self=x, other=y)`; its first result."""
        return self.calls(op_class, *args, **arguments)[0]

    def calls(
        self,
        op_class: Callable[Arguments, edge.EdgeOp],
        /,
        *args: Arguments.args,
        **arguments: Arguments.kwargs,
    ) -> Sequence[SSAValue]:
        """Call an op; its results."""
        op = op_class(*args, **arguments)
        self.ops.append(op)
        return op.results

    def size(self, value: SSAValue, dim: int) -> edge.Size:
        """The size of a dimension, which may count from the end."""
        shape = shape_of(value)
        dim %= len(shape)
        return shape[dim] if shape[dim] >= 0 else self.call(edge.SymSizeIntOp, self=value, dim=dim)

    def sizes(self, value: SSAValue) -> list[edge.Size]:
        """The size of every dimension."""
        return [self.size(value, dim) for dim in range(len(shape_of(value)))]

    def product(self, sizes: Sequence[edge.Size]) -> edge.Size:
        """The product of sizes."""
        static = math.prod(size for size in sizes if isinstance(size, int))
        result: edge.Size = static
        for size in sizes:
            if isinstance(size, SSAValue):
                result = size if result == 1 else self.call(edge.ExecutorchPrimMulScalarOp, a=size, b=result)
        return result

    def view(self, value: SSAValue, size: Sequence[edge.Size]) -> SSAValue:
        """The elements in another shape; nothing is built when it is the shape already."""
        if tuple(size) == shape_of(value):
            return value
        return self.call(edge.ViewOp, self=value, size=list(size))

    def convert(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """The value in the element type of another; nothing is built when it has that already."""
        return self.cast(value, element_of(like))

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value in an element type; nothing is built when it has that already."""
        return value if element_of(value) == element else self.call(edge.ToCopyOp, self=value, dtype=element)


Replacement = SSAValue | Sequence[SSAValue] | None
"""What replaces the results of an op; None: nothing does, it stays."""

Decomposition = Callable[[Any, EdgeBuilder], Replacement]
"""A decomposition as the table has it, which no longer says of which op class it is."""

DECOMPOSITIONS: dict[str, Decomposition] = {}
"""Edge op name -> its decomposition. The docstring says in formulas what it builds."""


REPLACED: set[str] = set()
"""The edge ops whose decompositions have taken the place of others."""


def decomposition(
    function: Callable[[EdgeOpT, EdgeBuilder], Replacement],
) -> Callable[[EdgeOpT, EdgeBuilder], Replacement]:
    """Register a decomposition of the op classes that the annotation of its first parameter names, one or a union:
    `def square(op: edge.SquareOp, b: EdgeBuilder) -> SSAValue`. ValueError if there is one already."""
    check_parameters(function, "op", "b")
    for op_class in edge.op_classes(function):
        if op_class.name in DECOMPOSITIONS:
            raise ValueError(f"{op_class.name} has a decomposition already; @replacing_decomposition takes its place")
        DECOMPOSITIONS[op_class.name] = function
    return function


def replacing_decomposition(
    function: Callable[[EdgeOpT, EdgeBuilder], Replacement],
) -> Callable[[EdgeOpT, EdgeBuilder], Replacement]:
    """As `decomposition`, in place of what there is. ValueError if that is nothing, or took a place itself."""
    check_parameters(function, "op", "b")
    for op_class in edge.op_classes(function):
        if op_class.name not in DECOMPOSITIONS:
            raise ValueError(f"{op_class.name} has no decomposition that another could replace")
        if op_class.name in REPLACED:
            raise ValueError(f"the decomposition of {op_class.name} has been replaced already")
        REPLACED.add(op_class.name)
        DECOMPOSITIONS[op_class.name] = function
    return function


@dataclass(frozen=True)
class Expansion:
    """The ops that an op means, in no block, in their order."""

    ops: Sequence[edge.EdgeOp]
    results: Sequence[SSAValue]
    """What stands for the op's results: results of `ops`, of the same types, or operands of the op."""


def expanded(op: edge.EdgeOp) -> Expansion | None:
    """What an op means by its decomposition; None without one for this call. RefusalError may say why there is none."""
    decompose = DECOMPOSITIONS.get(op.name)
    if decompose is None or op.has_run_time_numbers:
        return None
    builder = EdgeBuilder()
    made = decompose(op, builder)
    check_values(decompose, made, len(op.results))
    if made is None:
        return None
    results = [made] if isinstance(made, SSAValue) else made
    if is_of_plugin(decompose):
        _check_types(decompose, op.results, results)
    typed = [_with_type_of(old, new, builder) for old, new in zip(op.results, results, strict=True)]
    return Expansion(builder.ops, typed)


def _check_types(decompose: Callable[..., Any], old: Sequence[SSAValue], new: Sequence[SSAValue]) -> None:
    """WrongResultError if results cannot have the types of those that they replace; sizes may be open in one."""
    for before, after in zip(old, new, strict=True):
        wanted, found = before.type, after.type
        if not isinstance(wanted, TensorType) or not isinstance(found, TensorType):
            fits = wanted == found
        else:
            sizes = list(zip(wanted.get_shape(), found.get_shape(), strict=False))
            fits = (
                wanted.element_type == found.element_type
                and len(wanted.get_shape()) == len(found.get_shape())
                and all(a == b or DYNAMIC_INDEX in (a, b) for a, b in sizes)
            )
        if not fits:
            raise WrongResultError(decompose, f"has to return a {wanted}, the type of the op's result, not a {found}")


def _with_type_of(old: SSAValue, new: SSAValue, builder: EdgeBuilder) -> SSAValue:
    """A new result with the old one's type, which may have dimensions that inference cannot find."""
    if new.type == old.type or new.owner not in builder.ops:
        return new
    return Rewriter.replace_value_with_new_type(new, old.type)


def in_opmath(
    function: Callable[[EdgeOpT, EdgeBuilder], Replacement],
) -> Callable[[EdgeOpT, EdgeBuilder], Replacement]:
    """A decomposition that computes fp16 and bf16 in fp32, as ATen does (`at::opmath_type`): the same op between
    conversions, whose steps then round to fp32 and its result once. It stays below `@decomposition`, and says so in the
    docstring."""

    @wraps(function)
    def computed(op: EdgeOpT, b: EdgeBuilder) -> Replacement:
        if not any(is_half(value) for value in op.tensor_operands):
            return function(op, b)

        def wide(value: Any) -> Any:
            if isinstance(value, SSAValue):
                return b.cast(value, f32) if is_half(value) else value
            return f32 if value in HALVES else value  # the type that is asked for

        arguments = {name: wide(op.argument(name)) for name in (*op.row.schema.tensors, *op.row.schema.values)}
        results = b.calls(type(op), **arguments)
        return [b.convert(new, old) for new, old in zip(results, op.results, strict=True)]

    computed.__doc__ = f"{function.__doc__}; fp16 and bf16 in fp32"
    return computed


def is_half(value: SSAValue) -> bool:
    """Whether a value is a tensor of a type that is not computed in."""
    return isinstance(value.type, TensorType) and element_of(value) in HALVES


def static_shape(value: SSAValue) -> Shape | None:
    """The shape of `value`; None if a dimension is open."""
    shape = shape_of(value)
    return None if any(size < 0 for size in shape) else shape


def static_sizes(sizes: Sequence[edge.Size]) -> tuple[int, ...] | None:
    """Sizes among the arguments; None if one is only known when the program runs."""
    static = tuple(size for size in sizes if isinstance(size, int))
    return static if len(static) == len(sizes) else None
