"""ONNX Runtime: a graph of torch's exporter, in int8 by ONNX Runtime's own quantizer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram

from bench.latency import Execute
from bench.runtimes.peer import Inputs, Peer, calibration_of


def _compile(exported: ExportedProgram, form: str, path: Path) -> None:
    program = torch.onnx.export(exported, dynamo=True, verbose=False)
    assert program is not None
    if form == "fp32":
        program.save(str(path))
        return
    whole = path.with_suffix(".fp32")
    program.save(str(whole))
    _quantize(whole, path, calibration_of(exported))
    for each in path.parent.glob(f"{whole.name}*"):
        each.unlink()


def _quantize(whole: Path, path: Path, images: Sequence[Inputs]) -> None:
    """Signed bytes by channel between QuantizeLinear and DequantizeLinear, as its documentation advises for CPUs."""
    from onnxruntime import quantization  # pyright: ignore[reportMissingImports]
    from onnxruntime.quantization.shape_inference import quant_pre_process  # pyright: ignore[reportMissingImports]

    module: Any = quantization
    prepared = whole.with_suffix(".fp32prepared")
    quant_pre_process(whole, prepared, skip_symbolic_shape=True)

    class Reader(module.CalibrationDataReader):
        def __init__(self) -> None:
            names = [each.name for each in _session(prepared, 1).get_inputs()]
            self._feeds = iter([_feed(names, image) for image in images])

        def get_next(self) -> dict[str, Any] | None:
            return next(self._feeds, None)

    module.quantize_static(prepared, path, Reader(), quant_format=module.QuantFormat.QDQ, per_channel=True)


def _session(path: Path, threads: int) -> Any:
    import onnxruntime  # pyright: ignore[reportMissingImports]

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _feed(names: Sequence[str], inputs: Sequence[Tensor]) -> dict[str, Any]:
    return {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}


def _load(path: Path, threads: int) -> Execute:
    session = _session(path, threads)
    names = [each.name for each in session.get_inputs()]
    return lambda inputs: [torch.from_numpy(output) for output in session.run(None, _feed(names, inputs))]


ORT = Peer("ONNX Runtime", ("onnxruntime", "onnxscript"), ("fp32", "int8"), ".onnx", _compile, _load)
