"""Bisection and reduction: from a fault planted in a pass to its rewrite, and to a small test that fails as long."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.emitter.xnnpack import writer
from xir.faults.program_reduction import size_of, with_random_constants
from xir.faults.random_constants import constants_of, vary
from xir.faults.reproduction import kind_of
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.tools.xir_bisect import main as xir_bisect
from xir.tools.xir_opt import main as xir_opt
from xir.tools.xir_reduce import main as xir_reduce
from xir.transforms.pte import plan_memory
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


@pytest.fixture
def chain(tmp_path: Path) -> str:
    path = tmp_path / "chain.mlir"
    path.write_text(CHAIN, encoding="utf-8")
    return str(path)


def plant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lose upper bounds in fuse-conv-relu."""
    right = fuse_conv_relu.bounds

    def wrong(low: float, high: float) -> Any:
        del high
        return right(low, math.inf)

    monkeypatch.setattr(fuse_conv_relu, "bounds", wrong)


def test_all_is_well(chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert xir_bisect([chain, "-o", str(tmp_path / "culprit.mlir")]) == 0
    assert "each computes what was before it" in capsys.readouterr().out
    assert not (tmp_path / "culprit.mlir").exists()


def test_the_rewrite_is_named_and_the_test_small(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = tmp_path / "culprit.mlir"
    with monkeypatch.context() as planted:
        plant(planted)
        assert xir_bisect([chain, "-o", str(test)]) == 1
        told = capsys.readouterr().out
        assert f"{chain}:6:8: error: fuse-conv-relu changes what the program computes" in told
        # The relu's bound is lost on nothing; the second rewrite is the wrong one.
        assert "rewrite: 2 of 2\n" in told
        assert f"FuseClamp at 'xnnpack.clamp', {chain}:7:8" in told
        assert "a test of 2 ops, which fails as long as the pass does" in told
        assert xir_opt(["--fuse-conv-relu", "--verify-numerics", str(test), "-o", str(tmp_path / "out.mlir")]) == 1
        assert "fuse-conv-relu changes what the program computes" in capsys.readouterr().err
    text = test.read_text(encoding="utf-8")
    assert text.startswith("// RUN: xir-opt --pass-pipeline='builtin.module(fuse-conv-relu)' --verify-numerics %s")
    assert "// CHECK: func.return %" in text
    assert "tensor<2x1xf32>" in text
    assert "tensor<2x4xf32>" not in text
    # The pass is right again, and so is the test.
    assert xir_opt(["--fuse-conv-relu", "--verify-numerics", str(test), "-o", str(tmp_path / "out.mlir")]) == 0


def test_a_crash_is_bisected(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(low: float, high: float) -> Any:
        raise IndexError("out of clamps")

    monkeypatch.setattr(fuse_conv_relu, "bounds", fails)
    assert xir_bisect([chain, "-o", str(tmp_path / "culprit.mlir")]) == 1
    told = capsys.readouterr().out
    assert "internal error in pass 'fuse-conv-relu' at op 'xnnpack.clamp': IndexError: out of clamps" in told
    assert f"rewrite: one that is not finished\n  FuseClamp at 'xnnpack.clamp', {chain}:5:8\n" in told
    assert "pass: fuse-conv-relu" in told


def test_reduce_what_is_wrong(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    smaller = tmp_path / "small.mlir"
    assert xir_reduce([chain, "delegate", "--wrong", "-o", str(smaller)]) == 0
    assert "6 ops, 2 are left" in capsys.readouterr().err
    text = smaller.read_text(encoding="utf-8")
    # Of the pipeline the pass is left, and what makes nodes of the ops.
    assert text.startswith("// builtin.module(partition-xnnpack,fuse-conv-relu)\n")
    assert xir_opt(["--partition-xnnpack", "--fuse-conv-relu", "--verify-numerics", str(smaller), "-o", "-"]) == 1


def test_reduce_by_a_script(chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "has_exp.py"
    script.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('edge.exp' in open(sys.argv[1]).read())\n")
    script.chmod(0o755)
    assert xir_reduce([chain, "--test", str(script)]) == 0
    out, err = capsys.readouterr()
    assert "6 ops, 1 are left" in err
    assert "edge.exp" in out
    assert "edge.sub" not in out


def test_nothing_to_reduce(chain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert xir_reduce([chain, "--wrong"]) == 1
    assert "is not interesting as it is" in capsys.readouterr().err
    assert xir_reduce([chain, "no-such-pass", "--crash"]) == 1
    assert "unknown pass 'no-such-pass'" in capsys.readouterr().err
    assert xir_bisect(["no-such.mlir"]) == 1
    assert "xir-bisect: error: cannot open 'no-such.mlir'" in capsys.readouterr().err
    assert xir_bisect([chain, "--dtype", "fp16"]) == 1
    assert "xir-bisect: error: --dtype goes with a model, not with text" in capsys.readouterr().err
    assert xir_bisect(["no-such.py:net"]) == 1
    assert "xir-bisect: error: 'no-such.py' is no Python file" in capsys.readouterr().err


def test_a_bug_leaves_a_reproducer(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(low: float, high: float) -> Any:
        raise IndexError("out of clamps")

    file = tmp_path / "crash.mlir"
    with monkeypatch.context() as planted:
        planted.setattr(fuse_conv_relu, "bounds", fails)
        assert xir_opt(["--delegate", f"--mlir-pass-pipeline-crash-reproducer={file}", chain]) == 70
        told = capsys.readouterr().err
        assert f"{chain}:5:8: error: internal error in pass 'fuse-conv-relu' at op 'xnnpack.clamp'" in told
        assert f"{file}: note: xir-opt --run-reproducer repeats the failure with this file" in told
        assert 'pipeline: "builtin.module(fuse-conv-relu)"' in file.read_text(encoding="utf-8")
        assert xir_opt(["--run-reproducer", str(file)]) == 70
        capsys.readouterr()
    # The pass is right again.
    assert xir_opt(["--run-reproducer", str(file)]) == 0
    assert "xnnpack.clamp" not in capsys.readouterr().out


def test_the_op_that_a_rule_lowers_wrong_is_named(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RULES, "edge.sub.Tensor", REVERSED)
    assert xir_bisect([chain, "-o", str(tmp_path / "culprit.mlir")]) == 1
    told = capsys.readouterr().out
    assert f"{chain}:6:8: error: partition-xnnpack changes what the program computes" in told
    assert f"delegate at 'edge.sub.Tensor', {chain}:6:8" in told
    assert "a test of 1 op," in told


def test_the_layer_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers of a sequence have one line."""
    program = tmp_path / "layers.mlir"
    line = 'callsite("add"("net.py":3:0) at "layers.2")'
    lines = [f"{each} loc({line})" if "edge.sub" in each else each for each in CHAIN.splitlines()]
    program.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setitem(RULES, "edge.sub.Tensor", REVERSED)
    assert xir_bisect([str(program), "--no-reduce"]) == 1
    assert "  delegate at 'edge.sub.Tensor', net.py:3\n  in layers.2\n" in capsys.readouterr().out


def test_what_only_other_weights_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bias that is dropped, and is zero in the program as it is."""
    program = tmp_path / "zeros.mlir"
    program.write_text(ZERO_BIAS, encoding="utf-8")

    def without_bias(b: NodeBuilder, value: SSAValue) -> SSAValue:
        bias = b.weight(value, "bias")
        return b.static(replace(bias, array=bias.array * 0))

    monkeypatch.setattr(NodeBuilder, "bias", without_bias)
    assert xir_bisect([str(program), "-o", str(tmp_path / "culprit.mlir")]) == 1
    assert f"delegate at 'edge.linear', {program}:5:8" in capsys.readouterr().out


ZERO_BIAS = """
func.func @forward(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %w = edge.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.5, 2.0], [1.0, 1.5, 1.0, 1.0]]> : tensor<3x4xf32>
  %b = edge.constant dense<0.0> : tensor<3xf32>
  %0 = edge.linear(%x, %w, %b) : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


def test_no_weights_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, smaller = tmp_path / "linear.mlir", tmp_path / "small.mlir"
    text = ZERO_BIAS.replace("1.5", "1.2345678").replace("return %0", "return %1")
    clamp = (
        "  %1 = edge.hardtanh(%0) {min_val = 0.25 : f64, max_val = 0.75 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>\n"
    )
    program.write_text(text.replace("  func.return", f"{clamp}  func.return"), encoding="utf-8")
    plant(monkeypatch)
    assert xir_reduce([str(program), "delegate", "--wrong", "-o", str(smaller)]) == 0
    text = smaller.read_text(encoding="utf-8")
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


def test_arguments_of_dynamic_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an op computes becomes an argument that is as large as it: a caller has to know how large that gets."""
    program, smaller = tmp_path / "dynamic.mlir", tmp_path / "small.mlir"
    program.write_text(DYNAMIC, encoding="utf-8")
    plant(monkeypatch)
    assert xir_reduce([str(program), "delegate", "--wrong", "-o", str(smaller)]) == 0
    text = smaller.read_text(encoding="utf-8")
    assert "edge.exp" not in text
    assert "edge.sigmoid" not in text
    assert "edge.hardtanh" in text
    assert "xir.max_shape = array<i64: 8, 4>" in text
    ctx = XirContext()
    assert size_of(parse_module(ctx, text)) == 2


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


def test_memory_that_is_shared_too_early(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is wrong where kernels outside of delegates hold several tensors at once."""
    monkeypatch.setattr(plan_memory, "place", lambda lifetimes: [0] * len(lifetimes))
    assert xir_bisect([chain, "emit", "-o", str(tmp_path / "culprit.mlir")]) == 1
    told = capsys.readouterr().out
    assert "error: plan-memory lays a tensor over another one that is still needed" in told
    assert "pass: plan-memory" in told
    test = (tmp_path / "culprit.mlir").read_text(encoding="utf-8")
    assert test.startswith("// RUN: xir-opt --pass-pipeline='builtin.module(lower-to-pte,plan-memory)'")


def test_the_node_that_is_written_wrong(
    chain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All clamps lose a bound on the way to the file."""
    monkeypatch.setattr(writer, "_bound", lambda attr, default: default)
    assert xir_bisect([chain, "-o", str(tmp_path / "culprit.mlir")]) == 1
    told = capsys.readouterr().out
    assert "pass: lower-to-pte" in told
    assert f"{chain}:4:8: note: first at 'xnnpack.binary', which computes something else as it is run" in told
