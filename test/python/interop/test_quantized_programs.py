"""Quantised programs from others' quantisers: stock's own lowering and files, torchao's linear modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import executorch.kernels.quantized  # pyright: ignore[reportUnusedImport]  # noqa: F401  # stock's look-ups in tables
import pytest
import torch
import torchao.quantization as torchao
from emitter.sample_modules import file_of, text_of
from reference import stock
from reference.modules import Calling, Function
from reference.runtimes import both, load_stock
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.nn import functional
from torchao.quantization.granularity import PerAxis, PerGroup

from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.quantization import is_quantized
from xir.runtime import Runtime, XirRuntimeError

Q = torch.ops.quantized_decomposed

pytestmark = pytest.mark.filterwarnings("ignore")


def convolutions() -> nn.Module:
    """The nodes of a convolutional network."""

    def forward(m: Any, x: Tensor) -> Tensor:
        y = functional.hardtanh(m.norm(m.conv(x)), 0.0, 6.0)
        z = torch.relu(m.depthwise(y)) + functional.max_pool2d(y, 3, 1, 1)
        return m.linear(z.mean((2, 3)))

    conv, depthwise = nn.Conv2d(3, 8, 3, padding=1, stride=2), nn.Conv2d(8, 8, 3, padding=1, groups=8)
    return Calling(forward, conv=conv, norm=nn.BatchNorm2d(8), depthwise=depthwise, linear=nn.Linear(8, 5))


class Linears(nn.Module):
    """Two linear modules with a function between them; remarks name its line."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 96), nn.Linear(96, 7, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(functional.gelu(self.first(x)))


def by_torchao(model: nn.Module, x: Tensor, config: torchao.quant_api.AOBaseConfig) -> ExportedProgram:
    """A model whose linear modules torchao quantised."""
    torchao.quantize_(model.eval(), config)
    return torch.export.export(model, (x,))


def bits(width: int) -> torch.dtype:
    """The integers of a width; torch's stubs do not name the narrow ones."""
    return getattr(torch, f"int{width}")


def dynamic(width: int, granularity: PerGroup | PerAxis, **options: Any) -> torchao.quant_api.AOBaseConfig:
    """Inputs quantised to 8 bits at run time, weights of `width` bits."""
    return torchao.Int8DynamicActivationIntxWeightConfig(
        weight_dtype=bits(width), weight_granularity=granularity, **options
    )


def rows() -> Tensor:
    return torch.randn(3, 64)


PROGRAMS: dict[str, Callable[[], tuple[ExportedProgram, Tensor]]] = {
    "static by channel": lambda: (stock.quantized(convolutions(), (x := torch.randn(1, 3, 12, 12),)), x),
    "dynamic": lambda: (stock.quantized(Linears(), (x := rows(),), is_dynamic=True), x),
    "4 bits by group": lambda: (by_torchao(Linears(), x := rows(), dynamic(4, PerGroup(32))), x),
}


def run(file: bytes, x: Tensor) -> list[Tensor]:
    """What xir's runtime and stock's compute."""
    ours = Runtime.get().load_program(file).load_method("forward").execute([x])[0]
    return [torch.as_tensor(ours), load_stock(file).forward([x])[0]]


def lower(program: ExportedProgram) -> EdgeProgram:
    """All is delegated in one piece."""
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    ops = list(lowered.module.walk())
    assert not [op.name for op in ops if isinstance(op, edge.EdgeOp)]
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    return lowered


def lower_to_integers(program: ExportedProgram) -> EdgeProgram:
    """All is delegated in one piece, and every weighted node reads integers."""
    lowered = lower(program)
    weighted = [op for op in lowered.module.walk() if isinstance(op, xnnpack.ConvolutionOp | xnnpack.FullyConnectedOp)]
    assert weighted
    assert all(is_quantized(element_type(value)) for op in weighted for value in (op.input, op.filter))
    return lowered


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_stocks_own_lowering_and_reads_its_file(name: str) -> None:
    program, x = PROGRAMS[name]()
    lowered = lower_to_integers(program)
    file = bytes(stock.compiled(program).buffer)
    expected = load_stock(file).forward([x])[0]
    # Static: one rounding of the last conversion. Rows quantised at run time: XNNPACK sums the same integers.
    step = expected.unique().diff().min() if name.startswith("static") else expected.abs().max() * 1e-5
    for result in run(lowered.to_executorch().buffer, x):
        assert (result - expected).abs().max() <= step * 1.001
    check_written_back(file, expected, x)


