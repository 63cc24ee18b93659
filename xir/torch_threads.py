"""How many threads PyTorch computes on."""

from collections.abc import Generator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Generator[None]:
    """Let torch compute on this thread alone, so that sums are added up in one order on every machine. Threads that
    wait for the next of many small ops would take most of the processor besides.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
