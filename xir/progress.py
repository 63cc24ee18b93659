"""Progress of long steps, on a terminal only."""

import sys
import threading
import time
from collections.abc import Generator, Iterable, Sized
from contextlib import contextmanager
from typing import TextIO, TypeVar

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds that a step may take before it is mentioned."""


@contextmanager
def step(what: str, stream: TextIO | None = None) -> Generator[None]:
    """Show `what` and the seconds gone while the block runs, if it takes longer than `PATIENCE`; then wipe the line.

    Nothing is written where `stream` (standard error) is no terminal.
    """
    stream = sys.stderr if stream is None else stream
    if stream is None or not stream.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_tick, args=(what, stream, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def counted(what: str, items: Iterable[T], stream: TextIO | None = None) -> Generator[T]:
    """The items, and while they are taken a line that counts them, shown as `step` shows its own.

    It has the total where `items` knows its length.
    """
    stream = sys.stderr if stream is None else stream
    if stream is None or not stream.isatty():
        yield from items
        return
    total = f" of {len(items)}" if isinstance(items, Sized) else ""
    start, shown = time.monotonic(), False
    try:
        for index, item in enumerate(items):
            if time.monotonic() - start >= PATIENCE:
                stream.write(f"\r{what}: {index}{total} … {time.monotonic() - start:.0f} s")
                stream.flush()
                shown = True
            yield item
    finally:
        if shown:
            stream.write("\r\033[K")
            stream.flush()


def _tick(what: str, stream: TextIO, done: threading.Event) -> None:
    start = time.monotonic()
    shown = False
    while not done.wait(PATIENCE):
        stream.write(f"\r{what} … {time.monotonic() - start:.0f} s")
        stream.flush()
        shown = True
    if shown:
        stream.write("\r\033[K")
        stream.flush()
