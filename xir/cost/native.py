"""Which processor this machine has: what it says of itself, and the generation that this is; and which XNNPACK.

Sources: `arch/x86/kernel/cpu/amd.c`, `arch/x86/include/asm/intel-family.h` and `arch/arm64/include/asm/cputype.h` of
Linux for families, models and parts; `init_x86_hardware_config` in `src/configs/hardware-config.c` of XNNPACK for what
its AVX-512 kernels need.
"""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from collections.abc import Iterator
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
    "Arm, small": ("cortex-a35", "cortex-a53", "cortex-a55", "cortex-a510", "cortex-a520"),
    "Arm": ("cortex-a57", "cortex-a72", "cortex-a73", "cortex-a75", "cortex-a76",
            "neoverse-n1", "cortex-a77", "cortex-a78",
            "cortex-a710", "neoverse-n2", "cortex-a715", "cortex-a720"),
    "Arm, large": ("cortex-x1", "neoverse-v1", "cortex-x2", "cortex-x3", "neoverse-v2", "cortex-x4"),
    "Apple": ("apple-m1", "apple-m2", "apple-m3", "apple-m4"),
}  # fmt: skip
"""A vendor's line of processors -> its generations, from old to new. Of Arm's, which phones mix, slower ones first."""

ARM = 0x41
"""Its number as a maker, in `MIDR_EL1`."""

ARM_CORES = {
    0xD03: "Cortex-A53", 0xD04: "Cortex-A35", 0xD05: "Cortex-A55", 0xD07: "Cortex-A57", 0xD08: "Cortex-A72",
    0xD09: "Cortex-A73", 0xD0A: "Cortex-A75", 0xD0B: "Cortex-A76", 0xD0C: "Neoverse N1", 0xD0D: "Cortex-A77",
    0xD40: "Neoverse V1", 0xD41: "Cortex-A78", 0xD44: "Cortex-X1", 0xD46: "Cortex-A510", 0xD47: "Cortex-A710",
    0xD48: "Cortex-X2", 0xD49: "Neoverse N2", 0xD4D: "Cortex-A715", 0xD4E: "Cortex-X3", 0xD4F: "Neoverse V2",
    0xD80: "Cortex-A520", 0xD81: "Cortex-A720", 0xD82: "Cortex-X4",
}  # fmt: skip
"""The parts of its cores, and what these are called."""

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
    ("Arm", ARM): tuple(
        (range(part, part + 1), name.lower().replace(" ", "-")) for part, name in ARM_CORES.items()
    ),
    ("Arm", 0x51): (
        # Qualcomm's names for the same cores, of which it changed little.
        (range(0x802, 0x803), "cortex-a75"), (range(0x803, 0x804), "cortex-a55"),
        (range(0x804, 0x805), "cortex-a76"), (range(0x805, 0x806), "cortex-a55"),
    ),
    ("Arm", 0x61): ((range(0x22, 0x2A), "apple-m1"), (range(0x32, 0x3A), "apple-m2")),
}  # fmt: skip
"""Vendor and family -> models, and the generation that these are; of Arm's, the maker -> parts, as `MIDR_EL1` says."""

APPLE_NAMES = {f"Apple M{number}": f"apple-m{number}" for number in range(1, 5)}
"""How macOS calls a processor -> its generation, beside `Pro`, `Max` and `Ultra`."""


@dataclass(frozen=True)
class Machine:
    """A processor, as it describes itself."""

    family: Family
    isa: Isa = ""
    vendor: str = ""
    """As `cpuid` says it: AuthenticAMD, GenuineIntel; Arm for all of that architecture."""
    model: tuple[int, int] | None = None
    """Family and model of `cpuid`; who made an Arm processor, and which part it is."""
    brand: str = ""
    """As macOS says it."""

    @property
    def generation(self) -> str:
        """One of `GENERATIONS`; an empty text for one that is not known."""
        if self.model is None:
            return next((each for name, each in APPLE_NAMES.items() if self.brand.split(" ")[:2] == name.split()), "")
        family, model = self.model
        return next((name for models, name in MODELS.get((self.vendor, family), ()) if model in models), "")

    def __str__(self) -> str:
        if self.generation:
            return f"{self.generation} ({self.isa or 'neither AVX2 nor AVX-512'})"
        if self.model is None:
            return self.brand or f"a processor of the family '{self.family}'"
        if self.family == "arm":
            return f"an Arm processor of maker {self.model[0]:#x}, part {self.model[1]:#x}"
        return f"{self.vendor or 'unknown vendor'} family {self.model[0]} model {self.model[1]}"


def this_family(machine: str = "") -> Family:
    """The architecture of the processor that this runs on."""
    return FAMILIES.get((machine or platform.machine()).lower(), "any")


def this_machine(cpuinfo: Path = Path("/proc/cpuinfo"), machine: str = "") -> Machine:
    """The processor that this runs on: what Linux tells in `/proc/cpuinfo` or macOS of its brand, elsewhere its family
    alone."""
    if cpuinfo.exists():
        return machine_of(cpuinfo.read_text(encoding="utf-8", errors="replace"), machine or platform.machine())
    return machine_of("", machine or platform.machine(), _brand() if platform.system() == "Darwin" else "")


def _brand() -> str:
    """What macOS calls the processor; an empty text if it does not say."""
    asked = ("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string")
    try:
        return subprocess.run(asked, capture_output=True, text=True, timeout=10, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def machine_of(cpuinfo: str, machine: str, brand: str = "") -> Machine:
    """The processor of which Linux says this in `/proc/cpuinfo`, and `uname` that it is such a machine; or macOS that
    it is of this brand.

    Of an Arm machine with cores of several kinds it is the largest kind, which programs that take their time run on.
    """
    family = this_family(machine)
    if family == "arm":
        kinds = [Machine("arm", "neon", "Arm", part) for part in dict.fromkeys(_parts(cpuinfo))]
        return max(kinds, key=_size, default=Machine("arm", "neon", brand=brand))
    fields = first_processor(cpuinfo) if family == "x86" else {}
    if not fields:
        return Machine(family)
    flags = frozenset(fields.get("flags", "").split())
    isa: Isa = "avx512" if flags >= AVX512 | AVX2 else "avx2" if flags >= AVX2 else ""
    numbers = [fields.get(name, "") for name in ("cpu family", "model")]
    model = (int(numbers[0]), int(numbers[1])) if all(number.isdecimal() for number in numbers) else None
    return Machine(family, isa, fields.get("vendor_id", ""), model)


def _parts(cpuinfo: str) -> Iterator[tuple[int, int]]:
    """Maker and part of each core that tells them."""
    for block in cpuinfo.split("\n\n"):
        fields = first_processor(block)
        numbers = [fields.get(name, "") for name in ("CPU implementer", "CPU part")]
        try:
            maker, part = (int(number, 16) for number in numbers)
        except ValueError:
            continue
        yield maker, part


def _size(machine: Machine) -> tuple[int, int]:
    """How large a core is beside others of its machine: its line, and its generation of that; -1 for unknown ones."""
    for line, names in enumerate(GENERATIONS.values()):
        if machine.generation in names:
            return line, names.index(machine.generation)
    return -1, 0


def installed_xnnpack() -> str:
    """The installed package with XNNPACK, and its version; an empty text where there is none."""
    try:
        return f"executorch {importlib.metadata.version('executorch')}"
    except importlib.metadata.PackageNotFoundError:
        return ""


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
