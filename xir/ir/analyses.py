"""Analyses that passes ask for: each is computed once, and cached until a pass may have invalidated it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from xdsl.ir import Operation


class Analysis(ABC):
    """Facts about an op and everything nested in it. An analysis does not change the IR."""

    @abstractmethod
    def __init__(self, op: Operation):
        """Start the analysis of `op`."""


class ValueAnalysis(Analysis):
    """Facts about values, each of which is analysed when it is first asked for.

    It holds as long as the values that passes keep are what they were. What passes add is looked at like the rest, so a
    pass that only replaces values by others preserves every such analysis.
    """


AnalysisT = TypeVar("AnalysisT", bound=Analysis)


class AnalysisManager:
    """The analyses of a context's modules.

    They are kept while a pass manager runs, which drops after each pass what that does not preserve. Outside of one
    nobody says what has changed, so each is made anew.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[type[Analysis], Operation], Any] = {}
        self._keeps = False

    def get(self, analysis: type[AnalysisT], op: Operation) -> AnalysisT:
        """The analysis of an op: the cached one, if a pass of this run has asked for it before, or a new one."""
        found = self._found.get((analysis, op))
        if found is None:
            found = analysis(op)
            if self._keeps:
                self._found[analysis, op] = found
        return found

    @contextmanager
    def kept(self) -> Generator[None]:
        """Cache analyses for the duration."""
        before, self._keeps = self._keeps, True
        try:
            yield
        finally:
            self._keeps = before
            self._found.clear()

    def invalidate(self, preserved: Collection[type[Analysis]] = ()) -> None:
        """Drop all analyses but those of the preserved classes, or of classes derived from them."""
        self._found = {key: found for key, found in self._found.items() if issubclass(key[0], tuple(preserved))}
