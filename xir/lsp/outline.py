"""The functions of a text, and other ops with a symbol, as a tree."""

from __future__ import annotations

from dataclasses import dataclass, field

from xir.lsp.analysis import TextAnalysis
from xir.lsp.recording import RecordedOp


@dataclass
class OutlineEntry:
    """An op with a symbol: its whole text, its name's place, and those inside."""

    name: str
    op: str
    start: int
    end: int
    name_start: int
    name_end: int
    children: list[OutlineEntry] = field(default_factory=list["OutlineEntry"])


def outline(analysis: TextAnalysis) -> list[OutlineEntry]:
    """The outermost ops with a symbol."""
    outermost: list[OutlineEntry] = []
    entries: dict[int, OutlineEntry] = {}
    for symbol in analysis.symbols:
        op = symbol.op
        entry = OutlineEntry(symbol.name, op.name, op.start, max(op.end, symbol.end), symbol.start, symbol.end)
        entries[id(op)] = entry
        around: RecordedOp | None = op.parent
        while around is not None and id(around) not in entries:
            around = around.parent
        (outermost if around is None else entries[id(around)].children).append(entry)
    return outermost
