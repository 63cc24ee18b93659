"""The page of a run's outcomes, docs/reference/op_database.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

import torch

from op_database.outcome import ILL_CONDITIONED, MEANING, ROUNDINGS, TOLERANCE, Kind, Outcome
from op_database.run import Records

HEADER = (
    "<!-- Written by `make op-database`, which takes the whole database through the compiler and the runtime. -->\n\n"
)

REASONS = (Kind.EDGE, Kind.REFUSED, Kind.UNCOMPARED, Kind.NOT_EXPORTED)
"""The outcomes whose reasons have a table."""

SHOWN = 8
"""So many operators are named for a reason."""


def page(found: Mapping[str, Records]) -> str:
    """The page of operators' outcomes, by their names."""
    totals = Counter(outcome.kind for records in found.values() for outcome in records.outcomes.values())
    kinds = [kind for kind in Kind if totals[kind]]
    count, version = sum(totals.values()), torch.__version__.split("+")[0]
    of_what = (
        f"PyTorch tests its operators with samples of their arguments (`op_db`). Here are all {count} samples in fp32 "
        f"that torch {version} has for the CPU, of {len(found)} operators, each exported with its tensors as inputs, "
        "imported, partitioned, lowered, written, and run in xir's Python runtime, whose results are compared with "
        "eager's."
    )
    what_is_right = (
        "A result is right if its type and shape are eager's, integers and infinities are the same, and no element is "
        f"further off than {TOLERANCE:g} of the largest magnitude, {ROUNDINGS} times the distance of eager's result "
        "from the one in fp64, or twice what a rounding of the inputs changes of it there, unless that is a jump of "
        f"more than {ILL_CONDITIONED:g} of the largest magnitude."
    )
    meanings = ((f"*{kind}*", str(totals[kind]), MEANING[kind]) for kind in kinds)
    lines = ["# PyTorch's operator database", "", of_what, "", what_is_right, ""]
    lines += table(("outcome", "samples", "is"), meanings)
    for kind in REASONS:
        lines += reasons(kind, found) if totals[kind] else []
    lines += ["## Operators", "", *table(("operator", "samples", *kinds), rows(found, kinds))]
    return HEADER + "\n".join(lines)


def rows(found: Mapping[str, Records], kinds: Iterable[Kind]) -> Iterable[tuple[str, ...]]:
    """An operator, how many samples it has, and how many of them end in each way."""
    for name, records in sorted(found.items()):
        counts = Counter(outcome.kind for outcome in records.outcomes.values())
        yield f"`{name}`", str(counts.total()), *(str(counts[kind] or "") for kind in kinds)


def reasons(kind: Kind, found: Mapping[str, Records]) -> list[str]:
    """The section of an outcome's reasons, the most frequent first."""
    samples, operators = Counter[str](), dict[str, dict[str, None]]()
    for name, records in sorted(found.items()):
        for outcome in records.outcomes.values():
            if outcome.kind is kind:
                reason = general(outcome)
                samples[reason] += 1
                operators.setdefault(reason, {})[f"`{name}`"] = None
    listed = (
        (reason, str(count), some(list(operators[reason]), None if kind is Kind.UNCOMPARED else SHOWN))
        for reason, count in sorted(samples.items(), key=lambda item: (-item[1], item[0]))
    )
    return [f"## {kind[0].upper() + kind[1:]}", "", *table(("reason", "samples", "operators"), listed)]


def general(outcome: Outcome) -> str:
    """An outcome's reason, with … for the names and numbers of one sample."""
    reason = re.sub(r"'[^']*'", "'…'", outcome.detail)
    return re.sub(r"(?<![\w.])-?\d+(\.\d+)?", "…", reason)


def some(names: list[str], limit: int | None) -> str:
    """The first names, and how many there are beyond."""
    more = len(names) - len(names[:limit])
    return ", ".join(names[:limit]) + (f" and {more} more" if more else "")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a markdown table, and an empty one."""
    lines = [[cell.replace("|", "\\|").replace("<", "\\<") for cell in row] for row in (heads, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]
