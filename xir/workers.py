"""Tasks in processes of their own, several at once: one that goes down or hangs costs itself, not the run."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound=Hashable)
Work = Callable[[T, Callable[[Any], None]], None]
"""Does a task, and tells what becomes of it as it goes. It and its tasks have to be picklable."""


@dataclass(frozen=True)
class Told(Generic[T]):
    """What the work on a task tells."""

    task: T
    what: Any


@dataclass(frozen=True)
class Ended(Generic[T]):
    """The work on a task is over."""

    task: T
    reason: str | None
    """Why its process did not come to an end by itself, as "the process was killed by SIGSEGV"; None if it did."""
    is_late: bool
    """Whether that is because it took too long."""
    attempts: int


@dataclass
class _Job(Generic[T]):
    """A task in its process."""

    task: T
    process: BaseProcess
    pipe: Connection
    since: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, task: T, work: Work[T], context: ForkServerContext) -> _Job[T]:
        """Begin with a task."""
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(work, task, theirs), daemon=True)
        process.start()
        theirs.close()
        return cls(task, process, ours)

    def receive(self) -> Told[T] | None:
        """What was told; None at the end of the process."""
        try:
            told = Told(self.task, self.pipe.recv())
        except (EOFError, OSError):
            return None
        self.since = time.monotonic()
        return told

    def end(self) -> str | None:
        """Wait for the process, whose pipe is closed; why it did not end by itself."""
        self.process.join()
        self.pipe.close()
        code = self.process.exitcode or 0
        if code < 0:
            return f"the process was killed by {signal.Signals(-code).name}"
        return f"the process ended with exit code {code}" if code else None

    def kill(self, reason: str = "") -> str:
        """End the process at once, for this reason."""
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return reason


def run(
    waiting: deque[T],
    work: Work[T],
    jobs: int,
    *,
    seconds: Callable[[T], float],
    attempts: int = 1,
    preload: Sequence[str] = (),
) -> Generator[Told[T] | Ended[T]]:
    """Work on tasks in `jobs` processes at once, in their order, and yield what is told of them as it comes.

    Tasks are hashable. Whoever takes what is yielded may add further ones to those that wait. A process that goes down,
    or tells nothing for the task's `seconds`, costs the task one of its `attempts`. Processes begin as copies of one
    that has imported the modules `preload`. Those that run are ended where the generator is.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*preload])
    tried = Counter[T]()
    running = list[_Job[T]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(_Job.start(waiting.popleft(), work, context))
            ready = wait([job.pipe for job in running], timeout=1.0)
            for job in list(running):
                told = job.receive() if job.pipe in ready else None
                if told is not None:
                    yield told
                    continue
                is_late = job.pipe not in ready
                if is_late and time.monotonic() - job.since <= seconds(job.task):
                    continue
                running.remove(job)
                reason = job.kill(f"it took longer than {seconds(job.task):g} s") if is_late else job.end()
                tried[job.task] += 1
                if reason is not None and tried[job.task] < attempts:
                    waiting.append(job.task)
                else:
                    yield Ended(job.task, reason, is_late, tried[job.task])
    finally:
        for job in running:
            job.kill()


def _work(work: Work[T], task: T, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who waits: it ends the processes
    work(task, pipe.send)
    pipe.close()
