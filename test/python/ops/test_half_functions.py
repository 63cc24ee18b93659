"""Functions of one fp16 number, for every number that fp16 has: near eager's result in fp64 on any processor.

XNNPACK has kernels that compute in fp32 and round once, and on processors with fp16 arithmetic (Armv8.2, AVX512-FP16)
kernels that round each step to fp16. A bound that is taken from one of them is wrong for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from reference.edge import call
from reference.modules import Calling
from reference.runtimes import agree, load_stock
from torch import Tensor
from torch.nn import functional

from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.runtime import Runtime

EPSILON = 2.0**-10
SMALLEST = 2.0**-14
"""The smallest fp16 number with all its digits; XNNPACK takes smaller ones for zero where the processor can."""
LARGEST = 65504.0

BITS = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(torch.float16)
NUMBERS = BITS[BITS.isfinite() & ((BITS.abs() >= SMALLEST) | (BITS == 0))]


@dataclass(frozen=True)
class Function:
    """An op that becomes one node, and how far its result may be off: the larger of two errors, in units of 2^-10.

    `absolute` and `relative` are those that XNNPACK holds its own fp16 kernels to, between `low` and `high`, on all
    processors: `test/unary-ops.h` at commit 92a7ad501b.
    """

    compute: Callable[[Tensor], Tensor]
    absolute: float
    relative: float
    low: float = -LARGEST
    high: float = LARGEST


def in_fp32(compute: Callable[[Tensor], Tensor], low: float = -LARGEST) -> Function:
    """A function that is computed in fp32 between conversions, with fp32's error (2^-13 of these units) and a rounding.

    What is absolute comes from sine and cosine, which subtract multiples of π/2 that fp32 has not all digits of.
    """
    return Function(compute, 0.01, 0.501, low)


FUNCTIONS = {
    "exp": in_fp32(torch.exp),
    "log": in_fp32(torch.log, SMALLEST),
    "rsqrt": in_fp32(torch.rsqrt, SMALLEST),
    "sin": in_fp32(torch.sin),
    "cos": in_fp32(torch.cos),
    "sqrt": Function(torch.sqrt, 0, 3, SMALLEST),
    "tanh": Function(torch.tanh, 1, 4),
    # XNNPACK's bound is 1 here; with fp16 arithmetic ten of these 38,020 numbers are off by up to 1.16.
    "sigmoid": Function(torch.sigmoid, 1.2, 1, -25, 25),
    "elu": Function(functional.elu, 0.11, 5.12, -9, 9),
    "gelu": Function(functional.gelu, 10, 5),
    "hardswish": Function(functional.hardswish, 1.03, 10.3, -4, 4),
    "square": Function(torch.square, 1, 1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number(name: str) -> None:
    function = FUNCTIONS[name]
    numbers = NUMBERS[NUMBERS.clamp(function.low, function.high) == NUMBERS]
    built = call(f"edge.{name}", {"self": numbers}, None)
    program = EdgeProgram(built.module, built.ctx).to_backend(XnnpackPartitioner()).to_executorch()
    assert not program.kernel_names
    file = program.buffer
    exact = function.compute(numbers.double())
    allowed = EPSILON * torch.maximum(torch.tensor(function.absolute), exact.abs() * function.relative)
    allowed = allowed.clamp(min=SMALLEST)
    results = {
        "xir": Runtime.get().load_program(file).load_method("forward").execute([numbers])[0],
        "ExecuTorch": load_stock(file).forward([numbers])[0],
    }
    for runtime, got in results.items():
        assert got.dtype == torch.float16
        overflows = exact.abs() > LARGEST * (1 + EPSILON / 2)
        assert (got[overflows].isinf() | (got[overflows].abs() == LARGEST)).all()
        wrong = ~((got.double() - exact).abs() <= allowed) & (exact.abs() <= LARGEST)
        found = [
            (x.item(), y.item(), z.item()) for x, y, z in zip(*(v[wrong] for v in (numbers, got, exact)), strict=True)
        ]
        assert not found, f"{len(found)} of {len(numbers)} in {runtime}, such as {name}{found[0]}"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_what_is_returned_in_fp32_is_not_read_for_halves(dtype: torch.dtype) -> None:
    """A resized image in fp32, and halves that are computed of it."""

    def widened(x: Tensor) -> tuple[Tensor, Tensor]:
        y = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return y.float(), y * 2

    x = torch.randn(1, 4, 6, 6).to(dtype)
    program = to_edge(torch.export.export(Calling(lambda m, x: widened(x)), (x,))).to_backend(XnnpackPartitioner())
    agree(program.to_executorch().buffer, widened, [(x,)], rtol=0, atol=0, of_largest=4 * torch.finfo(dtype).eps)