def check_written_back(file: bytes, expected: Tensor, x: Tensor) -> None:
    """Stock's file becomes text, that a file, and that the same text; both runtimes compute what stock's file does."""
    text = text_of(file)
    rewritten = file_of(text)
    for result in run(rewritten, x):
        assert torch.equal(result, expected)
    assert text_of(rewritten) == text


@pytest.mark.parametrize(("kind", "per_channel"), [(nn.Conv3d, True), (nn.ConvTranspose3d, False)])
def test_convolutions_of_three_dimensions(kind: type[nn.Module], per_channel: bool) -> None:
    """They are sums of those of planes, whose filters are planes of a quantised one: in one delegate, in fp32."""
    x = torch.randn(1, 4, 5, 6, 7)
    program = stock.quantized(kind(4, 8, 3, padding=1), (x,), is_per_channel=per_channel)
    expected = program.module()(x)
    step = expected.unique().diff().min()
    for result in run(lower(program).to_executorch().buffer, x):
        assert (result - expected).abs().max() <= step * 1.001
        assert (result != expected).float().mean() < 0.01


def quantized(x: Tensor) -> Tensor:
    """A tensor in steps of 1/16."""
    limits = (0.0625, 3, -128, 127, torch.int8)
    return Q.dequantize_per_tensor.default(Q.quantize_per_tensor.default(x, *limits), *limits)


@pytest.mark.parametrize("rounded", [True, False])
@pytest.mark.parametrize("count", [9, 10, 31])
def test_chains_of_functions_have_any_length(count: int, rounded: bool) -> None:
    """Between 8-bit numbers, which are between the functions as well or not. XNNPACK makes tables of them, and one of
    ten nodes is more than its array holds."""

    def chain(x: Tensor) -> Tensor:
        x = quantized(x)
        for _ in range(count):
            x = quantized(-x) if rounded else -x
        return quantized(x)

    model, x = Function(chain), torch.linspace(-9, 9, 64)
    lowered = to_edge(torch.export.export(model, (x,))).to_backend(XnnpackPartitioner())
    assert not [op.name for op in lowered.module.walk() if isinstance(op, edge.EdgeOp)]
    for result in run(lowered.to_executorch().buffer, x):
        assert torch.equal(result, model(x))


BLOCK = "{0:1, 1:32}"
ROWS_OF_8 = "!xnnpack.qd<i8, 1>"
BY_CHANNEL = "!quant.uniform<i{}:f32:0".format
ASYMMETRIC = torchao.MappingType.ASYMMETRIC
MODULES: dict[str, tuple[torchao.quant_api.AOBaseConfig, str, str, float, str]] = {
    "8da8w": (dynamic(8, PerAxis(0)), ROWS_OF_8, BY_CHANNEL(8), 1e-5, ""),
    "8da4w": (dynamic(4, PerAxis(0)), ROWS_OF_8, BY_CHANNEL(4), 1e-5, ""),
    "8da3w": (dynamic(3, PerAxis(0)), ROWS_OF_8, BY_CHANNEL(4), 1e-5, ""),
    "8da4w, groups": (dynamic(4, PerGroup(32), weight_scale_dtype=torch.bfloat16), ROWS_OF_8, BLOCK, 1e-5, ""),
    "8da4w, groups, scales in fp32": (dynamic(4, PerGroup(32)), ROWS_OF_8, BLOCK, 0.01, ""),
    "8da8w, groups": (dynamic(8, PerGroup(32)), "f32", "f32", 0.03, "blocks are of 4-bit input channels"),
    "8da4w, small groups": (dynamic(4, PerGroup(16)), "f32", "f32", 0.03, "blocks of 16 do not divide"),
    "8da4w, zero points": (
        dynamic(4, PerGroup(32), weight_mapping_type=ASYMMETRIC),
        *("f32", "f32", 0.03, "the filter's zero points must be 0"),
    ),
    # torchao's activations are symmetric here, XNNPACK's are not, which is the more accurate.
    "int8, symmetric": (torchao.Int8DynamicActivationInt8WeightConfig(), ROWS_OF_8, BY_CHANNEL(8), 0.03, ""),
    "int8": (
        torchao.Int8DynamicActivationInt8WeightConfig(act_mapping_type=ASYMMETRIC),
        *(ROWS_OF_8, BY_CHANNEL(8), 1e-5, ""),
    ),
    "int8 weights": (torchao.Int8WeightOnlyConfig(), "f32", BY_CHANNEL(8), 1e-5, ""),
    "8 bits, weights": (torchao.IntxWeightOnlyConfig(bits(8), PerAxis(0)), "f32", BY_CHANNEL(8), 1e-5, ""),
    "4 bits, weights": (torchao.IntxWeightOnlyConfig(bits(4), PerAxis(0)), "f32", BY_CHANNEL(4), 1e-5, ""),
    "4 bits, weights, groups": (
        torchao.IntxWeightOnlyConfig(bits(4), PerGroup(32)),
        *("f32", "f32", 1e-5, "a filter quantised by block wants an input quantised at run time"),
    ),
}
"""What becomes of linear modules under a configuration of torchao's: the element types of the fully connected nodes'
inputs and (the beginning of) filters, how far results may be from eager's, relative to the largest, and why filters
became floating point."""


