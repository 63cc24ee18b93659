"""The first node of a `.pte` file that leaves eager: faults planted in files of ours and of stock ExecuTorch."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as StockPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from reference.kernel_library import build_kernel_library
from reference.tools import Tool
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from xdsl.dialects.builtin import FloatAttr, ModuleOp, TensorType, f32

import xir
from xir.device.transports import own_runner
from xir.dialects import pte, xnnpack
from xir.emitter import emit, read
from xir.evaluate.file_bisection import bisect_file
from xir.evaluate.file_values import values_of_file
from xir.faults.file_report import told_of_file
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.tools.xir_bisect import main as xir_bisect

pytestmark = pytest.mark.filterwarnings("ignore")


class Network(nn.Module):
    """Convolutions with clamps, a kernel outside of delegates, and a normalisation that is decomposed."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.second = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Hardtanh(-0.5, 0.25))
        self.norm = nn.LayerNorm(8)
        self.last = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.second(self.first(x))
        pooled = x.mean((2, 3))
        return self.last(self.norm(torch.cumsum(pooled, 1))), torch.softmax(pooled, 1)


def line_of(text: str) -> int:
    """The line of this file that has a text."""
    return Path(__file__).read_text(encoding="utf-8").splitlines().index(text) + 1


INPUT = torch.randn((2, 3, 8, 8), generator=torch.Generator().manual_seed(1)) * 2


@pytest.fixture(scope="module")
def program(request: pytest.FixtureRequest) -> torch.export.ExportedProgram:
    program = torch.export.export(Network().eval(), (INPUT,))
    if request.param == "fp32":
        return program
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(program.module(), quantizer)
    prepared(INPUT)
    return torch.export.export(convert_pt2e(prepared), (INPUT,))


@pytest.fixture(scope="module")
def file(request: pytest.FixtureRequest, program: torch.export.ExportedProgram) -> bytes:
    if request.param == "stock":
        return to_edge_transform_and_lower(program, partitioner=[StockPartitioner()]).to_executorch().buffer
    return xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer


def files(*quick: tuple[str, str], modes: Sequence[str] = ("fp32", "int8")) -> pytest.MarkDecorator:
    """Programs of these modes in files of both compilers, of which `make test` takes those that are named."""
    every = list(product(modes, ("xir", "stock")))
    marked = [each if each in quick else pytest.param(*each, marks=pytest.mark.exhaustive) for each in every]
    return pytest.mark.parametrize(("program", "file"), marked, indirect=True)


def told(program: torch.export.ExportedProgram, file: bytes, plant: Callable[[ModuleOp, XirContext], None]) -> str:
    """What is said about a file with a fault planted."""
    ctx = XirContext()
    module = read(file, ctx)
    plant(module, ctx)
    stream = io.BytesIO()
    emit(module, ctx, stream)
    ctx = XirContext()
    edge = xir.to_edge(program)
    found = bisect_file((edge.module, edge.ctx), (read(stream.getvalue(), ctx), ctx), inputs=[INPUT])
    return "" if found is None else told_of_file(found, "net.pte")


def nodes(module: ModuleOp, kind: type[xnnpack.NodeOp]) -> list[xnnpack.NodeOp]:
    found = [op for op in module.walk() if isinstance(op, kind)]
    assert found
    return found


def nothing(module: ModuleOp, ctx: XirContext) -> None:
    """Leave the file as it is."""


def a_weight(module: ModuleOp, ctx: XirContext) -> None:
    """Change one weight of the depthwise convolution."""
    weight = nodes(module, xnnpack.DepthwiseConv2dOp)[0].operands[1].owner
    assert isinstance(weight, xnnpack.ConstantOp)
    type = weight.elements.get_type()
    assert isinstance(type, TensorType)
    array = storage_array(weight.elements, ctx, weight).copy()
    place = np.unravel_index(np.abs(array).argmax(), array.shape)
    array[place] = array[place] // 2 if array.dtype.kind == "i" else array[place] * 0.5
    weight.properties["value"] = make_dense(array, ctx, "changed", type.element_type)


def a_bound(module: ModuleOp, ctx: XirContext) -> None:
    """Loosen the upper bound of the second clamp."""
    clamps = [
        op
        for op in module.walk()
        if isinstance(op, xnnpack.BoundedOp) and isinstance(op.output_max, FloatAttr) and op.output_max.value.data < 1
    ]
    clamps[0].properties["output_max"] = FloatAttr(0.75, f32)


def swapped_outputs(module: ModuleOp, ctx: XirContext) -> None:
    """Give the second output first."""
    (signature,) = (op for op in module.walk() if isinstance(op, pte.SignatureOp))
    first, second = signature.outputs
    signature.operands = [*signature.inputs, second, first]


@files(("fp32", "xir"), ("int8", "stock"))
def test_right_files_are_right(program: torch.export.ExportedProgram, file: bytes) -> None:
    assert told(program, file, nothing) == ""


