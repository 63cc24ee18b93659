"""Trying the legalisation rules: what they build of an op, and why they do not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects.builtin import IntegerType, Signedness, f64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.backend.interface import Request, Taken, Trial
from xir.dialects import edge, xnnpack
from xir.dialects.delegate import GraphOp
from xir.dialects.edge.families import GROUPED_PRODUCTS
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.dialects.xnnpack.interfaces import moves_data
from xir.dialects.xnnpack.quantization import is_quantized
from xir.ir.annotations import ORIGINS
from xir.ir.context import XirContext
from xir.ir.elements import NotStoredError
from xir.ir.symbolic_size import UndecidedSizeError
from xir.ir.targets import Target
from xir.transforms.analysis.calls import call, numbers, tensor
from xir.transforms.analysis.looked_through import is_looked_through
from xir.transforms.analysis.refusal import Refusal, RefusalError
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.xnnpack.legality.checker import XnnpackChecker, kind_of
from xir.transforms.xnnpack.legalizations import NodeBuilder, lower
from xir.transforms.xnnpack.legalizations.donors import Donors

GROUPS_AT_RUN_TIME = Refusal(
    "only the run time knows which rows it multiplies with which matrix",
    "let all experts compute every token, and weigh their results: for models of transformers "
    "model.set_experts_implementation(xir.llm.huggingface.experts.DENSE) before torch.export",
    example="""
func.func @forward(%x: tensor<6x4xf32>, %experts: tensor<2x4x3xf32>, %ends: tensor<2xi32>) -> tensor<6x3xf32> {
  %0 = edge.opaque "transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor"
         (%x, %experts, %ends) : (tensor<6x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>) -> tensor<6x3xf32>
  func.return %0 : tensor<6x3xf32>
}
""",
)
WITHOUT_RULE: dict[str, Refusal] = dict.fromkeys(GROUPED_PRODUCTS, GROUPS_AT_RUN_TIME)
"""Operators without a rule -> why, and what helps. Groups of rows are how transformers computes experts; what
`densify-experts` does not recognise stays."""

EMPTY_RESULT = Refusal("its result has no elements", example=call("edge.abs", self=tensor(0, 4)))
COMPUTES_WITH_SIZE = Refusal(
    "it computes with the size of a dynamic dimension",
    example=call("edge.adaptive_avg_pool2d", self=tensor(1, 1, "?", 4), output_size=(2, 2)),
)
NOT_STORED = Refusal(
    "it converts a constant of which {number}",
    example=call("edge._to_copy", self=numbers([-1.0, 2.0]), dtype=IntegerType(8, Signedness.UNSIGNED)),
)
OTHER_RESULT = Refusal(
    "its result is {type}, XNNPACK's would be {built}",
    example=call("edge.mean.dim", self=tensor(3, 4), dim=[1], dtype=f64),
)


class XnnpackTrial(Trial):
    """Runs the rules. What they build is verified, and shown to the XNNPACK that is installed, node by node."""

    def __init__(self, ctx: XirContext, request: Request):
        self.ctx = ctx
        self.target: Target = request.target
        self.checker = XnnpackChecker(ctx) if request.check else None
        self.verdicts: dict[Hashable, str | None] = {}
        self.numbers = ctx.attribute_numbers
        self.donors: Donors | None = None

    def begin(self, block: Block) -> None:
        function = block.parent_op()
        assert function is not None
        self.donors = Donors(block, self.ctx.analyses.get(SymbolicSizes, function))

    def looks_through(self, op: edge.EdgeOp) -> bool:
        return is_looked_through(op)

    def joins(self, graph: GraphOp) -> bool:
        return isinstance(graph, xnnpack.SubgraphOp) and graph.target.data in ("executorch", self.target)

    def notes(self) -> Sequence[str]:
        if self.checker is None or self.checker.missing is None:
            return ()
        return (f"nodes are not checked against XNNPACK: {self.checker.missing}",)

    def take(self, op: edge.EdgeOp) -> Taken:
        if (refusal := WITHOUT_RULE.get(op.operator_name)) is not None:
            raise refusal()
        needed = [result for result in op.results if result.first_use is not None or len(op.results) == 1]
        if any(0 in shape_of(result) for result in needed):
            raise EMPTY_RESULT()
        assert self.donors is not None
        builder = NodeBuilder(self.ctx, self.target, op, self.donors)
        try:
            values = lower(op, builder)
            for built in builder.ops:
                if isinstance(built, xnnpack.NodeOp):
                    self.check(built)
            check_results(op, values)
        except (UndecidedSizeError, RefusalError, VerifyException, NotStoredError) as error:
            discard(builder.ops)
            if isinstance(error, NotStoredError):
                raise NOT_STORED(number=error) from None
            if isinstance(error, UndecidedSizeError):
                raise COMPUTES_WITH_SIZE() from None
            raise error if isinstance(error, RefusalError) else RefusalError(str(error)) from None
        if (origins := op.attributes.get(ORIGINS)) is not None:
            for built in builder.ops:
                built.attributes[ORIGINS] = origins
        nodes = [op for op in builder.ops if isinstance(op, xnnpack.NodeOp)]
        return Taken(len(nodes), all(map(moves_data, nodes)), builder.ops, values)

    def check(self, node: xnnpack.NodeOp) -> None:
        """RefusalError unless XNNPACK runs the node. Each kind of node is looked at once."""
        if is_between_integers(node):
            check_node(node)
            return
        kind = kind_of(node, self.numbers)
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


def check_node(op: xnnpack.NodeOp) -> None:
    """Raise unless XNNPACK runs a node that a rule built, as far as its verifier and types tell."""
    op.verify()
    for value in (*op.operands, *op.results):
        if 0 in shape_of(value):
            # XNNPACK reads a size of 0 as one to be inferred, or not at all.
            raise VerifyException("it has a tensor without elements")


def is_between_integers(op: xnnpack.NodeOp) -> bool:
    """Whether a node has quantised operands or results, or reads dequantised constants: `fold-qdq` will replace it."""
    return any(is_quantized(element_type(value)) for value in (*op.operands, *op.results)) or any(
        isinstance(value.owner, xnnpack.ConvertOp) and is_quantized(element_type(value.owner.input))
        for value in op.operands
    )


def check_results(op: edge.EdgeOp, values: Sequence[SSAValue]) -> None:
    """Raise unless `values` can stand for the results: their users were verified with the results' types."""
    for result, value in zip(op.results, values, strict=False):
        if result.first_use is not None and result.type != value.type:
            raise OTHER_RESULT(type=result.type, built=value.type)


def discard(ops: Sequence[Operation]) -> None:
    """Drop ops that a rule built for nothing, so that they do not count as users of the program's values."""
    for op in reversed(ops):
        op.erase()
