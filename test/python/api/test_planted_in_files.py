"""Mistakes in what makes existing files better are found: each change of a source, by what it does to a file.

`bench/planted_faults.toml` has those that change what a program computes; these are found where files are compared.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from api.test_remade_files import IMAGE, Ordered, Scaled, stock_file
from reference.planting import planted

import xir
from xir.cost.profile import load_profile
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.lock.predicted import predicted_microseconds
from xir.runtime.same_results import MethodCall, sameness
from xir.transforms.pte.lower_to_pte import LowerToPtePass

pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes")


def test_outputs_that_lose_their_order_in_memory(tmp_path: Path) -> None:
    old, new = stock_file(Ordered(), (IMAGE,), tmp_path / "old.pte"), tmp_path / "new.pte"
    with planted(
        "transforms.pte.raise_from_pte", "if isinstance(each.owner, pte.TensorOp) else {}", "if False else {}"
    ):
        xir.load(old).optimized(xir.XnnpackPartitioner()).save(new)
    found = sameness(old, new, [MethodCall("forward", [IMAGE], "call 1")], in_stock=False)
    assert not found.difference <= 1e-4


TURNED = """
func.func @forward(%x: tensor<1x64x64x64xi8>) -> tensor<1x64x64x64xi8> {{
  %y = xnnpack.subgraph(%x) : (tensor<1x64x64x64xi8>) -> tensor<1x64x64x64xi8> {{
  ^bb0(%a: tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>):
    %0 = xnnpack.clamp %a {{output_min = 0.0 : f32}}
         : tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>
    {node}
    xnnpack.yield {yielded} : tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>
  }}
  func.return %y : tensor<1x64x64x64xi8>
}}
"""
TURN = """%1 = xnnpack.static_transpose %0 {perm = array<i32: 0, 2, 3, 1>}
         : tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>> -> tensor<1x64x64x64x!quant.uniform<i8:f32, 0.5>>"""


def predicted(text: str) -> float:
    """The time that a profile predicts for a program."""
    ctx = XirContext()
    module = parse_module(ctx, text)
    PassManager(ctx, [LowerToPtePass()]).run(module)
    program: Any = SimpleNamespace(module=module)
    return predicted_microseconds(program, load_profile("zen4"))


def test_nodes_on_integers_that_count_as_nothing() -> None:
    with_it, without = TURNED.format(node=TURN, yielded="%1"), TURNED.format(node="", yielded="%0")
    assert predicted(with_it) > predicted(without)
    with planted(
        "transforms.xnnpack.analysis.node_costs",
        "return replace(work, traffic=int(share * work.traffic), weights=int(share * work.weights))",
        "return None",
    ):
        assert predicted(with_it) == predicted(without)


READ_BACK = {
    "a zero point": ('tree["zero_point"])', "0)"),
    "the scales of channels": ('path, "<f4")', 'path, "<f4")[::-1]'),
}
"""Mistakes in reading the types of values on integers that delegates have, such as their constants."""


@pytest.mark.parametrize("name", READ_BACK)
def test_integers_of_delegates_that_are_read_back_as_others(name: str, tmp_path: Path) -> None:
    """Both files run as they are written: what they hold is not read by what made the new one."""
    old, new = stock_file(Scaled(), (IMAGE,), tmp_path / "old.pte", quantized=True), tmp_path / "new.pte"
    calls = [MethodCall("forward", [IMAGE], "call 1")]
    xir.load(old).optimized(xir.XnnpackPartitioner()).save(new)
    assert sameness(old, new, calls, in_stock=False).difference <= 1e-4
    with planted("emitter.xnnpack.types", *READ_BACK[name]):
        xir.load(old).optimized(xir.XnnpackPartitioner()).save(new)
    assert not sameness(old, new, calls, in_stock=False).difference <= 1e-2


def test_the_sources_without_mistakes(tmp_path: Path) -> None:
    """What is found above is found because of them."""
    old, new = stock_file(Ordered(), (IMAGE,), tmp_path / "old.pte"), tmp_path / "new.pte"
    xir.load(old).optimized(xir.XnnpackPartitioner()).save(new)
    found = sameness(old, new, [MethodCall("forward", [IMAGE], "call 1")], in_stock=False)
    assert found.difference <= 1e-4
