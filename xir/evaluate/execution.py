"""Running the program that a module becomes."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64

from xir.dialects import pte
from xir.evaluate.trace import CALLS
from xir.ir.context import XirContext
from xir.transforms.pte.memory.arenas import ARENA, BUFFERS, OVER_READ, aligned


def run_program(
    module: ModuleOp, ctx: XirContext, inputs: Mapping[str, Sequence[Any]], written: Mapping[str, Sequence[str]]
) -> dict[str, list[Any]]:
    """What each method computes on its inputs, by XNNPACK: its outputs, and what the buffers hold that it has written;
    of a method that writes any, of `CALLS` calls.

    XirRuntimeError if a method does not run; what the emitter raises if there is no file to be made of the program.
    """
    from xir.runtime import Runtime

    data = file_of(module, ctx)
    # It is a model that is compiled, whose own operators run in its compiler as they do in the model.
    called = {op.kernel.data for op in module.walk() if isinstance(op, pte.KernelCallOp)}
    program = Runtime.get().load_program(data, allow_ops=sorted(called))
    computed: dict[str, list[Any]] = {}
    for name, values in inputs.items():
        method = program.load_method(name)
        computed[name] = []
        for _ in range(CALLS if written[name] else 1):
            computed[name] += method.execute(values)
            computed[name] += map(method.state.state_dict().__getitem__, written[name])
    return computed


def file_of(module: ModuleOp, ctx: XirContext) -> bytes:
    """The bytes of the file that a program of calls becomes. Where memory is not planned, tensors share none."""
    from xir.emitter import emit

    planned = module.clone()
    place_apart(planned)
    stream = io.BytesIO()
    emit(planned, ctx, stream)
    return stream.getvalue()


def place_apart(module: ModuleOp) -> None:
    """Give each tensor of a plan that has no arenas yet memory of its own, and a buffer the same in each plan."""
    buffers: dict[str, int] = {}
    extents = {ARENA: 0, BUFFERS: 0}
    plans = unplanned(module)
    for op in (op for plan in plans for op in plan.values if isinstance(op, pte.TensorOp)):
        if op.data is not None and op.buffer is None:
            continue
        arena = ARENA if op.buffer is None else BUFFERS
        offset = extents[arena] if op.buffer is None else buffers.setdefault(op.buffer, extents[arena])
        if offset == extents[arena]:
            extents[arena] += aligned(op.nbytes)
        op.allocation_info = pte.AllocationAttr(arena, offset)
    sizes = [0, extents[ARENA] + OVER_READ, *([extents[BUFFERS] + OVER_READ] if buffers else [])]
    for plan in plans:
        plan.non_const_buffer_sizes = DenseArrayBase.from_list(i64, sizes)


def plans_of(module: ModuleOp) -> list[pte.ExecutionPlanOp]:
    """The plans of all programs."""
    return [plan for program in module.body.ops if isinstance(program, pte.ProgramOp) for plan in program.plans]


def unplanned(module: ModuleOp) -> list[pte.ExecutionPlanOp]:
    """The plans whose memory nobody has planned."""
    return [plan for plan in plans_of(module) if plan.non_const_buffer_sizes is None]
