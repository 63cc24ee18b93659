"""`.pte` files between xir and stock ExecuTorch 1.5.1, both ways.

The other side is ExecuTorch's own: its runtime runs what xir writes, its reader reads it, and its compiler writes what
xir reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from emitter.sample_modules import CONVOLUTIONS, MIXED, QUANTIZED, emitted, lowered

from xir.emitter import read
from xir.emitter.codec import Tree, decode
from xir.emitter.container import read_container
from xir.emitter.fbs import load_schema
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.printer import PrintOptions, module_to_text


def run_stock(data: bytes, *inputs: torch.Tensor, method: str = "forward") -> list[Any]:
    """What stock ExecuTorch computes."""
    from reference.runtimes import load_stock

    # The program does not keep the buffer alive.
    program = load_stock(data)
    return [out.clone() if isinstance(out, torch.Tensor) else out for out in program.run_method(method, inputs)]


def rewritten(data: bytes) -> bytes:
    """The file after reading, printing, parsing and writing."""
    ctx = XirContext()
    text = module_to_text(read(data, ctx), ctx, PrintOptions(resources=True))
    again = XirContext()
    return emitted(parse_module(again, text), again)


# What xir writes runs in stock ExecuTorch.


def test_kernels_and_a_delegate():
    ctx = XirContext()
    data = emitted(lowered(MIXED, ctx), ctx)
    x = torch.arange(6.0).reshape(2, 3) - 3
    product = ((x + torch.tensor([1.0, 2.0, 3.0])) * torch.tensor([1.0, -2.0, 3.0])).clamp(max=5.0)
    expected = torch.cat([product, product])[1:3].abs()
    out, mean = run_stock(data, x)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(mean, expected.mean(1))


def test_one_delegate_with_weights():
    ctx = XirContext()
    generator = np.random.default_rng(0)
    shapes = {"conv": (6, 3, 3, 4), "bias": (6,), "depthwise": (1, 3, 3, 6), "linear": (3, 24)}
    weights = {name: generator.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    for name, array in weights.items():
        ctx.blobs.set(name, array)
    data = emitted(lowered(CONVOLUTIONS, ctx), ctx)
    conv, bias, depthwise, linear = map(torch.from_numpy, weights.values())
    x = torch.from_numpy(generator.standard_normal((1, 8, 8, 4), dtype=np.float32))
    functional = torch.nn.functional
    y = functional.conv2d(x.permute(0, 3, 1, 2), conv.permute(0, 3, 1, 2), bias, padding=1).clamp(0, 6)
    y = functional.conv2d(y, depthwise.permute(3, 0, 1, 2), stride=2, groups=6)
    y = functional.max_pool2d(y, 2, stride=1).reshape(1, 24) @ linear.T
    y = functional.pad(functional.leaky_relu(y, 0.25), (1, 0), value=0.5).softmax(1)[:, 1:]
    torch.testing.assert_close(run_stock(data, x)[0], y, rtol=1e-4, atol=1e-5)


def test_a_quantized_delegate():
    ctx = XirContext()
    x = torch.tensor([[1.0, -2.0, 0.5, 3.0], [0.0, 4.0, -1.5, 2.5]])
    weights = torch.tensor([[1.0, 2, 3, 4], [-1, -2, -3, -4], [127, 0, 0, -127]]) * torch.tensor(
        [[0.25], [0.5], [0.125]]
    )
    bias = torch.tensor([100.0, -100, 0]) * torch.tensor([0.125, 0.25, 0.0625])
    # Every number here is a multiple of its scale, so only the range of the result's type (-33.75 to 30) shows.
    expected = (x @ weights.T + bias).clamp(0.25 * (-128 - 7), 0.25 * (127 - 7))
    torch.testing.assert_close(run_stock(emitted(lowered(QUANTIZED, ctx), ctx), x)[0], expected, rtol=0, atol=0.13)


@pytest.mark.parametrize(
    "options",
    ["alloc-inputs=true", "alloc-inputs=false", "alloc-outputs=false", "alloc-inputs=false alloc-outputs=false"],
)
def test_memory_of_inputs_and_outputs(options: str):
    """Stock's Python runtime copies into planned inputs and allocates unplanned outputs itself."""
    from xir.ir.pipeline import parse_options
    from xir.transforms.pte.lower_to_pte import LowerToPtePass
    from xir.transforms.pte.plan_memory import PlanMemoryPass

    ctx = XirContext()
    module = parse_module(ctx, MIXED)
    LowerToPtePass().apply(ctx, module)
    PlanMemoryPass.from_options(parse_options(options)).apply(ctx, module)
    reference_ctx = XirContext()
    reference = emitted(lowered(MIXED, reference_ctx), reference_ctx)
    x = torch.arange(6.0).reshape(2, 3)
    data = emitted(module, ctx)
    for ours, theirs in zip(run_stock(data, x), run_stock(reference, x), strict=True):
        torch.testing.assert_close(ours, theirs)


