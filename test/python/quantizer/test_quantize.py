"""`xir.quantize`: what comes out, and one diagnostic for each thing that a user gets wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from quantizer.signal_to_noise import quality, sqnr
from reference.modules import Calling
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.fx import GraphModule
from torchao.quantization.pt2e import qat_utils
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_qat_pt2e

import xir
from xir.dialects import xnnpack
from xir.ir.diagnostics import DiagnosticError
from xir.quantizer import QuantConfig, XnnpackQuantizer, quantize_and_measure
from xir.quantizer.observers import BLOCK, CANDIDATES, HistogramRange, PerChannelRange, best_scales
from xir.runtime import Runtime

r = torch.randn


IMAGES = [r(1, 3, 16, 16) for _ in range(4)]


@pytest.fixture(scope="module")
def network() -> nn.Module:
    """Convolutions as they come: with a norm and a clamp, depthwise, with a residual sum, and a linear head."""

    def forward(m: Any, x: Tensor) -> Tensor:
        y = m.stem(x)
        return m.head((y + m.depthwise(y)).mean((2, 3)))

    torch.manual_seed(3)
    stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6(inplace=True))
    depthwise = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Hardswish())
    return Calling(forward, stem=stem, depthwise=depthwise, head=nn.Linear(8, 32)).eval()


def operators(program: ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize(
    ("config", "least"),
    [
        (QuantConfig(), 28),
        (QuantConfig(observer="minmax"), 28),
        (QuantConfig(per_channel=False), 24),
        (QuantConfig("dynamic"), 33),
    ],
)
def test_the_program_is_close_to_the_model(network: nn.Module, config: QuantConfig, least: float) -> None:
    program = xir.quantize(network, (IMAGES[0],), IMAGES, config)
    assert min(quality(network, program, [(image,)]) for image in IMAGES) > least
    xir.to_edge(program)


@pytest.mark.parametrize(("kernel", "stride"), [(1, 2), (3, 1)])
def test_a_pointwise_convolution_shares_its_input(kernel: int, stride: int) -> None:
    """XNNPACK quantises the input of a pointwise convolution by pixels, also for other nodes that read it."""

    # Rows of an image that differ in magnitude have scales that do.
    torch.manual_seed(0)
    image = r(2, 8, 6, 6) * torch.linspace(0.1, 3, 6).reshape(1, 1, 6, 1)
    layers = {"pointwise": nn.Conv2d(8, 4, 1), "second": nn.Conv2d(8, 4, kernel, stride)}
    branches = Calling(lambda m, x: (m.pointwise(x), m.second(x)), **layers).eval()
    program = xir.quantize(branches, (image,), config=QuantConfig("dynamic"))
    file = xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer
    found = Runtime.get().load_program(file).load_method().execute([image])
    assert all(sqnr(want, got) > 33 for want, got in zip(branches(image), found, strict=True))


def test_calibration_is_any_iterable_and_defaults_to_the_sample(network: nn.Module) -> None:
    def batches() -> Iterator[tuple[Tensor]]:
        for image in IMAGES:
            yield (image,)

    first, second = (operators(xir.quantize(network, (IMAGES[0],), samples)) for samples in (batches(), None))
    assert first == second
    assert sum("quantize_per_tensor" in target for target in first) > 5


def test_constant_zeros_have_a_scale() -> None:
    layer = nn.Conv2d(2, 4, 1)
    nn.init.zeros_(layer.weight[:3])
    nn.init.zeros_(layer.bias)  # pyright: ignore
    with torch.no_grad():
        program = xir.quantize(Calling(lambda m, x: m.conv(torch.relu(x) * 0.0), conv=layer), (r(1, 2, 4, 4),))
    assert program.module()(r(1, 2, 4, 4)).abs().max() == 0
    for node in program.graph.nodes:
        if "quantize_per_tensor" in str(node.target):
            assert node.args[1] > 1e-12


def test_values_far_apart_keep_their_scales() -> None:
    """Weights a million times smaller than others of the tensor would make the bias overflow 32 bits."""
    linear = nn.Linear(4, 2)
    with torch.no_grad():
        linear.weight[1] *= 1e-7
    program = xir.quantize(linear, (r(3, 4),))
    scales = next(value for name, value in program.state_dict.items() if "scale" in name)
    assert float(scales.max() / scales.min()) == pytest.approx(2**12, rel=1e-3)


# Bias correction


def products(m: Any, x: Tensor) -> list[Tensor]:
    """Every kind of product with weights, behind a ReLU."""
    x = torch.relu(x)
    rows = x.movedim(1, -1).reshape(-1, 12)
    product = torch.addmm(m.offset, rows, m.matrix)
    return [m.dense(x), m.depthwise(x), m.transposed(x), m.linear(rows), product]


def test_biases_take_back_what_rounded_weights_add_to_the_mean() -> None:
    torch.manual_seed(1)
    dense, depthwise = nn.Conv2d(12, 8, 3, 2, 1), nn.Conv2d(12, 12, 3, groups=12)
    transposed, linear = nn.ConvTranspose2d(12, 8, 3), nn.Linear(12, 6)
    parts = {"dense": dense, "depthwise": depthwise, "transposed": transposed, "linear": linear}
    module = Calling(products, **parts, matrix=nn.Parameter(r(12, 6)), offset=nn.Parameter(r(6))).eval()
    images = [r(4, 12, 24, 24) + 1 for _ in range(3)]
    before = {name: value.clone() for name, value in module.state_dict().items()}

    def offsets(config: QuantConfig) -> list[float]:
        """For each product, the mean error of a channel."""
        program = xir.quantize(module, (images[0],), images, config).module()
        with torch.no_grad():
            results = zip(*((*program(image), *module(image)) for image in images), strict=True)
        outputs = [torch.cat(parts) for parts in results]
        errors = [got - want for got, want in zip(outputs[:5], outputs[5:], strict=True)]
        return [float(error.movedim(1, -1).flatten(0, -2).mean(0).abs().mean()) for error in errors]

    corrected, plain = (offsets(QuantConfig(per_channel=False, bias_correction=each)) for each in (True, False))
    assert all(a < b / 5 for a, b in zip(corrected, plain, strict=True))
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def smoothed(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """A convolution, its mean over calls in a buffer that is written whole, and products in one written in rows."""
    y = m.convolution(x)
    m.mean.mul_(0.75).add_(y)
    m.rows[1:] = y * m.rows[1:]
    return m.mean + 1, m.rows.sum(0)


@pytest.mark.filterwarnings("ignore")
def test_measured_programs_have_buffers_of_their_own() -> None:
    torch.manual_seed(2)
    buffers = {"mean": torch.zeros(1, 4, 8, 8), "rows": torch.ones(2, 4, 8, 8)}
    model = Calling(smoothed, convolution=nn.Conv2d(4, 4, 3, padding=1), **buffers).eval()
    images = [r(1, 4, 8, 8) for _ in range(5)]
    program, report = quantize_and_measure(model, (images[0],), [(image,) for image in images])
    assert not model.mean.any()
    assert torch.equal(model.rows, torch.ones(2, 4, 8, 8))
    # Both called one image after the other, from where the buffers begin.
    floats, quantized = torch.export.export(model, (images[0],)).module(), program.module()
    with torch.no_grad():
        wanted, given = (
            zip(*([each.clone() for each in called(image)] for image in images), strict=True)
            for called in (floats, quantized)
        )
    expected = [sqnr(torch.cat(want), torch.cat(got)) for want, got in zip(wanted, given, strict=True)]
    assert [each.sqnr for each in report.outputs] == pytest.approx(expected, abs=0.05)
    assert report.output == min(each.sqnr for each in report.outputs)
    assert all(20 < layer.outputs < 80 for layer in report.layers)


# Quantisation-aware training


def trained(module: nn.Module, inputs: Tensor, wanted: Tensor, config: QuantConfig, *, lr: float, steps: int) -> Any:
    """The prepared graph after some steps, which have made the loss smaller."""
    exported = torch.export.export(module.train(), (inputs[:2],), dynamic_shapes=({0: Dim.AUTO},)).module()
    assert isinstance(exported, GraphModule)
    prepared = prepare_qat_pt2e(exported, XnnpackQuantizer(config))
    optimizer = torch.optim.SGD(prepared.parameters(), lr=lr)
    losses: list[float] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (prepared(inputs) - wanted).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    return prepared


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("mode", "with_norm"),
    [("static", True), *(pytest.param("dynamic", each, marks=pytest.mark.exhaustive) for each in (False, True))],
)
def test_training_sees_the_rounding_and_converts(mode: Any, with_norm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """torchao exports patterns of batch norms behind each kind of convolution: it looks for that of the model alone."""
    for name in ("_fuse_conv_bn_qat_helper", "_fold_conv_bn_qat_helper"):
        original = getattr(qat_utils, name)

        def of_images(m: GraphModule, kind: Any, *rest: Any, original: Any = original, **options: Any) -> GraphModule:
            return original(m, kind, *rest, **options) if kind is nn.functional.conv2d else m

        monkeypatch.setattr(qat_utils, name, of_images)
    norm = nn.BatchNorm2d(8) if with_norm else nn.Identity()
    module = nn.Sequential(nn.Conv2d(3, 8, 3), norm, nn.ReLU(), nn.Flatten(), nn.Linear(288, 4))
    converted = convert_pt2e(trained(module, r(16, 3, 8, 8), r(16, 4), QuantConfig(mode, qat=True), lr=0.05, steps=12))
    targets = [str(node.target) for node in converted.graph.nodes]
    assert not any("batch_norm" in target for target in targets)
    assert sum("dequantize_per_channel" in target for target in targets) == {"static": 4, "dynamic": 2}[mode]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group_size", [32, None])
def test_training_sees_4_bits_and_lowers_to_one_delegate(group_size: int | None) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
    inputs, config = r(16, 64), QuantConfig("int4", group_size=group_size, qat=True)
    prepared = trained(module, inputs, r(16, 8), config, lr=0.1, steps=20)
    with torch.no_grad():
        exact = prepared(inputs)
    program = torch.export.export(convert_pt2e(prepared), (inputs,))
    assert sqnr(exact, program.module()(inputs)) > 80
    lowered = xir.to_edge(program).to_backend(xir.XnnpackPartitioner())
    ops = list(lowered.module.walk())
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    filters = [str(op.filter.type) for op in ops if isinstance(op, xnnpack.FullyConnectedOp)]
    assert len(filters) == 2
    assert all("!quant.uniform<i4:" in each for each in filters)
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    assert sqnr(exact, torch.as_tensor(method.execute([inputs])[0])) > 60


# 4-bit weights


def test_the_best_scale_is_no_worse_than_the_covering_one() -> None:
    groups = r(50, 32)
    scales = best_scales(groups, -8, 7)
    covering = groups.abs().amax(dim=1) / 7.5

    def error(scales: Tensor) -> Tensor:
        return ((groups / scales[:, None]).round().clamp(-8, 7) * scales[:, None] - groups).square().sum(1)

    assert bool((error(scales) <= error(covering)).all())
    assert float(error(scales).sum()) < 0.9 * float(error(covering).sum())
    assert best_scales(torch.zeros(2, 32), -8, 7).tolist() == [pytest.approx(1, rel=0.5)] * 2


def plain_scales(groups: Tensor, dtype: torch.dtype) -> Tensor:
    """The scales that are to be found, written as they are defined."""
    groups = groups.float()
    largest = groups.abs().amax(dim=1, keepdim=True)
    covering = torch.where(largest > 0, largest / 7.5, 1.0)
    tried = [(covering * factor).to(dtype).float() for factor in CANDIDATES]
    errors = [((groups / scale).round().clamp(-8, 7) * scale - groups).square().sum(1) for scale in tried]
    best = torch.stack(errors, 1).argmin(1, keepdim=True)
    return torch.cat(tried, 1).gather(1, best)[:, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(0, 32), (1, 1), (3, 7), (BLOCK // 32 + 3, 32), (70, 1000), (2, BLOCK + 1)])
def test_the_scales_are_to_the_bit_those_of_the_definition(shape: tuple[int, int], dtype: torch.dtype) -> None:
    """Also of constant groups, zeros, numbers without a normal form, infinities, and what is not a number."""
    groups = r(*shape)
    odd = (0.0, 1.0, -3.0, 1e-44, 3e38, torch.inf, torch.nan)
    for row, value in zip(groups, odd, strict=False):
        row[:] = value
    for row, value in zip(groups[len(odd) :], odd, strict=False):
        row[-1] = value
    for weights in (groups, groups.bfloat16()):
        found, wanted = best_scales(weights, -8, 7, dtype), plain_scales(weights, dtype)
        assert torch.equal(found.view(torch.int32), wanted.view(torch.int32))


def test_scales_of_groups_are_those_that_the_file_holds() -> None:
    program = xir.quantize(nn.Linear(64, 8), (r(2, 64),), config=QuantConfig("int4"))
    scales = next(value for name, value in program.state_dict.items() if "scales" in name)
    assert scales.shape == (8, 2)
    assert torch.equal(scales, scales.bfloat16().float())


# Keeping layers in float


def test_the_report_names_the_worst_layer(network: nn.Module) -> None:
    with torch.no_grad():
        program, report = quantize_and_measure(network, (IMAGES[0],), IMAGES)
    assert {layer.name for layer in report.layers} == {"conv2d", "conv2d_1", "hardswish", "add", "mean", "linear"}
    assert [layer.outputs for layer in report.layers] == sorted(layer.outputs for layer in report.layers)
    exact = torch.cat([network(image) for image in IMAGES])
    actual = torch.cat([program.module()(image) for image in IMAGES])
    assert report.output == pytest.approx(sqnr(exact, actual), abs=1e-3)
    conv = next(layer for layer in report.layers if layer.name == "conv2d")
    assert (conv.module, conv.operator, conv.low, report.inputs) == ("stem.0", "aten.conv2d", 0, 4)
    assert conv.sqnr == pytest.approx(conv.own, abs=0.5)
    assert "stem.0" in report.text()


def test_noise_counts_by_what_arrives_at_the_outputs() -> None:
    """Of a coarse layer that hardly counts, and a fine one that does."""
    torch.manual_seed(0)
    layers = {name: nn.Linear(32, 32) for name in ("coarse", "fine", "head")}
    layers["coarse"].weight.data[0] *= 200
    model = Calling(lambda m, x: m.head(torch.tanh(m.fine(x))) + torch.relu(m.coarse(x)) * 1e-4, **layers).eval()
    inputs = [r(16, 32) for _ in range(4)]
    # Ranges of least own error: those by outputs make a layer that hardly counts coarser still, or finer.
    plain = QuantConfig(equalization=False, observer="histogram")
    _, report = quantize_and_measure(model, (inputs[0],), inputs, plain)
    by_name = {layer.module: layer for layer in report.layers if layer.module}
    assert by_name["coarse"].own < by_name["fine"].own
    assert by_name["coarse"].outputs > by_name["fine"].outputs + 10
    arriving = sum(10 ** (-layer.outputs / 10) for layer in report.layers)
    # A layer alone includes the conversion of its operand, which is its producer's as well: up to twice the noise.
    assert -1 < report.output + 10 * math.log10(arriving) < 4
    goal = replace(plain, min_sqnr=report.output + 1)
    _, better = quantize_and_measure(model, (inputs[0],), inputs, goal)
    assert better.output >= report.output + 1
    assert better.kept
    assert by_name["coarse"].name not in better.kept


def test_layers_in_place_are_measured_as_others_are() -> None:
    torch.manual_seed(0)
    inputs = [r(4, 3, 8, 8) for _ in range(2)]

    def ratios(inplace: bool) -> list[float]:
        torch.manual_seed(1)
        layers = [nn.Conv2d(3, 8, 3), nn.Hardswish(inplace), nn.Conv2d(8, 8, 3), nn.ELU(inplace=inplace)]
        _, report = quantize_and_measure(nn.Sequential(*layers).eval(), (inputs[0],), inputs)
        return [ratio for layer in report.layers for ratio in (layer.outputs, layer.own, layer.sqnr)]

    assert ratios(True) == pytest.approx(ratios(False))


def test_the_worst_layers_are_kept_until_the_target_holds() -> None:
    """One channel between the first two layers is so large that no bits are left for the others."""
    torch.manual_seed(0)
    layers = [nn.Linear(16, 16) for _ in range(5)]
    model = nn.Sequential(*layers).eval()
    with torch.no_grad():
        layers[0].weight[0] *= 1000
        layers[1].weight[:, 0] /= 1000
        inputs = [r(8, 16) for _ in range(3)]
        plain = QuantConfig(equalization=False)  # which would make up for that channel
        _, before = quantize_and_measure(model, (inputs[0],), inputs, plain)
        program, after = quantize_and_measure(model, (inputs[0],), inputs, replace(plain, min_sqnr=25))
    assert before.output < 20
    assert (
        25
        <= after.output
        == pytest.approx(sqnr(*(torch.cat([each(x) for x in inputs]) for each in (model, program.module()))), abs=1e-3)
    )
    assert set(after.kept) == {"linear", "linear_1"}
    assert {layer.name for layer in after.layers} == {"linear_2", "linear_3", "linear_4"}


# What a user gets wrong: more of it is in `api/test_bad_quantization.py`


def test_values_without_a_range_are_located() -> None:
    broken = Calling(lambda m, x: m.linear(torch.relu(m.linear(x)) / (x.abs() - x)), linear=nn.Linear(4, 4))
    config = XnnpackQuantizer().set_operator_type(torch.ops.aten.div, QuantConfig())
    with pytest.raises(DiagnosticError, match=r"its values reach (inf|nan|-inf) on the calibration inputs.*keep_float"):
        xir.quantize(broken.eval(), (torch.ones(2, 4),), config=config)


@pytest.mark.parametrize("arguments", [{"mode": "int8"}, {"observer": "mean"}, {"group_size": 48}, {"group_size": 0}])
def test_configurations_that_make_no_sense(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        QuantConfig(**arguments)


def test_calibration_looks_at_moved_values_and_weights_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each weight for the first input, each computed value for each; what is moved or padded by zero has been seen."""

    def moves(m: Any, x: Tensor) -> Tensor:
        first, second = m.linear(x).view(2, 2, 3).transpose(0, 1).split(1)
        return m.head(torch.cat((first, second)).flatten(0, 1))

    seen: dict[nn.Module, list[tuple[int, ...]]] = {}
    for observer in (HistogramRange, PerChannelRange):

        def noting(self: nn.Module, value: Tensor, original: Any = observer.forward) -> Tensor:
            seen.setdefault(self, []).append(tuple(value.shape))
            return original(self, value)

        monkeypatch.setattr(observer, "forward", noting)
    model = Calling(moves, linear=nn.Linear(4, 6), head=nn.Linear(3, 2))
    xir.quantize(model, (r(2, 4),), [r(2, 4) for _ in range(3)])
    assert sorted(seen.values()) == [[(2, 3)], [(2, 4)] * 3, [(2, 6)] * 3, [(4, 2)] * 3, [(6, 4)]]


