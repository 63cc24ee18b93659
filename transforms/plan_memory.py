"""`plan-memory`: give every tensor of a plan its place in an arena."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import SSAValue

from xir.dialects import pte
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.passes import XirPass

ALIGNMENT = 16
"""Of every tensor in an arena, in bytes."""

OVER_READ = 64
"""Bytes behind an arena that a delegate may read (XNN_EXTRA_BYTES of XNNPACK's `include/xnnpack.h`, rounded up)."""

ARENA = 1
"""The id of the only arena. 0 stands for the constants."""


@dataclass(frozen=True)
class PlanMemoryPass(XirPass):
    """Place the tensors of each plan in one arena, where those that live at different times share bytes.

    A tensor lives from the first instruction that names it to the last; inputs from the start, outputs to the end.
    Large tensors are placed first, each at the lowest offset that is free while it lives.

    ```mlir
    // before
    %0 = pte.tensor tensor<4xf32>
    // after
    %0 = pte.tensor tensor<4xf32> planned <1, 0>
    ```
    """

    alloc_inputs: bool = True
    """Place the inputs, whose contents are then copied in; otherwise the caller hands their memory over."""

    alloc_outputs: bool = True
    """Place the outputs, which are then valid until the next run; otherwise the caller hands their memory over."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Plan each plan on its own; one that has arenas, such as one read from a file, is left as it is."""
        programs = [program for program in op.body.ops if isinstance(program, pte.ProgramOp)]
        if not programs:
            raise DiagnosticError(op, "there is no pte.program whose memory could be planned; lower-to-pte makes one")
        for program in programs:
            for plan in program.plans:
                if plan.non_const_buffer_sizes is None:
                    self.plan(plan)

    def plan(self, plan: pte.ExecutionPlanOp) -> None:
        """Set the place of each tensor of one plan, and the sizes of its arenas."""
        callers: set[SSAValue] = set()
        if not self.alloc_inputs:
            callers.update(plan.signature.inputs)
        if not self.alloc_outputs:
            callers.update(plan.signature.outputs)
        lifetimes = _lifetimes(plan)
        planned = [
            _Lifetime(op, *lifetimes[op.value])
            for op in plan.values
            if isinstance(op, pte.TensorOp) and op.data is None and op.value in lifetimes and op.value not in callers
        ]
        sizes = [0]
        if planned:
            over_read = OVER_READ if any(True for _ in plan.delegates) else 0
            sizes.append(_place(planned) + over_read)
        plan.non_const_buffer_sizes = DenseArrayBase.from_list(i64, sizes)


@dataclass(frozen=True)
class _Lifetime:
    """A tensor, and the numbers of the first and of the last instruction during which it must keep its bytes."""

    tensor: pte.TensorOp
    first: int
    last: int

    @property
    def size(self) -> int:
        return -(-self.tensor.nbytes // ALIGNMENT) * ALIGNMENT


def _lifetimes(plan: pte.ExecutionPlanOp) -> dict[SSAValue, tuple[int, int]]:
    """First and last instruction of each value that an instruction names or that goes in or out."""
    instructions = [op for chain in plan.chains for op in chain.instructions]
    end = len(instructions)
    lifetimes: dict[SSAValue, tuple[int, int]] = dict.fromkeys(plan.signature.inputs, (0, 0))
    for number, op in enumerate(instructions):
        for value in _named(op.operands):
            first, _ = lifetimes.get(value, (number, number))
            lifetimes[value] = (first, number)
    for value in plan.signature.outputs:
        first, _ = lifetimes.get(value, (0, end))
        lifetimes[value] = (first, end)
    if any(isinstance(op, pte.JumpFalseOp) for op in instructions):
        # The order of the text is not the order of execution.
        return dict.fromkeys(lifetimes, (0, end))
    return lifetimes


def _named(operands: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """The values that an instruction names, those in lists included."""
    for value in operands:
        yield value
        if isinstance(value.owner, pte.TensorListOp | pte.OptionalTensorListOp):
            yield from value.owner.items


def _place(planned: Sequence[_Lifetime]) -> int:
    """Give each tensor an offset in the arena. Returns the bytes that they take in all."""
    places: list[tuple[int, int]] = []
    """(offset, end) of the tensors placed so far."""
    alive: dict[int, list[int]] = {}
    """Instruction -> the indices in `places` of the tensors that live then."""
    size = 0
    for item in sorted(planned, key=lambda item: -item.size):
        steps = range(item.first, item.last + 1)
        neighbours = {index for step in steps for index in alive.get(step, ())}
        offset = _lowest_gap([places[index] for index in neighbours], item.size)
        item.tensor.allocation_info = pte.AllocationAttr(ARENA, offset)
        for step in steps:
            alive.setdefault(step, []).append(len(places))
        places.append((offset, offset + item.size))
        size = max(size, offset + item.size)
    return size


def _lowest_gap(taken: list[tuple[int, int]], size: int) -> int:
    """The lowest offset from which `size` bytes are free of the ranges `taken`."""
    offset = 0
    for start, end in sorted(taken):
        if offset + size <= start:
            break
        offset = max(offset, end)
    return offset
