"""`fold-lookups`: positions and other indices of constant tables, as far as they are known at compile time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeGuard

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i1, i64
from xdsl.ir import Block, Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import element_of, is_integral, shape_of
from xir.ir.constants import dense_of_storage, storage_array
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.symbolic_size import is_dynamic
from xir.ir.walking import functions_in, only_block, ops_in
from xir.transforms.analysis.sizes import SymbolicSizes, UnknownSizeError
from xir.transforms.edge._float_masks import MaskBuilder
from xir.transforms.edge._open_positions import OpenPositions
from xir.transforms.edge._ranges import MOVES, Arithmetic, integer_ranges
from xir.transforms.edge.fold_constants import MAX_GROWTH

LOOKUPS = {"edge.gather": "self", "edge.index_select": "self", "edge.index.Tensor": "self"}
"""Op -> the argument whose elements its result has."""


def is_along_dim(op: object) -> TypeGuard[edge.SliceTensorOp | edge.UnsqueezeOp]:
    """Whether an op moves whole rows along the one dimension that it names, counted as in its result."""
    return isinstance(op, edge.SliceTensorOp | edge.UnsqueezeOp)


@dataclass(frozen=True)
class FoldLookupsPass(XirPass):
    """Simplify look-ups in constant tables by what is known of their indices.

    - A look-up by constant indices that are sliced or repeated, such as learned positions up to the length of a
      sequence, is a constant that is sliced or repeated. So is a look-up by `arange`, or by indices computed from it
      alone, such as relative positions: a slice of the look-up at the largest length.
    - A row that is the same everywhere, such as the token type if the program is given none, is added as one row.
    - A look-up by an index plus a number is a look-up in the rest of the table, if the index is not negative.
    - Small integers keep the type in which they are looked up: `cumsum(ids != 1)` needs no conversions.

    Before:
    ```mlir
    %0 = edge.slice.Tensor(%positions)[%n] {dim = 1 : i64, start = 0 : i64, end = -9223372036854775808 : i64}
         : (tensor<1x512xi64>, i64) -> tensor<1x?xi64>
    %1 = edge.embedding(%table, %0) : (tensor<512x64xf32>, tensor<1x?xi64>) -> tensor<1x?x64xf32>
    ```
    After:
    ```mlir
    %1 = edge.slice.Tensor(%rows)[%n] {dim = 1 : i64, start = 0 : i64, end = -9223372036854775808 : i64}
         : (tensor<1x512x64xf32>, i64) -> tensor<1x?x64xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "indices of a table of four rows that are known, counted up to each size, the same for all, or "
        "counted past padding"
    )

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every function with look-ups."""
        for function in functions_in(op):
            if next(ops_in(function, edge.EmbeddingOp), None) is not None:
                LookupFolding(only_block(function), ctx, ctx.analyses.get(SymbolicSizes, function)).run()


class LookupFolding:
    """Rewrites one block."""

    def __init__(self, block: Block, ctx: XirContext, sizes: SymbolicSizes):
        self.block = block
        self.ctx = ctx
        self.sizes = sizes
        self.ranges = integer_ranges(block, ctx, self.sizes)
        self.positions = OpenPositions(ctx, sizes)
        self.wide: dict[SSAValue, SSAValue] = {}
        """Small integers and booleans -> the same numbers without conversions in between, as i64 or i1."""

    def run(self) -> None:
        """Rewrite op by op, so that an op sees what its operands have become."""
        for op in list(self.block.ops):
            if isinstance(op, edge.EdgeOp) and len(op.results) == 1:
                self.widen(op)
        for op in list(self.block.ops):
            if not isinstance(op, edge.EmbeddingOp) or not isinstance(op.weight.owner, edge.ConstantOp):
                continue
            if not may_try(op, "fold"):
                continue
            is_less = self.add_one_row(op) or self.take_rest(op)
            if self.move_rows(op) or is_less:
                passed(op, "look-up", f"looks up less of a table of {shape_of(op.weight)[0]} rows")
        erase_dead_ops(self.block)

    # Conversions

    def widen(self, op: edge.EdgeOp) -> None:
        """Compute an op on small integers from what they were converted from."""
        result = op.results[0]
        if result not in self.ranges:
            return
        if isinstance(op, edge.ToCopyOp) and op.self in self.ranges and element_of(result) != i1:
            self.use(op, self.wide.get(op.self, op.self))
            return
        operands = [self.wide.get(value, value) for value in op.tensor_operands]
        if isinstance(op, edge.CumsumOp) and element_of(result) == i64:
            op.operands[0] = operands[0]
            return
        if isinstance(op, edge.SubTensorOp) and i1 in map(element_of, operands):
            return  # which ATen does not subtract
        if not isinstance(op, Arithmetic) or {element_of(value) for value in operands} - {i1} != {i64}:
            return
        if isinstance(op, edge.AddScalarOp) and op.other == 0:
            self.use(op, operands[0])
            return
        if element_of(result) == i64:
            for index, value in enumerate(operands):
                op.operands[index] = value
            return
        build = MaskBuilder(self.block, op)
        arguments = {name: op.argument(name) for name in op.schema.values}
        tensors = dict(zip(op.schema.tensors, operands, strict=True))
        self.use(op, build.call(op.build_from(tensors | arguments), shape_of(result)))

    def use(self, op: edge.EdgeOp, value: SSAValue) -> None:
        """Let a value with the same numbers stand for an op's result where its type does not matter, or is the same."""
        result = op.results[0]
        self.wide[result] = value
        self.ranges[value] = self.ranges[result]
        if element_of(value) == element_of(result):
            result.replace_all_uses_with(value)

    # Look-ups

    def add_one_row(self, op: edge.EmbeddingOp) -> bool:
        """Where one row is looked up everywhere, and added to rows, add it as one."""
        row = self.splat(op.indices)
        if row is None or not 0 <= row < shape_of(op.weight)[0]:
            return False
        added = [use for use in op.results[0].uses if isinstance(use.operation, edge.AddTensorOp)]
        constant: SSAValue | None = None
        for use in added:
            other = use.operation.operands[1 - use.index]
            if other is not op.results[0] and self.has_shape_of(other, use.operation.results[0]):
                constant = constant or self.constant(op, self.table(op)[row])
                use.operation.operands[use.index] = constant
        return constant is not None

    def take_rest(self, op: edge.EmbeddingOp) -> bool:
        """Leave out the rows of a table that are below a number which is added to each index."""
        add = op.indices.owner
        if not isinstance(add, edge.AddScalarOp) or add.has_run_time_numbers or add.results[0] not in self.ranges:
            return False
        number, low = add.other, self.ranges.get(add.self, (-1, 0))[0]
        rows = shape_of(op.weight)[0]
        if not isinstance(number, int) or add.alpha != 1 or low < 0 or not 0 < number < rows:
            return False
        op.operands = (self.constant(op, self.table(op)[number:]), add.self)
        return True

    def move_rows(self, op: edge.EmbeddingOp) -> bool:
        """Look up constant indices first, and move the rows as the program moves the indices."""
        moves: list[edge.EdgeOp] = []
        value = op.indices
        while isinstance(move := value.owner, edge.ExpandOp) or is_along_dim(move):
            moves.append(move)
            value = move.self
        while isinstance(add := value.owner, edge.AddScalarOp) and add.argument("other") == 0:
            value = add.self
        build = MaskBuilder(self.block, op)
        if isinstance(value.owner, edge.ConstantOp) and moves:
            indices = storage_array(value.owner.value, self.ctx, value.owner)
            if not self.are_few(op, indices):
                return False
            rows = self.constant(op, self.table(op)[indices])
        elif (end := self.counted(op, value)) is not None:
            size = shape_of(value)[0]
            rows = edge.SliceTensorOp(self=op.weight, dim=0, start=0, end=end)
            rows = build.call(rows, (size, shape_of(op.weight)[1]))
        elif (positions := self.positions.known(value)) is not None and positions.array is not None:
            found = self.first_rows(op, build, value, positions.array)
            if found is None:
                return False
            rows = found
        else:
            return False
        for move in reversed(moves):
            rows = self.moved(build, move, rows)
        self.replace(op, rows)
        return True

    def first_rows(
        self, op: edge.EmbeddingOp, build: MaskBuilder, indices: SSAValue, positions: np.ndarray
    ) -> SSAValue | None:
        """As many of the rows that are looked up at the largest sizes as there are indices; None if these are none."""
        sizes = self.sizes.known(indices)
        lengths = [1 if is_dynamic(size) else size for size in sizes]
        positions = np.broadcast_to(positions, np.broadcast_shapes(positions.shape, tuple(lengths)))
        open_dims = {dim: self.positions.ends.get(size) for dim, size in enumerate(sizes) if is_dynamic(size)}
        if not open_dims or None in open_dims.values() or not self.are_few(op, positions):
            return None
        if any(positions.shape[dim] == 1 for dim in open_dims):
            return None
        value = self.constant(op, self.table(op)[positions])
        shape = list(shape_of(value))
        for dim, end in open_dims.items():
            shape[dim] = shape_of(indices)[dim]
            value = build.call(edge.SliceTensorOp(self=value, dim=dim, start=0, end=end), tuple(shape))
        return value

    def are_few(self, op: edge.EmbeddingOp, indices: np.ndarray) -> bool:
        """Whether indices are of rows that there are, and of not many more than the table has."""
        table = self.table(op)
        if indices.dtype.kind != "i" or not indices.size or indices.min() < 0 or indices.max() >= len(table):
            return False
        return indices.size * table[0].nbytes <= table.nbytes + MAX_GROWTH

    def counted(self, op: edge.EmbeddingOp, value: SSAValue) -> int | SSAValue | None:
        """The end of 0, 1, 2, … where all of them are rows of the table; None for other indices."""
        arange = value.owner
        if not isinstance(arange, edge.ArangeStartStepOp) or arange.argument("start") != 0:
            return None
        high = self.ranges.get(value, (0, shape_of(op.weight)[0] + 1))[1]
        return arange.argument("end") if arange.argument("step") == 1 and high <= shape_of(op.weight)[0] else None

    def moved(self, build: MaskBuilder, move: edge.EdgeOp, rows: SSAValue) -> SSAValue:
        """What a move of indices makes of rows, which have one dimension more."""
        shape, width = shape_of(move.results[0]), shape_of(rows)[-1]
        if isinstance(move, edge.ExpandOp):
            return build.call(edge.ExpandOp(self=rows, size=(*move.size, width)), (*shape, width))
        assert is_along_dim(move)
        arguments = {name: move.argument(name) for name in move.schema.values}
        arguments |= {"self": rows, "dim": move.dim % len(shape)}
        return build.call(move.build_from(arguments), (*shape, width))

    def splat(self, value: SSAValue) -> int | None:
        """The integer that all elements of a value are, if they are one."""
        while isinstance(op := value.owner, edge.EdgeOp):
            if op.name in LOOKUPS:
                value = op.argument(LOOKUPS[op.name])
            elif op.name in MOVES and len(op.tensor_operands) == 1:
                value = op.operands[0]
            else:
                return None
        if not isinstance(op, edge.ConstantOp) or not is_integral(element_of(value)):
            return None
        array = storage_array(op.value, self.ctx, op)
        return int(array.flat[0]) if array.size and (array == array.flat[0]).all() else None

    def has_shape_of(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether two values have one shape, at every size."""
        try:
            return self.sizes.known(value) == self.sizes.known(other)
        except UnknownSizeError:
            return False

    def table(self, op: edge.EmbeddingOp) -> np.ndarray:
        """The rows of a constant table, as they are stored."""
        constant = op.weight.owner
        assert isinstance(constant, edge.ConstantOp)
        return storage_array(constant.value, self.ctx, constant)

    def constant(self, op: edge.EmbeddingOp, rows: np.ndarray) -> SSAValue:
        """Rows of a table as a constant before a look-up."""
        table = op.weight.owner
        assert isinstance(table, edge.ConstantOp)
        value = dense_of_storage(np.ascontiguousarray(rows), element_of(op.weight), self.ctx, table.resource or "rows")
        constant = edge.ConstantOp(value, op.location)
        self.block.insert_op_before(constant, op)
        return constant.result

    def replace(self, op: Operation, value: SSAValue) -> None:
        """Let `value` stand for an op's result."""
        value.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(value)
