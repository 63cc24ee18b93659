"""xir's runtime on another processor: the native runner, as a command, behind the interface of `xir.runtime`.

Tests of numbers are written against `Runtime.get()`. With pytest's `--on COMMAND` they get this instead, and compare
what another processor computes by the same bounds: an emulated one, or a device that COMMAND copies files to. Each
result is also held against this processor's: `summary` says how far apart they are.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from xir.runtime import Method, MethodMetadata, Program, Runtime, XirRuntimeError

HOST = Runtime()
"""Reads a program's metadata; it loads on the host as well."""

SHOWN = 20
"""Tests in the summary."""

BITS = {torch.bfloat16: torch.int16}


@dataclass(frozen=True)
class Difference:
    """How far a result is from what this processor computes."""

    test: str
    exact: bool
    """Bit for bit the same."""
    relative: float
    """The largest difference of two elements, of the result's largest magnitude."""


def difference(there: torch.Tensor, here: torch.Tensor) -> Difference:
    """Compare a result; elements that are not finite on both are left to the test."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
    pair = [each.to(torch.complex128 if each.is_complex() else torch.float64) for each in (there, here)]
    exact = torch.equal(*(each.nan_to_num(nan=12345.0) for each in pair))
    finite = pair[0].isfinite() & pair[1].isfinite()
    a, b = (each[finite] for each in pair)
    largest = b.abs().max().item() if b.numel() else 0.0
    apart = (a - b).abs().max().item() if b.numel() else 0.0
    return Difference(test, exact, apart / largest if largest else apart)


@dataclass(frozen=True)
class MethodElsewhere:
    """A method of a program, loaded anew for each execution."""

    command: Sequence[str]
    file: bytes
    threads: int | None
    host: Method
    differences: list[Difference]

    @property
    def metadata(self) -> MethodMetadata:
        """What the host's runtime says of it."""
        return self.host.metadata

    def execute(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs, as `xir.runtime.Method.execute` gives them."""
        with TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "model.pte").write_bytes(self.file)
            paths = [self.write(value, folder / f"input_{i}.npy") for i, value in enumerate(inputs)]
            arguments = ["--model_path", folder / "model.pte", "--method", self.metadata.name, "--output-dir", folder]
            arguments += ["--warmup", "0", "--iterations", "1", "--threads", str(self.threads or 1)]
            if paths:
                arguments += ["--inputs", ",".join(map(str, paths))]
            done = subprocess.run([*self.command, *arguments], capture_output=True, text=True)
            if done.returncode:
                raise XirRuntimeError(f"exit code {done.returncode}: {done.stderr}")
            as_numpy = any(isinstance(value, np.ndarray) for value in inputs)
            results = [self.read(folder / f"output_{i}.npy", i, as_numpy) for i in range(self.metadata.num_outputs())]
        for there, here in zip(results, self.host.execute(inputs), strict=True):
            self.differences.append(difference(torch.as_tensor(there), torch.as_tensor(here)))
        return results

    @staticmethod
    def write(value: Any, path: Path) -> Path:
        """Write an input as the runner reads it, in C order."""
        if isinstance(value, torch.Tensor):
            value = value.detach().contiguous()
            value = value.view(BITS[value.dtype]).numpy().view(np.uint16) if value.dtype in BITS else value.numpy()
        np.save(path, np.ascontiguousarray(value).reshape(np.shape(value)))
        return path

    def read(self, path: Path, index: int, as_numpy: bool) -> Any:
        """Read an output; bfloat16 travels as bits."""
        array: Any = np.load(path)
        if as_numpy:
            return array
        name = self.metadata.outputs[index].dtype
        return (
            torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
            if name == "bfloat16"
            else torch.from_numpy(array)
        )


@dataclass(frozen=True)
class ProgramElsewhere:
    """A program whose methods run by the command."""

    command: Sequence[str]
    file: bytes
    threads: int | None
    host: Program
    differences: list[Difference]

    def load_method(self, name: str = "forward") -> MethodElsewhere:
        """A method that each call runs in a process of its own."""
        return MethodElsewhere(self.command, self.file, self.threads, self.host.load_method(name), self.differences)


@dataclass(frozen=True)
class RunnerElsewhere:
    """What `Runtime.get()` answers."""

    command: Sequence[str]
    differences: list[Difference] = field(default_factory=list)

    def load_program(self, source: Any, *, threads: int | None = None, **options: Any) -> ProgramElsewhere:
        """A program from a path or bytes."""
        file = Path(source).read_bytes() if isinstance(source, str | os.PathLike) else bytes(source)
        return ProgramElsewhere(
            self.command, file, threads, HOST.load_program(file, threads=1, **options), self.differences
        )

    def summary(self) -> list[str]:
        """How many results are this processor's, and how far the others are from them: the furthest of each test."""
        same = sum(each.exact for each in self.differences)
        lines = [f"{len(self.differences)} results: {same} bit for bit as on this processor"]
        furthest: dict[str, float] = {}
        for each in self.differences:
            furthest[each.test] = max(furthest.get(each.test, 0.0), each.relative)
        ranked = sorted(furthest.items(), key=lambda item: -item[1])
        return lines + [f"{relative:.1e} of the largest magnitude: {test}" for test, relative in ranked[:SHOWN]]
