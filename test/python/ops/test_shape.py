"""Moves, cuts and borders."""

import pytest
import torch
import torch.nn.functional as F
from ops.surface import Cases, assert_each_whole, assert_whole, case, dozens, r
from torch import nn

X = r(2, 3, 4, 5)
MATRIX = r(5, 6)


@pytest.mark.parametrize(
    "cases",
    dozens(
        case("view", lambda x: x.view(6, -1) * 2, X),
        case("reshape of a permutation", lambda x: x.permute(3, 1, 0, 2).reshape(5, -1), X),
        case("flatten", lambda x: torch.flatten(x, 1) + torch.flatten(x, 1, -1), X),
        case("unflatten", lambda x: x.unflatten(3, (5, 1)).unflatten(0, (-1, 2)), X),
        case("view as a number", lambda x: x.view(()) + 1, r(1, 1)),
        case("squeeze", lambda x: x.squeeze(), r(1, 3, 1, 2)),
        case("index with None", lambda x: x[:, None, ..., None], MATRIX),
        case("permute", lambda x: x.permute(0, 2, 3, 1), X),
        case("permute, negative", lambda x: x.permute(0, -2, -1, 1) + 0, X),
        case("permute of rank 6", lambda x: x.permute(5, 3, 1, 0, 2, 4), r(2, 3, 1, 2, 2, 3)),
        case("transpose", lambda x: x.transpose(1, -1) + x.transpose(-1, 1), X),
        case("mT", lambda x: x.mT @ x, X),
        case("expand", lambda x: x.expand(4, -1, 6), r(5, 1)),
        case("expand of rank 6", lambda x: x.expand(2, 3, 2, 5, 2, 6), r(5, 1, 6)),
        case("broadcast tensors", lambda x, y: torch.broadcast_tensors(x, y), r(3, 1), r(4)),
        case("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), r(3), r(4)),
        case("repeat", lambda x: x.repeat(2, 1, 3), MATRIX),
        case("tile of more dimensions", lambda x: x.tile(2, 1, 2), MATRIX),
        case("repeat_interleave", lambda x: x.repeat_interleave(3, 1), MATRIX),
        *(case(f"cat of {n}", lambda *xs: torch.cat(xs, 0), *(r(i % 3 + 1, 2, 3) for i in range(n)))
          for n in (1, 2, 3, 4, 5, 6, 11, 26)),
        case("cat along the last", lambda x, y: torch.cat((x, y), -1), r(3, 2, 3), r(3, 2, 1)),
        case("cat of itself", lambda x: torch.cat((x, x, x), 1), X),
        case("cat with a constant", lambda x, c=r(2, 1, 4, 5): torch.cat((c, x, c), 1), X),
        case("cat with nothing", lambda x, e=torch.empty(0): torch.cat((e, x)), X),
        case("cat after convolutions", lambda x, w=r(4, 3, 3, 3): torch.cat((F.conv2d(x, w, padding=1), x), 1), X),
        case("class token", lambda x, t=r(1, 1, 5): torch.cat((t.expand(2, -1, -1), x.flatten(1, 2)), 1), X),
        case("stack", lambda x, y: torch.stack((x, y), 1), MATRIX, r(5, 6)),
        case("stack of numbers", lambda x, y: torch.stack((x, y)), r(), r()),
        case("split", lambda x: torch.split(x, 2, 1), MATRIX),
        case("split, uneven", lambda x: torch.split(x, 4, -1), MATRIX),
        case("split by sizes", lambda x: torch.split(x, [1, 3, 2], 1), MATRIX),
        case("split, one used", lambda x: torch.split(x, 2)[1] * 2, MATRIX),
        case("chunk, uneven", lambda x: torch.chunk(x, 4, 1), MATRIX),
        case("unbind", lambda x: torch.unbind(x, 1), MATRIX),
        case("slice", lambda x: x[1:3, -2:, :-1], r(5, 5, 5)),
        case("slice after a convolution", lambda x, w=r(3, 3, 3, 3): F.conv2d(x, w, padding=1)[:, :, 2:3, -2:], X),
        case("slice without a start", lambda x: torch.ops.aten.slice.Tensor(x, 0, None, 2), MATRIX),
        case("slice beyond the end", lambda x: x[1:1000, -1000:3], MATRIX),
        case("slice with a step", lambda x: x[:3:2, 1::3], MATRIX),
        case("slice with a step of rank 6", lambda x: x[..., ::2], r(2, 2, 1, 2, 2, 6)),
        case("slice with steps everywhere", lambda x: x[::2, 1::2, ::3, ::4], X),
        case("index_select", lambda x: x.index_select(1, torch.tensor([4, 0, 1, 2])), MATRIX),
        case("index by lists", lambda x: x[[0, 1], [2, 3]], MATRIX),
        case("take_along_dim", lambda x: torch.gather(x, 1, torch.tensor([[0, 2, 4]]).expand(5, -1)), MATRIX),
        case("diagonal", lambda x: torch.diagonal(x, 1), MATRIX),
        case("diag_embed", torch.diag_embed, r(3, 4)),
        case("flip", lambda x: torch.flip(x, (0, -1)), X),
        case("roll", lambda x: torch.roll(x, (1, -2), (1, 3)), X),
        case("roll of all", lambda x: torch.roll(x, 4), MATRIX),
        case("roll of windows", lambda x: torch.roll(x, shifts=(-1, -1), dims=(1, 2)).reshape(2, -1, 5), X),
        case("pixel_shuffle", nn.PixelShuffle(2), r(2, 8, 3, 5)),
        case("pixel_unshuffle", nn.PixelUnshuffle(2), r(2, 3, 4, 6)),
        case("pixel_shuffle without a batch", nn.PixelShuffle(3), r(9, 3, 5)),
        case("pixel_unshuffle of more", nn.PixelUnshuffle(2), r(2, 1, 3, 4, 6)),
        case("channel_shuffle", nn.ChannelShuffle(2), r(2, 6, 3, 5)),
        case("unfold", lambda x: x.unfold(1, 3, 2), MATRIX),
        case("slice assignment", lambda x: torch.slice_scatter(x, x[1:3] * 2, 0, 1, 3), MATRIX),
        case("slice assignment with a step", lambda x: torch.slice_scatter(x, x[::2] * 2, 0, 0, 5, 2), MATRIX),
        case("select assignment", lambda x: torch.select_scatter(x, x[0] * 2, 0, -1), MATRIX),
        case("assignment", lambda x: assign(x), MATRIX),
        case("copy into", lambda x: torch.zeros(5, 6).copy_(x[0]) + 1, MATRIX),
        case("interleaved rotation", lambda x: torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2), MATRIX),
    ),
)  # fmt: skip
def test_moves(cases: Cases) -> None:
    assert_each_whole(cases)


