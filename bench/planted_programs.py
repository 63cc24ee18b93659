"""The programs that miscompiles are planted for: small ones, in which all passes have something to do.

Statements of `forward` are one op or layer each, so that a source line says which is wrong. Sizes differ, and batches
are of two, so that swapped dimensions show; weights are random, and none is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F  # noqa: N812 (the name everybody knows it by)
from torch import Tensor, nn

ROOT = Path(__file__).parents[1]


def randomised(module: nn.Module) -> nn.Module:
    """The module for inference, norms with statistics and factors as trained ones have."""
    for each in module.modules():
        if isinstance(each, nn.BatchNorm2d | nn.LayerNorm):
            each.weight.data.uniform_(0.5, 1.5)
            each.bias.data.uniform_(-0.5, 0.5)
        if isinstance(each, nn.BatchNorm2d):
            assert each.running_var is not None
            assert each.running_mean is not None
            each.running_var.uniform_(0.02, 1.02)
            each.running_mean.uniform_(-0.5, 0.5)
    return module.eval()


class Convolutions(nn.Module):
    """Convolutions of all kinds with batch norms and bounds, a residual sum, pools, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.deep = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False), nn.BatchNorm2d(8), nn.Hardtanh(-0.5, 0.75)
        )
        self.flat = nn.Sequential(nn.Conv2d(8, 8, (1, 3), padding=(0, 1)), nn.BatchNorm2d(8))
        self.up = nn.ConvTranspose2d(8, 6, 2, stride=2, groups=2)
        self.up_norm = nn.BatchNorm2d(6)
        self.head = nn.Linear(6, 5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(x)
        deep = self.deep(x)
        flat = self.flat(deep)
        x = x + flat
        tail = torch.sigmoid(flat)
        x = torch.cat([x, tail], 1)
        x = x[:, 4:12]
        x = self.up(x)
        x = self.up_norm(x)
        x = F.max_pool2d(x, 3, stride=2, padding=(1, 0), ceil_mode=True)
        x = F.avg_pool2d(x, 2, stride=1)
        x = x.mean((2, 3))
        return self.head(x), deep.relu()


class Affine(nn.Module):
    """Factors and offsets next to linear layers and convolutions."""

    factor: Tensor
    scale: Tensor
    shift: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.first, self.second = nn.Conv2d(3, 4, 3), nn.Linear(6, 5), nn.Linear(5, 3)
        self.register_buffer("factor", torch.rand(4, 1, 1) + 0.5)
        self.register_buffer("scale", torch.rand(6) + 0.5)
        self.register_buffer("shift", torch.randn(6))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.conv(x)
        y = y * 1.5
        y = y - 0.75
        z = x[:, 0]
        z = z * self.scale
        z = z + self.shift
        z = self.first(z)
        z = torch.clamp(z, -0.25, 0.5)
        z = z * -2.5
        z = self.second(z)
        return y, z - 0.25


class Moves(nn.Module):
    """Dimensions in orders that do not commute, between convolutions and products."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.mix = nn.Conv2d(4, 6, 1), nn.Linear(5, 5)
        self.row = nn.Parameter(torch.randn(6, 1, 5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.conv(x)
        x = x + self.row
        x = torch.cat([x, torch.tanh(x)], 1)
        x = x[:, 2:9]
        y = x.permute(1, 0, 2, 3)
        y = y.permute(0, 3, 1, 2)
        y = torch.sigmoid(y)
        z = x.permute(0, 2, 1, 3)
        z = z.permute(2, 3, 0, 1)
        z = torch.abs(z)
        w = x.transpose(0, 2)
        w = w.clamp(min=-0.5)
        w = self.mix(w)
        return y, z, F.pad(w, (1, 2, 0, 1), value=0.5)


class Slices(nn.Module):
    """Slices of what is computed for no other use, and of what others use as well."""

    def __init__(self) -> None:
        super().__init__()
        self.row = nn.Parameter(torch.randn(1, 6, 1, 5))
        self.mix = nn.Linear(5, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a = torch.sigmoid(x)
        b = x * self.row
        c = self.mix(x)
        return a[:, 1:3] + a[:, 3:5], b[:, 2:5], c[:, :, 1]


class Attention(nn.Module):
    """A block of a transformer: one projection for all, a product with a transposed matrix, a slice of one token."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.project, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
        self.mix = nn.Parameter(torch.randn(16, 16))
        self.bias = nn.Parameter(torch.randn(16))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.norm(x)
        y = self.project(y)
        q, k, v = y.reshape(-1, 6, 3, 4, 4).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2)
        scores = scores * 0.5
        scores = torch.softmax(scores, -1)
        y = scores @ v
        y = y.transpose(1, 2).reshape(-1, 6, 16)
        y = self.out(y)
        y = y + x
        same, again = torch.exp(y * 0.1), torch.exp(y * 0.1)
        less, more = y - same, same - y
        token = torch.addmm(self.bias, y[:, 1], self.mix, beta=0.5, alpha=2.0)
        return token, (same * again)[:, 2:5], less * F.leaky_relu(more, 0.2)


