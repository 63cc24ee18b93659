"""`collapse-dims`: compute on tensors of fewer dimensions than the program writes, where XNNPACK takes no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import ELEMENTWISE, AlongOneDim, Reduction, Reshape
from xir.dialects.edge.types import DYNAMIC_INDEX, Shape, element_of, shape_of, wrap_dim
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.walking import ops_in

INFERRED = -1
"""The size of a view that follows from the others, and that of an expansion that stays."""


@dataclass(frozen=True)
class CollapseDimsPass(XirPass):
    """Merge dimensions of tensors with more than `max-rank` dimensions.

    Windows of videos and the tensors of an `einsum` have seven or eight dimensions, many of size 1 or always side by
    side. An op on such a tensor becomes the same op on fewer dimensions between two views, and views of views are
    merged. A permutation that keeps too many dimensions apart takes several steps. At most one size of a tensor may be
    open.

    Before:
    ```mlir
    %0 = edge.view(%x) {size = array<i64: 1, 4, 2, 4, 2, 4, 2, 3>}
         : (tensor<1x8x8x24xf32>) -> tensor<1x4x2x4x2x4x2x3xf32>
    %1 = edge.permute(%0) {dims = array<i64: 0, 1, 3, 5, 2, 4, 6, 7>}
         : (tensor<1x4x2x4x2x4x2x3xf32>) -> tensor<1x4x4x4x2x2x2x3xf32>
    %2 = edge.view(%1) {size = array<i64: 64, 24>} : (tensor<1x4x4x4x2x2x2x3xf32>) -> tensor<64x24xf32>
    ```
    After:
    ```mlir
    %0 = edge.view(%x) {size = array<i64: 4, 2, 4, 2, 4, 6>} : (tensor<1x8x8x24xf32>) -> tensor<4x2x4x2x4x6xf32>
    %1 = edge.permute(%0) {dims = array<i64: 0, 2, 4, 1, 3, 5>} : (tensor<4x2x4x2x4x6xf32>) -> tensor<4x4x4x2x2x6xf32>
    %2 = edge.view(%1) {size = array<i64: 64, 24>} : (tensor<4x4x4x2x2x6xf32>) -> tensor<64x24xf32>
    ```
    """

    max_rank: int = 6
    """The largest number of dimensions that tensors may have."""

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "permutations, sums, expansions, reductions and softmax of tensors with four and five dimensions"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite op by op, so that an op sees what its operands have become."""
        blocks = {}
        for each in list(ops_in(op, edge.EdgeOp)):
            if any(rank_of(value) > self.max_rank for value in (*each.operands, *each.results)):
                collapser = Collapser(each, self.max_rank)
                if collapser.run():
                    blocks[each.parent_block()] = None
        for block in blocks:
            erase_dead_ops(block, edge.EdgeOp)


