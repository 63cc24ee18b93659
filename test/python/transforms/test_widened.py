"""Quantised convolutions by channel, and products, that compute in fp32 agree with PyTorch's own emulation to one step.

A cost profile, and the bytes that it may take, decide which ones do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import load_stock
from torch import Tensor, nn
from xdsl.dialects.builtin import f32

import xir
from xir.cost.profile import KernelCost, load_profile
from xir.cost.work import FLOAT_KERNELS, Kernel
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.remarks import Remark, RemarkFilter
from xir.ir.walking import ops_in
from xir.runtime import Runtime
from xir.transforms.xnnpack.schedule._widening import LEAST_GAIN
from xir.transforms.xnnpack.schedule.widen_depthwise import WidenDepthwisePass
from xir.transforms.xnnpack.schedule.widen_products import Product, WidenProductsPass

Inputs = tuple[Tensor, ...]


def quantized(layer: nn.Module, *shapes: tuple[int, ...]) -> tuple[torch.export.ExportedProgram, list[Inputs]]:
    """A layer's int8 program as PyTorch emulates it, and what it was calibrated on."""
    torch.manual_seed(2)
    calls = [tuple(torch.randn(shape) for shape in shapes) for _ in range(4)]
    return xir.quantize(layer.eval(), calls[0], calls), calls


def lowered(program: torch.export.ExportedProgram, cpu: str, **options: float | bool | None) -> xir.EdgeProgram:
    return xir.to_edge(program).to_backend(xir.XnnpackPartitioner(cpu=cpu, **options))  # pyright: ignore[reportArgumentType]


def is_wide(edge: xir.EdgeProgram) -> bool:
    """Whether its convolutions and products compute in fp32."""
    nodes = list(ops_in(edge.module, xnnpack.WeightedOp))
    (found,) = {element_type(node.input) == f32 for node in nodes}
    return found


def assert_agrees(edge: xir.EdgeProgram, program: torch.export.ExportedProgram, calls: list[Inputs]) -> None:
    """Results are those of PyTorch's emulation, to one step."""
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for inputs in calls:
        expected = program.module()(*inputs)
        wanted = expected if isinstance(expected, tuple) else (expected,)
        for got, want in zip(method.execute(inputs), wanted, strict=True):
            step = want.unique().diff().min()
            difference = (torch.as_tensor(got) - want).abs()
            assert difference.max() <= 1.001 * step
            # Steps apart are what sums in another order round differently.
            assert (difference > step / 2).float().mean() < 0.01


