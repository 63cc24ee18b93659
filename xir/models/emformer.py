"""The three parts of an Emformer-RNNT speech recogniser (Shi et al., "Emformer", 2021).

A transcriber turns sound into encodings, a predictor turns the letters so far into encodings, and a joiner scores the
next letter for each pair of them. Sizes are those of torchaudio's `emformer_rnnt_base`.
"""

import torch
from torch import nn
from torch.nn import functional

MEL_FEATURES = 80
STACKED = 4
"""Frames of sound that are joined to one."""
SYMBOLS = 4097
ENCODING = 1024
WIDTH = 512
HEADS = 8
FEED_FORWARD = 2048
LAYERS = 20
SEGMENT = 4
"""Joined frames that are transcribed at a time."""
RIGHT_CONTEXT = 1
"""Joined frames behind a segment that it may look at."""
LEFT_CONTEXT = 30
"""Joined frames before a segment that it may look at."""
SYMBOL_EMBEDDING = 512
LSTM_LAYERS = 3
LSTM_HIDDEN = 512


def attention_mask(segments: int) -> torch.Tensor:
    """Which positions may look at which, as 0 and −∞: the right contexts of all segments, then the segments' frames.

    A segment sees itself, its right context, and the left context before it.
    """
    frames = torch.arange(segments * SEGMENT)
    right = torch.arange(segments).repeat_interleave(RIGHT_CONTEXT)
    owner = torch.cat([right, frames // SEGMENT])
    start = owner * SEGMENT
    sees_right = owner[:, None] == right[None, :]
    sees_frame = (frames[None, :] >= start[:, None] - LEFT_CONTEXT) & (frames[None, :] < start[:, None] + SEGMENT)
    allowed = torch.cat([sees_right, sees_frame], 1)
    return torch.zeros(allowed.shape).masked_fill(~allowed, float("-inf"))


class EmformerLayer(nn.Module):
    """Attention over right contexts and frames together, and a feed-forward network: [N, L, 512] to the same."""

    def __init__(self):
        super().__init__()
        self.input_norm = nn.LayerNorm(WIDTH)
        self.projection = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, FEED_FORWARD), nn.GELU(), nn.Linear(FEED_FORWARD, WIDTH)
        )
        self.output_norm = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        heads = (
            part.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2)
            for part in self.projection(self.input_norm(x)).chunk(3, -1)
        )
        context = functional.scaled_dot_product_attention(*heads, attn_mask=mask)
        x = x + self.output(context.transpose(1, 2).flatten(2))
        return self.output_norm(x + self.feed_forward(x))


class Transcriber(nn.Module):
    """Mel features [N, frames, 80] to encodings [N, frames / 4 − 1, 1024]; the last frames are right context."""

    mask: torch.Tensor

    def __init__(self, segments: int):
        super().__init__()
        self.segments = segments
        self.input = nn.Linear(MEL_FEATURES, WIDTH // STACKED, bias=False)
        self.layers = nn.ModuleList(EmformerLayer() for _ in range(LAYERS))
        self.output = nn.Linear(WIDTH, ENCODING)
        self.norm = nn.LayerNorm(ENCODING)
        self.register_buffer("mask", attention_mask(segments), persistent=False)

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        frames = self.input(sound).unflatten(1, (-1, STACKED)).flatten(2)
        right = torch.cat(
            [frames[:, (i + 1) * SEGMENT : (i + 1) * SEGMENT + RIGHT_CONTEXT] for i in range(self.segments)], 1
        )
        x = torch.cat([right, frames[:, : self.segments * SEGMENT]], 1)
        for layer in self.layers:
            x = layer(x, self.mask)
        return self.norm(self.output(x[:, self.segments * RIGHT_CONTEXT :]))


class LayerNormLSTM(nn.Module):
    """An LSTM layer whose gates and cell state go through layer norms, [N, L, 512] to the same."""

    def __init__(self):
        super().__init__()
        self.from_input = nn.Linear(SYMBOL_EMBEDDING, 4 * LSTM_HIDDEN, bias=False)
        self.from_hidden = nn.Linear(LSTM_HIDDEN, 4 * LSTM_HIDDEN, bias=False)
        self.gate_norm = nn.LayerNorm(4 * LSTM_HIDDEN)
        self.cell_norm = nn.LayerNorm(LSTM_HIDDEN)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = cell = x.new_zeros(x.shape[0], LSTM_HIDDEN)
        outputs: list[torch.Tensor] = []
        for gates in self.from_input(x).unbind(1):
            gates = self.gate_norm(gates + self.from_hidden(hidden))
            keep_in, forget, candidate, out = gates.chunk(4, 1)
            cell = self.cell_norm(torch.sigmoid(forget) * cell + torch.sigmoid(keep_in) * torch.tanh(candidate))
            hidden = torch.sigmoid(out) * torch.tanh(cell)
            outputs.append(hidden)
        return torch.stack(outputs, 1)


class Predictor(nn.Module):
    """Symbol numbers [N, L] to encodings [N, L, 1024]."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, SYMBOL_EMBEDDING)
        self.input_norm = nn.LayerNorm(SYMBOL_EMBEDDING)
        self.layers = nn.Sequential(*(LayerNormLSTM() for _ in range(LSTM_LAYERS)))
        self.output = nn.Linear(LSTM_HIDDEN, ENCODING)
        self.norm = nn.LayerNorm(ENCODING)

    def forward(self, symbols: torch.Tensor) -> torch.Tensor:
        return self.norm(self.output(self.layers(self.input_norm(self.embedding(symbols)))))


class Joiner(nn.Module):
    """Encodings of sound [N, T, 1024] and of symbols [N, U, 1024] to scores [N, T, U, symbols]."""

    def __init__(self):
        super().__init__()
        self.output = nn.Linear(ENCODING, SYMBOLS)

    def forward(self, sound: torch.Tensor, symbols: torch.Tensor) -> torch.Tensor:
        return self.output(torch.relu(sound.unsqueeze(2) + symbols.unsqueeze(1)))


def emformer_transcribe() -> nn.Module:
    """The transcriber, for 8 segments: 128 frames and their right context."""
    return Transcriber(segments=8)


def emformer_predict() -> nn.Module:
    """The predictor."""
    return Predictor()


def emformer_join() -> nn.Module:
    """The joiner."""
    return Joiner()