class Masks(nn.Module):
    """Look-ups of positions and kinds, and masks by comparisons, as encoders of text have them."""

    order: Tensor
    kind: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(20, 8), nn.Embedding(12, 8)
        self.kinds = nn.Embedding(3, 8)
        self.register_buffer("order", torch.arange(2, 10).unsqueeze(0))
        self.register_buffer("kind", torch.full((1, 6), 2))

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.words(tokens)
        order = self.order[:, :6].expand(2, 6)
        x = x + self.places(order)
        x = x + self.kinds(self.kind.expand(2, 6))
        seen = mask != 0
        scores = x @ x.transpose(-1, -2)
        scores = torch.where(seen[:, None, :], scores, -1000.0)
        late = torch.logical_and(seen, mask < 3)
        late = late.to(torch.float32)
        some = torch.logical_or(mask == 1, mask > 3)
        some = some.to(torch.float32)
        return torch.softmax(scores, -1), late * 0.75, some * 2.0


class Twins(nn.Module):
    """Two results of one shape, and what attention with fewer heads of keys repeats."""

    def forward(self, x: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rising, falling = torch.exp(x), torch.sigmoid(-x)
        falling = falling + x.transpose(0, 1)
        keys = x.unsqueeze(2).expand(2, 2, 3, 5, 4).reshape(2, 6, 5, 4)
        values = rising.unsqueeze(2).expand(2, 2, 3, 5, 4).reshape(2, 6, 5, 4)
        return rising, falling, F.scaled_dot_product_attention(q, keys, values)


class Outside(nn.Module):
    """Kernels outside of delegates, and what they are decomposed to."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 5)
        self.scale = nn.Parameter(torch.rand(6) + 0.5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        steps = torch.arange(6.0) * 0.5
        steps = torch.cat([steps[3:], steps[:3]])
        x = x * steps
        y = torch.cumsum(x, 1)
        y = self.first(y)
        z = torch.sort(y, dim=-1, descending=True).values
        z = self.second(z)
        total = torch.cumsum(z, -1)
        norm = torch.linalg.vector_norm(y.cumsum(0), 3, dim=-1)
        root = F.rms_norm(x.cumsum(0), (6,), self.scale, 0.25)
        return total, norm, root.cumsum(-1)


class State(nn.Module):
    """Buffers that are written in part."""

    cache: Tensor
    last: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.randn(1, 8, 3))
        self.register_buffer("last", torch.randn(4, 3))

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        before = self.cache.sum(1)
        self.cache[:, 2:6] = x
        self.cache[:, at] = x * 2
        self.last[1] = x[0, 0]
        return self.cache * 0.5, before + self.last


class Sizes(nn.Module):
    """A batch and a length that are open: views that merge both."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        batch, length = x.shape[0], x.shape[1]
        y = x.reshape(batch * length, 8)
        y = self.project(y)
        y = y.reshape(batch, length, 3, 2, 4)
        q, k, v = y.permute(2, 0, 3, 1, 4)
        q, k = q.reshape(batch * 2, length, 4), k.reshape(batch * 2, length, 4)
        scores = torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1)
        y = torch.bmm(scores, v.reshape(batch * 2, length, 4))
        y = y.reshape(batch, 2, length, 4).permute(0, 2, 1, 3).reshape(batch, length, 8)
        return self.out(y)


