"""A limit of time for a step that may never end."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class OutOfTimeError(BaseException):
    """A step has taken longer than it may. No `Exception`, since a pass that tries things catches these."""


@contextmanager
def time_limit(seconds: float | None) -> Generator[None]:
    """OutOfTimeError in what runs for longer than so many seconds of wall time; None is no limit.

    It takes the process's alarm (`setitimer`), so only the main thread can have a limit, and one at a time.
    """
    if seconds is None:
        yield
        return

    def out_of_time(number: int, frame: FrameType | None) -> NoReturn:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, out_of_time)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
