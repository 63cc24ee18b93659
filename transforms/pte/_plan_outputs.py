"""The outputs of an execution plan whose dimensions the caller sees in another order than memory has them."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from xir.dialects import edge, pte
from xir.dialects.delegate import GraphOp
from xir.transforms.analysis.dim_annotations import dim_orders, result_orders
from xir.transforms.pte._plan_values import PlanValues

COPY = "dim_order_ops::_to_dim_order_copy.out"


def reordered_results(function: FuncOp) -> dict[SSAValue, tuple[int, ...]]:
    """The values that are computed as the caller sees them, and the orders that their memory has.

    Delegates write memory as it is, and a permutation into that order is one copy. Other values, and those that
    something else reads, are copied at the end.
    """
    end = function.body.block.last_op
    assert end is not None
    copied_already = dim_orders(function)
    found: dict[SSAValue, tuple[int, ...]] = {}
    for number, order in result_orders(function).items():
        value = end.operands[number]
        match value.owner:
            case GraphOp() if value.has_one_use():
                found[value] = order
            case edge.PermuteOp() as op if value.has_one_use() and op.self not in copied_already:
                if tuple(op.dims) == order:
                    found[value] = order
            case _:
                pass
    return found


def copy_reordered(op: edge.EdgeOp, values: PlanValues) -> None:
    """Lower the permutation of a result: for the caller it is a copy."""
    value = op.results[0]
    source = values[op.operands[0]]
    (target,) = values.fill([value])
    _copy(source, target, values.reordered[value], values, op)


def give_reordered(value: SSAValue, order: tuple[int, ...], values: PlanValues, end: ReturnOp) -> SSAValue:
    """A copy of a value, as the caller sees it."""
    plan = values.plan
    straight, target = values.tensor(value, values.seen_type(value, order)), values.seen(value, order)
    restoring = plan.integers(order.index(dim) for dim in range(len(order)))
    plan.call(pte.KernelCallOp("aten::permute_copy.out", [values[value], restoring, straight, straight]), end)
    _copy(straight, target, order, values, end)
    return target


def _copy(source: SSAValue, target: SSAValue, order: tuple[int, ...], values: PlanValues, where: Operation) -> None:
    plan = values.plan
    plan.call(pte.KernelCallOp(COPY, [source, plan.boolean(False), plan.integers(order), target, target]), where)
