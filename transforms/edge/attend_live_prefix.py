"""`attend-live-prefix`: attention reads the part of a cache that has been written, not the whole window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue, SSAValues

from xir.dialects import edge
from xir.dialects.edge.families import CompareTensors, Reordering
from xir.dialects.edge.types import Shape, shape_of, wrap_dim
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import missed, passed
from xir.ir.rewriting import erase_dead_ops
from xir.ir.walking import ops_in
from xir.transforms.edge._hidden_columns import AND, NOT, OR, Behind, HiddenColumns

Stored = edge.MutableBufferOp | edge.IndexPutOp | edge.SliceScatterOp
"""The ops that may make the value of a cache: a buffer, or a write to one."""

Elementwise = (
    CompareTensors
    | edge.WhereSelfOp
    | edge.ToCopyOp
    | edge.AddScalarOp
    | edge.SubScalarOp
    | edge.RsubScalarOp
    | edge.MulScalarOp
    | edge.MaskedFillScalarOp
    | edge.MaskedFillTensorOp
)
"""Ops that compute each element of a mask from the same ones of their operands; so do AND, OR and NOT."""


@dataclass(frozen=True)
class AttendLivePrefixPass(XirPass):
    """Read only the filled part of a cache of keys and values, where a mask hides the rest.

    A cache has room for the longest text, its window, and a mask hides what has not been written yet: `arange(window)
    <= positions[:, None]`. No column after the largest position counts, so keys, values and mask are cut there. The cut
    is a run-time size: delegates compute for the keys that exist, in memory planned for the window.

    - The columns that a mask hides follow from how it is computed: comparisons of columns with positions, rows of
      constant tables, and logic, choices and moves of these. A mask that may show a column after the largest position
      is left alone.
    - Lengths are multiples of `block`, or the window. When a size changes, XNNPACK plans all nodes of a delegate again,
      which takes longer than a few hidden keys; so only one step of generation in `block` does.
    - Positions may be any integers. If the mask hides every key, the first ones are kept, and stay hidden.
    - A number of -10,000 or less that is added to scores hides as −∞ does: softmax turns it into 0 unless hidden and
      seen scores are that far apart. A row with only such numbers is meaningless, before and after.
    - Values after the cut are not read.

    Before:
    ```mlir
    %0 = edge.index_put(%k, [none, none, %at], %x) : (...) -> tensor<1x2x4096x64xf32>
    %mask = edge.le.Tensor(%columns, %at) : (tensor<1x4096xi64>, tensor<1xi64>) -> tensor<1x4096xi1>
    %2 = edge.scaled_dot_product_attention(%q, %0, %1, %mask) {enable_gqa = true} : (...) -> tensor<1x8x1x64xf32>
    ```
    After, likewise for `%1`:
    ```mlir
    %last = edge._local_scalar_dense(%at) : (tensor<1xi64>) -> i64
    %live = edge.executorch_prim.add.Scalar()[%last] {a, b = 1 : i64} : (i64) -> i64  // and up to a multiple of 32
    %3 = edge.slice.Tensor(%0)[%live] {dim = 2 : i64, start = 0 : i64, end} : (...) -> tensor<1x2x?x64xf32>
    %4 = edge.slice.Tensor(%columns)[%live] {dim = 1 : i64, start = 0 : i64, end} : (...) -> tensor<1x?xi64>
    %mask = edge.le.Tensor(%4, %at) : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<1x?xi1>
    %2 = edge.scaled_dot_product_attention(%q, %3, ...) {enable_gqa = true} : (...) -> tensor<1x8x1x64xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "caches of four keys, comparisons, windows and tables, at each position"
    preserves: ClassVar = (ValueAnalysis,)

    block: int = 32
    """Lengths are multiples of this."""

    def __post_init__(self) -> None:
        if self.block < 1:
            raise ValueError(f"block is a number of keys, 1 at least, not {self.block}")

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite the attention of every function."""
        for block in {each.parent_block(): None for each in ops_in(op, edge.ScaledDotProductAttentionOp)}:
            if block is not None:
                LivePrefix(block, ctx, self.block).run()


class LivePrefix:
    """Rewrites one block, to lengths that are multiples of `multiple`."""

    def __init__(self, block: Block, ctx: XirContext, multiple: int):
        self.block = block
        self.multiple = multiple
        self.columns = HiddenColumns(ctx)
        self.lengths: dict[tuple[SSAValue, int, int | None], SSAValue] = {}
        """Positions, offset and rows of a table -> how many columns may be seen."""
        self.prefixes: dict[tuple[SSAValue, int, SSAValue], SSAValue] = {}
        """Value, dimension and length -> the prefix."""

    def run(self) -> None:
        """Rewrite op by op, in order, so that a prefix that several ops read is made before all of them."""
        for op in list(self.block.ops):
            if isinstance(op, edge.ScaledDotProductAttentionOp):
                self.attention(op)
        erase_dead_ops(self.block, edge.EdgeOp)

    def attention(self, op: edge.ScaledDotProductAttentionOp) -> None:
        """Cut keys, values and mask of one op, if they are in a cache and a mask hides its end."""
        mask, key, value = op.attn_mask, op.key, op.value
        if mask is None or op.is_causal or op.dropout_p:
            return
        window = shape_of(key)[-2]
        if window < 2 or shape_of(value)[-2] != window or shape_of(mask)[-1:] != (window,):
            return
        if not all(is_stored(each, len(shape_of(each)) - 2) for each in (key, value)):
            return
        hidden = self.columns.hidden(mask)
        if hidden is None:
            reason = "its mask is not known to hide the end of the cache"
            missed(op, "live-prefix", "attention reads the whole window", reason, figures={"Window": window})
            return
        passed(op, "live-prefix", "attention reads the tokens that are there", figures={"Window": window})
        length = self.length(hidden, op)
        for name, each, dim in (("key", key, -2), ("value", value, -2), ("attn_mask", mask, -1)):
            operand = list(op.schema.tensors).index(name)
            op.operands[operand] = self.prefix(each, len(shape_of(each)) + dim, length, op)

    def length(self, hidden: Behind, before: Operation) -> SSAValue:
        """How many columns may be seen, rounded up; slices end at the window by themselves."""
        key = (hidden.source, hidden.offset, hidden.rows)
        if key not in self.lengths:
            positions = hidden.source
            if hidden.rows is not None:
                positions = self.insert(edge.RemainderScalarOp(self=positions, other=hidden.rows), before)
            if any(size != 1 for size in shape_of(positions)):
                positions = self.insert(edge.AmaxOp(self=positions), before)
            last = self.insert(edge.LocalScalarDenseOp.build_from({"self": positions}, [i64]), before)
            end = self.insert(edge.ExecutorchPrimAddScalarOp(a=last, b=hidden.offset + 1), before)
            length = self.insert(edge.ExecutorchPrimSymMaxScalarOp(a=end, b=1), before)
            self.lengths[key] = self.rounded_up(length, before)
        return self.lengths[key]

    def rounded_up(self, length: SSAValue, before: Operation) -> SSAValue:
        """The next multiple of what lengths are multiples of."""
        if self.multiple == 1:
            return length
        past = self.insert(edge.ExecutorchPrimAddScalarOp(a=length, b=self.multiple - 1), before)
        blocks = self.insert(edge.ExecutorchPrimFloordivScalarOp(a=past, b=self.multiple), before)
        return self.insert(edge.ExecutorchPrimMulScalarOp(a=blocks, b=self.multiple), before)

    def prefix(self, value: SSAValue, dim: int, length: SSAValue, before: Operation) -> SSAValue:
        """The first `length` elements of a dimension, cut as close to where they come from as may be."""
        key = (value, dim, length)
        if key not in self.prefixes:
            self.prefixes[key] = self.moved(value, dim, length, before) or self.insert(
                edge.SliceTensorOp(self=value, dim=dim, start=0, end=length), before
            )
            self.prefixes[key].name_hint = value.name_hint
        return self.prefixes[key]

    def moved(self, value: SSAValue, dim: int, length: SSAValue, before: Operation) -> SSAValue | None:
        """What the op that computes a value makes of prefixes; None if the value itself is to be cut."""
        op, shape = value.owner, shape_of(value)
        match op:
            case edge.UnsqueezeOp() | edge.PermuteOp() | edge.TransposeIntOp() | edge.CloneOp():
                source = source_dim(op, dim)
                return (
                    None if source is None else self.rebuilt(op, [self.prefix(op.self, source, length, before)], before)
                )
            case edge.ExpandOp() if len(shape_of(op.self)) == len(shape) and shape_of(op.self)[dim] == shape[dim]:
                size = [*op.size]
                size[dim] = -1
                return self.insert(edge.ExpandOp(self=self.prefix(op.self, dim, length, before), size=size), before)
            case edge.EdgeOp() if isinstance(op, Elementwise) or op.name in AND | OR | NOT:
                operands = [self.broadcast_prefix(each, shape, dim, length, before) for each in op.tensor_operands]
                return self.rebuilt(op, operands, before)
            case _:
                return None

    def broadcast_prefix(
        self, operand: SSAValue, shape: Shape, dim: int, length: SSAValue, before: Operation
    ) -> SSAValue:
        """An operand that is broadcast to `shape`, of whose dimension `dim` the first `length` elements are wanted."""
        own = dim - len(shape) + len(shape_of(operand))
        is_same = own < 0 or shape_of(operand)[own] == 1
        return operand if is_same else self.prefix(operand, own, length, before)

    def rebuilt(self, op: edge.EdgeOp, operands: list[SSAValue], before: Operation) -> SSAValue:
        """The op on other tensors."""
        made = type(op).create(
            operands=(*operands, *op.symbols), properties=op.properties, result_types=op.result_types
        )
        made.results = SSAValues(OpResult(type, made, n) for n, type in enumerate(made.infer_result_types()))
        return self.insert(made, before)

    def insert(self, op: edge.EdgeOp, before: Operation) -> SSAValue:
        """The result of a new op."""
        op.location = before.location
        self.block.insert_op_before(op, before)
        return op.results[0]


def is_stored(value: SSAValue, dim: int) -> bool:
    """Whether a value is a cache whose dimension `dim` is that of a buffer, or of an argument of the function.

    A cache may be of a shorter type than the value, and may have scales for what is in the dimension.
    """
    while isinstance(op := value.owner, Reordering | edge.ToCopyOp | edge.MulTensorOp):
        if isinstance(op, edge.MulTensorOp):
            shapes = [shape_of(each)[: dim + 1] for each in (value, op.self, op.other)]
            return shapes[0] == shapes[1] == shapes[2] and is_stored(op.self, dim) and is_stored(op.other, dim)
        source = dim if isinstance(op, edge.ToCopyOp) else source_dim(op, dim)
        if source is None:
            return False
        value, dim = op.self, source
    return isinstance(value, BlockArgument) or isinstance(op, Stored)


def source_dim(op: Reordering, dim: int) -> int | None:
    """The operand's dimension that is the result's `dim`; None if it is a new one."""
    rank = len(shape_of(op.results[0]))
    match op:
        case edge.UnsqueezeOp():
            new = wrap_dim(op.dim, rank)
            return None if new == dim else dim - (new < dim)
        case edge.PermuteOp():
            return wrap_dim(op.dims[dim], rank)
        case edge.TransposeIntOp():
            first, second = wrap_dim(op.dim0, rank), wrap_dim(op.dim1, rank)
            return {first: second, second: first}.get(dim, dim)
        case edge.CloneOp():
            return dim
