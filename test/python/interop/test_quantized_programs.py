"""Quantised programs from others' quantisers: stock's own lowering and files, torchao's linear modules."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import executorch.kernels.quantized  # pyright: ignore[reportUnusedImport]  # noqa: F401  # stock's look-ups in tables
import pytest
import torch
import torchao.quantization as torchao
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge_transform_and_lower
from reference.runtimes import both, load_stock
from torch.export import ExportedProgram
from torchao.quantization.granularity import PerAxis, PerGroup
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from xir import runtime
from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.dialects.xnnpack.quantization import is_quantized
from xir.emitter import emit, read
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.printer import PrintOptions, module_to_text

Q = torch.ops.quantized_decomposed

pytestmark = pytest.mark.filterwarnings("ignore")


class Convolutions(torch.nn.Module):
    """The nodes of a convolutional network."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1, stride=2)
        self.norm = torch.nn.BatchNorm2d(8)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.linear = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.hardtanh(self.norm(self.conv(x)), 0.0, 6.0)
        z = torch.relu(self.depthwise(y)) + torch.nn.functional.max_pool2d(y, 3, 1, 1)
        return self.linear(z.mean((2, 3)))


class Linears(torch.nn.Module):
    """Two linear modules with a function between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 96), torch.nn.Linear(96, 7, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.nn.functional.gelu(self.first(x)))


def by_stock(
    model: torch.nn.Module, x: torch.Tensor, *, per_channel: bool = True, dynamic: bool = False
) -> ExportedProgram:
    """A model quantised by ExecuTorch's quantizer."""
    config = get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic)
    prepared = prepare_pt2e(torch.export.export(model.eval(), (x,)).module(), XNNPACKQuantizer().set_global(config))
    with torch.no_grad():
        prepared(x)
    return torch.export.export(convert_pt2e(prepared), (x,))


def by_torchao(model: torch.nn.Module, x: torch.Tensor, config: torchao.quant_api.AOBaseConfig) -> ExportedProgram:
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


IMAGE, ROWS = torch.Generator().manual_seed(3), torch.Generator().manual_seed(4)
Program = Callable[[], tuple[ExportedProgram, torch.Tensor]]


def image() -> torch.Tensor:
    return torch.randn(1, 3, 12, 12, generator=IMAGE)


def rows() -> torch.Tensor:
    return torch.randn(3, 64, generator=ROWS)


PROGRAMS: dict[str, Program] = {
    "static by channel": lambda: (by_stock(Convolutions(), x := image()), x),
    "static by tensor": lambda: (by_stock(Convolutions(), x := image(), per_channel=False), x),
    "dynamic": lambda: (by_stock(Linears(), x := rows(), dynamic=True), x),
    "4 bits by channel": lambda: (by_torchao(Linears(), x := rows(), dynamic(4, PerAxis(0))), x),
    "4 bits by group": lambda: (by_torchao(Linears(), x := rows(), dynamic(4, PerGroup(32))), x),
}


def run(file: bytes, x: torch.Tensor) -> list[torch.Tensor]:
    """What xir's runtime and stock's compute."""
    ours = runtime.Runtime.get().load_program(file).load_method("forward").execute([x])[0]
    return [torch.as_tensor(ours), load_stock(file).forward([x])[0]]


def check_nodes(program: EdgeProgram) -> None:
    """All is delegated in one piece, and every weighted node reads integers."""
    ops = list(program.module.walk())
    assert not [op.name for op in ops if isinstance(op, edge.EdgeOp)]
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    weighted = [op for op in ops if isinstance(op, xnnpack.ConvolutionOp | xnnpack.FullyConnectedOp)]
    assert weighted
    assert all(is_quantized(element_type(value)) for op in weighted for value in (op.input, op.filter))


