"""The inputs of an execution plan: what the caller gives, and how memory has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xir.dialects import pte
from xir.dialects.delegate import GraphOp
from xir.dialects.edge import EdgeOp
from xir.ir.annotations import DIM_NAMES, MIN_SHAPE
from xir.ir.array_attributes import ints
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import Fixed, fixed_inputs
from xir.transforms.analysis.dim_annotations import argument_attributes, dynamic_names
from xir.transforms.pte._plan_values import PlanValues


def declare_inputs(values: PlanValues, dim_orders: Mapping[SSAValue, tuple[int, ...]]) -> list[SSAValue]:
    """The inputs of a function's plan, in order. `dim_orders` are of those that memory has in another order than the
    caller."""
    fixed = fixed_inputs(values.func)
    inputs: list[SSAValue] = []
    for index, argument in enumerate(values.func.body.block.args):
        if index in fixed:
            inputs.append(_fixed_input(values, argument, fixed[index]))
        elif argument in dim_orders:
            inputs.append(_reordered(values, argument, dim_orders[argument]))
        else:
            inputs += values.fill([argument])
    return inputs


def _fixed_input(values: PlanValues, argument: SSAValue, value: Fixed) -> SSAValue:
    """An input that the caller has to give as it was when the program was exported."""
    match value:
        case None:
            made, type = pte.NullOp.make(), NoneType()
        case bool():
            made, type = pte.BoolOp.make(bool_val=IntegerAttr.from_bool(value)), i1
        case int():
            made, type = pte.IntOp.make(int_val=IntegerAttr(value, i64)), i64
        case float():
            made, type = pte.DoubleOp.make(double_val=FloatAttr(value, f64)), f64
        case str():
            made, type = pte.StringOp.make(string_val=StringAttr(value)), NoneType()
    if argument.type != type:
        raise DiagnosticError(argument, f"an argument of type {argument.type} is fixed at {value!r}: {type}")
    values[argument] = values.plan.declare(made, argument.owner)
    return values[argument]


def _reordered(values: PlanValues, argument: SSAValue, order: tuple[int, ...]) -> SSAValue:
    """An input whose dimensions memory has in another order than the caller.

    Delegates take its memory as it is. Kernels get a copy in the caller's order, which is what the permutation that
    the importer writes behind such an input stands for; another op that reads it gets that copy permuted.
    """
    plan = values.plan
    restoring = tuple(order.index(dim) for dim in range(len(order)))
    memory, seen = values.bounded(argument), values.seen_type(argument, order)
    given = values.seen(argument, order)
    values.given[argument] = given
    readers = [use.operation for use in argument.uses if not isinstance(use.operation, GraphOp)]
    restores = [op for op in readers if op.name == "edge.permute" and cast("EdgeOp", op).argument("dims") == restoring]
    if readers:
        copy, axes = values.tensor(argument, seen), plan.integers(range(len(order)))
        no = plan.boolean(False)
        plan.calls.append(pte.KernelCallOp("dim_order_ops::_to_dim_order_copy.out", [given, no, axes, copy, copy]))
        values.update((op.results[0], copy) for op in restores)
        if len(restores) < len(readers):
            moved, axes = values.tensor(argument, memory), plan.integers(order)
            plan.calls.append(pte.KernelCallOp("aten::permute_copy.out", [copy, axes, moved, moved]))
            values[argument] = moved
    return given


def input_sizes(
    function: FuncOp, dim_orders: Mapping[SSAValue, Sequence[int]]
) -> ArrayAttr[ArrayAttr[StringAttr]] | None:
    """Which sizes of a function's inputs are open, as `pte.execution_plan` says it; None where all are fixed."""
    names = dict(dynamic_names(argument_attributes(function, DIM_NAMES)))
    least = dict(argument_attributes(function, MIN_SHAPE))
    if not names:
        return None
    inputs: list[ArrayAttr[StringAttr]] = []
    for argument in function.args:
        texts: list[str] = []
        if argument in names:
            assert isinstance(argument.type, TensorType)
            shape, given = argument.type.get_shape(), least[argument]
            smallest = ints(given) if isinstance(given, DenseArrayBase) else (0,) * len(shape)
            for size, name, limit in zip_longest(shape, names[argument], smallest[: len(shape)], fillvalue=None):
                text = "" if size != DYNAMIC_INDEX else name or "?"
                texts.append(f"{text}>={limit}" if text and limit else text)
            # The type is that of the memory, and the caller's order another.
            order = dim_orders.get(argument, range(len(texts)))
            texts = [texts[order.index(dim)] for dim in range(len(texts))]
        inputs.append(ArrayAttr(map(StringAttr, texts)))
    return ArrayAttr(inputs)
