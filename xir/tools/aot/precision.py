"""What a program computes on, and how near its outputs have to be to PyTorch's."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from xir.tools.aot.arguments import DTYPES

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_QUANTIZED = {"static": "q8", "dynamic": "qd8", "int4": "q4"}

LEAST_SQNR = {"fp32": 60.0, "fp16": 20.0, "bf16": 20.0, "q8": 5.0, "qd8": 5.0, "q4": 5.0}
"""The dB that outputs have to agree by, by what a program computes on. Right programs are far above: fp32 gives 100 and
more, halves lose a bit or two of their 11 or 8 at each of many layers, and 5 dB of a quantised one is hardly signal."""


def precision_of(options: argparse.Namespace, program: ExportedProgram) -> str:
    """How file names call what a program computes on, quantised as the options say."""
    return _QUANTIZED.get(options.quantize or "") or options.dtype or _type_of(program)


def _type_of(program: ExportedProgram) -> str:
    """The name of the type that all floating-point weights have; fp32 if they differ or there are none."""
    names = {
        str(tensor.dtype).removeprefix("torch.") for tensor in program.state_dict.values() if tensor.is_floating_point()
    }
    return next((short for short, name in DTYPES.items() if names == {name}), "fp32")
