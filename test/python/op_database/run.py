"""Run the database, an operator in one type a process: one that goes down or hangs is an outcome like others.

Each operator's outcomes are lines of a JSON file, written as they come, so that a run goes on where another ended.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TextIO

from op_database.outcome import Kind, Outcome, outcomes_of
from op_database.samples import dtype_of, samples

TIMEOUT = 180.0
"""Seconds that one sample may take."""

ALL = 2**31
"""More samples than any operator has."""

SPREAD = 6
"""So many samples of an operator are run in other types than fp32, unless a run says how many."""

TOGETHER = 12
"""So many samples are compiled as one program."""


@dataclass(frozen=True)
class Choice:
    """Which samples of an operator to run: of its first ones so many, spread over them."""

    first: int = ALL
    most: int = ALL

    @classmethod
    def usual(cls, dtype: str) -> Choice:
        """All in fp32, and some in other types."""
        return cls(most=ALL if dtype == "fp32" else SPREAD)

    def of(self, count: int) -> list[int]:
        """The places among `count` first samples. Twice as many have those of half as many among them."""
        most = min(self.most, count)
        return [index * count // most for index in range(most)]


@dataclass
class Records:
    """The outcomes of one operator's samples."""

    outcomes: dict[int, Outcome] = field(default_factory=dict[int, Outcome])
    made: int | None = None
    """How many samples the last run made, known when it has begun."""
    first: int = 0
    """How many it asked for."""

    def complete(self, choice: Choice) -> bool:
        """Whether each of the chosen samples has its outcome."""
        known = self.made is not None and (self.first >= choice.first or self.made < self.first)
        return known and self.outcomes.keys() >= set(choice.of(min(self.made or 0, choice.first)))


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
            records.made, records.first = entry["made"], entry["first"]
        else:
            records.outcomes[entry["index"]] = Outcome(Kind(entry["kind"]), entry["detail"], entry["runs"])
    return records


def write(path: Path, records: Records) -> None:
    """Replace an operator's file."""
    lines: list[dict[str, object]] = (
        [{"made": records.made, "first": records.first}] if records.made is not None else []
    )
    lines += [line_of(index, outcome) for index, outcome in sorted(records.outcomes.items())]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def line_of(index: int, outcome: Outcome) -> dict[str, object]:
    """An outcome as a line of the file."""
    return {"index": index, "kind": outcome.kind, "detail": outcome.detail, "runs": outcome.runs}


def work(operator: Operator, choice: Choice, done: set[int], together: int, pipe: Connection) -> None:
    """Run the chosen samples of an operator but those that are done, and send what becomes of them."""
    made = samples(operator.name, operator.dtype, choice.first)
    pipe.send({"made": len(made), "first": choice.first})
    left = [made[index] for index in choice.of(len(made)) if index not in done]
    for start in range(0, len(left), together):
        now = left[start : start + together]
        pipe.send({"begin": now[0].index})
        for sample, outcome in zip(now, outcomes_of(now, dtype_of(operator.dtype)), strict=True):
            pipe.send(line_of(sample.index, outcome))


@dataclass
class Job:
    """An operator in its process."""

    operator: Operator
    together: int
    process: BaseProcess
    pipe: Connection
    file: TextIO
    current: int | None = None
    since: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, operator: Operator, choice: Choice, together: int, folder: Path, context: ForkServerContext) -> Job:
        """Go on with an operator."""
        path = operator.path(folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        ours, theirs = context.Pipe(duplex=False)
        arguments = (operator, choice, set(read(path).outcomes), together, theirs)
        process = context.Process(target=work, args=arguments, daemon=True)
        process.start()
        theirs.close()
        return cls(operator, together, process, ours, path.open("a", encoding="utf-8"))

    def receive(self) -> bool:
        """Write down one message; False at the end of the process."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            return False
        self.since = time.monotonic()
        if "begin" in message:
            self.current = message["begin"]
            return True
        self.current = None
        self.put(message)
        return True

    def put(self, message: dict[str, object]) -> None:
        """One line of the file."""
        self.file.write(f"{json.dumps(message)}\n")
        self.file.flush()

    def end(self, kind: Kind, detail: str) -> None:
        """The process has ended or must; the sample that it was at, if it was one, gets this outcome."""
        self.process.kill()
        self.process.join()
        if self.current is not None and self.together == 1:
            self.put(line_of(self.current, Outcome(kind, detail)))
        self.file.close()
        self.pipe.close()


def run(
    operators: Sequence[Operator], folder: Path, jobs: int, *, choice: Choice | None = None, timeout: float = TIMEOUT
) -> Generator[Operator]:
    """Run what is not there yet of these operators' chosen samples; yields each operator when it is complete.

    Samples are run together, and one by one where that ends the process.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["op_database.warm"])
    pending = [(operator, TOGETHER) for operator in reversed(operators)]
    running = list[Job]()
    while pending or running:
        while pending and len(running) < jobs:
            operator, together = pending.pop()
            chosen = choice or Choice.usual(operator.dtype)
            if read(operator.path(folder)).complete(chosen):
                yield operator
            else:
                running.append(Job.start(operator, chosen, together, folder, context))
        ready = wait([job.pipe for job in running], timeout=1.0)
        for job in list(running):
            alive = job.pipe not in ready or job.receive()
            if alive and time.monotonic() - job.since <= timeout:
                continue
            if alive:
                job.end(Kind.TIMEOUT, f"more than {timeout:.0f} s")
            else:
                job.process.join()
                job.end(Kind.CRASH, f"exit code {job.process.exitcode}")
            running.remove(job)
            if read(job.operator.path(folder)).complete(choice or Choice.usual(job.operator.dtype)):
                yield job.operator
            elif job.current is None:
                raise RuntimeError(f"the samples of {job.operator.name} in {job.operator.dtype} cannot be made")
            else:
                pending.append((job.operator, 1))
