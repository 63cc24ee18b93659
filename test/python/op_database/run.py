"""Run the database, an operator in one type a process: one that goes down or hangs is an outcome like others.

Each operator's outcomes are lines of a JSON file, written as they come, so that a run goes on where another ended.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from op_database.outcome import Kind, Outcome, outcomes_of
from op_database.samples import dtype_of, samples
from xir.workers import Told
from xir.workers import run as run_tasks

TIMEOUT = 180.0
"""Seconds that one sample may take."""

SPREAD = 6
"""So many samples of an operator are run in other types than fp32, unless a run says how many."""

TOGETHER = 12
"""So many samples are compiled as one program."""


def chosen(count: int, most: int | None) -> list[int]:
    """Which of an operator's samples to run, spread over them. Twice as many have those of half as many among them."""
    fewer = count if most is None else min(most, count)
    return [index * count // fewer for index in range(fewer)]


@dataclass
class Records:
    """The outcomes of one operator's samples."""

    outcomes: dict[int, Outcome] = field(default_factory=dict[int, Outcome])
    made: int | None = None
    """How many samples there are, known when the last run has begun."""

    def complete(self, most: int | None) -> bool:
        """Whether each of the chosen samples has its outcome."""
        return self.made is not None and self.outcomes.keys() >= set(chosen(self.made, most))


@dataclass(frozen=True, order=True)
class Operator:
    """An operator of the database in one type."""

    name: str
    dtype: str = "fp32"

    def path(self, folder: Path) -> Path:
        """The file of its outcomes."""
        return folder / self.dtype / f"{self.name}.jsonl"


def read(path: Path) -> Records:
    """The outcomes of a file; the last line may be cut off."""
    records = Records()
    if not path.exists():
        return records
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "made" in entry:
            records.made = entry["made"]
        else:
            records.outcomes[entry["index"]] = Outcome(Kind(entry["kind"]), entry["detail"], entry["runs"])
    return records


def line_of(index: int, outcome: Outcome) -> dict[str, object]:
    """An outcome as a line of the file."""
    return {"index": index, "kind": outcome.kind, "detail": outcome.detail, "runs": outcome.runs}


@dataclass(frozen=True)
class Part:
    """The samples of an operator that have no outcome yet, so many of them compiled as one program."""

    operator: Operator
    most: int | None
    folder: Path
    together: int = TOGETHER


def work(part: Part, tell: Callable[[dict[str, object]], None]) -> None:
    """Run the chosen samples of an operator but those that are done, and tell what becomes of them."""
    operator = part.operator
    done = set(read(operator.path(part.folder)).outcomes)
    made = samples(operator.name, operator.dtype)
    tell({"made": len(made)})
    left = [made[index] for index in chosen(len(made), part.most) if index not in done]
    for start in range(0, len(left), part.together):
        now = left[start : start + part.together]
        tell({"begin": now[0].index})
        for sample, outcome in zip(now, outcomes_of(now, dtype_of(operator.dtype)), strict=True):
            tell(line_of(sample.index, outcome))


def run(operators: Sequence[Operator], folder: Path, jobs: int, most: int | None = None) -> Generator[Operator]:
    """Run what is not there yet of these operators' chosen samples; yields each operator when it is complete.

    Samples are run together, and one by one where that ends the process.
    """
    few = {operator: most or (None if operator.dtype == "fp32" else SPREAD) for operator in operators}
    parts = [Part(operator, few[operator], folder) for operator in operators]
    yield from (part.operator for part in parts if is_complete(part))
    waiting = deque(part for part in parts if not is_complete(part))
    at = dict[Operator, int]()
    """The sample that an operator's process has begun with."""
    for event in run_tasks(waiting, work, jobs, seconds=lambda _: TIMEOUT, preload=["op_database.warm"]):
        part = event.task
        if isinstance(event, Told):
            if "begin" in event.what:
                at[part.operator] = event.what["begin"]
            else:
                at.pop(part.operator, None)
                append(part, event.what)
            continue
        begun = at.pop(part.operator, None)
        if begun is not None and part.together == 1:
            append(part, line_of(begun, Outcome(Kind.TIMEOUT if event.is_late else Kind.CRASH, event.reason or "")))
        if is_complete(part):
            yield part.operator
        elif begun is None:
            raise RuntimeError(f"the samples of {part.operator.name} in {part.operator.dtype} cannot be made")
        else:
            waiting.append(replace(part, together=1))


def is_complete(part: Part) -> bool:
    """Whether each of the chosen samples has its outcome."""
    return read(part.operator.path(part.folder)).complete(part.most)


def append(part: Part, line: dict[str, object]) -> None:
    """One line more in an operator's file."""
    path = part.operator.path(part.folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(line)}\n")
