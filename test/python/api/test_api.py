"""The Python API: each step is a new object, errors are located, files are the program's bytes."""

import dataclasses
import io
import re
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from xdsl.dialects.builtin import UNKNOWN_LOC

import xir
from xir.api import EdgeProgram
from xir.dialects.edge import EdgeOp
from xir.dialects.xnnpack import SubgraphOp
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.transforms.edge.fuse_prefix_attention import FusePrefixAttentionPass
from xir.transforms.registry import passes_of
from xir.transforms.xnnpack.schedule.band_spatial import BandSpatialPass
from xir.transforms.xnnpack.schedule.pad_channels import PadChannelsPass
from xir.transforms.xnnpack.schedule.widen_depthwise import WidenDepthwisePass
from xir.transforms.xnnpack.schedule.winograd_conv2d import WinogradConv2dPass
from xir.transforms.xnnpack.select.partition_xnnpack import PartitionXnnpackPass

INPUT = torch.rand(1, 3, 8, 8)


@pytest.fixture(scope="module")
def exported() -> torch.export.ExportedProgram:
    layers = {"conv": torch.nn.Conv2d(3, 4, 3), "norm": torch.nn.BatchNorm2d(4)}
    model = Calling(lambda m, x: torch.relu(m.norm(m.conv(x))) * 2, **layers)
    return torch.export.export(model.eval(), (INPUT,))


def ops(program: xir.EdgeProgram, kind: type) -> list[str]:
    return [op.name for op in program.module.walk() if isinstance(op, kind)]


def test_steps_leave_their_input_alone(exported: torch.export.ExportedProgram) -> None:
    """And give the same bytes every time, in a file as in a buffer."""
    edge = xir.to_edge(exported)
    before = str(edge.module)
    lowered = edge.to_backend(xir.XnnpackPartitioner())
    assert str(edge.module) == before
    assert (ops(lowered, SubgraphOp), ops(lowered, EdgeOp)) == (["xnnpack.subgraph"], [])
    text = str(lowered.module)
    program, stream = lowered.to_executorch(), io.BytesIO()
    assert str(lowered.module) == text
    program.write_to_file(stream)
    again = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()
    assert stream.getvalue() == program.buffer == again.buffer
    agree(program.buffer, exported.module(), [(INPUT,)], rtol=1e-4, atol=1e-5)


def test_programs_print_as_their_ir(exported: torch.export.ExportedProgram) -> None:
    """Without their weights."""
    edge = xir.to_edge(exported)
    printed = re.findall(r"= (edge\.[\w.]+)", str(edge))
    assert [name for name in printed if name != "edge.constant"] == [
        name for name in ops(edge, EdgeOp) if name != "edge.constant"
    ]
    assert repr(edge) == "EdgeProgram(remarks=())"
    assert "aten::convolution.out" in str(edge.to_executorch())
    assert "dense_resource<conv.weight>" in str(edge.module)
    assert len(str(edge.module)) < 4000


def test_from_a_pt2_file(exported: torch.export.ExportedProgram, tmp_path: Path) -> None:
    path = tmp_path / "block.pt2"
    torch.export.save(exported, path)
    for form in (path, str(path)):
        assert len(ops(xir.to_edge(form), EdgeOp)) == 4


def test_what_is_no_program_or_bound_is_refused(exported: torch.export.ExportedProgram, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="export the model first"):
        xir.to_edge(torch.nn.ReLU())  # pyright: ignore[reportArgumentType]
    with pytest.raises(DiagnosticError, match="no such file"):
        xir.to_edge(tmp_path / "none.pt2")
    with pytest.raises(ValueError, match="max_size is a number from 1 on, not 0"):
        xir.to_edge(exported, max_size=0)


def test_partitioner_has_the_options_of_the_passes() -> None:
    """Each by its name, type and default, but for those that only experiments use and for the processors."""

    def options(cls: type) -> dict[str, tuple[object, object]]:
        hints = get_type_hints(cls)
        return {f.name: (hints[f.name], f.default) for f in dataclasses.fields(cls)}

    ours = options(xir.XnnpackPartitioner)
    for cls in (PartitionXnnpackPass, WinogradConv2dPass, BandSpatialPass):
        theirs = {name: option for name, option in options(cls).items() if name not in ("form", "by_gemm", "cpu")}
        assert {name: ours[name] for name in theirs} == theirs
    assert ours["cpu"] == (str, "generic")
    passes = xir.XnnpackPartitioner(
        target="xir", min_ops=3, ops=("relu", "edge.add.Tensor"), cpu="zen4", max_error=2.0, max_arena=10**6
    ).passes()
    assert WidenDepthwisePass(cpu="zen4") in passes
    assert PadChannelsPass(cpu="zen4") in passes
    assert BandSpatialPass(10**6) in passes
    assert FusePrefixAttentionPass("xir") in passes
    assert WinogradConv2dPass(cpu="zen4", max_error=2.0, max_arena=10**6) in passes
    (found,) = [each for each in passes if isinstance(each, PartitionXnnpackPass)]
    assert (found.target, found.min_ops, found.ops) == ("xir", 3, ("relu", "edge.add.Tensor"))