def test_what_is_repeated_counts_as_often() -> None:
    """One number beyond half a million others is cut off; repeated for a sixteenth of all places it is not."""

    def forward(m: Any, x: Tensor, pooled: Tensor) -> Tensor:
        wide = nn.functional.interpolate(torch.relu(m.conv(pooled)), (256, 256), mode="bilinear")
        return torch.cat([torch.relu(m.conv(x)), wide], 1)

    model = Calling(forward, conv=nn.Conv2d(8, 8, 1, bias=False))
    nn.init.dirac_(model.conv.weight)
    torch.manual_seed(0)
    pooled = torch.tensor([0.0] * 7 + [4.0]).view(1, 8, 1, 1)
    inputs = torch.randn(1, 8, 256, 256) * 0.7, pooled
    result = xir.quantize(model.eval(), inputs).module()(*inputs)
    assert float(result.max()) > 3.9


def test_what_a_pad_fills_with_is_in_range() -> None:
    torch.manual_seed(4)
    layers = {"first": nn.Linear(4, 4), "second": nn.Linear(6, 2)}
    module = Calling(lambda m, x: m.second(nn.functional.pad(m.first(x), (1, 1), value=40.0)), **layers)
    program = xir.quantize(module, (r(2, 4),))
    assert quality(module, program, [(r(2, 4),)]) > 25