KERNELS = """
func.func @forward(%x: tensor<2x6xf32>, %i: tensor<3xi64>)
    -> (tensor<2x2xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xi64>, tensor<2x3xf32>, tensor<2x6xf32>,
        tensor<4x6xf32>, tensor<2x6xi32>, tensor<6x2xf32>) {
  %a, %b = edge.split_with_sizes(%x) {split_sizes = array<i64: 2, 4>, dim = 1 : i64}
         : (tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x4xf32>)
  %c, %d = edge.max.dim(%x) {dim = 1 : i64} : (tensor<2x6xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  %e = edge.index.Tensor(%x, [none, %i]) : (tensor<2x6xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  %f = edge.full() {size = array<i64: 2, 6>, fill_value = 2.5 : f64, dtype = f32} : () -> tensor<2x6xf32>
  %g = edge.mul.Tensor(%x, %f) : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  %h = edge.cat([%x, %g]) : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %j = edge._to_copy(%x) {dtype = i32} : (tensor<2x6xf32>) -> tensor<2x6xi32>
  %k = edge.permute(%x) {dims = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
  func.return %a, %b, %c, %d, %e, %g, %h, %j, %k : tensor<2x2xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<2xi64>,
      tensor<2x3xf32>, tensor<2x6xf32>, tensor<4x6xf32>, tensor<2x6xi32>, tensor<6x2xf32>
}
"""
"""Every calling convention: an out tensor, two of them, a list of them, lists in, absent elements, dtypes."""


def test_calling_conventions_of_kernels():
    ctx = XirContext()
    x, i = torch.randn(2, 6, generator=torch.Generator().manual_seed(0)), torch.tensor([5, 0, 2])
    values, indices = x.max(1)
    expected = [*x.split([2, 4], 1), values, indices, x[:, i], x * 2.5, torch.cat([x, x * 2.5]), x.to(torch.int32), x.T]
    for ours, theirs in zip(run_stock(emitted(lowered(KERNELS, ctx), ctx), x, i), expected, strict=True):
        torch.testing.assert_close(ours, theirs.contiguous())


# What stock ExecuTorch's own reader sees in our files.


def test_stocks_reader_reads_our_file():
    from executorch.exir._serialize._program import deserialize_pte_binary

    ctx = XirContext()
    pte = deserialize_pte_binary(emitted(lowered(MIXED, ctx), ctx))
    plan = pte.program.execution_plan[0]
    assert [(op.name, op.overload) for op in plan.operators] == [("aten::add", "out"), ("aten::mean", "out")]
    assert plan.delegates[0].id == "XnnpackBackend"
    assert plan.non_const_buffer_sizes[0] == 0
    assert np.frombuffer(pte.program.constant_buffer[1].storage, np.float32).tolist() == [1.0, 2.0, 3.0]
    assert pte.named_data is not None
    (weights,) = pte.named_data.buffers
    assert isinstance(weights, bytes)
    assert np.frombuffer(weights, np.float32).tolist() == [1.0, -2.0, 3.0]


# What stock ExecuTorch writes, xir reads and writes again.


class Vision(torch.nn.Module):
    """Two delegates with kernels between them, and several outputs."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.linear = torch.nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        z = y.mean([2, 3])
        return self.linear(z), torch.cumsum(z, 1)


def quantized(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> torch.nn.Module:
    """`model` with static 8-bit quantisation, weights per channel."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer: Any = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


