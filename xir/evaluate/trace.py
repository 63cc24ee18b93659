"""What a function computed on the way, kept small: to find the first op whose value a pass has changed.

Passes fuse, move and lay out, so that a value of the module behind a pass need not be one of the module before it, nor
have its shape. A value is known again by what a permutation keeps: how many elements there are, their sum, the sum of
their magnitudes and squares, and the smallest and largest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from xir.dialects import delegate, edge, xnnpack
from xir.evaluate import quantized
from xir.evaluate.evaluator import Evaluator
from xir.ir.context import XirContext

Print = tuple[float, ...]
"""Elements, sum, magnitudes, squares, smallest, largest."""


CALLS = 2
"""How often a function with state is called: what it keeps wrongly shows in the next call."""


@dataclass(frozen=True)
class Trace:
    """What a function computes: its results, and what it writes to buffers; with buffers, in several calls."""

    outputs: list[Any]
    """As `outputs_of` names them, those of one call behind those of the one before."""
    prints: dict[SSAValue, Print] = field(repr=False)
    """Of each value but constants, in the order of evaluation."""


def outputs_of(function: FuncOp) -> list[tuple[str, SSAValue]]:
    """What a call leaves behind, as messages call it: results in their order, then what buffers get, by their names."""
    last = function.body.block.last_op
    assert last is not None
    results = [(f"output {index}", value) for index, value in enumerate(last.operands)]
    return results + [(f"buffer '{op.declared.buffer.data}'", op.value) for op in updates_of(function)]


def name_of(function: FuncOp, output: int) -> str:
    """What an output of a trace is called."""
    names = [name for name, _ in outputs_of(function)] or [f"output {output}"]
    call, index = divmod(output, len(names))
    return names[index] + (f" of call {call + 1}" if call else "")


def updates_of(function: FuncOp) -> list[edge.UpdateBufferOp]:
    """What writes to buffers, by the names of these."""
    updates = [op for op in function.body.block.ops if isinstance(op, edge.UpdateBufferOp)]
    return sorted(updates, key=lambda op: op.declared.buffer.data)


def called(function: FuncOp, evaluator: Evaluator, inputs: Sequence[Any]) -> list[Any]:
    """What calls of a function leave behind: one call, or several on the same inputs if it has state."""
    written = [op.declared.buffer.data for op in updates_of(function)]
    state: dict[str, Any] = {}
    outputs: list[Any] = []
    for _ in range(CALLS if written else 1):
        outputs += evaluator.run(function, inputs, state)
        outputs += [state[name] for name in written]
        evaluator.observe = None
    return outputs


def traced(function: FuncOp, ctx: XirContext, inputs: Sequence[Any], *, rounds: bool) -> Trace:
    """Evaluate a function, and keep what its values were in the first call."""
    prints: dict[SSAValue, Print] = {}

    def observe(value: SSAValue, computed: Any) -> None:
        if isinstance(computed, torch.Tensor) and not isinstance(value.owner, edge.ConstantOp | xnnpack.ConstantOp):
            prints[value] = print_of(computed, value)

    for argument, value in zip(function.body.block.args, inputs, strict=True):
        if isinstance(value, torch.Tensor):
            observe(argument, value)
    return Trace(called(function, Evaluator(ctx, observe, rounds=rounds), inputs), prints)


def print_of(computed: torch.Tensor, value: SSAValue) -> Print:
    """What a value is known by; a quantised one by its numbers."""
    if isinstance(value.type, TensorType):
        computed = quantized.numbers(computed, value.type.element_type)
    numbers = torch.nan_to_num(computed.double(), nan=0.0, posinf=1e30, neginf=-1e30)
    if not numbers.numel():
        return (0.0,) * 6
    ends = numbers.min(), numbers.max()
    sums = numbers.sum(), numbers.abs().sum(), (numbers * numbers).sum()
    return (float(numbers.numel()), *map(float, sums), *map(float, ends))


def alike(a: Print, b: Print, tolerance: float) -> bool:
    """Whether two values may be one, but for a relative difference and the order of their elements."""
    if a[0] != b[0]:
        return False
    magnitude = max(abs(a[4]), abs(a[5]), abs(b[4]), abs(b[5]), 1e-300)
    scales = (a[2] + b[2], a[2] + b[2], a[3] + b[3], magnitude, magnitude)
    return all(abs(x - y) <= tolerance * max(scale, 1e-300) for x, y, scale in zip(a[1:], b[1:], scales, strict=True))


def first_difference(
    function: FuncOp, before: Mapping[SSAValue, Print], after: Trace, output: int, tolerance: float
) -> Operation:
    """The first op in `function` whose result no value before the pass was, of those that an output depends on.

    Its operands are all known from before. If there is none, only the order of elements differs: the op that makes the
    output is named.
    """
    known = list(before.values())
    explained = {
        value: any(alike(print_, other, tolerance) for other in known) for value, print_ in after.prints.items()
    }
    ends = outputs_of(function)
    end = through(ends[output % len(ends)][1])
    seen, pending = set[SSAValue](), [end]
    changed: list[Operation] = []
    while pending:
        value = through(pending.pop())
        if value in seen or explained.get(value, True) or not isinstance(value.owner, Operation):
            continue
        seen.add(value)
        pending += value.owner.operands
        if all(explained.get(through(operand), True) for operand in value.owner.operands):
            changed.append(value.owner)
    order = {value: number for number, value in enumerate(after.prints)}
    if changed:
        return min(changed, key=lambda op: order.get(op.results[0], 0))
    last = function.body.block.last_op
    assert last is not None
    return end.owner if isinstance(end.owner, Operation) else last


def through(value: SSAValue) -> SSAValue:
    """The value that this one is, inside a delegate that yields it or outside of one that takes it."""
    while True:
        owner = value.owner
        if isinstance(owner, delegate.RegionOp):
            value = owner.yield_op.operands[owner.results.index(value)]  # pyright: ignore[reportArgumentType]
        elif isinstance(owner, delegate.GraphOp):
            value = owner.block_outputs[owner.results.index(value)]  # pyright: ignore[reportArgumentType]
        elif (
            isinstance(owner, Block)
            and isinstance(value, BlockArgument)
            and isinstance(parent := owner.parent_op(), delegate.GraphOp)
        ):
            value = parent.operands[value.index]
        else:
            return value
