"""Models with open sizes: one file for every size up to the bound, one delegate, eager's numbers in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from reference.both_runtimes import holds, lower
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from xir.dialects import edge
from xir.models.vision import torchvision_models
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes self.lstm:UserWarning")

BATCH, LENGTH, OTHER = Dim("batch", max=6), Dim("length", max=24), Dim("other", max=15)

Shapes = Iterable[tuple[int, ...]]
Inputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class Case:
    """A model, its sizes in each call, what makes inputs of them, and what is open in these."""

    build: Callable[[], nn.Module]
    sizes: Shapes
    inputs: Callable[..., Inputs | Tensor]
    open: tuple[Any, ...]
    outside: tuple[str, ...] = ()
    """The ops that stay outside the one delegate."""


# Images


def mobilenet() -> nn.Module:
    """The beginning of MobileNetV2, with each kind of its blocks: without expansion, with a stride, and with a sum."""
    blocks = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 2]]
    model = torchvision_models().MobileNetV2(num_classes=10, inverted_residual_setting=blocks)
    for norm in model.modules():
        if isinstance(norm, nn.BatchNorm2d):
            # Small variances beside epsilon, and activations that ReLU6 cuts off.
            norm.get_buffer("running_mean").normal_()
            norm.get_buffer("running_var").uniform_(1e-3, 1)
    return model


def patches() -> nn.Module:
    """The beginning of a vision transformer: patches behind a learned token, which each image gets a copy of."""

    def forward(m: Any, x: Tensor) -> Tensor:
        rows = m.patches(x).flatten(2).transpose(1, 2)
        return m.encoder(torch.cat([m.token.expand(x.shape[0], -1, -1), rows], 1))[:, 0]

    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    token = nn.Parameter(torch.randn(1, 1, 16))
    return Calling(forward, patches=nn.Conv2d(3, 16, 4, stride=4), token=token, encoder=layer)


def segmenter() -> nn.Module:
    """An image's pixels of two classes, as a U-Net finds them: halved, doubled, and beside what it was before."""

    def forward(m: Any, x: Tensor) -> Tensor:
        first = m.first(x).relu()
        doubled = functional.interpolate(m.down(first).relu(), scale_factor=2)
        return m.last(torch.cat([doubled, first], 1))

    first, down = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, stride=2, padding=1)
    return Calling(forward, first=first, down=down, last=nn.Conv2d(12, 2, 3, padding=1))


def unet() -> nn.Module:
    """Halved twice, and resized back to what it was before, whatever its size."""

    def forward(m: Any, x: Tensor) -> Tensor:
        levels = [m.first(x).relu()]
        for down in m.down:
            levels.append(down(levels[-1]).relu())
        y = levels.pop()
        for up in m.up:
            skipped = levels.pop()
            y = up(functional.interpolate(y, size=skipped.shape[-2:], mode="bilinear") + skipped).relu()
        return m.last(y)

    down = nn.ModuleList(nn.Conv2d(8, 8, 3, stride=2, padding=1) for _ in range(2))
    up = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(2))
    return Calling(forward, first=nn.Conv2d(6, 8, 3, padding=1), last=nn.Conv2d(8, 2, 1), down=down, up=up)


def pixels_as_tokens() -> nn.Module:
    """Between convolutions, as in blocks of Segformer and PVT, and a head."""

    def forward(m: Any, x: Tensor) -> Tensor:
        n, _, height, width = x.shape
        rows = m.patches(x).flatten(2).transpose(1, 2)
        wide = m.first(m.norm(rows)).transpose(1, 2).view(n, 16, height, width)
        rows = rows + m.last(functional.gelu(m.between(wide).flatten(2).transpose(1, 2)))
        image = m.head(rows).permute(0, 2, 1).reshape(n, -1, height, width)
        return functional.interpolate(image, scale_factor=2, mode="bilinear")

    parts = {"norm": nn.LayerNorm(8), "first": nn.Linear(8, 16), "last": nn.Linear(16, 8), "head": nn.Linear(8, 4)}
    between = nn.Conv2d(16, 16, 3, padding=1, groups=16)
    return Calling(forward, patches=nn.Conv2d(6, 8, 3, padding=1), between=between, **parts)


