"""What masks refuse: each declared reason by its example, and late what gets too large."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import i64
from xir_masks import refusals

from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.plugin import Refusal, XirContext, call, passes_of, run_passes, tensor

DECLARED = {name: each for name, each in vars(refusals).items() if isinstance(each, Refusal)}
LATE = """
func.func @forward(%x: tensor<?x1xi64> {xir.max_shape = array<i64: 2097152, 1>},
                   %y: tensor<1x?xi64> {xir.max_shape = array<i64: 1, 2097152>}) -> tensor<?x?xi64> {
  %0 = edge.neg(%x) : (tensor<?x1xi64>) -> tensor<?x1xi64>
  %1 = edge.add.Tensor(%0, %y) : (tensor<?x1xi64>, tensor<1x?xi64>) -> tensor<?x?xi64>
  func.return %1 : tensor<?x?xi64>
}
"""


@pytest.mark.parametrize("name", [name for name, each in DECLARED.items() if each.example is not None])
def test_the_example_is_refused_for_that_reason(name: str) -> None:
    refusal, ctx = DECLARED[name], XirContext()
    example = refusal.example
    module = parse_module(ctx, example) if isinstance(example, str) else example.build(ctx)[0]
    PassManager(ctx, passes_of("mark-delegates{backend=masks}")).run(module)
    (reason,) = [op.attributes["xir.reason"].data for op in module.walk() if "xir.reason" in op.attributes]
    assert re.fullmatch(".*".join(map(re.escape, ["", *refusal.literals, ""])), reason)


def test_what_gets_too_large_goes_back_outside() -> None:
    ctx = XirContext()
    module, said = parse_module(ctx, LATE), list[str]()
    with ctx.diagnostics.handler(lambda diagnostic: said.append(str(diagnostic)) is None):
        run_passes(PassManager(ctx, passes_of("delegate-masks")), module)
    (remark,) = said
    assert "check-delegates: edge.add.Tensor not delegated: its result can have 4398046511104 elements" in remark
    names = [op.name for op in module.walk() if op.name in ("edge.neg", "edge.add.Tensor", "masks.compute")]
    assert names == ["masks.compute", "edge.add.Tensor"]


def test_a_dynamic_size_meets_a_static_one() -> None:
    ctx = XirContext()
    module, _ = call("edge.eq.Tensor", self=tensor("?", 4, element=i64),
                     other=tensor(4, element=i64)).build(ctx)  # fmt: skip
    run_passes(PassManager(ctx, passes_of("delegate-masks")), module)
    assert any(op.name == "masks.graph" for op in module.walk())
