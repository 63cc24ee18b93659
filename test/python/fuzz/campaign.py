"""Runs lit files with mistakes in them through `xir-opt` (`make fuzz-text`), each case in a process that it may end."""

from __future__ import annotations

import argparse
import multiprocessing
import re
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count

from fuzz.mutated_text import Failure, check, draw

BATCH = 50


def main() -> int:
    """Run cases for the time asked for, and print each kind of failure once; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=int, default=300, help="seconds (default: 300)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--seed", type=int, help="number of the first case (default: another each time)")
    parser.add_argument("--show", type=int, metavar="CASE", help="print a case, run it, and end")
    options = parser.parse_args()
    if options.show is not None:
        return _show(options.show)
    first = secrets.randbelow(1 << 40) if options.seed is None else options.seed
    end = time.monotonic() + options.time
    cases = outputs = 0
    found: Counter[str] = Counter()
    for done, with_output, failures in _batches(first, end, options.jobs):
        cases, outputs = cases + done, outputs + with_output
        for case, failure in failures:
            kind = re.sub(r"'[^']*'|-?\d+", "_", failure)
            if kind not in found:
                sys.stdout.write(f"case {case}: {failure}\n")
            found[kind] += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{cases} cases, {outputs} with output, {len(found)} kinds of failures")
    sys.stdout.write(f"\n{cases} cases from {first} on: {outputs} ended in output, {sum(found.values())} failed\n")
    return int(bool(found))


Batch = tuple[int, int, list[tuple[int, str]]]


def _batches(first: int, end: float, jobs: int) -> Iterator[Batch]:
    """Batches of cases, each done by a process that goes on with the next one, or has a successor should it die."""
    context = multiprocessing.get_context("spawn")
    starts = count(first, BATCH)
    while time.monotonic() < end:
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            now: list[int] = []
            try:
                while time.monotonic() < end:
                    now = [next(starts) for _ in range(jobs)]
                    yield from pool.map(_run, now)
            except BrokenProcessPool:
                last = now[-1] + BATCH - 1
                yield 0, 0, [(now[0], f"a case from {now[0]} to {last} ended its process")]


def _run(start: int) -> Batch:
    outputs = 0
    failures: list[tuple[int, str]] = []
    for case in range(start, start + BATCH):
        try:
            outputs += check(draw(case))
        except Failure as failure:
            failures.append((case, str(failure)))
    return BATCH, outputs, failures


def _show(number: int) -> int:
    case = draw(number)
    sys.stdout.write(f"// {case.path}: xir-opt {' '.join(case.flags)}\n{case.text}\n")
    sys.stdout.flush()
    sys.stdout.write("ended in output\n" if check(case) else "ended in a diagnostic\n")
    return 0
