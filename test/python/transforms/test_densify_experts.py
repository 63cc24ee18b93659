"""`densify-experts` takes the computation that it knows, and leaves each that differs in one step."""

from pathlib import Path

import pytest

from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.transforms.edge.densify_experts import DensifyExpertsPass

ROOT = Path(__file__).parents[3]
GATED = (ROOT / "test/lit/transforms/densify-experts.mlir").read_text(encoding="utf-8").split("// -----")[0]

ROLLED = "%rolled = edge.index.Tensor(%gate, [%order]) : (tensor<8x3xf32>, tensor<8xi64>) -> tensor<8x3xf32>"


def is_rewritten(text: str) -> bool:
    ctx = XirContext()
    module = parse_module(ctx, text, "experts.mlir")
    DensifyExpertsPass().apply(ctx, module)
    module.verify()
    return "grouped_mm" not in str(module)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('rounding_mode = "floor"', 'rounding_mode = "trunc"'),  # the same here, and not worth a proof
        ("{other = 2 : i64, rounding", "{other = 1 : i64, rounding"),
        ("edge.index.Tensor(%x, [%token])", "edge.index.Tensor(%x, [%numbers])"),
        ("edge.index.Tensor(%weights, [%order])", "edge.index.Tensor(%weights, [%numbers])"),
        ("edge._to_copy(%numbers)", "edge._to_copy(%order)"),
        ("bins = 3 : i64, max = 2 : i64", "bins = 3 : i64, max = 3 : i64"),
        ("bins = 3 : i64, max = 2 : i64", "bins = 3 : i64, min = -1 : i64, max = 2 : i64"),
        ("aten::histc(", "aten::other("),
        ("edge.silu(%gate)", "edge._softmax(%gate) {dim = 0 : i64, half_to_float = false}"),
        ("%1 = edge.silu(%gate)", f"{ROLLED}\n%1 = edge.silu(%rolled)"),
        ("edge.mul.Tensor(%1, %value)", "edge.mul.Tensor(%1, %others)"),
        ("(%2, %down, %ends)", "(%2, %down, %given)"),
        ("edge.mul.Tensor(%3, %column)", "edge.add.Tensor(%3, %column)"),
        ("{start = 0 : i64, end = 8 : i64}", "{start = 1 : i64, end = 9 : i64}"),
        ("edge.index_put(%any, [%order], %places)", "edge.index_put(%any, [%numbers], %places)"),
        ("[%order], %places) :", "[%order], %places) {accumulate = true} :"),
        ("edge.index.Tensor(%4, [%back])", "edge.index.Tensor(%4, [%order])"),
        ("(%p) {k = 2 : i64} : (tensor<4x3xf32>)", "(%q) {k = 2 : i64} : (tensor<4x5xf32>)"),
    ],
)
def test_other_computations_stay(before: str, after: str) -> None:
    arguments = "%p: tensor<4x3xf32>, %q: tensor<4x5xf32>, %others: tensor<8x3xf32>, %given: tensor<3xi32>, "
    text = GATED.replace("%p: tensor<4x3xf32>, ", arguments)
    assert is_rewritten(text)
    other = text.replace(before, after)
    assert other != text
    assert not is_rewritten(other)
