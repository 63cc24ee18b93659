"""Many programs, a chunk a process, which is forked from one that has compiled before.

Each chunk is a line of a file, written when it is done, so that a campaign goes on where it was interrupted. A chunk
that takes its process down, or does not end, is a finding like others.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from random_programs.compiled import Finding, alone, findings
from random_programs.drawing import drawn
from random_programs.reduce import reduced, reproducer, signature

TOGETHER = 12
"""So many programs are compiled as one."""

CHUNK = 4 * TOGETHER

OTHERS = ("zen3", "zen4", "x86", "xir", "portable")
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


def chunk(first: int, count: int = CHUNK) -> Result:
    """Draw, compile and run the programs of `count` seeds; tell what is wrong, each reduced."""
    began = time.monotonic()
    choice = random.Random(first)
    open_sizes, mode = choice.random() < 0.3, choice.choice(["", "", "", "static", "dynamic"])
    drawing = {"quantised": True} if mode else {"open_sizes": open_sizes}
    result, counts = Result(first, 0, 0.0), Counter[str]()
    for start in range(first, first + count, TOGETHER):
        seeds = range(start, min(start + TOGETHER, first + count))
        programs = [each for seed in seeds if (each := drawn(seed, **drawing)).outputs]
        forms = [f"{mode} {form}".strip() for form in ("default", choice.choice(OTHERS))]
        result.programs += len(programs)
        seen = set[int]()
        for finding in findings(programs, forms, start, stock=choice.random() < 0.3):
            counts[finding.kind] += 1
            if finding.kind not in COUNTED and finding.program.seed not in seen:
                seen.add(finding.program.seed)
                result.findings.append(told(finding))
    result.counts = dict(counts)
    result.seconds = time.monotonic() - began
    return result


def told(finding: Finding) -> Told:
    """A finding, made small where it repeats."""
    seed = finding.program.seed
    found = alone(finding)
    if found is None:
        return Told("does not repeat", finding.kind, seed, finding.form, finding.detail, reproducer(finding))
    small = reduced(found)
    return Told(signature(small), small.kind, seed, small.form, small.detail, reproducer(small))


def work(first: int, count: int, pipe: Connection) -> None:
    """A chunk in a process of its own, which ends before its garbage matters."""
    gc.disable()
    pipe.send(asdict(chunk(first, count)))


def read(path: Path) -> dict[int, Result]:
    """The chunks of a file by their first seeds; the last line may be cut off."""
    found = dict[int, Result]()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        entry["findings"] = [Told(**each) for each in entry["findings"]]
        found[entry["first"]] = Result(**entry)
    return found


def run(path: Path, seed: int, count: int, jobs: int) -> Iterator[Result]:
    """Run the chunks that are not there yet; yields each when it is done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = read(path)
    wanted = [first for first in range(seed, seed + count, CHUNK) if first not in done]
    yield from (done[first] for first in range(seed, seed + count, CHUNK) if first in done)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["random_programs.warm"])
    running = dict[Connection, tuple[int, BaseProcess, float]]()
    wanted.reverse()
    with path.open("a", encoding="utf-8") as file:
        while wanted or running:
            while wanted and len(running) < jobs:
                first = wanted.pop()
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(
                    target=work, args=(first, min(CHUNK, seed + count - first), theirs), daemon=True
                )
                process.start()
                theirs.close()
                running[ours] = first, process, time.monotonic()
            ready = wait(list(running), timeout=1.0)
            for pipe, (first, process, since) in list(running.items()):
                late = time.monotonic() - since > TIMEOUT
                if pipe not in ready and not late:
                    continue
                result = ended(pipe, first, process, late=late and pipe not in ready)
                del running[pipe]
                file.write(f"{json.dumps(asdict(result))}\n")
                file.flush()
                yield result


def ended(pipe: Connection, first: int, process: BaseProcess, *, late: bool) -> Result:
    """A process's result, or what its end tells."""
    try:
        if late:
            raise EOFError
        entry = pipe.recv()
        entry["findings"] = [Told(**each) for each in entry["findings"]]
        result = Result(**entry)
    except EOFError:
        if late:
            process.kill()
        process.join()
        kind = "no end" if late else "crash"
        detail = f"more than {TIMEOUT:.0f} s" if late else f"exit code {process.exitcode}"
        result = Result(
            first,
            CHUNK,
            TIMEOUT,
            {kind: 1},
            [Told(kind, kind, first, "", detail, f"make random-programs SEED={first} COUNT={CHUNK}")],
        )
    process.join()
    pipe.close()
    return result
