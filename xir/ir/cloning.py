"""Copies of whole modules, which every call of the API begins with, and ops in numbers.

xDSL's `clone` walks a module twice more to give the copies their operands, and looks for properties that an op is to
have by default, which those of the original are: that takes three times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, SSAValues

OpT = TypeVar("OpT", bound=Operation)


def bare_op(
    kind: type[OpT],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    location: LocationAttr,
) -> OpT:
    """An op without operands, successors and regions, in half of the time that xDSL's `create` takes to set these.

    `properties` are all that it has: none is added that it would have by default.
    """
    made = kind.__new__(kind)
    made.results = SSAValues([OpResult(type, made, index) for index, type in enumerate(result_types)])
    made.properties = dict(properties)
    made.attributes = dict(attributes)
    made.location = location
    return made


def clone_module(module: ModuleOp) -> ModuleOp:
    """A copy of a module, with the locations and names of its ops; attributes are shared."""
    return _Cloner().clone(module)


class _Cloner:
    """Clones ops that read no values of others than those that it clones."""

    def __init__(self) -> None:
        self._values: dict[int, SSAValue] = {}
        """The copies by the ids of the originals, which are looked up faster."""
        self._blocks: dict[Block, Block] = {}

    def clone(self, module: ModuleOp) -> ModuleOp:
        early: list[tuple[Operation, Operation]] = []
        """Ops that read what is defined behind them, as the order of blocks allows, and their copies."""
        made = self._op(module, early)
        for op, copy in early:
            copy.operands = [self._values[id(operand)] for operand in op.operands]
        assert isinstance(made, ModuleOp)
        return made

    def _op(self, op: Operation, early: list[tuple[Operation, Operation]]) -> Operation:
        values, results = self._values, op.results
        made = bare_op(type(op), [result.type for result in results], op.properties, op.attributes, op.location)
        try:
            made.operands = [values[id(operand)] for operand in op.operands]
        except KeyError:
            early.append((op, made))
        for result, copy in zip(results, made.results, strict=True):
            if result.name_hint is not None:
                copy.name_hint = result.name_hint
            values[id(result)] = copy
        if op.successors:
            made.successors = [self._blocks[block] for block in op.successors]
        for region in op.regions:
            made.add_region(self._region(region, early))
        return made

    def _region(self, region: Region, early: list[tuple[Operation, Operation]]) -> Region:
        copies = [self._block(block) for block in region.blocks]
        for block, copy in zip(region.blocks, copies, strict=True):
            op = block.first_op
            while op is not None:
                copy.add_op(self._op(op, early))
                op = op.next_op
        return Region(copies)

    def _block(self, block: Block) -> Block:
        """A block with its arguments and no ops: others may branch to it before it has them."""
        copy = self._blocks[block] = Block(arg_types=[argument.type for argument in block.args])
        for argument, made in zip(block.args, copy.args, strict=True):
            made.name_hint, made.location = argument.name_hint, argument.location
            self._values[id(argument)] = made
        return copy
