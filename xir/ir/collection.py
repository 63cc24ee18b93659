"""Python's cycle collector and the IR, which is one large cycle."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Generator[None]:
    """Keep the collector from walking the IR again and again while much of it is built and little of it is garbage.

    What is erased meanwhile waits for the next collection. A pause for all passes spares one after each of them, which
    took a fifth of the time of a program of 8,000 nodes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
