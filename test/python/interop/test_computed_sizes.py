"""Sizes that a program computes of open ones, for images and numbers: at the least, the example's and the greatest
sizes, against eager, in delegates and in kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.both_runtimes import Program
from torch import Tensor
from torch.export import Dim
from torch.nn.functional import interpolate, pad

from xir.api import XnnpackPartitioner, to_edge
from xir.ir.diagnostics import DiagnosticError
from xir.runtime import Runtime

HEIGHT, WIDTH, LENGTH = Dim("height", min=4, max=32), Dim("width", min=4, max=32), Dim("length", min=2, max=16)


def holds(function: Callable[[Tensor], Tensor], shapes: dict[int, Dim], sizes: list[tuple[int, ...]]) -> None:
    """Right for all sizes, the first being the example's."""
    torch.manual_seed(1)
    model = Program(function).eval()
    program = to_edge(torch.export.export(model, (torch.randn(sizes[0]),), dynamic_shapes=(shapes,)))
    for form in (program, program.to_backend(XnnpackPartitioner())):
        method = Runtime.get().load_program(form.to_executorch().buffer).load_method()
        for size in sizes:
            x = torch.randn(size)
            wanted = model(x)
            torch.testing.assert_close(method.execute([x])[0], wanted, rtol=1e-5, atol=1e-5)


IMAGES = [(1, 2, 8, 12), (1, 2, 4, 4), (1, 2, 32, 32), (1, 2, 5, 31)]

FACTORS = [("nearest", 1.3), ("nearest", 2.5), ("nearest-exact", 2), ("bilinear", 2.5), ("bicubic", 0.5)]
MORE_FACTORS = [("nearest", 2), ("bilinear", 2), ("bilinear", 0.5), ("bicubic", 2), ("bicubic", 2.5)]


@pytest.mark.parametrize(
    ("mode", "factor"), [*FACTORS, *(pytest.param(*each, marks=pytest.mark.exhaustive) for each in MORE_FACTORS)]
)
def test_images_by_a_factor(mode: str, factor: float) -> None:
    holds(lambda x: interpolate(x, scale_factor=factor, mode=mode), {2: HEIGHT, 3: WIDTH}, IMAGES)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_smoothed_images_by_a_factor(mode: str) -> None:
    holds(lambda x: interpolate(x, scale_factor=0.5, mode=mode, antialias=True), {2: HEIGHT, 3: WIDTH}, IMAGES)


def test_images_to_a_size() -> None:
    holds(lambda x: interpolate(x, (7, 9), mode="bilinear"), {2: HEIGHT, 3: WIDTH}, IMAGES)


@pytest.mark.parametrize("to", [{"scale_factor": 1.3}, {"size": (7, 9)}])
def test_refused(to: dict[str, Any]) -> None:
    """Torch makes arithmetic of floats of it, which has no form; taking the example's sizes would be wrong."""
    model = Program(lambda x: interpolate(x, **to, mode="bicubic"))
    exported = torch.export.export(model, (torch.randn(IMAGES[0]),), dynamic_shapes=({2: HEIGHT, 3: WIDTH},))
    with pytest.raises(DiagnosticError, match=r"'(sym_float|truediv)' has no form here"):
        to_edge(exported)


LINES: dict[str, Callable[[Tensor], Tensor]] = {
    "down": lambda x: torch.arange(x.shape[0] - 1, -1, -1) * x[:, 0],
    "down_in_floats": lambda x: torch.arange(x.shape[0], 0, -1, dtype=torch.float32) + x[:, 0],
    "down_by_two": lambda x: torch.arange(2 * x.shape[0], 0, -2) + x[:, 0],
    "down_by_four": lambda x: torch.arange(4 * x.shape[0] - 2, 0, -4) + x[:, 0],
    "down_to_a_size": lambda x: torch.arange(20, x.shape[0], -1) * 2.5,
    "from_a_size": lambda x: torch.arange(x.shape[0], 20) * 2.5,
    "by_two": lambda x: torch.arange(0, 2 * x.shape[0], 2) * 2.5,
    "around_0": lambda x: torch.arange(-x.shape[0], x.shape[0]) * 2.5,
    "distances": lambda x: x @ x.mT + torch.arange(x.shape[0] - 1, -x.shape[0], -1)[: x.shape[0]],
    "turned_around": lambda x: x[torch.arange(x.shape[0] - 1, -1, -1)],
    "half_rounded_up": lambda x: pad(x, (0, 0, -(-x.shape[0] // 2), 0)),
    "from_the_end": lambda x: torch.cat((x, x + 1))[-x.shape[0] :],
}


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str) -> None:
    holds(LINES[name], {0: LENGTH}, [(6, 8), (2, 8), (16, 8), (7, 8)])
