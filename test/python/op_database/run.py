"""Run the database, an operator a process: a sample that takes its process down or hangs is an outcome like others.

Each operator's outcomes are lines of a JSON file, written as they come, so that a run goes on where another ended.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TextIO

from op_database.outcome import Kind, Outcome, outcome_of
from op_database.samples import samples

TIMEOUT = 180.0
"""Seconds that one sample may take."""

ALL = 2**31
"""More samples than any operator has."""


@dataclass
class Records:
    """The outcomes of one operator's samples."""

    outcomes: dict[int, Outcome] = field(default_factory=dict[int, Outcome])
    total: int | None = None
    """How many samples there are, known after the first run."""

    def complete(self, first: int) -> bool:
        """Whether each of the first samples has its outcome, so many as there are."""
        return self.total is not None and all(index in self.outcomes for index in range(min(first, self.total)))


def path_of(folder: Path, name: str) -> Path:
    """The file of an operator's outcomes."""
    return folder / f"{name}.jsonl"


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
        if "total" in entry:
            records.total = entry["total"]
        else:
            records.outcomes[entry["index"]] = Outcome(Kind(entry["kind"]), entry["detail"])
    return records


def write(path: Path, records: Records) -> None:
    """Replace an operator's file."""
    lines = [{"total": records.total}] if records.total is not None else []
    lines += [line_of(index, outcome) for index, outcome in sorted(records.outcomes.items())]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def line_of(index: int, outcome: Outcome) -> dict[str, object]:
    """An outcome as a line of the file."""
    return {"index": index, "kind": outcome.kind, "detail": outcome.detail}


def work(name: str, first: int, done: set[int], pipe: Connection) -> None:
    """Run the first samples of an operator but those that are done, and send what becomes of them."""
    found = samples(name)
    pipe.send({"total": len(found)})
    for sample in found[:first]:
        if sample.index in done:
            continue
        pipe.send({"begin": sample.index})
        pipe.send(line_of(sample.index, outcome_of(name, sample)))


@dataclass
class Job:
    """An operator in its process."""

    name: str
    process: BaseProcess
    pipe: Connection
    file: TextIO
    current: int | None = None
    since: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, name: str, first: int, folder: Path, context: ForkServerContext) -> Job:
        """Go on with an operator."""
        path = path_of(folder, name)
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(name, first, set(read(path).outcomes), theirs), daemon=True)
        process.start()
        theirs.close()
        return cls(name, process, ours, path.open("a", encoding="utf-8"))

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
        """The process has ended or must; the sample that it was at gets this outcome."""
        self.process.kill()
        self.process.join()
        if self.current is not None:
            self.put(line_of(self.current, Outcome(kind, detail)))
        self.file.close()
        self.pipe.close()


def run(names: list[str], folder: Path, jobs: int, *, first: int = ALL, timeout: float = TIMEOUT) -> Generator[str]:
    """Run what is not there yet of these operators' first samples; yields each name when it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["op_database.warm"])
    pending, running = list(reversed(names)), list[Job]()
    while pending or running:
        while pending and len(running) < jobs:
            name = pending.pop()
            if read(path_of(folder, name)).complete(first):
                yield name
            else:
                running.append(Job.start(name, first, folder, context))
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
            if read(path_of(folder, job.name)).complete(first):
                yield job.name
            elif job.current is None:
                raise RuntimeError(f"the samples of {job.name} cannot be made")
            else:
                pending.append(job.name)
