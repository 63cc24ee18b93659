"""Finding ops of a type in the IR, which most passes begin with.

`Operation.walk` yields each op through a generator for the op, its region and its block, and `isinstance` asks the
abstract base class of all ops; here one generator goes through a block, and each op type is looked at once. On a block
of thousands of ops that is three times as fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Any, TypeVar, overload

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from xir.ir.diagnostics import DiagnosticError, note
from xir.ir.traits import HoldsGraph

OpT = TypeVar("OpT", bound=Operation)


@overload
def ops_in(root: Operation, kind: type[OpT], /, *, graphs: bool = True) -> Iterator[OpT]: ...
@overload
def ops_in(root: Operation, kind: UnionType, /, *, graphs: bool = True) -> Iterator[Any]: ...
def ops_in(root: Operation, kind: Any, /, *, graphs: bool = True) -> Iterator[Any]:
    """The ops of a type, or of one of several, that are nested in `root`, in program order, each before those in its
    regions.

    Without `graphs` those in graphs of backends, where most ops of a program end up, are left out. Whoever erases ops
    on the way takes a list of them first.
    """
    wanted: dict[type[Operation], bool] = {}
    for region in root.regions:
        for block in region.blocks:
            op = block.first_op
            while op is not None:
                op_type = type(op)
                if (is_wanted := wanted.get(op_type)) is None:
                    is_wanted = wanted[op_type] = issubclass(op_type, kind)
                if is_wanted:
                    yield op
                if op.regions and (graphs or not holds_graph(op)):
                    yield from ops_in(op, kind, graphs=graphs)
                op = op.next_op


def ops_in_reverse(root: Operation, *, graphs: bool = True) -> Iterator[Operation]:
    """The ops that are nested in `root`, in reverse program order, each behind those in its regions.

    Without `graphs` those in graphs of backends are left out. Whoever is handed an op may erase it.
    """
    for region in reversed(root.regions):
        for block in reversed(region.blocks):
            op = block.last_op
            while op is not None:
                previous = op.prev_op
                if op.regions and (graphs or not holds_graph(op)):
                    yield from ops_in_reverse(op, graphs=graphs)
                yield op
                op = previous


def holds_graph(op: Operation) -> bool:
    """Whether what is in the op's regions is a backend's."""
    return op.has_trait(HoldsGraph, value_if_unregistered=False)


def only_block(function: FuncOp) -> Block:
    """The one block of a function, whose ops run in order. DiagnosticError for a function of several."""
    if len(function.body.blocks) > 1:
        message = f"'{function.sym_name.data}' has {len(function.body.blocks)} blocks, and a tensor program has one"
        raise DiagnosticError(function, message, [note(function, "control flow is edge.cond and edge.while_loop")])
    return function.body.block


def functions_in(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body, in order."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and not op.is_declaration:
            yield op
        elif isinstance(op, ModuleOp):
            yield from functions_in(op)
