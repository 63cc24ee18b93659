"""How long the tensors of a plan live, in instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from xir.dialects import pte


def lifetimes_of(plan: pte.ExecutionPlanOp) -> dict[SSAValue, tuple[int, int]]:
    """First and last instruction of each value that an instruction names or that goes in or out.

    Jumps forward leave instructions out, so the order of the text is enough. A jump back makes a loop: what lives
    before or behind it too lives in all of it, and so does what might be read in it before it is written.
    """
    instructions = [op for chain in plan.chains for op in chain.instructions]
    end = len(instructions)
    lifetimes: dict[SSAValue, tuple[int, int]] = dict.fromkeys(plan.signature.inputs, (0, 0))
    for number, op in enumerate(instructions):
        for value in pte.named_values(op.operands):
            first, _ = lifetimes.get(value, (number, number))
            lifetimes[value] = (first, number)
    for value in plan.signature.outputs:
        first, _ = lifetimes.get(value, (0, end))
        lifetimes[value] = (first, end)
    counts = {each.sym_name.data: len(each.graph.operands) for each in plan.delegates if each.graph is not None}
    for start, stop in _loops(instructions):
        for value, (first, last) in lifetimes.items():
            if last < start or first > stop:
                continue
            if first < start or last > stop or not _writes(instructions[first], value, counts):
                lifetimes[value] = (min(first, start), max(last, stop))
    return lifetimes


def _loops(instructions: Sequence[pte.InstructionOp]) -> list[tuple[int, int]]:
    """First and last instruction of each loop, inner ones first."""
    jumps = ((number, op) for number, op in enumerate(instructions) if isinstance(op, pte.JumpFalseOp))
    found = [(op.destination, number) for number, op in jumps if op.destination <= number]
    return sorted(found, key=lambda loop: loop[1] - loop[0])


def _writes(op: pte.InstructionOp, value: SSAValue, counts: Mapping[str, int]) -> bool:
    """Whether an instruction that names a value writes it without reading it. `counts` are the delegates' inputs."""
    match op:
        case pte.KernelCallOp():
            # The out tensors come last, and once more as what the kernel returns.
            return value in pte.named_values(op.args[-1:]) and value not in pte.named_values(op.args[:-2])
        case pte.DelegateCallOp():
            count = counts.get(op.delegate.root_reference.data)
            return count is not None and value not in op.args[:count]
        case _:
            return False
