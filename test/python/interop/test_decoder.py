"""A decoder with caches of keys and values: prefill and decode in one file, token by token as eager, also in stock."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from reference.runtimes import load_stock
from torch import Tensor, nn

from xir.api import ExecutorchProgram, XnnpackPartitioner, to_edge
from xir.runtime import Method, Runtime

VOCABULARY, WIDTH, HEADS, KV_HEADS, WINDOW, PROMPT, TOKENS = 200, 64, 4, 2, 64, 8, 30
SIZE = WIDTH // HEADS


class Layer(nn.Module):
    """Attention with rotary positions, a cache and groups of heads, then a gated MLP, as in Llama."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mlp_norm = nn.RMSNorm(WIDTH, eps=1e-5), nn.RMSNorm(WIDTH, eps=1e-5)
        self.q, self.o = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.k, self.v = (nn.Linear(WIDTH, KV_HEADS * SIZE, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)
        self.register_buffer("keys", torch.zeros(1, KV_HEADS, WINDOW, SIZE))
        self.register_buffer("values", torch.zeros(1, KV_HEADS, WINDOW, SIZE))

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor], mask: Tensor, at: Tensor) -> Tensor:
        length, y = x.shape[1], self.norm(x)
        q = rotated(self.q(y).view(1, length, HEADS, SIZE).transpose(1, 2), *rotary)
        k = rotated(self.k(y).view(1, length, KV_HEADS, SIZE).transpose(1, 2), *rotary)
        v = self.v(y).view(1, length, KV_HEADS, SIZE).transpose(1, 2)
        keys = self.get_buffer("keys").index_copy_(2, at, k)
        values = self.get_buffer("values").index_copy_(2, at, v)
        keys, values = (each.repeat_interleave(HEADS // KV_HEADS, 1) for each in (keys, values))
        attended = nn.functional.scaled_dot_product_attention(q, keys, values, mask)
        x = x + self.o(attended.transpose(1, 2).reshape(1, length, WIDTH))
        y = self.mlp_norm(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin


class Decoder(nn.Module):
    """From tokens and their positions to logits."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.norm, self.head = nn.RMSNorm(WIDTH, eps=1e-5), nn.Linear(WIDTH, VOCABULARY, bias=False)
        angles = torch.outer(torch.arange(WINDOW), 10000 ** (-torch.arange(0, SIZE, 2) / SIZE)).repeat(1, 2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens: Tensor, at: Tensor) -> Tensor:
        x = self.tokens(tokens)
        rotary = self.get_buffer("cos")[at], self.get_buffer("sin")[at]
        mask = torch.where(torch.arange(WINDOW) <= at[:, None], 0.0, -1e9)
        for layer in self.layers:
            x = layer(x, rotary, mask, at)
        return self.head(self.norm(x))


def prompt_and_positions() -> tuple[Tensor, Tensor]:
    return torch.randint(0, VOCABULARY, (1, PROMPT)), torch.arange(PROMPT)


def model() -> Decoder:
    torch.manual_seed(0)
    return Decoder().eval()


@pytest.fixture(scope="module")
def program() -> ExecutorchProgram:
    with torch.no_grad():
        methods = {
            "prefill": torch.export.export(model(), prompt_and_positions()),
            "decode": torch.export.export(model(), (torch.tensor([[1]]), torch.tensor([0]))),
        }
    return to_edge(methods).to_backend(XnnpackPartitioner()).to_executorch()


def generate(prefill: Any, decode: Any, prompt: Tensor) -> list[int]:
    """The likeliest tokens behind a prompt, by functions of tokens and positions."""
    (logits,) = prefill((prompt, torch.arange(PROMPT)))
    tokens = [int(logits[0, -1].argmax())]
    while len(tokens) < TOKENS:
        (logits,) = decode((torch.tensor([[tokens[-1]]]), torch.tensor([PROMPT + len(tokens) - 1])))
        tokens.append(int(logits[0, -1].argmax()))
    return tokens


def expected(prompt: Tensor) -> list[int]:
    eager = model()

    def run(inputs: tuple[Tensor, Tensor]) -> tuple[Tensor]:
        with torch.no_grad():
            return (eager(*inputs),)

    return generate(run, run, prompt)


def test_prefill_and_decode_share_their_caches(program: ExecutorchProgram) -> None:
    """Two generations at once do not disturb each other, and a state that was reset begins anew."""
    loaded = Runtime.get().load_program(program.buffer, threads=1)
    prompts = [prompt_and_positions()[0] for _ in range(2)]
    states = [loaded.new_state() for _ in prompts]
    methods: list[list[Method]] = [
        [loaded.load_method(name, state=state) for name in ("prefill", "decode")] for state in states
    ]
    assert methods[0][1].metadata.num_delegates == 3
    wanted = [expected(prompt) for prompt in prompts]
    firsts = [
        prefill.execute([prompt, torch.arange(PROMPT)])[0]
        for (prefill, _), prompt in zip(methods, prompts, strict=True)
    ]
    found = [[int(first[0, -1].argmax())] for first in firsts]
    for step in range(TOKENS - 1):
        for (_, decode), tokens in zip(methods, found, strict=True):
            (logits,) = decode.execute([torch.tensor([[tokens[-1]]]), torch.tensor([PROMPT + step])])
            tokens.append(int(logits[0, -1].argmax()))
    assert found == wanted
    states[0].reset()
    prefill, decode = methods[0]
    assert generate(prefill.execute, decode.execute, prompts[1]) == wanted[1]


def test_stock_keeps_the_caches_of_a_method(program: ExecutorchProgram) -> None:
    """Its Python bindings give each method memory of its own, so the prompt goes through `decode` as well."""
    stock = load_stock(program.buffer)

    def decode(inputs: tuple[Tensor, Tensor]) -> list[Tensor]:
        return stock.run_method("decode", inputs)

    def prefill(inputs: tuple[Tensor, Tensor]) -> list[Tensor]:
        tokens, positions = inputs
        return [decode((tokens[:, at : at + 1], positions[at : at + 1])) for at in range(PROMPT)][-1]

    prompt, _ = prompt_and_positions()
    assert generate(prefill, decode, prompt) == expected(prompt)


def test_methods_share_weights(program: ExecutorchProgram) -> None:
    weights = sum(value.nbytes for value in model().parameters())
    assert len(program.buffer) < 1.25 * weights