def assign(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[:, 1] = 0
    y[1:3, 2:4] = x[:2, :2] * 2
    return y


PADS = [
    ((1, 2), X), ((1, 2, 3, 0), X), ((1, 0, 2, 1, 1, 2), X), ((0, 0, 0, 0, 1, 1, 2, 0), X), ((1, 2), r(5)),
    ((-1, 2), MATRIX), ((-1, -2, 1, 0), X), ((0, 0, -2, 2), MATRIX), ((1, 2, 3, 4), r(5, 3, 2)), ((0, 0), X),
]  # fmt: skip


@pytest.mark.parametrize(("pad", "x"), PADS, ids=lambda value: str(value) if isinstance(value, tuple) else "")
def test_constant_pad(pad: tuple[int, ...], x: torch.Tensor) -> None:
    assert_whole(lambda x: F.pad(x, pad, value=2.3), (x,))
    assert_whole(lambda x: F.pad(x + x, pad) * 2, (x,))


BORDERS = [((2, 1), r(2, 3, 5)), ((2, 1), r(3, 5)), ((1, 2, 3, 0), X), ((1, 2, 0, 1), r(3, 4, 5)),
           ((1, 0, 2, 1, 1, 2), r(1, 2, 3, 4, 5)), ((0, 0, 1, 1), X)]  # fmt: skip


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize(("pad", "x"), BORDERS, ids=lambda value: str(value) if isinstance(value, tuple) else "")
def test_borders(mode: str, pad: tuple[int, ...], x: torch.Tensor) -> None:
    assert_whole(lambda x: F.pad(x, pad, mode=mode), (x,))


@pytest.mark.parametrize(("pad", "x"), [((-1, 1, -2, 1), X), ((1, -1), r(2, 3, 5))])
def test_circular_borders_of_what_is_left(pad: tuple[int, ...], x: torch.Tensor) -> None:
    """ATen first cuts what negative padding says."""
    assert_whole(lambda x: F.pad(x, pad, mode="circular"), (x,))