def by_channel(taps: int, stride: int = 1, multiplier: int = 1) -> nn.Module:
    return nn.Conv2d(8, 8 * multiplier, taps, stride, padding=taps // 2, groups=8)


LAYERS = {
    "by channel": (by_channel(5), (1, 8, 14, 14), "x86"),
    "by channel, strided": (by_channel(5, stride=2), (1, 8, 14, 14), "x86"),
    "by channel, twice as many": (by_channel(5, multiplier=2), (1, 8, 14, 14), "x86"),
    "pointwise": (nn.Conv2d(8, 24, 1), (1, 8, 28, 28), "zen3"),
    "linear": (nn.Linear(8, 24), (4, 196, 8), "zen3"),
    "no bias": (nn.Conv2d(8, 24, 1, bias=False), (2, 8, 28, 28), "zen3"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_agrees_with_the_quantized_program_in_eager(name: str) -> None:
    layer, shape, cpu = LAYERS[name]
    program, calls = quantized(nn.Sequential(layer, nn.ReLU6()), shape)
    for each in ("any", cpu):
        edge = lowered(program, each)
        assert is_wide(edge) == (each != "any")
        assert_agrees(edge, program, calls)


def test_no_more_bytes_than_asked_and_the_same_bits_on_integers() -> None:
    """The filter of 192 bytes takes 768 in fp32; beside it are 96 of the bias.

    A sum in fp32 that is halfway between two integers depends on its order.
    """
    layer, shape, cpu = LAYERS["pointwise"]
    program, _ = quantized(layer, shape)
    for growth, wide in ((0.0, False), (1.9, False), (2.1, True), (inf, True), (None, True)):
        assert is_wide(lowered(program, cpu, max_growth=growth)) == wide
    assert not is_wide(lowered(program, cpu, bit_exact=True))


def test_one_filter_of_two_products() -> None:
    shared = Calling(lambda model, x, y: (model.layer(x), model.layer(y)), layer=nn.Linear(8, 24))
    program, calls = quantized(shared, (784, 8), (784, 8))
    edge = lowered(program, "zen3")
    assert len(list(ops_in(edge.module, Product))) == 2
    assert is_wide(edge)
    assert_agrees(edge, program, calls[:1])


@pytest.mark.parametrize(("taps", "stride", "multiplier"), [(3, 1, 1), (3, 2, 1), (5, 1, 2)])
def test_halves_are_rounded_once_in_fp32(taps: int, stride: int, multiplier: int) -> None:
    """On x86, whose kernels on fp16 round behind each tap."""
    torch.manual_seed(3)
    conv = by_channel(taps, stride, multiplier).half().eval()
    image = torch.randn(1, 8, 14, 14).half()
    edge = xir.to_edge(torch.export.export(conv, (image,)))
    found: dict[str, Tensor] = {}
    for cpu in ("any", "x86"):
        program = edge.to_backend(xir.XnnpackPartitioner(cpu=cpu))
        assert is_wide(program) == (cpu == "x86")
        file = program.to_executorch().buffer
        found[cpu] = torch.as_tensor(Runtime.get().load_program(file).load_method("forward").execute([image])[0])
        assert torch.equal(load_stock(file).forward((image,))[0], found[cpu])
    want = conv.double()(image.double())
    errors = {cpu: (result.double() - want).abs() for cpu, result in found.items()}
    assert (errors["x86"] <= 2**-11 * want.abs() + 1e-5).all()
    assert errors["x86"].max() <= errors["any"].max()


def profile(folder: Path, kernels: Mapping[Kernel, float], family: str = "x86") -> str:
    """A file in which multiply-adds of kernels on fp32 take a nanosecond, and these kernels what is said of theirs."""
    free = KernelCost(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    costs: dict[Kernel, KernelCost] = {kernel: replace(free, work=1.0) for kernel in FLOAT_KERNELS}
    costs |= {
        kernel: replace(free, traffic=cost) if kernel == "qs8_convert" else replace(free, work=cost)
        for kernel, cost in kernels.items()
    }
    file = folder / "made_up.toml"
    file.write_text(replace(load_profile("zen4"), family=family, kernels=costs).text(), encoding="utf-8")
    return str(file)


def depthwise(taps: int, batches: int | None = None) -> xir.EdgeProgram:
    """A quantised depthwise convolution of 8 channels and 14 x 14 pixels."""
    torch.manual_seed(2)
    model = by_channel(taps).eval()
    image = torch.randn(batches or 1, 8, 14, 14)
    shapes = None if batches is None else ({0: torch.export.Dim("batch", max=64)},)
    return xir.to_edge(xir.quantize(model, (image,), [(image,)], dynamic_shapes=shapes))


def widened(program: xir.EdgeProgram, cpu: str) -> tuple[bool, list[Remark]]:
    """Whether its node computes in fp32, and what the pass had to say of it."""
    wanted = RemarkFilter.of(missed="widen-depthwise")
    edge = program.to_backend(xir.XnnpackPartitioner(cpu=cpu), remarks=wanted)
    said = [each for each in edge.remarks if isinstance(each, Remark) and each.category == "widen-depthwise"]
    return is_wide(edge), said


@pytest.mark.parametrize("taps", [3, 5])
def test_the_faster_form_is_chosen_by_figures(taps: int, tmp_path: Path) -> None:
    """1,568 numbers each are converted before and behind it: 5 bytes for each, at 0.1 ns, and 9 or 25 multiply-adds."""
    floats, conversions = taps**2 * 1568, 2 * 0.1 * 5 * 1568
    least = (floats + conversions) / floats / (1 - LEAST_GAIN)
    for cost, is_widened in ((least * 1.01, True), (least * 0.99, False)):
        found, (remark,) = widened(depthwise(taps), profile(tmp_path, {"qs8_dwconv": cost, "qs8_convert": 0.1}))
        load_profile.cache_clear()
        assert found == is_widened
        figures = dict(remark.figures)
        assert figures["Microseconds"] == pytest.approx((floats + conversions) / 1e3, abs=0.06)
        assert figures["IntegerMicroseconds"] == pytest.approx(cost * floats / 1e3, abs=0.06)
        said = f"int8 {figures['IntegerMicroseconds']} µs, fp32 with conversions {figures['Microseconds']} µs"
        assert remark.reason == (said if is_widened else f"{said}, which has to be 10 % less")
        verb = "in floating point" if is_widened else "on integers"
        assert remark.text == f"conv2d computes {verb}"


def test_open_batches_count_as_one_image(tmp_path: Path) -> None:
    file = profile(tmp_path, {"qs8_dwconv": 9.0, "qs8_convert": 0.1})
    found, (remark,) = widened(depthwise(3, batches=4), file)
    assert found
    assert dict(remark.figures)["IntegerMicroseconds"] == pytest.approx(9 * 9 * 1.568, abs=0.06)


@pytest.mark.parametrize(
    ("taps", "family", "kernels", "is_widened"),
    [
        (5, "x86", {}, True),
        (3, "x86", {}, False),
        (5, "arm", {}, False),
        # Kernels that this convolution does not need tell nothing.
        (5, "x86", {"qs8_dwconv_strided": 9.0, "qs8_convert": 0.1}, True),
        (5, "x86", {"qs8_dwconv": 0.1}, True),
        (5, "arm", {"qs8_dwconv": 9.0, "qs8_convert": 0.1}, True),
        (5, "x86", {"qs8_dwconv": 0.1, "qs8_convert": 0.1}, False),
    ],
)
def test_without_figures_the_rule_for_the_processor_decides(
    taps: int, family: str, kernels: Mapping[Kernel, float], is_widened: bool, tmp_path: Path
) -> None:
    load_profile.cache_clear()
    found, _ = widened(depthwise(taps), profile(tmp_path, kernels, family))
    assert found == is_widened


def test_options_that_are_none_are_refused() -> None:
    for made in (WidenDepthwisePass, WidenProductsPass):
        with pytest.raises(ValueError, match="cpu is one of any, x86, "):
            made(cpu="pdp11")
    with pytest.raises(ValueError, match=r"cannot read the profile 'missing\.toml'"):
        WidenDepthwisePass(cpu="missing.toml")
    with pytest.raises(ValueError, match="max-growth is a share from 0 on, not -1"):
        WidenProductsPass(max_growth=-1.0)
