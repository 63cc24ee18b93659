"""From a pipeline that goes wrong to the pass, and the rewrite of it, that does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xir.evaluate.checker import NumericsChecker
from xir.evaluate.inputs import as_called, draw_inputs
from xir.faults.random_constants import vary
from xir.faults.reproduction import Failure, Fault, run
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import functions_of
from xir.ir.passes import XirPass
from xir.ir.rewriting import Rewrite, RewriteCounter


@dataclass(frozen=True)
class Culprit:
    """What a bisection found."""

    failure: Failure
    number: int = 0
    """The first rewrite of the pass that is wrong, from 1; 0 if the pass counts none, or goes wrong without any."""
    count: int = 0
    """How many rewrites the pass makes in all."""
    rewrite: Rewrite | None = None
    """It, or what a pass that stops was about to do."""


def find_culprit(
    module: ModuleOp,
    ctx: XirContext,
    passes: Sequence[XirPass],
    *,
    inputs: Any = None,
    rtol: float = 0.0,
    progress: Callable[[str], None] = lambda _: None,
) -> Culprit | None:
    """The first pass that goes wrong, and its first rewrite that does; None if all goes well."""

    def tried(module: ModuleOp, ctx: XirContext, checker: NumericsChecker) -> Failure | None:
        return run(module, ctx, passes, checker=checker, progress=lambda each: progress(each.name))

    failure = tried(module, ctx, NumericsChecker(inputs, rtol))
    if failure is None or failure.fault is not Fault.WRONG:
        # What is refused may be what an earlier pass made of the program, whose numbers did not show it.
        varied = _failure_of_varied(module, ctx, rtol, tried)
        if failure is None or (varied is not None and varied.fault is Fault.WRONG):
            failure = varied
    return None if failure is None else _with_rewrite(failure, progress)


def _failure_of_varied(
    module: ModuleOp,
    ctx: XirContext,
    rtol: float,
    tried: Callable[[ModuleOp, XirContext, NumericsChecker], Failure | None],
) -> Failure | None:
    """What goes wrong with other weights, other inputs, and the largest dynamic sizes."""
    varied, ctx = module.clone(), ctx.clone()
    vary(varied, ctx)
    try:
        inputs = {function.sym_name.data: draw_inputs(function, seed=1, part=1.0) for function in functions_of(varied)}
        called = {f.sym_name.data: as_called(f, inputs[f.sym_name.data]) for f in functions_of(varied)}
        return tried(varied, ctx, NumericsChecker(called, rtol))
    except (DiagnosticError, IndexError):
        # Not every program runs on whatever is drawn for it.
        return None


def _with_rewrite(failure: Failure, progress: Callable[[str], None]) -> Culprit:
    """The first rewrite of a pass with which it goes wrong."""

    def attempt(limit: int | None) -> tuple[Failure | None, RewriteCounter]:
        counter = RewriteCounter(limit)
        found = run(
            failure.before,
            failure.ctx,
            failure.passes,
            checker=None if failure.checker is None else failure.checker.again(),
            counters={failure.culprit.name: counter},
        )
        return found, counter

    found, counter = attempt(None)
    total = counter.count
    if failure.stopped:
        return Culprit(failure, count=total, rewrite=counter.trying)
    if found is None or total == 0 or failure.repeats(attempt(0)[0]):
        return Culprit(failure, count=total)
    good, bad, last = 0, total, counter.last
    while bad - good > 1:
        middle = (good + bad) // 2
        progress(f"{failure.culprit.name}, rewrite {middle} of {total}")
        found, counter = attempt(middle)
        if failure.repeats(found):
            bad, last = middle, counter.last
        else:
            good = middle
    return Culprit(failure, bad, total, last)