@files(("fp32", "stock"), ("int8", "stock"))
def test_a_changed_weight_is_found(program: torch.export.ExportedProgram, file: bytes) -> None:
    text = told(program, file, a_weight)
    assert "'xnnpack.depthwise_conv2d' leaves what eager computes: off by " in text
    assert "what the node reads is eager's" in text


@files(("fp32", "xir"), ("fp32", "stock"), modes=["fp32"])  # in int8 the range of the integers is the bound
def test_a_loosened_bound_is_found(program: torch.export.ExportedProgram, file: bytes) -> None:
    text = told(program, file, a_bound)
    assert "leaves what eager computes: off by " in text
    assert f"{Path(__file__).name}:{line_of('        x = self.second(self.first(x))')}" in text
    # What goes beyond the bound was the bound, or its integer's number.
    actual, expected = text.split(" is ")[1].split("\n")[0].split(" where eager has ")
    assert float(actual) > 0.3
    assert float(expected) == pytest.approx(0.25, abs=0.01)


@files(("fp32", "xir"))
def test_swapped_outputs_are_found(program: torch.export.ExportedProgram, file: bytes) -> None:
    assert "output 0 is another value of eager's" in told(program, file, swapped_outputs)


WRONG_KERNEL = """
#include "xir/kernel_checks.h"
#include "xir/kernel_library.h"

namespace {

using namespace xir::kernels;

// Sums along the last dimension that forget where a row ends.
xir::Status CumSum(const xir::Tensor& x, int64_t, Unused, xir::Tensor& out) {
  XIR_RETURN_IF_ERROR(ResizeResult(out, x.shape));
  float sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) out.as<float>()[i] = sum += x.as<float>()[i];
  return {};
}

constexpr xir::TypedKernel kKernels[] = {MakeKernel<CumSum>("aten::cumsum.out")};

}  // namespace

XIR_KERNEL_LIBRARY(kKernels)
"""
"""Takes the place of the runtime's own."""


@files(("fp32", "xir"), modes=["fp32"])
def test_a_wrong_kernel_is_found(
    program: torch.export.ExportedProgram, file: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, library, path = tmp_path / "wrong.cc", tmp_path / "libwrong.so", tmp_path / "net.pte"
    source.write_text(WRONG_KERNEL, encoding="utf-8")
    build_kernel_library(source, library)
    torch.export.save(program, tmp_path / "net.pt2")
    path.write_bytes(file)
    bisect, files = Tool(xir_bisect, capsys), f"{tmp_path}/net.pt2 --pte {path}"
    bisect(files)
    told = bisect(f"{files} --libraries {library}", code=1)
    assert "error: the kernel of 'aten::cumsum.out' errs: off by " in told
    line = "        return self.last(self.norm(torch.cumsum(pooled, 1))), torch.softmax(pooled, 1)"
    assert f"{Path(__file__).name}:{line_of(line)}" in told
    device = shlex.quote(f"{own_runner()} --libraries {library}")
    assert bisect(f"{files} --on {device}", code=1) == told
    for command, message in (
        (f"{files} --on local --max-seconds 3", "are for runs here, not on a device of --on"),
        (f"{files} --libraries {tmp_path}/libnone.so", "libnone.so"),
        (f"{tmp_path}/net.pt2 --libraries {library}", "--libraries goes with --pte"),
    ):
        bisect(command, code=1)
        assert message in bisect.err


def test_values_within_delegates_are_those_of_the_kernels() -> None:
    program = torch.export.export(Network().eval(), (INPUT,))
    lowered = xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch()
    ctx = XirContext()
    values = values_of_file(read(lowered.buffer, ctx), ctx, "forward", [INPUT])
    of = {step.op.name: values.tensors[step.results[0]] for step in values.steps if step.results}
    with torch.no_grad():
        expected = Network().eval().first(INPUT).permute(0, 2, 3, 1)
        torch.testing.assert_close(of["xnnpack.conv2d"], expected.contiguous(), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close([values.tensors[each] for each in values.outputs], list(Network().eval()(INPUT)))


def test_the_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = torch.export.export(Network().eval(), (INPUT,))
    torch.export.save(program, tmp_path / "net.pt2")
    path = tmp_path / "net.pte"
    path.write_bytes(xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer)
    bisect, files = Tool(xir_bisect, capsys), f"{tmp_path}/net.pt2 --pte {path}"
    assert bisect(files) == f"{path}: no node leaves what eager computes\n"
    ctx = XirContext()
    module = read(path.read_bytes(), ctx)
    a_bound(module, ctx)
    with path.open("wb") as stream:
        emit(module, ctx, stream)
    assert "leaves what eager computes" in bisect(files, code=1)
    (tmp_path / "damaged.pte").write_bytes(b"no file")
    for command, message in (
        (f"{files} --method prefill", "the model has no method 'prefill'"),
        (f"{tmp_path}/net.pt2 --pte {tmp_path}/damaged.pte", "damaged.pte: "),
        (f"{tmp_path}/net.pt2 --pte {tmp_path}/none.pte", "none.pte"),
    ):
        bisect(command, code=1)
        assert message in bisect.err
