"""Compute only what a slice takes of a projection: slices of its columns become smaller projections.

Attention often projects once and cuts the result into query, key and value, with reshapes and transposes in between.
Each cut keeps some of the filter's rows, so it is a projection of its own, and the cutting and most of the moving go
away.

To see which rows a slice keeps, each dimension on the way is written as a product of *parts* of the projection's own
dimensions. A transpose permutes dimensions with their parts; a reshape regroups the parts, splitting one where it must.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, ints, shape_of, u32s
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.provenance import inherit
from xir.ir.rewriting import op_rewrite_pattern, rewrite_patterns
from xir.ir.symbolic_size import exact_quotient
from xir.ir.walking import functions_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.xnnpack.building.constants import part_of


@dataclass(eq=False)
class Part:
    """A factor of one of the projection's dimensions; a split part is the product of its pieces, outermost first.

    The size of a dynamic dimension is a stand-in, which only itself divides.
    """

    size: int
    of_columns: bool
    pieces: list[Part] = field(default_factory=list["Part"])

    def leaves(self) -> list[Part]:
        """The pieces that were not split further."""
        return [leaf for piece in self.pieces for leaf in piece.leaves()] if self.pieces else [self]


Dims = list[list[Part]]
"""For each dimension of a tensor, the parts whose product it is; parts of size 1 are left out."""


@dataclass
class Cut:
    """A slice of the projection's columns: the moves from the projection to it, and the part that it cuts."""

    op: xnnpack.StaticSliceOp
    moves: list[Operation]
    dims: list[Dims]
    """The dimensions of the projection, then of each move's result."""
    part: Part
    start: int
    size: int


@dataclass(frozen=True)
class SplitFullyConnectedPass(XirPass):
    """Turn slices of a fully connected node's columns into fully connected nodes with fewer columns.

    All users of the node must be such slices, possibly through reshapes and transposes, and together they must not keep
    more columns than there are.

    Before:
    ```mlir
    %1 = xnnpack.fully_connected %0, %w : (tensor<5x4xf32>, tensor<6x4xf32>) -> tensor<5x6xf32>
    %2 = xnnpack.static_slice %1 {offsets = array<i32: 0, 0>, sizes = array<i32: 5, 3>}
         : tensor<5x6xf32> -> tensor<5x3xf32>
    %3 = xnnpack.static_slice %1 {offsets = array<i32: 0, 3>, sizes = array<i32: 5, 3>}
         : tensor<5x6xf32> -> tensor<5x3xf32>
    ```
    After, with the filter's rows 0 to 2 and 3 to 5:
    ```mlir
    %2 = xnnpack.fully_connected %0, %w0 : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<5x3xf32>
    %3 = xnnpack.fully_connected %0, %w1 : (tensor<5x4xf32>, tensor<3x4xf32>) -> tensor<5x3xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "columns that are cut in two or three, behind moves"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Split every node of every function that can be."""
        for function in functions_in(op):
            rewrite_patterns(function, [SplitFullyConnected(ctx, ctx.analyses.get(SymbolicSizes, function))])


