"""`densify-experts`: experts that are computed for groups of sorted tokens are computed for all tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import GROUPED_PRODUCTS
from xir.dialects.edge.types import shape_of, wrap_dim
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.remarks import passed
from xir.ir.rewriting import is_trivially_dead, may_try
from xir.ir.walking import functions_in, only_block, ops_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._sorted_rows import Part, SortedRows, without_reshapes
from xir.transforms.edge._whole_index import RESHAPES, counts_up
from xir.transforms.edge.decompositions import EdgeBuilder

View = edge.ViewOp | edge.UnsafeViewOp

WITHOUT_EFFECT = frozenset({*GROUPED_PRODUCTS, "aten::histc", "aten::empty_permuted"})
"""Operators without a row that nothing is lost with where their results are not read."""


@dataclass(frozen=True)
class DensifyExpertsPass(XirPass):
    """Let all experts compute every token, with weight 0 for experts that are not chosen.

    transformers sorts tokens by expert, multiplies each group by its expert's matrix, and restores the order. Neither
    XNNPACK nor stock ExecuTorch has such a product, and XNNPACK has no sort. As two products with the matrices of all
    experts (side by side for the first, stacked for the last), a layer is part of the delegate for any number of
    tokens. It multiplies experts ÷ chosen experts times as often.

    Before, with two of four experts for each of five tokens, and one product of groups:
    ```mlir
    %scores, %chosen = edge.topk(%p) {k = 2 : i64} : (tensor<5x4xf32>) -> (tensor<5x2xf32>, tensor<5x2xi64>)
    %numbers, %order = edge.sort(%experts) : (tensor<10xi64>) -> (tensor<10xi64>, tensor<10xi64>)
    %token = edge.div.Scalar_mode(%order) {other = 2 : i64, rounding_mode = "floor"} : (...) -> tensor<10xi64>
    %rows = edge.index.Tensor(%x, [%token]) : (tensor<5x8xf32>, tensor<10xi64>) -> tensor<10x8xf32>
    %1 = edge.opaque "aten::_grouped_mm..." (%rows, %w, %ends, none) : (...) -> tensor<10x6xf32>
    %2 = edge.mul.Tensor(%1, %weights) : (tensor<10x6xf32>, tensor<10x1xf32>) -> tensor<10x6xf32>
    %3 = edge.index.Tensor(%2, [%back]) : (tensor<10x6xf32>, tensor<10xi64>) -> tensor<10x6xf32>
    %4 = edge.view(%3) {size = array<i64: 5, 2, 6>} : (tensor<10x6xf32>) -> tensor<5x2x6xf32>
    %5 = edge.sum.dim_IntList(%4) {dim = array<i64: 1>} : (tensor<5x2x6xf32>) -> tensor<5x6xf32>
    ```
    After, with %share what each expert counts for each token, 0 where it is not chosen:
    ```mlir
    %0 = edge.unsqueeze(%x) {dim = 1 : i64} : (tensor<5x8xf32>) -> tensor<5x1x8xf32>
    %1 = edge.mul.Tensor(%0, %share) : (tensor<5x1x8xf32>, tensor<5x4x1xf32>) -> tensor<5x4x8xf32>
    %2 = edge.view(%1) {size = array<i64: -1, 32>} : (tensor<5x4x8xf32>) -> tensor<5x32xf32>
    %3 = edge.view(%w) {size = array<i64: 32, 6>} : (tensor<4x8x6xf32>) -> tensor<32x6xf32>
    %5 = edge.mm(%2, %3) : (tensor<5x32xf32>, tensor<32x6xf32>) -> tensor<5x6xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every function that sorts."""
        for function in functions_in(op):
            if any(True for _ in ops_in(function, edge.SortOp)):
                sizes = ctx.analyses.get(SymbolicSizes, function)
                for each in list(ops_in(function, edge.SumDimIntListOp)):
                    self.rewrite(each, ctx, sizes)
                erase_unread(only_block(function))

    def rewrite(self, op: edge.SumDimIntListOp, ctx: XirContext, sizes: SymbolicSizes) -> None:
        """Rewrite a sum over the experts of each token."""
        found = experts_of(op, ctx, sizes)
        if found is None or not may_try(op, "densify"):
            return
        b = EdgeBuilder()
        result = built(found, b)
        figures = {"Experts": found.rows.experts, "PerToken": found.rows.per_token}
        passed(op, "densify", "all experts compute every token", figures=figures)
        block = op.parent_block()
        assert block is not None
        for new in b.ops:
            inherit(new, op)
        block.insert_ops_before(b.ops, op)
        result.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(result)
        block.erase_op(op)


@dataclass(frozen=True)
class Experts:
    """A sum over the experts of each token: `weights` times what a product of groups and a bias give."""

    rows: SortedRows
    result: SSAValue
    """The sum, [T, H]."""
    weights: SSAValue
    """What each row counts, before rows are sorted, [S]."""
    product: edge.OpaqueOp
    bias: SSAValue | None
    """What is added to the product, by expert, [E, H]."""


def experts_of(op: edge.SumDimIntListOp, ctx: XirContext, sizes: SymbolicSizes) -> Experts | None:
    """The experts that `op` adds the results of; None if it adds anything else."""
    view = op.self.owner
    if op.keepdim or op.dim is None or len(shape_of(op.self)) != 3 or not isinstance(view, View):
        return None
    tokens, per_token, _ = sizes.known(op.self)
    restored = view.operands[0].owner
    if [wrap_dim(dim, 3) for dim in op.dim] != [1] or not isinstance(restored, edge.IndexTensorOp):
        return None
    weighted, order = restored.self.owner, inverted(restored, ctx, sizes)
    if order is None or sizes.known(order) != (tokens * per_token,) or not isinstance(weighted, edge.MulTensorOp):
        return None
    sort = order.owner
    if not isinstance(sort, edge.SortOp) or order is not sort.results[1] or sort.descending:
        return None
    rows = SortedRows(sizes, sort, per_token)
    for column, results in ((weighted.self, weighted.other), (weighted.other, weighted.self)):
        weights = sorted_column(column, rows)
        product, bias = without_bias(results, rows)
        if weights is None or not isinstance(product, edge.OpaqueOp) or not rows.is_product(product):
            continue
        return Experts(rows, op.results[0], weights, product, bias) if rows.follow(product.operands[0]) else None
    return None


def inverted(restored: edge.IndexTensorOp, ctx: XirContext, sizes: SymbolicSizes) -> SSAValue | None:
    """The order whose inverse an index takes rows by: the place of each row is written to where the row came from."""
    put = None if len(restored.indices) != 1 or restored.indices[0] is None else restored.indices[0].owner
    if not isinstance(put, edge.IndexPutOp) or put.accumulate or len(put.indices) != 1:
        return None
    order, places = put.indices[0], sizes.known(put.results[0])
    if order is None or sizes.known(order) != places or sizes.known(restored.self)[:1] != places:
        return None
    return order if counts_up(put.values, places[0], ctx, sizes) else None


def sorted_column(value: SSAValue, rows: SortedRows) -> SSAValue | None:
    """The numbers, one for each row, that are sorted and stand below each other in a value; None for others."""
    count = rows.sizes.known(rows.order)
    if rows.sizes.known(value) != (*count, 1):
        return None
    op = without_reshapes(value).owner
    if not isinstance(op, edge.IndexTensorOp) or list(op.indices) != [rows.order]:
        return None
    return op.self if rows.sizes.known(op.self) == count else None


def without_bias(value: SSAValue, rows: SortedRows) -> tuple[object, SSAValue | None]:
    """What computes a value but for what is added to it by expert, and that."""
    op = value.owner
    if isinstance(op, edge.AddTensorOp) and op.alpha == 1:
        for first, second in ((op.self, op.other), (op.other, op.self)):
            if rows.is_product(first.owner) and rows.follow(second) and second in rows.by_expert:
                return first.owner, rows.by_expert[second]
    return op, None


def built(experts: Experts, b: EdgeBuilder) -> SSAValue:
    """What all experts compute, weighted and added."""
    rows, matrices = experts.rows, experts.product.operands[1]
    share = shares(experts, b)
    inner = Dense(rows, b).values(experts.product.operands[0])
    weighted = b.call(edge.MulTensorOp, self=inner, other=b.call(edge.UnsqueezeOp, self=share, dim=-1))
    count, size, outputs = shape_of(matrices)
    flat = b.convert(b.view(weighted, (-1, count * size)), matrices)
    result = b.call(edge.MmOp, self=flat, mat2=b.view(matrices, (count * size, outputs)))
    if experts.bias is not None:
        bias = b.call(edge.MmOp, self=b.convert(share, experts.bias), mat2=experts.bias)
        result = b.call(edge.AddTensorOp, self=result, other=bias)
    return b.convert(result, experts.result)


def shares(experts: Experts, b: EdgeBuilder) -> SSAValue:
    """What each expert counts for each token, [T, E]."""
    rows = experts.rows
    chosen, weights = (by_token(each, rows, b) for each in (rows.sort.self, experts.weights))
    numbers = b.call(edge.ArangeStartStepOp, start=0, end=rows.experts, dtype=f32)
    column = b.call(edge.UnsqueezeOp, self=b.call(edge.ToCopyOp, self=chosen, dtype=f32), dim=-1)
    # 1 where the expert is the chosen one, without a comparison, which no node of XNNPACK makes.
    distance = b.call(edge.AbsOp, self=b.call(edge.SubTensorOp, self=column, other=numbers))
    is_chosen = b.call(edge.RsubScalarOp, self=b.call(edge.ClampOp, self=distance, max=1), other=1)
    weights = b.call(edge.UnsqueezeOp, self=weights, dim=-1)
    product = b.call(edge.MulTensorOp, self=b.convert(is_chosen, weights), other=weights)
    return b.call(edge.SumDimIntListOp, self=product, dim=[1])


def by_token(value: SSAValue, rows: SortedRows, b: EdgeBuilder) -> SSAValue:
    """A value with a number for each row, [S], as one with those of each token, [T, k]."""
    (count,) = rows.sizes.known(rows.order)
    root = value
    while isinstance(op := root.owner, edge.EdgeOp) and op.name in RESHAPES:
        root = op.operands[0]
        shape = rows.sizes.known(root)
        if len(shape) == 2 and shape[1] == rows.per_token and shape[0] * rows.per_token == count:
            return root
    return b.view(value, (-1, rows.per_token))


@dataclass
class Dense:
    """Builds what rows are for each token and each expert: [T, E, N], or [T, 1, N] where all experts have the same."""

    rows: SortedRows
    b: EdgeBuilder

    def values(self, wanted: SSAValue) -> SSAValue:
        """Build all steps; the value of one result."""
        of_token, by_expert = self.rows.tokens.items(), self.rows.by_expert.items()
        known = {row: self.b.call(edge.UnsqueezeOp, self=tokens, dim=1) for row, tokens in of_token}
        known |= {row: self.b.call(edge.UnsqueezeOp, self=table, dim=0) for row, table in by_expert}
        for op in self.rows.steps:
            if isinstance(op, edge.OpaqueOp):
                known[op.results[0]] = self.product(op, known[op.operands[0]])
                continue
            arguments = {name: op.argument(name) for name in (*op.schema.tensors, *op.schema.values)}
            arguments |= {name: known.get(arguments[name], arguments[name]) for name in op.schema.tensors}
            if isinstance(op, Part):
                arguments["dim"] = -1
            made = op.build_from(arguments)
            self.b.ops.append(made)
            known |= dict(zip(op.results, made.results, strict=True))
        return known[wanted]

    def product(self, op: edge.OpaqueOp, tokens: SSAValue) -> SSAValue:
        """The product of each token with the matrices of all experts."""
        experts, size, outputs = shape_of(op.operands[1])
        beside = self.b.call(edge.PermuteOp, self=op.operands[1], dims=[1, 0, 2])
        beside = self.b.view(beside, (size, experts * outputs))
        rows = self.rows.tokens.get(op.operands[0])
        if rows is None:
            rows = self.b.call(edge.SqueezeDimOp, self=tokens, dim=1)
        return self.b.view(self.b.call(edge.MmOp, self=rows, mat2=beside), (-1, experts, outputs))


def erase_unread(block: Block) -> None:
    """Erase what nothing reads any more."""
    for op in reversed(list(block.ops)):
        is_harmless = isinstance(op, edge.OpaqueOp) and op.operator_name in WITHOUT_EFFECT
        if is_trivially_dead(op) or (is_harmless and op.results[0].first_use is None):
            op.detach()
            op.erase()
