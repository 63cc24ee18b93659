"""Every row of the edge dialect as a program of kernels, in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

import functools
import subprocess
import sys
from importlib.metadata import version
from itertools import product
from typing import Any

import pytest
import torch
from reference.aten_calls import CASES, UNSPECIFIED, Case, aten_call
from reference.kernel_programs import program_of
from reference.runtimes import load_stock
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32

from xir.dialects import edge
from xir.dialects.edge.kernels import EXECUTORCH, executorch_kernels
from xir.runtime import Runtime
from xir.transforms.edge.decompositions import DECOMPOSITIONS, EdgeBuilder
from xir.transforms.edge.decompositions.pooling import upsample

TOLERANCE = {torch.float16: 1e-3, torch.bfloat16: 1e-2}
"""Of the largest magnitude of a result; 1e-5 for other element types."""

LISTING = "import torch; from executorch.extension.pybindings import _C; print(*_C._get_operator_names())"


@functools.cache
def stock_kernels() -> frozenset[str]:
    """Those that it has without being asked for more: asked in a new process, as tests load libraries of others."""
    listed = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, text=True, check=True)
    return frozenset(listed.stdout.split())


WITHOUT_KERNEL = {
    "edge.adaptive_max_pool2d",
    "edge.max_pool3d_with_indices",
    "edge.randperm",
    "edge.scatter_reduce.two",
    "edge.xir.attend_prefix",
}
"""Ops that stock ExecuTorch has no kernel for, and that no others make up for: where somebody wants the indices of
windows that overlap or have three dimensions, random orders, reductions by index, and xir's own."""


def check(outputs: list[Any], expected: list[Any]) -> None:
    for got, wanted in zip(outputs, expected, strict=True):
        wanted = torch.as_tensor(wanted)
        finite = wanted[wanted.isfinite()] if wanted.is_floating_point() else wanted
        largest = finite.abs().max().item() if finite.numel() and finite.dtype != torch.bool else 1.0
        limit = TOLERANCE.get(wanted.dtype, 1e-5) * largest
        torch.testing.assert_close(torch.as_tensor(got), wanted, rtol=0, atol=limit, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}-{i}") for name, cases in CASES.items() for i, case in enumerate(cases)],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_agrees_with_aten(name: str, case: Case) -> None:
    call = aten_call(name, case)
    file, kernels = program_of(call)
    inputs = list(call.values.values())
    outputs = Runtime.get().load_program(file).load_method("forward").execute(inputs)
    if name in UNSPECIFIED:
        assert [o.shape for o in outputs] == [e.shape for e in call.expected]
    else:
        check(outputs, call.expected)
    # The kernels of quantisation are not among those that the wheel's runtime loads by itself.
    if any(kernel.startswith("quantized_decomposed::") for kernel in kernels):
        return
    missing = set(kernels) - stock_kernels()
    assert not missing or f"edge.{name}" in WITHOUT_KERNEL
    if missing or name in UNSPECIFIED:
        return
    # The program does not keep the memory of its outputs alive.
    program = load_stock(file)
    check([each.clone() if isinstance(each, torch.Tensor) else each for each in program.forward(inputs)], call.expected)


@pytest.mark.parametrize("kind", ["nearest", "bilinear", "aligned"])
def test_factors_are_dropped_only_where_aten_does_not_look_at_them(kind: str) -> None:
    """No kernel takes both a size and factors: a call keeps its factors unless its size says the same."""
    factors = (None, 2.0, 1.5, 2.3, 0.5, 1.0, 3.0, -1.0, 0.2)
    dropped = 0
    for (height, out), factor in product(((8, 16), (8, 8), (8, 19), (8, 12), (8, 4), (6, 9), (5, 1)), factors):
        image = torch.randn(1, 2, height, 6)
        size = [out, 6]
        value = test.TestOp(result_types=[TensorType(f32, [1, 2, height, 6])]).results[0]
        if kind == "nearest":
            op = edge.UpsampleNearest2dOp(self=value, output_size=size, scales_h=factor)
            with_it, without = (torch.ops.aten.upsample_nearest2d(image, size, each) for each in (factor, None))
        else:
            align = kind == "aligned"
            op = edge.UpsampleBilinear2dOp(self=value, output_size=size, align_corners=align, scales_h=factor)
            with_it, without = (torch.ops.aten.upsample_bilinear2d(image, size, align, each) for each in (factor, None))
        if upsample(op, EdgeBuilder()) is not None:
            dropped += 1
            assert torch.equal(with_it, without), (height, out, factor)
    assert dropped > 0


def test_the_list_of_kernels_is_of_the_installed_release() -> None:
    assert f"ExecuTorch {version('executorch')}" == EXECUTORCH
    quantized = {name for name in executorch_kernels() if name.startswith("quantized_decomposed::")}
    assert executorch_kernels() - quantized == stock_kernels() - quantized
    assert quantized


def test_decompositions_are_of_ops_without_kernels_or_of_special_calls() -> None:
    """An op whose kernel stock ExecuTorch lacks has a decomposition, unless none is possible."""
    without = {name for name, op in edge.OPS.items() if op.row.out not in executorch_kernels()}
    assert without - DECOMPOSITIONS.keys() == {
        "edge.randperm",
        "edge.scatter_reduce.two",
        "edge.xir.attend_prefix",
        "edge.quantized_decomposed.quantize_per_channel_group",
        "edge.quantized_decomposed.dequantize_per_channel_group",
        "edge.quantized_decomposed.choose_qparams_symmetric.tensor",
    }
