"""Outline what XNNPACK can compute.

The pass asks each edge op's legalisation rule for its xnnpack ops. What the rule builds and the verifier accepts is
delegated; every other op keeps its place, gets its reason as attribute `xir.reason`, and is reported as a remark.

Delegated ops are grouped by *level*: the number of times that some path from the inputs changes from XNNPACK to the
rest and back. Ops of one level never wait for each other through an op outside, so one subgraph can hold them all, and
no partition into subgraphs without a cycle can have fewer: a path that changes n times needs n of them. One pass over
the ops finds the levels, a second one reorders the block by level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import Float32Type, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import Pure
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic, Severity
from xir.ir.location import location_of
from xir.ir.passes import XirPass
from xir.transforms._outputs import distinct_outputs
from xir.transforms.legalizations import RULES, NodeBuilder, RefusalError

REASON = "xir.reason"
"""The attribute that says why an op stayed outside."""


@dataclass(frozen=True, kw_only=True)
class NotDelegated(Diagnostic):
    """The remark about an op that stays outside, its parts also as fields."""

    op: str
    """The op's name."""
    reason: str
    hint: str | None
    """The change to the model that would help."""


@dataclass
class Lowered:
    """What a rule made of one edge op: the ops it built and the values that replace the results."""

    ops: list[Operation]
    values: Sequence[SSAValue]

    @property
    def node_count(self) -> int:
        """How many XNNPACK nodes there are to run; constants are none."""
        return sum(isinstance(op, xnnpack.NodeOp) for op in self.ops)

    @property
    def does_nothing(self) -> bool:
        """Whether the results are values that were there before."""
        return all(value.owner not in self.ops for value in self.values)


@dataclass(frozen=True)
class PartitionXnnpackPass(XirPass):
    """Outline maximal groups of edge ops that XNNPACK can compute into `xnnpack.subgraph`, lowered to xnnpack ops.

    An op that stays outside carries the reason as attribute `xir.reason`, and is reported as a remark.

    Before:
    ```mlir
    %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = edge.cumsum(%0) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
    ```
    After:
    ```mlir
    %0 = xnnpack.subgraph(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %b = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
      xnnpack.yield %b : tensor<4xf32>
    }
    %1 = edge.cumsum(%0) {dim = 0 : i64, xir.reason = "no rule lowers it to XNNPACK"}
         : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    target: Literal["executorch", "xir"] = "executorch"
    """The runtime whose nodes may be used."""
    min_ops: int = 1
    """Leave groups of fewer nodes outside."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Partition every function of the module."""
        for function in op.walk():
            if isinstance(function, FuncOp) and not function.is_declaration:
                self.partition(ctx, function.body.block)

    def partition(self, ctx: XirContext, block: Block) -> None:
        """Partition one function's block."""
        for op in reversed(list(block.ops)):
            if isinstance(op, edge.EdgeOp) and is_trivially_dead(op):
                op.detach()
                op.erase()
        lowered: dict[Operation, Lowered] = {}
        for op in block.ops:
            if not isinstance(op, edge.EdgeOp):
                continue
            result = self.lower(ctx, op)
            if isinstance(result, RefusalError):
                leave_out(ctx, op, result)
            elif not result.does_nothing:
                lowered[op] = result
            else:
                discard(result.ops)
                for old, new in zip(op.results, result.values, strict=False):
                    old.replace_all_uses_with(new)
                op.detach()
                op.erase()
        ops = list(block.ops)
        levels = assign_levels(ops, lowered)
        for group in groups_of(levels, lowered).values():
            if (nodes := sum(lowered[op].node_count for op in group)) < self.min_ops:
                refusal = RefusalError(f"its group of {nodes} nodes is smaller than min-ops={self.min_ops}")
                for op in group:
                    leave_out(ctx, op, refusal)
                    discard(lowered.pop(op).ops)
        reorder(block, ops, levels, lowered)
        for group in groups_of(levels, lowered).values():
            self.outline(group, lowered)

    def lower(self, ctx: XirContext, op: edge.EdgeOp) -> Lowered | RefusalError:
        """Run the op's rule and verify what it built."""
        if (rule := RULES.get(op.name)) is None:
            return RefusalError("no rule lowers it to XNNPACK")
        if op.symbols:
            return RefusalError("a size among its arguments is known only at run time")
        if any(0 in shape_of(result) for result in op.results if result.first_use is not None):
            return RefusalError("its result has no elements")
        builder = NodeBuilder(ctx, self.target, op.location)
        try:
            values = rule(op, builder)
            values = [values] if isinstance(values, SSAValue) else values
            for built in builder.ops:
                check_node(built)
            check_results(op, values)
        except (RefusalError, VerifyException) as error:
            discard(builder.ops)
            return error if isinstance(error, RefusalError) else RefusalError(str(error))
        return Lowered(builder.ops, values)

    def outline(self, group: Sequence[edge.EdgeOp], lowered: dict[Operation, Lowered]) -> None:
        """Move a group, adjacent in its block, into a new subgraph."""
        members = set(group)
        body = Block()
        arguments: dict[SSAValue, SSAValue] = {}
        replacement: dict[SSAValue, SSAValue] = {}

        def inside(value: SSAValue) -> SSAValue:
            """The value in the subgraph that stands for `value` of the function."""
            if value in replacement:
                return replacement[value]
            if value not in arguments:
                if isinstance(value.owner, edge.ConstantOp):
                    constant = xnnpack.ConstantOp(value.owner.value)
                    constant.location = value.owner.location
                    body.add_op(constant)
                    arguments[value] = constant.output
                else:
                    argument = body.insert_arg(value.type, len(body.args))
                    argument.name_hint = value.name_hint
                    argument.location = location_of(value)
                    arguments[value] = argument
            return arguments[value]

        for op in group:
            built = {result for new in lowered[op].ops for result in new.results}
            for new in lowered[op].ops:
                new.operands = [value if value in built else inside(value) for value in new.operands]
                body.add_op(new)
            for old, new_value in zip(op.results, lowered[op].values, strict=False):
                replacement[old] = new_value if new_value in built else inside(new_value)

        outputs = [old for op in group for old in op.results if any(use.operation not in members for use in old.uses)]
        yielded, copies = distinct_outputs([replacement[value] for value in outputs])
        body.add_ops(copies)
        body.add_op(xnnpack.YieldOp.create(operands=yielded))
        inputs = [value for value, argument in arguments.items() if argument.owner is body]
        subgraph = xnnpack.SubgraphOp.create(
            operands=inputs,
            result_types=[value.type for value in outputs],
            properties={"target": StringAttr(self.target)},
            regions=[Region(body)],
        )
        subgraph.location = group[0].location
        block = group[0].parent
        assert block is not None
        block.insert_op_after(subgraph, group[-1])
        for old, new_value in zip(outputs, subgraph.results, strict=True):
            new_value.name_hint = old.name_hint
            old.replace_uses_with_if(new_value, lambda use: use.operation not in members)
        for op in reversed(group):
            op.detach()
            op.erase()


