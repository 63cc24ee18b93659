"""`--verify-numerics` finds what a pass breaks, names pass and op, and says nothing about passes that are right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
import torch
from reference.modules import Function
from xdsl.dialects.builtin import FloatAttr, ModuleOp, UnitAttr, f32
from xdsl.ir import Operation, SSAValue

from xir import XnnpackPartitioner, to_edge
from xir.backend.interface import Request
from xir.dialects import edge, xnnpack
from xir.dialects.delegate import GraphOp
from xir.dialects.xnnpack.base import shape_of, u32s
from xir.evaluate import MiscompileError, NumericsChecker
from xir.evaluate.checker import structure
from xir.ir.constants import constant_array, make_dense
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager, XirPass
from xir.ir.walking import ops_in
from xir.models import load_model
from xir.tools.xir_aot import main as xir_aot
from xir.tools.xir_opt import main as xir_opt
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.pte import lower_to_pte
from xir.transforms.pte._buffers import InPlace
from xir.transforms.registry import PASSES, passes_of
from xir.transforms.xnnpack.backend import XnnpackBackend

OpT = TypeVar("OpT", bound=Operation)

CONVOLUTION = """
func.func @forward(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = edge.constant dense<[[[[0.5]], [[0.25]], [[-0.7]]], [[[0.5]], [[0.25]], [[0.7]]],
                            [[[0.5]], [[0.25]], [[0.1]]], [[[0.5]], [[-0.25]], [[-0.7]]]]> : tensor<4x3x1x1xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = edge.sigmoid(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = edge.hardtanh(%1) {min_val = 0.25 : f64, max_val = 0.75 : f64} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %2 : tensor<1x4x8x8xf32>
}
"""


def changing(
    name: str, kind: type[OpT], change: Callable[[XirContext, OpT], object], numerics: Numerics = Numerics.ROUNDED
) -> XirPass:
    """A pass of a name that changes each op of a kind, and claims something of the numbers."""

    def apply(self: XirPass, ctx: XirContext, op: ModuleOp) -> None:
        for each in list(ops_in(op, kind)):
            change(ctx, each)

    return dataclass(frozen=True)(type(name, (XirPass,), {"apply": apply, "numerics": numerics}))()


def behind(op: Operation, made: Operation, *, before: bool = False) -> SSAValue:
    """An op beside another; its result."""
    assert op.parent is not None
    (op.parent.insert_op_before if before else op.parent.insert_op_after)(made, op)
    return made.results[0]


def turn(ctx: XirContext, op: xnnpack.StaticTransposeOp) -> None:
    """Transpose the wrong way, where the sizes allow it."""
    if op.perm == u32s((0, 2, 3, 1)):
        op.properties["perm"] = u32s((0, 3, 2, 1))


def nudge(ctx: XirContext, op: edge.EdgeOp) -> None:
    """Move each number by its two-millionth part."""
    if op.name == "edge.sigmoid":
        after = edge.op("mul.Scalar").build_from({"self": op.results[0], "other": 1 + 5e-7})
        op.results[0].replace_all_uses_with(behind(op, after))
        after.operands = [op.results[0]]


PADS_ON = changing(
    "PadsOnPass", xnnpack.ClampOp, lambda _, op: op.properties.update(output_max=FloatAttr(0.8, f32)), Numerics.SAME
)
"""Loosens the bounds of clamps."""
NUDGES = changing("NudgesPass", edge.EdgeOp, nudge)


def run(text: str, passes: list[XirPass], checker: NumericsChecker) -> NumericsChecker:
    ctx = XirContext()
    module = parse_module(ctx, text, "test.mlir")
    manager = PassManager(ctx, passes)
    checker.attach(manager)
    manager.run(module)
    return checker


def test_right_passes_pass_down_to_the_file() -> None:
    checker = run(CONVOLUTION, [*passes_of("delegate"), *passes_of("emit")], NumericsChecker())
    changed = dict(checker.errors)
    assert {"partition-xnnpack", "propagate-layout", "lower-to-pte", "plan-memory"} <= changed.keys()
    assert "fold-batch-norm" not in changed
    # XNNPACK itself computed the outputs of these two, the same twice.
    assert 0 < changed["lower-to-pte"] < 1e-5
    assert changed["plan-memory"] == 0


def test_a_loosened_bound_is_named() -> None:
    passes = [*passes_of("delegate"), PADS_ON, *passes_of("cleanup")]
    with pytest.raises(MiscompileError) as caught:
        run(CONVOLUTION, passes, NumericsChecker())
    text = str(caught.value)
    assert caught.value.culprit == PADS_ON
    assert text.startswith("test.mlir:7:8: error: pads-on changes what the program computes: output 0 is off by ")
    assert "note: first at 'xnnpack.clamp'" in text
    assert "it was 0.75 before it" in text
    assert f"1.0e-09 is allowed: {Numerics.SAME.value}" in text


def test_a_wrong_transpose_is_found() -> None:
    turns = changing("TurnsPass", xnnpack.StaticTransposeOp, turn, Numerics.SAME)
    passes = [*passes_of("simplify,partition-xnnpack"), turns]
    with pytest.raises(MiscompileError, match="turns changes what the program computes"):
        run(CONVOLUTION, passes, NumericsChecker())


def test_a_pass_may_round_what_it_says() -> None:
    checker = run(CONVOLUTION, [NUDGES], NumericsChecker())
    assert 1e-7 < dict(checker.errors)["nudges"] < 1e-6
    # The same again and again is more than one pass may do, and less than so many may.
    run(CONVOLUTION, [NUDGES] * 6, NumericsChecker())


def test_what_roundings_move_is_known_behind_dropped_weights() -> None:
    filters = np.random.default_rng(0).normal(size=12).astype(np.float32).tobytes().hex()
    text = f"""
func.func @forward(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {{
  %v = edge.constant dense_resource<v> : tensor<4x3x1x1xf32>
  %w = edge.neg(%v) : (tensor<4x3x1x1xf32>) -> tensor<4x3x1x1xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = edge.sigmoid(%0) : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  func.return %1 : tensor<1x4x8x8xf32>
}}
{{-# dialect_resources: {{ builtin: {{ v: "0x04000000{filters}" }} }} #-}}
"""
    checker = run(text, [*passes_of("fold-constants,drop-dead-resources"), NUDGES], NumericsChecker())
    assert 1e-7 < dict(checker.errors)["nudges"] < 1e-6


def test_the_user_may_allow_more_and_inputs_decide_what_is_seen() -> None:
    for checker in (NumericsChecker(rtol=0.1), NumericsChecker([torch.zeros(1, 3, 8, 8)])):
        run(CONVOLUTION, [*passes_of("delegate"), PADS_ON], checker)


def test_what_is_no_number_differs_from_one() -> None:
    checker = NumericsChecker([torch.full((1, 3, 8, 8), float("nan"))])
    run(CONVOLUTION, passes_of("delegate"), checker)
    overwrites = changing("OverwritesPass", xnnpack.ClampOp, zero, Numerics.SAME)
    with pytest.raises(MiscompileError, match="off by inf"):
        run(CONVOLUTION, [*passes_of("delegate"), overwrites], NumericsChecker([torch.full((1, 3, 8, 8), np.nan)]))


def zero(ctx: XirContext, op: xnnpack.ClampOp) -> None:
    """Return the input's first channels, as zeros."""
    zeros = np.zeros(shape_of(op.output), np.float32)
    op.operands = [behind(op, xnnpack.ConstantOp(make_dense(zeros, ctx, "zeros")), before=True)]


def test_structure_forgets_names_and_places() -> None:
    one, two = (parse_module(XirContext(), text, "a.mlir") for text in (CONVOLUTION, "\n" + CONVOLUTION))
    assert structure(one) == structure(two)
    three = parse_module(XirContext(), CONVOLUTION.replace("max_val = 0.75", "max_val = 0.7"), "a.mlir")
    assert structure(one) != structure(three)


def test_xir_opt_fails_at_the_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PASSES, "pads-on", lambda: type(PADS_ON))
    source = tmp_path / "in.mlir"
    source.write_text(CONVOLUTION, encoding="utf-8")
    assert xir_opt(["--delegate", "--verify-numerics", str(source), "-o", str(tmp_path / "out.mlir")]) == 0
    assert xir_opt(["--delegate", "--pads-on", "--verify-numerics", str(source), "-o", str(tmp_path / "bad.mlir")]) == 1
    assert not (tmp_path / "bad.mlir").exists()
    assert "error: pads-on changes what the program computes" in capsys.readouterr().err
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    inputs = f"--inputs={tmp_path / 'x.npy'}"
    assert xir_opt(["--delegate", "--pads-on", "--verify-numerics", inputs, str(source)]) == 0
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 9), np.float32))
    assert xir_opt(["--delegate", "--verify-numerics", inputs, str(source)]) == 1
    assert "input 0 is [1, 3, 8, 9] of float32, the function takes tensor<1x3x8x8xf32>" in capsys.readouterr().err
    assert xir_opt(["--delegate", inputs, str(source)]) == 1
    assert "--inputs goes with --verify-numerics" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["--dtype=fp16", "--quantize=static", "--quantize=dynamic"])
