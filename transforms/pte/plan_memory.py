"""`plan-memory`: give every tensor of a plan its place in an arena."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import SSAValue

from xir.dialects import pte
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import RemarkKind, analysis, wanted
from xir.transforms.pte.memory.arenas import ARENA, BUFFERS, OVER_READ, aligned
from xir.transforms.pte.memory.bounds import most_at_once
from xir.transforms.pte.memory.exact import SolverMissingError, solve
from xir.transforms.pte.memory.lifetimes import lifetimes_of
from xir.transforms.pte.memory.placing import LARGEST_ARENA, Lifetime, extent, place
from xir.transforms.pte.memory.remarks import SolvedArena


@dataclass(frozen=True)
class PlanMemoryPass(XirPass):
    """Place the tensors of each plan in an arena, in which tensors share bytes if their live ranges do not overlap.

    A live range spans from the first instruction that names a tensor to the last; an input's begins at the start, an
    output's lasts to the end. In a loop it is the whole loop, unless the tensor is used within one step only. Large
    tensors are placed first, each at the lowest offset that is free over its live range. If fewer bytes result, or too
    many ranges overlap to compare them all, tensors are placed in the program's order, each in the smallest sufficient
    gap.

    No plan needs fewer bytes than those that live at one instruction. Where the plan is above that, `exact` asks a
    solver, OR-tools' CP-SAT, for the smallest one there is, and a remark tells what it found.

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

    memory_plan: Literal["greedy", "exact"] = "greedy"
    """`greedy` is the plan above; `exact` asks a solver where that may be too large, which needs `xir[solver]`."""

    solver_seconds: float = 10.0
    """How long the solver may search for one plan, in steps that take a second or so: every run gives the same."""

    def __post_init__(self) -> None:
        if not 0 < self.solver_seconds < math.inf:
            raise ValueError(f"solver-seconds is a number above 0, not {self.solver_seconds:g}")

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Plan each plan on its own; one that has arenas, such as one read from a file, is left as it is."""
        programs = [program for program in op.body.ops if isinstance(program, pte.ProgramOp)]
        if not programs:
            raise DiagnosticError(op, "there is no pte.program whose memory could be planned; lower-to-pte makes one")
        for program in programs:
            plans = [plan for plan in program.plans if plan.non_const_buffer_sizes is None]
            buffers = _Buffers.of(plans)
            for plan in plans:
                self.plan(plan, buffers, ctx)

    def plan(self, plan: pte.ExecutionPlanOp, buffers: _Buffers, ctx: XirContext) -> None:
        """Set the place of each tensor of one plan, and the sizes of its arenas."""
        over_read = OVER_READ if any(True for _ in plan.delegates) else 0
        callers: set[SSAValue] = set()
        if not self.alloc_inputs:
            callers.update(plan.signature.inputs)
        if not self.alloc_outputs:
            callers.update(plan.signature.outputs)
        lifetimes = lifetimes_of(plan)
        tensors = [
            op
            for op in plan.values
            if isinstance(op, pte.TensorOp)
            and op.data is None
            and op.buffer is None
            and op.value in lifetimes
            and op.value not in callers
        ]
        planned = [Lifetime(aligned(op.nbytes), *lifetimes[op.value]) for op in tensors]
        if sum(lifetime.size for lifetime in planned) > LARGEST_ARENA:
            raise DiagnosticError(
                plan, f"its tensors take more memory than {LARGEST_ARENA} bytes, the most of an arena"
            )
        offsets = place(planned)
        if self.memory_plan == "exact":
            offsets = self.solved(plan, planned, offsets, over_read, ctx)
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

    def solved(
        self,
        plan: pte.ExecutionPlanOp,
        planned: Sequence[Lifetime],
        offsets: Sequence[int],
        over_read: int,
        ctx: XirContext,
    ) -> Sequence[int]:
        """The places that a solver finds, where those that there are need more than what lives at once."""
        before, bound = extent(planned, offsets), most_at_once(planned).nbytes
        if before == bound:
            return offsets
        try:
            found = solve(planned, offsets, bound, self.solver_seconds)
        except SolverMissingError as error:
            raise DiagnosticError(plan, str(error)) from None
        after = extent(planned, found.offsets)
        numbers = (each + over_read for each in (before, after, found.lower_bound))
        ctx.diagnostics.emit(SolvedArena.of(plan, *numbers))
        return found.offsets


def say_what_it_takes(plan: pte.ExecutionPlanOp, planned: Sequence[Lifetime], nbytes: int) -> None:
    """Remark the size of an arena, and the two that it lies between."""
    apart = sum(lifetime.size for lifetime in planned)
    at_once = most_at_once(planned).nbytes
    figures = {"Bytes": nbytes, "Tensors": len(planned), "BytesApart": apart, "BytesAtOnce": at_once}
    analysis(plan, "arena", f"{len(planned)} tensors share {nbytes} bytes", figures=figures)


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
                    extent += aligned(op.nbytes)
                    if extent > LARGEST_ARENA:
                        raise DiagnosticError(op, f"the mutable buffers take more than {LARGEST_ARENA} bytes")
        return _Buffers(offsets, extent)

    def place(self, tensors: Iterable[pte.TensorOp]) -> None:
        """Give tensors of one plan the places of their buffers."""
        for op in tensors:
            op.allocation_info = pte.AllocationAttr(BUFFERS, self.offsets[op.buffer or ""])