MORE = {"static by tensor", "4 bits by channel"}
"""Weights that other tests read as well: convolutions of three dimensions, and modules of torchao's."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.exhaustive) if n in MORE else n for n in PROGRAMS])
def test_agrees_with_stocks_own_lowering_and_reads_its_file(name: str) -> None:
    torch.manual_seed(0)
    program, x = PROGRAMS[name]()
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    check_nodes(lowered)
    stock = bytes(to_edge_transform_and_lower(program, partitioner=[StockPartitioner()]).to_executorch().buffer)
    expected = load_stock(stock).forward([x])[0]
    # Static: one rounding of the last conversion. Rows quantised at run time: XNNPACK sums the same integers.
    step = expected.unique().diff().min() if name.startswith("static") else expected.abs().max() * 1e-5
    # With one 4-bit scale for each channel stock's file is 0.3 % off eager, so there eager says what is right.
    wanted = program.module()(x) if name == "4 bits by channel" else expected
    for result in run(lowered.to_executorch().buffer, x):
        assert (result - wanted).abs().max() <= step * 1.001
    check_written_back(stock, expected, x)


@pytest.mark.parametrize(
    ("kind", "per_channel"),
    [
        (torch.nn.Conv3d, True),
        (torch.nn.ConvTranspose3d, False),
        pytest.param(torch.nn.Conv3d, False, marks=pytest.mark.exhaustive),
        pytest.param(torch.nn.ConvTranspose3d, True, marks=pytest.mark.exhaustive),
    ],
)
def test_convolutions_of_three_dimensions(kind: type[torch.nn.Module], per_channel: bool) -> None:
    """They are sums of those of planes, whose filters are planes of a quantised one: in one delegate, in fp32."""
    torch.manual_seed(0)
    x = torch.randn(1, 4, 5, 6, 7)
    program = by_stock(kind(4, 8, 3, padding=1), x, per_channel=per_channel)
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    ops = list(lowered.module.walk())
    assert not [op.name for op in ops if isinstance(op, edge.EdgeOp)]
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    expected = program.module()(x)
    step = expected.unique().diff().min()
    for result in run(lowered.to_executorch().buffer, x):
        assert (result - expected).abs().max() <= step * 1.001
        assert (result != expected).float().mean() < 0.01


class Activations(torch.nn.Module):
    """Activations one after the other between 8-bit numbers, and 8-bit numbers between them or not."""

    def __init__(self, count: int, *, rounded: bool) -> None:
        super().__init__()
        self.count, self.rounded = count, rounded

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = quantized(x)
        for _ in range(self.count):
            x = quantized(-x) if self.rounded else -x
        return quantized(x)


def quantized(x: torch.Tensor) -> torch.Tensor:
    """A tensor in steps of 1/16."""
    limits = (0.0625, 3, -128, 127, torch.int8)
    return Q.dequantize_per_tensor.default(Q.quantize_per_tensor.default(x, *limits), *limits)


@pytest.mark.parametrize("rounded", [True, False])
@pytest.mark.parametrize("count", [*(pytest.param(each, marks=pytest.mark.exhaustive) for each in (7, 8)), 9, 10, 31])
def test_chains_of_functions_have_any_length(count: int, rounded: bool) -> None:
    """XNNPACK makes tables of them, and one of ten nodes is more than its array holds."""
    model, x = Activations(count, rounded=rounded), torch.linspace(-9, 9, 64)
    lowered = to_edge(torch.export.export(model, (x,))).to_backend(XnnpackPartitioner())
    assert not [op.name for op in lowered.module.walk() if isinstance(op, edge.EdgeOp)]
    for result in run(lowered.to_executorch().buffer, x):
        assert torch.equal(result, model(x))


def check_written_back(file: bytes, expected: torch.Tensor, x: torch.Tensor) -> None:
    """Stock's file becomes text, that a file, and that the same text; both runtimes compute what stock's file does."""
    ctx, again, rewritten, stream = XirContext(), XirContext(), XirContext(), io.BytesIO()
    text = module_to_text(read(file, ctx), ctx, PrintOptions(resources=True))
    module = parse_module(again, text)
    module.verify()
    emit(module, again, stream)
    for result in run(stream.getvalue(), x):
        assert torch.equal(result, expected)
    assert module_to_text(read(stream.getvalue(), rewritten), rewritten, PrintOptions(resources=True)) == text


@dataclass(frozen=True)
class Modules:
    """What becomes of linear modules under a configuration of torchao's."""

    config: torchao.quant_api.AOBaseConfig
    input: str
    filter: str
    """The element types of the fully connected nodes' operands, as far as they are written here."""
    limit: float = 1e-5
    """How far results may be from eager's, relative to the largest."""
    remark: str = ""
    """Why filters became floating point."""


