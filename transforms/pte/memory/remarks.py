"""The remark about a plan that a solver was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from xir.dialects import pte
from xir.ir.diagnostics import Severity
from xir.ir.remarks import Remark, RemarkKind, function_of, sentence


@dataclass(frozen=True, kw_only=True)
class SolvedArena(Remark):
    """What a solver found out about the arena of a plan; who asks for it wants to know."""

    lower_bound: int
    """In bytes, with what delegates may read behind the arena."""

    @staticmethod
    def of(plan: pte.ExecutionPlanOp, before: int, nbytes: int, lower_bound: int) -> SolvedArena:
        """The remark about an arena of `before` bytes that has `nbytes` now."""
        is_least = nbytes == lower_bound
        bound = "the least there is" if is_least else f"and none has fewer than {lower_bound:,}"
        less = f"{nbytes:,} bytes, {bound}, instead of {before:,}"
        same = f"{nbytes:,} bytes, {bound}: no smaller one was found"
        text = f"the arena takes {less if nbytes < before else same}"
        return SolvedArena(
            Severity.REMARK,
            plan.location,
            sentence("plan-memory", text, "", None),
            kind=RemarkKind.PASSED if nbytes < before else RemarkKind.ANALYSIS,
            category="plan-memory",
            name="exact-arena",
            text=text,
            function=function_of(plan),
            figures=(("Bytes", nbytes), ("BytesGreedy", before), ("LowerBound", lower_bound)),
            lower_bound=lower_bound,
        )