def test_the_default_partitioner_is_the_delegate_pipeline() -> None:
    assert xir.XnnpackPartitioner().passes() == passes_of("delegate")
    assert [each.name for each in xir.XnnpackPartitioner(check=False).passes()] == [
        each.name for each in passes_of("delegate") if each.name != "check-xnnpack"
    ]


def test_partitioner_knows_the_names_of_ops() -> None:
    with pytest.raises(ValueError, match=r"there is no op 'edge.conv3', did you mean 'edge\.conv\d?d?"):
        xir.XnnpackPartitioner(exclude=("edge.conv3",))


REFUSED = """
func.func @forward(%x: tensor<?x1x1x16777216xf32> {xir.max_shape = array<i64: 2, 1, 1, 16777216>})
    -> tensor<?x1x2x4xf32> {
  %0 = edge.abs(%x) : (tensor<?x1x1x16777216xf32>) -> tensor<?x1x1x16777216xf32>
  %1 = edge.upsample_bilinear2d.vec(%0) {output_size = array<i64: 2, 4>, align_corners = false}
       : (tensor<?x1x1x16777216xf32>) -> tensor<?x1x2x4xf32>
  %2 = edge.exp(%1) : (tensor<?x1x2x4xf32>) -> tensor<?x1x2x4xf32>
  func.return %2 : tensor<?x1x2x4xf32>
}
"""
"""A node with a dynamic shape is not looked at alone; as large as it can be, XNNPACK does not interpolate it."""


@pytest.mark.parametrize("place", ["refused.mlir:5:8: ", ""])
def test_what_xnnpack_refuses_at_the_end_is_taken_back_out(place: str) -> None:
    ctx = XirContext()
    module = parse_module(ctx, REFUSED, "refused.mlir")
    for op in module.walk():
        op.location = op.location if place else UNKNOWN_LOC
    program = EdgeProgram(module, ctx).to_backend(xir.XnnpackPartitioner())
    (remark,) = program.remarks
    assert str(remark).startswith(place)
    assert str(remark).endswith(
        "remark: check-xnnpack: edge.upsample_bilinear2d.vec not delegated: "
        "XNNPACK refuses to run at these shapes: unsupported parameter"
    )
    left = [type(op) for op in program.module.walk() if isinstance(op, EdgeOp | SubgraphOp)]
    assert [kind is SubgraphOp for kind in left] == [True, False, True]
    program.to_executorch()
    assert not EdgeProgram(module, ctx).to_backend(xir.XnnpackPartitioner(check=False)).remarks


def test_weights_are_as_before_when_an_op_is_taken_back() -> None:
    filter = np.arange(1, 33, dtype=np.float32).reshape(4, 2, 2, 2)
    ctx = XirContext()
    ctx.blobs.set("filter", filter)
    text = REFUSED.replace(
        "  func.return %2 : tensor<?x1x2x4xf32>",
        """\
  %3 = edge.cat([%2, %2]) {dim = 1 : i64} : (tensor<?x1x2x4xf32>, tensor<?x1x2x4xf32>) -> tensor<?x2x2x4xf32>
  %w = edge.constant dense_resource<filter> : tensor<4x2x2x2xf32>
  %4 = edge.convolution(%3, %w, none) {stride = array<i64: 1, 1>, padding = array<i64: 0, 0>,
         dilation = array<i64: 1, 1>, transposed = false, output_padding = array<i64: 0, 0>, groups = 1 : i64}
       : (tensor<?x2x2x4xf32>, tensor<4x2x2x2xf32>) -> tensor<?x4x1x3xf32>
  func.return %4 : tensor<?x4x1x3xf32>""",
    ).replace("-> tensor<?x1x2x4xf32> {", "-> tensor<?x4x1x3xf32> {")
    # What the rules lay out for NHWC takes the filter's place, which is dropped before XNNPACK refuses.
    program = EdgeProgram(parse_module(ctx, text, "refused.mlir"), ctx).to_backend(xir.XnnpackPartitioner())
    assert ops(program, EdgeOp) == ["edge.upsample_bilinear2d.vec"]
    assert filter.transpose(0, 2, 3, 1).tobytes() in program.to_executorch().buffer


def test_package_has_no_other_names() -> None:
    assert {"to_edge", "XnnpackPartitioner", "runtime"} <= set(dir(xir))
    with pytest.raises(AttributeError, match="module 'xir' has no attribute 'to_edges'"):
        xir.to_edges  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
