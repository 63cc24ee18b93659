"""Programs in bands compute what they did, in less memory, in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from executorch.runtime import Runtime as StockRuntime
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from torch import Tensor, nn

import xir
from xir.dialects import xnnpack
from xir.ir.annotations import COMPOSED
from xir.ir.diagnostics import DiagnosticError
from xir.ir.walking import ops_in
from xir.runtime import Runtime
from xir.transforms.xnnpack.schedule._band_search import Search


class Stages(nn.Module):
    """Inverted residual blocks with a pooling between them: windows of all kinds, a skip connection, a narrow input."""

    def __init__(self, kernel: int, dilation: int, stride: int, pool: nn.Module) -> None:
        super().__init__()
        pad = dilation * (kernel - 1) // 2
        self.stem = nn.Conv2d(3, 8, kernel, stride, pad, dilation)
        self.expand = nn.Conv2d(8, 32, 1)
        self.depthwise = nn.Conv2d(32, 32, kernel, 1, pad, dilation, groups=32)
        self.project = nn.Conv2d(32, 8, 1)
        self.pool = pool
        self.last = nn.Conv2d(16, 4, 3, stride)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.stem(x))
        y = self.project(nn.functional.relu6(self.depthwise(torch.relu(self.expand(x)))))
        y = torch.cat([self.pool(x + y), self.pool(x)], 1)
        return torch.sigmoid(self.last(y))


POOLS = [nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2), nn.MaxPool2d(3, 1, 1), nn.Identity()]


def lowered(edge: xir.EdgeProgram, limit: int = 0) -> xir.EdgeProgram:
    return edge.to_backend(xir.XnnpackPartitioner(max_arena=limit))


def peak(program: xir.EdgeProgram) -> int:
    return max(Search(each.block).peak for each in ops_in(program.module, xnnpack.SubgraphOp))


def least(edge: xir.EdgeProgram) -> int:
    """The least memory, as the refusal of a limit that is too low says."""
    with pytest.raises(DiagnosticError, match="99 are allowed: in bands it needs") as caught:
        lowered(edge, 99)
    return int(caught.value.diagnostic.message.split()[-1])


def bands_in(program: xir.EdgeProgram) -> int:
    return sum(COMPOSED in op.attributes for op in program.module.walk())


@given(
    size=st.tuples(st.integers(18, 40), st.integers(12, 20)),
    kernel=st.sampled_from([3, 5]),
    dilation=st.integers(1, 2),
    stride=st.integers(1, 2),
    pool=st.sampled_from(POOLS),
    batch=st.integers(1, 2),
    share=st.sampled_from([0.4, 0.55, 0.7]),
)
@settings(max_examples=examples(2, 6), phases=(Phase.explicit, Phase.generate), **DETERMINISTIC)
def test_bands_compute_the_same(
    size: tuple[int, int], kernel: int, dilation: int, stride: int, pool: nn.Module, batch: int, share: float
) -> None:
    torch.manual_seed(0)
    model, image = Stages(kernel, dilation, stride, pool).eval(), torch.randn(batch, 3, *size)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    whole = lowered(edge)
    check(edge, max(int(peak(whole) * share), least(edge)), model, image)


@pytest.mark.parametrize(
    ("height", "shuffle"),
    [
        (18, nn.PixelShuffle(2)),
        (12, nn.PixelUnshuffle(2)),
        pytest.param(12, nn.PixelShuffle(2), marks=pytest.mark.exhaustive),
        pytest.param(18, nn.PixelUnshuffle(2), marks=pytest.mark.exhaustive),
    ],
)
def test_bands_of_shuffled_pixels(shuffle: nn.Module, height: int) -> None:
    """Rows that are taken apart and put together: a band of five rows reads three rows of pixels that make two each."""
    torch.manual_seed(0)
    stages = (nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), shuffle, nn.Conv2d(8 if height_grows(shuffle) else 128, 2, 3))
    model, image = nn.Sequential(*stages).eval(), torch.randn(1, 3, height, 16)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    assert least(edge) < 0.6 * peak(lowered(edge))
    check(edge, least(edge), model, image)


def height_grows(shuffle: nn.Module) -> bool:
    return isinstance(shuffle, nn.PixelShuffle)


def check(edge: xir.EdgeProgram, limit: int, model: nn.Module, image: Tensor) -> None:
    """The program for a limit has bands, keeps it, and computes what the model does in both runtimes."""
    banded = lowered(edge, limit)
    assert bands_in(banded)
    assert peak(banded) <= limit
    file = banded.to_executorch().buffer
    (result,) = Runtime.get().load_program(file).load_method("forward").execute([image])
    torch.testing.assert_close(torch.as_tensor(result), model(image), rtol=1e-5, atol=1e-6)
    method = StockRuntime.get().load_program(file).load_method("forward")
    assert method is not None
    (stock,) = method.execute([image])
    torch.testing.assert_close(stock, torch.as_tensor(result), rtol=1e-6, atol=1e-7)


def test_too_little_memory_says_what_is_the_least() -> None:
    torch.manual_seed(0)
    model, image = Stages(3, 1, 1, POOLS[0]).eval(), torch.randn(1, 3, 32, 32)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    with pytest.raises(DiagnosticError, match=rf"needs {peak(lowered(edge))} bytes for tensors when conv2d runs"):
        lowered(edge, 99)
    assert 0.9 * least(edge) < peak(lowered(edge, least(edge))) <= least(edge)
    with pytest.raises(DiagnosticError, match="in bands it needs"):
        lowered(edge, int(0.97 * least(edge)))


def test_a_limit_that_is_kept_changes_nothing() -> None:
    image = torch.randn(1, 3, 32, 32)
    edge = xir.to_edge(torch.export.export(Stages(3, 1, 1, POOLS[0]).eval(), (image,)))
    whole = lowered(edge)
    assert str(lowered(edge, peak(whole))) == str(whole)


class Plain(nn.Module):
    """Convolutions that forms of minimal filtering are worth, at one resolution and a quarter of it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.wide = nn.Conv2d(3, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1)
        self.down, self.deep = nn.Conv2d(64, 96, 3, 2, 1), nn.Conv2d(96, 96, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.first(x))
        return torch.relu(self.deep(torch.relu(self.down(torch.relu(self.wide(x)) + x))))


