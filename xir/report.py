"""The report: which ops stay outside the delegates, why, where they come from, and what would help."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xir.ir.diagnostics import Diagnostic
from xir.ir.location import find_file_location, format_location
from xir.transforms.partition_xnnpack import NotDelegated

JSON_VERSION = 1
"""Of the machine-readable form: raised when a key changes its meaning or goes away, not when one is added."""


@dataclass(frozen=True, order=True)
class Entry:
    """Ops of one kind that one source line leaves outside for one reason."""

    reason: str
    hint: str
    """The change that would help, empty where there is none."""
    file: str
    """Empty where the op has no place in a file."""
    line: int
    place: str
    """The source line, as diagnostics write it."""
    op: str


@dataclass(frozen=True)
class Report:
    """What was left out, each entry with its number of ops, ordered by reason and then by source line."""

    entries: tuple[tuple[Entry, int], ...]

    @property
    def count(self) -> int:
        """How many ops stay outside."""
        return sum(count for _, count in self.entries)

    def text(self) -> str:
        """The table for people: reasons, the most frequent first, each with its ops by source line."""
        if not self.entries:
            return "Every op is delegated.\n"
        lines: list[str] = []
        for (reason, hint), total in self._by_reason():
            lines.append(f"{total} × {reason}")
            if hint:
                lines.append(f"    to fix it: {hint}")
            rows = [(count, entry) for entry, count in self.entries if (entry.reason, entry.hint) == (reason, hint)]
            width = max(len(entry.op) for _, entry in rows)
            lines += [f"    {count:5}  {entry.op:{width}}  {entry.place}" for count, entry in rows]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """The same for machines; docs/report.md says what the keys mean."""
        rows = [
            {
                "op": entry.op,
                "count": count,
                "reason": entry.reason,
                "hint": entry.hint or None,
                "file": entry.file or None,
                "line": entry.line or None,
            }
            for entry, count in self.entries
        ]
        document: dict[str, Any] = {"version": JSON_VERSION, "outside": self.count, "ops": rows}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def _by_reason(self) -> list[tuple[tuple[str, str], int]]:
        totals: Counter[tuple[str, str]] = Counter()
        for entry, count in self.entries:
            totals[entry.reason, entry.hint] += count
        return totals.most_common()


def report_of(remarks: Iterable[Diagnostic]) -> Report:
    """The report of a program's remarks (`EdgeProgram.remarks`)."""
    counts = Counter(_entry(remark) for remark in remarks if isinstance(remark, NotDelegated))
    return Report(tuple(sorted(counts.items())))


def _entry(remark: NotDelegated) -> Entry:
    found = find_file_location(remark.location)
    return Entry(
        remark.reason,
        remark.hint or "",
        found.filename.data if found else "",
        found.line.data if found else 0,
        format_location(remark.location),
        remark.op,
    )
