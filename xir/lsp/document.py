"""A file of MLIR text as an editor has it: its parts between `// -----`, each a module of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xir.ir.split_input import SPLIT_MARKER, split_input
from xir.lsp.analysis import Problem, TextAnalysis

_MARKER = re.compile(r"^[ \t]*//[ \t]*RUN:.*--split-input-file=(?:\"([^\"\n]+)\"|'([^'\n]+)'|(\S+))", re.MULTILINE)
_UNREGISTERED = re.compile(r"^[ \t]*//[ \t]*RUN:.*--allow-unregistered-dialect\b", re.MULTILINE)


@dataclass(frozen=True)
class FilePart:
    """A part of a file, `start` characters behind the file's start."""

    start: int
    analysis: TextAnalysis

    @property
    def end(self) -> int:
        """Where the part ends in the file."""
        return self.start + len(self.analysis.text)


@dataclass
class Document:
    """The parts of a file. What its `RUN:` lines say of the marker and of unregistered dialects counts."""

    text: str | None = None
    parts: list[FilePart] = field(default_factory=list[FilePart])
    _known: dict[tuple[str, bool], TextAnalysis] = field(default_factory=dict[tuple[str, bool], TextAnalysis])

    def update(self, text: str) -> None:
        """Take a new text. Parts that are as they were are not analysed again."""
        if text == self.text:
            return
        self.text = text
        marker = next((group for match in [_MARKER.search(text)] if match for group in match.groups() if group), None)
        unregistered = _UNREGISTERED.search(text) is not None
        known = self._known
        self._known, self.parts = {}, []
        lines = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
        for chunk, line in split_input(text, marker or SPLIT_MARKER):
            key = (chunk, unregistered)
            analysis = known.get(key) or self._known.get(key) or TextAnalysis(chunk, unregistered)
            self._known[key] = analysis
            self.parts.append(FilePart(lines[line], analysis))

    def part_at(self, offset: int) -> FilePart:
        """The part around a place of the file."""
        return next((part for part in reversed(self.parts) if part.start <= offset), self.parts[0])

    def problems(self) -> list[Problem]:
        """What is wrong, at places in the file."""
        return [_moved(problem, part.start) for part in self.parts for problem in part.analysis.problems]


def _moved(problem: Problem, by: int) -> Problem:
    notes = tuple(_moved(note, by) for note in problem.notes)
    return Problem(problem.start + by, problem.end + by, problem.message, notes)
