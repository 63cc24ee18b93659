"""Values to make tensors as long as a dynamic dimension of (`dynamic_sizes.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from xir.dialects.delegate import RegionOp
from xir.dialects.xnnpack.base import FLOATS, element_type
from xir.ir.tensor_types import has_dynamic_size
from xir.transforms.analysis.sizes import SymbolicSizes


class Donors:
    """The floating-point values of a function's block that have dynamic dimensions."""

    def __init__(self, block: Block, sizes: SymbolicSizes):
        self.block = block
        self.sizes = sizes

    def find(self, size: int, element: Attribute, before: Operation) -> tuple[SSAValue, int] | None:
        """A value with a dimension of the given symbolic size, and which that is: an argument of the function, rather
        one of type `element`, or the first result of another op, if it is there `before` an op."""
        found = self.by_size.get(size, ())
        of_type = (value for value in found if isinstance(value, BlockArgument) and element_type(value) == element)
        value = next(of_type, None) or next((value for value in found if self.is_before(value, before)), None)
        return None if value is None else (value, self.sizes.known(value).index(size))

    @cached_property
    def places(self) -> dict[Operation, int]:
        """The order of the ops, also inside of regions; rewriting may take them away."""
        return {op: place for place, op in enumerate(in_order(self.block))}

    @cached_property
    def by_size(self) -> dict[int, list[SSAValue]]:
        """Size -> the values with such a dimension, in their order."""
        found: dict[int, list[SSAValue]] = {}
        for value in (*self.block.args, *(result for op in self.places for result in op.results)):
            if has_dynamic_size(value) and element_type(value) in FLOATS:
                for size in set(self.sizes.known(value)):
                    found.setdefault(size, []).append(value)
        return found

    def is_before(self, value: SSAValue, op: Operation) -> bool:
        """Whether a value is an argument, or the result of an op that stands, still, before another, which sees it."""
        owner = value.owner
        if isinstance(owner, Block):
            return True
        seen = owner.parent is not None and (owner.parent is op.parent or not isinstance(owner.parent_op(), RegionOp))
        return seen and self.places[owner] < self.places[op]


def in_order(block: Block) -> Iterator[Operation]:
    """A block's ops, each region behind those in it: they come before its results."""
    for op in block.ops:
        if isinstance(op, RegionOp):
            yield from op.body.block.ops
        yield op