class SplitFullyConnected(RewritePattern):
    """Split one fully connected node."""

    def __init__(self, ctx: XirContext, sizes: SymbolicSizes):
        self.ctx = ctx
        self.sizes = sizes

    @op_rewrite_pattern
    def match_and_rewrite(self, op: xnnpack.FullyConnectedOp, rewriter: PatternRewriter, /) -> None:
        """Replace the slices of one node."""
        static = (op.filter, *(() if op.bias is None else (op.bias,)))
        if not all(isinstance(value.owner, xnnpack.ConstantOp) for value in static):
            return
        *outer, columns = (Part(size, False) for size in self.sizes.known(op.output))
        columns.of_columns = True
        cuts = self.find_cuts(op.output, [[[part] if part.size > 1 else [] for part in (*outer, columns)]], [])
        if not cuts:
            return
        rows = [kept_rows(columns, cut) for cut in cuts]
        if sum(len(kept) for kept in rows) > columns.size:
            return
        for cut, kept in zip(cuts, rows, strict=True):
            value = self.projection(op, kept, rewriter)
            for move, dims in zip(cut.moves, cut.dims[1:], strict=True):
                value = self.moved(move, value, cut_shape(dims, cut), rewriter)
            rewriter.replace(cut.op, [], [value])

    def projection(self, op: xnnpack.FullyConnectedOp, rows: np.ndarray, rewriter: PatternRewriter) -> SSAValue:
        """`op` with only some rows of its filter and bias."""
        axis = 0 if op.transpose_weights is None else 1
        operands = [op.input, self.kept(op.filter, rows, axis, rewriter)]
        if op.bias is not None:
            operands.append(self.kept(op.bias, rows, 0, rewriter))
        result = TensorType(element_type(op.output), (*shape_of(op.output)[:-1], len(rows)))
        node = xnnpack.FullyConnectedOp.create(operands=operands, result_types=[result], properties=dict(op.properties))
        inherit(node, op)
        rewriter.insert(node)
        return node.output

    def kept(self, value: SSAValue, rows: np.ndarray, axis: int, rewriter: PatternRewriter) -> SSAValue:
        """Some rows of a constant; a view where they are neighbours."""
        assert isinstance(value.owner, xnnpack.ConstantOp)
        neighbors = rows[-1] - rows[0] + 1 == len(rows)
        index = (slice(None),) * axis + (slice(rows[0], rows[-1] + 1) if neighbors else rows,)
        return rewriter.insert(part_of(value.owner, index, self.ctx)).output

    def moved(self, move: Operation, value: SSAValue, shape: Sequence[int], rewriter: PatternRewriter) -> SSAValue:
        """The move `move` for a smaller operand; where `shape` is symbolic, its result stays dynamic."""
        properties = dict(move.properties)
        before = shape_of(move.results[0])
        shape = [old if old == DYNAMIC_INDEX else size for old, size in zip(before, shape, strict=True)]
        if isinstance(move, xnnpack.StaticReshapeOp):
            properties["new_shape"] = u32s([0 if size == DYNAMIC_INDEX else size for size in shape])
        node = type(move).create(
            operands=[value], result_types=[TensorType(element_type(value), shape)], properties=properties
        )
        inherit(node, move)
        rewriter.insert(node)
        return node.results[0]

    def find_cuts(self, value: SSAValue, dims: list[Dims], moves: list[Operation]) -> list[Cut] | None:
        """The slices that use `value`, through moves; None if anything else uses it."""
        cuts: list[Cut] = []
        for use in value.uses:
            user = use.operation
            found: list[Cut] | None = None
            if isinstance(user, xnnpack.StaticSliceOp):
                cut = cut_of(user, dims, moves)
                found = None if cut is None else [cut]
            elif isinstance(user, xnnpack.StaticTransposeOp):
                permuted = [dims[-1][axis] for axis in ints(user.perm)]
                found = self.find_cuts(user.output, [*dims, permuted], [*moves, user])
            elif isinstance(user, xnnpack.StaticReshapeOp):
                regrouped = regroup(dims[-1], self.sizes.known(user.output))
                found = None if regrouped is None else self.find_cuts(user.output, [*dims, regrouped], [*moves, user])
            if found is None:
                return None
            cuts += found
        return cuts


def regroup(dims: Dims, shape: Sequence[int]) -> Dims | None:
    """The parts of `dims`, in order, as dimensions of `shape`; None where a dimension cuts across parts."""
    parts = [leaf for dim in dims for part in dim for leaf in part.leaves()]
    regrouped: Dims = []
    for size in shape:
        dim: list[Part] = []
        while size > 1:
            part = parts.pop(0)
            if (quotient := exact_quotient(size, part.size)) is not None:
                dim.append(part)
                size = quotient
            elif (quotient := exact_quotient(part.size, size)) is not None:
                part.pieces = [Part(size, part.of_columns), Part(quotient, part.of_columns)]
                dim.append(part.pieces[0])
                parts.insert(0, part.pieces[1])
                size = 1
            else:
                return None
        regrouped.append(dim)
    return regrouped


def cut_of(op: xnnpack.StaticSliceOp, dims: list[Dims], moves: list[Operation]) -> Cut | None:
    """The slice as a cut of one part of the columns; None if it cuts anything else."""
    shape, offsets, sizes = shape_of(op.input), ints(op.offsets), ints(op.sizes)
    whole = [(0, 0 if dim == DYNAMIC_INDEX else dim) for dim in shape]
    sliced = [axis for axis, kept in enumerate(zip(offsets, sizes, strict=True)) if kept != whole[axis]]
    if len(sliced) != 1 or shape[sliced[0]] == DYNAMIC_INDEX:
        return None
    leaves = [leaf for part in dims[-1][sliced[0]] for leaf in part.leaves()]
    inner = prod(leaf.size for leaf in leaves[1:])
    start, size = offsets[sliced[0]], sizes[sliced[0]]
    if not leaves[0].of_columns or start % inner or size % inner:
        return None
    return Cut(op, moves, dims, leaves[0], start // inner, size // inner)


def kept_rows(columns: Part, cut: Cut) -> np.ndarray:
    """The indices of the columns that a cut keeps, ascending."""
    leaves = columns.leaves()
    index = np.arange(columns.size).reshape([leaf.size for leaf in leaves])
    kept = tuple(slice(cut.start, cut.start + cut.size) if leaf is cut.part else slice(None) for leaf in leaves)
    return index[kept].reshape(-1)


def cut_shape(dims: Dims, cut: Cut) -> list[int]:
    """The shape of a tensor on the way, once only the cut's columns are computed."""
    return [prod(cut.size if leaf is cut.part else leaf.size for part in dim for leaf in part.leaves()) for dim in dims]
