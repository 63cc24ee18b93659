"""Python's cycle collector and the IR, which is one large cycle."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Generator[None]:
    """Keep the collector from walking the IR again and again while much of it is built and little of it is garbage.

    What a pass erases waits for the next collection after it.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