def columns_as_steps() -> nn.Module:
    """Columns of an image as steps of a text (CRNN), for CTC."""

    def forward(m: Any, x: Tensor) -> Tensor:
        image = m.layers(x)
        n, channels, height, width = image.shape
        return functional.log_softmax(m.head(image.permute(3, 0, 1, 2).reshape(width, n, channels * height)), 2)

    first, second = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
    layers = nn.Sequential(first, nn.ReLU(), nn.MaxPool2d(2), second, nn.MaxPool2d((2, 1)))
    return Calling(forward, layers=layers, head=nn.Linear(32, 12))


def images(channels: int = 6) -> Callable[..., Tensor]:
    return lambda n, height, width: torch.randn(n, channels, height, width)


def open_image(least: int, most: int, factor: int = 1) -> tuple[Any, ...]:
    """Of any batch, and factor times so many rows and columns."""
    return ({0: BATCH, 2: factor * Dim("height", min=least, max=most), 3: factor * Dim("width", min=least, max=most)},)


# Texts


def speech() -> nn.Module:
    """Frames of convolutions with strides, and a transformer's layer, as wav2vec 2.0.

    Quotients of quotients are one, so that frames and what attention makes of them have the same number.
    """

    def forward(m: Any, x: Tensor) -> Tensor:
        frames = x[:, None]
        for layer in m.layers:
            frames = functional.gelu(layer(frames))
        return m.encoder(m.project(frames.transpose(1, 2)))

    layers = nn.ModuleList([nn.Conv1d(1, 8, 10, 5), nn.Conv1d(8, 8, 3, 2), nn.Conv1d(8, 8, 3, 2)])
    encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return Calling(forward, layers=layers, project=nn.Linear(8, 16), encoder=encoder)


def relative_positions() -> nn.Module:
    """Scores of each two rows, with a term for each head that depends on where these are."""

    def forward(m: Any, x: Tensor) -> Tensor:
        heads, length = x.unflatten(-1, (4, 4)).transpose(1, 2), x.shape[1]
        return heads @ heads.transpose(-1, -2) + m.bias[:length, :length].permute(2, 0, 1)

    return Calling(forward, bias=torch.randn(25, 25, 4).index_fill_(0, torch.tensor([3]), -torch.inf))


def states_of_tokens() -> nn.Module:
    """States that begin as zeros; no floating-point input says how many there are."""

    def forward(m: Any, tokens: Tensor) -> Tensor:
        x = m.tokens(tokens)
        state = x.new_zeros(x.shape[0], 16)
        for row in x.unbind(1):
            state = torch.tanh(row + m.next(state))
        return state

    return Calling(forward, tokens=nn.Embedding(50, 16), next=nn.Linear(16, 16))


def triangles(m: Any, x: Tensor) -> Tensor:
    return torch.cat([x.triu(-1), x.tril(2), (x @ x.mT).triu(1) @ x], -1)


def rows(n: int, length: int) -> Tensor:
    return torch.randn(n, length, 16)


OF_ROWS = ((2, 3), (3, 5), (1, 9), (6, 1), (2, 2), (6, 9), (1, 4)), rows, ({0: BATCH, 1: LENGTH},)


# Convolutions along an open dimension, whose result is cut off at its end


def causal() -> nn.Module:
    """Layers of a temporal convolutional network: padded on both sides, their ends cut off."""

    def forward(m: Any, x: Tensor) -> Tensor:
        for dilation, layer in zip((1, 2, 4), m.layers, strict=True):
            x = x + layer(x)[:, :, : -2 * dilation].relu()
        return x

    layers = (nn.Conv1d(16, 16, 3, padding=2 * dilation, dilation=dilation) for dilation in (1, 2, 4))
    return Calling(forward, layers=nn.ModuleList(layers))


