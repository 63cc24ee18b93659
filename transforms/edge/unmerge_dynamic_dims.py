"""`unmerge-dynamic-dims`: keep dynamic dimensions apart that a program merges and splits again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import ELEMENTWISE, RowByRow
from xir.dialects.edge.types import Shape, element_of, shape_of
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.symbolic_size import exact_quotient, is_dynamic, size_order
from xir.ir.tensor_types import has_dynamic_size
from xir.ir.walking import functions_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.analysis.static_tensor import is_static

View = edge.ViewOp | edge.UnsafeViewOp

MOST_DIMS = 6
"""Of a node's tensors, in backends that infer sizes: XNNPACK's XNN_MAX_TENSOR_DIMS."""


@dataclass(frozen=True)
class UnmergeDynamicDimsPass(XirPass):
    """Keep dynamic dimensions separate where a view merges them and a later one splits them again.

    XNNPACK infers one dynamic size of a reshape, so it can merge two dynamic dimensions, but not split them. PyTorch's
    multi-head attention merges batch and heads, and batch and length for a projection.

    - A view after such a view, possibly through permutations, becomes a view that keeps the dimensions.
    - Ops that compute row by row (linear layers, products with a matrix, normalisations, elementwise ops) compute on
      the original rows. This covers models that treat the pixels of an image as tokens between convolutions.
    - Batched matrix products, softmax along another dimension, and sums with masks that are merged alike compute with a
      batch of several dimensions, as in `nn.MultiheadAttention` with its weights as output.

    Before, with %n and %t the sizes of %x:
    ```mlir
    %1 = edge.view(%x)[%rows] {size = array<i64: -9223372036854775808, 4>} : (tensor<?x?x4xf32>, i64) -> tensor<?x4xf32>
    %2 = edge.linear(%1, %w, none) : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x3xf32>
    %3 = edge.view(%2)[%n, %t] {size = array<i64: -9223372036854775808, -9223372036854775808, 3>}
         : (tensor<?x3xf32>, i64, i64) -> tensor<?x?x3xf32>
    ```
    After:
    ```mlir
    %3 = edge.linear(%x, %w, none) : (tensor<?x?x4xf32>, tensor<3x4xf32>) -> tensor<?x?x3xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = "rows and heads that are merged with a batch, at three pairs of open sizes"
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every function with several dynamic dimensions."""
        for function in functions_in(op):
            if len(function.body.blocks) > 1:  # sizes are followed through one block alone
                continue
            Unmerger(function.body.block, ctx.analyses.get(SymbolicSizes, function)).run()


@dataclass(frozen=True)
class MergedRows:
    """A view's dimensions in some order, the innermost being that of the elements of a row."""

    root: SSAValue
    parts: Sequence[Sequence[int]]
    """What the view merged to each of its dimensions."""
    perm: Sequence[int]
    """Which dimension of the view each one is."""
    size: Sequence[edge.Size]
    """The view's argument."""

    @property
    def order(self) -> list[int]:
        """The parts in the order of the dimensions."""
        indices = iter(range(sum(map(len, self.parts))))
        places = [[next(indices) for _ in group] for group in self.parts]
        return [place for dim in self.perm for place in places[dim]]

    @property
    def outer(self) -> Shape:
        """The rows."""
        return tuple(part for dim in self.perm[:-1] for part in self.parts[dim])

    @property
    def features(self) -> int:
        """How many elements a row has."""
        return prod(self.parts[self.perm[-1]])


@dataclass
class Unmerger:
    """Rewrites one block."""

    block: Block
    sizes: SymbolicSizes

    def run(self) -> None:
        """Rewrite op by op, so that an op sees what its operands have become."""
        for op in self.block.ops:
            if isinstance(op, View):
                self.view(op)
            elif isinstance(op, edge.EdgeOp) and not self.rows(op, row_operands(op)):
                self.dims(op)
        erase_dead_ops(self.block, edge.EdgeOp)

    def view(self, op: View) -> None:
        """A view of permuted dimensions that another view merged."""
        value, perm = through_permutations(op.operands[0])
        merging = self.merging_view(value)
        if merging is None or not may_try(op, "unmerge"):
            return
        root = merging.operands[0]
        if perm == sorted(perm):
            op.operands[0] = root
            self.sizes.forget(op)
            if self.sizes.known(op.results[0]) == self.sizes.known(root) and op.result_types[0] == root.type:
                self.replace(op, root)
            return
        parts = refined(self.sizes.known(root), self.sizes.known(value))
        if parts is None:
            return
        sources = [part for group in parts for part in group]
        indices = iter(range(len(sources)))
        places = [[next(indices) for _ in group] for group in parts]
        order = [place for dim in perm for place in places[dim]]
        target = self.sizes.known(op.results[0])
        if not is_grouping([sources[place] for place in order], target) or not self.has_sizes(root, sources):
            return
        moved = self.insert(op, edge.PermuteOp(self=self.viewed(op, root, sources), dims=order))
        if self.sizes.known(moved) != target:
            moved = self.insert(op, type(op)(self=moved, size=op.size))
        self.replace(op, moved)

    def rows(self, op: edge.EdgeOp, values: Sequence[SSAValue]) -> bool:
        """An op that computes row by row, each of `values` of rows that a view merged or the same for all rows.

        Whether it was rewritten.
        """
        if not values:
            return False
        result = self.sizes.known(op.results[0])
        merged = {value: found for value in values if (found := self.merged_rows(value)) is not None}
        if len({rows.outer for rows in merged.values()}) != 1 or is_dynamic(result[-1]):
            return False
        for value in values:
            shape = self.sizes.known(value)
            if shape[:-1] != result[:-1] if value in merged else any(size != 1 for size in shape[:-1]):
                return False
        if not may_try(op, "unmerge"):
            return False
        operands = [self.unmerged(op, merged[value]) if value in merged else value for value in op.operands]
        first = next(iter(merged.values()))
        result_type = TensorType(element_of(op.results[0]), [*map(int, first.outer), result[-1]])
        size = [first.size[dim] for dim in first.perm[:-1]]
        made = self.made(op, operands, result_type)
        self.replace(op, self.insert(op, edge.ViewOp(self=made, size=[*size, result[-1]])))
        return True

    def merged_rows(self, value: SSAValue) -> MergedRows | None:
        """The rows that a view behind permutations has merged."""
        return self.viewed_rows(value) if self.is_merged(value) else None

    def is_merged(self, value: SSAValue) -> bool:
        """Whether a view behind permutations has merged dynamic dimensions."""
        return self.merging_view(through_permutations(value)[0]) is not None

    def viewed_rows(self, value: SSAValue) -> MergedRows | None:
        """What a view behind permutations has merged, dynamic or not."""
        source, perm = through_permutations(value)
        view = source.owner
        if not isinstance(view, View):
            return None
        root = view.operands[0]
        parts = refined(self.sizes.known(root), self.sizes.known(source))
        if parts is None or not self.has_sizes(root, [part for group in parts for part in group]):
            return None
        return MergedRows(root, parts, perm, view.size)

    # Ops that compute along other dimensions than the merged ones.

    def dims(self, op: edge.EdgeOp) -> None:
        """An op that computes the same for each part of a merged dimension: its result has them apart, then merged.

        So products of matrices of a batch and of heads, their softmax, and sums with masks of them.
        """
        tensors = [value for value in op.operands if isinstance(value.type, TensorType) and value.type.get_num_dims()]
        if not any(map(self.is_merged, tensors)):
            return
        match op:
            case edge.BmmOp():
                self.products(op, op.self, op.mat2)
            case edge.BaddbmmOp() if op.alpha == op.beta == 1:
                if (product := self.products(op, op.batch1, op.batch2)) is not None:
                    total = edge.AddTensorOp(self=product, other=op.self)
                    op.results[0].replace_all_uses_with(self.insert(op, total))
                    self.elementwise(total, total.operands)
            case edge.SoftmaxOp() | edge.LogSoftmaxOp():
                self.softmax(op)
            case _ if op.name in ELEMENTWISE:
                self.elementwise(op, tensors)
            case _:
                pass

    def products(self, op: edge.BmmOp | edge.BaddbmmOp, left: SSAValue, right: SSAValue) -> SSAValue | None:
        """Products of matrices [B, M, K] and [B, K, N] whose batch is merged; the merged result, which stands for an
        op's that adds nothing."""
        batch, rows, inner = self.groups(left)
        other, depth, columns = self.groups(right)
        batch, other = self.split(left, batch, other), self.split(right, other, batch)
        if batch != other or len(batch) == 1 or any(len(each) > 1 for each in (rows, inner, depth, columns)):
            return None
        groups = (batch, rows, columns)
        if not is_mergeable(groups) or not may_try(op, "unmerge"):
            return None
        a, b = self.apart(op, left, (batch, rows, inner)), self.apart(op, right, (batch, depth, columns))
        merged = self.merged(op, self.insert(op, edge.MatmulOp(self=a, other=b)), groups)
        if isinstance(op, edge.BmmOp):
            self.replace(op, merged)
        return merged

    def split(self, value: SSAValue, batch: tuple[int, ...], parts: tuple[int, ...]) -> tuple[int, ...]:
        """The parts of a batch: those of another one as large, if it alone is dynamic, so that a view may split it."""
        shape = self.sizes.known(value)
        is_alone = len(batch) == 1 and sum(map(is_dynamic, shape)) == sum(map(is_dynamic, parts)) == 1
        return parts if is_alone and prod(parts) == shape[0] else batch

    def softmax(self, op: edge.SoftmaxOp | edge.LogSoftmaxOp) -> None:
        """Softmax along another dimension than the merged one."""
        groups = self.groups(op.self)
        dim = op.dim % len(groups)
        if len(groups[dim]) > 1 or not is_mergeable(groups) or not may_try(op, "unmerge"):
            return
        place = sum(map(len, groups[:dim]))
        made = type(op)(self=self.apart(op, op.self, groups), dim=place, half_to_float=op.half_to_float)
        self.replace(op, self.merged(op, self.insert(op, made), groups))

    def elementwise(self, op: edge.EdgeOp, tensors: Sequence[SSAValue]) -> None:
        """Operands that broadcast, of which the merged ones have merged the same in each dimension."""
        result = self.sizes.known(op.results[0])
        found: list[set[tuple[int, ...]]] = [set() for _ in result]
        for value in tensors:
            known = self.sizes.known(value)
            for place, size, group in zip(found[len(result) - len(known) :], known, self.groups(value), strict=True):
                if size != 1:
                    place.add(group)
        if any(len(each) > 1 for each in found):
            return
        groups = [next(iter(each), (1,)) for each in found]
        if not is_mergeable(groups) or not may_try(op, "unmerge"):
            return
        operands = [self.apart(op, each, groups) if each in tensors else each for each in op.operands]
        type = TensorType(element_of(op.results[0]), [int(size) for group in groups for size in group])
        made = op.create(operands=operands, properties=op.properties, result_types=[type])
        assert isinstance(made, edge.EdgeOp)
        self.replace(op, self.merged(op, self.insert(op, made), groups))

    def groups(self, value: SSAValue) -> list[tuple[int, ...]]:
        """For each dimension the sizes that a view has merged to it, adjacent numbers as one."""
        rows, known = self.viewed_rows(value), self.sizes.known(value)
        if rows is None:
            return [(size,) for size in known]
        return [joined(rows.parts[dim]) if size != 1 else (1,) for dim, size in zip(rows.perm, known, strict=True)]

    def apart(self, op: Operation, value: SSAValue, groups: Sequence[tuple[int, ...]]) -> SSAValue:
        """A value with its dimensions, the last of `groups`, apart; ones for each where it is repeated."""
        rows, known = self.viewed_rows(value), self.sizes.known(value)
        last = groups[len(groups) - len(known) :]
        shape = [
            each
            for size, group in zip(known, last, strict=True)
            for each in (group if size != 1 else (1,) * len(group))
        ]
        if rows is None:
            return self.viewed(op, value, shape)
        if rows.order == sorted(rows.order):
            return self.viewed(op, rows.root, shape)
        flat = self.viewed(op, rows.root, [part for group in rows.parts for part in group])
        moved = self.insert(op, edge.PermuteOp(self=flat, dims=rows.order))
        return self.viewed(op, moved, shape)

    def merged(self, op: Operation, made: SSAValue, groups: Sequence[tuple[int, ...]]) -> SSAValue:
        """`made`, whose dimensions are those of `groups`, with one dimension for each group."""
        size: list[edge.Size] = []
        for number, group in enumerate(groups):
            place, first = sum(map(len, groups[:number])), group[0]
            if len(group) > 1:
                size.append(-1)
            else:
                size.append(self.insert(op, edge.SymSizeIntOp(self=made, dim=place)) if is_dynamic(first) else first)
        return self.insert(op, edge.ViewOp(self=made, size=size))

    def unmerged(self, op: Operation, rows: MergedRows) -> SSAValue:
        """The rows as they were."""
        apart = self.viewed(op, rows.root, [part for group in rows.parts for part in group])
        if rows.order != sorted(rows.order):
            apart = self.insert(op, edge.PermuteOp(self=apart, dims=rows.order))
        return self.viewed(op, apart, (*rows.outer, rows.features))

    def made(self, op: edge.EdgeOp, operands: Sequence[SSAValue], result_type: TensorType) -> SSAValue:
        """The result of an op on rows of any number of dimensions; products of matrices are of theirs alone."""
        if isinstance(op, edge.MmOp):
            rows, matrix = operands
            return self.insert(op, edge.MatmulOp(self=rows, other=matrix))
        if isinstance(op, edge.AddmmOp):
            bias, rows, matrix = operands
            product = self.insert(op, edge.MatmulOp(self=rows, other=matrix))
            return self.insert(op, edge.AddTensorOp(self=product, other=bias))
        return self.insert(op, op.create(operands=operands, properties=op.properties, result_types=[result_type]))

    def merging_view(self, value: SSAValue) -> View | None:
        """The view that `value` comes from, if it does not keep all dynamic dimensions."""
        op = value.owner
        if not isinstance(op, View) or not has_dynamic_size(op.operands[0]):
            return None
        before, after = (
            sorted(filter(is_dynamic, self.sizes.known(each)), key=size_order) for each in (op.operands[0], value)
        )
        return op if len(before) > 1 and before != after else None

    def has_sizes(self, root: SSAValue, shape: Sequence[int]) -> bool:
        """Whether each dynamic size in `shape` is one of `root`'s."""
        return all(not is_dynamic(size) or size in self.sizes.known(root) for size in shape)

    def viewed(self, op: Operation, root: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`root` in a shape whose dynamic sizes it has, all but one at most, written before `op`."""
        known = self.sizes.known(root)
        if tuple(shape) == known:
            return root
        size = [self.size_of(op, root, each) if is_dynamic(each) else each for each in shape]
        return self.insert(op, edge.ViewOp(self=root, size=size))

    def size_of(self, op: Operation, root: SSAValue, size: int) -> edge.Size:
        """A dynamic size of `root`, or -1 for what a view infers."""
        known = self.sizes.known(root)
        return self.insert(op, edge.SymSizeIntOp(self=root, dim=known.index(size))) if size in known else -1

    def insert(self, before: Operation, op: edge.EdgeOp) -> SSAValue:
        """The result of a new op, written before another one, whose location it gets."""
        op.location = before.location
        self.block.insert_op_before(op, before)
        return op.results[0]

    def replace(self, op: Operation, value: SSAValue) -> None:
        """Let `value` stand for an op's result."""
        passed(op, "unmerge", f"{op.name} keeps dynamic dimensions apart")
        value.name_hint = value.name_hint or op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)


def row_operands(op: edge.EdgeOp) -> Sequence[SSAValue]:
    """The operands whose rows an op computes with, one by one; none for an op that does anything else."""
    if isinstance(op, RowByRow):
        is_by_row = isinstance(op, edge.LinearOp) or len(op.normalized_shape) == 1
        return [op.input] if is_by_row else []
    if isinstance(op, edge.MmOp):
        return [op.self] if is_static(op.mat2) else []
    if isinstance(op, edge.AddmmOp):
        return [op.mat1] if has_bias(op) and is_static(op.mat2) else []
    if op.name not in ELEMENTWISE:
        return []
    return [value for value in op.operands if isinstance(value.type, TensorType) and value.type.get_num_dims()]


def has_bias(op: edge.AddmmOp) -> bool:
    """Whether a product has a vector added to each row, and no factors."""
    return op.alpha == op.beta == 1 and len(shape_of(op.self)) == 1


def through_permutations(value: SSAValue) -> tuple[SSAValue, list[int]]:
    """What `value` is a permutation of, and the permutation."""
    rank = len(shape_of(value))
    perm = list(range(rank))
    while isinstance(op := value.owner, edge.PermuteOp | edge.TransposeIntOp):
        step = list(range(rank))
        if isinstance(op, edge.PermuteOp):
            step = [dim % rank for dim in op.dims]
        else:
            step[op.dim0], step[op.dim1] = step[op.dim1], step[op.dim0]
        value, perm = op.operands[0], [step[dim] for dim in perm]
    return value, perm


def refined(before: Shape, after: Shape) -> list[list[int]] | None:
    """For each size in `after` the parts that it is the product of, which are products or parts of those `before`.

    None where a size cuts across others.
    """
    groups: list[list[int]] = []
    rest = [size for size in before if size != 1]
    for size in after:
        group: list[int] = []
        while size > 1:
            if not rest:
                return None
            part = rest.pop(0)
            if (quotient := exact_quotient(size, part)) is not None:
                group.append(part)
                size = quotient
            elif (quotient := exact_quotient(part, size)) is not None:
                group.append(size)
                rest.insert(0, quotient)
                size = 1
            else:
                return None
        groups.append(group)
    return groups


def joined(parts: Sequence[int]) -> tuple[int, ...]:
    """Sizes in order, adjacent numbers as their product."""
    found: list[int] = []
    for part in parts:
        if found and not is_dynamic(part) and not is_dynamic(found[-1]):
            found[-1] *= part
        else:
            found.append(part)
    return tuple(found)


def is_mergeable(groups: Sequence[tuple[int, ...]]) -> bool:
    """Whether one group has several sizes, which a view merges again, and a node has so many dimensions."""
    return sum(len(group) > 1 for group in groups) == 1 and sum(map(len, groups)) <= MOST_DIMS


def is_grouping(parts: Sequence[int], shape: Shape) -> bool:
    """Whether each size in `shape` is the product of the next parts."""
    rest = list(parts)
    for size in shape:
        while size > 1:
            quotient = exact_quotient(size, rest.pop(0)) if rest else None
            if quotient is None:
                return False
            size = quotient
    return not rest
