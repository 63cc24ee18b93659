"""Programs by their seeds, a dozen compiled as one: what is wrong with them, each fault made small.

A program that takes its process down, or does not end, is a finding like others: its dozen is checked one by one.
"""

from __future__ import annotations

import gc
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from reference.cases import Checked, Failed, results

from random_programs.compiled import Finding, alone, findings
from random_programs.drawing import drawn
from random_programs.program import Program
from random_programs.reduce import reduced, reproducer, signature

TOGETHER = 12
"""So many programs are compiled as one."""

BATCH = 4
"""So many dozens are of one process, which ends before its garbage matters, and are drawn alike."""

OTHERS = ("zen3", "zen4", "x86", "xir", "portable", "remade")
"""What programs are compiled for besides the default."""

COUNTED = ("not exported", "other in stock")
"""What is counted alone: errors of torch's own, and results of stock's own kernels."""


@dataclass(frozen=True)
class Way:
    """How the program of a seed is drawn and compiled."""

    seed: int

    @property
    def mode(self) -> str:
        """How it is quantised, if it is."""
        return self._random(BATCH, 1).choice(["", "", "", "static", "dynamic"])

    @property
    def forms(self) -> list[str]:
        """What it is compiled for."""
        return [f"{self.mode} {form}".strip() for form in ("default", self._random(1).choice(OTHERS))]

    @property
    def stock(self) -> bool:
        """Whether it runs in stock ExecuTorch as well."""
        return self._random(1, 1).random() < 0.3

    def program(self) -> Program:
        """The program."""
        if self.mode:
            return drawn(self.seed, quantized=True)
        return drawn(self.seed, open_sizes=self._random(BATCH).random() < 0.3)

    def _random(self, dozens: int, more: int = 0) -> random.Random:
        """What all seeds of some dozens have in common."""
        return random.Random(self.seed - self.seed % (dozens * TOGETHER) + more)


def groups(seed: int, count: int) -> Iterator[range]:
    """Seeds, by what is compiled together."""
    start = seed
    while start < seed + count:
        end = min(start - start % TOGETHER + TOGETHER, seed + count)
        yield range(start, end)
        start = end


def check(seeds: range) -> list[Failed]:
    """Draw, compile and run the programs of seeds that are alike; tell what is wrong."""
    gc.disable()
    way, found = Way(seeds.start), dict[tuple[int, bool], Failed]()
    programs = [each for seed in seeds if (each := Way(seed).program()).outputs]
    for finding in findings(programs, way.forms, seeds.start, stock=way.stock):
        seed, is_counted = key = finding.program.seed, finding.kind in COUNTED
        if key not in found:
            found[key] = Failed(seed, finding.kind, "") if is_counted else told(finding)
    return [*found.values()]


def told(finding: Finding) -> Failed:
    """A finding, made small where it repeats."""
    small = alone(finding)
    if small is None:
        return Failed(finding.program.seed, "does not repeat", reproducer(finding))
    small = reduced(small)
    return Failed(finding.program.seed, signature(small), reproducer(small))


def run(path: Path, seed: int, count: int, jobs: int) -> Iterator[Checked]:
    """What becomes of the programs, of those first that a file says it of already; the last line may be cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    asked, done = range(seed, seed + count), set[int]()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            (start, stop), failed = json.loads(line)
        except json.JSONDecodeError:
            continue
        if start in asked:
            done.update(range(start, stop))
            yield Checked(range(start, stop), [Failed(**each) for each in failed])
    left = (group for group in groups(seed, count) if not done.issuperset(group))
    with path.open("a", encoding="utf-8") as file:
        for result in results(check, left, jobs, batch=BATCH, seconds=600.0, preload=["random_programs.warm"]):
            numbers = result.numbers.start, result.numbers.stop
            file.write(f"{json.dumps([numbers, [asdict(each) for each in result.failed]])}\n")
            file.flush()
            yield result
