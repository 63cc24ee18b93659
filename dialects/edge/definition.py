"""An edge op's definition in xDSL's terms, for tools that walk definitions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType, i64
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOption,
    OpDef,
    OperandDef,
    OptOperandDef,
    OptPropertyDef,
    PropertyDef,
    ResultDef,
    VarOperandDef,
    VarResultDef,
)

if TYPE_CHECKING:
    from .base import EdgeOp


@cache
def irdl_definition(cls: type[EdgeOp]) -> OpDef:
    """The definition; made on demand, which keeps start-up short."""
    schema = cls.row.schema
    operands: list[tuple[str, OperandDef]] = []
    for name, argument in schema.tensors.items():
        kind = VarOperandDef if argument.type.is_list else OptOperandDef if argument.type.optional else OperandDef
        operands.append((name, kind(TensorType)))
    if schema.symbolic:
        has_numbers = any(argument.type.base == "Scalar" for argument in schema.symbolic)
        operands.append(("symbols", VarOperandDef(AnyAttr() if has_numbers else i64)))
    results: list[tuple[str, ResultDef]] = [
        (r.name or f"result{i}", (VarResultDef if r.type.is_list else ResultDef)(AnyAttr()))
        for i, r in enumerate(schema.returns)
    ]
    properties: dict[str, PropertyDef] = {name: OptPropertyDef(AnyAttr()) for name in schema.values}
    options: list[IRDLOption] = [AttrSizedOperandSegments(as_property=True)] if len(schema.variadic) > 1 else []
    return OpDef(
        cls.name, operands=operands, results=results, properties=properties, options=options, traits=cls.traits
    )
