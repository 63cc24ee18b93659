"""What machine this is, and which XNNPACK it has."""

from __future__ import annotations

import importlib.metadata
import platform
from pathlib import Path

USUAL_CACHES = (1 << 20, 16 << 20)
"""The caches where the system does not tell."""


def processor_name() -> str:
    """What the system calls its processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def cache_sizes(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> tuple[int, int]:
    """The bytes of the second cache, which is a core's own, and of the last one, as Linux lists them; else usual ones.

    Source: `Documentation/ABI/testing/sysfs-devices-system-cpu` of Linux.
    """
    sizes: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        level, kind, size = ((index / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size"))
        if kind != "Instruction" and size.endswith("K"):
            sizes[int(level)] = int(size.removesuffix("K")) << 10
    own = sizes.get(2, USUAL_CACHES[0])
    return own, max(own, sizes[max(sizes)] if sizes else USUAL_CACHES[1])


def xnnpack_name() -> str:
    """The package with XNNPACK, and its version."""
    return f"executorch {importlib.metadata.version('executorch')}"
