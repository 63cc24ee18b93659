"""Outline what XNNPACK can compute.

The pass asks each edge op's legalisation rule for its xnnpack ops. What the rule builds and the verifier accepts is
delegated; every other op keeps its place, gets its reason as attribute `xir.reason`, and is reported as a remark.

What the verifiers let through is also shown to the XNNPACK that is installed, node by node: what is partitioned loads.

Delegated ops are grouped into as few subgraphs as can be, which `_groups` says how to find.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from xdsl.dialects.builtin import ModuleOp, StringAttr, f64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import moves_data
from xir.dialects.xnnpack.quantization import is_quantised
from xir.ir.annotations import ORIGINS, REASON, TAKEN_BACK
from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic, Severity
from xir.ir.passes import XirPass
from xir.ir.provenance import set_origins
from xir.ir.rewriting import erase_dead_ops
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.looked_through import is_looked_through
from xir.transforms.analysis.refusal import Refusal, RefusalError
from xir.transforms.analysis.sizes import OpenSizeError, OpenSizes
from xir.transforms.delegate._groups import (
    Lowered,
    assign_levels,
    computes_sizes,
    groups_of,
    is_unread,
    islands,
    reorder,
    unread_ops,
)
from xir.transforms.delegate._op_filter import Selection, op_names
from xir.transforms.xnnpack._outline import outline
from xir.transforms.xnnpack._xnnpack_checker import XnnpackChecker, kind_of
from xir.transforms.xnnpack.legalizations import EMPTY, RULES, SYMBOLIC, NodeBuilder

FLOATS: tuple[Literal["f32", "f16", "bf16"], ...] = ("f32", "f16", "bf16")

ISLAND = Refusal(
    "it only moves data between ops outside",
    example="""
