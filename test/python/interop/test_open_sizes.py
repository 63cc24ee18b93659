"""Programs that compute with open sizes, held to eager at many of them: one delegate in both runtimes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
import torch
from reference.both_runtimes import Inputs, Program, check, delegates, lower
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

from xir.runtime import Runtime

BATCH, LENGTH = Dim("batch", max=6), Dim("length", max=40)
HEIGHT, WIDTH = Dim("height", max=12), Dim("width", max=17)

ROWS = ({0: BATCH, 1: LENGTH},)
IMAGES = ({0: BATCH, 2: HEIGHT, 3: WIDTH},)

SIZES_OF_ROWS = ((3, 5), (6, 40), (1, 1), (2, 2), (6, 1), (1, 33))
SIZES_OF_IMAGES = ((3, 5, 7), (6, 12, 17), (1, 1, 1), (2, 12, 2), (4, 3, 9))


class OfTwo(nn.Module):
    """A function of two tensors."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.function(x, y)


def holds(model: nn.Module, inputs: Sequence[Inputs], shapes: Any, outside: Sequence[str] = ()) -> None:
    """One delegate, and kernels of the names `outside`, right for all inputs; the first are those of the export."""
    lowered = lower(model, inputs[0], shapes)
    assert delegates(lowered) == 1
    check(model, lowered, inputs, outside)


def groups(names: Iterable[str]) -> list[Any]:
    """Names by sevens: what they stand for is compiled in one program, where the time goes to compiling."""
    listed = list(names)
    parts = [listed[at : at + 7] for at in range(0, len(listed), 7)]
    return [pytest.param(part, id=" ".join(part)) for part in parts]


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


