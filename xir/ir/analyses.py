"""Facts that passes ask for, each found out once and handed on until a pass may have changed it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from xdsl.ir import Operation


class Analysis(ABC):
    """What is known of an op and all that it holds. An analysis changes no IR."""

    @abstractmethod
    def __init__(self, op: Operation):
        """Begin to know `op`."""


class ValueAnalysis(Analysis):
    """What is known of values, each of which is looked at when somebody asks for it.

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
        """The analysis of an op: that which a pass of this run has asked for already, or a new one."""
        found = self._found.get((analysis, op))
        if found is None:
            found = analysis(op)
            if self._keeps:
                self._found[analysis, op] = found
        return found

    @contextmanager
    def kept(self) -> Generator[None]:
        """Keep analyses meanwhile."""
        before, self._keeps = self._keeps, True
        try:
            yield
        finally:
            self._keeps = before
            self._found.clear()

    def invalidate(self, preserved: Collection[type[Analysis]] = ()) -> None:
        """Drop all analyses but those of the preserved classes, or of classes derived from them."""
        self._found = {key: found for key, found in self._found.items() if issubclass(key[0], tuple(preserved))}
