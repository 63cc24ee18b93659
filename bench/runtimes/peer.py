"""What `make tables` needs of a runtime that it compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

from bench import quantization
from bench.latency import Execute

FORMS = ("portable", "fp32", "int8", "int4")
"""fp32 by portable kernels alone and by the runtime's best ones, static int8, and 4-bit weights of linear layers."""

MODES = {"int8": "static", "int4": "int4"}
"""What the quantizers call a form."""

Inputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class Peer:
    """One runtime. `compile` writes the file of an exported program in a form.

    With `quantize` the program comes quantised; without, `compile` quantises by the runtime's own tool, on
    `calibration_of` the program.
    """

    name: str
    packages: Sequence[str]
    forms: Sequence[str]
    suffix: str
    compile: Callable[[ExportedProgram, str, Path], object]
    load: Callable[[Path, int], Execute]
    quantize: quantization.Quantize | None = None
    has_more_that_it_needs: Callable[[], bool] = lambda: True
    """Whether there is what it needs besides packages."""

    @property
    def is_installed(self) -> bool:
        """Whether all that it needs is there."""
        return all(map(is_package, self.packages)) and self.has_more_that_it_needs()

    def versions(self) -> dict[str, str]:
        """Of its packages, by name."""
        return {package: version(package) for package in self.packages}

    def exported(self, model: nn.Module, sample: Inputs, images: Sequence[Inputs], form: str) -> ExportedProgram:
        """The program of a form, quantised by the runtime's own recipe unless `compile` does that."""
        if form not in MODES or self.quantize is None:
            return torch.export.export(model, sample)
        return self.quantize(model, sample, images, MODES[form])


def is_package(name: str) -> bool:
    """Whether a module or distribution of this name is installed."""
    return find_spec(name.replace("-", "_")) is not None


def calibration_of(exported: ExportedProgram) -> list[Inputs]:
    """The inputs that the other runtimes' quantizers see for this program."""
    assert exported.example_inputs is not None
    return quantization.calibration_inputs(exported.example_inputs[0])