BLOCK = "{0:1, 1:32}"
ROWS_OF_8 = "!xnnpack.qd<i8, 1>"
IN_BLOCKS = "a filter quantised by block wants an input quantised at run time"
MODULES: dict[str, Modules] = {
    "8da8w": Modules(dynamic(8, PerAxis(0)), ROWS_OF_8, "!quant.uniform<i8:f32:0"),
    "8da4w": Modules(dynamic(4, PerAxis(0)), ROWS_OF_8, "!quant.uniform<i4:f32:0"),
    "8da3w": Modules(dynamic(3, PerAxis(0)), ROWS_OF_8, "!quant.uniform<i4:f32:0"),
    "8da4w, groups": Modules(dynamic(4, PerGroup(32), weight_scale_dtype=torch.bfloat16), ROWS_OF_8, BLOCK),
    "8da4w, groups, scales in fp32": Modules(dynamic(4, PerGroup(32)), ROWS_OF_8, BLOCK, 0.01),
    "8da8w, groups": Modules(dynamic(8, PerGroup(32)), "f32", "f32", 0.03, "blocks are of 4-bit input channels"),
    "8da4w, small groups": Modules(dynamic(4, PerGroup(16)), "f32", "f32", 0.03, "blocks of 16 do not divide"),
    "8da4w, zero points": Modules(
        dynamic(4, PerGroup(32), weight_mapping_type=torchao.MappingType.ASYMMETRIC),
        "f32",
        "f32",
        0.03,
        "the filter's zero points must be 0",
    ),
    # torchao's activations are symmetric here, XNNPACK's are not, which is the more accurate.
    "int8, symmetric": Modules(
        torchao.Int8DynamicActivationInt8WeightConfig(), ROWS_OF_8, "!quant.uniform<i8:f32:0", 0.03
    ),
    "int8": Modules(
        torchao.Int8DynamicActivationInt8WeightConfig(act_mapping_type=torchao.MappingType.ASYMMETRIC),
        ROWS_OF_8,
        "!quant.uniform<i8:f32:0",
    ),
    "int8 weights": Modules(torchao.Int8WeightOnlyConfig(), "f32", "!quant.uniform<i8:f32:0"),
    "8 bits, weights": Modules(
        torchao.IntxWeightOnlyConfig(weight_dtype=bits(8), granularity=PerAxis(0)), "f32", "!quant.uniform<i8:f32:0"
    ),
    "4 bits, weights": Modules(
        torchao.IntxWeightOnlyConfig(weight_dtype=bits(4), granularity=PerAxis(0)), "f32", "!quant.uniform<i4:f32:0"
    ),
    "4 bits, weights, groups": Modules(
        torchao.IntxWeightOnlyConfig(weight_dtype=bits(4), granularity=PerGroup(32)), "f32", "f32", remark=IN_BLOCKS
    ),
}


