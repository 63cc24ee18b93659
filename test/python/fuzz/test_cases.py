"""Cases that end their process are found among those that are checked at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import pytest
from reference import cases
from reference.cases import Batch, Checked, Failed, Failure, results

from xir.workers import Ended, Told


def check(numbers: range) -> list[Failed]:
    raise AssertionError(numbers)


def ending(fatal: Callable[[range], bool]) -> Callable[..., Iterator[Told[Batch] | Ended[Batch]]]:
    """In place of processes: those of some cases go down."""

    def run(waiting: deque[Batch], *_: object, **__: object) -> Iterator[Told[Batch] | Ended[Batch]]:
        while waiting:
            batch, reason = waiting.popleft(), None
            for numbers in batch.groups:
                yield Told(batch, Checked(numbers, has_ended=False))
                if fatal(numbers):
                    reason = "the process was killed by SIGSEGV"
                    break
                yield Told(batch, Checked(numbers))
            yield Ended(batch, reason, is_late=False, attempts=1)

    return run


@pytest.mark.parametrize(
    ("fatal", "numbers", "text"),
    [
        (lambda numbers: 30 in numbers, [30], "SIGSEGV"),
        (lambda numbers: 30 in numbers or 50 in numbers, [30, 50], "SIGSEGV"),
        (lambda numbers: 24 in numbers or 35 in numbers, [24, 35], "SIGSEGV"),
        (lambda numbers: 1 in numbers and 10 in numbers, [0], "SIGSEGV, of several cases from 0 on"),
    ],
)
def test_a_crash_loses_one_case(
    monkeypatch: pytest.MonkeyPatch, fatal: Callable[[range], bool], numbers: list[int], text: str
) -> None:
    monkeypatch.setattr(cases, "run", ending(fatal))
    found = list(results(check, (range(first, first + 12) for first in range(0, 96, 12)), 2, batch=3))
    assert sorted(number for each in found for number in each.numbers) == list(range(96))
    failed = [each for result in found for each in result.failed]
    assert sorted(each.number for each in failed) == numbers
    assert all(each.text.endswith(text) for each in failed)


def test_a_failure_ends_its_process_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(numbers: range) -> list[Failed]:
        if 3 in numbers:
            raise Failure("no 'sine' of 3")
        return []

    def end(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr("os._exit", end)
    told = list[Checked]()
    with pytest.raises(SystemExit, match=r"^0$"):
        cases.work(Batch(failing, tuple(range(n, n + 1) for n in range(9))), told.append)
    assert [each.numbers.start for each in told if each.has_ended] == [0, 1, 2, 3]
    assert told[-1].failed == [Failed(3, "no _ of _", "no 'sine' of 3")]
