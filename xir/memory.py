"""The memory of this process."""

from __future__ import annotations

import ctypes
import sys


def return_freed_memory() -> None:
    """Have the C library return to the system what is freed.

    glibc keeps up to 64 MB of it once a block of 32 MB was freed (`M_TRIM_THRESHOLD` in `mallopt(3)`); other libraries
    are left to themselves.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
