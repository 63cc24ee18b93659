"""A bug of a pass, a plugin or a tool is told as one: at its line, with the op of the model, its traceback, and an exit
code of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

import xir.tools.xir_aot
from xir.tools import xir_opt, xir_translate

PASS = '''
from dataclasses import dataclass
from xir.plugin import XirPass, register_pass

@register_pass
@dataclass(frozen=True)
class HasBugPass(XirPass):
    """Fail at returns."""

    def apply(self, ctx, op):
        for each in op.walk():
            if each.name == "func.return":
                raise ValueError("no such thing")
'''

RULE = '''\
from collections.abc import Sequence
from xdsl.ir import SSAValue
from xir.dialects import edge
from xir.plugin import EdgeBuilder, EdgeOp, NodeBuilder, decomposition, register_op, rule

def infer(op):
    return {infer}

@register_op("bugs::twice(Tensor self) -> Tensor", infer=infer)
class TwiceOp(EdgeOp):
    """Twice the numbers."""

    self: SSAValue

@{decorator}
def meaning(op: TwiceOp, b):
    {body}
'''
INFER, DECORATED, BODY = 7, 15, 17
"""Lines of the plugin."""

MODULE = """\
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = edge.bugs.twice(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}
"""
TYPE = "(op.self.type,)"

Main = Callable[[Sequence[str]], int]

pytestmark = pytest.mark.usefixtures("registries")


def told(plugin: str, module: Path, flags: Sequence[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is told of a plugin's bug; nothing is written."""
    path, output = module.with_name("bug.py"), module.with_name("out.mlir")
    path.write_text(plugin, encoding="utf-8")
    assert xir_opt.main([f"--load-plugin={path}", *flags, "-o", str(output), str(module)]) == 70
    assert not output.exists()
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("flags", [[], ["--verify-diagnostics"]])
def test_of_a_pass(flags: list[str], module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third, *rest = told(PASS, module, ["--canonicalize", "--has-bug", *flags], capsys)
    assert first == f"{module.with_name('bug.py')}:13: error: ValueError: no such thing"
    assert second == f"{module}:2:3: note: it ended pass 'has-bug' at op 'func.return'"
    assert third.startswith("This is a bug of the plugin, to be mended there")
    assert rest[0] == "Traceback (most recent call last):"
    assert any('bug.py", line 13, in apply' in line for line in rest)


def test_the_module_that_it_leaves_is_shown(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(PASS, module, ["--canonicalize", "--has-bug", "--mlir-print-ir-after-failure"], capsys)
    assert lines[:2] == ["// -----// IR Dump After HasBug Failed (has-bug) //----- //", "builtin.module {"]
    assert sum("IR Dump" in line for line in lines) == 1


RESULT = "meaning has to return the value that replaces the op's "


@pytest.mark.parametrize(
    ("infer", "decorator", "body", "line", "message"),
    [
        ("(op.size,)", "rule()", "...", INFER, "AttributeError: 'TwiceOp' object has no attribute 'size'"),
        ("3", "rule()", "...", INFER - 1, "infer has to return the type of each result, and returned 3"),
        (TYPE, "rule()", "1 / 0", BODY, "ZeroDivisionError: division by zero"),
        (TYPE, "rule()", "return b.unary('tanhh', op.self)", BODY, "'tanhh' is not a valid UnaryKind"),
        (TYPE, "rule()", "return 3", DECORATED, f"{RESULT}result, and "),
        (TYPE, "rule()", "return [op.self] * 2", DECORATED, RESULT),
        (TYPE, "rule()", "b.unary('tanh', op.self)", DECORATED, "meaning has returned None: return the value that it "),
        (TYPE, "decomposition", "return op.self.no", BODY, "has no attribute 'no'"),
        (TYPE, "decomposition", "return 3", DECORATED, f"{RESULT}result"),
        (TYPE, "decomposition", "return b.call(edge.MulTensorOp, self=op.self, othr=op.self)", BODY,
         "aten::mul.Tensor has no argument 'othr'"),
        (TYPE, "decomposition", "return b.call(edge.SumOp, self=op.self, dtype=None)", DECORATED,
         "meaning has to return a tensor<2x4xf32>, the type of the op's result, not a tensor<f32>"),
    ],
)  # fmt: skip
def test_of_a_rule(
    infer: str, decorator: str, body: str, line: int, message: str, module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(MODULE, encoding="utf-8")
    plugin = RULE.format(infer=infer, decorator=decorator, body=body)
    first, second, third, fourth, *_ = told(plugin, module, ["--delegate"], capsys)
    assert first.startswith(f"{module.with_name('bug.py')}:{line}: error: ")
    assert message in first
    assert second.startswith(f"{module}:2:8: note: it ended ")
    assert second.endswith(" at op 'edge.bugs.twice'")
    assert third.startswith("This is a bug of the plugin, to be mended there")
    assert fourth == "Traceback (most recent call last):"


@pytest.mark.parametrize(
    ("main", "name", "arguments"),
    [
        (xir_opt.main, "xir-opt", ["-"]),
        (xir_translate.main, "xir-translate", ["--mlir-to-pte", "-"]),
        (xir.tools.xir_aot.main, "xir-aot", ["--model_name", "mv2"]),
    ],
)
def test_of_a_tool(
    main: Main, name: str, arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise KeyError("what no one asked for")

    for owner, function in ((xir_opt, "_read"), (xir_translate, "_read_bytes"), (xir.tools.xir_aot, "load")):
        monkeypatch.setattr(owner, function, fail)
    assert main(arguments) == 70
    said = capsys.readouterr().err
    assert said.startswith(f"{name}: internal error: KeyError: 'what no one asked for'\nThis is a bug in xir")
    assert "Traceback (most recent call last):" in said
