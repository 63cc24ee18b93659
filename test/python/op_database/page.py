"""The page of a run's outcomes, docs/reference/op_database.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import torch
from reference.roundings import ROUNDINGS

from op_database.exceptions import LISTED_HERE
from op_database.outcome import Kind, Outcome
from op_database.run import Operator, Records

HEADER = (
    "<!-- Written by `make op-database`, which takes the whole database through the compiler and the runtime. -->\n\n"
)

REASONS = (Kind.EDGE, Kind.NOT_FINITE, Kind.OPEN, Kind.REFUSED, Kind.UNCOMPARED, Kind.NOT_EXPORTED)
"""The outcomes whose reasons have a table."""

SHOWN = 8
"""So many operators are named for a reason."""


RIGHT = (Kind.DELEGATE, Kind.KERNELS, Kind.TORCH)


def page(found: Mapping[Operator, Records]) -> str:
    """The page of operators' outcomes."""
    outcomes = [(operator, each) for operator, records in found.items() for each in records.outcomes.values()]
    totals = Counter(outcome.kind for _, outcome in outcomes)
    by_type = Counter((outcome.kind, operator.dtype) for operator, outcome in outcomes)
    kinds, types = [kind for kind in Kind if totals[kind]], list(dict.fromkeys(operator.dtype for operator in found))
    version, runs = torch.__version__.split("+")[0], sum(outcome.runs for _, outcome in outcomes)
    made = sum(records.made or 0 for records in found.values())
    of_what = (
        f"PyTorch tests its operators with samples of their arguments (`op_db`). Here are {len(outcomes)} of the "
        f"{made} that torch {version} has in {len(types)} types for the CPU, "
        f"of {len({operator.name for operator in found})} operators, spread over the samples of each. They are "
        "exported with their tensors as inputs, up to twelve of an operator as one program, imported, partitioned, "
        "lowered, written, and run in xir's Python runtime. A compiled sample runs on its own inputs, on "
        "these scaled to a largest magnitude of 1e-3, 1, 30 and nine tenths of the type's largest number, and with ±0, "
        f"±∞, NaN and denormal numbers for a third of the elements, where eager does: {runs} comparisons."
    )
    what_is_right = (
        "A result is right if its type and shape are eager's, integers and numbers that are not finite are the same, "
        "and each element is as near to fp64's result on the same operands as roundings are: at most "
        f"{ROUNDINGS:g} times as far as the largest of eager's own distance, one rounding of the result, and what one "
        "rounding of the inputs changes. Integers that such a rounding changes may be either. Processors may take "
        "denormal numbers for 0."
    )
    meanings = ((f"*{kind}*", *(str(by_type[kind, dtype] or "") for dtype in types), kind.meaning) for kind in kinds)
    samples = ("samples", *(str(sum(by_type[kind, dtype] for kind in kinds)) for dtype in types), "")
    lines = ["# PyTorch's operator database", "", of_what, "", what_is_right, ""]
    lines += table(("outcome", *types, "is"), [*meanings, samples])
    lines += exceptions(found)
    for kind in REASONS:
        lines += reasons(kind, found) if totals[kind] else []
    in_fp32 = [(operator, records) for operator, records in sorted(found.items()) if operator.dtype == "fp32"]
    heads = ("operator", "samples", *kinds)
    lines += ["## Operators in fp32", "", *table(heads, rows(in_fp32, kinds))]
    others = [dtype for dtype in types if dtype != "fp32"]
    if others:
        said = "How many samples are right, and of how many where that is not all."
        lines += ["## Operators in other types", "", said, "", *table(("operator", *others), other_rows(found, others))]
    return HEADER + "\n".join(lines)


def exceptions(found: Mapping[Operator, Records]) -> list[str]:
    """The section of the differences that are listed, and how many samples have each."""
    counts = Counter(
        outcome.detail
        for records in found.values()
        for outcome in records.outcomes.values()
        if outcome.kind is Kind.LISTED
    )
    heads = ("difference", "samples", "operators", "types", "inputs", "off by", "reason")
    entries = (
        (
            entry.name,
            str(counts[entry.name]),
            ", ".join(f"`{name}`" for name in entry.operators),
            ", ".join(entry.types),
            entry.way,
            "other infinities and NaN alone" if entry.most is None else f"at most {entry.most:g} times the number",
            entry.reason,
        )
        for entry in LISTED_HERE
    )
    return ["## Listed", "", *table(heads, entries)]


def rows(found: Iterable[tuple[Operator, Records]], kinds: Iterable[Kind]) -> Iterable[tuple[str, ...]]:
    """An operator, how many samples it has, and how many of them end in each way."""
    for operator, records in found:
        counts = Counter(outcome.kind for outcome in records.outcomes.values())
        yield f"`{operator.name}`", str(counts.total()), *(str(counts[kind] or "") for kind in kinds)


def other_rows(found: Mapping[Operator, Records], types: Sequence[str]) -> Iterable[tuple[str, ...]]:
    """An operator, and how many of its samples are right in each type."""
    for name in sorted({operator.name for operator in found if operator.dtype in types}):
        cells = list[str]()
        for dtype in types:
            records = found.get(Operator(name, dtype), Records())
            right, total = sum(each.kind in RIGHT for each in records.outcomes.values()), len(records.outcomes)
            cells.append("" if not total else str(total) if right == total else f"{right} of {total}")
        yield f"`{name}`", *cells


def reasons(kind: Kind, found: Mapping[Operator, Records]) -> list[str]:
    """The section of an outcome's reasons, the most frequent first."""
    samples, operators = Counter[str](), dict[str, dict[str, None]]()
    for operator, records in sorted(found.items()):
        for outcome in records.outcomes.values():
            if outcome.kind is kind:
                reason = general(outcome)
                samples[reason] += 1
                operators.setdefault(reason, {})[f"`{operator.name}`"] = None
    listed = (
        (reason, str(count), some(list(operators[reason]), None if kind is Kind.UNCOMPARED else SHOWN))
        for reason, count in sorted(samples.items(), key=lambda item: (-item[1], item[0]))
    )
    return [f"## {kind[0].upper() + kind[1:]}", "", *table(("reason", "samples", "operators"), listed)]


def general(outcome: Outcome) -> str:
    """An outcome's reason, with … for the names and numbers of one sample."""
    reason = re.sub(r"'[^']*'", "'…'", outcome.detail)
    return re.sub(r"(?<![\w.])(-?\d+(\.\d+)?(e[+-]?\d+)?|-?inf|nan)\b", "…", reason)


def some(names: list[str], limit: int | None) -> str:
    """The first names, and how many there are beyond."""
    more = len(names) - len(names[:limit])
    return ", ".join(names[:limit]) + (f" and {more} more" if more else "")


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """The lines of a markdown table, and an empty one."""
    lines = [[cell.replace("|", "\\|").replace("<", "\\<") for cell in row] for row in (heads, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return [*("| " + " | ".join(line) + " |" for line in lines), ""]