def test_attention_with_packed_weights_is_one_delegate() -> None:
    """A projection to query, key and value at once is cut with its scales; products take the keys as they come."""

    layer = nn.MultiheadAttention(16, 2, batch_first=True)
    attention = Calling(lambda m, x: m.layer(x, x, x, need_weights=False)[0], layer=layer)
    torch.manual_seed(3)
    inputs = [(r(1, 12, 16),) for _ in range(4)]
    program = xir.quantize(attention.eval(), inputs[0], inputs)
    edge = xir.to_edge(program).to_backend(xir.XnnpackPartitioner())
    lowered = edge.to_executorch()
    assert lowered.kernel_names == []
    products = [op for op in edge.module.walk() if isinstance(op, xnnpack.BatchMatrixMultiplyOp)]
    assert [op.transpose_b is not None for op in products] == [True, False]
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    with torch.no_grad():
        for each in inputs:
            assert sqnr(program.module()(*each), method.execute(each)[0]) > 35


@pytest.mark.filterwarnings("ignore")
def test_indices_are_no_numbers_to_quantize() -> None:
    """Rows picked between two layers, by constant indices: integers among the operands of an op that moves data."""
    parts = {"first": nn.Linear(8, 8), "second": nn.Linear(8, 8), "rows": torch.tensor([2, 0, 3])}
    module, x = Calling(lambda m, x: m.second(torch.index_select(m.first(x), 0, m.rows)), **parts).eval(), r(4, 8)
    assert quality(module, xir.quantize(module, (x,)), [(x,)]) > 30