def test_xir_aot_verifies(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert xir_aot(["-m", "linear", "-d", form, "--verify-numerics", "-o", str(tmp_path)]) == 0, capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_xir_aot_fails_at_the_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A product whose operand is transposed the wrong way, in the pass itself."""
    from xir.transforms.xnnpack.optimize import fold_affine

    turns = changing("TurnsProductsPass", xnnpack.FullyConnectedOp, take_the_other_way)
    monkeypatch.setattr(fold_affine.FoldAffinePass, "apply", turns.apply)
    assert xir_aot(["-m", "linear", "-d", "--verify-numerics", "-o", str(tmp_path)]) == 1
    assert "error: fold-affine changes what the program computes" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def take_the_other_way(ctx: XirContext, op: xnnpack.FullyConnectedOp) -> None:
    """Take the weights of square products the other way around."""
    op.properties["transpose_weights"] = UnitAttr()


def compiled(model: torch.nn.Module, *inputs: torch.Tensor) -> dict[str, float]:
    """How far passes have moved what a model computes; none more than it may."""
    checker = NumericsChecker(inputs)
    program = to_edge(torch.export.export(model.eval(), inputs))
    program.to_backend(XnnpackPartitioner(), numerics=checker).to_executorch(numerics=checker)
    errors = dict(checker.errors)
    assert "plan-memory" in errors
    return errors


@pytest.mark.parametrize("name", ["linear", "add_mul"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_no_false_alarm(name: str, dtype: torch.dtype) -> None:
    """`make verify-zoo` has the whole zoo."""
    model, inputs = load_model(name)
    compiled(model.to(dtype), *(each.to(dtype) for each in inputs))


def test_the_error_of_a_sum_whose_terms_cancel_is_told_beside_its_terms() -> None:
    """The mean of what has none is its own roundings, relative to which each of them is large."""
    x = torch.randn(4, 100, generator=torch.Generator().manual_seed(0)) + 10
    errors = compiled(Function(lambda x: (x - x.mean(-1, keepdim=True)).mean(-1)), x)
    assert 0 < errors["lower-to-pte"] < 1e-5


RESIZED = torch.nn.Sequential(
    torch.nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), torch.nn.Conv2d(64, 64, 1),
    torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 1), torch.nn.Conv2d(64, 8, 1), torch.nn.Sigmoid(),
)  # fmt: skip
"""Nodes behind a resized image, which XNNPACK does not round on x86."""


@pytest.mark.parametrize(
    ("model", "shape"),
    [(RESIZED, (1, 64, 12, 12)), (torch.nn.Conv2d(1, 1, 5), (4, 1, 40, 40))],
    ids=["not rounded", "rounded at each tap"],
)
def test_no_false_alarm_where_halves_are_rounded_elsewhere(model: torch.nn.Module, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    compiled(model.half(), torch.randn(shape).half())


def test_passes_that_run_again_begin_with_the_module_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a pass may change is compared with what was before it, not with what the first run ended with."""
    asked: list[int] = []

    def refuse(
        self: XnnpackBackend, ctx: XirContext, graphs: Sequence[GraphOp], request: Request
    ) -> Mapping[Operation, RefusalError]:
        asked.append(len(graphs))
        softmax = [op for graph in graphs for op in graph.walk() if isinstance(op, xnnpack.SoftmaxOp)]
        return {op: RefusalError("not today") for op in softmax}

    monkeypatch.setattr(XnnpackBackend, "check", refuse)
    torch.manual_seed(0)
    norm = torch.nn.BatchNorm1d(8, eps=0.1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), norm, torch.nn.Softmax(-1), torch.nn.Linear(8, 4)).eval()
    assert norm.running_var is not None
    norm.running_var.uniform_(0.5, 2.0)
    inputs = (torch.randn(3, 4),)
    checker = NumericsChecker(inputs)
    to_edge(torch.export.export(model, inputs)).to_backend(XnnpackPartitioner(), numerics=checker)
    assert asked == [1, 2]
    names = [name for name, _ in checker.errors]
    assert len(names) == len(set(names)), names


