"""Who is right where two runtimes give different results: eager, which runs each kernel on the operands that it had."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import torch
from xdsl.ir import SSAValue

from differential.results import ROUNDED, close
from xir.dialects import pte
from xir.emitter import read
from xir.evaluate.file_values import plan_of, tensors_of
from xir.evaluate.kernel_calls import NotCalledError, call_kernel, in_memory
from xir.importer.interpreter import constant_tensor
from xir.ir.context import XirContext

Tensors = dict[SSAValue, torch.Tensor]
"""By a tensor of a plan, its elements in the order of memory."""


class Verdict(StrEnum):
    """What eager says of a program whose results differ."""

    XIR = "wrong in xir by eager"
    STOCK = "wrong in stock by eager"
    NEITHER = "different, both right by eager"
    UNDECIDED = "different, and eager cannot say"


def judge(
    data: bytes, inputs: Sequence[torch.Tensor], ours: Sequence[torch.Tensor], stock: Sequence[torch.Tensor]
) -> tuple[Verdict, str]:
    """The verdict on a program's method `forward`, and the kernel that is wrong, or why nobody can say.

    The program is straight: delegates, and kernels that write to tensors of their own, all of which are outputs. So
    each kernel is judged by itself, in each runtime on what came out of that runtime before.
    """
    ctx = XirContext()
    plan = plan_of(read(data, ctx), "forward")
    constants = [op for op in plan.values if isinstance(op, pte.TensorOp) and op.data is not None and op.buffer is None]
    given = {op.value: constant_tensor(op.data, ctx, op) for op in constants if op.data is not None}
    given |= _of_memory(plan.signature.inputs, inputs)
    runs = {
        Verdict.XIR: given | _of_memory(plan.signature.outputs, ours),
        Verdict.STOCK: given | _of_memory(plan.signature.outputs, stock),
    }
    wrong: dict[Verdict, str] = {}
    for op in (op for chain in plan.chains for op in chain.instructions):
        if isinstance(op, pte.DelegateCallOp):
            # One XNNPACK computes them in both.
            if not all(_same(*(run[tensor.value] for run in runs.values())) for tensor in tensors_of(op)):
                return Verdict.UNDECIDED, "a delegate's results differ"
            continue
        if not isinstance(op, pte.KernelCallOp):
            return Verdict.UNDECIDED, f"'{op.name}' is not followed"
        for verdict, tensors in runs.items():
            try:
                if not is_right(op, tensors):
                    wrong.setdefault(verdict, op.kernel.data)
            except (NotCalledError, RuntimeError) as error:
                reason = str(error).partition("\n")[0]
                return Verdict.UNDECIDED, f"{op.kernel.data}: {reason}"
    verdict = next((each for each in runs if each in wrong), Verdict.NEITHER)
    return verdict, wrong.get(verdict, "")


def is_right(op: pte.KernelCallOp, tensors: Tensors) -> bool:
    """Whether a call wrote what eager makes of the operands that it had.

    Integers have to be eager's. Numbers may be off by the roundings of the shortest type of the call, from what eager
    computes in these types or, since eager rounds as well, in fp64. NotCalledError and RuntimeError as `call_kernel`.
    """
    share = max(ROUNDED.get(tensors[each.value].dtype, 0.0) for each in tensors_of(op))

    def agrees(expected: Tensors) -> bool:
        return all(_near(tensors[value], tensor, share) for value, tensor in expected.items())

    if agrees(call_kernel(op, tensors)):
        return True
    try:
        return agrees(call_kernel(op, tensors, in_fp64=True))
    except RuntimeError:
        # An argument names the type to compute in.
        return False


def _near(found: torch.Tensor, expected: torch.Tensor, share: float) -> bool:
    if found.shape != expected.shape or found.is_floating_point() != expected.is_floating_point():
        return False
    return close(found, expected, share) if found.is_floating_point() else torch.equal(found, expected)


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one.nan_to_num(), other.nan_to_num())


def _of_memory(values: Sequence[SSAValue], tensors: Sequence[torch.Tensor]) -> Tensors:
    return {value: in_memory(tensor, value) for value, tensor in zip(values, tensors, strict=True)}