func.func @forward(%x: tensor<2x3xf32>) -> tensor<6xf32> {
  %0 = edge.cumsum(%x) {dim = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = edge.view(%0) {size = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}
""",
)
SMALL_GROUP = Refusal("its group of {nodes} nodes is smaller than min-ops={min_ops}")
NO_RULE = Refusal("no rule lowers it to XNNPACK", example=call("edge.cumsum", self=tensor(2, 3), dim=0))
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
EMPTY_RESULT = Refusal("its result has no elements", example=call("edge.abs", self=tensor(0, 4)))
EMPTY_OPERAND = Refusal("an operand has no elements", example=call("edge.mm", self=tensor(2, 0), mat2=tensor(0, 3)))
COMPUTES_WITH_SIZE = Refusal(
    "it computes with the size of a dynamic dimension",
    example=call("edge.sum.dim_IntList", self=tensor("?", 4), dim=[0]),
)
OTHER_RESULT = Refusal(
    "its result is {type}, XNNPACK's would be {built}",
    example=call("edge.mean.dim", self=tensor(3, 4), dim=[1], dtype=f64),
)


@dataclass(frozen=True, kw_only=True)
class NotDelegated(Diagnostic):
    """The remark about an op that stays outside, its parts also as fields."""

    op: str
    """The op's name."""
    reason: str
    hint: str | None
    """The change to the model that would help."""


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
    ops: tuple[str, ...] = ()
    """Delegate these ops only; all where there is none. A name without overload stands for all overloads."""
    exclude: tuple[str, ...] = ()
    """Leave these ops outside, named as for `ops`."""
    dtypes: tuple[Literal["f32", "f16", "bf16"], ...] = FLOATS
    """Delegate what computes in these floating-point types."""
    min_ops: int = 1
    """Leave groups of fewer nodes outside."""
    per_op: bool = False
    """Make a subgraph of each op, to find out which one is at fault or takes the time."""
    check: bool = True
    """Ask XNNPACK itself whether it takes each node."""

    numbers_origins: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """ValueError for the name of an op that does not exist."""
        self.selection()

    def selection(self) -> Selection:
        """The options that look at single ops."""
        return Selection(op_names(self.ops), op_names(self.exclude), frozenset(FLOATS) - set(self.dtypes))

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Partition every function of the module."""
        if ctx.tracks_origins:
            for number, each in enumerate(each for each in op.walk() if isinstance(each, edge.EdgeOp)):
                set_origins(each, (number,))
        checker = XnnpackChecker(ctx) if self.check else None
        lowering = Lowering(ctx, self.target, self.selection(), checker)
        for function in op.walk():
            if isinstance(function, FuncOp) and not function.is_declaration:
                self.partition(lowering, function.body.block)
        if checker is not None and checker.missing is not None:
            ctx.diagnostics.remark(op, f"partition-xnnpack: nodes are not checked against XNNPACK: {checker.missing}")

    def take_back(self, module: ModuleOp, refused: Mapping[int, str]) -> bool:
        """Leave the ops of these origins outside from now on."""
        ops = [op for op in module.walk() if isinstance(op, edge.EdgeOp)]
        new = {number: why for number, why in refused.items() if TAKEN_BACK not in ops[number].attributes}
        for number, reason in new.items():
            ops[number].attributes[TAKEN_BACK] = StringAttr(reason)
        return bool(new)

    def partition(self, lowering: Lowering, block: Block) -> None:
        """Partition one function's block."""
        lowered = lowering.lower_all(block)
        ops = list(block.ops)
        if self.per_op:
            groups = [[op] for op in lowered]
        else:
            for op in islands(ops, lowered):
                lowering.take_out(op, lowered, ISLAND())
            levels = assign_levels(ops, lowered)
            groups = groups_of(levels, lowered)
            reorder(block, ops, levels, lowered)
        for group in groups:
            if (nodes := sum(lowered[op].node_count for op in group)) < self.min_ops:
                refusal = SMALL_GROUP(nodes=nodes, min_ops=self.min_ops)
                for op in group:
                    lowering.take_out(op, lowered, refusal)
        for op in unread_ops(ops, lowered):
            op.operands = ()
        for group in groups:
            if group[0] in lowered:
                outline(group, lowered, self.target)
        erase_dead_ops(block, edge.EdgeOp)


@dataclass(frozen=True)
class Lowering:
    """Runs the rules, and reports what does not lower."""

    ctx: XirContext
    target: str
    selection: Selection
    checker: XnnpackChecker | None
    verdicts: dict[Hashable, str | None] = field(default_factory=dict[Hashable, str | None])

    def lower_all(self, block: Block) -> dict[Operation, Lowered]:
        """Lower the ops of a block that can be; those that are dead or do nothing are gone afterwards."""
        erase_dead_ops(block, edge.EdgeOp)
        lowered: dict[Operation, Lowered] = {}
        sizes = OpenSizes(block)
        edge_ops = [op for op in block.ops if isinstance(op, edge.EdgeOp) and not computes_sizes(op)]
        for op in edge_ops:
            if not is_looked_through(op):
                self.lower_into(lowered, op, sizes)
        # Whether somebody reads them still is known only now; the last first, as they may read each other.
        unread: set[Operation] = set()
        for op in reversed([op for op in edge_ops if op.parent is not None and is_looked_through(op)]):
            if is_unread(op, lowered, unread):
                unread.add(op)
            else:
                self.lower_into(lowered, op, sizes)
        return {op: lowered[op] for op in edge_ops if op in lowered}

    def lower_into(self, lowered: dict[Operation, Lowered], op: edge.EdgeOp, sizes: OpenSizes) -> None:
        """Lower one op, or report why not; one that does nothing goes away."""
        result = self.lower(op, sizes)
        if isinstance(result, RefusalError):
            self.report(op, result)
        elif not result.does_nothing:
            lowered[op] = result
        else:
            discard(result.ops)
            for old, new in zip(op.results, result.values, strict=False):
                old.replace_all_uses_with(new)
            op.detach()
            op.erase()

    def lower(self, op: edge.EdgeOp, sizes: OpenSizes) -> Lowered | RefusalError:
        """Run the op's rule and verify what it built."""
        if (rule := RULES.get(op.name)) is None:
            return NO_RULE()
        if op.symbols and op.name not in SYMBOLIC:
            return SIZE_AT_RUN_TIME()
        if any(0 in shape_of(result) for result in op.results if result.first_use is not None):
            return EMPTY_RESULT()
        if op.name not in EMPTY and any(0 in shape_of(value) for value in tensors(op)):
            return EMPTY_OPERAND()
        builder = NodeBuilder(self.ctx, self.target, op, sizes)
        try:
            if isinstance(reason := op.attributes.pop(TAKEN_BACK, None), StringAttr):
                return RefusalError(reason.data)
            self.selection.check(op)
            values = rule(op, builder)
            values = [values] if isinstance(values, SSAValue) else values
            for built in builder.ops:
                if isinstance(built, xnnpack.NodeOp):
                    self.check(built)
            check_results(op, values)
        except OpenSizeError:
            discard(builder.ops)
            return COMPUTES_WITH_SIZE()
        except (RefusalError, VerifyException) as error:
            discard(builder.ops)
            return error if isinstance(error, RefusalError) else RefusalError(str(error))
        if (origins := op.attributes.get(ORIGINS)) is not None:
            for built in builder.ops:
                built.attributes[ORIGINS] = origins
        nodes = [op for op in builder.ops if isinstance(op, xnnpack.NodeOp)]
        return Lowered(builder.ops, values, len(nodes), all(map(moves_data, nodes)))

    def check(self, node: xnnpack.NodeOp) -> None:
        """RefusalError unless XNNPACK runs the node. Each kind of node is looked at once."""
        if is_between_integers(node):
            check_node(node)
            return
        kind = kind_of(node)
        if kind not in self.verdicts:
            self.verdicts[kind] = self.verdict(node)
        if (reason := self.verdicts[kind]) is not None:
            raise RefusalError(reason)

    def verdict(self, node: xnnpack.NodeOp) -> str | None:
        """Why XNNPACK does not run the node."""
        try:
            check_node(node)
        except (RefusalError, VerifyException) as error:
            return str(error)
        return None if self.checker is None else self.checker.node_refusal(node)

    def take_out(self, op: Operation, lowered: dict[Operation, Lowered], refusal: RefusalError) -> None:
        """Leave an op outside that could have been delegated."""
        self.report(op, refusal)
        discard(lowered.pop(op).ops)

    def report(self, op: Operation, refusal: RefusalError) -> None:
        """Report an op that stays outside, and write the reason on it."""
        op.attributes[REASON] = StringAttr(refusal.reason)
        hint = f" ({refusal.hint})" if refusal.hint else ""
        message = f"partition-xnnpack: {op.name} not delegated: {refusal.reason}{hint}"
        self.ctx.diagnostics.emit(
            NotDelegated(Severity.REMARK, op.location, message, op=op.name, reason=refusal.reason, hint=refusal.hint)
        )


def tensors(op: edge.EdgeOp) -> Sequence[SSAValue]:
    """The operands but sizes."""
    return op.operands[: len(op.operands) - len(op.symbols)]


def check_node(op: xnnpack.NodeOp) -> None:
    """Raise unless XNNPACK runs a node that a rule built, as far as its verifier and types tell."""
    op.verify()
    for value in (*op.operands, *op.results):
        if 0 in shape_of(value):
            # XNNPACK reads a size of 0 as one to be inferred, or not at all.
            raise VerifyException("it has a tensor without elements")


def is_between_integers(op: xnnpack.NodeOp) -> bool:
    """Whether a node reads or writes quantised numbers, or constants dequantised: `fold-qdq` makes another of it."""
    return any(is_quantised(element_type(value)) for value in (*op.operands, *op.results)) or any(
        isinstance(value.owner, xnnpack.ConvertOp) and is_quantised(element_type(value.owner.input))
        for value in op.operands
    )


def check_results(op: edge.EdgeOp, values: Sequence[SSAValue]) -> None:
    """Raise unless `values` can stand for the results: their users were verified with the results' types."""
    for result, value in zip(op.results, values, strict=False):
        if result.first_use is not None and result.type != value.type:
            raise OTHER_RESULT(type=result.type, built=value.type)


def discard(ops: Sequence[Operation]) -> None:
    """Drop ops that a rule built and nobody wants, so that they do not count as users of the program's values."""
    for op in reversed(ops):
        op.erase()