@pytest.mark.parametrize("name", MODULES)
def test_linear_modules_that_torchao_quantized(name: str) -> None:
    """Every other one of a batch."""
    config, input_type, filter_type, limit, reason = MODULES[name]
    x = torch.randn((3, 64) if list(MODULES).index(name) % 2 else (2, 3, 64))
    program = by_torchao(Linears(), x, config)
    lowered = lower(program)
    nodes = [op for op in lowered.module.walk() if isinstance(op, xnnpack.FullyConnectedOp)]
    assert len(nodes) == 2
    for node in nodes:
        assert str(element_type(node.input)) == input_type
        assert filter_type in str(element_type(node.filter))
    remarks = [str(remark) for remark in lowered.remarks]
    assert len(remarks) == (2 if reason else 0)
    assert all(reason in remark and "test_quantized_programs.py" in remark for remark in remarks)
    expected = program.module()(x)
    ours, theirs = run(lowered.to_executorch().buffer, x)
    assert (ours - expected).abs().max() <= limit * expected.abs().max()
    assert torch.equal(ours, theirs)


def four_bits(inputs: int) -> ExportedProgram:
    """A linear layer with a scale for each row of 4-bit weights, by ExecuTorch's quantizer; any number of rows."""
    model = nn.Linear(inputs, 20)
    with torch.no_grad():
        model.weight.uniform_(0, 1)
    rows = ({0: torch.export.Dim("rows", min=2, max=64)},)
    return stock.quantized(model, (torch.randn(9, inputs),), rows, is_dynamic=True, weight_qmin=-8, weight_qmax=7)


@pytest.mark.parametrize("inputs", [1, 2, 31, 62, 63])
def test_every_row_of_4_bit_weights_counts(inputs: int) -> None:
    """XNNPACK leaves rows out for an odd number of 4-bit inputs: what is left there is what another run has written."""
    program = four_bits(inputs)
    quantized = program.module()
    runs = both(lower_to_integers(program).to_executorch().buffer)
    for count in (64, 9, 2, 33):
        numbers = torch.randn(count, inputs)
        with torch.no_grad():
            exact = quantized(numbers)
        for got in (run([numbers])[0] for run in runs):
            # The graph has one scale for all rows, XNNPACK one for each: half a step of both for each of these weights.
            step = float(numbers.max().clamp(min=0) - numbers.min().clamp(max=0)) / 255
            assert float((got - exact).abs().max()) <= step * inputs


def test_a_stock_file_for_which_xnnpack_leaves_rows_out_is_refused() -> None:
    file = bytes(stock.compiled(four_bits(61)).buffer)
    with pytest.raises(XirRuntimeError, match=r"4 bits with an odd number of input channels \(61\)"):
        Runtime.get().load_program(file).load_method("forward")


@pytest.mark.parametrize("granularity", [PerAxis(0), PerGroup(32)], ids=["row", "group"])
@pytest.mark.parametrize(("width", "kernel"), [(8, "byte"), (4, "4bit"), (2, "2bit")])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "asymmetric"])
def test_tables_stay_quantized(width: int, kernel: str, granularity: PerGroup | PerAxis, symmetric: bool) -> None:
    """Those that torchao quantised, in the file and in memory, also in stock."""
    mapping = torchao.MappingType.SYMMETRIC if symmetric else torchao.MappingType.ASYMMETRIC
    config = torchao.IntxWeightOnlyConfig(bits(width), granularity, mapping)
    model = nn.Sequential(nn.Embedding(50, 64), nn.Linear(64, 7)).eval()
    tokens = torch.tensor([[3, 49, 0], [7, 7, 21]])
    torchao.quantize_(model, config, lambda module, _: isinstance(module, nn.Embedding))
    lowered = to_edge(torch.export.export(model, (tokens,))).to_backend(XnnpackPartitioner()).to_executorch()
    assert lowered.kernel_names == [f"quantized_decomposed::embedding_{kernel}.out"]
    for found in run(lowered.buffer, tokens):
        torch.testing.assert_close(found, model(tokens), rtol=1e-5, atol=1e-5)


