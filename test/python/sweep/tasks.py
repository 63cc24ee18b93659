"""Work that processes of `test_workers.py` do; they import it by its name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Counting:
    """Tells numbers up to `count`; what happens then, in the first `bad` processes that work on it."""

    name: str
    count: int
    then: str = ""
    bad: int = 0
    folder: Path = Path()


def work(task: Counting, tell: Callable[[Any], None]) -> None:
    """Count."""
    tries = task.folder / task.name
    before = len(tries.read_text()) if tries.exists() else 0
    tries.write_text("x" * (before + 1))
    for number in range(task.count):
        tell(number)
    if before >= task.bad:
        return
    if task.then == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if task.then == "exit":
        os._exit(3)
    if task.then == "hang":
        time.sleep(600)
