"""Modules of an edge op or several, built from the arguments of calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from xir.dialects import edge
from xir.importer.dtypes import ELEMENT_TYPES, numpy_view
from xir.ir.constants import dense_of_storage
from xir.ir.context import XirContext
from xir.transforms.analysis import calls

DTYPES = {element: dtype for dtype, element in ELEMENT_TYPES.items()}


@dataclass(frozen=True)
class Const:
    """A tensor argument that is known at compile time."""

    tensor: torch.Tensor


Arguments = tuple[str, dict[str, Any], Sequence[int] | None]
"""The name of an op, its arguments, and the numbers of its results that are used, None for all."""


@dataclass(frozen=True)
class Call:
    """A module that calls edge ops, and what to run it with."""

    module: ModuleOp
    ctx: XirContext
    inputs: tuple[torch.Tensor, ...]
    op: edge.EdgeOp
    """The last one."""


def call(name: str, args: dict[str, Any], results: Sequence[int] | None = None) -> Call:
    """A module around one call of `name`.

    Among `args`, tensors become the function's arguments and `Const`s constants. The function returns the op's results
    of the numbers `results`, all of them by default.
    """
    return calls_of([(name, args, results)])


def calls_of(wanted: Sequence[Arguments]) -> Call:
    """A module around several calls, each with arguments of its own, which returns the results of all."""
    ctx = XirContext()
    block = Block()
    inputs: list[torch.Tensor] = []

    def operand(value: Any) -> Any:
        if isinstance(value, Const):
            constant = edge.ConstantOp(
                dense_of_storage(numpy_view(value.tensor), ELEMENT_TYPES[value.tensor.dtype], ctx)
            )
            block.add_op(constant)
            return constant.result
        if isinstance(value, torch.Tensor):
            inputs.append(value)
            return block.insert_arg(TensorType(ELEMENT_TYPES[value.dtype], value.shape), len(block.args))
        if isinstance(value, list):
            return [operand(each) for each in value]
        return value

    returned: list[SSAValue] = []
    ops: list[edge.EdgeOp] = []
    for name, args, results in wanted:
        op = edge.OPS[name].build_from({key: operand(value) for key, value in args.items()})
        returned += [op.results[i] for i in (range(len(op.results)) if results is None else results)]
        block.add_op(op)
        ops.append(op)
    block.add_op(ReturnOp(*returned))
    types = ([arg.type for arg in block.args], [value.type for value in returned])
    return Call(ModuleOp([FuncOp("forward", types, Region(block))]), ctx, tuple(inputs), ops[-1])


def case(name: str, /, *, only: Sequence[int] | None = None, **args: Any) -> Arguments:
    """The arguments of a call of `edge.<name>`; `only` names the results that are used, where not all are."""
    return f"edge.{name}", args, only


POSITIVE = (
    *("edge.div", "edge.linalg_vector_norm", "edge.log", "edge.pow", "edge.prod", "edge.reciprocal", "edge.rsqrt"),
    *("edge.sqrt", "edge.exp", "edge.xlogy"),
)
"""What ops begin with whose results jump, are no numbers or have no end at and below 0, or far from it."""


def sampled(sample: calls.Call, float_type: Attribute = f32) -> Arguments:
    """A rule's sample as the arguments of a call, with random numbers in its tensors, fp32 ones of another type."""
    generator = torch.Generator().manual_seed(21)

    def drawn(shape: Sequence[int], element: Attribute, name: str) -> torch.Tensor:
        numbers = torch.rand(tuple(shape), generator=generator) * 3 + 0.5
        if not sample.name.startswith(POSITIVE) and name != "running_var":
            numbers = (numbers - 2) * 2
        return numbers.to(DTYPES[calls.typed(element, float_type)])

    def filled(value: Any, name: str) -> Any:
        match value:
            case calls.TensorArgument(shape, element):
                return drawn(shape, element, name)
            case calls.ConstantArgument(array, element) if element == f32 and array.ndim and (array == 1).all():
                return Const(drawn(array.shape, element, name))
            case calls.ConstantArgument(array, element):
                return Const(torch.as_tensor(array).to(DTYPES[calls.typed(element, float_type)]))
            case list():
                return [filled(each, name) for each in cast("list[Any]", value)]
            case _:
                return value

    return sample.name, {name: filled(value, name) for name, value in sample.args.items()}, sample.used
