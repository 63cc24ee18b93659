"""A decoder in Llama's style that keeps its keys and values, written for xir and, with custom operators, for stock."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

THETA = 10000.0


@dataclass(frozen=True)
class Size:
    """How large a decoder is. By default a token takes 123 million weights, and an embedding of 33 million more."""

    width: int = 1024
    heads: int = 16
    kv_heads: int = 4
    inner: int = 2816
    layers: int = 8
    vocabulary: int = 32000
    window: int = 2048

    @property
    def features(self) -> int:
        """Of a head."""
        return self.width // self.heads


class Attention(nn.Module):
    """Attention with rotary positions over a cache [1, heads, window, features], by operators of ATen."""

    def __init__(self, size: Size):
        super().__init__()
        self.size = size
        kept = size.kv_heads * size.features
        self.q, self.o = nn.Linear(size.width, size.width, bias=False), nn.Linear(size.width, size.width, bias=False)
        self.k, self.v = nn.Linear(size.width, kept, bias=False), nn.Linear(size.width, kept, bias=False)

    def make_cache(self, window: int) -> None:
        """Empty caches of keys and values."""
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, self.size.kv_heads, window, self.size.features))

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor, at: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.projected(x, rotary))
        keys, values = self.get_buffer("keys").index_copy_(2, at, k), self.get_buffer("values").index_copy_(2, at, v)
        attended = functional.scaled_dot_product_attention(q, keys, values, mask, enable_gqa=True)
        return self.o(attended.transpose(1, 2).flatten(2))

    def projected(self, x: Tensor, rotary: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, [1, length, heads, features]."""
        q, k, v = (layer(x).unflatten(-1, (-1, self.size.features)) for layer in (self.q, self.k, self.v))
        return rotated(q, *rotary), rotated(k, *rotary), v


class CustomAttention(Attention):
    """The same by ExecuTorch's operators for language models, whose caches are [1, window, heads, features]."""

    def make_cache(self, window: int) -> None:
        """Empty caches of keys and values."""
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, window, self.size.kv_heads, self.size.features))

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor, at: Tensor) -> Tensor:
        q, k, v = self.projected(x, rotary)
        first = int(at[0].item())
        torch._check(first >= 0)  # pyright: ignore[reportPrivateUsage]
        torch._check(first + x.shape[1] <= self.get_buffer("keys").shape[1])  # pyright: ignore[reportPrivateUsage]
        keys, values = self.get_buffer("keys"), self.get_buffer("values")
        torch.ops.llama.update_cache(k, keys, first)
        torch.ops.llama.update_cache(v, values, first)
        return self.o(torch.ops.llama.custom_sdpa(q, keys, values, first, None, 0.0, True).flatten(2))


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """The halves of the features, [1, length, heads, features], turned by their position's angles."""
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


class Layer(nn.Module):
    """Attention and a gated network, each behind a norm and beside a residual."""

    def __init__(self, size: Size, attention: type[Attention]):
        super().__init__()
        self.norm, self.mlp_norm = nn.RMSNorm(size.width, eps=1e-5), nn.RMSNorm(size.width, eps=1e-5)
        self.attention = attention(size)
        self.gate, self.up = (nn.Linear(size.width, size.inner, bias=False) for _ in range(2))
        self.down = nn.Linear(size.inner, size.width, bias=False)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor, at: Tensor) -> Tensor:
        x = x + self.attention(self.norm(x), rotary, mask, at)
        y = self.mlp_norm(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """From tokens [1, length] and their positions [length] to logits of the last token, [1, 1, vocabulary]."""

    def __init__(self, size: Size, attention: type[Attention] = Attention):
        super().__init__()
        torch.manual_seed(0)
        self.size = size
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.layers = nn.ModuleList(Layer(size, attention) for _ in range(size.layers))
        self.norm = nn.RMSNorm(size.width, eps=1e-5)
        self.head = nn.Linear(size.width, size.vocabulary, bias=False)
        self.set_window(size.window)

    def set_window(self, window: int) -> None:
        """Begin anew, with caches for so many tokens."""
        self.window = window
        frequencies = THETA ** -(torch.arange(0, self.size.features, 2) / self.size.features)
        angles = torch.outer(torch.arange(window).float(), frequencies).repeat(1, 2)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())
        for module in self.modules():
            if isinstance(module, Attention):
                module.make_cache(window)

    def forward(self, tokens: Tensor, at: Tensor) -> Tensor:
        x = self.tokens(tokens)
        rotary = self.get_buffer("cosine")[at][:, None], self.get_buffer("sine")[at][:, None]
        mask = torch.arange(self.window) <= at[:, None]
        for layer in self.layers:
            x = layer(x, rotary, mask, at)
        return self.head(self.norm(x[:, -1:]))


def decoder(size: Size, attention: type[Attention] = Attention) -> Decoder:
    """A decoder with the weights that all of its size have, whatever their operators."""
    return Decoder(size, attention).eval()