class Tables(torch.nn.Module):
    """Constants, lists of tensors, optional ones, several results of a kernel, concatenation in a delegate."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 4)
        self.scale = torch.nn.Parameter(torch.randn(4))

    def forward(self, i: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        a = self.embedding(i)
        b = a[:, i]
        return torch.cat([a * self.scale, a], 0).clamp(min=0.5), torch.topk(b, 2)[1], torch.split(a, [1, 2], 0)[1]


class State(torch.nn.Module):
    """A buffer that changes and starts from a value in the file."""

    def __init__(self):
        super().__init__()
        self.total: torch.Tensor
        self.register_buffer("total", torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total * 2


def stock_file(name: str) -> tuple[bytes, tuple[torch.Tensor, ...]]:
    """A file that stock ExecuTorch writes, and inputs for it."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    torch.manual_seed(0)
    partitioner: list[Any] = [XnnpackPartitioner()]
    config = ExecutorchBackendConfig(emit_stacktrace=name == "portable")
    if name == "state":
        x = torch.ones(3)
        config = ExecutorchBackendConfig(
            passes=[InitializedMutableBufferPass(["total"])], emit_mutable_buffer_names=True
        )
        program = to_edge(torch.export.export(State(), (x,)))
    elif name == "tables":
        x = torch.tensor([1, 2, 3])
        program = to_edge_transform_and_lower(torch.export.export(Tables().eval(), (x,)), partitioner=partitioner)
    elif name == "dynamic":
        x = torch.randn(2, 4)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Softmax(-1))
        exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch", max=6)},))
        methods = {"number": 3, "name": "abc", "ratio": 2.5, "flag": True}
        program = to_edge_transform_and_lower(exported, partitioner=partitioner, constant_methods=methods)
    else:
        x = torch.randn(1, 3, 8, 8)
        model = Vision().eval()
        if name == "quantised":
            model = quantized(model, (x,))
        exported = torch.export.export(model, (x,))
        program = (
            to_edge(exported) if name == "portable" else to_edge_transform_and_lower(exported, partitioner=partitioner)
        )
        if name == "inline":
            config = ExecutorchBackendConfig(extract_delegate_segments=False)
        if name == "aligned":
            config = ExecutorchBackendConfig(segment_alignment=4096)
    return program.to_executorch(config).buffer, (x,)


def comparable(data: bytes) -> tuple[Tree, list[Any]]:
    """A file as plain data. A delegate's FlatBuffer may be packed differently, so its segment is a tree and the places
    of the segments are left out."""
    container = read_container(data)
    program = container.program
    segments: list[Any] = list(container.segments)
    for plan in program["execution_plan"]:
        for delegate in plan["delegates"]:
            processed = delegate["processed"]
            if processed["location"] == 1:
                segments[processed["index"]] = graph_tree(container.segments[processed["index"]])
    for entry in program["backend_delegate_data"]:
        entry["data"] = graph_tree(entry["data"])
    return {**program, "segments": len(program["segments"])}, segments


def graph_tree(blob: memoryview) -> Tree:
    start, size = (int.from_bytes(blob[at : at + 4], "little") for at in (10, 14))
    assert bytes(blob[4:8]) == b"XH00"
    assert not any(blob[22:30]), "the blob has constants of its own"
    return decode(load_schema("xnnpack"), blob[start : start + size])


def first_plan(program: Tree) -> Tree:
    return program["execution_plan"][0]


SHOWS: dict[str, Callable[[Tree], object]] = {
    "vision": lambda p: len(first_plan(p)["delegates"]) == 2 and p["named_data"],
    "portable": lambda p: first_plan(p)["chains"][0]["stacktrace"] and not first_plan(p)["delegates"],
    "tables": lambda p: {"TensorList", "OptionalTensorList"} <= {v["val"].member for v in first_plan(p)["values"]},
    "dynamic": lambda p: (
        len(p["execution_plan"]) == 5 and first_plan(p)["values"][0]["val"].value["shape_dynamism"] == 1
    ),
    "state": lambda p: p["mutable_data_segments"],
    "inline": lambda p: p["backend_delegate_data"],
    "quantised": lambda p: any("scale_" in entry["key"] for entry in p["named_data"]),
    "aligned": lambda p: p["segments"][1]["offset"] == 4096,
}
"""By the name of a file: what in it the test is about."""


# ExecuTorch warns before it runs the pass that the state gets its initial value from.
@pytest.mark.filterwarnings("ignore:Mutation on a buffer in the model")
@pytest.mark.parametrize("name", SHOWS)
def test_stocks_files_are_written_again_field_by_field(name: str):
    original, inputs = stock_file(name)
    assert SHOWS[name](read_container(original).program), "the case no longer shows what it is there for"
    ours = rewritten(original)
    assert comparable(ours) == comparable(original)
    # Ours is a fixed point, byte for byte.
    assert rewritten(ours) == ours
    for a, b in zip(run_stock(ours, *inputs), run_stock(original, *inputs), strict=True):
        assert torch.equal(a, b)
    if name == "dynamic":
        for method, expected in (("number", 3), ("name", "abc"), ("ratio", 2.5), ("flag", True)):
            assert run_stock(ours, method=method) == [expected]
    if name == "aligned":
        assert read_container(ours).segment_base % 4096 == 0