@pytest.mark.parametrize(("share", "forms"), [(2.0, 2), (1.0, 1), pytest.param(0.6, 1, marks=pytest.mark.exhaustive)])
def test_what_a_profile_chooses_keeps_the_limit(share: float, forms: int) -> None:
    """Only where there is room for what a form computes meanwhile: at a quarter of the resolution, there always is."""
    torch.manual_seed(0)
    model, image = Plain().eval(), torch.randn(1, 3, 56, 56)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    limit = int(share * peak(edge.to_backend(xir.XnnpackPartitioner(cpu="any"))))
    program = edge.to_backend(xir.XnnpackPartitioner(cpu="zen4", max_arena=limit))
    composed = {str(op.location) for op in program.module.walk() if "conv2d as F" in str(op.attributes.get(COMPOSED))}
    assert len(composed) == forms
    assert peak(program) <= limit
    (result,) = Runtime.get().load_program(program.to_executorch().buffer).load_method("forward").execute([image])
    torch.testing.assert_close(torch.as_tensor(result), model(image), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cpu", [pytest.param("any", marks=pytest.mark.exhaustive), "x86"])
def test_bands_of_integers_compute_the_same_bits(cpu: str) -> None:
    """Quantised convolutions, the first of which reads pixels side by side, and one that is wider in fp32 on x86."""
    torch.manual_seed(0)
    model, image = Stages(5, 1, 2, POOLS[1]).eval(), torch.randn(1, 3, 64, 48)
    edge = xir.to_edge(xir.quantize(model, (image,), [image]))
    whole = edge.to_backend(xir.XnnpackPartitioner(cpu=cpu))
    limit = int(0.7 * peak(whole))
    banded = edge.to_backend(xir.XnnpackPartitioner(cpu=cpu, max_arena=limit))
    assert bands_in(banded)
    assert peak(banded) <= limit
    methods = [
        Runtime.get().load_program(each.to_executorch().buffer).load_method("forward") for each in (whole, banded)
    ]
    want, result = (torch.as_tensor(method.execute([image])[0]) for method in methods)
    assert torch.equal(result, want)


def test_a_search_keeps_no_module_alive() -> None:
    """What is remembered of values and ops goes with them."""
    image = torch.randn(1, 3, 32, 32)
    program = lowered(xir.to_edge(torch.export.export(Stages(3, 1, 1, POOLS[0]).eval(), (image,))), 99_000)
    module = weakref.ref(program.module)
    assert bands_in(program)
    del program
    gc.collect()
    assert module() is None


def test_open_sizes_have_no_bands() -> None:
    """Their bands would have to be counted when the program runs; the largest sizes say what it needs."""
    batch = torch.export.Dim("batch", min=1, max=4)
    image = torch.randn(2, 3, 32, 32)
    exported = torch.export.export(Stages(3, 1, 1, POOLS[0]).eval(), (image,), dynamic_shapes=({0: batch},))
    edge = xir.to_edge(exported)
    with pytest.raises(DiagnosticError, match="bands cut no open sizes"):
        lowered(edge, 1000)