class Quantized(nn.Module):
    """Layers and moves that integers are computed in."""

    row: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.deep = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.Conv2d(8, 8, 5, padding=2, groups=8)
        self.head = nn.Linear(8, 5)
        self.register_buffer("row", torch.rand(1, 8, 1, 1) * 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = self.deep(x)
        x = x * self.row
        y = torch.cat([x, x.flip(1)], 1)
        y = F.pad(y, (1, 0, 1, 0))
        y = y[:, 2:10]
        y = F.avg_pool2d(y, 2)
        y = y.mean((2, 3))
        return self.head(y)


class Fine(nn.Module):
    """What the quantiser takes apart, and layers wide enough for groups of weights."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(64, 96), nn.Linear(32, 64), nn.Linear(64, 6, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        q, k, v = x.reshape(2, 5, 3, 2, 16).permute(2, 0, 3, 1, 4)
        x = F.scaled_dot_product_attention(q, k, v)
        x = x.transpose(1, 2).reshape(2, 5, 32)
        x = self.second(x)
        x = F.silu(x)
        x = x * 0.25
        return self.last(x)


class Outliers(nn.Module):
    """Blocks with one set of weights, behind a layer and then behind norms, one of them read by a residual sum, whose
    channels and those of what the sum adds differ as in trained transformers; and a norm of its own before the head."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.up, self.down, self.head = (
            nn.Linear(8, 32),
            nn.Linear(32, 64),
            nn.Linear(64, 32),
            nn.Linear(32, 5),
        )
        self.norm, self.last = (
            nn.ParameterList(torch.randn(32) for _ in range(2)),
            nn.ParameterList(torch.randn(32) for _ in range(2)),
        )
        with torch.no_grad():
            for layer in (self.first.weight, self.first.bias, self.down.weight, *self.norm, *self.last):
                layer[[3, 17]] *= 60.0
            for layer in (self.up, self.head):
                layer.weight[:, [3, 17]] /= 60.0

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.first(x)
        side = F.layer_norm(x, (32,))
        y = self.up(x)
        y = torch.tanh(y)
        y = self.down(y)
        x = x + y
        x = F.layer_norm(x, (32,), self.norm[0], self.norm[1])
        y = self.up(x)
        y = torch.tanh(y)
        y = self.down(y)
        x = x + y
        x = F.layer_norm(x, (32,), self.last[0], self.last[1])
        return self.head(x), side


class Tied(nn.Module):
    """A norm whose channels differ, before a layer whose weight is read once more."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.head = nn.Linear(32, 64), nn.Linear(64, 5)
        self.factor = nn.Parameter(torch.rand(32) + 0.5)
        with torch.no_grad():
            self.factor[[3, 17]] *= 60.0
            self.up.weight[:, [3, 17]] /= 60.0

    def forward(self, x: Tensor) -> Tensor:
        x = F.layer_norm(x, (32,), self.factor)
        x = self.up(x)
        x = torch.tanh(x)
        x = x * self.up.weight.mean(1)
        return self.head(x)


class Imports(nn.Module):
    """What the importer takes apart, or makes functional."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(5, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = F.celu(x, 0.75)
        y = torch.logsumexp(y, (0, 2), keepdim=True)
        z = F.pad(x, (1, 2, 0, 0), mode="circular")
        z = z.unfold(2, 3, 2)
        w = x.clone()
        w[:, 1:] *= 2.0
        w[0].relu_()
        h = self.cell(w[0], w[1, :, :4])
        return y + torch.hypot(x, w), z, h


