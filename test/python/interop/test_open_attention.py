"""Attention as `nn.MultiheadAttention` and what is made of it compute it, with masks and open sizes: one delegate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from reference.both_runtimes import check, delegates, lower
from torch import Tensor, nn
from torch.export import Dim

BATCH, LENGTH, OTHER = Dim("batch", max=6), Dim("length", max=24), Dim("other", max=15)

SIZES = ((3, 7, 5), (6, 24, 15), (1, 1, 1), (2, 2, 9), (6, 1, 15), (1, 23, 2), (5, 9, 9))
"""Batch, length, and the length of the second sequence."""

KERNELS = ["edge._to_copy"]
"""What makes numbers of a mask of booleans."""


def sequence(n: int, length: int) -> Tensor:
    return torch.randn(n, length, 16)


def padding(n: int, length: int) -> Tensor:
    """Which elements are hidden: some at the end, never all of a row."""
    return torch.arange(length)[None] >= torch.randint(1, length + 1, (n, 1))


class Attending(nn.Module):
    """A sequence, or a second one, attended to; results and the weights, of each head or their means."""

    def __init__(self, *, weights: bool = True, average: bool = True, batch_first: bool = True, **options: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=batch_first, **options)
        self.options = {"need_weights": weights, "average_attn_weights": average}
        self.batch_first = batch_first

    def forward(self, x: Tensor, mask: Tensor | None = None, y: Tensor | None = None) -> Any:
        x = x if self.batch_first else x.transpose(0, 1)
        y = x if y is None else y
        result, weights = self.attention(x, y, y, key_padding_mask=mask, **self.options)
        return (result, weights) if self.options["need_weights"] else result


class Encoding(nn.Module):
    """The layers that PyTorch has for it."""

    def __init__(self, *, batch_first: bool, norm_first: bool = False, activation: str = "relu") -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            16, 4, 32, batch_first=batch_first, norm_first=norm_first, activation=activation
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.batch_first = batch_first

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x if self.batch_first else x.transpose(0, 1)
        return self.encoder(x, src_key_padding_mask=mask)


class Translating(nn.Module):
    """Encoder and decoder, which sees what came before and what the encoder has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = nn.Transformer(16, 4, 2, 2, 32, batch_first=True)
        self.transformer.encoder.use_nested_tensor = False

    def forward(self, x: Tensor, mask: Tensor, y: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(y.shape[1])
        masks = {"src_key_padding_mask": mask, "memory_key_padding_mask": mask}
        return self.transformer(x, y, tgt_mask=causal, tgt_is_causal=True, **masks)


def holds(model: nn.Module, make: Callable[..., tuple[Tensor, ...]], shapes: Any, outside: Sequence[str]) -> None:
    inputs = [make(*size) for size in SIZES]
    lowered = lower(model.requires_grad_(False), inputs[0], shapes)
    assert delegates(lowered) == 1
    check(model, lowered, inputs, outside)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def test_weights_of_attention() -> None:
    holds(Attending(), lambda n, length, _: (sequence(n, length),), ({0: BATCH, 1: LENGTH},), [])


def more(model: nn.Module, name: str) -> Any:
    """Of what other models have as well."""
    return pytest.param(model, id=name, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize(
    "model",
    [
        more(Attending(), "mean"),
        more(Attending(average=False), "each head"),
        pytest.param(Attending(batch_first=False), id="length first"),
        pytest.param(Attending(weights=False), id="no weights"),
        pytest.param(Attending(bias=False, average=False), id="no bias"),
        more(Encoding(batch_first=True), "encoder"),
        pytest.param(Encoding(batch_first=False, norm_first=True, activation="gelu"), id="encoder, length first"),
    ],
)
def test_padding(model: nn.Module) -> None:
    """A mask of booleans is made numbers of outside, and is nothing else."""
    shapes = ({0: BATCH, 1: LENGTH}, {0: BATCH, 1: LENGTH})
    holds(model, lambda n, length, _: (sequence(n, length), padding(n, length)), shapes, KERNELS)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Attending(), id="mean"),
        more(Attending(weights=False), "none"),
        pytest.param(Translating(), id="both"),
    ],
)
def test_two_sequences(model: nn.Module) -> None:
    shapes = ({0: BATCH, 1: LENGTH}, {0: BATCH, 1: OTHER}, {0: BATCH, 1: OTHER})
    if isinstance(model, Translating):
        shapes = ({0: BATCH, 1: LENGTH}, {0: BATCH, 1: LENGTH}, {0: BATCH, 1: OTHER})

    def make(n: int, length: int, other: int) -> tuple[Tensor, ...]:
        seen = length if isinstance(model, Translating) else other
        return sequence(n, length), padding(n, seen), sequence(n, other)

    holds(model, make, shapes, KERNELS)


def test_one_length_is_known() -> None:
    """Queries of a known length: their batch alone is open."""
    shapes = ({0: BATCH}, {0: BATCH, 1: OTHER}, {0: BATCH, 1: OTHER})
    holds(Attending(), lambda n, _, other: (sequence(n, 8), padding(n, other), sequence(n, other)), shapes, KERNELS)
