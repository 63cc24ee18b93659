"""What a pass did wrong, in words: errors of `--verify-numerics`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xir.evaluate.comparison import REPEATED, Difference
from xir.evaluate.kernels import WrongKernel
from xir.evaluate.trace import Print, Trace, first_difference, name_of
from xir.ir.diagnostics import Diagnostic, DiagnosticError, note, op_name
from xir.ir.passes import XirPass


class MiscompileError(DiagnosticError):
    """A pass changed what the program computes."""

    def __init__(self, each: XirPass, where: Any, message: str, notes: Sequence[Diagnostic], error: float):
        super().__init__(where, message, notes)
        self.culprit = each
        self.error = error


def changed_function(
    each: XirPass,
    function: FuncOp,
    found: Difference,
    limit: float,
    what: str,
    before: Mapping[SSAValue, Print],
    trace: Trace,
) -> MiscompileError:
    """A function computes something else: output `found` of it is further off than `limit` from `what`."""
    op = first_difference(function, before, trace, found.output, max(limit, 1e-12))
    place, name = f" at {list(found.index)}" if found.index else "", name_of(function, found.output)
    notes = [
        note(op, f"first at '{op_name(op)}', whose result is no value of the module before the pass"),
        note(
            function,
            f"{name} of '{function.sym_name.data}' is {found.after:.9g}{place}, it was {found.before:.9g} {what}",
        ),
        note(function, f"{limit:.1e} is allowed: {each.numerics.value}"),
    ]
    return MiscompileError(
        each, op, f"{each.name} changes what the program computes: {told(found, name)}", notes, found.error
    )


def wrong_kernel(each: XirPass, wrong: WrongKernel) -> MiscompileError:
    """An op's kernel computes something else than the op means."""
    found, op = wrong.found, wrong.op
    place = f" at {list(found.index)}" if found.index else ""
    notes = [
        note(op, f"first at '{op_name(op)}', which computes something else as it is run"),
        note(op, f"{wrong.name} is {found.after:.9g}{place}, its operands make {found.before:.9g} of it"),
        note(op, f"{wrong.allowed:.1e} is allowed there: {each.numerics.value}"),
    ]
    message = f"{each.name} changes what the program computes: {told(found, wrong.name)}"
    return MiscompileError(each, op, message, notes, found.error)


def changed_program(each: XirPass, module: ModuleOp, function: FuncOp, found: Difference) -> MiscompileError:
    """A program computes something else than the one that ran before."""
    name = name_of(function, found.output)
    where = f"{name} of '{function.sym_name.data}' is {found.after:.9g}, it was {found.before:.9g} before it"
    notes = [note(module, where), note(module, f"{REPEATED:.1e} is allowed: {each.numerics.value}")]
    message = f"{each.name} changes what the program computes: {told(found, name)}"
    return MiscompileError(each, module, message, notes, found.error)


def does_not_run(each: XirPass, module: ModuleOp, error: Exception) -> MiscompileError:
    """A program cannot be written, or fails."""
    # What the emitter raises may be anything, if the program is wrong enough.
    from xir.runtime import XirRuntimeError

    told_as = str(error) if isinstance(error, XirRuntimeError | DiagnosticError) else repr(error)
    return MiscompileError(each, module, f"{each.name} makes a program that does not run: {told_as}", (), 1)


def told(found: Difference, name: str) -> str:
    """A difference in words; `name` is the output's."""
    if found.counted:
        return f"{100 * found.error:.3g} % of {name} differ"
    return f"{name} is off by {found.error:.1e} of its largest magnitude"
