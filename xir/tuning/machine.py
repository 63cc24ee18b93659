"""What machine this is, and which XNNPACK it has."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from xir.cost.native import ARM, ARM_CORES, Machine, first_processor, installed_xnnpack, machine_of
from xir.device.session import Core, CoreFacts, Hello

USUAL_CACHES = (1 << 20, 16 << 20)
"""The caches where the system does not tell."""


@dataclass(frozen=True)
class Measurable:
    """A core that nodes are measured on: what a profile says of it."""

    processor: str
    machine: Machine
    caches: tuple[int, int]
    """The bytes of its own cache and of the last one."""
    xnnpack: str

    def identity(self) -> dict[str, object]:
        """What has to be the same where measurements go on, as JSON has it."""
        return {"processor": self.processor, **asdict(self.machine), "caches": self.caches, "xnnpack": self.xnnpack}


def measurable(hello: Hello, core: CoreFacts, is_here: bool) -> Measurable:
    """What a device is by what it says of itself; `is_here` if it runs this Python's XNNPACK."""
    machine = machine_of(core.cpuinfo, hello.machine)
    xnnpack = installed_xnnpack() if is_here else f"XNNPACK build {hello.xnnpack[:12]}"
    return Measurable(name_of(core.cpuinfo, hello.machine), machine, own_and_last(core.caches), xnnpack)


def name_of(cpuinfo: str, machine: str) -> str:
    """What a processor is called: the name that it gives, or its core's by Arm; else the machine's."""
    fields = first_processor(cpuinfo)
    if machine_of(cpuinfo, machine).family != "arm":
        return fields.get("model name", "") or machine
    if "CPU part" not in fields:  # an emulator shows what its host has
        return machine
    implementer, part = (int(fields.get(name, "0"), 0) for name in ("CPU implementer", "CPU part"))
    known = ARM_CORES.get(part) if implementer == ARM else None
    return known or f"{machine}, implementer {implementer:#x}, part {part:#x}"


def fastest_core(cores: Sequence[Core]) -> int | None:
    """The one to measure on where cores differ; None where they are alike, and the system may choose."""
    speeds = {core.number: (core.capacity, core.frequency) for core in cores}
    return max(speeds, key=speeds.__getitem__) if len(set(speeds.values())) > 1 else None


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
    caches: list[tuple[int, str, int]] = []
    for index in sorted(folder.glob("index*")):
        level, kind, size = ((index / name).read_text(encoding="ascii").strip() for name in ("level", "type", "size"))
        if size.endswith("K"):
            caches.append((int(level), kind, int(size.removesuffix("K")) << 10))
    return own_and_last(caches)


def own_and_last(caches: Iterable[tuple[int, str, int]]) -> tuple[int, int]:
    """The same of caches by level, type and bytes."""
    sizes = {level: size for level, kind, size in caches if kind != "Instruction" and size > 0}
    own = sizes.get(2, USUAL_CACHES[0])
    return own, max(own, sizes[max(sizes)] if sizes else USUAL_CACHES[1])
