"""What XNNPACK did not round: values of a short type that it keeps in fp32 between two nodes.

Where it has no kernel of a node for fp16 or bf16 on a processor, it computes that node and those behind it in fp32, and
rounds only what leaves the graph (`src/subgraph/rewrites/cvt_to_fp32.cc`). Resized images are such nodes on x86. What
is known of an operand then is the number that it would be rounded to: the kernel had one half a unit away at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import torch
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.interfaces import movement_of
from xir.evaluate.nodes import evaluate

Tensor = torch.Tensor

SQUARES = frozenset({"mean_squared", "sum_squared"})
"""Reductions that an operand enters twice."""

LARGEST = torch.finfo(torch.float16).max
"""What is further from 0 than this may become infinite."""


def through_unrounded(
    op: Operation,
    operands: Sequence[Tensor],
    expected: Tensor,
    sums: Tensor | None,
    half_units: dict[type[Attribute], tuple[float, float]],
) -> Tensor:
    """How far each element of a result may be off since its operands were not rounded.

    `sums` are the sums of the magnitudes of the products, of a node that adds up products. `half_units` are how far
    numbers of a short type are from what is rounded to them, relative and at least.
    """
    off = [half_units.get(type(short)) if (short := unrounded_type(each)) else None for each in op.operands]
    known = [each for each in off if each is not None]
    is_picked = movement_of(op) is not None and type(element_type(op.results[0])) in half_units
    if not known or is_picked:
        return torch.zeros(())
    relative = sum(each for each, _ in known)
    if sums is not None:
        twice = isinstance(op, xnnpack.StaticReduceOp) and op.kind.data in SQUARES
        return (2 if twice else 1) * relative * sums
    if isinstance(op, xnnpack.SoftmaxOp):
        # All terms may be off by e^d, and so may be their sum, the other way.
        furthest = operands[0].double().abs().nan_to_num(posinf=0.0).amax(-1, keepdim=True)
        return expected.double().abs() * torch.expm1(2 * relative * furthest)
    ends: list[list[Tensor]] = []
    for value, distance in zip(operands, off, strict=True):
        ends.append([value] if distance is None else around(value.double(), *distance))
    found = torch.zeros_like(expected, dtype=torch.float64)
    for corner in product(*ends):
        moved = (evaluate(op, corner)[0].double() - expected.double()).abs()
        found = torch.maximum(found, moved.nan_to_num(nan=0.0, posinf=torch.inf))
    return found


def around(value: Tensor, relative: float, least: float) -> list[Tensor]:
    """The ends of what is rounded to a value. What is infinite may have been beyond the largest number of the type."""
    off = value.abs() * relative + least
    beyond = torch.copysign(torch.full_like(value, LARGEST), value)
    return [torch.where(value.isinf(), beyond, value - off), torch.where(value.isinf(), value, value + off)]


def unrounded_type(value: SSAValue) -> Attribute | None:
    """The short type to which a value that a node of the graph computes may not have been rounded.

    What comes from outside was rounded. What is widened to fp32 is as it was before.
    """
    if not isinstance(value.owner, xnnpack.NodeOp):
        return None
    if isinstance(value.owner, xnnpack.ConvertOp) and value.owner.widens:
        return unrounded_type(value.owner.input)
    return element_type(value)
