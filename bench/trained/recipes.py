"""Recipes of static int8, each from the same calibration inputs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

import xir
from bench.quantization import quantize_stock
from bench.trained.tasks import Task
from xir.quantizer import QuantConfig
from xir.runtime import Runtime

Run = Callable[[tuple[Tensor, ...]], Tensor]
"""What computes the output for an input."""


def recipes(task: Task) -> dict[str, Callable[[], Run]]:
    """What quantises the task's model, by its name. Those of NNCF if it is installed."""
    found: dict[str, Callable[[], Run]] = {}
    ours = {name: options for name, options in _OURS.items() if options.get("mode", "static") in task.modes}
    ours |= _PARTS if task.parts else {}
    for name, options in ours.items():
        found[f"xir, {name}"] = lambda options=options: _compiled(
            xir.quantize(task.model, task.calibration[0], task.calibration, QuantConfig(**options))
        )
    for mode in task.modes:
        name = "ExecuTorch's XNNPACKQuantizer" + ("" if mode == "static" else f", {mode}")
        found[name] = lambda mode=mode: _compiled(
            quantize_stock(task.model, task.calibration[0], task.calibration, mode)
        )
    if find_spec("nncf") is not None:
        for name, options in _NNCF.items():
            found[f"NNCF, {name}"] = lambda options=options: _nncf(task, options)
    return found


_OURS: dict[str, dict[str, Any]] = {
    "fast (default)": {},
    "best": {"effort": "best"},
    "dynamic": {"mode": "dynamic"},
}

_PARTS: dict[str, dict[str, Any]] = {
    "fast, without equalisation": {"equalization": False},
    "fast, ranges of least own error": {"observer": "histogram"},
    "neither": {"equalization": False, "observer": "histogram"},
    'neither, observer="minmax"': {"equalization": False, "observer": "minmax"},
    "fast, layers in float (min_sqnr=23.5)": {"min_sqnr": 23.5},
}
"""What parts of the default give by themselves."""

_NNCF: dict[str, dict[str, Any]] = {
    "default": {},
    "mixed preset": {"preset": "MIXED"},
    "full bias correction": {"fast_bias_correction": False},
}


def _compiled(program: Any) -> Run:
    """The program in XNNPACK, in xir's runtime."""
    lowered = xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch()
    method = Runtime.get().load_program(bytes(lowered.buffer), threads=1).load_method("forward")
    return lambda inputs: torch.as_tensor(method.execute(list(inputs))[0]).clone()


def _nncf(task: Task, options: dict[str, Any]) -> Run:
    """NNCF's quantised graph, as torch computes it."""
    import nncf  # pyright: ignore[reportMissingImports]

    options = {name: nncf.QuantizationPreset[each] if name == "preset" else each for name, each in options.items()}
    exported = torch.export.export(task.model, task.calibration[0]).module()
    data = nncf.Dataset(task.calibration, lambda inputs: inputs)
    quantized = nncf.quantize(exported, data, subset_size=len(task.calibration), **options)

    def run(inputs: tuple[Tensor, ...]) -> Tensor:
        with torch.no_grad():
            return quantized(*inputs)

    return run
