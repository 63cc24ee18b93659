"""Attention computes no scores that its mask hides, where the mask is known.

A causal mask hides half of the scores, a window most of them. XNNPACK multiplies whole matrices, so queries are taken
in blocks, each with the keys that it sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, f16, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of, u32s
from xir.dialects.xnnpack.shape import MOST_JOINED
from xir.ir.analyses import ValueAnalysis
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.rewriting import may_try
from xir.ir.shapes import Shape
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.analysis.composed import mark_composed, report_composed
from xir.transforms.xnnpack.building.constants import part_of

HIDDEN, SEEN = -1e30, -1e4
"""What a mask adds to scores: at most the first where a key is hidden, at least the second to some key of each query.
The softmax of a score that is so much below another one is zero, as long as scores themselves are no such numbers."""

LEAST_BLOCK = 64
"""Queries of a block: fewer are not multiplied any faster."""

Range = tuple[int, int]
"""The first and one behind the last."""


@dataclass(frozen=True)
class SkipMaskedKeysPass(XirPass):
    """Compute attention in blocks of queries, each only with the keys that a constant mask lets it see.

    The mask is a constant that is added to the scores, as for `is_causal` and windows. It hides scores to which it adds
    -1e30 or less (or -inf), and must leave each query a key. All blocks have one size, which minimises the products
    together with the cost of packing keys and values again for each block.

    Before, with `overhead=0`:
    ```mlir
    %0 = xnnpack.batch_matrix_multiply %q, %k {transpose_b}
         : (tensor<1x64x8xf32>, tensor<1x64x8xf32>) -> tensor<1x64x64xf32>
    %1 = xnnpack.binary add %0, %mask : tensor<1x64x64xf32>, tensor<64x64xf32> -> tensor<1x64x64xf32>
    %2 = xnnpack.softmax %1 : tensor<1x64x64xf32> -> tensor<1x64x64xf32>
    %3 = xnnpack.batch_matrix_multiply %2, %v : (tensor<1x64x64xf32>, tensor<1x64x8xf32>) -> tensor<1x64x8xf32>
    ```
    After, where the mask is causal, with its upper left quarter and its lower half:
    ```mlir
    %q0 = xnnpack.static_slice %q {offsets = array<i32: 0, 0, 0>, sizes = array<i32: 1, 32, 8>}
          : tensor<1x64x8xf32> -> tensor<1x32x8xf32>
    %k0 = xnnpack.static_slice %k {offsets = array<i32: 0, 0, 0>, sizes = array<i32: 1, 32, 8>}
          : tensor<1x64x8xf32> -> tensor<1x32x8xf32>
    %0 = xnnpack.batch_matrix_multiply %q0, %k0 {transpose_b}
         : (tensor<1x32x8xf32>, tensor<1x32x8xf32>) -> tensor<1x32x32xf32>
    ...
    %7 = xnnpack.softmax %6 : tensor<1x32x64xf32> -> tensor<1x32x64xf32>
    %8 = xnnpack.batch_matrix_multiply %7, %v : (tensor<1x32x64xf32>, tensor<1x64x8xf32>) -> tensor<1x32x8xf32>
    %9 = xnnpack.concatenate %4, %8 {axis = 1 : i32}
         : (tensor<1x32x8xf32>, tensor<1x32x8xf32>) -> tensor<1x64x8xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED
    proved: ClassVar[str] = "each mask of three keys, and two halves of 128 queries that see other keys"

    overhead: int = 32
    """The number of queries whose products take as long as slicing and packing keys and values for a block."""
    least_gain: float = 0.1
    """The share of the products that must be saved, after subtracting the overhead."""

    preserves: ClassVar = (ValueAnalysis,)

    def __post_init__(self) -> None:
        if self.overhead < 0 or not 0 <= self.least_gain < 1:
            raise ValueError("overhead is a number of queries, and least-gain a share below 1")

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Look at every softmax."""
        masks: dict[xnnpack.ConstantOp, Mask] = {}
        for softmax in list(ops_in(op, xnnpack.SoftmaxOp)):
            attention = attention_of(softmax)
            if attention is None:
                continue
            mask = masks.get(attention.mask) or Mask(attention.mask, attention.keys, ctx)
            masks[attention.mask] = mask
            if mask.seen is None:
                continue
            blocks, cost = self.best_blocks(mask.seen, attention.queries)
            whole = attention.queries * attention.keys + self.overhead * attention.keys
            if cost <= (1 - self.least_gain) * whole and may_try(softmax, "blocks"):
                self.rewrite(attention, mask, blocks, ctx)

    def best_blocks(self, seen: Sequence[Range], queries: int) -> tuple[list[QueryBlock], int]:
        """The blocks that take the least, and how many products of a query and a key they take as long as."""
        best: list[QueryBlock] = []
        least = inf
        # Where all queries see the same keys, their number is in no way bounded by the mask's.
        most = queries // LEAST_BLOCK if len(seen) > 1 else 1
        for count in range(1, max(most, 1) + 1):
            blocks = list(blocks_of(seen, queries, count))
            cost = sum((len(block.queries) + self.overhead) * len(block.keys) for block in blocks)
            if cost < least:
                best, least = blocks, cost
        return best, int(least)

    def rewrite(self, attention: MaskedAttention, mask: Mask, blocks: Sequence[QueryBlock], ctx: XirContext) -> None:
        """Put the blocks in the place of the whole."""
        computed = sum(len(block.queries) * len(block.keys) for block in blocks)
        percent = round(100 * computed / (attention.queries * attention.keys))
        form = f"{len(blocks)} block{'s' * (len(blocks) > 1)} of queries"
        figures = {"Blocks": len(blocks), "Percent": percent}
        report_composed(attention.softmax, self.name, f"{form}, {percent} % of the scores", figures, ctx)
        builder = BlockBuilder(attention, mask, f"attention in {form}")
        result = builder.joined([builder.block(block) for block in blocks])
        Rewriter.replace_op(attention.product, builder.ops, [result])
        for op in (attention.softmax, attention.sum, *reversed(attention.scaled), attention.scores):
            Rewriter.erase_op(op)


@dataclass(frozen=True)
class QueryBlock:
    """Neighbouring queries, and the keys from the first to the last that one of them sees."""

    queries: range
    keys: range


@dataclass(frozen=True)
class MaskedAttention:
    """The nodes softmax(scale(q · k) + mask) · v; the results of all but the last are read there alone."""

    scores: xnnpack.BatchMatrixMultiplyOp
    scaled: tuple[xnnpack.BinaryOp, ...]
    """Products with a number, in order."""
    sum: xnnpack.BinaryOp
    mask: xnnpack.ConstantOp
    softmax: xnnpack.SoftmaxOp
    product: xnnpack.BatchMatrixMultiplyOp

    @property
    def queries(self) -> int:
        return shape_of(self.softmax.output)[-2]

    @property
    def keys(self) -> int:
        return shape_of(self.softmax.output)[-1]


def attention_of(softmax: xnnpack.SoftmaxOp) -> MaskedAttention | None:
    """The attention that a softmax is a part of, of known sizes and with a known mask."""
    product, masked = only_user(softmax.output), softmax.input.owner
    if not isinstance(product, xnnpack.BatchMatrixMultiplyOp) or product.lhs is not softmax.output:
        return None
    if not isinstance(masked, xnnpack.BinaryOp) or masked.kind.data != "add" or masked.is_bounded:
        return None
    found = with_constant(masked)
    if found is None:
        return None
    value, mask = found
    scaled: list[xnnpack.BinaryOp] = []
    while isinstance(value.owner, xnnpack.BinaryOp) and value.owner.kind.data == "multiply":
        found = with_constant(value.owner)
        if found is None or value.owner.is_bounded or prod(shape_of(found[1].output)) != 1:
            return None
        scaled.insert(0, value.owner)
        value = found[0]
    scores = value.owner
    if not isinstance(scores, xnnpack.BatchMatrixMultiplyOp):
        return None
    inside = (scores, *scaled, masked, softmax)
    values = [value for op in (*inside, product) for value in (*op.operands, *op.results)]
    types = [value.type for value in values]
    if any(only_user(op.results[0]) is None for op in inside) or len(set(map(element_type, values))) > 1:
        return None
    if element_type(softmax.output) not in (f32, f16) or shape_of(masked.output) != shape_of(scores.output):
        return None
    if not all(isinstance(type, TensorType) and type.has_static_shape() for type in types):
        return None
    return MaskedAttention(scores, tuple(scaled), masked, mask, softmax, product)


def with_constant(op: xnnpack.BinaryOp) -> tuple[SSAValue, xnnpack.ConstantOp] | None:
    """The operand that is computed and the one that is known."""
    for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if isinstance(other.owner, xnnpack.ConstantOp) and not isinstance(value.owner, xnnpack.ConstantOp):
            return value, other.owner
    return None


def only_user(value: SSAValue) -> Operation | None:
    """The op that alone reads a value, once."""
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None


class Mask:
    """What a constant mask hides, and its parts: the layers of a network share both."""

    def __init__(self, constant: xnnpack.ConstantOp, keys: int, ctx: XirContext) -> None:
        self.constant = constant
        self.ctx = ctx
        self.seen = seen_keys(storage_array(constant.elements, ctx, constant), keys)
        self.parts: dict[QueryBlock, SSAValue] = {}

    def part(self, block: QueryBlock, ops: list[Operation]) -> SSAValue:
        """What it adds to a block's scores. A constant that there was not before is added to the ops."""
        if block not in self.parts:
            shape = shape_of(self.constant.output)
            index = [slice(None)] * len(shape)
            index[-1] = slice(block.keys.start, block.keys.stop)
            if len(shape) > 1 and shape[-2] > 1:
                index[-2] = slice(block.queries.start, block.queries.stop)
            part = part_of(self.constant, index, self.ctx)
            ops.append(part)
            self.parts[block] = part.output
        return self.parts[block]


def seen_keys(mask: np.ndarray, keys: int) -> list[Range] | None:
    """For each query the keys from the first to the last that it sees in any batch; one for all if they see the same.

    None for a mask that hides all keys from a query, or is the same for all keys.
    """
    if mask.ndim == 0 or mask.shape[-1] != keys or not (mask.max(axis=-1) >= SEEN).all():
        return None
    rows = mask.shape[-2] if mask.ndim > 1 else 1
    # In fp32, since halves have no number as low as that.
    seen: np.ndarray = np.any(mask.reshape(-1, rows, keys).astype(np.float32) > HIDDEN, axis=0)
    first, behind = seen.argmax(axis=1), keys - seen[:, ::-1].argmax(axis=1)
    return [(int(begin), int(end)) for begin, end in zip(first, behind, strict=True)]


def blocks_of(seen: Sequence[Range], queries: int, count: int) -> Iterator[QueryBlock]:
    """So many blocks of about one size; neighbours that see the same keys are one."""
    before: QueryBlock | None = None
    for index in range(count):
        begin, end = queries * index // count, queries * (index + 1) // count
        ranges = seen[begin:end] if len(seen) > 1 else seen
        keys = range(min(first for first, _ in ranges), max(behind for _, behind in ranges))
        if before is not None and before.keys == keys:
            before = QueryBlock(range(before.queries.start, end), keys)
            continue
        if before is not None:
            yield before
        before = QueryBlock(range(begin, end), keys)
    if before is not None:
        yield before


@dataclass
class BlockBuilder:
    """Builds the nodes of blocks."""

    attention: MaskedAttention
    mask: Mask
    form: str

    def __post_init__(self) -> None:
        self.ops: list[Operation] = []

    def block(self, block: QueryBlock) -> SSAValue:
        """The result's rows of a block's queries."""
        scores, product = self.attention.scores, self.attention.product
        rank = len(shape_of(scores.rhs))
        key_axis = rank - 1 if scores.transpose_b is None else rank - 2
        value_axis = len(shape_of(product.rhs)) - (2 if product.transpose_b is None else 1)
        query = self.sliced(scores.lhs, len(shape_of(scores.lhs)) - 2, block.queries, scores)
        key = self.sliced(scores.rhs, key_axis, block.keys, scores)
        # Before the products, which then follow each other and can be cut by heads where memory is short.
        values = self.sliced(product.rhs, value_axis, block.keys, product)
        shape = (*shape_of(scores.output)[:-2], len(block.queries), len(block.keys))
        value = self.like(scores, [query, key], shape)
        for op in self.attention.scaled:
            operands = [each if isinstance(each.owner, xnnpack.ConstantOp) else value for each in op.operands]
            value = self.like(op, operands, shape)
        total, mask = self.attention.sum, self.mask.part(block, self.ops)
        known = total.lhs is self.attention.mask.output
        value = self.like(total, [mask, value] if known else [value, mask], shape)
        value = self.like(self.attention.softmax, [value], shape)
        result = shape_of(product.output)
        return self.like(product, [value, values], (*result[:-2], len(block.queries), result[-1]))

    def joined(self, values: Sequence[SSAValue]) -> SSAValue:
        """Blocks one behind the other, few at a time."""
        while len(values) > 1:
            groups = [values[first : first + MOST_JOINED] for first in range(0, len(values), MOST_JOINED)]
            values = [self.join(group) if len(group) > 1 else group[0] for group in groups]
        return values[0]

    def join(self, values: Sequence[SSAValue]) -> SSAValue:
        shapes = [shape_of(value) for value in values]
        shape = (*shapes[0][:-2], sum(each[-2] for each in shapes), shapes[0][-1])
        properties: dict[str, Attribute] = {"axis": IntegerAttr(len(shape) - 2, i32)}
        return self.add(xnnpack.ConcatenateOp, values, shape, properties, self.attention.product)

    def sliced(self, value: SSAValue, axis: int, part: range, origin: Operation) -> SSAValue:
        """A part of one dimension; the value itself if that is all of it."""
        shape = shape_of(value)
        if len(part) == shape[axis]:
            return value
        sizes = (*shape[:axis], len(part), *shape[axis + 1 :])
        offsets = [part.start if each == axis else 0 for each in range(len(shape))]
        return self.add(xnnpack.StaticSliceOp, [value], sizes, {"offsets": u32s(offsets), "sizes": u32s(sizes)}, origin)

    def like(self, op: xnnpack.NodeOp, operands: Sequence[SSAValue], shape: Shape) -> SSAValue:
        """A node as `op`, of other operands."""
        return self.add(type(op), operands, shape, dict(op.properties), op)

    def add(
        self,
        kind: type[xnnpack.NodeOp],
        operands: Sequence[SSAValue],
        shape: Shape,
        properties: dict[str, Attribute],
        origin: Operation,
    ) -> SSAValue:
        """A node of one result."""
        result = TensorType(element_type(operands[0]), shape)
        made = kind.create(operands=operands, result_types=[result], properties=properties)
        mark_composed(made, origin, self.form)
        self.ops.append(made)
        return made.results[0]