def positions() -> nn.Module:
    """The positions of wav2vec 2.0: a convolution of even width gives one row too many."""
    conv = weight_norm(nn.Conv1d(16, 16, 8, padding=4, groups=4), name="weight", dim=2)
    return Calling(lambda m, x: x + functional.gelu(m.conv(x)[:, :, :-1]), conv=conv)


def depthwise() -> nn.Module:
    """Mamba's convolution, cut to the length of its input, which more comes of."""
    conv = nn.Conv1d(16, 16, 4, padding=3, groups=16)
    return Calling(lambda m, x: functional.silu(m.conv(x)[..., : x.shape[-1]]) * x, conv=conv)


def strided() -> nn.Module:
    """Two steps of a convolution that goes two at a time."""
    return Calling(lambda m, x: m.conv(x)[..., :-2], conv=nn.Conv1d(16, 8, 5, padding=4, stride=2))


CROPPED = (
    ((2, 9), (1, 4), (4, 200), (3, 31)),
    lambda n, length: torch.randn(n, 16, length),
    ({0: BATCH, 2: Dim("length", min=4, max=200)},),
)


# Attention as `nn.MultiheadAttention` and what is made of it compute it, with masks of padding


def attending(*, weights: bool = True, average: bool = True, batch_first: bool = True, **options: Any) -> nn.Module:
    """A sequence, or a second one, attended to; results and the weights, of each head or their means."""

    def forward(m: Any, x: Tensor, mask: Tensor | None = None, y: Tensor | None = None) -> Any:
        x = x if batch_first else x.transpose(0, 1)
        y = x if y is None else y
        result = m.attention(x, y, y, key_padding_mask=mask, need_weights=weights, average_attn_weights=average)
        return result if weights else result[0]

    return Calling(forward, attention=nn.MultiheadAttention(16, 4, batch_first=batch_first, **options))


def encoding() -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 4, 32, norm_first=True, activation="gelu")
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return Calling(lambda m, x, mask: m.encoder(x.transpose(0, 1), src_key_padding_mask=mask), encoder=encoder)