OF_ROWS: dict[str, Callable[[Tensor], Tensor]] = {
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


@pytest.mark.parametrize("names", groups(OF_ROWS))
def test_of_rows(names: list[str]) -> None:
    torch.manual_seed(2)
    model = Program(lambda x: [OF_ROWS[name](x) for name in names])
    holds(model, [rows(*size) for size in SIZES_OF_ROWS], ROWS)


@pytest.mark.parametrize(
    "function", [lambda x: x.var(1), lambda x: torch.cat(torch.std_mean(x, 1), 1), lambda x: x.var()]
)
def test_variances(function: Callable[[Tensor], Tensor]) -> None:
    torch.manual_seed(2)
    holds(Program(function), [rows(*size) for size in ((3, 5), (6, 40), (1, 2), (2, 7))], ROWS)


@pytest.mark.parametrize(("counted", "outside"), [(torch.float32, []), (torch.int64, ["edge._to_copy"])])
def test_masked_mean(counted: torch.dtype, outside: list[str]) -> None:
    torch.manual_seed(2)

    def batch(n: int, length: int) -> Inputs:
        return rows(n, length), (torch.rand(n, length) > 0.3).to(counted)

    model = OfTwo(lambda x, mask: masked_mean(x, mask.float()))
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


def test_sums_of_hundreds() -> None:
    torch.manual_seed(2)
    lengths = Dim("many", min=2, max=600)
    model = Program(lambda x: torch.cat([x.sum(1), x.var(1)], 1))
    holds(model, [rows(2, 7), rows(4, 600), rows(1, 2)], ({0: BATCH, 1: lengths},))


def test_norms_of_texts() -> None:
    torch.manual_seed(2)
    model = nn.Sequential(nn.Conv1d(3, 8, 3, padding=1), nn.GroupNorm(8, 8), nn.GELU(), nn.GroupNorm(2, 8))
    texts = [torch.randn(n, 3, length) for n, length in ((2, 8), (1, 2), (4, 555))]
    holds(model, texts, ({0: BATCH, 2: Dim("many", min=2, max=600)},))


def images(n: int, height: int, width: int, channels: int = 6) -> Tensor:
    return torch.randn(n, channels, height, width)


def generalized_mean(x: Tensor) -> Tensor:
    """GeM pooling."""
    return functional.adaptive_avg_pool2d(x.clamp(min=1e-6).pow(3), 1).pow(1 / 3).flatten(1)


AFFINE = torch.linspace(0.5, 2, 6), torch.linspace(-1, 1, 6)

OF_IMAGES: dict[str, Callable[[Tensor], Tensor]] = {
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

OF_LARGER_IMAGES: dict[str, tuple[Callable[[Tensor], Tensor], Any]] = {
    "mirrored": (lambda x: functional.pad(x, (2, 1, 0, 3), mode="reflect"), LARGER),
    "without_ends": (lambda x: x[:, :, 1:-1, :-2] + x[:, :, 2:, 2:], LARGER),
    "rolled": (lambda x: x.roll((1, -2), (2, 3)), LARGER),
    "every_other_column": (lambda x: x[..., 1::2].exp(), LARGER),
    "gathered": (lambda x: functional.pixel_unshuffle(x, 2), EVEN),
    "halves_of_rows": (lambda x: torch.cat([x[:, :, ::2], x[:, :, 1::2]], 1), EVEN),
}


@pytest.mark.parametrize("name", OF_LARGER_IMAGES)
def test_of_larger_images(name: str) -> None:
    torch.manual_seed(2)
    function, sizes = OF_LARGER_IMAGES[name]
    holds(Program(function), [images(*size) for size in ((3, 6, 8), (6, 12, 16), (1, 4, 4), (2, 12, 4))], (sizes,))


def test_infinities_before_an_end() -> None:
    """What is cut off is nowhere multiplied by 0."""
    torch.manual_seed(2)
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
    torch.manual_seed(2)
    layer = nn.Linear(size, 5)
    model = Program(lambda x: layer(functional.pad(x, (0, step), mode="replicate").unfold(-1, size, step)))
    lengths = Dim("patches", min=2, max=12)
    series = [torch.randn(n, 3, step * count) for n, count in ((2, 4), (6, 12), (1, 3))]
    holds(model, series, ({0: BATCH, 2: step * lengths},))


class Columns(nn.Module):
    """Columns of an image as steps of a text (CRNN), for CTC."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.MaxPool2d((2, 1)),
        )
        self.head = nn.Linear(32, 12)

    def forward(self, x: Tensor) -> Tensor:
        image = self.layers(x)
        n, channels, height, width = image.shape
        return functional.log_softmax(self.head(image.permute(3, 0, 1, 2).reshape(width, n, channels * height)), 2)


def test_columns_as_steps() -> None:
    torch.manual_seed(2)
    inputs = [torch.randn(n, 1, 16, width) for n, width in ((2, 24), (6, 40), (1, 4), (3, 33))]
    holds(Columns(), inputs, ({0: BATCH, 3: Dim("width", min=4, max=40)},))


class Speech(nn.Module):
    """Frames of convolutions with strides, and a transformer's layer, as wav2vec 2.0."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(1, 8, 10, 5), nn.Conv1d(8, 8, 3, 2), nn.Conv1d(8, 8, 3, 2)])
        self.project = nn.Linear(8, 16)
        self.encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        frames = x[:, None]
        for layer in self.layers:
            frames = functional.gelu(layer(frames))
        return self.encoder(self.project(frames.transpose(1, 2)))


def test_frames_of_speech() -> None:
    """Quotients of quotients are one, so that frames and what attention makes of them have the same number."""
    torch.manual_seed(2)
    inputs = [torch.randn(n, samples) for n, samples in ((2, 800), (4, 1000), (1, 400), (3, 777))]
    holds(Speech(), inputs, ({0: BATCH, 1: Dim("samples", min=400, max=1000)},))


NORMS = [name for name in OF_IMAGES if "norm" in name]
"""Which one pixel has no variance for."""


@pytest.mark.parametrize("names", [*groups(name for name in OF_IMAGES if name not in NORMS), *groups(NORMS)])
def test_of_images(names: list[str]) -> None:
    torch.manual_seed(2)
    model = Program(lambda x: [OF_IMAGES[name](x) for name in names])
    holds(model, [images(*size) for size in SIZES_OF_IMAGES if names[0] not in NORMS or size[1] > 1], IMAGES)


def resized(mode: str) -> Callable[[Tensor, Tensor], Tensor]:
    """As feature pyramids put a level upon the next finer one."""
    return lambda x, y: functional.interpolate(x, size=y.shape[-2:], mode=mode) + y


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize(
    ("height", "width", "larger"),
    [
        (2 * HEIGHT, 2 * WIDTH, lambda h, w: (2 * h, 2 * w)),
        (2 * HEIGHT + 1, WIDTH + 3, lambda h, w: (2 * h + 1, w + 3)),
        (Dim("rows", max=30), Dim("columns", max=30), lambda h, w: (h + 9, 21 - w)),
    ],
    ids=["doubled", "in_step", "any"],
)
def test_to_the_size_of_another(mode: str, height: Any, width: Any, larger: Callable[[int, int], Any]) -> None:
    torch.manual_seed(2)
    inputs = [(images(n, h, w), images(n, *larger(h, w))) for n, h, w in SIZES_OF_IMAGES]
    holds(OfTwo(resized(mode)), inputs, ({0: BATCH, 2: HEIGHT, 3: WIDTH}, {0: BATCH, 2: height, 3: width}))


class Tokens(nn.Module):
    """An image's pixels as tokens between convolutions, as in blocks of Segformer and PVT, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(6, 8, 3, padding=1)
        self.norm, self.first, self.last = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)
        self.between = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        n, _, height, width = x.shape
        rows = self.patches(x).flatten(2).transpose(1, 2)
        wide = self.first(self.norm(rows)).transpose(1, 2).view(n, 16, height, width)
        rows = rows + self.last(functional.gelu(self.between(wide).flatten(2).transpose(1, 2)))
        image = self.head(rows).permute(0, 2, 1).reshape(n, -1, height, width)
        return functional.interpolate(image, scale_factor=2, mode="bilinear")


def test_pixels_as_tokens() -> None:
    torch.manual_seed(2)
    holds(Tokens(), [images(*size) for size in SIZES_OF_IMAGES], IMAGES)


class UNet(nn.Module):
    """Halved twice, and resized back to what it was before, whatever its size."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(6, 8, 3, padding=1), nn.Conv2d(8, 2, 1)
        self.down = nn.ModuleList(nn.Conv2d(8, 8, 3, stride=2, padding=1) for _ in range(2))
        self.up = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        levels = [self.first(x).relu()]
        for down in self.down:
            levels.append(down(levels[-1]).relu())
        y = levels.pop()
        for up in self.up:
            skipped = levels.pop()
            y = up(functional.interpolate(y, size=skipped.shape[-2:], mode="bilinear") + skipped).relu()
        return self.last(y)


def test_unet_of_any_size() -> None:
    torch.manual_seed(2)
    shapes = ({0: BATCH, 2: Dim("height", min=5, max=17), 3: Dim("width", min=5, max=17)},)
    holds(UNet(), [images(*size) for size in ((3, 6, 7), (6, 17, 17), (1, 5, 5), (2, 16, 9), (4, 5, 12))], shapes)


def test_large_images_are_resized_by_a_kernel() -> None:
    """Where products with matrices take longer."""
    model = nn.Sequential(nn.Conv2d(3, 2, 1), nn.Upsample(scale_factor=2, mode="bilinear"))
    shapes = ({2: Dim("height", min=2, max=257), 3: Dim("width", min=2, max=20)},)
    images = [torch.randn(1, 3, *size) for size in ((9, 5), (257, 20), (2, 2))]
    holds(model, images, shapes, ("edge.upsample_bilinear2d.vec",))


@pytest.mark.parametrize("factor", [1, 2])
def test_pixels_of_any_number_of_channels(factor: int) -> None:
    """Which no filter is made for: by kernels, unless nothing moves."""
    model = OfTwo(lambda x, y: functional.pixel_unshuffle(x, factor) * y)
    shapes = ({1: Dim("channels", max=6), 2: 2 * Dim("rows", max=6), 3: 2 * Dim("columns", max=6)}, None)
    inputs = [(torch.randn(1, *size), torch.tensor(2.0)) for size in ((3, 4, 8), (6, 12, 12), (2, 4, 4))]
    lowered = lower(model, inputs[0], shapes)
    check(model, lowered, inputs, () if factor == 1 else ("edge.pixel_unshuffle",))
