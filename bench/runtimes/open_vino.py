"""OpenVINO: its own conversion of torch's program; in int8 and 4 bits by NNCF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram

from bench.latency import Execute
from bench.runtimes.peer import Peer, calibration_of, is_package
from bench.runtimes.xnnpack_delegates import GROUP

PRECISION = ["bench", "precision"]
"""Where a model's file says in which type it is to compute. By default OpenVINO computes programs in fp32 in bf16 where
the processor has instructions for it (`INFERENCE_PRECISION_HINT`): twice as fast as what others do there, and further
off. Quantised programs are left to its default."""


def _compile(exported: ExportedProgram, form: str, path: Path) -> None:
    import openvino  # pyright: ignore[reportMissingImports]

    model: Any = openvino.convert_model(exported)
    if form != "fp32":
        model = _quantized(model, exported, form)
    else:
        model.set_rt_info("f32", PRECISION)
    openvino.save_model(model, path, compress_to_fp16=False)


def _quantized(model: Any, exported: ExportedProgram, form: str) -> Any:
    import nncf  # pyright: ignore[reportMissingImports]

    module: Any = nncf
    if form == "int4":
        return module.compress_weights(model, mode=module.CompressWeightsMode.INT4_SYM, group_size=GROUP, ratio=1.0)
    images = [[tensor.numpy() for tensor in each] for each in calibration_of(exported)]
    return module.quantize(model, module.Dataset(images), subset_size=len(images))


def _load(path: Path, threads: int) -> Execute:
    import openvino  # pyright: ignore[reportMissingImports]

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    core: Any = openvino.Core()
    model: Any = core.read_model(path)
    if model.has_rt_info(PRECISION):
        settings["INFERENCE_PRECISION_HINT"] = model.get_rt_info(PRECISION).astype(str)
    compiled: Any = core.compile_model(model, "CPU", settings)
    request: Any = compiled.create_infer_request()

    def run(inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        results = request.infer([tensor.numpy() for tensor in inputs])
        return [torch.from_numpy(output) for output in results.values()]

    return run


FORMS = ("fp32", "int8", "int4") if is_package("nncf") else ("fp32",)
OPENVINO = Peer("OpenVINO", ("openvino",), FORMS, ".xml", _compile, _load)
