"""Bisection and reduction: from a fault planted in a pass to its rewrite, and to a small test that fails as long."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reference.tools import Tool
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.emitter.xnnpack import writer
from xir.faults.program_reduction import size_of, with_random_constants
from xir.faults.random_constants import constants_of, vary
from xir.faults.reproduction import kind_of
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.ir.walking import ops_in
from xir.tools.xir_bisect import main as xir_bisect
from xir.tools.xir_opt import main as xir_opt
from xir.tools.xir_reduce import main as xir_reduce
from xir.transforms.pte import plan_memory
from xir.transforms.pte.lower_to_pte import LowerToPtePass
from xir.transforms.xnnpack.legalizations import RULES, NodeBuilder, RuleInfo
from xir.transforms.xnnpack.optimize import fuse_conv_relu

CHAIN = """
func.func @forward(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = edge.exp(%y) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = edge.add.Tensor(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = edge.relu(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = edge.sub.Tensor(%2, %0) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = edge.hardtanh(%3) {min_val = 0.25 : f64, max_val = 0.75 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = edge.sigmoid(%4) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %5, %0 : tensor<2x4xf32>, tensor<2x4xf32>
}
"""

REVERSED = RuleInfo(lambda op, b: b.binary("subtract", op.operands[1], op.operands[0]))
"""A wrong rule of a difference."""


class Workbench:
    """The tools that look for faults, a program, and the test that they make of it."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]):
        self.folder, self.culprit = folder, folder / "culprit.mlir"
        self.tool, self.reduce, self.opt = (Tool(main, capture) for main in (xir_bisect, xir_reduce, xir_opt))
        self.program = self.written("chain.mlir", CHAIN)

    def written(self, name: str, text: str) -> Path:
        """A file of the program's folder."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def bisect(self, flags: str = "", code: int = 1) -> str:
        """What the tool tells of the program."""
        return self.tool(f"{self.program} {flags} -o {self.culprit}", code)

    def smaller(self, pipeline: str = "delegate") -> str:
        """The text to which a pipeline that goes wrong reduces the program."""
        self.reduce(f"{self.program} {pipeline} --wrong -o {self.culprit}")
        return self.text

    @property
    def text(self) -> str:
        return self.culprit.read_text(encoding="utf-8")

    def refuses(self, tool: Tool, command: str, message: str) -> None:
        """A command fails with a message among others."""
        tool(command, code=1)
        assert message in tool.err


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Workbench:
    return Workbench(tmp_path, capsys)


def plant(monkeypatch: pytest.MonkeyPatch, *, crashes: bool = False) -> None:
    """Lose upper bounds in fuse-conv-relu, or fail there."""
    right = fuse_conv_relu.bounds

    def wrong(low: float, high: float) -> Any:
        if crashes:
            raise IndexError("out of clamps")
        return right(low, math.inf)

    monkeypatch.setattr(fuse_conv_relu, "bounds", wrong)


def test_all_is_well(bench: Workbench) -> None:
    assert "each computes what was before it" in bench.bisect(code=0)
    assert not bench.culprit.exists()


def test_the_rewrite_is_named_and_the_test_small(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as planted:
        plant(planted)
        told = bench.bisect()
        assert f"{bench.program}:6:8: error: fuse-conv-relu changes what the program computes" in told
        # The relu's bound is lost on nothing; the second rewrite is the wrong one.
        assert "rewrite: 2 of 2\n" in told
        assert f"FuseClamp at 'xnnpack.clamp', {bench.program}:7:8" in told
        assert "a test of 2 ops, which fails as long as the pass does" in told
        verify = f"--fuse-conv-relu --verify-numerics {bench.culprit} -o {bench.folder}/out.mlir"
        bench.refuses(bench.opt, verify, "fuse-conv-relu changes what the program computes")
    text = bench.text
    assert text.startswith("// RUN: xir-opt --pass-pipeline='builtin.module(fuse-conv-relu)' --verify-numerics %s")
    assert "// CHECK: func.return %" in text
    assert "tensor<2x1xf32>" in text
    assert "tensor<2x4xf32>" not in text
    # The pass is right again, and so is the test.
    bench.opt(verify)


def test_a_crash_is_bisected(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, crashes=True)
    told = bench.bisect()
    assert "internal error in pass 'fuse-conv-relu' at op 'xnnpack.clamp': IndexError: out of clamps" in told
    assert f"rewrite: one that is not finished\n  FuseClamp at 'xnnpack.clamp', {bench.program}:5:8\n" in told
    assert "pass: fuse-conv-relu" in told


def test_a_pass_that_does_not_end(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found, and its test ends by itself."""

    def endless(low: float, high: float) -> Any:
        while low == low:
            pass

    lines = [line for line in CHAIN.splitlines() if "edge.exp" not in line and "edge.sigmoid" not in line]
    text = "\n".join(lines).replace("%2, %0", "%2, %y").replace("return %5, %0", "return %4, %y")
    bench.program = bench.written("short.mlir", text)
    with monkeypatch.context() as planted:
        planted.setattr(fuse_conv_relu, "bounds", endless)
        told = bench.bisect("--pass-seconds 0.5")
        assert f"{bench.program}:4:8: error: pass 'fuse-conv-relu' has not ended after 0.5 s" in told
        assert "pass: fuse-conv-relu\n" in told
        assert f"FuseClamp at 'xnnpack.clamp', {bench.program}:4:8\n" in told
        assert "a test of 2 ops" in told
        run = bench.text.partition("\n")[0]
        assert run.startswith("// RUN: xir-opt --pass-pipeline='builtin.module(fuse-conv-relu)' --pass-seconds=0.5 %s")
        bench.refuses(bench.opt, f"--fuse-conv-relu --pass-seconds=0.5 {bench.culprit}", "has not ended after 0.5 s")
    bench.opt(f"--fuse-conv-relu --pass-seconds=60 {bench.culprit}")
    bench.refuses(bench.opt, f"--pass-seconds=0 {bench.culprit}", "expected a number above 0, got '0'")


def test_a_pass_makes_what_a_later_one_refuses(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes it is named, and the test is of both."""
    right = LowerToPtePass.apply

    def refusing(own: Any, ctx: XirContext, module: ModuleOp) -> None:
        for op in ops_in(module, xnnpack.BinaryOp):
            if "output_max" in op.properties:
                raise DiagnosticError(op, "sums have no bounds here")
        right(own, ctx, module)

    def refusing_all(own: Any, ctx: XirContext, module: ModuleOp) -> None:
        raise DiagnosticError(module, "nothing is taken")

    with monkeypatch.context() as planted:
        planted.setattr(LowerToPtePass, "apply", refusing)
        told = bench.bisect()
        assert f"{bench.program}:6:8: error: sums have no bounds here\npass: fuse-conv-relu\n" in told
        assert "refused by: lower-to-pte, which takes the program without that pass's rewrites\nrewrite: 2 of 2" in told
        assert "a test of 2 ops" in told
        bench.opt(f"--fuse-conv-relu --lower-to-pte {bench.culprit}", code=1)
        # What no pass makes is the program's own.
        planted.setattr(LowerToPtePass, "apply", refusing_all)
        assert "error: nothing is taken\npass: lower-to-pte\n" in bench.bisect("--no-reduce")
    assert bench.text.startswith("// RUN: xir-opt --pass-pipeline='builtin.module(fuse-conv-relu,")


def test_reduce_what_is_wrong(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    # Of the pipeline the pass is left, and what makes nodes of the ops.
    assert bench.smaller().startswith("// builtin.module(partition-xnnpack,fuse-conv-relu)\n")
    assert "6 ops, 2 are left" in bench.reduce.err
    bench.opt(f"--partition-xnnpack --fuse-conv-relu --verify-numerics {bench.culprit} -o -", code=1)


def test_reduce_by_a_script(bench: Workbench) -> None:
    text = f"#!{sys.executable}\nimport sys\nsys.exit('edge.exp' in open(sys.argv[1]).read())\n"
    script = bench.written("has_exp.py", text)
    script.chmod(0o755)
    out = bench.reduce(f"{bench.program} --test {script}")
    assert "6 ops, 1 are left" in bench.reduce.err
    assert "edge.exp" in out
    assert "edge.sub" not in out


def test_nothing_to_reduce(bench: Workbench) -> None:
    bench.refuses(bench.reduce, f"{bench.program} --wrong", "is not interesting as it is")
    bench.refuses(bench.reduce, f"{bench.program} no-such-pass --crash", "unknown pass 'no-such-pass'")
    for command, message in (
        ("no-such.mlir", "cannot open 'no-such.mlir'"),
        (f"{bench.program} --dtype fp16", "--dtype goes with a model, not with text"),
        ("no-such.py:net", "'no-such.py' is no Python file"),
    ):
        bench.refuses(bench.tool, command, f"xir-bisect: error: {message}")


def test_a_bug_leaves_a_reproducer(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as planted:
        plant(planted, crashes=True)
        bench.opt(f"--delegate --mlir-pass-pipeline-crash-reproducer={bench.culprit} {bench.program}", code=70)
        told = bench.opt.err
        assert f"{bench.program}:5:8: error: internal error in pass 'fuse-conv-relu' at op 'xnnpack.clamp'" in told
        assert f"{bench.culprit}: note: xir-opt --run-reproducer repeats the failure with this file" in told
        assert 'pipeline: "builtin.module(fuse-conv-relu)"' in bench.text
        bench.opt(f"--run-reproducer {bench.culprit}", code=70)
    # The pass is right again.
    assert "xnnpack.clamp" not in bench.opt(f"--run-reproducer {bench.culprit}")


def test_the_op_that_a_rule_lowers_wrong_is_named(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "edge.sub.Tensor", REVERSED)
    told = bench.bisect()
    assert f"{bench.program}:6:8: error: partition-xnnpack changes what the program computes" in told
    assert f"delegate at 'edge.sub.Tensor', {bench.program}:6:8" in told
    assert "a test of 1 op," in told


def test_the_layer_is_named(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of a sequence have one line."""
    line = 'callsite("add"("net.py":3:0) at "layers.2")'
    lines = [f"{each} loc({line})" if "edge.sub" in each else each for each in CHAIN.splitlines()]
    bench.program = bench.written("layers.mlir", "\n".join(lines))
    monkeypatch.setitem(RULES, "edge.sub.Tensor", REVERSED)
    assert "  delegate at 'edge.sub.Tensor', net.py:3\n  in layers.2\n" in bench.bisect("--no-reduce")


def test_what_only_other_weights_show(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bias that is dropped, and is zero in the program as it is."""
    bench.program = bench.written("zeros.mlir", ZERO_BIAS)

    def without_bias(b: NodeBuilder, value: SSAValue) -> SSAValue:
        bias = b.weight(value, "bias")
        return b.static(replace(bias, array=bias.array * 0))

    monkeypatch.setattr(NodeBuilder, "bias", without_bias)
    assert f"delegate at 'edge.linear', {bench.program}:5:8" in bench.bisect()


ZERO_BIAS = """
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %w = edge.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.5, 2.0], [1.0, 1.5, 1.0, 1.0]]> : tensor<3x4xf32>
  %b = edge.constant dense<0.0> : tensor<3xf32>
  %0 = edge.linear(%x, %w, %b) : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


def test_no_weights_leave(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ZERO_BIAS.replace("1.5", "1.2345678").replace("return %0", "return %1")
    clamp = "%1 = edge.hardtanh(%0) {min_val = 0.25 : f64, max_val = 0.75 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>"
    bench.program = bench.written("linear.mlir", text.replace("  func.return", f"  {clamp}\n  func.return"))
    plant(monkeypatch)
    text = bench.smaller()
    assert "edge.linear" in text
    assert "edge.constant dense<" in text
    assert "1.234" not in text


def test_a_buffer_that_begins_with_zeros_is_varied_and_does_not_leave() -> None:
    ctx = XirContext()
    module = parse_module(ctx, COUNTER)
    vary(module, ctx)
    buffer = next(constants_of(module))
    assert isinstance(buffer, edge.MutableBufferOp)
    varied = storage_array(buffer.initial, ctx)
    assert varied.shape == (2, 3)
    assert (varied != 0).all()
    module, kept = with_random_constants(module, ctx, lambda _: True)
    assert kept == 0
    buffer = next(constants_of(module))
    assert isinstance(buffer, edge.MutableBufferOp)
    assert (storage_array(buffer.initial, ctx) != varied).any()


COUNTER = """
func.func @forward(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %b = edge.mutable_buffer "b" dense<0.0> : tensor<2x3xf32>
  %0 = edge.mul.Tensor(%x, %b) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  edge.update_buffer %b, %0 : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


def test_arguments_of_dynamic_sizes(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an op computes becomes an argument that is as large as it: a caller has to know how large that gets."""
    bench.program = bench.written("dynamic.mlir", DYNAMIC)
    plant(monkeypatch)
    text = bench.smaller()
    assert "edge.exp" not in text
    assert "edge.sigmoid" not in text
    assert "edge.hardtanh" in text
    assert "xir.max_shape = array<i64: 8, 4>" in text
    assert size_of(parse_module(XirContext(), text)) == 2


DYNAMIC = """
func.func @forward(
  %x: tensor<?x4xf32> {xir.max_shape = array<i64: 8, 4>, xir.dim_names = ["n", ""]}
) -> tensor<?x4xf32> {
  %0 = edge.exp(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = edge.sigmoid(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = edge.sub.Tensor(%0, %1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = edge.hardtanh(%2) {min_val = 0.25 : f64, max_val = 0.75 : f64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %3 : tensor<?x4xf32>
}
"""


def test_another_error_is_another_fault() -> None:
    def said(message: str) -> str:
        return kind_of(DiagnosticError(None, message).diagnostic)

    assert said("'a' of tensor<1x2xf32> has 3 sizes [1, 2, 3]") == said("'b' of tensor<?xbf16> has 1 sizes [4]")
    assert said("internal error: IndexError: 1") != said("internal error: KeyError: 1")


def test_memory_that_is_shared_too_early(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is wrong where kernels outside of delegates hold several tensors at once."""
    monkeypatch.setattr(plan_memory, "place", lambda lifetimes: [0] * len(lifetimes))
    told = bench.bisect("emit")
    assert "error: plan-memory lays a tensor over another one that is still needed" in told
    assert "pass: plan-memory" in told
    assert bench.text.startswith("// RUN: xir-opt --pass-pipeline='builtin.module(lower-to-pte,plan-memory)'")


def test_the_node_that_is_written_wrong(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    """All clamps lose a bound on the way to the file."""
    monkeypatch.setattr(writer, "_bound", lambda attr, default: default)
    told = bench.bisect()
    assert "pass: lower-to-pte" in told
    assert f"{bench.program}:4:8: note: first at 'xnnpack.binary', which computes something else as it is run" in told