def translating() -> nn.Module:
    """Encoder and decoder, which sees what came before and what the encoder has seen."""

    def forward(m: Any, x: Tensor, mask: Tensor, y: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(y.shape[1])
        masks = {"src_key_padding_mask": mask, "memory_key_padding_mask": mask}
        return m.transformer(x, y, tgt_mask=causal, tgt_is_causal=True, **masks)

    transformer = nn.Transformer(16, 4, 2, 2, 32, batch_first=True)
    transformer.encoder.use_nested_tensor = False
    return Calling(forward, transformer=transformer)


def padding(n: int, length: int) -> Tensor:
    """Which elements are hidden: some at the end, never all of a row."""
    return torch.arange(length)[None] >= torch.randint(1, length + 1, (n, 1))


OF_TWO = ((3, 7, 5), (6, 24, 15), (1, 1, 1), (2, 2, 9), (6, 1, 15), (1, 23, 2), (5, 9, 9))
"""Batch, length, and the length of the second sequence."""
X, Y = {0: BATCH, 1: LENGTH}, {0: BATCH, 1: OTHER}
MASK = ("edge._to_copy",)
"""What makes numbers of a mask of booleans."""


def padded(build: Callable[[], nn.Module]) -> Case:
    return Case(build, OF_TWO, lambda n, length, _: (rows(n, length), padding(n, length)), (X, X), MASK)


CASES = {
    "mobilenet": Case(mobilenet, ((2, 48, 48), (6, 48, 48), (1, 48, 48)), images(3), ({0: BATCH},)),
    "patches": Case(patches, ((2, 16, 16), (6, 16, 16), (1, 16, 16)), images(3), ({0: BATCH},)),
    "segmenter": Case(segmenter, ((2, 8, 6), (1, 18, 18), (3, 4, 16)), images(3), open_image(2, 9, factor=2)),
    "unet": Case(unet, ((3, 6, 7), (6, 17, 17), (1, 5, 5), (2, 16, 9), (4, 5, 12)), images(), open_image(5, 17)),
    "pixels_as_tokens": Case(
        pixels_as_tokens, ((3, 5, 7), (6, 12, 17), (1, 1, 1), (2, 12, 2), (4, 3, 9)), images(), open_image(1, 17)
    ),
    "columns_as_steps": Case(
        columns_as_steps,
        ((2, 16, 24), (6, 16, 40), (1, 16, 4), (3, 16, 33)),
        images(1),
        ({0: BATCH, 3: Dim("width", min=4, max=40)},),
    ),
    "speech": Case(
        speech,
        ((2, 800), (4, 1000), (1, 400), (3, 777)),
        torch.randn,
        ({0: BATCH, 1: Dim("samples", min=400, max=1000)},),
    ),
    "causal_attention": Case(
        lambda: Calling(lambda m, x: functional.scaled_dot_product_attention(x, x, 2 * x, is_causal=True)), *OF_ROWS
    ),
    "relative_positions": Case(relative_positions, *OF_ROWS),
    "triangles": Case(lambda: Calling(triangles), *OF_ROWS),
    "lstm": Case(
        lambda: Calling(lambda m, x: m.lstm(x)[0], lstm=nn.LSTM(16, 8, 2, batch_first=True)),
        ((3, 3), (1, 3), (6, 3), (2, 3)),
        rows,
        ({0: BATCH},),
    ),
    "states_of_tokens": Case(
        states_of_tokens,
        ((3, 3), (1, 3), (6, 3), (2, 3)),
        lambda n, length: torch.randint(50, (n, length)),
        ({0: BATCH},),
        ("edge.embedding",),
    ),
    "causal": Case(causal, *CROPPED),
    "positions": Case(positions, *CROPPED),
    "depthwise": Case(depthwise, *CROPPED),
    "strided": Case(strided, *CROPPED),
    "weights_of_attention": Case(attending, OF_TWO, lambda n, length, _: rows(n, length), (X,)),
    "length_first": padded(lambda: attending(batch_first=False)),
    "no_weights": padded(lambda: attending(weights=False)),
    "no_bias": padded(lambda: attending(bias=False, average=False)),
    "encoding": padded(encoding),
    "two_sequences": Case(attending, OF_TWO, lambda n, m, k: (rows(n, m), padding(n, k), rows(n, k)), (X, Y, Y), MASK),
    "translating": Case(translating, OF_TWO, lambda n, m, k: (rows(n, m), padding(n, m), rows(n, k)), (X, X, Y), MASK),
    "one_length_is_known": Case(
        attending, OF_TWO, lambda n, _, k: (rows(n, 8), padding(n, k), rows(n, k)), ({0: BATCH}, Y, Y), MASK
    ),
}


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("name", CASES)
def test_every_size_up_to_the_bound(name: str) -> None:
    case = CASES[name]
    inputs = [case.inputs(*size) for size in case.sizes]
    holds(case.build(), inputs, case.open, case.outside)


def test_nothing_left_behind_what_is_replaced() -> None:
    def written(m: Any, x: Tensor) -> Tensor:
        y = x * 0.5
        y[:2] = y[:2] * -0.5
        return y + 1

    model = Calling(written)
    lowered = lower(model, rows(3, 4), ({0: Dim("n", min=2, max=9)},))
    agree(lowered.to_executorch().buffer, model, ([rows(size, 4)] for size in (2, 3, 9)))


def test_results_of_ops_without_a_row() -> None:
    model = Calling(lambda m, x: torch.special.i1(x.flatten(0, 1) + 1).softmax(-1))
    lowered = lower(model, rows(2, 3), (X,))
    assert any(isinstance(op, edge.OpaqueOp) for op in lowered.module.walk())
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for size in OF_ROWS[0]:
        x = rows(*size)
        torch.testing.assert_close(method.execute([x])[0], model(x), rtol=1e-4, atol=1e-5)
