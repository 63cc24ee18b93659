"""Calls of edge ops as data: what a rule takes or refuses, to be built, tried, and shown.

    call("edge.prelu", self=tensor(2, 4, 7), weight=constant(4))

Arguments have the schema's names. Tensors are given by their shapes, everything else by its Python value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from xir.dialects import edge
from xir.dialects.edge.schema import REQUIRED, Argument
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.ir.elements import element_type_of


@dataclass(frozen=True, eq=False)
class TensorArgument:
    """A tensor that is computed at run time."""

    shape: tuple[int, ...]
    """DYNAMIC_INDEX for a dynamic dimension."""
    element: Attribute = f32


@dataclass(frozen=True, eq=False)
class ConstantArgument:
    """A tensor that is known at compile time."""

    array: np.ndarray
    element: Attribute


def tensor(*shape: int | Literal["?"], element: Attribute = f32) -> TensorArgument:
    """An argument of the program; a dimension "?" is dynamic."""
    return TensorArgument(tuple(DYNAMIC_INDEX if size == "?" else size for size in shape), element)


def constant(*shape: int, element: Attribute = f32) -> ConstantArgument:
    """A constant filled with ones."""
    return ConstantArgument(np.ones(shape, np.float32 if element == f32 else np.int32), element)


def numbers(values: Any) -> ConstantArgument:
    """A constant with given elements: (nested) lists of bool, int (i64) or float (f32)."""
    array = np.asarray(values)
    array = array.astype(np.float32) if array.dtype == np.float64 else array
    return ConstantArgument(array, element_type_of(array.dtype))


@dataclass(frozen=True, eq=False)
class Call:
    """A call of an edge op. It can be built with another floating-point type in place of fp32."""

    name: str
    args: dict[str, Any]
    used: tuple[int, ...] | None = None
    """The numbers of the results that are used. None: all."""

    def build(self, ctx: XirContext, element: Attribute = f32) -> tuple[ModuleOp, edge.EdgeOp]:
        """A module with one function around the call, fp32 replaced by `element`, and the op.

        ValueError, from the op's construction, if the arguments do not fit its schema.
        """
        block = Block()

        def built(value: Any, name: str) -> Any:
            match value:
                case TensorArgument():
                    type = TensorType(typed(value.element, element), value.shape)
                    argument = block.insert_arg(type, len(block.args))
                    argument.name_hint = name
                    return argument
                case ConstantArgument():
                    attribute = make_dense(value.array, ctx, "constant", typed(value.element, element))
                    block.add_op(op := edge.ConstantOp(attribute))
                    op.result.name_hint = name
                    return op.result
                case list():
                    return [built(each, name) for each in cast("list[Any]", value)]
                case Attribute():
                    return typed(value, element)
                case _:
                    return value

        op = edge.OPS[self.name].build_from({name: built(value, name) for name, value in self.args.items()})
        returned = [op.results[i] for i in (range(len(op.results)) if self.used is None else self.used)]
        block.add_ops([op, ReturnOp(*returned)])
        types = [arg.type for arg in block.args], [value.type for value in returned]
        return ModuleOp([FuncOp("forward", types, Region(block))]), op


def typed(element: Attribute, float_type: Attribute) -> Attribute:
    """An element type, another floating-point type instead of fp32."""
    return float_type if element == f32 else element


def call(name: str, /, *, used: Sequence[int] | None = None, **args: Any) -> Call:
    """A call of the edge op `name`; `used` names the results that are used, where not all are."""
    return Call(name, args, None if used is None else tuple(used))


def call_by_schema(name: str) -> Call:
    """The call of an op with [2, 3] tensors, two where it takes a list, and the default of everything else.

    ValueError if the schema requires another argument than tensors.
    """

    def argument(of: Argument) -> Any:
        if not of.type.is_tensor:
            raise ValueError(f"{name} requires '{of.name}', which only its author can choose: give a sample of the op")
        return [tensor(2, 3), tensor(2, 3)] if of.type.is_list else tensor(2, 3)

    required = [each for each in edge.OPS[name].row.schema.arguments if each.default is REQUIRED]
    return Call(name, {each.name: argument(each) for each in required if not each.type.optional})
