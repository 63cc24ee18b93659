"""Where ops come from while passes rewrite them: their locations, and the ops of the imported program behind them.

The place is the location, for people. The ops are numbers in the attribute `xir.origins`, for the compiler: what a
backend refuses late is taken back by them (`xir.transforms.delegate.forming.late_refusals`). They are there while a
pipeline runs that asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import UNKNOWN_LOC, BytesAttr, DenseArrayBase, i64
from xdsl.ir import Operation

from xir.ir.annotations import ORIGINS
from xir.ir.array_attributes import ints
from xir.ir.location import fused_location
from xir.ir.unverified import unverified
from xir.ir.walking import ops_in


def origins_of(op: Operation) -> tuple[int, ...]:
    """The numbers of the ops that `op` is made of; none unless the pipeline tracks them."""
    attribute = op.attributes.get(ORIGINS)
    if not isinstance(attribute, DenseArrayBase):
        return ()
    return ints(attribute)


def set_origins(op: Operation, numbers: Iterable[int]) -> None:
    """Say what `op` is made of."""
    op.attributes[ORIGINS] = _numbers(sorted(set(numbers)))


def _numbers(numbers: Iterable[int]) -> DenseArrayBase:
    """The attribute that holds the numbers."""
    data = BytesAttr(b"".join(number.to_bytes(8, "little") for number in numbers))
    return unverified(DenseArrayBase, elt_type=i64, data=data)


def inherit(op: Operation, *sources: Operation) -> None:
    """Give `op` the locations and origins of the ops that it replaces, or that it was added for.

    A single source is shared, not copied, so this is cheap if nothing is fused.
    """
    first = sources[0]
    same = all(source.location is first.location or source.location == first.location for source in sources[1:])
    op.location = first.location if same else fused_location(*(source.location for source in sources))
    known = [source.attributes[ORIGINS] for source in sources if ORIGINS in source.attributes]
    if not known:
        return
    if all(each is known[0] or each == known[0] for each in known[1:]):
        op.attributes[ORIGINS] = known[0]
    else:
        set_origins(op, (number for source in sources for number in origins_of(source)))


def inherit_missing(op: Operation, source: Operation) -> None:
    """Give `source`'s location and origins to `op` and the ops inside it that have none."""
    origins = source.attributes.get(ORIGINS)
    for inner in (op, *ops_in(op, Operation)):
        if inner.location == UNKNOWN_LOC:
            inner.location = source.location
        if origins is not None and inner.results and ORIGINS not in inner.attributes:
            inner.attributes[ORIGINS] = origins


def drop_origins(root: Operation) -> None:
    """Remove the numbers from all ops in `root`."""
    for op in ops_in(root, Operation):
        op.attributes.pop(ORIGINS, None)
