"""A decoder in Llama's style, at the size of the 15-million-parameter story tellers (dim 288, 6 layers, 6 heads)."""

import torch
from torch import nn
from torch.nn import functional

VOCABULARY = 32000
WIDTH = 288
HEADS = 6
KEY_HEADS = 6
FEED_FORWARD = 768
LAYERS = 6
CONTEXT = 256
THETA = 10000.0


def rotations(positions: int, features: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of rotary position embeddings, [positions, features / 2] (Su et al., 2021)."""
    frequencies = THETA ** -(torch.arange(0, features, 2).float() / features)
    angles = torch.outer(torch.arange(positions).float(), frequencies)
    return angles.cos(), angles.sin()


def rotate(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Turn neighbouring pairs of features of [N, heads, L, features] by their position's angle."""
    even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)


class Attention(nn.Module):
    """Causal self-attention with rotary positions; keys and values may have fewer heads than queries."""

    def __init__(self):
        super().__init__()
        self.features = WIDTH // HEADS
        self.query = nn.Linear(WIDTH, HEADS * self.features, bias=False)
        self.key = nn.Linear(WIDTH, KEY_HEADS * self.features, bias=False)
        self.value = nn.Linear(WIDTH, KEY_HEADS * self.features, bias=False)
        self.output = nn.Linear(HEADS * self.features, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        def heads(projected: torch.Tensor) -> torch.Tensor:
            return projected.unflatten(-1, (-1, self.features)).transpose(1, 2)

        query = rotate(heads(self.query(x)), cosine, sine)
        key = rotate(heads(self.key(x)), cosine, sine)
        value = heads(self.value(x))
        if KEY_HEADS < HEADS:
            key, value = (each.repeat_interleave(HEADS // KEY_HEADS, dim=1) for each in (key, value))
        context = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.output(context.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """down(silu(gate(x)) · up(x))."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, FEED_FORWARD, bias=False)
        self.up = nn.Linear(WIDTH, FEED_FORWARD, bias=False)
        self.down = nn.Linear(FEED_FORWARD, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """Attention and feed-forward network, each behind a norm and beside a residual."""

    def __init__(self):
        super().__init__()
        self.attention_norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.attention = Attention()
        self.feed_forward_norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.feed_forward = FeedForward()

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cosine, sine, mask)
        return x + self.feed_forward(self.feed_forward_norm(x))


class Llama(nn.Module):
    """Token numbers [N, L] to the logits of each next token, [N, L, vocabulary]."""

    cosine: torch.Tensor
    sine: torch.Tensor

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH, eps=1e-5)
        self.output = nn.Linear(WIDTH, VOCABULARY, bias=False)
        cosine, sine = rotations(CONTEXT, WIDTH // HEADS)
        self.register_buffer("cosine", cosine, persistent=False)
        self.register_buffer("sine", sine, persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        mask = torch.full((length, length), float("-inf"), device=tokens.device).triu(1)
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine[:length], self.sine[:length], mask)
        return self.output(self.norm(x))


def llama() -> nn.Module:
    """See `Llama`."""
    return Llama()
