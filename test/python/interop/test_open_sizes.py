"""Programs that compute with open sizes, held to eager at many of them: one delegate in both runtimes; sizes that are
computed of open ones in xir's, with delegates and with kernels alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from reference.both_runtimes import Inputs, Program, check, delegates, holds, lower
from reference.dozens import dozens
from reference.modules import Calling
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

from xir.api import XnnpackPartitioner, to_edge
from xir.ir.diagnostics import DiagnosticError
from xir.runtime import Runtime

BATCH, LENGTH = Dim("batch", max=6), Dim("length", max=40)
HEIGHT, WIDTH = Dim("height", max=12), Dim("width", max=17)

ROWS = ({0: BATCH, 1: LENGTH},)
IMAGES = ({0: BATCH, 2: HEIGHT, 3: WIDTH},)

SIZES_OF_ROWS = ((3, 5), (6, 40), (1, 1), (2, 2), (6, 1), (1, 33))
SIZES_OF_IMAGES = ((3, 5, 7), (6, 12, 17), (1, 1, 1), (2, 12, 2), (4, 3, 9))

Functions = dict[str, Callable[[Tensor], Tensor]]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(2)


def all_of(functions: Iterable[Callable[[Tensor], Tensor]]) -> Program:
    """Functions as one program, since the time goes to compiling."""
    listed = list(functions)
    return Program(lambda x: [function(x) for function in listed])


def rows(n: int, length: int) -> Tensor:
    return torch.randn(n, length, 8)


def masked_mean(x: Tensor, mask: Tensor) -> Tensor:
    """As sentence transformers pool embeddings of tokens."""
    wide = mask.unsqueeze(-1).expand(x.size())
    return torch.sum(x * wide, 1) / torch.clamp(wide.sum(1), min=1e-9)


def attentive_statistics(x: Tensor) -> Tensor:
    """As speaker encoders pool frames."""
    weights = torch.softmax(x, 1)
    mean = (weights * x).sum(1)
    return torch.cat([mean, ((weights * x * x).sum(1) - mean * mean).clamp(min=1e-5).sqrt()], 1)


OF_ROWS: Functions = {
    "sum": lambda x: x.sum(1),
    "sum_kept": lambda x: x * x.sum(1, keepdim=True),
    "sum_innermost": lambda x: x.mean(2).sum(1),
    "sum_of_two": lambda x: x.sum((0, 1)),
    "sum_of_all": lambda x: x.sum(),
    "lengths": lambda x: functional.normalize(x, dim=1),
    "log_sum_exp": lambda x: torch.logsumexp(x, 1),
    "log_softmax": lambda x: functional.log_softmax(x, 1),
    "population_variance": lambda x: x.var(1, correction=0),
    "attentive_statistics": attentive_statistics,
    "largest": lambda x: x.amax(1),
    "smallest": lambda x: x.amin(1, keepdim=True) - x,
    "largest_of_two": lambda x: x.amax((0, 1)),
    "largest_of_all": lambda x: x.max(),
    "last": lambda x: x[:, -1],
    "statistics": lambda x: torch.cat(torch.var_mean(x, 1, correction=0), -1),
    "standardised": lambda x: (x - x.mean((1, 2), keepdim=True)) / (x.var((1, 2), keepdim=True) + 1e-7).sqrt(),
    "mean_of_the_last_of_three": lambda x: (x @ x.transpose(1, 2)).mean(-1),
    "log_softmax_innermost": lambda x: functional.log_softmax(x, 2),
    "largest_innermost": lambda x: x.amax(2),
    "largest_of_the_last_two": lambda x: x.amax((1, 2), keepdim=True),
    "smallest_of_batches": lambda x: x.amin(0),
    "every_other_feature": lambda x: torch.cat([-x[..., 1::2], x[..., ::2]], -1),
    "shifted_behind": lambda x: functional.pad(x, (0, 0, 1, -1)),
    "rolled": lambda x: x.roll(1, 1) - x,
    "windows": lambda x: functional.pad(x, (0, 0, 1, 1)).unfold(1, 3, 1).flatten(2),
    "attention_pooling": lambda x: (x * x.sum(-1, keepdim=True).softmax(1)).sum(1),
    "copies_for_each_text": lambda x: x.sum(1)[:, None] + x[:1, :1].repeat(x.shape[0], 1, 1),
}


@pytest.mark.parametrize("names", dozens([*OF_ROWS], str))
def test_of_rows(names: list[str]) -> None:
    holds(all_of(OF_ROWS[name] for name in names), [rows(*size) for size in SIZES_OF_ROWS], ROWS)


@pytest.mark.parametrize(("counted", "outside"), [(torch.float32, []), (torch.int64, ["edge._to_copy"])])
def test_masked_mean(counted: torch.dtype, outside: list[str]) -> None:
    def batch(n: int, length: int) -> Inputs:
        return rows(n, length), (torch.rand(n, length) > 0.3).to(counted)

    model = Calling(lambda m, x, mask: masked_mean(x, mask.float()))
    holds(model, [batch(*size) for size in SIZES_OF_ROWS], ({0: BATCH, 1: LENGTH}, {0: BATCH, 1: LENGTH}), outside)


def test_sums_of_ones_are_whole() -> None:
    """What is counted is compared and truncated: 4.9999995 would not do."""
    model = Program(lambda x: x.sum(1))
    lowered = lower(model, torch.ones(3, 5), ROWS)
    check(model, lowered, [torch.ones(n, length) for n, length in SIZES_OF_ROWS])
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method()
    for length in range(1, 41):
        (result,) = method.execute([torch.ones(2, length)])
        assert result.tolist() == [length, length]


MANY = Dim("many", min=2, max=600)


def test_of_two_and_more() -> None:
    """Variances, which one element has none of, and sums of hundreds."""
    model = Program(lambda x: (x.var(1), *torch.std_mean(x, 1), x.var(), x.sum(1)))
    holds(model, [rows(*size) for size in ((3, 5), (6, 40), (1, 2), (2, 7), (4, 600))], ({0: BATCH, 1: MANY},))


def test_norms_of_texts() -> None:
    model = nn.Sequential(nn.Conv1d(3, 8, 3, padding=1), nn.GroupNorm(8, 8), nn.GELU(), nn.GroupNorm(2, 8))
    texts = [torch.randn(n, 3, length) for n, length in ((2, 8), (1, 2), (4, 555))]
    holds(model, texts, ({0: BATCH, 2: MANY},))


def images(n: int, height: int, width: int, channels: int = 6) -> Tensor:
    return torch.randn(n, channels, height, width)


def generalized_mean(x: Tensor) -> Tensor:
    """GeM pooling."""
    return functional.adaptive_avg_pool2d(x.clamp(min=1e-6).pow(3), 1).pow(1 / 3).flatten(1)


AFFINE = torch.linspace(0.5, 2, 6), torch.linspace(-1, 1, 6)

OF_IMAGES: Functions = {
    "sum": lambda x: x.sum((2, 3)),
    "variance": lambda x: x.var((2, 3), correction=0, keepdim=True),
    "generalized_mean": generalized_mean,
    "instance_norm": lambda x: functional.instance_norm(x, weight=AFFINE[0], bias=AFFINE[1]),
    "group_norm": lambda x: functional.group_norm(x, 2, *AFFINE),
    "group_norm_of_one": lambda x: functional.group_norm(x, 1, *AFFINE),
    "largest": lambda x: x.amax((2, 3)),
    "adaptive_largest": lambda x: functional.adaptive_max_pool2d(x, 1),
    "last_rows": lambda x: x[:, :, -1:].relu(),
    "nearest": lambda x: functional.interpolate(x, scale_factor=2),
    "nearest_by_two_factors": lambda x: functional.interpolate(x, scale_factor=(3, 2)),
    "bilinear": lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear"),
    "bilinear_by_two_factors": lambda x: functional.interpolate(x, scale_factor=(4, 3), mode="bilinear"),
    "bilinear_by_half_steps": lambda x: functional.interpolate(x, scale_factor=(1.5, 2.5), mode="bilinear"),
    "bilinear_of_corners": lambda x: functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
    "bilinear_to_a_size": lambda x: functional.interpolate(x, size=(9, 14), mode="bilinear"),
    "nearest_to_a_size": lambda x: functional.interpolate(x, size=(9, 14)),
    "nearest_by_little": lambda x: functional.interpolate(x, scale_factor=(1.5, 2.25)),
    "bilinear_by_little": lambda x: functional.interpolate(x, scale_factor=(1.25, 1.1), mode="bilinear"),
    "largest_channel": lambda x: torch.cat([x.mean(1, keepdim=True), x.amax(1, keepdim=True)], 1),
    "largest_row": lambda x: x.amax((1, 3)),
    "log_softmax": lambda x: functional.log_softmax(x, 1),
    "shuffled": lambda x: functional.pixel_shuffle(torch.cat([x, x - 1], 1), 2),
    "replicated": lambda x: functional.pad(x, (2, 1, 0, 3), mode="replicate"),
    "zeros_around": lambda x: functional.pad(x, (2, 1, 0, 3)),
}


LARGER = {0: BATCH, 2: Dim("height", min=4, max=12), 3: Dim("width", min=4, max=17)}
EVEN = {0: BATCH, 2: 2 * Dim("rows", min=1, max=6), 3: 2 * Dim("columns", min=1, max=8)}

OF_LARGER_IMAGES: Functions = {
    "mirrored": lambda x: functional.pad(x, (2, 1, 0, 3), mode="reflect"),
    "without_ends": lambda x: x[:, :, 1:-1, :-2] + x[:, :, 2:, 2:],
    "rolled": lambda x: x.roll((1, -2), (2, 3)),
    "every_other_column": lambda x: x[..., 1::2].exp(),
}
OF_EVEN_IMAGES: Functions = {
    "gathered": lambda x: functional.pixel_unshuffle(x, 2),
    "halves_of_rows": lambda x: torch.cat([x[:, :, ::2], x[:, :, 1::2]], 1),
}


@pytest.mark.parametrize(("functions", "sizes"), [(OF_LARGER_IMAGES, LARGER), (OF_EVEN_IMAGES, EVEN)])
def test_of_larger_images(functions: Functions, sizes: Any) -> None:
    inputs = [images(*size) for size in ((3, 6, 8), (6, 12, 16), (1, 4, 4), (2, 12, 4))]
    holds(all_of(functions.values()), inputs, (sizes,))


def test_infinities_before_an_end() -> None:
    """What is cut off is nowhere multiplied by 0."""
    inputs = [rows(n, length).masked_fill(torch.rand(n, length, 8) > 0.7, -math.inf) for n, length in ((3, 5), (6, 40))]
    model = Program(lambda x: torch.cat([x[:, 1:-1], x[:, :-2], x.roll(1, 1)], 1))
    lowered = lower(model, inputs[0], ({0: BATCH, 1: Dim("length", min=4, max=40)},))
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method()
    assert delegates(lowered) == 1
    for x in inputs:
        assert torch.equal(method.execute([x])[0], model(x))


@pytest.mark.parametrize(("size", "step"), [(8, 8), (8, 4), (3, 2)])
def test_patches_of_a_series(size: int, step: int) -> None:
    """Any number of them, as of PatchTST: they were those of the example alone."""
    layer = nn.Linear(size, 5)
    model = Program(lambda x: layer(functional.pad(x, (0, step), mode="replicate").unfold(-1, size, step)))
    lengths = Dim("patches", min=2, max=12)
    series = [torch.randn(n, 3, step * count) for n, count in ((2, 4), (6, 12), (1, 3))]
    holds(model, series, ({0: BATCH, 2: step * lengths},))


NORMS = [name for name in OF_IMAGES if "norm" in name]
"""Which one pixel has no variance for."""


@pytest.mark.parametrize(
    "names", [*dozens([name for name in OF_IMAGES if name not in NORMS], str), *dozens(NORMS, str)]
)
def test_of_images(names: list[str]) -> None:
    sizes = [size for size in SIZES_OF_IMAGES if names[0] not in NORMS or size[1] > 1]
    holds(all_of(OF_IMAGES[name] for name in names), [images(*size) for size in sizes], IMAGES)


@pytest.mark.parametrize(
    ("height", "width", "larger"),
    [
        (2 * HEIGHT, 2 * WIDTH, lambda h, w: (2 * h, 2 * w)),
        (2 * HEIGHT + 1, WIDTH + 3, lambda h, w: (2 * h + 1, w + 3)),
        (Dim("rows", max=30), Dim("columns", max=30), lambda h, w: (h + 9, 21 - w)),
    ],
    ids=["doubled", "in_step", "any"],
)
def test_to_the_size_of_another(height: Any, width: Any, larger: Callable[[int, int], Any]) -> None:
    """As feature pyramids put a level upon the next finer one."""
    inputs = [(images(n, h, w), images(n, *larger(h, w))) for n, h, w in SIZES_OF_IMAGES]
    modes = "nearest", "bilinear"
    model = Calling(lambda m, x, y: [functional.interpolate(x, size=y.shape[-2:], mode=mode) + y for mode in modes])
    holds(model, inputs, (*IMAGES, {0: BATCH, 2: height, 3: width}))


def test_large_images_are_resized_by_a_kernel() -> None:
    """Where products with matrices take longer."""
    model = nn.Sequential(nn.Conv2d(3, 2, 1), nn.Upsample(scale_factor=2, mode="bilinear"))
    shapes = ({2: Dim("height", min=2, max=257), 3: Dim("width", min=2, max=20)},)
    images = [torch.randn(1, 3, *size) for size in ((9, 5), (257, 20), (2, 2))]
    holds(model, images, shapes, ("edge.upsample_bilinear2d.vec",))


@pytest.mark.parametrize("factor", [1, 2])
def test_pixels_of_any_number_of_channels(factor: int) -> None:
    """Which no filter is made for: by kernels, unless nothing moves."""
    model = Calling(lambda m, x, y: functional.pixel_unshuffle(x, factor) * y)
    shapes = ({1: Dim("channels", max=6), 2: 2 * Dim("rows", max=6), 3: 2 * Dim("columns", max=6)}, None)
    inputs = [(torch.randn(1, *size), torch.tensor(2.0)) for size in ((3, 4, 8), (6, 12, 12), (2, 4, 4))]
    lowered = lower(model, inputs[0], shapes)
    check(model, lowered, inputs, () if factor == 1 else ("edge.pixel_unshuffle",))


# Sizes that are computed of open ones.


def holds_in_both_forms(functions: Functions, shapes: dict[int, Dim], sizes: list[tuple[int, ...]]) -> None:
    """Right for all sizes, the first being the example's, with delegates and with kernels alone."""
    model = all_of(functions.values()).eval()
    program = to_edge(torch.export.export(model, (torch.randn(sizes[0]),), dynamic_shapes=(shapes,)))
    for form in (program, program.to_backend(XnnpackPartitioner())):
        method = Runtime.get().load_program(form.to_executorch().buffer).load_method()
        for size in sizes:
            x = torch.randn(size)
            for name, found, wanted in zip(functions, method.execute([x]), model(x), strict=True):
                torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5, msg=f"{name} of {size}: ".__add__)


