"""What the bench is doing, a line a step on standard error."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def step(what: str) -> Generator[None]:
    """Say what is being done, and behind it how many seconds it took."""
    print(f"{what} … ", end="", file=sys.stderr, flush=True)
    start = time.perf_counter()
    yield
    print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
