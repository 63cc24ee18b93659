"""What an op becomes: by its own rule, or as the ops that it means.

A composite, as norms and most activations are, has one meaning, its decomposition (`transforms/edge/decompositions/`):
defaults, promotion and the type that it computes in are decided there. Kernels and nodes are both made of it, and a
composite is legal when the ops are that it means. Nothing of this shows in the program: an op that is refused stays
whole, and is reported by its own name.

A composite with a rule of its own is an override, `@rule(overrides=reason)`: of some calls, where the rule returns None
for the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Operation, SSAValue

from xir.dialects import edge
from xir.ir.annotations import UNASKED
from xir.ir.plugin_bugs import WrongResultError, check_values, is_of_plugin
from xir.ir.tensor_types import shape_of
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.edge.decompositions import Expansion, expanded
from xir.transforms.edge.decompositions.rule import DECOMPOSITIONS
from xir.transforms.xnnpack.legalizations.rule import (
    RULES,
    NodeBuilder,
    Quantized,
    Replacement,
    RuleInfo,
    register_rule,
)

NO_RULE = Refusal("no rule lowers it to XNNPACK", example=call("edge.cumsum", self=tensor(2, 3), dim=0))
NO_RULE_FOR_PART = Refusal(
    "no rule lowers {part}, which it consists of, to XNNPACK",
    example=call("edge.linalg_vector_norm", self=tensor(2, 3), ord=0),
)
SIZE_AT_RUN_TIME = Refusal(
    "a size among its arguments is known only at run time",
    example="""
func.func @forward(%x: tensor<4x4xf32>, %i: i64) -> tensor<4xf32> {
  %0 = edge.select.int(%x)[%i] {dim = 0 : i64, index = -9223372036854775808 : i64}
         : (tensor<4x4xf32>, i64) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
""",
)
EMPTY_OPERAND = Refusal("an operand has no elements", example=call("edge.mm", self=tensor(2, 0), mat2=tensor(0, 3)))


def by_expansion(*op_classes: type[edge.EdgeOp], quantized: Quantized | None = None) -> None:
    """Say how composites that XNNPACK computes as the ops that they mean take part in static quantisation."""
    for op_class in op_classes:
        register_rule(op_class.name, RuleInfo(expansion, quantized))


def lower(op: edge.EdgeOp, b: NodeBuilder) -> Sequence[SSAValue]:
    """Build an op; the values that replace its results. RefusalError if no rule takes it, or a part of it."""
    info = RULES.get(op.name)
    values = expansion(op, b) if info is not None and info.remainder else None
    if values is None and info is not None:
        values = by_rule(info, op, b)
    if values is None and (values := expansion(op, b)) is None:
        raise NO_RULE() if op is b.place else NO_RULE_FOR_PART(part=op.operator_name)
    return [values] if isinstance(values, SSAValue) else values


def by_rule(info: RuleInfo, op: edge.EdgeOp, b: NodeBuilder) -> Replacement:
    """What an op's rule builds."""
    if info.build is not expansion:
        if op.symbols and not info.symbolic:
            raise SIZE_AT_RUN_TIME()
        if not info.empty and any(0 in shape_of(value) for value in op.tensor_operands):
            raise EMPTY_OPERAND()
    outer, b.op = b.op, op
    try:
        made = info.build(op, b)
        check_values(info.build, made, len(op.results))
        if made is None and is_of_plugin(info.build) and info.overrides is None and op.name not in DECOMPOSITIONS:
            raise WrongResultError(info.build, "has returned None: return the value that it built, or raise a Refusal")
        return made
    finally:
        b.op = outer


def expansion(op: edge.EdgeOp, b: NodeBuilder) -> Sequence[SSAValue] | None:
    """Build the ops that a composite means; None if it means none. RefusalError if one of them is refused.

    Rules look at who reads an op's result: whether it is rounded to integers, or its indices are used. So those that
    read the composite's results read its parts' meanwhile.
    """
    if (meant := expanded(op)) is None:
        return None
    parts: set[Operation] = set(meant.ops)
    last = [(old, new) for old, new in zip(op.results, meant.results, strict=True) if new.owner in parts]
    for old, new in last:
        old.replace_all_uses_with(new)
    made = {value: value for value in meant.results if value.owner not in parts}
    try:
        for part in needed(meant):
            part.location = op.location
            if isinstance(part, edge.ToCopyOp):
                part.attributes[UNASKED] = UnitAttr()  # a conversion that the program does not ask for
            for old, new in zip(part.results, lower(part, b), strict=False):
                made[old] = new
                old.replace_uses_with_if(new, lambda use: use.operation in parts)
    finally:
        for old, new in last:
            new.replace_uses_with_if(old, lambda use: use.operation not in parts)
        for part in reversed(meant.ops):
            part.erase()
    return [made[value] for value in takewhile(made.__contains__, meant.results)]


def needed(meant: Expansion) -> list[edge.EdgeOp]:
    """The ops that have to be built: neither those whose results nobody wants, nor sizes, which are known without."""
    wanted: set[SSAValue] = {meant.results[0]}
    found: list[edge.EdgeOp] = []
    for part in reversed(meant.ops):
        readers = {use.operation for result in part.results for use in result.uses}
        is_read = any(reader in found or reader not in meant.ops for reader in readers)
        if isinstance(part.results[0].type, TensorType) and (is_read or not wanted.isdisjoint(part.results)):
            found.append(part)
    return found[::-1]
