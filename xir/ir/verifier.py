"""Verifying a module, with every failure a located diagnostic.

xDSL's own `verify()` prints the whole module into the exception, names no location and checks no dominance.
"""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator, NoTerminator, SymbolTable
from xdsl.utils.exceptions import VerifyException

from xir.ir.annotations import problems
from xir.ir.diagnostics import DiagnosticError, note, op_name
from xir.ir.dominance import verify_dominance
from xir.ir.tensor_types import oversized


def verify(root: Operation) -> None:
    """Verify `root` and everything in it: structure, attributes `xir.*`, each op's own rules, dominance.

    DiagnosticError if one fails.
    """
    for op in root.walk():
        if op.regions:
            _verify_terminators(op)
            _verify_arguments(op)
            _verify_symbols(op)
        if op.successors:
            _verify_successors(op)
        if (problem := oversized(op.result_types)) is not None:
            raise DiagnosticError(op, f"'{op_name(op)}' op {problem}")
        try:
            op.verify_()
        except VerifyException as error:
            raise DiagnosticError(op, f"'{op_name(op)}' op {' '.join(str(error).split())}") from error
        if (op.attributes or isinstance(op, FuncOp)) and (problem := next(problems(op), None)) is not None:
            raise DiagnosticError(op, f"'{op_name(op)}' op {problem}")
    verify_dominance(root)


def _verify_terminators(op: Operation) -> None:
    if op.has_trait(NoTerminator):
        return
    for region in op.regions:
        for block in region.blocks:
            last = block.last_op
            if last is None:
                raise DiagnosticError(op, f"'{op_name(op)}' op has an empty block, which needs a terminator")
            if not last.has_trait(IsTerminator):
                raise DiagnosticError(last, f"'{op_name(last)}' op ends a block but is no terminator")


def _verify_symbols(op: Operation) -> None:
    if not op.has_trait(SymbolTable, value_if_unregistered=False):
        return
    if len(op.regions[0].blocks) != 1:
        raise DiagnosticError(op, f"'{op_name(op)}' op is a symbol table, whose region must have exactly one block")
    seen: dict[str, Operation] = {}
    for each in op.regions[0].block.ops:
        name = each.get_attr_or_prop("sym_name")
        if not isinstance(name, StringAttr):
            continue
        if (first := seen.setdefault(name.data, each)) is not each:
            notes = [note(first, "the symbol is already defined here")]
            raise DiagnosticError(each, f"redefinition of the symbol '{name.data}'", notes)


def _verify_arguments(op: Operation) -> None:
    for region in op.regions:
        for block in region.blocks:
            if (problem := oversized(block.arg_types)) is not None:
                raise DiagnosticError(op, f"'{op_name(op)}' op {problem}")


def _verify_successors(op: Operation) -> None:
    block = op.parent
    if block is None or block.last_op is not op:
        raise DiagnosticError(op, f"'{op_name(op)}' op has successors, so it must end its block")
    if any(successor.parent is not block.parent for successor in op.successors):
        raise DiagnosticError(op, f"'{op_name(op)}' op branches to a block of another region")