def module_cases() -> Iterator[Any]:
    """The first configuration of each element type of inputs and filters of a batch, the others of rows."""
    seen = set[tuple[str, str]]()
    for name, modules in MODULES.items():
        is_first = (modules.input, modules.filter) not in seen
        more = pytest.mark.exhaustive
        yield pytest.param(name, (3, 64), id=f"{name}-rows", marks=more if is_first else ())
        yield pytest.param(name, (2, 3, 64), id=f"{name}-batch", marks=() if is_first else more)
        seen.add((modules.input, modules.filter))


@pytest.mark.parametrize(("name", "shape"), list(module_cases()))
def test_linear_modules_that_torchao_quantized(name: str, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    modules, x = MODULES[name], torch.randn(shape)
    program = by_torchao(Linears(), x, modules.config)
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    ops = list(lowered.module.walk())
    assert not [op.name for op in ops if isinstance(op, edge.EdgeOp)]
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    nodes = [op for op in ops if isinstance(op, xnnpack.FullyConnectedOp)]
    assert len(nodes) == 2
    for node in nodes:
        assert str(element_type(node.input)) == modules.input
        assert modules.filter in str(element_type(node.filter))
    remarks = [str(remark) for remark in lowered.remarks]
    assert len(remarks) == (2 if modules.remark else 0)
    assert all(modules.remark in remark and "test_quantized_programs.py" in remark for remark in remarks)
    expected = program.module()(x)
    ours, stock = run(lowered.to_executorch().buffer, x)
    assert (ours - expected).abs().max() <= modules.limit * expected.abs().max()
    assert torch.equal(ours, stock)


def four_bits(inputs: int) -> tuple[ExportedProgram, torch.nn.Module]:
    """A linear layer with a scale for each row of 4-bit weights, by ExecuTorch's quantizer; any number of rows."""
    model, x = torch.nn.Linear(inputs, 20).eval(), torch.randn(9, inputs)
    with torch.no_grad():
        model.weight.uniform_(0, 1)
    rows = ({0: torch.export.Dim("rows", min=2, max=64)},)
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True, weight_qmin=-8, weight_qmax=7)
    exported = torch.export.export(model, (x,), dynamic_shapes=rows).module()
    prepared = prepare_pt2e(exported, XNNPACKQuantizer().set_global(config))
    prepared(x)
    converted = convert_pt2e(prepared)
    return torch.export.export(converted, (x,), dynamic_shapes=rows), converted


@pytest.mark.parametrize("inputs", [1, 2, 3, 31, 61, 62, 63])
def test_every_row_of_4_bit_weights_counts(inputs: int) -> None:
    """XNNPACK leaves rows out for an odd number of 4-bit inputs: what is left there is what another run has written."""
    torch.manual_seed(inputs)
    program, quantized = four_bits(inputs)
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    check_nodes(lowered)
    file = lowered.to_executorch().buffer
    runs = both(file)
    for count in (64, 9, 2, 33):
        numbers = torch.randn(count, inputs)
        with torch.no_grad():
            exact = quantized(numbers)
        for got in (run([numbers])[0] for run in runs):
            # The graph has one scale for all rows, XNNPACK one for each: half a step of both for each of these weights.
            step = float(numbers.max().clamp(min=0) - numbers.min().clamp(max=0)) / 255
            assert float((got - exact).abs().max()) <= step * inputs


def test_a_stock_file_for_which_xnnpack_leaves_rows_out_is_refused() -> None:
    torch.manual_seed(0)
    program, _ = four_bits(61)
    stock = bytes(to_edge_transform_and_lower(program, partitioner=[StockPartitioner()]).to_executorch().buffer)
    with pytest.raises(runtime.XirRuntimeError, match=r"4 bits with an odd number of input channels \(61\)"):
        runtime.Runtime.get().load_program(stock).load_method("forward")


