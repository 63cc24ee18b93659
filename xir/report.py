"""The report: which ops stay outside the delegates or in floating point, why, where they come from, what would help,
which ones are computed in another form, and what the arenas are for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xir.arena_report import ArenaReport, arenas_of
from xir.ir.diagnostics import Diagnostic
from xir.ir.location import find_file_location, format_location
from xir.transforms.analysis.missing_kernels import MissingKernel
from xir.transforms.delegate.forming.marks import NotDelegated
from xir.transforms.pte.memory.remarks import SolvedArena
from xir.transforms.xnnpack.analysis.composed import ComposedOp
from xir.transforms.xnnpack.analysis.stays_float import StaysFloat

JSON_VERSION = 1
"""Of the machine-readable form: raised when a key changes its meaning or goes away, not when one is added."""

IN_TABLES = (NotDelegated, StaysFloat, ComposedOp)
"""The remarks that a report has entries of."""

SUMMED_UP = (*IN_TABLES, MissingKernel, SolvedArena)
"""Those that `xir-aot` sums up, and prints one by one only if it is asked to."""


@dataclass(frozen=True, order=True)
class Entry:
    """Ops of one kind that one source line leaves outside, or in floating point, for one reason."""

    reason: str
    hint: str
    """The change that would help, empty where there is none."""
    file: str
    """Empty where the op has no place in a file."""
    line: int
    place: str
    """The source line, as diagnostics write it."""
    op: str
    backend: str = ""
    """The backend that refused them; empty for ops in floating point."""


Entries = tuple[tuple[Entry, int], ...]
"""Entries, each with its number of ops, ordered by reason and then by source line."""


@dataclass(frozen=True)
class Report:
    """The undelegated ops, the ops of a quantised program that stay in floating point inside delegates, and the
    convolutions that several nodes compute together, with the form as the reason; the arenas, if they were given."""

    entries: Entries
    floats: Entries = ()
    composed: Entries = ()
    arenas: ArenaReport = field(default_factory=ArenaReport)

    @property
    def count(self) -> int:
        """How many ops stay outside."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for entry, count in self.entries:
            counts[entry.op, entry.place, entry.backend] += count
        # An op that several backends were asked about is one op.
        ops = {(op, place) for op, place, _ in counts}
        return sum(max(counts[op, place, backend] for backend in self.backends) for op, place in ops)

    @property
    def backends(self) -> list[str]:
        """The backends that refused some op."""
        return sorted({entry.backend for entry, _ in self.entries})

    @property
    def float_count(self) -> int:
        """How many ops of a quantised program stay in floating point inside the delegates."""
        return _total(self.floats)

    def text(self) -> str:
        """The report as text: reasons, the most frequent first, each with its ops by source line."""
        lines = _table(self.entries) if self.entries else ["Every op is delegated."]
        if self.floats:
            lines += ["", "In floating point inside the delegate:", *_table(self.floats)]
        if self.composed:
            lines += ["", "Computed in another form:", *_table(self.composed)]
        if self.arenas.arenas:
            lines += ["", *self.arenas.lines()]
        return "\n".join(lines) + "\n"

    def brief(self, limit: int = 5) -> str:
        """The undelegated ops with their reasons, at most `limit` lines, the most frequent first; empty if none."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for entry, count in self.entries:
            counts[entry.op, entry.reason, entry.place] += count
        lines = [f"{count} × {op}, {place}: {reason}" for (op, reason, place), count in counts.most_common(limit)]
        if rest := self.count - sum(count for _, count in counts.most_common(limit)):
            lines.append(f"{rest} more: --report lists them")
        if self.float_count:
            lines.append(f"{self.float_count} in floating point inside the delegate: --report lists them")
        return "".join(f"{line}\n" for line in lines)

    def json(self) -> str:
        """The report as JSON; docs/report.md describes the keys."""
        document: dict[str, Any] = {
            "version": JSON_VERSION,
            "outside": self.count,
            "ops": _rows(self.entries),
            "float": self.float_count,
            "float_ops": _rows(self.floats),
            "composed": _total(self.composed),
            "composed_ops": _rows(self.composed),
            "arenas": self.arenas.rows(),
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _total(entries: Entries) -> int:
    return sum(count for _, count in entries)


def _table(entries: Entries) -> list[str]:
    totals: Counter[tuple[str, str, str]] = Counter()
    for entry, count in entries:
        totals[entry.backend, entry.reason, entry.hint] += count
    are_several = len({backend for backend, _, _ in totals}) > 1
    lines: list[str] = []
    for (backend, reason, hint), total in totals.most_common():
        lines.append(f"{total} × {f'{backend}: ' if are_several else ''}{reason}")
        if hint:
            lines.append(f"    to fix it: {hint}")
        kind = backend, reason, hint
        rows = [(count, entry) for entry, count in entries if (entry.backend, entry.reason, entry.hint) == kind]
        width = max(len(entry.op) for _, entry in rows)
        lines += [f"    {count:5}  {entry.op:{width}}  {entry.place}" for count, entry in rows]
    return lines


def _rows(entries: Entries) -> list[dict[str, Any]]:
    return [
        {
            "op": entry.op,
            **({"backend": entry.backend} if entry.backend else {}),
            "count": count,
            "reason": entry.reason,
            "hint": entry.hint or None,
            "file": entry.file or None,
            "line": entry.line or None,
        }
        for entry, count in entries
    ]


def report_of(remarks: Iterable[Diagnostic], program: ModuleOp | None = None) -> Report:
    """The report of a program's remarks (`EdgeProgram.remarks`), and of its arenas (`ExecutorchProgram.module`), if
    given; what a solver found out about those is in `ExecutorchProgram.remarks`."""
    remarks = list(remarks)
    outside, floats, composed = Counter[Entry](), Counter[Entry](), Counter[Entry]()
    for remark in remarks:
        if isinstance(remark, NotDelegated):
            outside[_entry(remark, remark.op, remark.reason, remark.hint, remark.backend)] += 1
        elif isinstance(remark, StaysFloat):
            floats[_entry(remark, remark.op, remark.reason)] += 1
        elif isinstance(remark, ComposedOp):
            composed[_entry(remark, remark.op, f"as {remark.form}")] += 1
    arenas = ArenaReport() if program is None else arenas_of(program, remarks)
    outside_of, float_of, composed_of = (tuple(sorted(each.items())) for each in (outside, floats, composed))
    return Report(outside_of, float_of, composed_of, arenas)


def _entry(remark: Diagnostic, op: str, reason: str, hint: str | None = None, backend: str = "") -> Entry:
    found = find_file_location(remark.location)
    return Entry(
        reason,
        hint or "",
        found.filename.data if found else "",
        found.line.data if found else 0,
        format_location(remark.location),
        op,
        backend,
    )
