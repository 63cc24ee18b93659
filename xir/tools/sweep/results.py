"""What a sweep finds of each program, kept as it comes, and what got worse since another sweep."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLOWER, LARGER, NOISIER = 1.05, 1.01, 1.0
"""What counts as worse: times and bytes by more than these factors, outputs by more than so many dB."""


@dataclass(frozen=True)
class Result:
    """What became of one program: an error, or all that is measured of its file."""

    key: str
    model: str
    form: str
    cpu: str
    device: str
    error: str | None = None
    compile_seconds: float | None = None
    file_bytes: int | None = None
    delegates: int | None = None
    outside: int | None = None
    """Kernel calls outside delegates, by kernel."""
    sqnr: float | None = None
    """dB between its outputs on the device and those of the model in PyTorch, before quantisation; infinite where these
    are equal."""
    milliseconds: float | None = None
    """The median of its runs on the device, on one thread."""
    since: float | None = None
    """Its time in times of the file of the sweep before, both run in turn; None if there is none."""

    @property
    def label(self) -> str:
        """What messages call it."""
        return ", ".join([self.model, self.form, self.cpu, *([] if self.device == "local" else [self.device])])

    def line(self) -> str:
        """As a line of JSON, which has no infinity: "inf"."""
        tree = dataclasses.asdict(self)
        return json.dumps({name: str(value) if value == math.inf else value for name, value in tree.items()})

    @classmethod
    def of_line(cls, line: str) -> Result:
        """Read a line. ValueError for what is none."""
        tree: Any = json.loads(line)
        known = {each.name for each in dataclasses.fields(cls)}
        if not isinstance(tree, dict) or not known.issuperset(tree):
            raise ValueError("not a result")
        values: dict[str, Any] = {name: math.inf if value == "inf" else value for name, value in tree.items()}
        return cls(**values)

    def worse(self, before: Result) -> list[str]:
        """What is worse than it was, each in a few words."""
        if self.error is not None:
            return [] if before.error is not None else [f"fails: {self.error}"]
        found: list[str] = []
        if self.since is not None and self.since > SLOWER:
            found.append(f"takes {self.since:.2f} times as long")
        if self.sqnr is not None and before.sqnr is not None and self.sqnr < before.sqnr - NOISIER:
            found.append(f"{self.sqnr:.1f} dB instead of {before.sqnr:.1f}")
        if self.file_bytes and before.file_bytes and self.file_bytes > LARGER * before.file_bytes:
            found.append(f"{self.file_bytes / before.file_bytes:.2f} times the bytes")
        for name, plural in (("delegates", "delegates"), ("outside", "kernels outside")):
            now, then = getattr(self, name), getattr(before, name)
            if now is not None and then is not None and now > then:
                found.append(f"{now} {plural} instead of {then}")
        return found


class Run:
    """The folder of a sweep: its results line by line, its files, and those of the sweep before."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.files = folder / "files"
        self._lines = folder / "results.jsonl"
        self._before = folder / "before"

    def results(self) -> dict[str, Result]:
        """What there is, by key. The last line may be cut off; a key's last line counts."""
        return _read(self._lines)

    def before(self) -> dict[str, Result]:
        """The results of the sweep before."""
        return _read(self._before / self._lines.name)

    def file(self, key: str, *, before: bool = False) -> Path:
        """Where a program's file is, or that of the sweep before."""
        return (self._before / self.files.name if before else self.files) / f"{key}.pte"

    def add(self, result: Result) -> None:
        """Keep a result. OSError if it cannot be written."""
        with self._lines.open("a", encoding="utf-8") as file:
            file.write(f"{result.line()}\n")

    def begin(self) -> None:
        """Make the folders. OSError if they cannot be."""
        self.files.mkdir(parents=True, exist_ok=True)
        if self._lines.exists() and not self._lines.read_bytes().endswith(b"\n"):
            with self._lines.open("a", encoding="utf-8") as file:
                file.write("\n")

    def set_aside(self) -> None:
        """What there is becomes the sweep before."""
        if not self._lines.exists():
            return
        shutil.rmtree(self._before, ignore_errors=True)
        self._before.mkdir(parents=True)
        for path in (self._lines, self.files):
            if path.exists():
                path.replace(self._before / path.name)


def _read(path: Path) -> dict[str, Result]:
    return {result.key: result for result in _lines(path)}


def _lines(path: Path) -> Iterator[Result]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            yield Result.of_line(line)
        except (ValueError, TypeError):
            continue


def worse_lines(results: Mapping[str, Result], before: Mapping[str, Result]) -> list[str]:
    """A line for each program that is worse than it was."""
    return [
        f"{result.label}: {', '.join(found)}"
        for key, result in results.items()
        if key in before and (found := result.worse(before[key]))
    ]
