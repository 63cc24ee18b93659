"""What users get wrong about quantisation: one diagnostic, exit code 1, no traceback, and no file."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from reference.modules import Calling, Function
from reference.tools import Tool
from torch import Tensor, nn

import xir
from xir.ir.diagnostics import DiagnosticError

MODELS = """
import math

import torch
from torch import nn
import xir.quantizer  # declares the operators

X = torch.ones(2, 64)
Q = torch.ops.quantized_decomposed


def model(): return nn.Sequential(nn.Linear(64, 8), nn.ReLU()), (X,)
def nothing(): return nn.Softmax(-1), (X,)


def spoilt(name, number):
    layer = nn.Linear(64, 8)
    getattr(layer, name).data[1] = number
    return layer, (X,)


def nan_weight(): return spoilt("weight", math.nan)
def infinite_weight(): return spoilt("weight", math.inf)
def nan_bias(): return spoilt("bias", math.nan)
def nan_input(): return nn.Linear(64, 8), (X * math.nan,)


class ZeroScale(nn.Module):
    def forward(self, x):
        return Q.quantize_per_tensor(x, 0.0, 0, -128, 127, torch.int8)


class Group(nn.Module):
    def forward(self, x):
        span = (torch.ones(8, 3), torch.zeros(8, 3, dtype=torch.int32), -8, 7, torch.int8, 24, torch.float32)
        return nn.functional.linear(x, Q.dequantize_per_channel_group(torch.ones(8, 64, dtype=torch.int8), *span))


def zero_scale(): return ZeroScale(), (X,)
def group(): return Group(), (X,)


# Inputs to calibrate with

def interrupted(): raise KeyboardInterrupt
def failing(): raise RuntimeError("there is no such folder")
def wrong(): return [X, X[:, :63]]


def failing_later():
    yield X
    raise RuntimeError("the disk is gone")


# Metrics

