"""What XNNPACK is asked at compile time: the answer is what loading the file would say, without its weights."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from reference.process_memory import forget_peak, status
from xdsl.dialects.builtin import ModuleOp

from xir.dialects.xnnpack import NodeOp, SubgraphOp, Xnnpack
from xir.emitter.xnnpack.writer import write_unweighted
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.provenance import set_origins
from xir.ir.verifier import verify
from xir.runtime import _native
from xir.transforms.delegate.forming.late_refusals import LateRefusalError
from xir.transforms.xnnpack.finish.check_xnnpack import CheckXnnpackPass
from xir.transforms.xnnpack.legality.checker import XnnpackChecker
from xir.transforms.xnnpack.legality.library_check import check_subgraph


def subgraph(body: str, arg: str, result: str) -> tuple[SubgraphOp, XirContext]:
    """A verified subgraph from %a to %r."""
    text = f"""
    func.func @forward(%x: {arg}) -> {result} {{
      %0 = xnnpack.subgraph(%x) : ({arg}) -> {result} {{
      ^bb0(%a: {arg}):
        {body}
        xnnpack.yield %r : {result}
      }}
      func.return %0 : {result}
    }}"""
    ctx = XirContext()
    module = parse_module(ctx, text, "test.mlir")
    verify(module)
    return only_subgraph(module), ctx


def only_subgraph(module: ModuleOp) -> SubgraphOp:
    (found,) = [op for op in module.walk() if isinstance(op, SubgraphOp)]
    return found


IMAGE = "tensor<1x8x8x4xf32>"


def test_large_weights_take_no_memory() -> None:
    """8 GB of weights are checked in no time: they are zeros that nobody touches."""
    arg, result, filter_type = "tensor<1x32768xf32>", "tensor<1x65536xf32>", "tensor<65536x32768xf32>"
    body = f"""%w = xnnpack.constant dense_resource<elsewhere> : {filter_type}
        %r = xnnpack.fully_connected %a, %w : ({arg}, {filter_type}) -> {result}"""
    assert check_subgraph(*subgraph(body, arg, result)) is None


def test_many_layers_are_no_shared_data() -> None:
    """All constants share one mapping here, which a file must not do: together they have 60 times its size."""
    rows = "tensor<1x1024xf32>"
    weights = "tensor<1024x1024xf32>"
    layers = [
        f"""%w{i} = xnnpack.constant dense_resource<layer{i}> : {weights}
        {"%r" if i == 59 else f"%v{i}"} = xnnpack.fully_connected {f"%v{i - 1}" if i else "%a"}, %w{i}
            : ({rows}, {weights}) -> {rows}"""
        for i in range(60)
    ]
    assert check_subgraph(*subgraph("\n        ".join(layers), rows, rows)) is None


def test_large_values_take_no_memory() -> None:
    """2 GB of values that the graph computes for itself are not there while their shapes are checked."""
    arg = "tensor<1x4x16384x2048xf32>"
    body = f"""%b = xnnpack.unary exp %a : {arg} -> {arg}
        %c = xnnpack.unary abs %b : {arg} -> {arg}
        %d = xnnpack.copy %c : {arg} -> {arg}
        %e = xnnpack.binary add %b, %d : {arg}, {arg} -> {arg}
        %r = xnnpack.unary square_root %e : {arg} -> {arg}"""
    given = subgraph(body, arg, arg)
    forget_peak()
    before = status("VmHWM")
    assert check_subgraph(*given) is None
    assert status("VmHWM") - before < 16 << 20


def test_the_node_at_fault_is_found_wherever_it_is() -> None:
    wide, narrow = "tensor<1x1x16777216x1xf32>", "tensor<1x2x4x1xf32>"
    resize = f"xnnpack.static_resize_bilinear2d %b {{new_height = 2 : i32, new_width = 4 : i32}} : {wide} -> {narrow}"
    for before in range(4):
        lines = ["%b = xnnpack.unary abs %a : " + f"{wide} -> {wide}"]
        lines += [f"%b{i} = xnnpack.unary exp %b : {wide} -> {wide}" for i in range(before)]
        lines += [f"%c = {resize}", f"%r = xnnpack.unary abs %c : {narrow} -> {narrow}"]
        refusal = check_subgraph(*subgraph("\n".join(lines), wide, narrow))
        assert refusal is not None
        assert refusal.node is not None
        assert refusal.node.name == "xnnpack.static_resize_bilinear2d"
        assert refusal.reason == "XNNPACK refuses to run at these shapes: unsupported parameter"


def test_all_nodes_that_are_refused_are_found_at_once() -> None:
    """Whoever delegates once more without them does so once, not once for each."""
    wide, narrow = "tensor<1x1x16777216x1xf32>", "tensor<1x2x4x1xf32>"
    resize = "xnnpack.static_resize_bilinear2d %a {new_height = 2 : i32, new_width = 4 : i32"
    body = f"""%b = {resize}}} : {wide} -> {narrow} loc("first")
        %c = {resize}, align_corners}} : {wide} -> {narrow} loc("second")
        %d = {resize}}} : {wide} -> {narrow} loc("third")
        %e = xnnpack.binary add %b, %c : {narrow}, {narrow} -> {narrow} loc("taken")
        %r = xnnpack.binary add %e, %d : {narrow}, {narrow} -> {narrow} loc("taken")"""
    found, ctx = subgraph(body, wide, narrow)
    module = found.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    for number, op in enumerate(op for op in found.body.block.ops if isinstance(op, NodeOp)):
        set_origins(op, (number, 10))
    with pytest.raises(LateRefusalError) as error:
        CheckXnnpackPass().apply(ctx, module)
    assert error.value.refused.keys() == {0, 1, 2, 10}
    assert str(error.value.diagnostic.location) == 'loc("first")'


COMPOSED = '{xir.composed = "a part"}'


def composed_chain(last: str) -> str:
    """Equal nodes of a composed op, one behind the other, a sum of two of them, and the last one."""
    equal = zip("bcd", "abc", strict=True)
    lines = [f"%{result} = xnnpack.unary abs %{operand} {COMPOSED} : {IMAGE} -> {IMAGE}" for result, operand in equal]
    lines += [f"%e = xnnpack.binary add %b, %d {COMPOSED} : {IMAGE}, {IMAGE} -> {IMAGE}"]
    return "\n".join((*lines, last))


def test_equal_nodes_of_composed_ops_are_shown_once() -> None:
    """But for those that compute an output; what is left out comes from outside."""
    found, ctx = subgraph(composed_chain(f"%r = xnnpack.unary abs %e {COMPOSED} : {IMAGE} -> {IMAGE}"), IMAGE, IMAGE)
    nodes = [op for op in found.body.block.ops if isinstance(op, NodeOp)]
    assert write_unweighted(found, ctx).nodes == [nodes[0], nodes[3], nodes[4]]
    assert check_subgraph(found, ctx) is None


def test_what_is_not_defined_is_counted_among_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    found, ctx = subgraph(composed_chain(f"%r = xnnpack.unary abs %e : {IMAGE} -> {IMAGE}"), IMAGE, IMAGE)
    nodes = [op for op in found.body.block.ops if isinstance(op, NodeOp)]
    for index, node in enumerate((nodes[0], nodes[3], nodes[4])):
        monkeypatch.setattr(_native, "check_graph", lambda *_, index=index, **__: (index, "no"))
        refusal = check_subgraph(found, ctx)
        assert refusal is not None
        assert refusal.node is node


@pytest.mark.parametrize(("is_composed", "shown"), [(True, 1), (False, 2)])
def test_nodes_that_differ_in_what_is_constant_are_shown(is_composed: bool, shown: int) -> None:
    """And all that are not composed."""
    marks = COMPOSED if is_composed else ""
    body = f"""%w = xnnpack.constant dense<1.0> : {IMAGE}
        %b = xnnpack.binary add %a, %w {COMPOSED} : {IMAGE}, {IMAGE} -> {IMAGE}
        %c = xnnpack.binary add %b, %a {marks} : {IMAGE}, {IMAGE} -> {IMAGE}
        %d = xnnpack.binary add %c, %a {marks} : {IMAGE}, {IMAGE} -> {IMAGE}
        %r = xnnpack.unary abs %d : {IMAGE} -> {IMAGE}"""
    found, ctx = subgraph(body, IMAGE, IMAGE)
    assert len(write_unweighted(found, ctx).nodes) == 2 + shown
    assert check_subgraph(found, ctx) is None


def test_the_node_at_fault_is_found_behind_nodes_that_are_not_shown() -> None:
    wide, narrow = "tensor<1x1x16777216x4xf32>", "tensor<1x2x4x4xf32>"
    last = f"""%f = xnnpack.static_slice %e {{offsets = array<i32: 0, 0, 0, 0>, sizes = array<i32: 1, 1, 8, 4>}}
             : {IMAGE} -> tensor<1x1x8x4xf32>
        %g = xnnpack.static_resize_bilinear2d %f {{new_height = 1 : i32, new_width = 16777216 : i32}}
             : tensor<1x1x8x4xf32> -> {wide}
        %r = xnnpack.static_resize_bilinear2d %g {{new_height = 2 : i32, new_width = 4 : i32}} : {wide} -> {narrow}"""
    found, ctx = subgraph(composed_chain(last), IMAGE, narrow)
    refusal = check_subgraph(found, ctx)
    assert refusal is not None
    assert refusal.node is not None
    assert refusal.node.name == "xnnpack.static_resize_bilinear2d"


def nodes_of_the_dialect() -> list[NodeOp]:
    """Every node that the dialect's tests show as valid."""
    folder = Path(__file__).parents[2] / "lit" / "dialects" / "xnnpack"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.mlir"))]
    chunks = [chunk for text in texts if "expected-error" not in text for chunk in text.split("// -----")]
    modules = [parse_module(XirContext(), chunk, "test.mlir") for chunk in chunks]
    return [op for module in modules for op in module.walk() if isinstance(op, NodeOp)]


def test_what_verifies_loads() -> None:
    checker = XnnpackChecker(XirContext())
    nodes = nodes_of_the_dialect()
    refused = {str(node): why for node in nodes if (why := checker.node_refusal(node)) is not None}
    assert {type(node) for node in nodes} == {op for op in Xnnpack.operations if issubclass(op, NodeOp)}
    assert not refused
    assert checker.missing is None


MODULE = """
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


def test_without_xnnpack_one_remark_says_so(tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(MODULE, encoding="utf-8")
    command = [sys.executable, "-m", "xir.tools.xir_opt", str(source), "--delegate"]
    environment = {**os.environ, "XIR_XNNPACK_LIBRARY": "/nowhere/libxnnpack.so"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "xnnpack.unary abs" in done.stdout
    (remark,) = (line for line in done.stderr.splitlines() if ": remark: " in line)
    assert "remark: partition-xnnpack: nodes are not checked against XNNPACK: " in remark
    assert "'/nowhere/libxnnpack.so', which does not exist" in remark
