"""The runtimes that `make tables` compares: how each makes a file of a model, and runs it.

xir comes twice, for any processor and for this one (`--cpu native`); the others where their packages are installed.
`pip install 'xir[peers]'` installs ONNX Runtime and OpenVINO, which are measured in fp32: they quantise by other means.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram

import xir
from bench import lowering, quantization
from bench.latency import Execute, load_stock, load_xir
from xir.quantizer import QuantConfig

FORMS = ("portable", "fp32", "int8", "int4")
"""fp32 by portable kernels alone and by the runtime's best ones, static int8, and 4-bit weights of linear layers."""

Inputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class Peer:
    """One runtime. `compile` writes the file of an exported program, or of a model that it quantises itself."""

    name: str
    packages: Sequence[str]
    forms: Sequence[str]
    suffix: str
    compile: Callable[[ExportedProgram, str, Path], object]
    load: Callable[[Path, int], Execute]
    quantize: quantization.Quantize | None = None

    @property
    def is_installed(self) -> bool:
        """Whether its packages are there."""
        return all(find_spec(package) is not None for package in self.packages)

    def versions(self) -> dict[str, str]:
        """Of its packages, by name."""
        return {package: version(package) for package in self.packages}

    def exported(self, model: nn.Module, sample: Inputs, images: Sequence[Inputs], form: str) -> ExportedProgram:
        """The program of a form, by the runtime's own recipe."""
        if form in ("portable", "fp32"):
            return torch.export.export(model, sample)
        assert self.quantize is not None, f"{self.name} has no {form}"
        return self.quantize(model, sample, images, "static" if form == "int8" else form)


def _quantize_xir(model: nn.Module, sample: Inputs, images: Sequence[Inputs], mode: str) -> ExportedProgram:
    if mode != "int4":
        return quantization.quantize_xir(model, sample, images, mode)
    return xir.quantize(model, sample, calibration=images, config=QuantConfig(mode="int4"))


def _compile_xir(exported: ExportedProgram, form: str, path: Path, cpu: str = "generic") -> None:
    if form == "portable":
        path.write_bytes(xir.to_edge(exported).to_executorch().buffer)
    else:
        lowering.lower_xir(exported, path, cpu)


def _compile_stock(exported: ExportedProgram, form: str, path: Path) -> None:
    if form == "portable":
        from executorch.exir import to_edge

        path.write_bytes(to_edge(exported).to_executorch().buffer)
    else:
        lowering.lower_stock(exported, path)


def _load_ort(path: Path, threads: int) -> Execute:
    import onnxruntime  # pyright: ignore[reportMissingImports]

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session: Any = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]

    def run(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        feed = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
        return [torch.from_numpy(output) for output in session.run(None, feed)]

    return run


def _compile_ort(exported: ExportedProgram, form: str, path: Path) -> None:
    program = torch.onnx.export(exported, dynamo=True, verbose=False)
    assert program is not None
    program.save(str(path))


def _compile_openvino(exported: ExportedProgram, form: str, path: Path) -> None:
    import openvino  # pyright: ignore[reportMissingImports]

    openvino.save_model(openvino.convert_model(exported), path, compress_to_fp16=False)


def _load_openvino(path: Path, threads: int) -> Execute:
    import openvino  # pyright: ignore[reportMissingImports]

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    compiled: Any = openvino.Core().compile_model(path, "CPU", settings)
    request: Any = compiled.create_infer_request()

    def run(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        results = request.infer([tensor.numpy() for tensor in inputs])
        return [torch.from_numpy(output) for output in results.values()]

    return run


XIR = Peer("xir", ("xir",), FORMS, ".pte", _compile_xir, load_xir, _quantize_xir)
NATIVE = dataclasses.replace(
    XIR, name="xir native", forms=("fp32", "int8", "int4"), compile=partial(_compile_xir, cpu="native")
)
STOCK = Peer(
    "ExecuTorch",
    ("executorch",),
    ("portable", "fp32", "int8"),
    ".pte",
    _compile_stock,
    load_stock,
    quantization.quantize_stock,
)
ORT = Peer("ONNX Runtime", ("onnxruntime", "onnxscript"), ("fp32",), ".onnx", _compile_ort, _load_ort)
OPENVINO = Peer("OpenVINO", ("openvino",), ("fp32",), ".xml", _compile_openvino, _load_openvino)

PEERS = (XIR, NATIVE, STOCK, ORT, OPENVINO)


def installed_peers() -> list[Peer]:
    """Those whose packages are there."""
    return [peer for peer in PEERS if peer.is_installed]
