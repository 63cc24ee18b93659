"""How many bytes of tensors are needed at once while the nodes of a delegate run one after the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Generic, TypeVar

from xdsl.ir import Block, SSAValue

from xir.dialects import xnnpack
from xir.transforms.analysis.cost import tensor_bytes

Tensor = TypeVar("Tensor", bound=Hashable)


@dataclass(frozen=True)
class Step(Generic[Tensor]):
    """What runs at once: it needs what it reads and what it writes."""

    reads: tuple[Tensor, ...]
    writes: tuple[Tensor, ...]


def alive_bytes(
    steps: Sequence[Step[Tensor]], ends: Mapping[Tensor, int], bytes_of: Callable[[Tensor], int]
) -> list[int]:
    """The bytes that each step finds alive, from the step that writes a tensor to the last that reads it.

    A tensor that no step writes is there from the beginning. `ends` says of some how long they are needed at least.
    """
    first: dict[Tensor, int] = dict.fromkeys(ends, 0)
    last = dict(ends)
    for index, step in enumerate(steps):
        for tensor in step.reads:
            first.setdefault(tensor, 0)
            last[tensor] = max(last.get(tensor, index), index)
        for tensor in step.writes:
            first[tensor] = index
            last[tensor] = max(last.get(tensor, index), index)
    changes = [0] * (len(steps) + 1)
    for tensor, index in first.items():
        size = bytes_of(tensor)
        changes[index] += size
        changes[min(last[tensor] + 1, len(steps))] -= size
    return list(accumulate(changes[:-1]))


def steps_of(block: Block) -> list[Step[SSAValue]]:
    """The ops of a subgraph's block, in order; a reshaped tensor is the one that it lay in before."""
    return [
        Step(tuple(map(stored, op.operands)), tuple(value for value in op.results if stored(value) is value))
        for op in block.ops
    ]


def given_to(block: Block) -> dict[SSAValue, int]:
    """What a subgraph is given, as the tensors that are there from the beginning."""
    return dict.fromkeys(block.args, 0)


def stored(value: SSAValue) -> SSAValue:
    """The value whose memory a value is in."""
    while isinstance(value.owner, xnnpack.StaticReshapeOp):
        value = value.owner.input
    return value


def activation_bytes(value: SSAValue) -> int:
    """What a value takes of the memory for tensors; constants take none of it."""
    return 0 if isinstance(value.owner, xnnpack.ConstantOp) else tensor_bytes(value.type) or 0
