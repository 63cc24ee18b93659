"""This process's memory, by the system's account (proc(5))."""

from __future__ import annotations

import re
from pathlib import Path


def status(name: str) -> int:
    """Bytes, from a line of /proc/self/status."""
    found = re.search(rf"^{name}:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def forget_peak() -> None:
    """Let the peak, VmHWM, be what is resident now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
