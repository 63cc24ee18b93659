"""From a pipeline that goes wrong to the pass, and the rewrite of it, that does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xir.evaluate.checker import NumericsChecker
from xir.evaluate.inputs import as_called, draw_inputs
from xir.faults.random_constants import vary
from xir.faults.reproduction import Failure, Fault, run
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import functions_of
from xir.ir.passes import PassManager, XirPass
from xir.ir.provenance import drop_origins
from xir.ir.rewriting import Rewrite, RewriteCounter
from xir.transforms.delegate.forming.late_refusals import DelegatingPass, run_passes


@dataclass(frozen=True)
class Culprit:
    """What a bisection found."""

    failure: Failure
    maker: XirPass | None = None
    """The pass that makes what the failure's refuses, if that is another one: the first of the failure's `passes`."""
    number: int = 0
    """The first rewrite of the pass that is wrong, from 1; 0 if the pass counts none, or goes wrong without any."""
    count: int = 0
    """How many rewrites the pass makes in all."""
    rewrite: Rewrite | None = None
    """It, or what a pass that stops was about to do."""


@dataclass(frozen=True)
class Bisection:
    """Passes on a program, run again and again."""

    module: ModuleOp
    ctx: XirContext
    passes: Sequence[XirPass]
    rtol: float = 0.0
    pass_seconds: float | None = None
    """How long a pass may run; None for any time."""
    progress: Callable[[str], None] = lambda _: None

    def failure(
        self, checker: NumericsChecker | None = None, counters: dict[str, RewriteCounter] | None = None
    ) -> Failure | None:
        """What goes wrong first."""
        return run(
            self.module,
            self.ctx,
            self.passes,
            checker=checker,
            counters=counters,
            pass_seconds=self.pass_seconds,
            progress=lambda each: self.progress(each.name),
        )

    def varied(self) -> Bisection:
        """The same with other weights, and the largest dynamic sizes."""
        varied, ctx = self.module.clone(), self.ctx.clone()
        vary(varied, ctx)
        return replace(self, module=varied, ctx=ctx)

    def on_other_inputs(self) -> Failure | None:
        """What goes wrong on other inputs."""
        try:
            functions = functions_of(self.module)
            drawn = {function.sym_name.data: draw_inputs(function, seed=1, part=1.0) for function in functions}
            called = {f.sym_name.data: as_called(f, drawn[f.sym_name.data]) for f in functions}
            return self.failure(NumericsChecker(called, self.rtol))
        except (DiagnosticError, IndexError):
            # Not every program runs on whatever is drawn for it.
            return None

    def maker(self, refusal: Failure) -> Culprit | None:
        """The last pass before a refusal without whose rewrites nothing is refused, and its first rewrite after which
        it is; None if there is no such pass, so that it is the program that is refused.
        """
        end = next(index for index, each in enumerate(self.passes) if each is refusal.culprit)
        counters: dict[str, RewriteCounter] = {}
        self.failure(counters=counters)
        # Without what is delegated nothing of a delegate would be refused, which says nothing of who is wrong.
        makers = {each.name: each for each in self.passes[:end] if not isinstance(each, DelegatingPass)}
        for name, each in reversed(makers.items()):
            if counters[name].count and self.failure(counters={name: RewriteCounter(0)}) is None:
                return self._from(each, refusal, end)
        return None

    def _from(self, maker: XirPass, refusal: Failure, end: int) -> Culprit | None:
        """The same for a known pass; None if the passes from it on do not show it."""
        start = next(index for index, each in enumerate(self.passes) if each.name == maker.name)
        ctx, module = self.ctx.clone(), self.module.clone()
        with ctx.diagnostics.collect():
            run_passes(PassManager(ctx, self.passes[:start]), module)
        drop_origins(module)
        leading = tuple(self.passes[start:end])
        failure = replace(refusal, before=module, ctx=ctx, leading=leading)
        found = self.rewrite_of(failure, maker)
        return replace(found, maker=maker) if found.number else None

    def rewrite_of(self, failure: Failure, maker: XirPass) -> Culprit:
        """The first rewrite of a pass with which the failure's goes wrong."""
        again = replace(self, module=failure.before, ctx=failure.ctx, passes=failure.passes, progress=lambda _: None)

        def attempt(limit: int | None) -> tuple[Failure | None, RewriteCounter]:
            counter = RewriteCounter(limit)
            checker = None if failure.checker is None else failure.checker.again()
            return again.failure(checker, {maker.name: counter}), counter

        found, counter = attempt(None)
        total = counter.count
        if failure.stopped and maker is failure.culprit:
            return Culprit(failure, count=total, rewrite=counter.trying)
        if not failure.repeats(found) or total == 0 or failure.repeats(attempt(0)[0]):
            return Culprit(failure, count=total)
        good, bad, last = 0, total, counter.last
        while bad - good > 1:
            middle = (good + bad) // 2
            self.progress(f"{maker.name}, rewrite {middle} of {total}")
            found, counter = attempt(middle)
            if failure.repeats(found):
                bad, last = middle, counter.last
            else:
                good = middle
        return Culprit(failure, number=bad, count=total, rewrite=last)


def find_culprit(
    module: ModuleOp,
    ctx: XirContext,
    passes: Sequence[XirPass],
    *,
    inputs: Any = None,
    rtol: float = 0.0,
    pass_seconds: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Culprit | None:
    """The first pass that goes wrong, and its first rewrite that does; None if all goes well.

    What a pass refuses because of the rewrites of an earlier one is that one's fault. A pass that runs for longer than
    `pass_seconds` counts as one that never ends.
    """
    search = Bisection(module, ctx, passes, rtol, pass_seconds, progress)
    failure = search.failure(NumericsChecker(inputs, rtol))
    if failure is None or failure.fault is not Fault.WRONG:
        # What is refused may be what an earlier pass made of the program, whose numbers did not show it.
        varied = search.varied()
        other = varied.on_other_inputs()
        if failure is None or (other is not None and other.fault is Fault.WRONG):
            search, failure = varied, other
    if failure is None:
        return None
    if failure.fault is Fault.REFUSED and (found := search.maker(failure)) is not None:
        return found
    return search.rewrite_of(failure, failure.culprit)
