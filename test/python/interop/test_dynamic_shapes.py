"""Models with dynamic dimensions: one file for every size up to the bound, in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from reference.runtimes import agree
from torch import Tensor, nn
from torch.export import Dim

from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack
from xir.ir.diagnostics import DiagnosticError
from xir.models import load_model
from xir.runtime import Runtime, XirRuntimeError
from xir.transforms.delegate.forming.marks import computes_sizes

BATCH, LENGTH = Dim("batch", max=6), Dim("length", max=9)
SIZES = (3, 1, 6, 2, 6, 1)
"""Of the batch, in the order of the runs: sizes grow and shrink."""
LENGTHS = (5, 9, 1, 2, 9, 4)

Inputs = tuple[Tensor, ...]


def conv_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3, padding=1, groups=8),
        nn.Hardswish(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 5),
        nn.Softmax(-1),
    )


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)


def rows(n: int, length: int) -> Inputs:
    return (torch.randn(n, length, 16),)


class Decoder(nn.Module):
    """A causal transformer layer in Llama's style over tokens [N, L], with learned positions."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.positions = nn.Parameter(torch.randn(9, 16))
        self.norm = nn.RMSNorm(16, eps=1e-5)
        self.qkv = nn.Linear(16, 48, bias=False)
        self.output = nn.Linear(16, 16, bias=False)
        self.gate = nn.Linear(16, 32)
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 16)

    def forward(self, tokens: Tensor) -> Tensor:
        n, length = tokens.shape
        x = self.tokens(tokens) + self.positions[:length]
        query, key, value = self.qkv(self.norm(x)).view(n, length, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        mask = torch.full((length, length), float("-inf")).triu(1)
        context = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = x + self.output(context.transpose(1, 2).reshape(n, length, 16))
        return x + self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class RelativePositions(nn.Module):
    """Scores of each two rows, with a term for each head that depends on where these are."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("bias", torch.randn(10, 10, 4).index_fill_(0, torch.tensor([3]), -torch.inf))

    def forward(self, x: Tensor) -> Tensor:
        heads, length = x.unflatten(-1, (4, 4)).transpose(1, 2), x.shape[1]
        bias = self.get_buffer("bias")[:length, :length]
        return heads @ heads.transpose(-1, -2) + bias.permute(2, 0, 1)


class Patches(nn.Module):
    """The beginning of a vision transformer: patches behind a learned token, which each image gets a copy of."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, 16))
        self.encoder = encoder()

    def forward(self, x: Tensor) -> Tensor:
        rows = self.patches(x).flatten(2).transpose(1, 2)
        return self.encoder(torch.cat([self.token.expand(x.shape[0], -1, -1), rows], 1))[:, 0]


class Segmenter(nn.Module):
    """An image's pixels of two classes, as a U-Net finds them: halved, doubled, and beside what it was before."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.down = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.last = nn.Conv2d(12, 2, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        first = self.first(x).relu()
        doubled = nn.functional.interpolate(self.down(first).relu(), scale_factor=2)
        return self.last(torch.cat([doubled, first], 1))


class Function(nn.Module):
    """A module out of a function of its input."""

    def __init__(self, function: Callable[[Tensor], Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Recurrent(nn.Module):
    """An LSTM's outputs; its first states are zeros, as many as there are sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(16, 8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0]


class States(nn.Module):
    """States of tokens that begin as zeros; no floating-point input says how many there are."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.next = nn.Linear(16, 16)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens)
        state = x.new_zeros(x.shape[0], 16)
        for row in x.unbind(1):
            state = torch.tanh(row + self.next(state))
        return state


def tokens(n: int, length: int) -> Inputs:
    return (torch.randint(50, (n, length)),)


def images(n: int, _: int) -> Inputs:
    return (torch.randn(n, 3, 16, 16),)


@dataclass(frozen=True)
class Case:
    """A model, how to make inputs of a batch size and a length, and what is dynamic in them."""

    build: Callable[[], nn.Module]
    inputs: Callable[[int, int], Inputs]
    shapes: Any
    outside: Sequence[str] = ()
    """The ops that stay outside the one delegate, but for those on sizes."""


CASES = {
    "conv_net": Case(conv_net, images, ({0: BATCH},)),
    "resnet18": Case(lambda: load_model("resnet18")[0], lambda n, _: (torch.randn(n, 3, 64, 64),), ({0: BATCH},)),
    "patches": Case(Patches, images, ({0: BATCH},)),
    "encoder_batch": Case(encoder, lambda n, _: rows(n, 4), ({0: BATCH},)),
    "encoder_length": Case(encoder, lambda _, length: rows(1, length), ({1: LENGTH},)),
    "encoder": Case(encoder, rows, ({0: BATCH, 1: LENGTH},)),
    "decoder": Case(
        Decoder,
        tokens,
        ({0: BATCH, 1: LENGTH},),
        outside=("edge.embedding",),
    ),
    "causal_attention": Case(
        lambda: Function(lambda x: nn.functional.scaled_dot_product_attention(x, x, 2 * x, is_causal=True)),
        rows,
        ({0: BATCH, 1: LENGTH},),
    ),
    "relative_positions": Case(RelativePositions, rows, ({0: BATCH, 1: LENGTH},)),
    "triangles": Case(
        lambda: Function(lambda x: torch.cat([x.triu(-1), x.tril(2), (x @ x.mT).triu(1) @ x], -1)),
        rows,
        ({0: BATCH, 1: LENGTH},),
    ),
    "lstm": Case(Recurrent, lambda n, _: rows(n, 3), ({0: BATCH},)),
    "states_of_tokens": Case(States, lambda n, _: (torch.randint(50, (n, 3)),), ({0: BATCH},), ("edge.embedding",)),
}


MORE = {"resnet18", "encoder_batch", "encoder_length"}
"""For `make test-zoo`: `conv_net` and `encoder` have these layers, the last one with both sizes open."""


def compiled(case: Case) -> tuple[nn.Module, EdgeProgram]:
    torch.manual_seed(5)
    model = case.build().eval()
    program = torch.export.export(model, case.inputs(2, 3), dynamic_shapes=case.shapes)
    return model, to_edge(program).to_backend(XnnpackPartitioner())


@pytest.mark.filterwarnings("ignore:The tensor attributes self.lstm:UserWarning")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.exhaustive) if n in MORE else n for n in CASES])
def test_every_size_up_to_the_bound(name: str) -> None:
    case = CASES[name]
    model, program = compiled(case)
    ops = list(program.module.walk())
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    outside = sorted(op.name for op in ops if isinstance(op, edge.EdgeOp) and not computes_sizes(op))
    assert outside == list(case.outside)
    calls = (case.inputs(size, length) for size, length in zip(SIZES, LENGTHS, strict=True))
    agree(program.to_executorch().buffer, model, calls, rtol=1e-4, atol=1e-5)


def test_images_of_twice_a_size() -> None:
    torch.manual_seed(5)
    model = Segmenter().eval()
    shapes = ({2: 2 * Dim("h", min=2, max=9), 3: 2 * Dim("w", min=2, max=9)},)
    lowered = to_edge(torch.export.export(model, (torch.randn(1, 3, 8, 6),), dynamic_shapes=shapes))
    program = lowered.to_backend(XnnpackPartitioner())
    assert not any(isinstance(op, edge.EdgeOp) for op in program.module.walk())
    calls = ([torch.randn(1, 3, height, width)] for height, width in ((8, 6), (18, 18), (4, 16)))
    agree(program.to_executorch().buffer, model, calls, rtol=1e-4, atol=1e-5)


def test_nothing_left_behind_what_is_replaced() -> None:
    def written(x: Tensor) -> Tensor:
        y = x * 0.5
        y[:2] = y[:2] * -0.5
        return y + 1

    program = torch.export.export(Function(written), rows(3, 4), dynamic_shapes=({0: Dim("n", min=2, max=9)},))
    file = to_edge(program).to_backend(XnnpackPartitioner()).to_executorch().buffer
    agree(file, written, (rows(size, 4) for size in (2, 3, 9)))


def test_results_of_ops_without_a_row() -> None:
    model = Function(lambda x: torch.special.i1(x.flatten(0, 1) + 1).softmax(-1))
    program = torch.export.export(model, rows(2, 3), dynamic_shapes=({0: BATCH, 1: LENGTH},))
    edge_program = to_edge(program).to_backend(XnnpackPartitioner())
    assert any(isinstance(op, edge.OpaqueOp) for op in edge_program.module.walk())
    method = Runtime.get().load_program(edge_program.to_executorch().buffer).load_method("forward")
    for size, length in zip(SIZES, LENGTHS, strict=True):
        (x,) = rows(size, length)
        torch.testing.assert_close(method.execute([x])[0], model(x), rtol=1e-4, atol=1e-5)


def test_beyond_the_bound() -> None:
    _, program = compiled(CASES["conv_net"])
    method = Runtime.get().load_program(program.to_executorch().buffer).load_method("forward")
    with pytest.raises(XirRuntimeError, match=r"input 0 has shape .*6 at most.*, and \[7, 3, 16, 16\] was given"):
        method.execute([torch.randn(7, 3, 16, 16)])
    with pytest.raises(XirRuntimeError, match="input 0"):
        method.execute([torch.randn(3, 16, 16)])
    (after,) = method.execute(list(images(2, 0)))
    assert after.shape == (2, 5)


@pytest.mark.parametrize("dim", [Dim.AUTO, Dim("rows")], ids=["auto", "named"])
def test_sizes_without_a_bound_get_one(dim: Any) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).eval()
    program = torch.export.export(model, (torch.randn(2, 4),), dynamic_shapes=({0: dim},))
    with pytest.raises(DiagnosticError, match=r"dimension 0 of input 'input' has no upper bound: give one, .*max_size"):
        to_edge(program)
    buffer = to_edge(program, max_size=7).to_backend(XnnpackPartitioner()).to_executorch().buffer
    agree(buffer, model, ([torch.randn(rows, 4)] for rows in (7, 2, 5)))
    with pytest.raises(XirRuntimeError):
        Runtime.get().load_program(buffer).load_method().execute([torch.randn(8, 4)])
    with pytest.raises(ValueError, match="max_size is a number from 1 on, not 0"):
        to_edge(program, max_size=0)
