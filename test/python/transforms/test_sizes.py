"""Sizes of dynamic dimensions: what one analysis of a function tells all passes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from xir.dialects import edge, xnnpack
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.ir.symbolic_size import lower_bound, parse_size, symbol
from xir.transforms.analysis.sizes import SymbolicSizes, UnknownSizeError
from xir.transforms.registry import passes_of

ROWS = symbol("rows")


def function(body: str, arguments: str, result: str) -> tuple[ModuleOp, FuncOp]:
    """A function with these lines, which returns %r."""
    text = f"func.func @forward({arguments}) -> {result} {{\n{body}\nfunc.return %r : {result}\n}}"
    module = parse_module(XirContext(), text)
    found = module.body.block.first_op
    assert isinstance(found, FuncOp)
    return module, found


def returned(of: FuncOp) -> SSAValue:
    """What a function returns."""
    last = of.body.block.last_op
    assert isinstance(last, ReturnOp)
    return last.operands[0]


ARGUMENT = '%x: tensor<?x4xf32> {xir.dim_names = ["rows", ""], xir.max_shape = array<i64: 6, 4>}'


CONCATENATED = "%r = edge.cat([%x, %x]) {dim = 0 : i64} : ({0}, {0}) -> {0}"
COMPUTED = """%n = edge.sym_size.int(%x) {dim = 0 : i64} : ({0}) -> i64
%m = edge.executorch_prim.mul.Scalar()[%n] {a = 3 : i64, b = -9223372036854775808 : i64} : (i64) -> i64
%r = edge.full()[%m] {size = array<i64: -9223372036854775808, 4>, fill_value = 1.0 : f64} : (i64) -> {0}"""
REGION = """%r = delegate.region "xnnpack" : {0} {
  %a = edge.abs(%x) : ({0}) -> {0}
  delegate.yield %a : {0}
}"""
SUBGRAPH = """%r = xnnpack.subgraph(%x) : ({0}) -> {0} {
^bb0(%a: {0}):
  %b = xnnpack.unary abs %a : {0} -> {0}
  xnnpack.yield %b : {0}
}"""


@pytest.mark.parametrize(
    ("lines", "shape", "bounds"),
    [
        (CONCATENATED, (2 * ROWS, 4), (12, 4)),
        (COMPUTED, (3 * ROWS, 4), (18, 4)),
        (REGION, (ROWS, 4), (6, 4)),
        (SUBGRAPH, (ROWS, 4), (6, 4)),
    ],
    ids=["twice", "computed", "region", "subgraph"],
)
def test_sizes_follow_from_the_arguments(lines: str, shape: Sequence[int], bounds: Sequence[int]) -> None:
    _, found = function(lines.replace("{0}", "tensor<?x4xf32>"), ARGUMENT, "tensor<?x4xf32>")
    sizes = SymbolicSizes(found)
    assert sizes.known(returned(found)) == shape
    assert sizes.bounds(returned(found)) == bounds


def test_each_result_of_a_delegate_has_its_own_sizes() -> None:
    subgraph = """%q, %r = xnnpack.subgraph(%x) : ({0}) -> ({0}, {1}) {
^bb0(%a: {0}):
  %b = xnnpack.unary abs %a : {0} -> {0}
  %c = xnnpack.concatenate %a, %b {axis = 0 : i32} : ({0}, {0}) -> {1}
  xnnpack.yield %b, %c : {0}, {1}
}"""
    lines = subgraph.replace("{0}", "tensor<?x4xf32>").replace("{1}", "tensor<?x4xf32>")
    _, found = function(lines, ARGUMENT, "tensor<?x4xf32>")
    first = found.body.block.first_op
    assert first is not None
    for order in ((0, 1), (1, 0)):
        sizes = SymbolicSizes(found)
        known = {index: sizes.known(first.results[index]) for index in order}
        assert known == {0: (ROWS, 4), 1: (2 * ROWS, 4)}


def test_what_expressions_do_not_tell_is_bounded_by_inference_at_the_operands_bounds() -> None:
    type, result = "tensor<1x1x?x4xf32>", "tensor<1x1x?x6xf32>"
    argument = f"%x: {type} {{xir.max_shape = array<i64: 1, 1, 5, 4>}}"
    options = "{align_corners = false, scale_factors = array<f64: 1.5, 1.5>}"
    scaled = f"%a = edge.upsample_bilinear2d.vec(%x) {options} : ({type}) -> {result}"
    _, found = function(f"{scaled}\n%r = edge.abs(%a) : ({result}) -> {result}", argument, result)
    sizes = SymbolicSizes(found)
    assert sizes.bounds(returned(found)) == (1, 1, 7, 6)


def test_a_size_that_nobody_bounds_has_no_bound() -> None:
    _, found = function("%r = edge.abs(%x) : (tensor<?xf32>) -> tensor<?xf32>", "%x: tensor<?xf32>", "tensor<?xf32>")
    with pytest.raises(UnknownSizeError):
        SymbolicSizes(found).bounds(returned(found))


def test_what_passes_add_is_followed_when_it_is_asked_for() -> None:
    _, found = function("%r = edge.abs(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>", ARGUMENT, "tensor<?x4xf32>")
    sizes = SymbolicSizes(found)
    value = returned(found)
    ops: list[Operation] = []
    for _ in range(3000):
        ops.append(edge.op("cat").build_from({"tensors": [value, found.body.block.args[0]], "dim": 1}))
        value = ops[-1].results[0]
    last = found.body.block.last_op
    assert last is not None
    found.body.block.insert_ops_before(ops, last)
    assert isinstance(value.type, TensorType)
    assert sizes.known(value) == (ROWS, 4 * 3001)


def test_one_analysis_serves_the_delegate_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Operation] = []
    init = SymbolicSizes.__init__

    def counted(self: SymbolicSizes, op: Operation) -> None:
        made.append(op)
        init(self, op)

    monkeypatch.setattr(SymbolicSizes, "__init__", counted)
    body = """%w = edge.constant dense<1.0> : tensor<6x4xf32>
    %0 = edge.linear(%x, %w, none) : (tensor<?x4xf32>, tensor<6x4xf32>) -> tensor<?x6xf32>
    %r = edge.slice.Tensor(%0) {dim = 1 : i64, start = 0 : i64, end = 2 : i64} : (tensor<?x6xf32>) -> tensor<?x2xf32>"""
    module, found = function(body, ARGUMENT, "tensor<?x2xf32>")
    PassManager(XirContext(), passes_of("delegate")).run(module)
    assert made == [found]
    assert [op.name for op in found.walk() if isinstance(op, xnnpack.NodeOp)] == ["xnnpack.fully_connected"]


@pytest.mark.parametrize(
    ("text", "low"),
    [("2*s0 + 3", 5), ("s0 - 4", 0), ("20 - s0", 12), ("20 - s1", 0), ("Max(s0, 3)", 3), ("Min(s0, 3)", 1),
     ("s0//2", 0), ("Mod(s0, 3)", 0), ("s0*s1", 1)],
)  # fmt: skip
def test_lower_bounds(text: str, low: int) -> None:
    assert lower_bound(parse_size(text), {symbol("s0"): 8}) == low
