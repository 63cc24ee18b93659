"""Running passes on a copy of a module to see whether, and how, they go wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects.builtin import ModuleOp

from xir.evaluate.checker import MiscompileError, NumericsChecker
from xir.ir.context import XirContext
from xir.ir.diagnostics import AlreadyReportedError, Diagnostic, DiagnosticError, Severity
from xir.ir.internal_errors import InternalError
from xir.ir.passes import PassManager, XirPass
from xir.ir.provenance import drop_origins
from xir.ir.rewriting import RewriteCounter
from xir.ir.verifier import verify


class Fault(Enum):
    """How a pass goes wrong; the value is the word for it."""

    WRONG = "computes something else"
    CRASH = "crashes, or leaves what does not verify"
    REFUSED = "refuses the program"


@dataclass(frozen=True)
class Failure:
    """A pass that went wrong."""

    fault: Fault
    culprit: XirPass
    diagnostic: Diagnostic
    before: ModuleOp
    """The module as the pass found it."""
    ctx: XirContext
    """Where its constants are."""
    checker: NumericsChecker | None = None
    """What knows the numbers of that module."""


def run(
    module: ModuleOp,
    ctx: XirContext,
    passes: Sequence[XirPass],
    *,
    checker: NumericsChecker | None = None,
    counters: dict[str, RewriteCounter] | None = None,
    progress: Callable[[XirPass], None] | None = None,
) -> Failure | None:
    """Run passes on a copy of `module`; the first failure, None if all goes well. A `checker` checks its numbers.

    DiagnosticError if the module itself does not verify, or if the checker's inputs do not fit it.
    """
    verify(module)
    ctx, copy = ctx.clone(), module.clone()
    latest: list[tuple[XirPass, ModuleOp]] = []

    def keep(each: XirPass, now: ModuleOp) -> None:
        latest[:] = [(each, now.clone())]
        drop_origins(latest[0][1])
        if progress is not None:
            progress(each)

    manager = PassManager(ctx, passes, rewrite_counters=counters)
    if checker is not None:
        checker.attach(manager)
    manager.before_pass.insert(0, keep)
    with ctx.diagnostics.collect() as said:
        try:
            manager.run(copy)
        except MiscompileError as error:
            return Failure(Fault.WRONG, error.culprit, error.diagnostic, latest[0][1], ctx, checker)
        except (DiagnosticError, InternalError) as error:
            if not latest:
                raise
            notes = error.diagnostic.notes
            crashed = isinstance(error, InternalError) or any("does not verify" in each.message for each in notes)
            return Failure(Fault.CRASH if crashed else Fault.REFUSED, latest[0][0], error.diagnostic, latest[0][1], ctx)
        except AlreadyReportedError:
            errors = [each for each in said if each.severity is Severity.ERROR]
            return Failure(Fault.REFUSED, latest[0][0], errors[0], latest[0][1], ctx)
    return None
