"""What users get wrong about quantisation: one diagnostic, exit code 1, no traceback, and no file."""

from __future__ import annotations

from pathlib import Path

import pytest
from reference.tools import Tool

MODELS = """
import math

import torch
from torch import nn
import xir.quantizer  # declares the operators

X = torch.ones(2, 64)
Q = torch.ops.quantized_decomposed


def model():
    return nn.Sequential(nn.Linear(64, 8), nn.ReLU()), (X,)


def nothing():
    return nn.Softmax(-1), (X,)


def spoilt(name, number):
    layer = nn.Linear(64, 8)
    getattr(layer, name).data[1] = number
    return layer, (X,)


def nan_weight(): return spoilt("weight", math.nan)
def infinite_weight(): return spoilt("weight", math.inf)
def nan_bias(): return spoilt("bias", math.nan)
def nan_input(): return nn.Linear(64, 8), (X * math.nan,)


# Inputs to calibrate with

def wrong(): return [X, X[:, :63]]
def empty(): return []
def tensor(): return X
def number(): return 5
def nans(): return [X, X * math.nan]
def infinite(): return [X * math.inf]
def huge(): return [torch.cat([X, -X]).reshape(2, 128)[:, 32:96] * 2e38]
def double(): return [X.double()]
def three(): return [(X, X, X)]
def interrupted(): raise KeyboardInterrupt
def arrays(): return [X.numpy()]
def none(): return [None]
def elsewhere(): return [X.to("meta")]
def failing(): raise RuntimeError("there is no such folder")


def failing_later():
    yield X
    raise RuntimeError("the disk is gone")


# Metrics

def worth(program): return float(program(X).sum())
def raising(program): raise LookupError("no such label")
def wrong_input(program): return program(X[:, :3]).sum()
def infinite_worth(program): return {"top1": 0.5, "loss": math.inf}
def no_number(program): return [0.5]
def no_numbers(program): return {}
def random_worth(program): return torch.rand(())
calls = []
def other_names(program):
    calls.append(program)
    return {"a" if len(calls) < 3 else "b": 1}


# Graphs quantised elsewhere

class Around(nn.Module):
    def __init__(self, *parameters):
        super().__init__()
        self.parameters_ = parameters

    def forward(self, x):
        return Q.dequantize_per_tensor(Q.quantize_per_tensor(x, *self.parameters_), *self.parameters_)


def around(scale=0.5, zero_point=0, low=-128, high=127, dtype=torch.int8):
    return Around(scale, zero_point, low, high, dtype), (X,)


def zero_scale(): return around(0.0)
def nan_scale(): return around(math.nan)
def infinite_scale(): return around(math.inf)
def negative_scale(): return around(-0.5)
def vanishing_scale(): return around(1e-60)
def zero_point(): return around(zero_point=300)
def reversed_range(): return around(low=127, high=-128)
def wide_range(): return around(low=-300)


class Weight(nn.Module):
    def __init__(self, scales, zero_points, axis=0):
        super().__init__()
        self.register_buffer("weight", torch.ones(8, 64, dtype=torch.int8))
        self.register_buffer("scales", scales)
        self.register_buffer("zero_points", zero_points)
        self.axis = axis

    def forward(self, x):
        span = (self.axis, -127, 127, torch.int8)
        return nn.functional.linear(x, Q.dequantize_per_channel(self.weight, self.scales, self.zero_points, *span))


NONE = torch.zeros(8, dtype=torch.int64)


def few_scales(): return Weight(torch.ones(7), NONE), (X,)
def few_zero_points(): return Weight(torch.ones(8), NONE[:7]), (X,)
def fractions(): return Weight(torch.ones(8), NONE + 0.5), (X,)
def zero_scales(): return Weight(torch.zeros(8), NONE), (X,)
def nan_scales(): return Weight(torch.full((8,), math.nan), NONE), (X,)
def wrong_axis(): return Weight(torch.ones(8), NONE, axis=2), (X,)


class Group(nn.Module):
    def __init__(self, size, scale):
        super().__init__()
        self.register_buffer("weight", torch.ones(8, 64, dtype=torch.int8))
        self.register_buffer("scales", torch.full((8, 64 // size), scale))
        self.register_buffer("zero_points", torch.zeros(8, 64 // size, dtype=torch.int32))
        self.size = size

    def forward(self, x):
        span = (self.scales, self.zero_points, -8, 7, torch.int8, self.size, torch.float32)
        return nn.functional.linear(x, Q.dequantize_per_channel_group(self.weight, *span))


def group(): return Group(24, 1.0), (X,)
def nan_group(): return Group(32, math.nan), (X,)


class Affine(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scales", torch.ones(8, 1))
        self.register_buffer("zero_points", torch.zeros(8, 1, dtype=torch.int32))
        self.weight = nn.Parameter(torch.ones(8, 64))

    def forward(self, x):
        block, span = [1, 64], (torch.uint4, 0, 15)
        q = torch.ops.torchao.quantize_affine(self.weight, block, self.scales, self.zero_points, *span)
        return nn.functional.linear(
            x, torch.ops.torchao.dequantize_affine(q, block, self.scales, self.zero_points, *span)
        )


def unknown_dtype(): return Affine(), (X,)
"""


