"""Plans with open sizes that are not raised stay wholly as they are: passes take a graph's bounds for its sizes."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.rewriter import Rewriter

from xir.dialects import pte
from xir.ir.annotations import STAYS
from xir.ir.walking import ops_in
from xir.transforms.pte.raising.open_sizes import is_open


def has_open_sizes(plan: pte.ExecutionPlanOp) -> bool:
    """Whether the sizes of an input are bounds."""
    inputs = (value.owner for value in plan.signature.inputs)
    return any(isinstance(each, pte.TensorOp) and is_open(each) for each in inputs)


def mark_as_staying(plan: pte.ExecutionPlanOp) -> None:
    """Have `restore_open_plans` give a plan back what passes change in it."""
    if has_open_sizes(plan):
        plan.attributes[STAYS] = UnitAttr()


def restore_open_plans(module: ModuleOp, original: ModuleOp, *, all_stay: bool) -> None:
    """Give open plans back what they were in `original`: those that are marked, or all of them."""
    before = {plan.sym_name: plan for plan in ops_in(original, pte.ExecutionPlanOp) if has_open_sizes(plan)}
    for plan in list(ops_in(module, pte.ExecutionPlanOp)):
        if plan.sym_name in before and (all_stay or STAYS in plan.attributes):
            Rewriter.replace_op(plan, before[plan.sym_name].clone(), [])
