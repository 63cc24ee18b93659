"""What a decomposition is, and what it builds with.

A decomposition takes one edge op and returns the values that replace its results, having built edge ops that compute
them; or None, if it has nothing to say to this call. What it builds may have a decomposition of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import Shape, element_of, shape_of

Size = int | SSAValue
"""A dimension: a number, or the value that holds it when the program runs."""


class EdgeBuilder:
    """Collects the edge ops that a decomposition builds."""

    def __init__(self) -> None:
        self.ops: list[edge.EdgeOp] = []

    def call(self, name: str, /, **args: Any) -> SSAValue:
        """Call `edge.<name>`; its first result."""
        return self.calls(name, **args)[0]

    def calls(self, name: str, /, **args: Any) -> Sequence[SSAValue]:
        """Call `edge.<name>`; its results."""
        op = edge.op(name).build_from(args)
        self.ops.append(op)
        return op.results

    def size(self, value: SSAValue, dim: int) -> Size:
        """The size of a dimension, which may count from the end."""
        shape = shape_of(value)
        dim %= len(shape)
        return shape[dim] if shape[dim] >= 0 else self.call("sym_size.int", self=value, dim=dim)

    def sizes(self, value: SSAValue) -> list[Size]:
        """The size of every dimension."""
        return [self.size(value, dim) for dim in range(len(shape_of(value)))]

    def product(self, sizes: Sequence[Size]) -> Size:
        """The product of sizes."""
        static = math.prod(size for size in sizes if isinstance(size, int))
        result: Size = static
        for size in sizes:
            if isinstance(size, SSAValue):
                result = size if result == 1 else self.call("executorch_prim.mul.Scalar", a=size, b=result)
        return result

    def view(self, value: SSAValue, size: Sequence[Size]) -> SSAValue:
        """The elements in another shape; nothing is built when it is the shape already."""
        if tuple(size) == shape_of(value):
            return value
        return self.call("view", self=value, size=list(size))

    def convert(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """The value in the element type of another; nothing is built when it has that already."""
        element = element_of(like)
        return value if element_of(value) == element else self.call("_to_copy", self=value, dtype=element)


Decomposition = Callable[[edge.EdgeOp, EdgeBuilder], "SSAValue | Sequence[SSAValue] | None"]

DECOMPOSITIONS: dict[str, Decomposition] = {}
"""Edge op name -> its decomposition. The docstring says in formulas what it builds."""


def decomposition(*names: str) -> Callable[[Decomposition], Decomposition]:
    """Register a decomposition of the edge ops of these names."""

    def register(function: Decomposition) -> Decomposition:
        for name in names:
            if name in DECOMPOSITIONS or name not in edge.OPS:
                raise ValueError(f"{name} is not an edge op, or has a decomposition already")
            DECOMPOSITIONS[name] = function
        return function

    return register


def static_shape(value: SSAValue) -> Shape | None:
    """The shape of `value`; None if a dimension is open."""
    shape = shape_of(value)
    return None if any(size < 0 for size in shape) else shape