class LookUp(torch.nn.Module):
    """Rows of a table, and what they are multiplied with."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.linear = torch.nn.Embedding(50, 64), torch.nn.Linear(64, 7)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.linear(self.table(tokens))


@pytest.mark.parametrize("granularity", [PerAxis(0), PerGroup(32)], ids=["row", "group"])
@pytest.mark.parametrize(("width", "kernel"), [(8, "byte"), (4, "4bit"), (2, "2bit")])
@pytest.mark.parametrize("symmetric", [True, False], ids=["symmetric", "asymmetric"])
def test_tables_stay_quantized(width: int, kernel: str, granularity: PerGroup | PerAxis, symmetric: bool) -> None:
    """Those that torchao quantised, in the file and in memory, also in stock."""
    mapping = torchao.MappingType.SYMMETRIC if symmetric else torchao.MappingType.ASYMMETRIC
    config = torchao.IntxWeightOnlyConfig(bits(width), granularity, mapping)
    model, tokens = LookUp().eval(), torch.tensor([[3, 49, 0], [7, 7, 21]])
    torchao.quantize_(model, config, lambda module, _: isinstance(module, torch.nn.Embedding))
    lowered = to_edge(torch.export.export(model, (tokens,))).to_backend(XnnpackPartitioner()).to_executorch()
    assert lowered.kernel_names == [f"quantized_decomposed::embedding_{kernel}.out"]
    for found in run(lowered.buffer, tokens):
        torch.testing.assert_close(found, model(tokens), rtol=1e-5, atol=1e-5)


def test_look_ups_of_other_compilers() -> None:
    """A program that calls the operator itself, with results of a type of its own."""
    table = torch.randint(0, 256, (50, 32), dtype=torch.uint8)

    class Packed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", table)
            self.register_buffer("scales", torch.rand(50, 2))

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            look_up = torch.ops.quantized_decomposed.embedding_4bit
            return look_up.dtype(self.table, self.scales, None, -8, 7, tokens, dtype=torch.float16)

    model, tokens = Packed(), torch.tensor([3, 49, 0])
    lowered = to_edge(torch.export.export(model, (tokens,))).to_backend(XnnpackPartitioner()).to_executorch()
    assert lowered.kernel_names == ["quantized_decomposed::embedding_4bit.dtype_out"]
    for found in run(lowered.buffer, tokens):
        torch.testing.assert_close(found, model(tokens))


class Heads(torch.nn.Module):
    """Two linear modules that read the same tensor, one of them without a bias."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 96), torch.nn.Linear(64, 7, bias=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.first(x), self.second(x)


@pytest.mark.parametrize("shape", [(3, 64), (2, 5, 3, 64)], ids=["rows", "batches"])
@pytest.mark.parametrize("granularity", [PerAxis(0), PerGroup(32)], ids=["8 bits", "4 bits by group"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_floats_are_quantized_at_run_time(
    dtype: torch.dtype, granularity: PerGroup | PerAxis, shape: tuple[int, ...]
) -> None:
    """Between conversions to fp32, once for both modules; results are rounded, and scales of groups to bf16."""
    torch.manual_seed(0)
    model, x = Heads().to(dtype), torch.randn(shape, dtype=dtype)
    is_grouped = isinstance(granularity, PerGroup)
    program = by_torchao(model, x, dynamic(4 if is_grouped else 8, granularity))
    wide = Heads().float()
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
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    check_nodes(lowered)
    file = lowered.to_executorch().buffer
    ours = runtime.Runtime.get().load_program(file).load_method("forward").execute([x])
    stock = load_stock(file).forward([x])
    with torch.no_grad():
        results = wide(rounded)
    for layer, found, again, expected in zip((wide.first, wide.second), ours, stock, results, strict=True):
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
    torch.manual_seed(0)
    x = rows().to(dtype)
    program = by_stock(Linears().to(dtype), x, per_channel=per_channel, dynamic=True)
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    check_nodes(lowered)
    expected = program.module()(x)
    for result in run(lowered.to_executorch().buffer, x):
        # Eager finds one range for all rows, XNNPACK one for each.
        assert (result - expected).abs().max() <= 0.03 * expected.abs().max()