FACTORS = {"nearest": (1.3, 2, 2.5), "nearest-exact": (2,), "bilinear": (0.5, 2, 2.5), "bicubic": (0.5, 2, 2.5)}
RESIZED: Functions = {
    **{
        f"{mode} by {by}": lambda x, mode=mode, by=by: functional.interpolate(x, scale_factor=by, mode=mode)
        for mode, factors in FACTORS.items()
        for by in factors
    },
    **{
        f"smoothed {mode}": lambda x, mode=mode: functional.interpolate(x, None, 0.5, mode, antialias=True)
        for mode in ("bilinear", "bicubic")
    },
    "to a size": lambda x: functional.interpolate(x, (7, 9), mode="bilinear"),
}
ANY_IMAGE = {2: Dim("height", min=4, max=16), 3: Dim("width", min=4, max=16)}


def test_resized_images() -> None:
    holds_in_both_forms(RESIZED, ANY_IMAGE, [(1, 2, 8, 12), (1, 2, 4, 4), (1, 2, 16, 16), (1, 2, 5, 15)])


@pytest.mark.parametrize("to", [{"scale_factor": 1.3}, {"size": (7, 9)}])
def test_refused(to: dict[str, Any]) -> None:
    """Torch makes arithmetic of floats of it, which has no form; taking the example's sizes would be wrong."""
    model = Program(lambda x: functional.interpolate(x, **to, mode="bicubic"))
    exported = torch.export.export(model, (torch.randn(1, 2, 8, 12),), dynamic_shapes=(ANY_IMAGE,))
    with pytest.raises(DiagnosticError, match=r"'(sym_float|truediv)' has no form here"):
        to_edge(exported)


LINES: Functions = {
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
    "half_rounded_up": lambda x: functional.pad(x, (0, 0, -(-x.shape[0] // 2), 0)),
    "from_the_end": lambda x: torch.cat((x, x + 1))[-x.shape[0] :],
}


def test_lines() -> None:
    holds_in_both_forms(LINES, {0: Dim("length", min=2, max=16)}, [(6, 8), (2, 8), (16, 8), (7, 8)])