class Halves(nn.Module):
    """Weights and activations in bf16, between numbers in fp32."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 8, dtype=torch.bfloat16), nn.Linear(8, 6, dtype=torch.bfloat16)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        y = y.reshape(2, 3, 2, 4).permute(0, 2, 1, 3)
        z = torch.neg(y)
        y = torch.abs(y)
        y = torch.cat([y, z], 2)
        y = torch.sigmoid(y)
        y = y[:, :, 1:4].reshape(2, 3, 8)
        return self.second(y)


@dataclass(frozen=True)
class Program:
    """A network, its inputs, and how it becomes IR."""

    network: Callable[[], nn.Module]
    inputs: Callable[[], tuple[Tensor, ...]]
    quantize: Literal["static", "dynamic"] | None = None
    dynamic: Mapping[int, Mapping[int, str]] = field(default_factory=dict[int, Mapping[int, str]])
    """The open dimensions of inputs, by name."""


def image(*shape: int) -> Callable[[], tuple[Tensor, ...]]:
    """Normal numbers of this shape."""
    return lambda: (torch.randn(*shape) * 2,)


PROGRAMS: dict[str, Program] = {
    "convolutions": Program(Convolutions, image(2, 3, 18, 16)),
    "affine": Program(Affine, image(2, 3, 5, 6)),
    "moves": Program(Moves, image(2, 4, 3, 5)),
    "slices": Program(Slices, image(2, 6, 3, 5)),
    "attention": Program(Attention, image(2, 6, 16)),
    "masks": Program(Masks, lambda: (torch.randint(0, 20, (2, 6)), torch.randint(0, 6, (2, 6)))),
    "twins": Program(Twins, lambda: (torch.randn(2, 2, 5, 4), torch.randn(2, 6, 5, 4))),
    "outside": Program(Outside, image(3, 4, 6)),
    "state": Program(State, lambda: (torch.randn(1, 4, 3), torch.tensor([1, 3, 6, 7]))),
    "sizes": Program(Sizes, image(2, 6, 8), dynamic={0: {0: "batch", 1: "length"}}),
    "integers": Program(Quantized, image(2, 3, 18, 16), "static"),
    "rows": Program(Attention, image(2, 6, 16), "dynamic"),
    "fine": Program(Fine, image(2, 5, 64)),
    "outliers": Program(Outliers, image(2, 6, 8)),
    "tied": Program(Tied, image(2, 6, 32)),
    "imports": Program(Imports, image(2, 6, 5)),
    "halves": Program(Halves, lambda: (torch.randn(2, 3, 6, dtype=torch.bfloat16),)),
}
"""By name."""

MODELS: dict[str, tuple[str, Literal["static"] | None]] = {
    "mv2": ("mv2", None),
    "mv2_int8": ("mv2", "static"),
    "mv3": ("mv3", None),
    "vit": ("vit", None),
}
"""Models of the zoo, as they are or quantised."""

LIT_TESTS = {
    "int_mm": ("raise-int-mm", 0),
    "tables": ("isolate-tables", 0),
    "packed": ("separate-packed-constants", 0),
    "prefix": ("attend-live-prefix", 0),
    "step": ("fuse-prefix-attention", 0),
    "positions": ("fold-lookups", 0),
    "one_row": ("fold-lookups", 1),
    "nibbles": ("fuse-quantized-embedding", 0),
    "bytes": ("fuse-quantized-embedding", 1),
    "windows": ("collapse-dims", 0),
    "bands": ("band-spatial", 0),
    "channels": ("pad-channels", 0),
    "columns": ("split-columns", 0),
    "few_channels": ("widen-products", 0),
    "blocks": ("skip-masked-keys", 0),
    "causal": ("crop-padding", 0),
    "items": ("raise-items", 1),
    "counted": ("fold-positions", 1),
    "gated": ("densify-experts", 0),
    "squared": ("avoid-xnnpack-faults", 2),
    "guarded": ("drop-softmax-guards", 1),
    "hidden": ("fill-hidden-rows", 0),
    "products": ("make-bit-exact", 0),
    "ordered": ("lower-to-pte", 26),
}
"""Programs that are those of lit tests of passes, by their number there: what the passes work on is rare elsewhere."""


def text_of(program: str) -> str:
    """The text of a program of a lit test."""
    test, number = LIT_TESTS[program]
    text = (ROOT / "test" / "lit" / "transforms" / f"{test}.mlir").read_text(encoding="utf-8")
    return text.split("// -----")[number]


CALIBRATED = {"convolutions": "images", "integers": "images", "fine": "rows"}
"""Programs that are quantised with calibration inputs, and the function that has them."""


def images() -> list[tuple[Tensor]]:
    """Batches of which each reaches further than the one before."""
    generator = torch.Generator().manual_seed(0)
    return [(factor * torch.randn(2, 3, 18, 16, generator=generator),) for factor in (2.0, 1.0, 1.5)]


def rows() -> list[tuple[Tensor]]:
    """Vectors whose numbers go together, and are not zero on average, as a layer's inputs are."""
    generator = torch.Generator().manual_seed(0)
    mixed = torch.randn(8, 64, generator=generator)
    return [((1 + torch.randn(2, 5, 8, generator=generator)) @ mixed,) for _ in range(12)]


