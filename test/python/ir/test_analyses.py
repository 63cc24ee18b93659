"""Analyses: each is made once in a run of passes, and as long as these preserve it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xir.ir.analyses import Analysis, ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.passes import PassManager, XirPass
from xir.transforms.registry import passes_of


class Made(Analysis):
    """Counts how often it is made."""

    count = 0

    def __init__(self, op: Operation):
        Made.count += 1


class Derived(ValueAnalysis):
    """One of those that `ValueAnalysis` stands for."""

    def __init__(self, op: Operation):
        """Know nothing."""


@dataclass(frozen=True)
class AsksPass(XirPass):
    """Asks for an analysis, and changes nothing."""

    preserves: ClassVar = (Made,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Ask twice."""
        assert ctx.analyses.get(Made, op) is ctx.analyses.get(Made, op)


@dataclass(frozen=True)
class SaysNothingPass(XirPass):
    """Preserves nothing, as far as it says."""

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("passes", "times"),
    [
        ((AsksPass(), AsksPass()), 1),
        ((AsksPass(), SaysNothingPass(), AsksPass()), 2),
        ((SaysNothingPass(), AsksPass(), AsksPass(), SaysNothingPass()), 1),
    ],
)
def test_an_analysis_is_made_until_a_pass_does_not_preserve_it(passes: tuple[XirPass, ...], times: int) -> None:
    ctx, before = XirContext(), Made.count
    PassManager(ctx, passes).run(ModuleOp([]))
    assert Made.count - before == times


def test_no_run_hands_an_analysis_to_the_next() -> None:
    ctx, module, before = XirContext(), ModuleOp([]), Made.count
    for _ in range(2):
        PassManager(ctx, (AsksPass(),)).run(module)
    assert Made.count - before == 2


def test_outside_of_a_run_each_is_made_anew() -> None:
    ctx, module = XirContext(), ModuleOp([])
    assert ctx.analyses.get(Made, module) is not ctx.analyses.get(Made, module)


def test_a_class_stands_for_those_derived_from_it() -> None:
    ctx, module = XirContext(), ModuleOp([])
    with ctx.analyses.kept():
        made, derived = ctx.analyses.get(Made, module), ctx.analyses.get(Derived, module)
        ctx.analyses.invalidate((ValueAnalysis,))
        assert ctx.analyses.get(Derived, module) is derived
        assert ctx.analyses.get(Made, module) is not made


def test_all_passes_of_delegate_behind_the_first_that_asks_preserve_what_is_known_of_values() -> None:
    passes = passes_of("delegate")
    first = next(place for place, each in enumerate(passes) if each.name == "lower-masks")
    assert [each.name for each in passes[first:] if ValueAnalysis not in each.preserves] == []
