"""Composed convolutions compute what direct ones do, in every geometry, and within the error that is promised."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn

import xir
from xir.dialects import xnnpack
from xir.ir.annotations import COMPOSED
from xir.ir.passes import XirPass
from xir.report import report_of
from xir.runtime import Runtime
from xir.transforms.xnnpack.analysis.node_costs import stored_constants
from xir.transforms.xnnpack.composed_convolutions.forms import Axis, Convolution, Form
from xir.transforms.xnnpack.composed_convolutions.toom_cook import transforms
from xir.transforms.xnnpack.schedule.winograd_conv2d import WinogradConv2dPass

FORMS = [(height, width) for height in (1, 2, 4) for width in (1, 2, 4) if (height, width) != (1, 1)]


@dataclass(frozen=True)
class InForm:
    """The partitioner that computes convolutions in one form, whatever it costs."""

    form: tuple[int, int]
    by_gemm: bool = False

    def passes(self) -> Sequence[XirPass]:
        chosen = WinogradConv2dPass(form=self.form, by_gemm=self.by_gemm)
        return [chosen if each.name == chosen.name else each for each in xir.XnnpackPartitioner().passes()]


def lowered(
    model: nn.Module, image: Tensor, partitioner: InForm | xir.XnnpackPartitioner, batch: torch.export.Dim | None = None
) -> xir.EdgeProgram:
    shapes = None if batch is None else ({0: batch},)
    return xir.to_edge(torch.export.export(model, (image,), dynamic_shapes=shapes)).to_backend(partitioner)


def forms_in(program: xir.EdgeProgram) -> set[str]:
    """What the nodes say that they are part of."""
    return {str(op.attributes[COMPOSED]) for op in program.module.walk() if COMPOSED in op.attributes}


def run(program: xir.EdgeProgram, image: Tensor) -> Tensor:
    method = Runtime.get().load_program(program.to_executorch().buffer).load_method("forward")
    return torch.as_tensor(method.execute([image])[0])


def assert_exact(program: xir.EdgeProgram, model: nn.Module, image: Tensor) -> None:
    """Near what fp64 gives."""
    wanted = copy.deepcopy(model).double()(image.double())
    assert (run(program, image) - wanted).abs().max() < 2e-5 * max(1, wanted.abs().max())


@pytest.mark.parametrize(("outputs", "taps"), [(2, 3), (4, 3), (2, 5)])
def test_the_matrices_filter(outputs: int, taps: int) -> None:
    found = transforms(outputs, taps)
    signal = [7 * i % 5 - 2 for i in range(found.points)]
    kernel = [3 * i % 7 - 1 for i in range(taps)]
    products = [
        sum(b * x for b, x in zip(found.inputs[i], signal, strict=True))
        * sum(g * w for g, w in zip(found.filter[i], kernel, strict=True))
        for i in range(found.points)
    ]
    got = [sum(a * p for a, p in zip(row, products, strict=True)) for row in found.result]
    assert got == [sum(signal[i + k] * kernel[k] for k in range(taps)) for i in range(outputs)]


@settings(max_examples=examples(10), **DETERMINISTIC)
@given(
    form=st.sampled_from(FORMS),
    size=st.tuples(st.integers(3, 15), st.integers(3, 15)),
    kernel=st.tuples(st.sampled_from((1, 3, 5)), st.sampled_from((1, 3, 5))),
    padding=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    has_bias=st.booleans(),
    has_relu=st.booleans(),
)
def test_any_geometry(
    form: tuple[int, int],
    size: tuple[int, int],
    kernel: tuple[int, int],
    padding: tuple[int, int],
    has_bias: bool,
    has_relu: bool,
) -> None:
    allowed = {1: (1,), 3: (1, 2, 4), 5: (1, 2)}
    assume(all(tile in allowed[taps] for tile, taps in zip(form, kernel, strict=True)))
    assume(all(n + 2 * p >= k for n, p, k in zip(size, padding, kernel, strict=True)))
    torch.manual_seed(sum((*size, *padding)))
    layers = [nn.Conv2d(3, 5, kernel, padding=padding, bias=has_bias), *([nn.ReLU()] if has_relu else [])]
    model, image = nn.Sequential(*layers).eval(), torch.randn(2, 3, *size)
    program = lowered(model, image, InForm(form))
    assert forms_in(program) == {f'"conv2d as F({form[0]}x{form[1]})"'}
    assert_exact(program, model, image)


@st.composite
def tiled_axes(draw: st.DrawFn) -> tuple[int, Axis]:
    """Outputs that are computed together along a dimension, and the dimension."""
    outputs = draw(st.sampled_from((1, 1, 2, 4)))
    if outputs == 1:
        taps, stride, dilation = (draw(st.integers(1, most)) for most in (7, 3, 2))
    else:
        taps, stride, dilation = draw(st.sampled_from((3, 5) if outputs == 2 else (3,))), 1, 1
    pad = draw(st.integers(0, 3))
    least = max((taps - 1) * dilation + 1 - 2 * pad, 1)
    return outputs, Axis(draw(st.integers(least, least + 12)), taps, pad, pad, stride, dilation)


@settings(max_examples=examples(15), **DETERMINISTIC)
@given(vertical=tiled_axes(), horizontal=tiled_axes(), has_bias=st.booleans(), has_relu=st.booleans())
def test_any_geometry_by_gemm(
    vertical: tuple[int, Axis], horizontal: tuple[int, Axis], has_bias: bool, has_relu: bool
) -> None:
    """Products are plain ones, whatever the form."""
    (height, rows), (width, columns) = vertical, horizontal
    form = Form(height, width, by_gemm=True)
    assume(Convolution(rows, columns, 3, 5).differs_by_gemm(form))
    torch.manual_seed(rows.size)
    taps, stride, padding, dilation = (
        (getattr(rows, of), getattr(columns, of)) for of in ("taps", "stride", "before", "dilation")
    )
    layers = [nn.Conv2d(3, 5, taps, stride, padding, dilation, bias=has_bias), *([nn.ReLU()] if has_relu else [])]
    model, image = nn.Sequential(*layers).eval(), torch.randn(2, 3, rows.size, columns.size)
    program = lowered(model, image, InForm((height, width), by_gemm=True))
    assert forms_in(program) == {f'"conv2d as {form}"'}
    assert all(op.is_pointwise for op in program.module.walk() if isinstance(op, xnnpack.Conv2dOp))
    assert_exact(program, model, image)


def small(m: Any, x: Tensor) -> Tensor:
    """A chain of convolutions with a skip, and one whose stride leaves it direct."""
    return m.third(torch.relu(m.second(torch.relu(m.first(x))) + x))


@pytest.mark.parametrize(
    ("partitioner", "forms"),
    [
        (InForm((4, 2)), {"F(4x2)"}),
        (InForm((4, 4)), {"F(4x4)"}),
        (InForm((4, 2), by_gemm=True), {"F(4x2) by GEMM"}),
        (InForm((1, 1), by_gemm=True), {"im2col"}),
    ],
)
def test_an_open_batch_in_both_runtimes(partitioner: InForm, forms: set[str]) -> None:
    torch.manual_seed(0)
    first, second = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, bias=False)
    model = Calling(small, first=first, second=second, third=nn.Conv2d(8, 4, 3, stride=2)).eval()
    program = lowered(model, torch.randn(3, 8, 10, 9), partitioner, torch.export.Dim("batch", min=1, max=8))
    assert forms_in(program) == {f'"conv2d as {form}"' for form in forms}
    calls = ([torch.randn(count, 8, 10, 9)] for count in (1, 3, 8))
    agree(program.to_executorch().buffer, model, calls, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("form", "channels", "size", "taps"),
    [
        *((form, channels, size, 3) for form in FORMS for channels, size in ((32, 28), (128, 14))),
        *((form, 48, 14, 5) for form in FORMS if 4 not in form),
    ],
)
def test_the_error_is_within_the_bound(form: tuple[int, int], channels: int, size: int, taps: int) -> None:
    """Against fp64, of images that are not negative, as activations are: root mean square and largest."""
    torch.manual_seed(channels)
    model = nn.Conv2d(channels, channels, taps, padding=taps // 2).eval()
    image = torch.relu(torch.randn(1, channels, size, size))
    wanted = copy.deepcopy(model).double()(image.double())
    direct = run(lowered(model, image, xir.XnnpackPartitioner()), image) - wanted
    composed = run(lowered(model, image, InForm(form)), image) - wanted
    axis = Axis(size, taps, taps // 2, taps // 2)
    growth = Convolution(axis, axis, channels, channels).error_growth(Form(*form))
    assert growth <= 4
    assert composed.square().mean().sqrt() <= growth * direct.square().mean().sqrt() * 1.1
    assert composed.abs().max() <= 4 * direct.abs().max()


def test_a_profile_chooses_where_it_pays() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1)).eval()
    image = torch.randn(1, 3, 56, 56)
    program = lowered(model, image, xir.XnnpackPartitioner(cpu="zen4"))
    products = [op for op in program.module.walk() if isinstance(op, xnnpack.Conv2dOp)]
    # With three channels the transforms cost more than the products that they save.
    assert COMPOSED not in products[0].attributes
    assert {str(op.attributes[COMPOSED]) for op in products[1:]} == {'"conv2d as F(4x4)"'}
    torch.testing.assert_close(run(program, image), model(image), rtol=1e-3, atol=1e-4)
    report = report_of(program.remarks)
    assert [(entry.op, entry.reason, count) for entry, count in report.composed] == [("conv2d", "as F(4x4)", 1)]
    assert "Computed in another form:\n1 × as F(4x4)\n" in report.text()


@pytest.mark.parametrize(("max_error", "most"), [(4.0, 16), (3.0, 8), (1.0, 4), (0.0, 0)])
def test_the_error_bound_chooses_the_form(max_error: float, most: int) -> None:
    """So many outputs are computed together at most; what has a form is faster in a larger one."""
    model, image = nn.Conv2d(64, 64, 3, padding=1).eval(), torch.randn(1, 64, 56, 56)
    program = lowered(model, image, replace(xir.XnnpackPartitioner(cpu="zen4"), max_error=max_error))
    found = [re.findall(r"F\((\d)x(\d)\)", form) for form in forms_in(program)]
    outputs = [int(height) * int(width) for ((height, width),) in found]
    assert len(outputs) == (most > 0)
    assert all(most // 2 <= count <= most for count in outputs)


def shared(m: Any, x: Tensor) -> Tensor:
    """One convolution three times, so that its filter stays as long as one of them is direct, and another one."""
    x = torch.relu(m.often(x))
    return m.once(m.often(x) + m.often(x * x))


@pytest.mark.parametrize("growth", [0.25, 0.9, 1.5])
def test_weights_grow_within_the_limit(growth: float) -> None:
    torch.manual_seed(0)
    often, once = (nn.Conv2d(64, 64, 3, padding=1) for _ in range(2))
    model, image = Calling(shared, often=often, once=once).eval(), torch.randn(1, 64, 56, 56)
    programs = [
        lowered(model, image, xir.XnnpackPartitioner(cpu="generic-x86", max_growth=each)) for each in (0.0, growth)
    ]
    before, after = (sum(each.bytes for each in stored_constants(made.module).values()) for made in programs)
    assert forms_in(programs[1])
    assert before < after <= 1.01 * (1 + growth) * before  # the image's transforms are some numbers more
    assert_exact(programs[1], model, image)


@pytest.mark.parametrize("cpu", ["any", "x86"])
def test_without_a_profile_nothing_changes(cpu: str) -> None:
    model, image = nn.Conv2d(64, 64, 3, padding=1).eval(), torch.randn(1, 64, 56, 56)
    assert forms_in(lowered(model, image, xir.XnnpackPartitioner(cpu=cpu))) == set()


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("cpu", "pdp11", r"cpu is one of any, x86, generic, .*zen4, or a \.toml file of xir-tune, not 'pdp11'"),
        ("cpu", "missing.toml", "cannot read the profile 'missing.toml': No such file or directory"),
        ("form", "3,1", r"form is height and width, each 1, 2 or 4, not \(3, 1\)"),
    ],
)
def test_wrong_options(option: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WinogradConv2dPass.from_options({option: text})
