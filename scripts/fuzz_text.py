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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "python"))

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
    for count, with_output, failures in _batches(first, end, options.jobs):
        cases, outputs = cases + count, outputs + with_output
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
    context = multiprocessing.get_context("spawn")
    next_case = first
    while time.monotonic() < end:
        starts = list(range(next_case, next_case + BATCH * jobs * 8, BATCH))
        next_case = starts[-1] + BATCH
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            futures = [pool.submit(_run, start, BATCH) for start in starts]
            for start, future in zip(starts, futures, strict=True):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield 0, 0, [(start, f"a case from {start} to {start + BATCH - 1} ended the process")]


def _run(start: int, count: int) -> Batch:
    from fuzz.mutated_text import Failure, check, draw

    outputs = 0
    failures: list[tuple[int, str]] = []
    for case in range(start, start + count):
        try:
            outputs += check(draw(case))
        except Failure as failure:
            failures.append((case, str(failure)))
    return count, outputs, failures


def _show(number: int) -> int:
    from fuzz.mutated_text import check, draw

    case = draw(number)
    sys.stdout.write(f"// {case.path}: xir-opt {' '.join(case.flags)}\n{case.text}\n")
    sys.stdout.flush()
    sys.stdout.write("ended in output\n" if check(case) else "ended in a diagnostic\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