@pytest.fixture(autouse=True)
def models(folder: Path) -> None:
    (folder / "mine.py").write_text(MODELS, encoding="utf-8")
    (folder / "needs.py").write_text("import nowhere.at.all", encoding="utf-8")


def check(folder: Path, aot: Tool, arguments: str, message: str) -> None:
    """One line that says `message`, and nothing else: no output, no file, not even a part of one."""
    error = aot.refuse(f"--model mine.py:{arguments} --output_dir out")
    assert "error: " in error
    assert message in error
    assert not list(folder.glob("**/*.pte"))
    assert not (folder / "out").exists() or not list((folder / "out").iterdir())


METRIC = "model --quantize --metric mine.py:worth"
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
    ("nothing --quantize", "the model has nothing to quantise"),
    ("nan_weight --quantize=dynamic", "'weight' has infinite or NaN values, which no scale can hold"),
    ("infinite_weight --quantize=int4", "'weight' has infinite or NaN values, which no scale can hold"),
    ("infinite_weight --quantize", "'weight' has infinite or NaN values, which no scale can hold"),
    ("nan_bias --quantize", "'bias' has infinite or NaN values, which no scale can hold"),
    ("nan_input --quantize", "tensor 0 has infinite or NaN values, which no scale can hold"),
]


@pytest.mark.parametrize(("arguments", "message"), OPTIONS, ids=[arguments for arguments, _ in OPTIONS])
def test_options_and_models(folder: Path, aot: Tool, arguments: str, message: str) -> None:
    check(folder, aot, arguments, message)


CALIBRATIONS = {
    "wrong": "calibration input 1: error: tensor 0 has shape [2, 63]; the model takes [2, 64]",
    "empty": "there is no input in it: give an iterable of at least one",
    "tensor": "it is a tensor: give an iterable of inputs",
    "number": "it is of type int: give an iterable of inputs",
    "nans": "calibration input 1: error: tensor 0 has infinite or NaN values",
    "infinite": "calibration input 0: error: tensor 0 has infinite or NaN values",
    "huge": "on the calibration inputs, which no scale can hold",
    "double": "tensor 0 has dtype torch.float64; the model takes torch.float32",
    "three": "it has 3 tensors; the model takes 1 tensor",
    "arrays": "it is of type ndarray: give a tuple of tensors",
    "none": "it is of type NoneType: give a tuple of tensors",
    "elsewhere": "tensor 0 is on device meta; the model is on cpu",
    "failing": "'failing' failed: RuntimeError: there is no such folder",
    "failing_later": "'failing_later' failed: RuntimeError: the disk is gone",
    "absent": "'mine.py' has no function 'absent'",
}


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_calibration(folder: Path, aot: Tool, name: str) -> None:
    check(folder, aot, f"model --quantize --calibration mine.py:{name}", CALIBRATIONS[name])


METRICS = {
    "raising": "it failed on the float program: LookupError: no such label",
    "wrong_input": "it failed on the float program: ",
    "infinite_worth": "it returned inf as 'loss' for the float program, which is no finite number",
    "no_number": "it returned a list for the float program: give a number, or a dict of numbers by name",
    "no_numbers": "it returned an empty dict for the float program",
    "random_worth": "take the same inputs in each call, and seed what is random",
    "other_names": "it returned 'b' for the quantised program, and 'a' before: give the same numbers",
}


@pytest.mark.parametrize("name", METRICS)
def test_metrics(folder: Path, aot: Tool, name: str) -> None:
    message = f"metric {name}: error: {METRICS[name]}" if name[0] != "r" else METRICS[name]
    check(folder, aot, f"model --quantize --metric mine.py:{name}", message)


def test_an_interrupted_calibration_leaves_no_file(folder: Path, aot: Tool) -> None:
    calibrated = "--model mine.py:model --quantize --calibration mine.py:interrupted"
    aot(f"{calibrated} --quantize-report-json report.json --output_dir out", code=130)
    assert aot.err == "xir-aot: interrupted\n"
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".py") in ([], ["__pycache__"])


SCALE = "a scale is a positive number that f32 can hold, got "
GRAPHS = {
    "zero_scale": SCALE + "0; correct the parameters, or quantise the model again",
    "nan_scale": SCALE + "nan",
    "infinite_scale": SCALE + "inf",
    "negative_scale": SCALE + "-0.5",
    "vanishing_scale": SCALE + "0",
    "zero_point": "a zero point of the storage type is in -128:127, got 300",
    "reversed_range": "the storage range 127:-128 is not in -128:127 or not in order",
    "wide_range": "the storage range -300:127 is not in -128:127 or not in order",
    "few_scales": "scales have shape 7, expected 8",
    "few_zero_points": "8 scales and 7 zero points: one of each is needed",
    "fractions": "a zero point is an integer, got 0.5",
    "zero_scales": SCALE + "0",
    "nan_scales": SCALE + "nan",
    "wrong_axis": "'wrong_axis' does not export: Expecting axis to be < 2",
    "group": "'group' does not export: w_int8.shape[-1] must be divisible by group_size",
    "nan_group": SCALE + "nan",
    "unknown_dtype": "tensors of torch.uint4 have no form here",
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_quantized_elsewhere(folder: Path, aot: Tool, name: str) -> None:
    for delegate in ("", "--delegate"):
        check(folder, aot, f"{name} {delegate}", GRAPHS[name])