def check_node(op: Operation) -> None:
    """Raise unless XNNPACK runs an op that a rule built."""
    op.verify()
    if not isinstance(op, xnnpack.NodeOp):
        return
    for value in (*op.operands, *op.results):
        if not isinstance(element_type(value), Float32Type):
            raise RefusalError(f"XNNPACK does not compute it on {element_type(value)}")
        if 0 in shape_of(value):
            # XNNPACK reads a size of 0 as one to be inferred, or not at all.
            raise RefusalError("it has a tensor without elements")


def check_results(op: edge.EdgeOp, values: Sequence[SSAValue]) -> None:
    """Raise unless `values` can stand for the results: their users were verified with the results' types."""
    for result, value in zip(op.results, values, strict=False):
        if result.first_use is not None and result.type != value.type:
            raise RefusalError(f"its result is {result.type}, XNNPACK's would be {value.type}")


def discard(ops: Sequence[Operation]) -> None:
    """Drop ops that a rule built and nobody wants, so that they do not count as users of the program's values."""
    for op in reversed(ops):
        op.erase()


def leave_out(ctx: XirContext, op: Operation, refusal: RefusalError) -> None:
    """Report an op that stays outside, and write the reason on it."""
    op.attributes[REASON] = StringAttr(refusal.reason)
    hint = f" ({refusal.hint})" if refusal.hint else ""
    message = f"partition-xnnpack: {op.name} not delegated: {refusal.reason}{hint}"
    ctx.diagnostics.emit(
        NotDelegated(Severity.REMARK, op.location, message, op=op.name, reason=refusal.reason, hint=refusal.hint)
    )


def assign_levels(ops: Iterable[Operation], lowered: dict[Operation, Lowered]) -> dict[Operation, int]:
    """The level of each op: an op outside that uses a delegated value begins a new one.

    Ops with side effects stay in their order: each is at least on the level of the one before it.
    """
    levels: dict[Operation, int] = {}
    effects = 0
    for op in ops:
        level = 0
        for producer in producers(op):
            if producer in levels:
                crossing = producer in lowered and op not in lowered
                level = max(level, levels[producer] + crossing)
        if not op.has_trait(Pure):
            level = effects = max(level, effects)
        levels[op] = level
    return levels


def producers(op: Operation) -> Iterator[Operation]:
    """The ops whose results `op` reads, also from inside its regions."""
    for reader in op.walk() if op.regions else (op,):
        for value in reader.operands:
            if isinstance(value.owner, Operation):
                yield value.owner


def groups_of(levels: dict[Operation, int], lowered: dict[Operation, Lowered]) -> dict[int, list[edge.EdgeOp]]:
    """The delegated ops of each level, in program order."""
    groups: dict[int, list[edge.EdgeOp]] = {}
    for op, level in levels.items():
        if op in lowered:
            assert isinstance(op, edge.EdgeOp)
            groups.setdefault(level, []).append(op)
    return groups


def reorder(
    block: Block, ops: Sequence[Operation], levels: dict[Operation, int], lowered: dict[Operation, Lowered]
) -> None:
    """Sort a block by level, on each level the ops outside before the delegated ones; the terminator stays last."""
    for op in ops:
        op.detach()
    block.add_ops(sorted(ops[:-1], key=lambda op: (levels[op], op in lowered)))
    block.add_op(ops[-1])