@dataclass
class Collapser:
    """Rewrites one op."""

    op: edge.EdgeOp
    max_rank: int

    def run(self) -> bool:
        """Whether the op became one on fewer dimensions."""
        if len(self.op.results) != 1 or not isinstance(self.op.results[0].type, TensorType):
            return False
        shapes = [shape_of(value) for value in (*self.op.tensor_operands, *self.op.results)]
        if self.op.symbols and not isinstance(self.op, Reshape):
            return False
        if any(shape.count(DYNAMIC_INDEX) > 1 for shape in shapes) or not may_try(self.op, "collapse"):
            return False
        made = self.collapsed(shapes[-1])
        if made is None:
            return False
        passed(self.op, "collapse", f"{self.op.operator_name} computes on fewer dimensions")
        result = self.op.results[0]
        value = self.viewed(made, shapes[-1])
        value.name_hint = value.name_hint or result.name_hint
        result.replace_all_uses_with(value)
        return True

    def collapsed(self, result: Shape) -> SSAValue | None:
        """What the op computes, in some shape; None where there is no form of few dimensions."""
        match self.op:
            case edge.EdgeOp() if isinstance(self.op, Reshape):
                value = self.op.operands[0]
                return None if (root := unviewed(value, self.max_rank)) is value else root
            case edge.PermuteOp() | edge.TransposeIntOp():
                value, perm = self.op.self, permutation(self.op)
                return self.permuted(value, shape_of(value), perm)
            case edge.ExpandOp():
                return self.expand(self.op, result)
            case edge.EdgeOp() if self.op.name in ELEMENTWISE:
                return self.elementwise(result)
            case edge.EdgeOp() if isinstance(self.op, Reduction):
                return self.reduction(self.op)
            case edge.EdgeOp() if isinstance(self.op, AlongOneDim):
                return self.along_one_dim(self.op)
            case _:
                return None

    def permuted(self, value: SSAValue, shape: Sequence[int], perm: Sequence[int]) -> SSAValue:
        """A permutation of `value` seen as a tensor of a shape, in as few steps as can be."""
        shape, perm = without_neighbors(shape, perm)
        if perm == sorted(perm):
            return value
        if len(shape) <= self.max_rank:
            return self.insert(edge.PermuteOp(self=self.viewed(value, shape), dims=perm))
        first = first_step(shape, perm)
        moved = self.permuted(value, shape, first)
        return self.permuted(moved, [shape[dim] for dim in first], [first.index(dim) for dim in perm])

    def elementwise(self, result: Shape) -> SSAValue | None:
        """The op on operands whose dimensions are merged alike."""
        operands = self.op.tensor_operands
        roots = [unviewed(value, self.max_rank) for value in operands]
        if len({shape_of(root) for root in roots}) == 1 and all(shape_of(value) == result for value in operands):
            return self.elements(roots, shape_of(roots[0])) if rank_of(roots[0]) <= self.max_rank else None
        aligned = [[1] * (len(result) - rank_of(value)) + list(shape_of(value)) for value in operands]
        groups = grouped(result, [tuple(sizes[dim] == 1 for sizes in aligned) for dim in range(len(result))])
        if len(groups) > self.max_rank:
            return None
        values = [
            self.viewed(value, merged(sizes, groups)) if rank_of(value) else value
            for value, sizes in zip(operands, aligned, strict=True)
        ]
        return self.elements(values, merged(result, groups))

    def elements(self, operands: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue:
        """The op on other operands, with a result of a shape."""
        types = [TensorType(element_of(self.op.results[0]), shape)]
        return self.insert(type(self.op).create(operands=operands, properties=self.op.properties, result_types=types))

    def expand(self, op: edge.ExpandOp, result: Shape) -> SSAValue | None:
        """An expansion of merged dimensions."""
        sizes = [1] * (len(result) - rank_of(op.self)) + list(shape_of(op.self))
        groups = grouped(result, [size == 1 for size in sizes])
        before, after = merged(sizes, groups), merged(result, groups)
        if len(groups) > self.max_rank or any(n == DYNAMIC_INDEX != m for m, n in zip(before, after, strict=True)):
            return None
        size = [INFERRED if size == DYNAMIC_INDEX else size for size in after]
        return self.insert(edge.ExpandOp(self=self.viewed(op.self, before), size=size))

    def reduction(self, op: Reduction) -> SSAValue | None:
        """Reductions over merged dimensions, which stay as dimensions of size 1: in one step if they are few."""
        value, shape = op.self, list(shape_of(op.self))
        dims = {wrap_dim(dim, len(shape)) for dim in op.dim or range(len(shape))}
        kinds = [dim in dims for dim in range(len(shape))]
        if all(shape[dim] == 1 for dim in dims):
            return None
        while len(groups := grouped(shape, kinds)) > self.max_rank:
            last = next(group for group in reversed(groups) if kinds[group[0]])
            around = [list(range(last[0])), last, list(range(last[-1] + 1, len(shape)))]
            value = self.along(op, value, merged(shape, around), dim=[1], keepdim=True)
            shape = [1 if dim in last else size for dim, size in enumerate(shape)]
        reduced = [place for place, group in enumerate(groups) if kinds[group[0]]]
        return self.along(op, value, merged(shape, groups), dim=reduced, keepdim=True)

    def along_one_dim(self, op: AlongOneDim) -> SSAValue:
        """An op along one dimension, with those before and behind it merged."""
        shape = shape_of(op.self)
        dim = wrap_dim(op.dim, len(shape))
        return self.along(op, op.self, merged(shape, [range(dim), [dim], range(dim + 1, len(shape))]), dim=1)

    def along(self, op: Reduction | AlongOneDim, value: SSAValue, shape: Sequence[int], **changed: object) -> SSAValue:
        """The op on a value seen as a tensor of a shape, with other arguments."""
        arguments = {name: op.argument(name) for name in op.accessors}
        return self.insert(type(op).build_from({**arguments, "self": self.viewed(value, shape), **changed}))

    def viewed(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` in another shape."""
        value = unviewed(value, self.max_rank)
        if shape_of(value) == tuple(shape):
            return value
        return self.insert(edge.ViewOp(self=value, size=[INFERRED if n == DYNAMIC_INDEX else n for n in shape]))

    def insert(self, op: Operation) -> SSAValue:
        """The result of a new op, written before the one that is rewritten, whose location it gets."""
        block = self.op.parent_block()
        assert block is not None
        op.location = self.op.location
        block.insert_op_before(op, self.op)
        return op.results[0]


def rank_of(value: SSAValue) -> int:
    """How many dimensions a value has; a number has none."""
    return len(value.type.get_shape()) if isinstance(value.type, TensorType) else 0


def unviewed(value: SSAValue, max_rank: int) -> SSAValue:
    """What a value of too many dimensions is a view of, if that has few."""
    while rank_of(value) > max_rank and isinstance(op := value.owner, Reshape):
        value = op.operands[0]
    return value


def permutation(op: edge.PermuteOp | edge.TransposeIntOp) -> list[int]:
    """For each dimension of the result which one of the operand it is."""
    rank = rank_of(op.self)
    if isinstance(op, edge.PermuteOp):
        return [wrap_dim(dim, rank) for dim in op.dims]
    perm, a, b = list(range(rank)), wrap_dim(op.dim0, rank), wrap_dim(op.dim1, rank)
    perm[a], perm[b] = b, a
    return perm


def grouped(shape: Sequence[int], kinds: Sequence[object]) -> list[list[int]]:
    """Runs of neighbouring dimensions of one kind; those of size 1 are left out, unless all are."""
    groups: list[list[int]] = []
    for dim, size in enumerate(shape):
        if size == 1:
            continue
        if groups and kinds[groups[-1][0]] == kinds[dim]:
            groups[-1].append(dim)
        else:
            groups.append([dim])
    return groups or [[0]]


def merged(shape: Sequence[int], groups: Sequence[Sequence[int]]) -> list[int]:
    """The sizes of groups of dimensions."""
    sizes = [[shape[dim] for dim in group] for group in groups]
    return [DYNAMIC_INDEX if DYNAMIC_INDEX in group else prod(group) for group in sizes]


def without_neighbors(shape: Sequence[int], perm: Sequence[int]) -> tuple[list[int], list[int]]:
    """The same permutation with those dimensions merged that stay neighbours, and those of size 1 left out."""
    kept = [dim for dim, size in enumerate(shape) if size != 1]
    behind = dict(pairwise(kept))
    runs: list[list[int]] = []
    for dim in (dim for dim in perm if dim in kept):
        if runs and behind.get(runs[-1][-1]) == dim:
            runs[-1].append(dim)
        else:
            runs.append([dim])
    order = sorted(runs)
    return merged(shape, order), [order.index(run) for run in runs]


def first_step(shape: Sequence[int], perm: Sequence[int]) -> list[int]:
    """The permutation that moves one dimension such that as few as possible are left for `perm` to keep apart."""

    def moving(place: int, to: int) -> list[int]:
        rest = [dim for dim in range(len(perm)) if dim != place]
        return [*rest[:to], place, *rest[to:]]

    def left(step: list[int]) -> int:
        return len(without_neighbors([shape[dim] for dim in step], [step.index(dim) for dim in perm])[0])

    steps = (moving(place, to) for place, to in product(range(len(perm)), repeat=2) if place != to)
    return min(steps, key=left)
