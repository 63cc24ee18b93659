"""`drop-dead-resources`: forget the constant data that nothing refers to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute

from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import RemarkKind, passed, wanted
from xir.ir.walking import ops_in


@dataclass(frozen=True)
class DropDeadResourcesPass(XirPass):
    """Drop the resources that no op of the module refers to.

    Folding leaves behind the weights that it read; without this pass they would stay in memory, and in the text under
    `--print-resources`.
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Keep the blobs of the keys found in attributes and properties, at any depth."""
        live = set(referenced_resources(op))
        dead = [key for key in ctx.blobs if key not in live]
        if dead and wanted(RemarkKind.PASSED):
            nbytes = sum(map(ctx.blobs.nbytes, dead))
            passed(op, "drop", "drops weights that nothing reads", figures={"Resources": len(dead), "Bytes": nbytes})
        ctx.blobs.drop(dead)


def referenced_resources(module: ModuleOp) -> dict[str, None]:
    """The resource keys that ops refer to, in the order of first use."""
    attributes: dict[int, Attribute] = {}
    """By their ids: many ops have the same ones."""
    for op in ops_in(module, Operation):
        for value in (*op.properties.values(), *op.attributes.values()):
            attributes[id(value)] = value
    referring = (each for each in attributes.values() if may_refer(type(each)))
    return dict.fromkeys(key for attribute in referring for key in _resource_keys(attribute))


@cache
def may_refer(kind: type[Attribute]) -> bool:
    """Whether an attribute of a class may hold a resource: arrays of numbers, text, numbers and their types do not."""
    return not issubclass(kind, DenseArrayBase | StringAttr | IntegerAttr | FloatAttr | TypeAttribute)


def _resource_keys(attribute: Attribute) -> Iterator[str]:
    match attribute:
        case DenseResourceAttr(resource_handle=handle):
            yield handle.data
        case ArrayAttr(data=elements):
            for element in elements:
                yield from _resource_keys(element)
        case DictionaryAttr(data=entries):
            for entry in entries.values():
                yield from _resource_keys(entry)
        case ParametrizedAttribute():
            for parameter in attribute.parameters:
                yield from _resource_keys(parameter)
        case _:
            pass
