"""Programs in bands compute what they did, in less memory, in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn

import xir
from xir.dialects import xnnpack
from xir.ir.annotations import COMPOSED
from xir.ir.diagnostics import DiagnosticError
from xir.ir.walking import ops_in
from xir.runtime import Runtime
from xir.transforms.xnnpack.schedule._band_search import Search


def stages(kernel: int = 3, dilation: int = 1, stride: int = 1, pool: nn.Module | None = None) -> nn.Module:
    """Inverted residual blocks with a pooling between them: windows of all kinds, a skip connection, a narrow input."""

    def forward(m: Any, x: Tensor) -> Tensor:
        x = torch.relu(m.stem(x))
        y = m.project(nn.functional.relu6(m.depthwise(torch.relu(m.expand(x)))))
        y = torch.cat([m.pool(x + y), m.pool(x)], 1)
        return torch.sigmoid(m.last(y))

    torch.manual_seed(0)
    pad = dilation * (kernel - 1) // 2
    return Calling(
        forward,
        stem=nn.Conv2d(3, 8, kernel, stride, pad, dilation),
        expand=nn.Conv2d(8, 32, 1),
        depthwise=nn.Conv2d(32, 32, kernel, 1, pad, dilation, groups=32),
        project=nn.Conv2d(32, 8, 1),
        pool=pool or POOLS[0],
        last=nn.Conv2d(16, 4, 3, stride),
    ).eval()


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
    model, image = stages(kernel, dilation, stride, pool), torch.randn(batch, 3, *size)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    check(edge, max(int(peak(lowered(edge)) * share), least(edge)), model, image)


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
    channels = 8 if isinstance(shuffle, nn.PixelShuffle) else 128
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), shuffle, nn.Conv2d(channels, 2, 3)).eval()
    image = torch.randn(1, 3, height, 16)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    limit = least(edge)
    assert limit < 0.6 * peak(lowered(edge))
    check(edge, limit, model, image)


def check(edge: xir.EdgeProgram, limit: int, model: nn.Module, image: Tensor) -> None:
    """The program for a limit has bands, keeps it, and computes what the model does in both runtimes."""
    banded = lowered(edge, limit)
    assert bands_in(banded)
    assert peak(banded) <= limit
    agree(banded.to_executorch().buffer, model, [(image,)])


def test_a_limit_says_what_it_needs_changes_nothing_where_it_is_kept_and_keeps_no_module_alive() -> None:
    """What is remembered of values and ops goes with them."""
    edge = xir.to_edge(torch.export.export(stages(), (torch.randn(1, 3, 32, 32),)))
    whole, limit = lowered(edge), least(edge)
    with pytest.raises(DiagnosticError, match=rf"needs {peak(whole)} bytes for tensors when conv2d runs"):
        lowered(edge, 99)
    with pytest.raises(DiagnosticError, match="in bands it needs"):
        lowered(edge, int(0.97 * limit))
    assert str(lowered(edge, peak(whole))) == str(whole)
    program = lowered(edge, limit)
    assert bands_in(program)
    assert 0.9 * limit < peak(program) <= limit
    module = weakref.ref(program.module)
    del program
    gc.collect()
    assert module() is None


def plain(m: Any, x: Tensor) -> Tensor:
    """Convolutions that forms of minimal filtering are worth, at one resolution and a quarter of it."""
    x = torch.relu(m.first(x))
    return torch.relu(m.deep(torch.relu(m.down(torch.relu(m.wide(x)) + x))))


@pytest.mark.parametrize(("share", "forms"), [(2.0, 2), (1.0, 1), pytest.param(0.6, 1, marks=pytest.mark.exhaustive)])
def test_what_a_profile_chooses_keeps_the_limit(share: float, forms: int) -> None:
    """Only where there is room for what a form computes meanwhile: at a quarter of the resolution, there always is."""
    torch.manual_seed(0)
    wide = {"first": nn.Conv2d(3, 64, 3, padding=1), "wide": nn.Conv2d(64, 64, 3, padding=1)}
    deep = {"down": nn.Conv2d(64, 96, 3, 2, 1), "deep": nn.Conv2d(96, 96, 3, padding=1)}
    model, image = Calling(plain, **wide, **deep).eval(), torch.randn(1, 3, 56, 56)
    edge = xir.to_edge(torch.export.export(model, (image,)))
    limit = int(share * peak(edge.to_backend(xir.XnnpackPartitioner(cpu="any"))))
    program = edge.to_backend(xir.XnnpackPartitioner(cpu="zen4", max_arena=limit))
    composed = {str(op.location) for op in program.module.walk() if "conv2d as F" in str(op.attributes.get(COMPOSED))}
    assert len(composed) == forms
    assert peak(program) <= limit
    agree(program.to_executorch().buffer, model, [(image,)], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cpu", [pytest.param("any", marks=pytest.mark.exhaustive), "x86"])
def test_bands_of_integers_compute_the_same_bits(cpu: str) -> None:
    """Quantised convolutions, the first of which reads pixels side by side, and one that is wider in fp32 on x86."""
    model, image = stages(5, 1, 2, POOLS[1]), torch.randn(1, 3, 64, 48)
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


def test_open_sizes_have_no_bands() -> None:
    """Their bands would have to be counted when the program runs; the largest sizes say what it needs."""
    batch = torch.export.Dim("batch", min=1, max=4)
    image = torch.randn(2, 3, 32, 32)
    edge = xir.to_edge(torch.export.export(stages(), (image,), dynamic_shapes=({0: batch},)))
    with pytest.raises(DiagnosticError, match="bands cut no open sizes"):
        lowered(edge, 1000)
