"""A mistake in a function of a plugin is told at the plugin's line, with the op of the model in a note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from xir.dialects import edge
from xir.tools.xir_opt import main
from xir.transforms.edge.decompositions import DECOMPOSITIONS
from xir.transforms.edge.decompositions import rule as decompositions
from xir.transforms.xnnpack.legalizations.rule import RULES

PLUGIN = """\
from collections.abc import Sequence
from xdsl.ir import SSAValue
from xir.dialects import edge
from xir.plugin import EdgeBuilder, EdgeOp, NodeBuilder, decomposition, register_op, rule

def infer(op):
    return {infer}

@register_op("bugs::twice(Tensor self) -> Tensor", infer=infer)
class TwiceOp(EdgeOp):
    \"\"\"Twice the numbers.\"\"\"

    self: SSAValue

@{decorator}
def meaning(op: TwiceOp, b):
    {body}
"""
INFER, DECORATED, BODY = 7, 15, 17
"""Lines of the plugin."""

MODULE = """\
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.bugs.twice(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
"""
TYPE = "(op.self.type,)"


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone after it."""
    known = edge.Edge
    monkeypatch.setattr(decompositions, "REPLACED", set[str]())
    yield
    for table in (RULES, DECOMPOSITIONS, edge.OPS):
        table.pop("edge.bugs.twice", None)
    edge.Edge = known


@pytest.mark.parametrize(
    ("infer", "decorator", "body", "line", "message"),
    [
        ("(op.size,)", "rule()", "...", INFER, "AttributeError: 'TwiceOp' object has no attribute 'size'"),
        ("3", "rule()", "...", INFER - 1, "infer has to return the type of each result, and returned 3"),
        (TYPE, "rule()", "1 / 0", BODY, "ZeroDivisionError: division by zero"),
        (TYPE, "rule()", "return b.unary('tanhh', op.self)", BODY, "'tanhh' is not a valid UnaryKind"),
        (TYPE, "rule()", "return 3", DECORATED, "meaning has to return the value that replaces the op's result, and "),
        (TYPE, "rule()", "return [op.self] * 2", DECORATED, "meaning has to return the value that replaces the op's "),
        (TYPE, "rule()", "b.unary('tanh', op.self)", DECORATED, "meaning has returned None: return the value that it "),
        (TYPE, "decomposition", "return op.self.no", BODY, "has no attribute 'no'"),
        (TYPE, "decomposition", "return 3", DECORATED, "meaning has to return the value that replaces the op's result"),
        (
            TYPE,
            "decomposition",
            "return b.call(edge.MulTensorOp, self=op.self, othr=op.self)",
            BODY,
            "aten::mul.Tensor has no argument 'othr'",
        ),
        (
            TYPE,
            "decomposition",
            "return b.call(edge.SumOp, self=op.self, dtype=None)",
            DECORATED,
            "meaning has to return a tensor<2x4xf32>, the type of the op's result, not a tensor<f32>",
        ),
    ],
)
def test_it_is_at_the_plugins_line(
    infer: str, decorator: str, body: str, line: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, module, output = tmp_path / "bugs.py", tmp_path / "in.mlir", tmp_path / "out.mlir"
    plugin.write_text(PLUGIN.format(infer=infer, decorator=decorator, body=body), encoding="utf-8")
    module.write_text(MODULE, encoding="utf-8")
    assert main([f"--load-plugin={plugin}", "--delegate", str(module), "-o", str(output)]) == 70
    first, second, third, fourth, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith(f"{plugin}:{line}: error: ")
    assert message in first
    assert second.startswith(f"{module}:2:8: note: it ended ")
    assert second.endswith(" at op 'edge.bugs.twice'")
    assert third.startswith("This is a bug of the plugin, to be mended there")
    assert fourth == "Traceback (most recent call last):"
    assert not output.exists()
