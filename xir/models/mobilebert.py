"""MobileBERT, a deep and narrow encoder of text (Sun et al., 2020): the sizes of `google/mobilebert-uncased`."""

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 30522
POSITIONS = 512
EMBEDDING = 128
HIDDEN = 512
INNER = 128
"""Width inside the bottleneck, where attention and feed-forward networks work."""
FEED_FORWARD = 512
HEADS = 4
LAYERS = 24
FEED_FORWARD_NETWORKS = 4
RESIDUAL_SCALE = 0.87
"""Of random weights: torch's linear layers have outputs of a third of their inputs' variance, and 1 / √(1 + 1/3) = 0.87
keeps sums with them from growing through the layers."""


class NoNorm(nn.Module):
    """The paper's stand-in for layer norm: a scale, which starts with one value everywhere, and a shift by feature."""

    def __init__(self, features: int, scale: float = 1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.full((features,), scale))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight + self.bias


class Residual(nn.Module):
    """norm(linear(x) + residual)."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)
        self.norm = NoNorm(outputs, RESIDUAL_SCALE)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return self.norm(self.dense(x) + residual)


class FeedForward(nn.Module):
    """Two linear layers with a relu in between, and the residual."""

    def __init__(self):
        super().__init__()
        self.intermediate = nn.Linear(INNER, FEED_FORWARD)
        self.output = Residual(FEED_FORWARD, INNER)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output(torch.relu(self.intermediate(x)), x)


class Attention(nn.Module):
    """Self-attention: query and key from the bottleneck shared between them, the value from the full width."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(INNER, INNER)
        self.key = nn.Linear(INNER, INNER)
        self.value = nn.Linear(HIDDEN, INNER)
        self.output = Residual(INNER, INNER)

    def forward(self, shared: torch.Tensor, hidden: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        def heads(x: torch.Tensor) -> torch.Tensor:
            return x.unflatten(-1, (HEADS, INNER // HEADS)).transpose(1, 2)

        query, key, value = heads(self.query(shared)), heads(self.key(shared)), heads(self.value(hidden))
        context = functional.scaled_dot_product_attention(query, key, value)
        return self.output(context.transpose(1, 2).flatten(2), residual)


class Layer(nn.Module):
    """Into the bottleneck, attention, feed-forward networks, and out again: [N, L, 512] to the same."""

    def __init__(self):
        super().__init__()
        self.bottleneck = nn.Sequential(nn.Linear(HIDDEN, INNER), NoNorm(INNER))
        self.shared = nn.Sequential(nn.Linear(HIDDEN, INNER), NoNorm(INNER))
        self.attention = Attention()
        self.feed_forward = nn.Sequential(*(FeedForward() for _ in range(FEED_FORWARD_NETWORKS)))
        self.output = Residual(INNER, HIDDEN)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        inner = self.attention(self.shared(hidden), hidden, self.bottleneck(hidden))
        return self.output(self.feed_forward(inner), hidden)


class MobileBert(nn.Module):
    """Token numbers [N, L] to hidden states [N, L, 512]."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, EMBEDDING)
        self.position = nn.Embedding(POSITIONS, HIDDEN)
        self.sentence = nn.Embedding(2, HIDDEN)
        self.transformation = nn.Linear(3 * EMBEDDING, HIDDEN)
        self.norm = NoNorm(HIDDEN)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        words = self.words(tokens)
        before = functional.pad(words[:, 1:], (0, 0, 0, 1))
        behind = functional.pad(words[:, :-1], (0, 0, 1, 0))
        hidden = self.transformation(torch.cat([before, words, behind], 2))
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = hidden + self.position(positions) + self.sentence(torch.zeros_like(tokens))
        return self.layers(self.norm(hidden))


def mobilebert() -> nn.Module:
    """See `MobileBert`."""
    return MobileBert()