SETS = 3
"""How many sets of inputs eager computes on."""


def write_programs(folder: Path) -> None:
    """Write each program as exported, in float, and as text with its source lines, its inputs beside it, and what eager
    computes in two calls."""
    from xir import QuantConfig, quantize, to_edge
    from xir.evaluate.inputs import draw_inputs
    from xir.ir.context import XirContext
    from xir.ir.functions import functions_of
    from xir.ir.parser import parse_module
    from xir.ir.printer import PrintOptions, module_to_text

    for name, program in PROGRAMS.items():
        torch.manual_seed(0)
        network, inputs = randomised(program.network()), program.inputs()
        exported = torch.export.export(network, inputs, dynamic_shapes=_open(program))
        torch.export.save(exported, folder / f"{name}.pt2")
        if program.quantize is not None:
            exported = quantize(exported, inputs, config=QuantConfig(program.quantize))
        edge = to_edge(exported)
        text = module_to_text(edge.module, edge.ctx, PrintOptions(resources=True, debuginfo=True))
        (folder / f"{name}.mlir").write_text(text, encoding="utf-8")
        torch.save(list(inputs), folder / f"{name}.pt")
        sets = [inputs, *(program.inputs() for _ in range(SETS - 1))]
        torch.save([eager(exported, each) for each in sets], folder / f"{name}.eager")
    for name in LIT_TESTS:
        path = folder / f"{name}.mlir"
        path.write_text(text_of(name), encoding="utf-8")
        function = functions_of(parse_module(XirContext(), text_of(name), str(path)))[0]
        sets = [draw_inputs(function, seed) for seed in range(SETS)]
        torch.save([{"inputs": each, "calls": []} for each in sets], folder / f"{name}.eager")


def write_model(folder: Path, name: str) -> None:
    """Write a model as an exported program, if it is not there."""
    from xir import QuantConfig, quantize
    from xir.models import load_model

    path = folder / f"{name}.pt2"
    if path.exists():
        return
    model, mode = MODELS[name]
    network, inputs = load_model(model)
    exported = torch.export.export(network, inputs)
    torch.export.save(exported if mode is None else quantize(exported, inputs, config=QuantConfig(mode)), path)


def eager(exported: torch.export.ExportedProgram, inputs: tuple[Tensor, ...]) -> dict[str, Any]:
    """Inputs, and what a program computes of them in two calls, the second with what the first left in buffers."""
    module = exported.module()
    with torch.no_grad():
        calls = [module(*(each.clone() for each in inputs)) for _ in range(2)]
    outputs = [[each.clone() for each in (call if isinstance(call, tuple) else [call])] for call in calls]
    return {"inputs": list(inputs), "calls": outputs}


def _open(program: Program) -> Any:
    if not program.dynamic:
        return None
    sizes = {name: torch.export.Dim(name, min=2, max=8) for each in program.dynamic.values() for name in each.values()}
    return [{dim: sizes[name] for dim, name in dims.items()} for dims in program.dynamic.values()]
