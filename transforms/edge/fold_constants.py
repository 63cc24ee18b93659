"""What is known at compile time is computed at compile time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from xir.dialects import edge
from xir.ir.constants import constant_array, dense_of_storage, storage_array
from xir.ir.context import XirContext
from xir.ir.elements import has_bits_alone
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import missed
from xir.ir.rewriting import may_rewrite
from xir.ir.tensor_types import element_type, shape_of
from xir.ir.walking import ops_in
from xir.transforms.analysis.cost import tensor_bytes
from xir.transforms.edge._evaluation import SHAPE_ONLY, KnownCall, NotFoldedError, result_type
from xir.transforms.edge._evaluation_arithmetic import EVALUATORS
from xir.transforms.edge._evaluation_of_composites import evaluate, is_evaluated

MAX_GROWTH = 1 << 20
"""How many bytes larger than its operands a result may be: folding must not fill the file with zeros."""

MAX_SHARE = 8
"""What is gathered of constants, as positions for each pair of patches are, may be larger: together up to the bytes of
all constants divided by this. A file that is an eighth larger is little for what is not computed at each run."""


@dataclass(frozen=True)
class FoldConstantsPass(XirPass):
    """Evaluate edge ops whose operands are constants.

    Positions, causal masks and other values that a model computes from its sizes alone become constants, for ops that
    require one. An op that computes in bf16 is left alone, and one whose result is more than a megabyte larger than its
    operands; gathered results may be larger if the program grows by at most an eighth. Dequantised constants stay
    integers: moves are applied to the integers.

    Before:
    ```mlir
    %0 = edge.arange.start_step() {start = 0 : i64, end = 3 : i64} : () -> tensor<3xi64>
    %1 = edge.gt.Scalar(%0) {other = 1 : i64} : (tensor<3xi64>) -> tensor<3xi1>
    ```
    After:
    ```mlir
    %1 = edge.constant dense<[false, false, true]> : tensor<3xi1>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED
    proved: ClassVar[str] = "nine moves and joins of any numbers, and sixteen ops on two rows of numbers"

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Evaluate in program order, so that a result is an operand of the next op; then drop what is unused."""
        replaced: list[Operation] = []
        budget = Budget(constant_bytes(op) // MAX_SHARE)
        for candidate in list(ops_in(op, edge.EdgeOp, graphs=False)):
            if candidate.has_run_time_numbers:
                candidate = with_known_numbers(candidate, ctx)
            if isinstance(candidate, Rearrangement) and moved_before_dequantize(candidate, ctx):
                continue
            if (array := evaluated(candidate, ctx, budget)) is not None and may_rewrite(candidate, "fold"):
                replaced += [owner for value in candidate.operands if isinstance(owner := value.owner, Operation)]
                replace(candidate, array, ctx)
        for constant in reversed(list(dict.fromkeys(replaced))):
            if constant.parent is not None and is_trivially_dead(constant):
                constant.detach()
                constant.erase()


def with_known_numbers(op: edge.EdgeOp, ctx: XirContext) -> edge.EdgeOp:
    """An op whose numbers are elements of constants, `x * weight.item()`, with these numbers as arguments."""
    arguments = {name: op.argument(name) for name in (*op.schema.tensors, *op.schema.values)}
    known = {name: number for name, value in arguments.items() if (number := item_of(value, ctx)) is not None}
    if not known or op.parent is None or not may_rewrite(op, "fold"):
        return op
    made = op.build_from(arguments | known, op.result_types, op.location)
    made.attributes |= op.attributes
    op.parent.insert_op_before(made, op)
    for old, new in zip(op.results, made.results, strict=True):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
    return made


Rearrangement = edge.SelectIntOp | edge.FlipOp | edge.PermuteOp | edge.TransposeIntOp
"""Ops that take or order elements by dimension."""


def moved_before_dequantize(op: Rearrangement, ctx: XirContext) -> bool:
    """Rearrange the integers of a constant instead of the numbers that they are dequantised to.

    The planes of a quantised filter of three dimensions are quantised filters, then. False where nothing is changed:
    not where something else reads the numbers as they are, so that no constant is there twice.
    """
    dequantize = op.self.owner
    changed: dict[str, object] = {}
    if isinstance(dequantize, edge.QuantizedDecomposedDequantizePerChannelOp):
        axis = axis_behind(op, dequantize.axis % len(shape_of(op.self)))
        if axis is None:
            return False
        changed["axis"] = axis
    elif not isinstance(dequantize, edge.QuantizedDecomposedDequantizePerTensorOp):
        return False
    constant = dequantize.input.owner
    others = [use.operation for use in op.self.uses if use.operation is not op]
    takes_parts = isinstance(op, edge.SelectIntOp) and all(isinstance(other, edge.SelectIntOp) for other in others)
    if not isinstance(constant, edge.ConstantOp) or (others and not takes_parts) or op.parent is None:
        return False
    if op.symbols or not may_rewrite(op, "fold"):
        return False
    integers = storage_array(constant.value, ctx, constant)
    array = np.ascontiguousarray(EVALUATORS[op.name](op, KnownCall(op, {op.self: integers})))
    made = edge.ConstantOp(
        dense_of_storage(array, element_type(constant.result), ctx, constant.resource or "constant"), constant.location
    )
    arguments = {name: dequantize.argument(name) for name in (*dequantize.schema.tensors, *dequantize.schema.values)}
    following = dequantize.build_from(
        arguments | changed | {"input": made.result}, op.result_types, dequantize.location
    )
    following.results[0].name_hint = op.results[0].name_hint
    op.parent.insert_ops_before([made, following], op)
    op.results[0].replace_all_uses_with(following.results[0])
    for each in (op, dequantize, constant):
        if is_trivially_dead(each):
            each.detach()
            each.erase()
    return True


def axis_behind(op: Rearrangement, axis: int) -> int | None:
    """Where a dimension is behind an op; None if the op takes or orders elements of it."""
    rank = len(shape_of(op.self))
    match op:
        case edge.SelectIntOp():
            dim = op.dim % rank
            return None if dim == axis else axis - (dim < axis)
        case edge.FlipOp():
            return None if axis in [dim % rank for dim in op.dims] else axis
        case edge.PermuteOp():
            return [dim % rank for dim in op.dims].index(axis)
        case edge.TransposeIntOp():
            first, second = op.dim0 % rank, op.dim1 % rank
            return {first: second, second: first}.get(axis, axis)


def item_of(value: object, ctx: XirContext) -> bool | int | float | None:
    """The number that a value is, if it is the element of a constant."""
    item = value.owner if isinstance(value, SSAValue) else None
    if not isinstance(item, edge.LocalScalarDenseOp) or not isinstance(item.self.owner, edge.ConstantOp):
        return None
    return array_of(item.self, ctx).reshape(-1)[0].item()


Gathers = edge.EmbeddingOp | edge.GatherOp | edge.IndexTensorOp | edge.IndexSelectOp
"""Ops that no backend has a node for. Others whose results are large fill or repeat, which backends do themselves."""


@dataclass
class Budget:
    """The bytes by which large results may still make the program larger."""

    left: int

    def grants(self, op: edge.EdgeOp, growth: int) -> bool:
        """Whether a result may be so many bytes larger than the op's operands."""
        if growth <= MAX_GROWTH:
            return True
        if growth > self.left or not isinstance(op, Gathers):
            return False
        self.left -= growth
        return True


def constant_bytes(module: ModuleOp) -> int:
    """The bytes of a module's constants, each stored once."""
    constants = {op.value: op for op in ops_in(module, edge.ConstantOp, graphs=False)}
    return sum(tensor_bytes(op.result.type) or 0 for op in constants.values())


def evaluated(op: edge.EdgeOp, ctx: XirContext, budget: Budget) -> np.ndarray | None:
    """The elements of what an op computes, as they are stored; None if that is not known or not wanted."""
    if op.symbols or any(has_open_form(value, op) for value in (*op.operands, *op.results)):
        return None
    needed = () if op.name in SHAPE_ONLY else op.operands
    if not all(isinstance(value.owner, edge.ConstantOp) for value in needed) or not is_evaluated(op):
        return None
    size = int(np.prod(result_type(op).get_shape())) * KnownCall(op, {}).dtype.itemsize
    if size == 0:
        return None
    arrays = {value: array_of(value, ctx) for value in needed}
    growth = size - sum(array.nbytes for array in arrays.values())
    if not budget.grants(op, growth):
        missed(
            op,
            "fold",
            f"{op.operator_name} of constants is computed at each run",
            "its result would make the file larger",
            figures={"Bytes": growth, "Limit": max(MAX_GROWTH, budget.left)},
        )
        return None
    try:
        with np.errstate(all="ignore"):
            result = evaluate(op, arrays)
            return np.ascontiguousarray(result) if result.ndim else result
    except (NotFoldedError, ValueError):  # C++ leaves open what becomes of a float that is no such integer
        return None


def has_open_form(value: SSAValue, op: edge.EdgeOp) -> bool:
    """Whether a value's shape is not static, or its elements are of a type that numpy cannot compute with."""
    type = value.type
    if not isinstance(type, TensorType) or DYNAMIC_INDEX in type.get_shape():
        return True
    return has_bits_alone(type.element_type) and not isinstance(op, edge.ToCopyOp)


def array_of(value: SSAValue, ctx: XirContext) -> np.ndarray:
    """The elements of a constant."""
    assert isinstance(value.owner, edge.ConstantOp)
    return constant_array(value.owner.value, ctx, value.owner)


def replace(op: edge.EdgeOp, array: np.ndarray, ctx: XirContext) -> None:
    """Put a constant of these elements, as they are stored, in the place of an op."""
    type = result_type(op)
    name = name_of(op.operands) or op.name.removeprefix("edge.").replace(".", "_")
    constant = edge.ConstantOp(dense_of_storage(array, type.element_type, ctx, name), op.location)
    constant.result.name_hint = op.results[0].name_hint
    block = op.parent
    assert block is not None
    block.insert_op_before(constant, op)
    op.results[0].replace_all_uses_with(constant.result)
    op.detach()
    op.erase()


def name_of(operands: Iterable[SSAValue]) -> str | None:
    """The name of the first resource among constants."""
    for value in operands:
        if isinstance(value.owner, edge.ConstantOp) and value.owner.resource is not None:
            return value.owner.resource
    return None
