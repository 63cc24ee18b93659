"""Runs make targets, all of them even if one fails, and ends with one line for each.

Targets joined by commas run one after the other; each such chain runs beside the others. The exit code is 1 if any
target failed. Each line of the summary quotes the last line that the target printed, which is where test runners put
their counts.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """How one target ended."""

    target: str
    passed: bool
    seconds: float
    last_line: str


def run(target: str) -> Result:
    """Run one target, passing its output on as it comes, each line behind the target's name."""
    start = time.monotonic()
    last_line = ""
    command = ["make", "--no-print-directory", target]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(f"{target:>13} | {line}", end="", flush=True)
            last_line = line.strip() or last_line
    return Result(target, process.returncode == 0, time.monotonic() - start, last_line)


def run_chain(chain: str) -> list[Result]:
    """Run targets joined by commas."""
    return [run(target) for target in chain.split(",")]


def main(chains: list[str]) -> int:
    """Run the chains side by side and print the summary."""
    start = time.monotonic()
    with ThreadPoolExecutor(len(chains)) as pool:
        results = [result for chain in pool.map(run_chain, chains) for result in chain]
    print("\n=== summary")
    for result in results:
        verdict = "pass" if result.passed else "FAIL"
        print(f"{verdict}  {result.target:<13} {result.seconds:6.1f} s  {result.last_line}")
    failed = sum(not result.passed for result in results)
    print(f"{len(results) - failed} of {len(results)} checks passed in {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
