"""Modules of one edge op, built from the arguments of a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from xir.dialects import edge
from xir.importer.dtypes import ELEMENT_TYPES, numpy_view
from xir.ir.constants import make_dense
from xir.ir.context import XirContext


@dataclass(frozen=True)
class Const:
    """A tensor argument that is known at compile time."""

    tensor: torch.Tensor


@dataclass(frozen=True)
class Call:
    """A module that calls one edge op, and what to run it with."""

    module: ModuleOp
    ctx: XirContext
    inputs: tuple[torch.Tensor, ...]
    op: edge.EdgeOp


def call(name: str, args: dict[str, Any], results: Sequence[int] | None = None) -> Call:
    """A module around one call of `name`.

    Among `args`, tensors become the function's arguments and `Const`s constants. The function returns the op's results
    of the numbers `results`, all of them by default.
    """
    ctx = XirContext()
    block = Block()
    inputs: list[torch.Tensor] = []

    def operand(value: Any) -> Any:
        if isinstance(value, Const):
            constant = edge.ConstantOp(
                make_dense(numpy_view(value.tensor), ctx, "constant", ELEMENT_TYPES[value.tensor.dtype])
            )
            block.add_op(constant)
            return constant.result
        if isinstance(value, torch.Tensor):
            inputs.append(value)
            return block.insert_arg(TensorType(ELEMENT_TYPES[value.dtype], value.shape), len(block.args))
        if isinstance(value, list):
            return [operand(each) for each in value]
        return value

    op = edge.OPS[name].build_from({key: operand(value) for key, value in args.items()})
    returned: list[SSAValue] = [op.results[i] for i in (range(len(op.results)) if results is None else results)]
    block.add_ops([op, ReturnOp(*returned)])
    types = ([arg.type for arg in block.args], [value.type for value in returned])
    return Call(ModuleOp([FuncOp("forward", types, Region(block))]), ctx, tuple(inputs), op)
