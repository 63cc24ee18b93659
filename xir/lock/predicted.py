"""What a file is predicted to take: the nodes of its delegates, and the kernels between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Literal

from xdsl.ir import Operation, SSAValue

from xir.cost_report import nodes_cost
from xir.dialects import pte, xnnpack
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis.node_costs import DYNAMIC_FORMS, HALF_FORMS, INTEGER_FORMS, estimated_work_of

if TYPE_CHECKING:
    from xir.api import ExecutorchProgram
    from xir.cost.profile import CostProfile, KernelCost
    from xir.cost.work import Kernel

KERNEL_NANOSECONDS = {
    "gelu": 8.0,
    "norm": 1.0,
    "softmax": 4.0,
    "pool": 4.0,
    "sigmoid": 3.0,
    "tanh": 3.0,
    "exp": 3.0,
    "permute": 2.0,
    "transpose": 2.0,
    "arg": 2.0,
}
"""What a kernel outside takes for each element of its largest tensor, by a part of its name: a bit less than
xir's do on Zen 4, and stock ExecuTorch's portable ones take longer. No profile has kernels outside."""

ELEMENT_NANOSECONDS = 0.5
"""The same of any other kernel."""

OutsideIn = Literal["xir", "stock"]
"""Whose runtime has the kernels outside: xir's, or stock ExecuTorch's."""

PRODUCT_NANOSECONDS: Mapping[OutsideIn, Mapping[str, float]] = {
    "xir": {"mm": 0.03, "convolution": 0.03, "linear": 0.03},
    "stock": {"mm": 0.12, "convolution": 3.5, "linear": 1.3},
}
"""What a multiply-add takes in a kernel outside that computes sums of products, by a part of its name: the least of
what convolutions and matrices of several sizes took on an Intel Xeon (Emerald Rapids), up to 0.4 in xir's runtime and
9 in stock ExecuTorch's. The two differ so much that one figure would be wrong in either."""

CALL_NANOSECONDS = 100.0
"""What a call of a kernel takes besides."""

DELEGATE_NANOSECONDS = 400.0
"""What a call of a delegate takes besides, in stock ExecuTorch; half of that in xir's runtime."""

NODE_NANOSECONDS = 120.0
"""What a node takes in stock ExecuTorch besides what it takes in xir's runtime, where profiles are measured: on one
thread xir calls XNNPACK without a thread pool."""

HAND_OVER_NANOSECONDS = 300.0
"""What a node takes on several threads besides its time on one where it is too small to be divided, or gains nothing
by it: 70 to 600 ns, as stock ExecuTorch ran a decoder, a text encoder, a recurrent and two vision networks of small
nodes on an Intel Xeon (Emerald Rapids)."""


def predicted_microseconds(
    program: ExecutorchProgram, profile: CostProfile, outside_in: OutsideIn = "xir", threads: int = 1
) -> float:
    """The predicted time of all methods, each once, on so many threads; the profile is of one.

    A cost profile predicts the nodes of delegates. Those that it does not know count as on fp32: a node that counted as
    nothing would be better than any other. Kernels outside are estimated by their tensors' sizes, for the runtime
    that has them, and on one thread. A method with open sizes counts with its largest ones, what is jumped over as if
    it ran.
    """
    profile = replace(profile, kernels={**_stand_ins(profile), **profile.kernels})
    outside = sum(_outside(op, outside_in) for op in ops_in(program.module, pte.InstructionOp))
    return outside / 1e3 + sum(_inside(plan, profile, threads) for plan in ops_in(program.module, pte.ExecutionPlanOp))


def knowing_most(profiles: Sequence[CostProfile], programs: Sequence[ExecutorchProgram]) -> list[CostProfile]:
    """Those of the profiles that know the most nodes of programs: what stands in for a measurement decides nothing
    where there is one."""
    nodes = [node for each in programs for node in ops_in(each.module, xnnpack.NodeOp)]
    known = [(sum(_knows(profile, node) for node in nodes), profile) for profile in profiles]
    most = max((count for count, _ in known), default=0)
    return [profile for count, profile in known if count == most]


def _knows(profile: CostProfile, node: xnnpack.NodeOp) -> bool:
    work = estimated_work_of(node)
    return work is not None and profile.knows(work)


def _inside(plan: pte.ExecutionPlanOp, profile: CostProfile, threads: int) -> float:
    """The microseconds of all delegates of a method, one after the other: what one reads, others have in the cache.

    Several threads share a node's time, and wait for each other at its end; a small one takes hardly more than on one.
    """
    nodes = [node for each in plan.delegates for node in ops_in(each, xnnpack.NodeOp)]
    cost = nodes_cost(plan.sym_name.data, nodes, profile, work=estimated_work_of)
    spent = sum(line.nodes for line in cost.lines) * NODE_NANOSECONDS / 1e3
    if threads == 1:
        return spent + cost.microseconds
    return spent + sum(
        min(
            line.microseconds + line.nodes * HAND_OVER_NANOSECONDS / 1e3,
            line.microseconds / threads + line.nodes * profile.waiting / 1e3,
        )
        for line in cost.lines
    )


def _stand_ins(profile: CostProfile) -> dict[Kernel, KernelCost]:
    """What kernels on other numbers take that may not have been measured: as much as on fp32."""
    made: dict[Kernel, KernelCost] = {
        form: profile.kernels[kernel] for forms in (INTEGER_FORMS, HALF_FORMS) for kernel, form in forms.items()
    }
    made |= {form: profile.kernels[kernel] for (_, kernel), form in DYNAMIC_FORMS.items()}
    conversions: tuple[Kernel, ...] = ("qs8_convert", "qs8_table", "f16_convert", "qd8_convert")
    return {**made, **dict.fromkeys(conversions, profile.kernels["elementwise"])}


def _outside(op: Operation, outside_in: OutsideIn) -> float:
    """The nanoseconds of an instruction, without those of a delegate's nodes."""
    if not isinstance(op, pte.KernelCallOp):
        return DELEGATE_NANOSECONDS if isinstance(op, pte.DelegateCallOp) else 0.0
    kernel = op.kernel.data.partition("::")[2]
    shapes = [tensor.shape for value in op.args for tensor in _tensors(value)]
    if not shapes:
        return CALL_NANOSECONDS
    of_products = PRODUCT_NANOSECONDS[outside_in].items()
    if (product := next((cost for part, cost in of_products if part in kernel), None)) is not None:
        return CALL_NANOSECONDS + product * prod(shapes[-1]) * _terms(kernel, shapes)
    each = next((cost for part, cost in KERNEL_NANOSECONDS.items() if part in kernel), ELEMENT_NANOSECONDS)
    return CALL_NANOSECONDS + each * max(map(prod, shapes))


def _terms(kernel: str, shapes: Sequence[tuple[int, ...]]) -> int:
    """How many products are added for an element of the result, the last tensor; at most, for those of matrices."""
    if "convolution" in kernel and len(shapes) > 1:
        return prod(shapes[1][1:])
    return max((shape[-1] for shape in shapes[:-1] if shape), default=1)


def _tensors(value: SSAValue) -> Iterator[pte.TensorOp]:
    """The tensors of an argument."""
    match value.owner:
        case pte.TensorOp() as op:
            yield op
        case pte.TensorListOp() | pte.OptionalTensorListOp() as op:
            yield from (item.owner for item in op.items if isinstance(item.owner, pte.TensorOp))
        case _:
            return
