"""Random programs through the compiler and the runtimes: what is wrong, and the smallest program that shows it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported

from random_programs.campaign import run
from random_programs.histogram import histogram

ROOT = Path(__file__).parents[3]


def main() -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m random_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first one (%(default)s)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    parser.add_argument(
        "--file", type=Path, default=ROOT / "build/random-programs.jsonl", help="of results (%(default)s)"
    )
    parser.add_argument("--histogram", action="store_true", help="only say what is drawn: how many programs have what")
    options = parser.parse_args()
    if options.histogram:
        for name, number in sorted(histogram(options.seed, options.count).items()):
            print(f"{number:6} {name}")
        return 0
    began, programs, faults = time.monotonic(), 0, Counter[str]()
    totals = Counter[str]()
    for result in run(options.file, options.seed, options.count, options.jobs):
        programs += result.programs
        totals.update(result.counts)
        for each in result.findings:
            faults[each.signature] += 1
            if faults[each.signature] == 1:
                print(f"{each.signature}\n{each.reproducer}\n", flush=True)
        print(
            f"seeds {result.first}…: {programs} programs, {len(faults)} faults, {time.monotonic() - began:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    print(f"{programs} programs from seed {options.seed} on: {dict(totals)}")
    for name, number in faults.most_common():
        print(f"{number:6} {name}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
