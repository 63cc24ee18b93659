"""How few bytes a plan's arena could have, and which tensors need them.

No arena is smaller than the bytes that live at one instruction, each tensor at the size that it takes there. A plan of
that size is the best that there is; above it, only a search can tell (`exact.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from xir.dialects import pte
from xir.ir.array_attributes import ints
from xir.ir.location import find_file_location
from xir.transforms.pte.memory.arenas import ARENA, aligned
from xir.transforms.pte.memory.lifetimes import lifetimes_of
from xir.transforms.pte.memory.placing import Lifetime, events, extent


class Moment(NamedTuple):
    """The instruction at which most bytes live, the first of several."""

    nbytes: int
    instruction: int


def most_at_once(lifetimes: Sequence[Lifetime]) -> Moment:
    """The most bytes that live at one time: a lower bound of every plan."""
    alive, most = 0, Moment(0, 0)
    for index, starts in events(lifetimes):
        alive += lifetimes[index].size if starts else -lifetimes[index].size
        if alive > most.nbytes:
            most = Moment(alive, lifetimes[index].first)
    return most


@dataclass(frozen=True)
class Alive:
    """A tensor that has bytes of the arena at the peak."""

    tensor: pte.TensorOp
    nbytes: int
    """In the arena, of which it takes a little more than it has."""
    role: str
    """What it is to the caller: `input 0`, `output 1`, or nothing."""
    location: LocationAttr
    """Where it comes from; where the instruction does that names it first, if that is all there is."""


@dataclass(frozen=True)
class Arena:
    """The arena of what one plan computes, as it is planned."""

    plan: pte.ExecutionPlanOp
    nbytes: int
    """What the file asks for, with what delegates may read behind it."""
    lower_bound: int
    """What every plan needs at least, the same included."""
    instruction: int
    """Where the peak is. The count of instructions where there are none."""
    behind: int = 0
    """How many of these bytes lie behind all tensors, for delegates to read."""
    is_solved: bool = False
    """Whether the bound is a solver's, and larger than what lives at the peak."""

    @property
    def gap(self) -> float:
        """How much larger than the bound the arena is, as a share of it."""
        return self.nbytes / self.lower_bound - 1 if self.lower_bound else 0.0

    def bounded(self, lower_bound: int) -> Arena:
        """The same, knowing of another bound."""
        return self if lower_bound <= self.lower_bound else replace(self, lower_bound=lower_bound, is_solved=True)

    @cached_property
    def instructions(self) -> list[pte.InstructionOp]:
        """Of the plan, in order."""
        return [op for chain in self.plan.chains for op in chain.instructions]

    @property
    def at_peak(self) -> pte.InstructionOp | None:
        """The instruction of the peak; None where there are none."""
        return self.instructions[self.instruction] if self.instruction < len(self.instructions) else None

    @property
    def calls(self) -> str:
        """What that instruction calls: a kernel, or a delegate of a backend."""
        match self.at_peak:
            case pte.KernelCallOp() as op:
                return op.kernel.data
            case pte.DelegateCallOp() as op:
                return next(each.id.data for each in self.plan.delegates if each.sym_name == op.delegate.root_reference)
            case None:
                return "return"
            case op:
                return op.name

    @cached_property
    def alive(self) -> list[Alive]:
        """The tensors that live at the peak, the largest first."""
        lifetimes = lifetimes_of(self.plan)
        signature = self.plan.signature
        roles = {value: f"output {index}" for index, value in enumerate(signature.outputs)}
        roles |= {value: f"input {index}" for index, value in enumerate(signature.inputs)}
        first: dict[SSAValue, pte.InstructionOp] = {}
        for op in self.instructions:
            for value in pte.named_values(op.operands):
                first.setdefault(value, op)
        found: list[Alive] = []
        for tensor in _placed(self.plan):
            value = tensor.value
            begin, end = lifetimes.get(value, (1, 0))
            if not tensor.nbytes or not begin <= self.instruction <= end:
                continue
            location = tensor.location
            if find_file_location(location) is None and value not in signature.inputs and value in first:
                location = first[value].location
            found.append(Alive(tensor, aligned(tensor.nbytes), roles.get(value, ""), location))
        return sorted(found, key=lambda each: -each.nbytes)


def arena_of(plan: pte.ExecutionPlanOp) -> Arena | None:
    """The arena of a plan that has its places; None if nothing is in one."""
    if plan.non_const_buffer_sizes is None:
        return None
    sizes = ints(plan.non_const_buffer_sizes)
    if len(sizes) <= ARENA or not sizes[ARENA]:
        return None
    lifetimes = lifetimes_of(plan)
    placed = [tensor for tensor in _placed(plan) if tensor.value in lifetimes]
    planned = [Lifetime(aligned(tensor.nbytes), *lifetimes[tensor.value]) for tensor in placed]
    offsets = [tensor.allocation_info.offset.data for tensor in placed if tensor.allocation_info is not None]
    most = most_at_once(planned)
    # What is behind all tensors every plan has.
    behind = max(sizes[ARENA] - extent(planned, offsets), 0)
    return Arena(plan, sizes[ARENA], most.nbytes + behind, most.instruction, behind)


def _placed(plan: pte.ExecutionPlanOp) -> list[pte.TensorOp]:
    """The tensors that have a place in the arena of what is computed."""
    tensors = (op for op in plan.values if isinstance(op, pte.TensorOp))
    return [op for op in tensors if op.allocation_info is not None and op.allocation_info.memory_id.data == ARENA]
