"""Cases that follow from their numbers, checked in processes that they may end: what campaigns have in common.

`results` gives what becomes of cases, `main` is a fuzzer's command: it checks cases for a time.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Protocol

from xir.workers import Ended, run


class Failure(Exception):
    """What a case shows to be wrong."""


@dataclass(frozen=True)
class Failed:
    """What is wrong with a case."""

    number: int
    kind: str
    """What it has in common with others, of which one is shown."""
    text: str

    @classmethod
    def of(cls, number: int, text: str) -> Failed:
        """A kind is a text without names and numbers."""
        return cls(number, re.sub(r"'[^']*'|-?\d+", "_", text), text)


class Check(Hashable, Protocol):
    """Checks cases, several at once where that is quicker. A Failure is of the first."""

    def __call__(self, numbers: range) -> Sequence[Failed]: ...


@dataclass(frozen=True)
class Batch:
    """Groups of cases, for one process. Those of a group are checked at once."""

    check: Check
    groups: tuple[range, ...]
    reason: str = ""
    """How the process ended that checked these at once; each is a group now."""


@dataclass(frozen=True)
class Checked:
    """What became of a group."""

    numbers: range
    failed: Sequence[Failed] = ()
    has_ended: bool = True
    processor_seconds: float = 0.0


def work(batch: Batch, tell: Callable[[Checked], None]) -> None:
    """Check groups up to the first with a failure, which may have harmed the process."""
    for numbers in batch.groups:
        begun = time.process_time()
        tell(Checked(numbers, has_ended=False))
        try:
            failed = batch.check(numbers)
        except Failure as failure:
            failed = [Failed.of(numbers.start, str(failure))]
        tell(Checked(numbers, failed, processor_seconds=time.process_time() - begun))
        if failed:
            os._exit(0)  # a thread may wait for ever


def results(
    check: Check, groups: Iterable[range], jobs: int, *, batch: int, seconds: float = 60.0, preload: Sequence[str] = ()
) -> Iterator[Checked]:
    """What becomes of groups of cases, so many in a process.

    A group that takes its process down, or longer than `seconds` on a machine with other things to do, is checked again
    one by one, if it has several.
    """
    left, at = iter(groups), dict[Batch, Checked]()

    def following() -> list[Batch]:
        taken = tuple(islice(left, batch))
        return [Batch(check, taken)] if taken else []

    waiting = deque(each for _ in range(jobs) for each in following())
    for event in run(waiting, work, jobs, seconds=lambda _: seconds, preload=preload):
        task = event.task
        if not isinstance(event, Ended):
            at[task] = event.what
            if event.what.has_ended:
                yield event.what
            continue
        last = at.pop(task, Checked(task.groups[0], has_ended=False))
        rest = task.groups[task.groups.index(last.numbers) + 1 :]
        again = replace(task, groups=rest)
        if not last.has_ended:
            again = replace(again, reason="")
            if len(last.numbers) > 1:
                apart = tuple(range(number, number + 1) for number in last.numbers)
                waiting.appendleft(Batch(check, apart, event.reason or "its process ended"))
            else:
                yield Checked(last.numbers, [Failed.of(last.numbers.start, event.reason or "its process ended")])
        elif not rest and task.reason:
            first = task.groups[0].start
            yield Checked(range(first, first), [Failed.of(first, f"{task.reason}, of several cases from {first} on")])
        waiting.extend([again] if rest else following())


def main(
    description: str | None,
    check_of: Callable[[argparse.Namespace], Check],
    options: Sequence[tuple[str, str, str]] = (),
) -> int:
    """Check cases for the time asked for, and print each kind of failure once; 1 if there is one. `options` are further
    ones: flag, what it takes, help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--time", type=int, default=300, help="seconds (default: 300)")
    parser.add_argument("--processor-time", type=float, default=float("inf"), metavar="S",
                        help="seconds of the processor, if they end first")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--seed", type=int, help="number of the first case (default: another each time)")
    parser.add_argument("--stop", action="store_true", help="end with the first failure")
    parser.add_argument("--show", type=int, metavar="CASE", help="run a case in this process, and end")
    for flag, metavar, text in options:
        parser.add_argument(flag, metavar=metavar, help=text)
    asked = parser.parse_args()
    check = check_of(asked)
    if asked.show is not None:
        check(range(asked.show, asked.show + 1))
        print("nothing is wrong")
        return 0
    first = secrets.randbelow(1 << 40) if asked.seed is None else asked.seed
    end, spent, cases, found = time.monotonic() + asked.time, 0.0, 0, Counter[str]()
    singles = (range(number, number + 1) for number in count(first))
    for result in results(check, singles, asked.jobs, batch=2000):
        cases, spent = cases + len(result.numbers), spent + result.processor_seconds
        show(result.failed, found)
        if time.monotonic() > end or spent > asked.processor_time or (found and asked.stop):
            break
    print(f"{cases} cases from {first} on: {found.total()} failed")
    return int(bool(found))


def show(failed: Iterable[Failed], found: Counter[str]) -> None:
    """Print what is the first of its kind, and count."""
    for each in failed:
        if each.kind not in found:
            print(f"case {each.number}: {each.text}", flush=True)
        found[each.kind] += 1
