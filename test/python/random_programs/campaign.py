"""Many programs, a chunk a process, which is forked from one that has compiled before.

Each chunk is a line of a file, written when it is done, so that a campaign goes on where it was interrupted. A program
that takes its process down, or does not end, is a finding like others: its chunk is halved until it is alone.
"""

from __future__ import annotations

import gc
import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from random_programs.compiled import Finding, alone, findings
from random_programs.drawing import drawn
from random_programs.reduce import reduced, reproducer, signature
from xir.workers import Ended
from xir.workers import run as run_tasks

TOGETHER = 12
"""So many programs are compiled as one."""

CHUNK = 4 * TOGETHER

OTHERS = ("zen3", "zen4", "x86", "xir", "portable", "remade")
"""What programs are compiled for besides the default."""

COUNTED = ("not exported", "other in stock")
"""What is counted alone: errors of torch's own, and results of stock's own kernels."""

TIMEOUT = 600.0
"""Seconds that a chunk may take."""


@dataclass
class Told:
    """A finding as a chunk's line tells it."""

    signature: str
    kind: str
    seed: int
    form: str
    detail: str
    reproducer: str


@dataclass
class Result:
    """What came of a chunk."""

    first: int
    programs: int
    seconds: float
    counts: dict[str, int] = field(default_factory=dict[str, int])
    findings: list[Told] = field(default_factory=list[Told])

    def add(self, other: Result) -> None:
        """Take in what came of other seeds of the chunk."""
        self.programs += other.programs
        self.seconds += other.seconds
        self.counts = dict(Counter(self.counts) + Counter(other.counts))
        self.findings += other.findings


@dataclass(frozen=True)
class Part:
    """Some seeds of a chunk, which one process runs: all, or fewer to see which of them takes a process down."""

    first: int
    """Of the chunk, which says what its programs are drawn from."""
    seeds: range

    def halves(self) -> list[Part]:
        """The same seeds in two parts."""
        middle = len(self.seeds) // 2
        return [Part(self.first, self.seeds[:middle]), Part(self.first, self.seeds[middle:])]

    def drawing(self) -> dict[str, bool]:
        """How its programs are drawn."""
        return {"quantized": True} if self.mode() else {"open_sizes": random.Random(self.first).random() < 0.3}

    def mode(self) -> str:
        """How its programs are quantised, if they are."""
        return random.Random(self.first + 1).choice(["", "", "", "static", "dynamic"])

    def seconds(self) -> float:
        """How long it may take."""
        return TIMEOUT * max(len(self.seeds) / CHUNK, 0.1)


def ran(part: Part) -> Result:
    """Draw, compile and run the programs of its seeds; tell what is wrong, each reduced."""
    began = time.monotonic()
    result, counts = Result(part.first, 0, 0.0), Counter[str]()
    for start in range(part.first, part.seeds.stop, TOGETHER):
        seeds = [seed for seed in range(start, start + TOGETHER) if seed in part.seeds]
        programs = [each for seed in seeds if (each := drawn(seed, **part.drawing())).outputs]
        result.programs += len(programs)
        seen = set[int]()
        stock = random.Random(start + 1).random() < 0.3
        for finding in findings(programs, forms_of(part.mode(), start), start, stock=stock):
            counts[finding.kind] += 1
            if finding.kind not in COUNTED and finding.program.seed not in seen:
                seen.add(finding.program.seed)
                result.findings.append(told(finding))
    result.counts = dict(counts)
    result.seconds = time.monotonic() - began
    return result


def forms_of(mode: str, start: int) -> list[str]:
    """What programs that are compiled together are compiled for; `start` is the first one's seed."""
    return [f"{mode} {form}".strip() for form in ("default", random.Random(start).choice(OTHERS))]


def told(finding: Finding) -> Told:
    """A finding, made small where it repeats."""
    seed = finding.program.seed
    found = alone(finding)
    if found is None:
        return Told("does not repeat", finding.kind, seed, finding.form, finding.detail, reproducer(finding))
    small = reduced(found)
    return Told(signature(small), small.kind, seed, small.form, small.detail, reproducer(small))


def work(part: Part, tell: Callable[[dict[str, Any]], None]) -> None:
    """A part in a process of its own, which ends before its garbage matters."""
    gc.disable()
    tell(asdict(ran(part)))


def read(path: Path) -> dict[int, Result]:
    """The chunks of a file by their first seeds; the last line may be cut off."""
    found = dict[int, Result]()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[entry["first"]] = result_of(entry)
    return found


def result_of(entry: dict[str, Any]) -> Result:
    """A result that was written down."""
    entry = {**entry, "findings": [Told(**each) for each in entry["findings"]]}
    return Result(**entry)


def fallen(ended: Ended[Part]) -> Told:
    """What the end of a part's process tells."""
    seeds = ended.task.seeds
    kind = "no end" if ended.is_late else "crash"
    again = f"make random-programs SEED={ended.task.first} COUNT={seeds.stop - ended.task.first}"
    return Told(f"{kind}: {ended.reason}", kind, seeds.start, ended.task.mode(), ended.reason or "", again)


def run(path: Path, seed: int, count: int, jobs: int) -> Iterator[Result]:
    """Run the chunks that are not there yet; yields each when it is done.

    What takes a process down is looked for among its seeds, whose other programs run.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    done = read(path)
    chunks = range(seed, seed + count, CHUNK)
    yield from (done[first] for first in chunks if first in done)
    parts = (Part(first, range(first, min(first + CHUNK, seed + count))) for first in chunks if first not in done)
    waiting = deque(parts)
    left = Counter(part.first for part in waiting)
    """Of each chunk, the parts that have not ended."""
    results, fell = dict[int, Result](), dict[int, Told]()
    with path.open("a", encoding="utf-8") as file:
        for event in run_tasks(waiting, work, jobs, seconds=Part.seconds, preload=["random_programs.warm"]):
            part, first = event.task, event.task.first
            total = results.setdefault(first, Result(first, 0, 0.0))
            if not isinstance(event, Ended):
                total.add(result_of(event.what))
                continue
            left[first] -= 1
            if event.reason is not None and len(part.seeds) > 1:
                waiting.extendleft(part.halves()[::-1])
                left[first] += 2
                fell[first] = fallen(event)
            elif event.reason is not None:
                told = fallen(event)
                total.add(Result(first, 1, part.seconds(), {told.kind: 1}, [told]))
                fell.pop(first, None)
            if not left[first]:
                if first in fell:  # it takes several seeds
                    total.add(Result(first, 0, 0.0, {fell[first].kind: 1}, [fell[first]]))
                file.write(f"{json.dumps(asdict(total))}\n")
                file.flush()
                yield results.pop(first)
