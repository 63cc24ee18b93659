"""Which instructions of its processor family a library uses: what XNNPACK's build left out, no option brings back.

XNNPACK asks the processor at run time which of its microkernels to use, among those that it was built with. The
disassembly says which these are: a family of instructions that does not occur has no kernel.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "embedding.md"
LIBRARY = "lib/libexecutorch_backend_xnnpack.so"


@dataclass(frozen=True)
class Family:
    """Instructions that processors have from some generation on, recognised in a line of `objdump -d`."""

    name: str
    use: str
    """What XNNPACK multiplies with them."""
    processors: str
    pattern: str
    """Of mnemonic and operands."""


X86 = (
    Family("AVX2 and FMA", "fp32; fp16 and int8 after widening", "Haswell, Zen", r"vf\w*madd\w*ps\b.*%ymm"),
    Family("F16C", "fp16 to and from fp32", "Ivy Bridge, Zen", r"vcvtph2ps\b"),
    Family("AVX-512", "fp32", "Skylake-X, Zen 4", r"vf\w*madd\w*ps\b.*%zmm"),
    Family("AVX-512 VNNI", "int8, 4 bits", "Cascade Lake, Zen 4", r"vpdpbusd\b.*%zmm"),
    Family("AVX-VNNI", "int8, 4 bits", "Alder Lake, Zen 5", r"(\{vex\} )?vpdpbusd\b.*%ymm"),
    Family("AVX-VNNI-INT8", "int8, both signed", "Sierra Forest", r"(\{vex\} )?vpdpbssd\b"),
    Family("AVX512-FP16", "fp16", "Sapphire Rapids", r"vf\w*madd\w*ph\b"),
    Family("AVX512-BF16", "bf16", "Cooper Lake, Zen 4", r"vdpbf16ps\b"),
    Family("AMX-INT8", "int8 in tiles", "Sapphire Rapids", r"tdpb(ss|su|us|uu)d\b"),
    Family("AMX-BF16", "bf16 in tiles", "Sapphire Rapids", r"tdpbf16ps\b"),
    Family("AMX-FP16", "fp16 in tiles", "Granite Rapids", r"tdpfp16ps\b"),
)

AARCH64 = (
    Family("NEON", "fp32", "all", r"fmla\s+v\d+\.4s"),
    Family("FP16", "fp16", "Armv8.2: Cortex-A55, A75", r"fmla\s+v\d+\.8h"),
    Family("DOTPROD", "int8, 4 bits", "Armv8.2: Cortex-A55, A75", r"[su]dot\s+v\d+\.4s"),
    Family("I8MM", "int8, 4 bits", "Armv8.6: Cortex-A510, X2", r"(smmla|ummla|usmmla)\s+v"),
    Family("BF16", "bf16", "Armv8.6: Cortex-A510, X2", r"(bfmmla|bfdot|bfmlal[bt])\s"),
    Family("SVE", "fp32", "Neoverse V1, Cortex-X2", r"fmla\s+z\d+\.s"),
    Family("SME", "fp32 in tiles", "Armv9.2: Apple M4, C1", r"fmopa\s+za"),
    Family("SME, int8", "int8 in tiles", "Armv9.2: Apple M4, C1", r"[su]mopa\s+za"),
)

FAMILIES = {"x86-64": X86, "aarch64": AARCH64}


def architecture(library: Path) -> str:
    """Of a shared library: `e_machine` of its ELF header.

    Raises:
        ValueError: it is no ELF file of an architecture in FAMILIES.
    """
    header = library.open("rb").read(20)
    machine = int.from_bytes(header[18:20], "little")
    found = {62: "x86-64", 183: "aarch64"}.get(machine) if header[:4] == b"\x7fELF" else None
    if found is None:
        raise ValueError(f"{library}: no library for {' or '.join(FAMILIES)}")
    return found


def disassembly(library: Path) -> Iterator[str]:
    """Mnemonic and operands of each instruction.

    Raises:
        FileNotFoundError: no objdump for the library's architecture.
    """
    names = ("objdump",) if architecture(library) == "x86-64" else ("aarch64-linux-gnu-objdump", "llvm-objdump")
    program = next((path for name in names if (path := shutil.which(name))), None)
    if program is None:
        raise FileNotFoundError(f"{' or '.join(names)} disassembles {library.name} and is not installed")
    command = [program, "-d", "--no-show-raw-insn", str(library)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield line.partition("\t")[2].strip().expandtabs(1)


def counts(instructions: Iterable[str], families: Sequence[Family]) -> dict[str, int]:
    """How many of the instructions are of each family."""
    patterns = [(family.name, re.compile(family.pattern)) for family in families]
    found = {family.name: 0 for family in families}
    for instruction in instructions:
        for name, pattern in patterns:
            found[name] += pattern.match(instruction) is not None
    return found


def table(library: Path) -> str:
    """In Markdown; which families occur, not how often, since builds for several Pythons differ in that."""
    families = FAMILIES[architecture(library)]
    found = counts(disassembly(library), families)
    rows = [
        f"| {family.name} | {family.use} | {family.processors} | {'yes' if found[family.name] else '**no**'} |"
        for family in families
    ]
    head = ["| instructions | products of | since, for example | kernels |", "|---|---|---|---|"]
    return "\n".join(head + rows) + "\n"


def wheel_library() -> Path:
    """XNNPACK's of the installed executorch."""
    spec = find_spec("executorch")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return next(path for root in spec.submodule_search_locations if (path := Path(root) / LIBRARY).exists())


def main() -> int:
    """Print the table of a library, or hold the page against it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="LIBRARY", nargs="?", type=Path, help="default: the installed wheel's")
    parser.add_argument("--check", action="store_true", help=f"fail unless docs/{PAGE.name} has this table")
    arguments = parser.parse_args()
    try:
        text = table(arguments.path or wheel_library())
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if not arguments.check:
        print(text, end="")
        return 0
    if text not in PAGE.read_text(encoding="utf-8"):
        print(f"error: docs/{PAGE.name} has another table than this library:\n{text}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
