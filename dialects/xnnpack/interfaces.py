"""What passes ask of nodes: op interfaces, as xDSL traits.

Each node says of every interface whether it has it, through `decide`, whose arguments have no defaults: who adds a node
cannot forget one. Two more interfaces are base classes, because they come with fields: `BoundedOp`, whose output is
clamped, and `WeightedOp`, which has a filter and a bias.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from xdsl.ir import Operation
from xdsl.traits import OpTrait

Box = tuple[tuple[int, int], ...]
"""(offset, size) in each dimension of a tensor."""

BoxesFunction = Callable[[Any, Box], "Sequence[Box] | None"]
"""For an op and a box of its result: the box of each operand that it takes, or None if there is none."""


class Movement(Enum):
    """What the elements of a node's result are."""

    PERMUTES = "every element of its operand, once"
    TAKES = "some of the elements of its operand"
    JOINS = "elements of its operands and constants, by their place"
    PICKS = "elements of its operand, by their value: what keeps the order of numbers is the same before and after"


@dataclass(frozen=True)
class MovesElements(OpTrait):
    """The elements of the result are elements of the operands, or constants."""

    movement: Movement


@dataclass(frozen=True)
class AnyLayout(OpTrait):
    """The node computes the same in any order of the dimensions, once its properties are permuted along."""

    by_dimension: tuple[str, ...] = ()
    """The array properties with an element for each dimension."""
    dimension: str | None = None
    """The property that names a dimension."""


@dataclass(frozen=True)
class Elementwise(OpTrait):
    """Each element of the result is a function of those at its place in the (broadcast) operands."""


@dataclass(frozen=True)
class SlicesOperands(OpTrait):
    """A box of the result needs no more than a box of each operand."""

    boxes: BoxesFunction


@dataclass(frozen=True)
class Decided(OpTrait):
    """Which interfaces the node has was decided."""


def decide(
    *, movement: Movement | None, layout: AnyLayout | None, elementwise: bool, boxes: BoxesFunction | None
) -> tuple[OpTrait, ...]:
    """The traits of a node: of each interface what it is for this node, None or False if it does not have it."""
    traits: list[OpTrait] = [Decided()]
    if movement is not None:
        traits.append(MovesElements(movement))
    if layout is not None:
        traits.append(layout)
    if elementwise:
        traits.append(Elementwise())
    if boxes is not None:
        traits.append(SlicesOperands(boxes))
    return tuple(traits)


def movement_of(op: Operation) -> Movement | None:
    """What a node's result holds of its operands' elements; None if it computes."""
    trait = op.get_trait(MovesElements)
    return None if trait is None else trait.movement


def moves_data(op: Operation) -> bool:
    """Whether a node computes nothing: which elements its result has depends on their places alone."""
    return movement_of(op) not in (None, Movement.PICKS)


def rearranges(op: Operation) -> bool:
    """Whether all elements of a node's result are elements of its one operand, chosen by their places."""
    return movement_of(op) in (Movement.PERMUTES, Movement.TAKES)