def test_look_ups_of_other_compilers() -> None:
    """A program that calls the operator itself, with results of a type of its own."""

    def forward(m: Any, tokens: Tensor) -> Tensor:
        return Q.embedding_4bit.dtype(m.table, m.scales, None, -8, 7, tokens, dtype=torch.float16)

    table = torch.randint(0, 256, (50, 32), dtype=torch.uint8)
    model, tokens = Calling(forward, table=table, scales=torch.rand(50, 2)), torch.tensor([3, 49, 0])
    lowered = to_edge(torch.export.export(model, (tokens,))).to_backend(XnnpackPartitioner()).to_executorch()
    assert lowered.kernel_names == ["quantized_decomposed::embedding_4bit.dtype_out"]
    for found in run(lowered.buffer, tokens):
        torch.testing.assert_close(found, model(tokens))


def heads() -> Calling:
    """Two linear modules that read the same tensor, one of them without a bias."""
    layers = {"first": nn.Linear(64, 96), "second": nn.Linear(64, 7, bias=False)}
    return Calling(lambda m, x: (m.first(x), m.second(x)), **layers)


@pytest.mark.parametrize("shape", [(3, 64), (2, 5, 3, 64)], ids=["rows", "batches"])
@pytest.mark.parametrize("granularity", [PerAxis(0), PerGroup(32)], ids=["8 bits", "4 bits by group"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_floats_are_quantized_at_run_time(
    dtype: torch.dtype, granularity: PerGroup | PerAxis, shape: tuple[int, ...]
) -> None:
    """Between conversions to fp32, once for both modules; results are rounded, and scales of groups to bf16."""
    torch.manual_seed(0)
    model, x = heads().to(dtype), torch.randn(shape, dtype=dtype)
    is_grouped = isinstance(granularity, PerGroup)
    program = by_torchao(model, x, dynamic(4 if is_grouped else 8, granularity))
    wide = heads().float()
    for layer, quantized in ((wide.first, model.first), (wide.second, model.second)):
        weight: Any = quantized.weight
        layer.weight.data = torch.ops.torchao.dequantize_affine(
            weight.qdata, weight.block_size, weight.scale.float(), weight.zero_point, torch.int8, -128, 127
        )
    assert model.first.bias is not None
    wide.first.bias.data = model.first.bias.float()
    scale, zero_point = Q.choose_qparams_per_token_asymmetric(x.float(), torch.int8)
    span = (scale, zero_point, -128, 127, torch.int8)
    rounded = Q.dequantize_per_token(Q.quantize_per_token(x.float(), *span), *span, torch.float32)
    file = lower_to_integers(program).to_executorch().buffer
    ours = Runtime.get().load_program(file).load_method("forward").execute([x])
    theirs = load_stock(file).forward([x])
    with torch.no_grad():
        results = wide(rounded)
    for layer, found, again, expected in zip((wide.first, wide.second), ours, theirs, results, strict=True):
        assert found.dtype == again.dtype == dtype
        limit = (torch.finfo(dtype).eps / 2 + (2**-8 if is_grouped else 1e-4)) * expected.abs().max()
        # One integer of a row may be another, where the quotient is halfway between two.
        step = scale.max() * layer.weight.detach().abs().max()
        for each in (found, again):
            error = (each.float() - expected).abs()
            assert error.max() <= limit + step
            assert error.median() <= limit / 4


@pytest.mark.parametrize("per_channel", [True, False], ids=["by channel", "by tensor"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_floats_by_stocks_quantizer(dtype: torch.dtype, per_channel: bool) -> None:
    x = rows().to(dtype)
    program = stock.quantized(Linears().to(dtype), (x,), is_per_channel=per_channel, is_dynamic=True)
    expected = program.module()(x)
    for result in run(lower_to_integers(program).to_executorch().buffer, x):
        # Eager finds one range for all rows, XNNPACK one for each.
        assert (result - expected).abs().max() <= 0.03 * expected.abs().max()
