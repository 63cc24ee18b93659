"""`--bit-exact`: programs whose results are defined to the bit, against NumPy's integers and single roundings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from emitter.sample_modules import emitted
from reference.runtimes import both
from reference.tools import Tool
from torch import nn

import xir
from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.ir.walking import ops_in
from xir.runtime import Runtime
from xir.transforms.pipelines import PIPELINES, Pipeline
from xir.transforms.registry import passes_of
from xir.transforms.xnnpack.bit_exact import inexact_nodes

MODEL = """
import torch
from torch import nn

class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.gate = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 1)

    def forward(self, x):
        y = nn.functional.hardswish(self.conv(x))
        return (y * torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True)))).mean((2, 3))

def gate():
    torch.manual_seed(0)
    return Gate(), (torch.randn(1, 3, 12, 12),)
"""


def run(text: str, inputs: list[np.ndarray], passes: str = "") -> list[np.ndarray]:
    """What a program of text computes, after passes."""
    ctx = XirContext()
    module = parse_module(ctx, text)
    PassManager(ctx, passes_of(f"{passes},lower-to-pte,plan-memory".strip(","))).run(module)
    return Runtime.get().load_program(emitted(module, ctx), threads=1).load_method().execute(inputs)


PRODUCT = """
!a = !quant.uniform<i8:f32, 0.5:3>
!b = !quant.uniform<i8:f32, 0.25:-2>
!c = !quant.uniform<i8:f32, 4.0:1>
func.func @forward(%x: tensor<256x256xi8>, %y: tensor<256x256xi8>) -> tensor<256x256xi8> {
  %0 = xnnpack.subgraph(%x, %y) : (tensor<256x256xi8>, tensor<256x256xi8>) -> tensor<256x256xi8> {
  ^bb0(%p: tensor<256x256x!a>, %q: tensor<256x256x!b>):
    %r = xnnpack.binary multiply %p, %q : tensor<256x256x!a>, tensor<256x256x!b> -> tensor<256x256x!c>
    xnnpack.yield %r : tensor<256x256x!c>
  }
  func.return %0 : tensor<256x256xi8>
}
"""


def test_all_products_of_bytes_are_rounded_to_even() -> None:
    x, y = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    product = ((x - 3) * (y + 2)).astype(np.float64) * 0.125
    assert (np.abs(product / 4 % 1 - 0.5) < 1e-9).sum() > 1000  # ties, which Arm's kernel rounds up
    wanted = np.clip(np.rint(product / 4) + 1, -128, 127).astype(np.int8)
    (got,) = run(PRODUCT, [x.astype(np.int8), y.astype(np.int8)], "make-bit-exact,check-bit-exact")
    np.testing.assert_array_equal(got, wanted)


LAYER = """
!x = !quant.uniform<i8:f32, 0.5:-7>
!w = !quant.uniform<i8:f32:0, {{{scales}}}>
!y = !quant.uniform<i8:f32, 64.0:5>
func.func @forward(%x: tensor<64x96xi8>) -> tensor<64x{outputs}xi8> {{
  %0 = xnnpack.subgraph(%x) : (tensor<64x96xi8>) -> tensor<64x{outputs}xi8> {{
  ^bb0(%a: tensor<64x96x!x>):
    %w = xnnpack.constant dense<"0x{weights}"> : tensor<{outputs}x96xi8> -> tensor<{outputs}x96x!w>
    %r = xnnpack.fully_connected %a, %w : (tensor<64x96x!x>, tensor<{outputs}x96x!w>) -> tensor<64x{outputs}x!y>
    xnnpack.yield %r : tensor<64x{outputs}x!y>
  }}
  func.return %0 : tensor<64x{outputs}xi8>
}}
"""


@pytest.mark.parametrize("power", [True, False], ids=["ties", "any scales"])
def test_sums_of_products_are_scaled_by_one_product_of_floats(power: bool) -> None:
    random = np.random.default_rng(0)
    x, weights = random.integers(-128, 128, (64, 96)), random.integers(-127, 128, (37, 96))
    scales = (2.0 ** random.integers(-3, 1, 37) if power else random.uniform(0.1, 0.9, 37)).astype(np.float32)
    text = LAYER.format(
        scales=", ".join(map(str, scales.tolist())), outputs=37, weights=weights.astype(np.int8).tobytes().hex()
    )
    factors = np.float32(0.5) * scales / np.float32(64)
    steps = ((x + 7) @ weights.T).astype(np.float32) * factors
    wanted = np.clip(np.rint(steps) + 5, -128, 127).astype(np.int8)
    (got,) = run(text, [x.astype(np.int8)], "check-bit-exact")
    np.testing.assert_array_equal(got, wanted)


TABLE = """
!x = !quant.uniform<i8:f32, 0.0437:11>
!y = !quant.uniform<i8:f32, {scale}:{zero}>
func.func @forward(%x: tensor<256xi8>) -> tensor<256xi8> {{
  %0 = xnnpack.subgraph(%x) : (tensor<256xi8>) -> tensor<256xi8> {{
  ^bb0(%a: tensor<256x!x>):
    %r = xnnpack.unary {kind} %a : tensor<256x!x> -> tensor<256x!y>
    xnnpack.yield %r : tensor<256x!y>
  }}
  func.return %0 : tensor<256xi8>
}}
"""


@pytest.mark.parametrize(
    ("kind", "scale", "zero", "function"),
    [
        ("sigmoid", 0.0039, -128, torch.sigmoid),
        ("tanh", 0.0078, 0, torch.tanh),
        ("hardswish", 0.0213, -100, nn.functional.hardswish),
        ("gelu", 0.0217, -100, nn.functional.gelu),
    ],
)
def test_a_table_is_what_fp64_rounds_to(kind: str, scale: float, zero: int, function: object) -> None:
    x = np.arange(-128, 128)
    exact = function(torch.from_numpy((x - 11).astype(np.float32) * np.float32(0.0437)).double())  # pyright: ignore
    wanted = np.clip(np.rint(exact.numpy() / np.float64(np.float32(scale))) + zero, -128, 127).astype(np.int8)
    (got,) = run(TABLE.format(kind=kind, scale=scale, zero=zero), [x.astype(np.int8)], "check-bit-exact")
    np.testing.assert_array_equal(got, wanted)


def test_a_network(folder: Path, aot: Tool) -> None:
    (folder / "net.py").write_text(MODEL, encoding="utf-8")
    said = aot("--model net.py:gate --quantize=static --bit-exact -t")
    assert "1 delegate, nothing outside" in said
    runs = both((folder / "gate_xnnpack_q8.pte").read_bytes())
    for _ in range(4):
        x = torch.randn(1, 3, 12, 12)
        assert torch.equal(*(torch.as_tensor(run([x])[0]) for run in runs))
    (folder / "gate_xnnpack_q8.pte").unlink()
    # In float it is refused where it is written.
    assert aot("--model net.py:gate --bit-exact", code=1) == ""
    line, *notes = aot.err.splitlines()
    assert "net.py:11: error: xnnpack.conv2d of conv2d: its bits depend on the processor: it adds up products" in line
    assert all("net.py:" in each and ": note: xnnpack." in each for each in notes)
    assert len(notes) == 5
    assert not list(folder.glob("*.pte"))


def test_every_kind_of_node_is_decided() -> None:
    """What the dialect lets through between plain types has an answer, and nothing that is refused lacks a hint."""
    from bench.bit_exact_programs import nodes

    ctx, seen = XirContext(), set[type]()
    for each in nodes():
        for graph in ops_in(parse_module(ctx, each.text, each.name), xnnpack.SubgraphOp):
            for node, why in inexact_nodes(graph, ctx).items():
                assert why.reason, node
                assert why.hint, node
            seen |= {type(op) for op in graph.body.block.ops if isinstance(op, xnnpack.NodeOp)}
    moves = {xnnpack.StaticTransposeOp, xnnpack.StaticReshapeOp, xnnpack.StaticSliceOp, xnnpack.StaticConstantPadOp}
    assert set(xnnpack.NODE_OPS) - seen - moves == {xnnpack.CopyOp, xnnpack.ConcatenateOp, xnnpack.ArgMaxPooling2dOp}


def test_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left out without a word: neither what makes results exact, nor what checks them."""
    exact = xir.XnnpackPartitioner(bit_exact=True)
    softmax, relu = (
        xir.to_edge(torch.export.export(each, (torch.randn(2, 3),))) for each in (nn.Softmax(-1), nn.ReLU())
    )
    with pytest.raises(DiagnosticError, match="its bits depend on the processor"):
        softmax.to_backend(exact).to_executorch()
    softmax.to_backend(xir.XnnpackPartitioner()).to_executorch()
    with pytest.raises(ValueError, match="compiled whole"):  # not an existing file
        relu.to_executorch().optimized(exact)
    assert [each.name for each in exact.passes_of("finish")][1] == "make-bit-exact"
    with pytest.raises(ValueError, match="no 'avoid-xnnpack-faults', before which 'make-bit-exact' has to run"):
        exact.passes_of("optimize,schedule")
    monkeypatch.setitem(PIPELINES, "emit", Pipeline("decompose-for-kernels,plan-memory"))
    with pytest.raises(ValueError, match="no 'lower-to-pte', before which 'check-bit-exact' has to run"):
        relu.to_backend(exact).to_executorch()
