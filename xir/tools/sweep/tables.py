"""The table of a sweep, as Markdown, JSON and a page."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from xir.files import atomic_file
from xir.tools.sweep.results import Result, worse_lines

VERSION = 1
"""Of the JSON."""

HEADINGS = (
    "model",
    "form",
    "cpu",
    "device",
    "ms",
    "of the first cpu",
    "of the last sweep",
    "dB",
    "MB",
    "delegates",
    "outside",
)


LABELS = 4
"""So many of them say which program a row is of."""


def write_tables(folder: Path, results: Mapping[str, Result], before: Mapping[str, Result]) -> list[Path]:
    """Write table.md, table.json and table.html; OSError if they cannot be."""
    texts = {
        "table.md": markdown(results, before),
        "table.json": as_json(results, before),
        "table.html": page(results, before),
    }
    for name, text in texts.items():
        with atomic_file(folder / name) as file:
            file.write(text.encode("utf-8"))
    return [folder / name for name in texts]


def markdown(results: Mapping[str, Result], before: Mapping[str, Result]) -> str:
    """The table, what failed, and what got worse."""
    rows = [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * LABELS}{'--:|' * (len(HEADINGS) - LABELS)}"]
    rows += [f"| {' | '.join(cells(result, results))} |" for result in results.values()]
    failed = [f"- {each.label}: {each.error}" for each in results.values() if each.error]
    worse = [f"- {line}" for line in worse_lines(results, before)]
    parts = ["\n".join(rows)]
    parts += ["\n".join(["Failed:", "", *failed])] if failed else []
    parts += ["\n".join(["Worse than in the last sweep:", "", *worse])] if worse else []
    return "\n\n".join(parts) + "\n"


def as_json(results: Mapping[str, Result], before: Mapping[str, Result]) -> str:
    """All figures, with what got worse."""
    programs = [json.loads(result.line()) for result in results.values()]
    tree = {"version": VERSION, "programs": programs, "worse": worse_lines(results, before)}
    return json.dumps(tree, indent=1) + "\n"


def cells(result: Result, results: Mapping[str, Result]) -> list[str]:
    """A row; what is unknown is empty."""
    first = _first(result, results)
    of_first = None
    if result.milliseconds is not None and first is not result and first.milliseconds:
        of_first = result.milliseconds / first.milliseconds
    return [
        result.model,
        result.form,
        result.cpu,
        result.device,
        _number(result.milliseconds, ".3g") if not result.error else "failed",
        _number(of_first, ".2f"),
        _number(result.since, ".2f"),
        _number(result.sqnr, ".1f"),
        _number(None if result.file_bytes is None else result.file_bytes / 1e6, ".2f"),
        _number(result.delegates, "d"),
        _number(result.outside, "d"),
    ]


def _first(result: Result, results: Mapping[str, Result]) -> Result:
    """The program of the same model and form for the first processor, on the same device."""
    same = (result.model, result.form, result.device)
    return next(each for each in results.values() if (each.model, each.form, each.device) == same)


def _number(value: float | None, spec: str) -> str:
    if value is None:
        return ""
    return "exact" if value == math.inf else format(value, spec)


STYLE = """
:root { color-scheme: light dark; --bar: #4c78a8; --bad: #d1495b; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th:nth-child(-n+4), td:nth-child(-n+4) { text-align: left; }
td.time { min-width: 12rem; text-align: left; }
.bar { background: var(--bar); border-radius: 2px; display: inline-block; height: .7rem; margin-right: .5rem; }
.bad { color: var(--bad); }
"""


def page(results: Mapping[str, Result], before: Mapping[str, Result]) -> str:
    """A page that needs nothing beside it: bars compare the times of each model."""
    longest = {
        name: max((each.milliseconds or 0.0 for each in results.values() if each.model == name), default=0.0)
        for name in {each.model for each in results.values()}
    }
    head = "".join(f"<th>{html.escape(name)}</th>" for name in HEADINGS)
    body = "\n".join(_row(result, results, longest[result.model]) for result in results.values())
    parts = [f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"]
    parts += _listed("Failed", [f"{each.label}: {each.error}" for each in results.values() if each.error])
    parts += _listed("Worse than in the last sweep", worse_lines(results, before))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>xir-sweep</title>'
        f"<style>{STYLE}</style></head><body>\n<h1>{len(results)} programs</h1>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _row(result: Result, results: Mapping[str, Result], longest: float) -> str:
    """A row of the page."""
    texts = [html.escape(text) for text in cells(result, results)]
    width = 8.0 * (result.milliseconds or 0.0) / longest if longest else 0.0
    bar = f'<span class="bar" style="width: {width:.2f}rem"></span>' if width else ""
    marks = [""] * len(texts)
    marks[LABELS] = ' class="time bad"' if result.error else ' class="time"'
    texts[LABELS] = bar + texts[LABELS]
    return "<tr>" + "".join(f"<td{mark}>{text}</td>" for mark, text in zip(marks, texts, strict=True)) + "</tr>"


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    items = "".join(f'<li class="bad">{html.escape(line)}</li>' for line in lines)
    return [f"<h2>{title}</h2>\n<ul>{items}</ul>"] if lines else []
