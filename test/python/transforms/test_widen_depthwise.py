"""A quantised depthwise convolution that computes in fp32 agrees with PyTorch's own emulation to one step, and a cost
profile decides which ones do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from reference.runtimes import load_stock
from torch import Tensor
from xdsl.dialects.builtin import f32

import xir
from xir.cost.profile import KernelCost, load_profile
from xir.cost.work import FLOAT_KERNELS, Kernel
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.remarks import Remark, RemarkFilter
from xir.runtime import Runtime
from xir.transforms.xnnpack.schedule._widening import LEAST_GAIN
from xir.transforms.xnnpack.schedule.widen_depthwise import WidenDepthwisePass


@pytest.mark.parametrize("cpu", ["any", "x86"])
@pytest.mark.parametrize(("stride", "multiplier"), [(1, 1), (2, 1), (1, 2)])
def test_agrees_with_the_quantized_program_in_eager(cpu: str, stride: int, multiplier: int) -> None:
    torch.manual_seed(2)
    conv = torch.nn.Conv2d(8, 8 * multiplier, 5, stride, padding=2, groups=8)
    model = torch.nn.Sequential(conv, torch.nn.ReLU()).eval()
    images = [torch.randn(1, 8, 14, 14) for _ in range(4)]
    program = xir.quantize(model, (images[0],), images)
    edge = xir.to_edge(program).to_backend(xir.XnnpackPartitioner(cpu=cpu))

    (node,) = (op for op in edge.module.walk() if isinstance(op, xnnpack.DepthwiseConv2dOp))
    assert (element_type(node.input) == f32) == (cpu == "x86")
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for image in images:
        want = program.module()(image)
        step = want.unique().diff().min()
        difference = (torch.as_tensor(method.execute([image])[0]) - want).abs()
        assert difference.max() <= 1.001 * step
        # Steps apart are what sums in another order round differently.
        assert (difference > step / 2).float().mean() < 0.01


@pytest.mark.parametrize(("taps", "stride", "multiplier"), [(3, 1, 1), (3, 2, 1), (5, 1, 2)])
def test_halves_are_rounded_once_in_fp32(taps: int, stride: int, multiplier: int) -> None:
    """On x86, whose kernels on fp16 round behind each tap."""
    torch.manual_seed(3)
    conv = torch.nn.Conv2d(8, 8 * multiplier, taps, stride, padding=taps // 2, groups=8).half().eval()
    image = torch.randn(1, 8, 14, 14).half()
    edge = xir.to_edge(torch.export.export(conv, (image,)))
    found: dict[str, Tensor] = {}
    for cpu in ("any", "x86"):
        lowered = edge.to_backend(xir.XnnpackPartitioner(cpu=cpu))
        (node,) = (op for op in lowered.module.walk() if isinstance(op, xnnpack.DepthwiseConv2dOp))
        assert (element_type(node.input) == f32) == (cpu == "x86")
        file = lowered.to_executorch().buffer
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


def depthwise(taps: int, stride: int = 1, batches: int | None = None) -> xir.EdgeProgram:
    """A quantised depthwise convolution of 8 channels and 14 x 14 pixels."""
    torch.manual_seed(2)
    model = torch.nn.Conv2d(8, 8, taps, stride, padding=taps // 2, groups=8).eval()
    image = torch.randn(batches or 1, 8, 14, 14)
    shapes = None if batches is None else ({0: torch.export.Dim("batch", max=64)},)
    return xir.to_edge(xir.quantize(model, (image,), [(image,)], dynamic_shapes=shapes))


def widened(program: xir.EdgeProgram, cpu: str) -> tuple[bool, list[Remark]]:
    """Whether its node computes in fp32, and what the pass had to say of it."""
    wanted = RemarkFilter.of(missed="widen-depthwise")
    lowered = program.to_backend(xir.XnnpackPartitioner(cpu=cpu), remarks=wanted)
    (node,) = (op for op in lowered.module.walk() if isinstance(op, xnnpack.DepthwiseConv2dOp))
    said = [each for each in lowered.remarks if isinstance(each, Remark) and each.category == "widen-depthwise"]
    return element_type(node.input) == f32, said


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


def test_a_profile_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="cpu is one of any, x86, "):
        WidenDepthwisePass(cpu="pdp11")
    with pytest.raises(ValueError, match=r"cannot read the profile 'missing\.toml'"):
        WidenDepthwisePass(cpu="missing.toml")
