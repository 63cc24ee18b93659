"""`plan-memory`: give every tensor of a plan its place in an arena."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import SSAValue

from xir.dialects import pte
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import RemarkKind, analysis, wanted
from xir.transforms.pte._arena import LARGEST_ARENA, Lifetime, extent, place

ALIGNMENT = 16
"""Of every tensor in an arena, in bytes."""

OVER_READ = 64
"""Bytes behind an arena that a delegate may read (XNN_EXTRA_BYTES of XNNPACK's `include/xnnpack.h`, rounded up)."""

ARENA = 1
"""The id of the arena of what a call computes. 0 stands for the constants."""

BUFFERS = 2
"""The id of the arena of mutable buffers, where ExecuTorch's `share_mutable_buffers` has them: a host that gives the
methods of a program one arena of this id lets them share."""


@dataclass(frozen=True)
class PlanMemoryPass(XirPass):
    """Place the tensors of each plan in an arena, in which tensors share bytes if their live ranges do not overlap.

    A live range spans from the first instruction that names a tensor to the last; an input's begins at the start, an
    output's lasts to the end. In a loop it is the whole loop, unless the tensor is used within one step only. Large
    tensors are placed first, each at the lowest offset that is free over its live range. If fewer bytes result, or too
    many ranges overlap to compare them all, tensors are placed in the program's order, each in the smallest sufficient
    gap.

    Mutable buffers live between calls. They have a second arena without sharing, with the same offset in each plan.

    ```mlir
    // before
    %0 = pte.tensor tensor<4xf32>
    // after
    %0 = pte.tensor tensor<4xf32> planned <1, 0>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.KERNELS

    alloc_inputs: bool = True
    """Place the inputs, so their contents are copied in; otherwise the caller provides their memory."""

    alloc_outputs: bool = True
    """Place the outputs, which are then valid until the next run; otherwise the caller provides their memory."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Plan each plan on its own; one that has arenas, such as one read from a file, is left as it is."""
        programs = [program for program in op.body.ops if isinstance(program, pte.ProgramOp)]
        if not programs:
            raise DiagnosticError(op, "there is no pte.program whose memory could be planned; lower-to-pte makes one")
        for program in programs:
            plans = [plan for plan in program.plans if plan.non_const_buffer_sizes is None]
            buffers = _Buffers.of(plans)
            for plan in plans:
                self.plan(plan, buffers)

    def plan(self, plan: pte.ExecutionPlanOp, buffers: _Buffers) -> None:
        """Set the place of each tensor of one plan, and the sizes of its arenas."""
        over_read = OVER_READ if any(True for _ in plan.delegates) else 0
        callers: set[SSAValue] = set()
        if not self.alloc_inputs:
            callers.update(plan.signature.inputs)
        if not self.alloc_outputs:
            callers.update(plan.signature.outputs)
        lifetimes = _lifetimes(plan)
        tensors = [
            op
            for op in plan.values
            if isinstance(op, pte.TensorOp)
            and op.data is None
            and op.buffer is None
            and op.value in lifetimes
            and op.value not in callers
        ]
        planned = [Lifetime(_aligned(op.nbytes), *lifetimes[op.value]) for op in tensors]
        if sum(lifetime.size for lifetime in planned) > LARGEST_ARENA:
            raise DiagnosticError(
                plan, f"its tensors take more memory than {LARGEST_ARENA} bytes, the most of an arena"
            )
        offsets = place(planned)
        if wanted(RemarkKind.ANALYSIS):
            say_what_it_takes(plan, planned, extent(planned, offsets))
        for op, offset in zip(tensors, offsets, strict=True):
            op.allocation_info = pte.AllocationAttr(ARENA, offset)
        sizes = [0]
        own = [op for op in plan.values if isinstance(op, pte.TensorOp) and op.buffer is not None]
        if planned or own:
            sizes.append(extent(planned, offsets) + over_read)
        if own:
            buffers.place(own)
            sizes.append(buffers.extent + over_read)
        plan.non_const_buffer_sizes = DenseArrayBase.from_list(i64, sizes)


def say_what_it_takes(plan: pte.ExecutionPlanOp, planned: Sequence[Lifetime], nbytes: int) -> None:
    """Remark the size of an arena, and the two that it lies between."""
    apart = sum(lifetime.size for lifetime in planned)
    at_once = most_at_once(planned)
    figures = {"Bytes": nbytes, "Tensors": len(planned), "BytesApart": apart, "BytesAtOnce": at_once}
    analysis(plan, "arena", f"{len(planned)} tensors share {nbytes} bytes", figures=figures)


def most_at_once(lifetimes: Sequence[Lifetime]) -> int:
    """The most bytes that live at one time, which no plan can do with less than."""
    changes = [(each.first, each.size) for each in lifetimes] + [(each.last + 1, -each.size) for each in lifetimes]
    return max(accumulate(size for _, size in sorted(changes)), default=0)


@dataclass(frozen=True)
class _Buffers:
    """The arena of mutable buffers, which is the same for all plans of a program."""

    offsets: Mapping[str, int]
    """By name."""
    extent: int

    @staticmethod
    def of(plans: Sequence[pte.ExecutionPlanOp]) -> _Buffers:
        """The buffers one behind the other. DiagnosticError where plans declare one in different ways."""
        first: dict[str, pte.TensorOp] = {}
        offsets: dict[str, int] = {}
        extent = 0
        for plan in plans:
            for op in plan.values:
                if not isinstance(op, pte.TensorOp) or (name := op.buffer) is None:
                    continue
                known = first.setdefault(name, op)
                if known.properties != op.properties:
                    raise DiagnosticError(
                        op, f"the mutable buffer '{name}' has another type or initial value elsewhere"
                    )
                if known is op:
                    offsets[name] = extent
                    extent += _aligned(op.nbytes)
                    if extent > LARGEST_ARENA:
                        raise DiagnosticError(op, f"the mutable buffers take more than {LARGEST_ARENA} bytes")
        return _Buffers(offsets, extent)

    def place(self, tensors: Iterable[pte.TensorOp]) -> None:
        """Give tensors of one plan the places of their buffers."""
        for op in tensors:
            op.allocation_info = pte.AllocationAttr(BUFFERS, self.offsets[op.buffer or ""])


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _lifetimes(plan: pte.ExecutionPlanOp) -> dict[SSAValue, tuple[int, int]]:
    """First and last instruction of each value that an instruction names or that goes in or out.

    Jumps forward leave instructions out, so the order of the text is enough. A jump back makes a loop: what lives
    before or behind it too lives in all of it, and so does what might be read in it before it is written.
    """
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
            return value in _named(op.args[-1:]) and value not in _named(op.args[:-2])
        case pte.DelegateCallOp():
            count = counts.get(op.delegate.root_reference.data)
            return count is not None and value not in op.args[:count]
        case _:
            return False


def _named(operands: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """The values that an instruction names, those in lists included."""
    for value in operands:
        yield value
        if isinstance(value.owner, pte.TensorListOp | pte.OptionalTensorListOp):
            yield from value.owner.items
