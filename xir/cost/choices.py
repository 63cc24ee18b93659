"""Choices that were measured in programs: which form of a convolution was the fastest, where a profile could not tell.

They are a text file, in TOML, of one processor and one build of XNNPACK:

    version = 3
    processor = "AMD EPYC"
    xnnpack = "executorch 1.5.1"
    threads = [1]

    [[convolution]]
    image = [1, 56, 56, 64]
    filter = [64, 3, 3, 64]
    padding = [1, 1, 1, 1]
    stride = [1, 1]
    dilation = [1, 1]
    bounded = true
    form = [4, 4]
    by_gemm = false
    ratio = 0.91

`ratio` is what the program took with this form, of what it took with the form that the profile predicts: the geometric
mean over the numbers of threads that it ran on.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

VERSION = 3
"""Of the format: raised when a key changes its meaning, goes away or is added."""

READ_VERSIONS = (2, VERSION)
"""Those that are read. Files of version 2 are of one thread, and do not say so."""

SIZES = {"image": 4, "filter": 4, "padding": 4, "stride": 2, "dilation": 2}
"""The keys that say which convolution it is, in the order of `ConvolutionLayer`, and how many numbers each one has."""


@dataclass(frozen=True)
class ConvolutionLayer:
    """A convolution: what its forms' times depend on."""

    image: tuple[int, ...]
    """[N, H, W, C]."""
    filter: tuple[int, ...]
    """[outputs, H, W, C]."""
    padding: tuple[int, ...]
    """Top, right, bottom, left."""
    stride: tuple[int, ...]
    """Along the height and the width, as the next one."""
    dilation: tuple[int, ...]
    bounded: bool
    """Whether its result is clamped."""

    def __str__(self) -> str:
        return f"{'x'.join(map(str, self.image))} by {'x'.join(map(str, self.filter))}"


@dataclass(frozen=True)
class MeasuredChoice:
    """What was measured to be the fastest."""

    form: tuple[int, int]
    """Outputs computed together, along the height and the width; 1, 1 is the direct form."""
    by_gemm: bool
    """Whether its products are plain ones."""
    ratio: float


@dataclass(frozen=True)
class Choices:
    """What was measured on one machine."""

    processor: str
    xnnpack: str
    threads: tuple[int, ...] = (1,)
    """The numbers of threads that it was measured on."""
    layers: Mapping[ConvolutionLayer, MeasuredChoice] = field(default_factory=dict[ConvolutionLayer, MeasuredChoice])

    def text(self) -> str:
        """The file."""
        lines = [
            "# Forms of convolutions that were measured in programs; `xir-aot --tune` wrote it.",
            f"version = {VERSION}",
            f'processor = "{self.processor}"',
            f'xnnpack = "{self.xnnpack}"',
            f"threads = {list(self.threads)}",
        ]
        for layer, choice in self.layers.items():
            lines += ["", "[[convolution]]"]
            lines += [f"{name} = {list(getattr(layer, name))}" for name in SIZES]
            lines += [f"bounded = {_flag(layer.bounded)}", f"form = {list(choice.form)}"]
            lines += [f"by_gemm = {_flag(choice.by_gemm)}", f"ratio = {choice.ratio:.4g}"]
        return "\n".join(lines) + "\n"


def load_choices(path: Path) -> Choices:
    """The file of that name. ValueError for what is none, OSError for what cannot be read."""
    try:
        return parse_choices(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text") from error


def parse_choices(text: str, name: str) -> Choices:
    """The choices that a text says. ValueError says what is wrong in the file `name`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{name} is no file of choices: {error}") from error
    if document.get("version") not in READ_VERSIONS:
        raise ValueError(f"{name} has version {document.get('version')!r}, this is version {VERSION}: tune anew")
    if unknown := sorted(document.keys() - {"version", "processor", "xnnpack", "threads", "convolution"}):
        raise ValueError(f"{name}: there is no key '{unknown[0]}'")
    processor, library = (_text(document.get(key), f"{name}: {key}") for key in ("processor", "xnnpack"))
    threads = _threads(document.get("threads", [1]), f"{name}: threads")
    rows = document.get("convolution", [])
    if not isinstance(rows, list):
        raise ValueError(f"{name}: convolution must be a list of tables")
    layers = dict(_row(row, f"{name}: convolution {index}") for index, row in enumerate(rows))
    return Choices(processor, library, threads, layers)


def _flag(value: bool) -> str:
    return str(value).lower()


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.isprintable() or '"' in value or "\\" in value:
        raise ValueError(f"{where} must be a text, it is {value!r}")
    return value


def _threads(value: object, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not value or not all(type(each) is int and each > 0 for each in value):
        raise ValueError(f"{where} must be a list of numbers from 1 on, it is {value!r}")
    return tuple(value)


def _row(row: Any, where: str) -> tuple[ConvolutionLayer, MeasuredChoice]:
    if not isinstance(row, dict) or row.keys() != {*SIZES, "bounded", "form", "by_gemm", "ratio"}:
        raise ValueError(f"{where} needs {', '.join(SIZES)}, bounded, form, by_gemm and ratio, and nothing else")
    image, filter, padding, stride, dilation = (
        _sizes(row[key], count, f"{where}: {key}") for key, count in SIZES.items()
    )
    height, width = _sizes(row["form"], 2, f"{where}: form")
    for key in ("bounded", "by_gemm"):
        if not isinstance(row[key], bool):
            raise ValueError(f"{where}: {key} must be true or false, it is {row[key]!r}")
    ratio = row["ratio"]
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 < ratio < 10:
        raise ValueError(f"{where}: ratio must be a number above 0, it is {ratio!r}")
    layer = ConvolutionLayer(image, filter, padding, stride, dilation, row["bounded"])
    return layer, MeasuredChoice((height, width), row["by_gemm"], float(ratio))


def _sizes(value: Any, count: int, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) != count or not all(type(each) is int and each >= 0 for each in value):
        raise ValueError(f"{where} must be {count} sizes, it is {value!r}")
    return tuple(value)