COUNTER = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.mutable_buffer "kept" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = edge.mul.Scalar(%0) {other = 0.5 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = edge.add.Tensor(%1, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = edge.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  edge.update_buffer %0, %2 : tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
"""


def forget(ctx: XirContext, op: edge.UpdateBufferOp) -> None:
    """Leave a buffer as it is."""
    op.operands = [op.buffer, op.buffer]


def freeze(ctx: XirContext, op: edge.MutableBufferOp) -> None:
    """Take for constant what a buffer holds at first, where it is read."""
    constant = behind(op, edge.ConstantOp(op.initial))
    op.result.replace_uses_with_if(constant, lambda use: not isinstance(use.operation, edge.UpdateBufferOp))


def test_state_is_compared_down_to_the_file() -> None:
    inputs = [torch.tensor([0.0, 1.0, -1.0, 2.0])]
    checker = run(COUNTER, [*passes_of("delegate"), *passes_of("emit")], NumericsChecker(inputs))
    assert 0 < dict(checker.errors)["lower-to-pte"] < 1e-6


@pytest.mark.parametrize(
    ("culprit", "message"),
    [
        (
            changing("ForgetsPass", edge.UpdateBufferOp, forget),
            "forgets changes what the program computes: buffer 'kept' of call 2 is off by ",
        ),
        # The first call reads what the buffer holds at first.
        (
            changing("FreezesPass", edge.MutableBufferOp, freeze),
            "freezes changes what the program computes: output 0 of call 2 is off by ",
        ),
    ],
    ids=["forgets", "freezes"],
)
def test_what_a_pass_keeps_wrongly_is_found(culprit: XirPass, message: str) -> None:
    inputs = [torch.tensor([0.0, 1.0, -1.0, 2.0])]
    with pytest.raises(MiscompileError, match=message):
        run(COUNTER, [culprit, *passes_of("delegate")], NumericsChecker(inputs))


def test_a_file_that_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower_to_pte._FunctionLowering, "write_buffers", lambda _: None)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(lower_to_pte, "find_in_place", lambda _: InPlace())
    with pytest.raises(MiscompileError, match="changes what the program computes: buffer 'kept' is off by "):
        run(COUNTER, [*passes_of("delegate"), *passes_of("emit")], NumericsChecker([torch.ones(4)]))


QUANTIZED = """
func.func @forward(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = xnnpack.subgraph(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>):
    %q = xnnpack.convert %a : tensor<64x64xf32> -> tensor<64x64x!quant.uniform<i8:f32, 0.06:3>>
    %s = xnnpack.binary add %q, %q {output_max = 6.0 : f32}
         : tensor<64x64x!quant.uniform<i8:f32, 0.06:3>>, tensor<64x64x!quant.uniform<i8:f32, 0.06:3>>
         -> tensor<64x64x!quant.uniform<i8:f32, 0.1:-4>>
    %r = xnnpack.convert %s : tensor<64x64x!quant.uniform<i8:f32, 0.1:-4>> -> tensor<64x64xf32>
    xnnpack.yield %r : tensor<64x64xf32>
  }
  func.return %0 : tensor<64x64xf32>
}
"""


def test_a_small_fault_of_a_quantized_program_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs are off by less than what steps make of a deep network: each node is compared by itself."""
    right = lower_to_pte.LowerToPtePass.apply

    def wrong(self: lower_to_pte.LowerToPtePass, ctx: XirContext, op: ModuleOp) -> None:
        right(self, ctx, op)
        for each in op.walk():
            if isinstance(each, xnnpack.BinaryOp):
                each.properties["output_max"] = FloatAttr(5.5, f32)

    run(QUANTIZED, passes_of("emit"), NumericsChecker())
    monkeypatch.setattr(lower_to_pte.LowerToPtePass, "apply", wrong)
    with pytest.raises(MiscompileError, match=r"first at 'xnnpack.binary', which computes") as caught:
        run(QUANTIZED, passes_of("emit"), NumericsChecker())
    assert caught.value.error < 0.1


def test_steps_that_add_up_are_no_fault() -> None:
    """A difference of two quantised values that are nearly equal is all rounding."""
    text = QUANTIZED.replace("binary add %q, %q {output_max = 6.0 : f32}", "binary subtract %q, %p").replace(
        "    %s =", "    %p = xnnpack.unary tanh %q : TYPE -> TYPE\n    %s ="
    )
    text = text.replace("TYPE", "tensor<64x64x!quant.uniform<i8:f32, 0.06:3>>")
    inputs = [torch.linspace(-0.5, 0.5, 64 * 64).reshape(64, 64)]
    run(text, passes_of("emit"), NumericsChecker(inputs))


def test_a_deep_network_may_move_as_far_as_its_constants_let_it() -> None:
    """Products without shortcuts make much of the roundings of one: by the bound of one pass it would be wrong."""
    generator = torch.Generator().manual_seed(0)
    row = "tensor<1x16xf32>"
    lines = [f"func.func @forward(%v0: {row}) -> {row} {{"]
    for number in range(14):
        weight = (torch.randn((16, 16), generator=generator) * 0.6).tolist()
        lines += [
            f"  %w{number} = edge.constant dense<{weight}> : tensor<16x16xf32>",
            f"  %m{number} = edge.mm(%v{number}, %w{number}) : ({row}, tensor<16x16xf32>) -> {row}",
            f"  %v{number + 1} = edge.sin(%m{number}) : ({row}) -> {row}",
        ]
    lines += [f"  func.return %v14 : {row}", "}"]
    text = "\n".join(lines)
    checker = run(text, [moves_constants("RoundsPass", 2.0**-23)], NumericsChecker())
    assert dict(checker.errors)["rounds"] > 64 * 2**-24
    with pytest.raises(MiscompileError, match="shifts changes what the program computes"):
        run(text, [moves_constants("ShiftsPass", 1e-3)], NumericsChecker())


def moves_constants(name: str, most: float) -> XirPass:
    """Move each constant by a part of it, up or down."""
    generator = np.random.default_rng(1)

    def move(ctx: XirContext, op: edge.ConstantOp) -> None:
        array = constant_array(op.value, ctx, op)
        factors = 1 + generator.choice([-most, most], array.shape)
        op.properties["value"] = make_dense((array * factors).astype(np.float32), ctx, "moved")

    return changing(name, edge.ConstantOp, move)


SENSITIVE = """
func.func @forward(%x: tensor<1x3x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = edge.constant dense<[[[[0.3]], [[0.7]], [[-0.9]]]]> : tensor<1x3x1x1xf32>
  %one = edge.constant dense<1.1> : tensor<1xf32>
  %0 = edge.conv2d(%x, %w, none) : (tensor<1x3x4x4xf32>, tensor<1x3x1x1xf32>) -> tensor<1x1x4x4xf32>
  %1 = edge.batch_norm(%0, %one, %one, %one, %one) {training = false, momentum = 0.1 : f64, eps = 1.0e-05 : f64,
         cudnn_enabled = true} : (tensor<1x1x4x4xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
         -> tensor<1x1x4x4xf32>
  %2 = edge.mul.Scalar(%1) {other = 1.0e7 : f64} : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  %3 = edge.sin(%2) : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32>
  func.return %3 : tensor<1x1x4x4xf32>
}
"""


def test_warns_where_roundings_hide_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(SENSITIVE)
    assert xir_opt(["--fold-batch-norm", "--verify-numerics", str(source)]) == 0
    said = capsys.readouterr().err
    assert "warning: fold-batch-norm: constants that are rounded anew may move output 0 of 'forward' by" in said
