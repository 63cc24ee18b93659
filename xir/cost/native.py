"""Which processor this machine has: what it says of itself, and the generation that this is.

Sources: `arch/x86/kernel/cpu/amd.c` and `arch/x86/include/asm/intel-family.h` of Linux for families and models;
`init_x86_hardware_config` in `src/configs/hardware-config.c` of XNNPACK for what its AVX-512 kernels need.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Family = Literal["any", "x86", "arm"]
"""Processors with the same choice of kernels, as far as passes distinguish them."""

Isa = Literal["", "avx2", "avx512", "neon"]
"""The widest instructions that XNNPACK has fp32 kernels for; an empty text where nobody knows."""

FAMILIES: dict[str, Family] = {"x86_64": "x86", "amd64": "x86", "aarch64": "arm", "arm64": "arm"}
"""What a system calls its machines -> the processors that passes distinguish."""

AVX512 = frozenset(("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"))
AVX2 = frozenset(("avx2", "fma"))

GENERATIONS: dict[str, tuple[str, ...]] = {
    "AuthenticAMD": ("zen1", "zen2", "zen3", "zen4", "zen5"),
    "GenuineIntel": ("haswell", "broadwell", "skylake", "skylake-server", "icelake", "icelake-server", "alderlake",
                     "sapphirerapids", "emeraldrapids", "graniterapids"),
}  # fmt: skip
"""Vendor -> its generations, from old to new."""

MODELS: dict[tuple[str, int], tuple[tuple[range, str], ...]] = {
    ("AuthenticAMD", 0x17): (
        (range(0x30), "zen1"),
        (range(0x50, 0x60), "zen1"),
        (range(0x30, 0x50), "zen2"),
        (range(0x60, 0x80), "zen2"),
        (range(0x90, 0xB0), "zen2"),
    ),
    ("AuthenticAMD", 0x19): (
        (range(0x10), "zen3"),
        (range(0x20, 0x60), "zen3"),
        (range(0x10, 0x20), "zen4"),
        (range(0x60, 0xB0), "zen4"),
    ),
    ("AuthenticAMD", 0x1A): ((range(0x80), "zen5"),),
    ("GenuineIntel", 6): tuple(
        (range(model, model + 1), name)
        for name, models in {
            "haswell": (0x3C, 0x3F, 0x45, 0x46),
            "broadwell": (0x3D, 0x47, 0x4F, 0x56),
            "skylake": (0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6),
            "skylake-server": (0x55,),
            "icelake": (0x7D, 0x7E, 0x8C, 0x8D, 0xA7),
            "icelake-server": (0x6A, 0x6C),
            "alderlake": (0x97, 0x9A, 0xB7, 0xBA, 0xBF, 0xAA, 0xAC),
            "sapphirerapids": (0x8F,),
            "emeraldrapids": (0xCF,),
            "graniterapids": (0xAD, 0xAE),
        }.items()
        for model in models
    ),
}
"""Vendor and family -> models, and the generation that these are."""


@dataclass(frozen=True)
class Machine:
    """A processor, as it describes itself."""

    family: Family
    isa: Isa = ""
    vendor: str = ""
    """As `cpuid` says it: AuthenticAMD, GenuineIntel."""
    model: tuple[int, int] | None = None
    """Family and model of `cpuid`."""

    @property
    def generation(self) -> str:
        """One of `GENERATIONS`; an empty text for one that is not known."""
        if self.model is None:
            return ""
        family, model = self.model
        return next((name for models, name in MODELS.get((self.vendor, family), ()) if model in models), "")

    def __str__(self) -> str:
        if self.generation:
            return f"{self.generation} ({self.isa or 'neither AVX2 nor AVX-512'})"
        if self.model is None:
            return f"a processor of the family '{self.family}'"
        return f"{self.vendor or 'unknown vendor'} family {self.model[0]} model {self.model[1]}"


def this_family(machine: str = "") -> Family:
    """The architecture of the processor that this runs on."""
    return FAMILIES.get((machine or platform.machine()).lower(), "any")


def this_machine(cpuinfo: Path = Path("/proc/cpuinfo"), machine: str = "") -> Machine:
    """The processor that this runs on: what Linux tells in `/proc/cpuinfo`, elsewhere its family alone."""
    text = cpuinfo.read_text(encoding="utf-8", errors="replace") if cpuinfo.exists() else ""
    return machine_of(text, machine or platform.machine())


def machine_of(cpuinfo: str, machine: str) -> Machine:
    """The processor of which Linux says this in `/proc/cpuinfo`, and `uname` that it is such a machine."""
    family = this_family(machine)
    if family == "arm":
        return Machine("arm", "neon")
    fields = first_processor(cpuinfo) if family == "x86" else {}
    if not fields:
        return Machine(family)
    flags = frozenset(fields.get("flags", "").split())
    isa: Isa = "avx512" if flags >= AVX512 | AVX2 else "avx2" if flags >= AVX2 else ""
    numbers = [fields.get(name, "") for name in ("cpu family", "model")]
    model = (int(numbers[0]), int(numbers[1])) if all(number.isdecimal() for number in numbers) else None
    return Machine(family, isa, fields.get("vendor_id", ""), model)


def first_processor(cpuinfo: str) -> dict[str, str]:
    """The fields of the first processor in such a file."""
    pairs = (line.partition(":") for line in cpuinfo.split("\n\n", 1)[0].splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def distance(one: str, other: str) -> int | None:
    """How many generations lie between two of one vendor; None for those of different ones."""
    for names in GENERATIONS.values():
        if one in names and other in names:
            return abs(names.index(one) - names.index(other))
    return None
