"""Random programs through the compiler and the runtimes: what is wrong, and the smallest program that shows it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported

from reference.cases import show

from random_programs.campaign import COUNTED, run

FILE = Path(__file__).parents[3] / "build/random-programs.jsonl"


def main() -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m random_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first one (%(default)s)")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    parser.add_argument("--file", type=Path, default=FILE, help="of results (%(default)s)")
    options = parser.parse_args()
    began, programs, found = time.monotonic(), 0, Counter[str](dict.fromkeys(COUNTED, 0))
    for result in run(options.file, options.seed, options.count, options.jobs):
        programs += len(result.numbers)
        show(result.failed, found)
        faults = len(found) - len(COUNTED)
        sys.stderr.write(f"{programs} programs, {faults} faults, {time.monotonic() - began:.0f} s\n")
    print(f"{programs} programs from seed {options.seed} on")
    for name, number in found.most_common():
        print(f"{number:6} {name}")
    return int(len(found) > len(COUNTED))


if __name__ == "__main__":
    sys.exit(main())
