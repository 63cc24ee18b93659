"""From a pipeline that goes wrong to the pass, and the rewrite of it, that does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xir.evaluate.checker import NumericsChecker
from xir.faults.reproduction import Failure, Fault, run
from xir.ir.context import XirContext
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
    checker = NumericsChecker(inputs, rtol)
    failure = run(module, ctx, passes, checker=checker, progress=lambda each: progress(each.name))
    if failure is None:
        return None

    def attempt(limit: int | None) -> tuple[Failure | None, RewriteCounter]:
        counter = RewriteCounter(limit)
        found = run(
            failure.before,
            failure.ctx,
            [failure.culprit],
            checker=None if failure.checker is None else failure.checker.again(),
            counters={failure.culprit.name: counter},
        )
        return found, counter

    found, counter = attempt(None)
    total = counter.count
    if found is None or (total == 0 and counter.last is None) or attempt(0)[0] is not None:
        return Culprit(failure, count=total)
    # A crash ends the pass within the rewrite that is to be found, before that is counted.
    good, bad = 0, total + (failure.fault is not Fault.WRONG)
    last = counter.last
    while bad - good > 1:
        middle = (good + bad) // 2
        progress(f"{failure.culprit.name}, rewrite {middle} of {total}")
        found, counter = attempt(middle)
        if found is None:
            good = middle
        else:
            bad, last = middle, counter.last
    return Culprit(failure, bad, total, last if failure.fault is Fault.WRONG else None)
