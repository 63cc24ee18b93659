"""LiteRT: converted by litert-torch, in int8 and 4 bits by AI Edge Quantizer, run by its interpreter with XNNPACK.

What converts needs another xDSL than xir does, so it stays in an environment of its own, whose Python
LITERT_TORCH_PYTHON names:

    python -m venv litert && litert/bin/pip install litert-torch==0.10.0 torch==2.13.0
    LITERT_TORCH_PYTHON=litert/bin/python make tables
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.export import ExportedProgram

from bench.latency import Execute
from bench.runtimes.peer import Peer, calibration_of

PYTHON = "LITERT_TORCH_PYTHON"
CONVERTER = Path(__file__).with_name("convert_for_litert.py")


def _compile(exported: ExportedProgram, form: str, path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        torch.export.save(exported, folder / "program.pt2")
        for index, image in enumerate(calibration_of(exported)):
            np.savez(folder / f"image_{index}.npz", *(tensor.numpy() for tensor in image))
        command = [os.environ[PYTHON], CONVERTER, form, folder, path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"litert-torch failed:\n{done.stderr[-2000:]}")


def _load(path: Path, threads: int) -> Execute:
    from ai_edge_litert.interpreter import Interpreter  # pyright: ignore[reportMissingImports]

    interpreter: Any = Interpreter(model_path=str(path), num_threads=threads)
    interpreter.allocate_tensors()
    places = sorted(interpreter.get_input_details(), key=lambda each: each["name"])
    outputs = sorted(interpreter.get_output_details(), key=lambda each: each["name"])

    def run(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        for place, tensor in zip(places, inputs, strict=True):
            interpreter.set_tensor(place["index"], tensor.numpy())
        interpreter.invoke()
        return [torch.from_numpy(interpreter.get_tensor(place["index"])) for place in outputs]

    return run


LITERT = Peer(
    "LiteRT",
    ("ai-edge-litert",),
    ("fp32", "int8", "int4"),
    ".tflite",
    _compile,
    _load,
    has_more_that_it_needs=lambda: PYTHON in os.environ,
)
