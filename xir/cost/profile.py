"""Profiles: for each kernel of XNNPACK's, how long a node takes by what it multiplies and moves.

A node takes `work * multiply-adds + traffic * bytes + weights * bytes of weights + call` nanoseconds, of one kernel and
on one thread. The figures are fitted to measurements of one processor (`xir-tune`). They are a text file, in TOML:

    version = 1
    processor = "AMD EPYC, Zen 4"
    family = "x86"
    xnnpack = "executorch 1.5.1"

    [gemm]
    work = 0.02
    traffic = 0.01
    weights = 0.05
    call = 500.0
    rows = 7
    columns = 32
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Literal, cast, get_args

VERSION = 1
"""Of the format: raised when a key changes its meaning or goes away."""

Kernel = Literal["gemm", "igemm", "dwconv", "elementwise", "copy"]
"""Products of matrices, convolutions of more than one tap, depthwise ones, arithmetic by element, and moves."""

KERNELS: tuple[Kernel, ...] = get_args(Kernel)

Family = Literal["any", "x86", "arm"]
"""Processors with the same choice of kernels, as far as passes distinguish them."""

SHIPPED = Path(__file__).parent / "profiles"


@dataclass(frozen=True)
class KernelCost:
    """What nodes of one kernel take, in nanoseconds."""

    work: float
    """A multiply-add."""
    traffic: float
    """A byte that is read or written; it is often in a cache, where the node before has left it."""
    weights: float
    """A byte of weights, which are read from further away: a network has more of them than a core's cache holds."""
    call: float
    """A node, whatever its size."""
    rows: int = 1
    """Rows of the left matrix that the kernel computes at once; a product has a multiple of them."""
    columns: int = 1
    """Columns of the right matrix, likewise."""

    def nanoseconds(self, work: float, traffic: float, weights: float = 0) -> float:
        """What a node takes."""
        return self.work * work + self.traffic * traffic + self.weights * weights + self.call

    def padded(self, rows: int, columns: int) -> int:
        """The elements of a product of `rows` by `columns` that the kernel computes, with those it throws away."""
        return -(-rows // self.rows) * self.rows * -(-columns // self.columns) * self.columns


@dataclass(frozen=True)
class CostProfile:
    """The kernels of one processor."""

    processor: str
    family: Family
    xnnpack: str
    """The package with the library that was measured, and its version."""
    kernels: Mapping[Kernel, KernelCost]

    def text(self) -> str:
        """The file."""
        lines = [
            "# What XNNPACK's nodes take on one thread: work in ns for each multiply-add, traffic and weights in",
            "# ns for each byte, call in ns for each node; `xir-tune` measured it.",
            f"version = {VERSION}",
            *(f'{name} = "{getattr(self, name)}"' for name in ("processor", "family", "xnnpack")),
        ]
        for name, cost in self.kernels.items():
            lines += ["", f"[{name}]"]
            lines += [f"{field.name} = {_number(getattr(cost, field.name))}" for field in fields(cost)]
        return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """Four digits are more than a measurement has."""
    return str(value) if isinstance(value, int) else repr(float(f"{value:.4g}"))


def shipped() -> list[str]:
    """The names of the profiles that come with xir."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


@cache
def load_profile(name: str) -> CostProfile:
    """The profile of that name, or the file. ValueError for what is none, OSError for what cannot be read."""
    path = SHIPPED / f"{name}.toml" if name in shipped() else Path(name)
    if path.suffix != ".toml":
        raise ValueError(f"there is no profile '{name}': it is a .toml file, or one of {', '.join(shipped())}")
    return parse_profile(path.read_text(encoding="utf-8"), str(path))


def parse_profile(text: str, name: str) -> CostProfile:
    """The profile that a text is. ValueError says what is wrong in the file `name`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is no profile: {error}") from error
    if document.get("version") != VERSION:
        raise ValueError(
            f"{name} has version {document.get('version')!r}, this is version {VERSION}: run xir-tune anew"
        )
    texts = {key: document.get(key) for key in ("processor", "family", "xnnpack")}
    for key, value in texts.items():
        if not isinstance(value, str) or not value.isprintable() or '"' in value or "\\" in value:
            raise ValueError(f"{name}: {key} must be a text, it is {value!r}")
    if texts["family"] not in get_args(Family):
        raise ValueError(f"{name}: family must be one of {', '.join(get_args(Family))}, it is {texts['family']!r}")
    if unknown := sorted(document.keys() - {"version", *texts, *KERNELS}):
        raise ValueError(f"{name}: '{unknown[0]}' is none of the kernels {', '.join(KERNELS)}")
    kernels: dict[Kernel, KernelCost] = {
        kernel: _kernel_cost(document.get(kernel), f"{name}: [{kernel}]") for kernel in KERNELS
    }
    family = cast(Family, texts["family"])
    return CostProfile(str(texts["processor"]), family, str(texts["xnnpack"]), kernels)


def _kernel_cost(table: object, where: str) -> KernelCost:
    if not isinstance(table, dict):
        raise ValueError(f"{where} is missing")
    values = cast("dict[str, object]", table)
    known = {field.name: field.type for field in fields(KernelCost)}
    if unknown := sorted(values.keys() - known.keys()):
        raise ValueError(f"{where} has no '{unknown[0]}'")
    if missing := [name for name in ("work", "traffic", "weights", "call") if name not in values]:
        raise ValueError(f"{where} lacks '{missing[0]}'")
    for key, value in values.items():
        whole = known[key] == "int"
        is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(cast(float, value)) or cast(float, value) < whole:
            wanted = "a whole number from 1 on" if whole else "a number, 0 or more"
            raise ValueError(f"{where}: {key} must be {wanted}, it is {value!r}")
    return KernelCost(**cast("dict[str, float]", values))  # pyright: ignore[reportArgumentType]