def worth(program): return float(program(X).sum())
def raising(program): raise LookupError("no such label")
"""


@pytest.fixture(autouse=True)
def models(folder: Path) -> None:
    (folder / "mine.py").write_text(MODELS, encoding="utf-8")
    (folder / "needs.py").write_text("import nowhere.at.all", encoding="utf-8")


METRIC = "model --quantize --metric mine.py:worth"
CALIBRATION = "model --quantize --calibration mine.py"
OPTIONS = [
    ("model --keep-float x", "--keep-float says how to quantise: give --quantize as well"),
    ("model --quantize --group-size 64", "--group-size goes with --quantize=int4"),
    ("model --quantize=int4 --group-size 48", "group_size is a positive multiple of 32, not 48"),
    ("model --quantize=int4 --group-size -32", "group_size is a positive multiple of 32, not -32"),
    ("model --quantize=int4 --group-size all", "--group-size takes a number or 'channel', not 'all'"),
    ("model --quantize=int4 --group-size 96", "groups of 96 do not divide the 64 inputs"),
    ("model --quantize --keep-float 'conv*'", "keep_float 'conv*' matches no layer"),
    ("model --quantize --min-sqnr nan", "min_sqnr is a number of decibels, not nan"),
    ("model --quantize --min-sqnr 200", "200 dB are out of reach"),
    ("model --metric mine.py:worth", "--metric says how to quantise: give --quantize as well"),
    ("model --quantize --max-drop 0.1", "--max-drop bounds what a metric loses: give --metric"),
    (f"{METRIC} --max-drop little", "--max-drop takes a number, or NAME=NUMBER, not 'little'"),
    (f"{METRIC} --max-drop -1", "max_drop is a number from 0 on, in the metric's unit, not -1"),
    (f"{METRIC} --max-drop 1 --max-drop 2", "one number for all that the metric returns, or several with na"),
    (f"{METRIC} --max-drop top5=1", "max_drop bounds 'top5', and the metric returns 'worth'"),
    ("model --quantize --metric mine.py", "--metric takes FILE.py:FUNCTION, got 'mine.py'"),
    ("model --quantize --metric absent.py:worth", "'absent.py' is no Python file"),
    ("model --quantize --metric needs.py:worth", "'needs.py' imports 'nowhere', which is not inst"),
    (
        "model --quantize --metric mine.py:raising",
        "metric raising: error: it failed on the float program: LookupError: ",
    ),
    ("nothing --quantize", "the model has nothing to quantise"),
    ("nan_weight --quantize=dynamic", "'weight' has infinite or NaN values, which no scale can hold"),
    ("infinite_weight --quantize=int4", "'weight' has infinite or NaN values, which no scale can hold"),
    ("infinite_weight --quantize", "'weight' has infinite or NaN values, which no scale can hold"),
    ("nan_bias --quantize", "'bias' has infinite or NaN values, which no scale can hold"),
    ("nan_input --quantize", "tensor 0 has infinite or NaN values, which no scale can hold"),
    (f"{CALIBRATION}:wrong", "calibration input 1: error: tensor 0 has shape [2, 63]; the model takes [2, 64]"),
    (f"{CALIBRATION}:failing", "'failing' failed: RuntimeError: there is no such folder"),
    (f"{CALIBRATION}:failing_later", "'failing_later' failed: RuntimeError: the disk is gone"),
    (f"{CALIBRATION}:absent", "'mine.py' has no function 'absent'"),
    ("zero_scale", "a scale is a positive number that f32 can hold, got 0; correct the parameters, or quantise"),
    ("zero_scale -d", "a scale is a positive number that f32 can hold, got 0; correct the parameters, or quantise"),
    ("group", "'group' does not export: w_int8.shape[-1] must be divisible by group_size"),
]


@pytest.mark.parametrize(("arguments", "message"), OPTIONS, ids=[arguments for arguments, _ in OPTIONS])
def test_one_line_and_no_file(folder: Path, aot: Tool, arguments: str, message: str) -> None:
    """Not even a part of one."""
    error = aot.refuse(f"--model mine.py:{arguments} --output_dir out")
    assert "error: " in error
    assert message in error
    assert not list(folder.glob("**/*.pte"))
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())


def test_an_interrupted_calibration_leaves_no_file(folder: Path, aot: Tool) -> None:
    aot(f"--model mine.py:{CALIBRATION}:interrupted --quantize-report-json report.json --output_dir out", code=130)
    assert aot.err == "xir-aot: interrupted\n"
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".py") in ([], ["__pycache__"])


X = torch.ones(2, 64)
CALIBRATIONS: dict[str, tuple[Any, str]] = {
    "empty": ([], "there is no input in it: give an iterable of at least one"),
    "tensor": (X, "it is a tensor: give an iterable of inputs"),
    "number": (5, "it is of type int: give an iterable of inputs"),
    "nans": ([X, X * math.nan], "calibration input 1.*error: tensor 0 has infinite or NaN values"),
    "infinite": ([X * math.inf], "calibration input 0.*error: tensor 0 has infinite or NaN values"),
    "huge": ([torch.cat([X, -X], 1)[:, 32:96] * 2e38], "on the calibration inputs, which no scale can hold"),
    "double": ([X.double()], "tensor 0 has dtype torch.float64; the model takes torch.float32"),
    "three": ([(X, X, X)], "it has 3 tensors; the model takes 1 tensor"),
    "arrays": ([X.numpy()], "it is of type ndarray: give a tuple of tensors"),
    "none": ([None], "it is of type NoneType: give a tuple of tensors"),
    "a number": ([(3,)], "tensor 0 is a int"),
    "elsewhere": ([X.to("meta")], "tensor 0 is on device meta; the model is on cpu"),
}


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 8), nn.ReLU()).eval()


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_calibration(name: str) -> None:
    calibration, message = CALIBRATIONS[name]
    with pytest.raises(DiagnosticError, match=message):
        xir.quantize(model(), (X,), calibration)


NAMES = iter(("a", "a", "b", "b"))
METRICS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "wrong input": (lambda program: program(X[:, :3]).sum(), "it failed on the float program: "),
    "infinite": (
        lambda _: {"top1": 0.5, "loss": math.inf},
        "it returned inf as 'loss' for the float program, which is no finite number",
    ),
    "a list": (
        lambda _: [0.5],
        "it returned a list for the float program: give a number, or a dict of numbers by name",
    ),
    "nothing": (lambda _: {}, "it returned an empty dict for the float program"),
    "random": (lambda _: torch.rand(()), "take the same inputs in each call, and seed what is random"),
    "other names": (
        lambda _: {next(NAMES): 1},
        "it returned 'b' for the quantised program, and 'a' before: give the same numbers",
    ),
}


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name: str) -> None:
    metric, message = METRICS[name]
    with pytest.raises(DiagnosticError, match=message):
        xir.quantize(model(), (X,), metric=metric)


Q = torch.ops.quantized_decomposed
ZEROS = torch.zeros(8, dtype=torch.int64)


def around(*parameters: Any) -> nn.Module:
    """What is quantised and back, by scale, zero point and range."""
    return Function(lambda x: Q.dequantize_per_tensor(Q.quantize_per_tensor(x, *parameters), *parameters))


def channels(scales: Tensor, zero_points: Tensor = ZEROS) -> nn.Module:
    def forward(m: Any, x: Tensor) -> Tensor:
        span = (0, -127, 127, torch.int8)
        return nn.functional.linear(x, Q.dequantize_per_channel(m.weight, m.scales, m.zero_points, *span))

    return Calling(forward, weight=torch.ones(8, 64, dtype=torch.int8), scales=scales, zero_points=zero_points)


def groups(scale: float) -> nn.Module:
    def forward(m: Any, x: Tensor) -> Tensor:
        span = (m.scales, m.zero_points, -8, 7, torch.int8, 32, torch.float32)
        return nn.functional.linear(x, Q.dequantize_per_channel_group(m.weight, *span))

    zero_points = torch.zeros(8, 2, dtype=torch.int32)
    weight, scales = torch.ones(8, 64, dtype=torch.int8), torch.full((8, 2), scale)
    return Calling(forward, weight=weight, scales=scales, zero_points=zero_points)


def of_another_type(x: Tensor) -> Tensor:
    block, span = ([1, 64], torch.ones(2, 1), torch.zeros(2, 1, dtype=torch.int32)), (torch.uint4, 0, 15)  # pyright: ignore[reportAttributeAccessIssue]
    return torch.ops.torchao.dequantize_affine(torch.ops.torchao.quantize_affine(x, *block, *span), *block, *span)


SCALE = "a scale is a positive number that f32 can hold, got "
ONES = torch.ones(8)
# Others are in lit/transforms/check-quantization.mlir and lit/dialects/quant/invalid.mlir.
GRAPHS = [
    (around(math.nan, 0, -128, 127, torch.int8), f"{SCALE}nan"),
    (around(math.inf, 0, -128, 127, torch.int8), f"{SCALE}inf"),
    (around(1e-60, 0, -128, 127, torch.int8), f"{SCALE}0"),
    (around(0.5, 0, -300, 127, torch.int8), "the storage range -300:127 is not in -128:127 or not in order"),
    (channels(ONES[:7]), "scales have shape 7, expected 8"),
    (channels(ONES, ZEROS + 0.5), "a zero point is an integer, got 0.5"),
    (channels(ONES * 0), f"{SCALE}0"),
    (channels(ONES * math.nan), f"{SCALE}nan"),
    (groups(math.nan), f"{SCALE}nan"),
    (Function(of_another_type), "tensors of torch.uint4 have no form here"),
]


def emitted(exported: torch.export.ExportedProgram, delegate: bool) -> None:
    edge = xir.to_edge(exported)
    (edge.to_backend(xir.XnnpackPartitioner()) if delegate else edge).to_executorch()


@pytest.mark.parametrize(("graph", "message"), GRAPHS)
@pytest.mark.parametrize("delegate", [False, True])
def test_graphs_quantized_elsewhere(graph: nn.Module, message: str, delegate: bool) -> None:
    exported = torch.export.export(graph, (X,))
    with pytest.raises(DiagnosticError, match=message):
        emitted(exported, delegate)
