"""Running passes on a copy of a module to see whether, and how, they go wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects.builtin import ModuleOp

from xir.evaluate.checker import NumericsChecker
from xir.evaluate.miscompiles import MiscompileError
from xir.ir.context import XirContext
from xir.ir.diagnostics import AlreadyReportedError, Diagnostic, DiagnosticError, Severity
from xir.ir.functions import functions_of
from xir.ir.internal_errors import InternalError
from xir.ir.passes import EndlessPassError, PassManager, XirPass
from xir.ir.provenance import drop_origins
from xir.ir.rewriting import RewriteCounter
from xir.ir.verifier import verify
from xir.transforms.delegate.forming.late_refusals import run_passes


class Fault(Enum):
    """How a pass goes wrong; the value is the word for it."""

    WRONG = "computes something else"
    CRASH = "crashes, or leaves what does not verify"
    REFUSED = "refuses the program"
    ENDLESS = "does not end"


@dataclass(frozen=True)
class Failure:
    """A pass that went wrong."""

    fault: Fault
    culprit: XirPass
    diagnostic: Diagnostic
    before: ModuleOp
    """The module as the pass found it, or the last one of functions before, if there are none any more."""
    ctx: XirContext
    """Where its constants are."""
    checker: NumericsChecker | None = None
    """What knows the numbers of that module."""
    leading: tuple[XirPass, ...] = ()
    """The passes from that module to the one that went wrong."""

    @property
    def stopped(self) -> bool:
        """Whether the pass did not come to its end; else it has, and what it left is wrong or does not verify."""
        return self.fault is not Fault.WRONG and not does_not_verify(self.diagnostic)

    @property
    def passes(self) -> list[XirPass]:
        """The passes to run on `before` to see it."""
        return [*self.leading, self.culprit]

    @property
    def pipeline(self) -> str:
        """The passes as text."""
        return ",".join(map(str, self.passes))

    def repeats(self, other: Failure | None) -> bool:
        """Whether another run, of these passes, has gone wrong in the same way: in the same pass, and if that crashes
        or refuses the program, with the same message but for names, numbers and types in it.
        """
        if other is None or other.fault is not self.fault or other.culprit != self.culprit:
            return False
        is_told_by_message = self.fault in (Fault.CRASH, Fault.REFUSED)
        return not is_told_by_message or kind_of(other.diagnostic) == kind_of(self.diagnostic)


def kind_of(diagnostic: Diagnostic) -> str:
    """What a message says but for quoted names, types, lists and numbers, which differ between programs. A bug's op is
    not one of these.
    """
    where = re.match(r"internal error in .*? at op '[^']*'", diagnostic.message)
    start = where[0] if where else ""
    message = re.sub(r"'[^']*'", "''", diagnostic.message[len(start) :])
    while message != (shorter := re.sub(r"<[^<>]*>|\[[^][]*\]", "", message)):
        message = shorter
    return start + re.sub(r"-?\d[\d.e+-]*", "0", message)


def does_not_verify(diagnostic: Diagnostic) -> bool:
    """Whether it is said of the module that a pass has left."""
    return any("does not verify" in each.message for each in diagnostic.notes)


def fault_of(error: DiagnosticError | InternalError) -> Fault:
    """How a pass goes wrong that ends in an error."""
    if isinstance(error, EndlessPassError):
        return Fault.ENDLESS
    crashed = isinstance(error, InternalError) or does_not_verify(error.diagnostic)
    return Fault.CRASH if crashed else Fault.REFUSED


def run(
    module: ModuleOp,
    ctx: XirContext,
    passes: Sequence[XirPass],
    *,
    checker: NumericsChecker | None = None,
    counters: dict[str, RewriteCounter] | None = None,
    pass_seconds: float | None = None,
    progress: Callable[[XirPass], None] | None = None,
) -> Failure | None:
    """Run passes on a copy of `module`; the first failure, None if all goes well. A `checker` checks its numbers, and
    what runs for longer than `pass_seconds` counts as endless.

    DiagnosticError if the module itself does not verify, or if the checker's inputs do not fit it.
    """
    verify(module)
    ctx, copy = ctx.clone(), module.clone()
    kept: list[ModuleOp] = []
    since: list[XirPass] = []

    def keep(each: XirPass, now: ModuleOp) -> None:
        if not kept or functions_of(now):
            kept[:] = [now.clone()]
            drop_origins(kept[0])
            since.clear()
        since.append(each)
        if progress is not None:
            progress(each)

    manager = PassManager(ctx, passes, rewrite_counters=counters, pass_seconds=pass_seconds)
    if checker is not None:
        checker.attach(manager)
    manager.before_pass.insert(0, keep)

    def failure(fault: Fault, diagnostic: Diagnostic) -> Failure:
        known = checker if fault is Fault.WRONG else None
        return Failure(fault, since[-1], diagnostic, kept[0], ctx, known, tuple(since[:-1]))

    with ctx.diagnostics.collect() as said:
        try:
            run_passes(manager, copy)
        except MiscompileError as error:
            return failure(Fault.WRONG, error.diagnostic)
        except (DiagnosticError, InternalError) as error:
            if not since:
                raise
            return failure(fault_of(error), error.diagnostic)
        except AlreadyReportedError:
            errors = [each for each in said if each.severity is Severity.ERROR]
            return failure(Fault.REFUSED, errors[0])
    return None
