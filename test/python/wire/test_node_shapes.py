"""One table of shapes that nodes take and give. PyTorch's eager ops say what is right; the dialect's verifier and the
runtime's are both held to it, the latter with XNNPACK's own inference behind it. The fuzzer's graphs are held to the
runtime's verifier (`fuzz_graphs` of the C++ tests), so its rules are held to this table as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    f32,
    i32,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Block, Region
from xdsl.utils.exceptions import VerifyException

from xir.dialects import xnnpack
from xir.ir.context import XirContext
from xir.transforms.xnnpack.legality.library_check import check_subgraph

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A node, its operands' shapes, and that of each result."""

    op: type[xnnpack.NodeOp]
    operands: tuple[Shape, ...]
    """Images are NHWC, filters OHWI, those of a depthwise convolution 1HWO."""
    result: Shape
    """Where the node is refused, one that it might be thought to have."""
    properties: dict[str, Any]
    refused: bool = False
    eager_takes: str = ""
    """Why PyTorch takes what XNNPACK refuses."""
    library_takes: bool = False
    """Whether XNNPACK takes what the dialect alone refuses."""

    def __str__(self) -> str:
        said = " refused" if self.refused else ""
        return f"{self.op.name} of {', '.join(map(str, self.operands))}{said}: {self.result}"


def takes(op: type[xnnpack.NodeOp], *operands: Shape, result: Shape, **properties: Any) -> Case:
    return Case(op, operands, result, properties)


def refuses(
    op: type[xnnpack.NodeOp], *operands: Shape, result: Shape, eager: str = "", library: bool = False, **properties: Any
) -> Case:
    return Case(op, operands, result, properties, True, eager, library)


IMAGE = (2, 7, 9, 4)
SLICE_ENDS = "PyTorch's slices end where the tensor does"
NO_BATCH = "PyTorch takes an image without a batch"
FIRST, LAST = "PyTorch slices the first dimensions", "PyTorch pads the last dimensions"
WINDOW = "PyTorch and XNNPACK take a window of one element, which pools nothing"
SCALAR = "PyTorch gives a scalar a last dimension"

CASES = (
    takes(xnnpack.UnaryOp, (2, 3), result=(2, 3), kind="abs"),
    takes(xnnpack.UnaryOp, (), result=(), kind="abs"),
    takes(xnnpack.ClampOp, (2, 1, 3), result=(2, 1, 3), output_min=0.0, output_max=1.0),
    takes(xnnpack.EluOp, (5,), result=(5,), alpha=1.0),
    takes(xnnpack.LeakyReluOp, (5, 1), result=(5, 1), negative_slope=0.5),
    takes(xnnpack.SoftmaxOp, (2, 3), result=(2, 3)),
    refuses(xnnpack.SoftmaxOp, (), result=(), eager=SCALAR),
    takes(xnnpack.BinaryOp, (2, 3), (2, 3), result=(2, 3), kind="add"),
    takes(xnnpack.BinaryOp, (2, 3), (3,), result=(2, 3), kind="add"),
    takes(xnnpack.BinaryOp, (3,), (4, 2, 1), result=(4, 2, 3), kind="add"),
    takes(xnnpack.BinaryOp, (2, 1, 4), (3, 1), result=(2, 3, 4), kind="multiply"),
    takes(xnnpack.BinaryOp, (), (2,), result=(2,), kind="multiply"),
    refuses(xnnpack.BinaryOp, (2, 3), (2,), result=(2, 3), kind="add"),
    refuses(xnnpack.BinaryOp, (4, 3), (2, 3), result=(4, 3), kind="add"),
    takes(xnnpack.FullyConnectedOp, (2, 5), (3, 5), result=(2, 3)),
    takes(xnnpack.FullyConnectedOp, (4, 2, 5), (3, 5), (3,), result=(4, 2, 3)),
    takes(xnnpack.FullyConnectedOp, (2, 5), (5, 3), result=(2, 3), transpose_weights=True),
    takes(xnnpack.FullyConnectedOp, (5,), (3, 5), result=(3,)),
    refuses(xnnpack.FullyConnectedOp, (2, 5), (5, 3), result=(2, 5)),
    refuses(xnnpack.FullyConnectedOp, (2, 5), (3, 5), (5,), result=(2, 3)),
    refuses(xnnpack.FullyConnectedOp, (), (3, 5), result=(3,)),
    takes(xnnpack.BatchMatrixMultiplyOp, (2, 3, 5), (2, 5, 7), result=(2, 3, 7)),
    takes(xnnpack.BatchMatrixMultiplyOp, (3, 5), (5, 7), result=(3, 7)),
    takes(xnnpack.BatchMatrixMultiplyOp, (2, 3, 5), (2, 7, 5), result=(2, 3, 7), transpose_b=True),
    refuses(xnnpack.BatchMatrixMultiplyOp, (2, 3, 5), (2, 7, 5), result=(2, 3, 7)),
    refuses(xnnpack.BatchMatrixMultiplyOp, (2, 3, 5), (3, 5, 7), result=(2, 3, 7)),
    takes(xnnpack.Conv2dOp, IMAGE, (6, 3, 3, 4), result=(2, 5, 7, 6)),
    takes(xnnpack.Conv2dOp, IMAGE, (6, 3, 2, 4), (6,), result=(2, 3, 5, 6), stride=(3, 2), padding=(1, 0, 2, 1)),
    takes(xnnpack.Conv2dOp, IMAGE, (6, 2, 3, 4), result=(2, 4, 3, 6), dilation=(3, 3)),
    takes(xnnpack.Conv2dOp, IMAGE, (6, 3, 3, 2), result=(2, 5, 7, 6), groups=2),
    refuses(xnnpack.Conv2dOp, IMAGE, (6, 3, 3, 3), result=(2, 5, 7, 6)),
    refuses(xnnpack.Conv2dOp, IMAGE, (5, 3, 3, 2), result=(2, 5, 7, 5), groups=2),
    refuses(xnnpack.Conv2dOp, IMAGE, (6, 3, 3, 4), (5,), result=(2, 5, 7, 6)),
    refuses(xnnpack.Conv2dOp, IMAGE, (6, 8, 3, 4), result=(2, 1, 7, 6)),
    refuses(xnnpack.Conv2dOp, (7, 9, 4), (6, 3, 3, 4), result=(5, 7, 6), eager=NO_BATCH),
    takes(xnnpack.DepthwiseConv2dOp, IMAGE, (1, 3, 3, 4), result=(2, 5, 7, 4), groups=4),
    takes(xnnpack.DepthwiseConv2dOp, IMAGE, (1, 3, 3, 8), result=(2, 3, 4, 8), groups=4, stride=(2, 2)),
    refuses(xnnpack.DepthwiseConv2dOp, IMAGE, (1, 3, 3, 6), result=(2, 5, 7, 6), groups=4),
    takes(xnnpack.Deconv2dOp, IMAGE, (6, 3, 3, 4), result=(2, 9, 11, 6)),
    takes(xnnpack.Deconv2dOp, IMAGE, (6, 3, 2, 4), result=(2, 15, 26, 6), stride=(2, 3)),
    takes(
        xnnpack.Deconv2dOp, IMAGE, (6, 3, 3, 4), result=(2, 14, 18, 6), stride=(2, 2), padding=(1, 1, 1, 1),
        adjustment=(1, 1),
    ),
    takes(xnnpack.Deconv2dOp, IMAGE, (6, 3, 3, 2), result=(2, 9, 11, 6), groups=2),
    refuses(xnnpack.Deconv2dOp, IMAGE, (6, 3, 3, 3), result=(2, 9, 11, 6)),
    takes(xnnpack.MaxPooling2dOp, IMAGE, result=(2, 5, 7, 4), kernel=(3, 3)),
    takes(xnnpack.MaxPooling2dOp, IMAGE, result=(2, 4, 4, 4), kernel=(3, 2), stride=(2, 3), padding=(1, 1, 1, 1)),
    takes(xnnpack.MaxPooling2dOp, IMAGE, result=(2, 3, 5, 4), kernel=(3, 3), dilation=(2, 2)),
    refuses(xnnpack.MaxPooling2dOp, IMAGE, result=(2, 1, 7, 4), kernel=(8, 3)),
    refuses(xnnpack.MaxPooling2dOp, (7, 9, 4), result=(5, 7, 4), kernel=(3, 3), eager=NO_BATCH),
    takes(xnnpack.AveragePooling2dOp, IMAGE, result=(2, 3, 8, 4), kernel=(3, 2), stride=(2, 1)),
    refuses(
        xnnpack.AveragePooling2dOp, IMAGE, result=(2, 7, 9, 4), kernel=(1, 1), eager=WINDOW, library=True,
    ),
    takes(xnnpack.ArgMaxPooling2dOp, IMAGE, result=(2, 2, 4, 4), kernel=(3, 2)),
    takes(xnnpack.GlobalAveragePooling2dOp, IMAGE, result=(2, 4)),
    takes(xnnpack.GlobalAveragePooling2dOp, IMAGE, result=(2, 1, 1, 4), keep_dims=True),
    takes(xnnpack.StaticReduceOp, (2, 3, 4), result=(3,), kind="sum", axes=(0, 2)),
    takes(xnnpack.StaticReduceOp, (2, 3, 4), result=(2, 1, 4), kind="sum", axes=(1,), keep_dims=True),
    refuses(xnnpack.StaticReduceOp, (2, 3), result=(2,), kind="sum", axes=(2,)),
    refuses(xnnpack.StaticReduceOp, (2, 3), result=(2,), kind="sum", axes=(1, 1)),
    takes(xnnpack.StaticTransposeOp, (2, 3, 4), result=(4, 2, 3), perm=(2, 0, 1)),
    refuses(xnnpack.StaticTransposeOp, (2, 3), result=(2, 2), perm=(0, 0)),
    refuses(xnnpack.StaticTransposeOp, (2, 3), result=(3, 2), perm=(1, 0, 2)),
    refuses(xnnpack.StaticTransposeOp, (2, 3), result=(2, 3), perm=(0, 2)),
    takes(xnnpack.StaticReshapeOp, (2, 3, 4), result=(6, 4), new_shape=(6, 4)),
    takes(xnnpack.StaticReshapeOp, (2, 3, 4), result=(6, 4), new_shape=(0, 4)),
    refuses(xnnpack.StaticReshapeOp, (2, 3, 4), result=(5, 4), new_shape=(5, 4)),
    refuses(xnnpack.StaticReshapeOp, (2, 3), result=(4, 1), new_shape=(4, 0)),
    takes(xnnpack.StaticSliceOp, (5, 4), result=(2, 4), offsets=(3, 0), sizes=(2, 4)),
    takes(xnnpack.StaticSliceOp, (5, 4), result=(4, 1), offsets=(1, 3), sizes=(4, 1)),
    refuses(xnnpack.StaticSliceOp, (5, 4), result=(3, 4), offsets=(3, 0), sizes=(3, 4), eager=SLICE_ENDS),
    refuses(xnnpack.StaticSliceOp, (5, 4), result=(5, 4), offsets=(0,), sizes=(5,), eager=FIRST),
    takes(xnnpack.StaticConstantPadOp, (5, 4), result=(6, 9), pre_paddings=(1, 2), post_paddings=(0, 3)),
    refuses(
        xnnpack.StaticConstantPadOp, (5, 4), result=(6, 4), eager=LAST, pre_paddings=(1,), post_paddings=(0,)
    ),
    takes(xnnpack.StaticResizeBilinear2dOp, IMAGE, result=(2, 3, 20, 4), new_height=3, new_width=20),
    takes(xnnpack.StaticResizeBilinear2dOp, IMAGE, result=(2, 8, 9, 4), new_height=8, new_width=9, align_corners=True),
    refuses(xnnpack.StaticResizeBilinear2dOp, (7, 9, 4), result=(3, 3, 4), new_height=3, new_width=3),
    takes(xnnpack.ConcatenateOp, (2, 3), (2, 1), result=(2, 4), axis=1),
    takes(xnnpack.ConcatenateOp, (2, 3), (4, 3), (1, 3), result=(7, 3), axis=0),
    takes(xnnpack.ConcatenateOp, (2,), (1,), (1,), (3,), (1,), result=(8,), axis=0),
    refuses(xnnpack.ConcatenateOp, (2, 3), (3, 3), result=(2, 6), axis=1),
    refuses(xnnpack.ConcatenateOp, (2, 3), (3,), result=(3, 3), axis=0),
    refuses(xnnpack.ConcatenateOp, (2, 3), (2, 3), result=(2, 6), axis=2),
)  # fmt: skip


def first(image: torch.Tensor) -> torch.Tensor:
    """The channels before rows and columns."""
    return image.movedim(-1, -3)


def last(image: torch.Tensor) -> torch.Tensor:
    return image.movedim(-3, -1)


def padded(x: torch.Tensor, p: dict[str, Any], value: float = 0.0) -> torch.Tensor:
    top, right, bottom, left = p.get("padding", (0, 0, 0, 0))
    return functional.pad(first(x), (left, right, top, bottom), value=value)


def convolve(
    p: dict[str, Any], x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    stride, dilation, groups = p.get("stride", 1), p.get("dilation", 1), p.get("groups", 1)
    return last(functional.conv2d(padded(x, p), first(weight), bias, stride, 0, dilation, groups))


def deconvolve(p: dict[str, Any], x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """PyTorch has the input channels first, and one padding for both sides."""
    groups = p.get("groups", 1)
    out, rows, columns, group_in = weight.shape
    swapped = weight.reshape(groups, out // groups, rows, columns, group_in).permute(0, 4, 1, 2, 3).flatten(0, 1)
    top, right, bottom, left = p.get("padding", (0, 0, 0, 0))
    assert (top, left) == (bottom, right)
    stride, adjustment = p.get("stride", (1, 1)), p.get("adjustment", (0, 0))
    return last(functional.conv_transpose2d(first(x), swapped, None, stride, (top, left), adjustment, groups))


def slice_(p: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    ranges = zip(p["offsets"], p["sizes"], strict=True)
    return x[tuple(slice(offset, offset + size) for offset, size in ranges)]


def pad(p: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    pairs = list(zip(p["pre_paddings"], p["post_paddings"], strict=True))
    return functional.pad(x, [size for pair in reversed(pairs) for size in pair])


def mean(p: dict[str, Any], x: torch.Tensor) -> torch.Tensor:
    return x.mean((-3, -2), keepdim=p.get("keep_dims", False))


EAGER: dict[type[xnnpack.NodeOp], Callable[..., torch.Tensor]] = {
    xnnpack.UnaryOp: lambda p, x: x.abs(),
    xnnpack.ClampOp: lambda p, x: x.clamp(0, 1),
    xnnpack.EluOp: lambda p, x: functional.elu(x),
    xnnpack.LeakyReluOp: lambda p, x: functional.leaky_relu(x, 0.5),
    xnnpack.SoftmaxOp: lambda p, x: x.softmax(-1),
    xnnpack.BinaryOp: lambda p, a, b: a + b if p["kind"] == "add" else a * b,
    xnnpack.FullyConnectedOp: lambda p, x, w, b=None: functional.linear(x, w.T if p.get("transpose_weights") else w, b),
    xnnpack.BatchMatrixMultiplyOp: lambda p, a, b: a @ (b.mT if p.get("transpose_b") else b),
    xnnpack.Conv2dOp: convolve,
    xnnpack.DepthwiseConv2dOp: lambda p, x, w: convolve(p, x, w.movedim(3, 0).movedim(1, 3)),
    xnnpack.Deconv2dOp: deconvolve,
    xnnpack.MaxPooling2dOp: lambda p, x: last(
        functional.max_pool2d(padded(x, p, float("-inf")), p["kernel"], p.get("stride", 1), 0, p.get("dilation", 1))
    ),
    xnnpack.AveragePooling2dOp: lambda p, x: last(functional.avg_pool2d(padded(x, p), p["kernel"], p.get("stride", 1))),
    xnnpack.ArgMaxPooling2dOp: lambda p, x: last(functional.max_pool2d(padded(x, p), p["kernel"])),
    xnnpack.GlobalAveragePooling2dOp: mean,
    xnnpack.StaticReduceOp: lambda p, x: x.sum(p["axes"], keepdim=p.get("keep_dims", False)),
    xnnpack.StaticTransposeOp: lambda p, x: x.permute(p["perm"]),
    xnnpack.StaticReshapeOp: lambda p, x: x.reshape([size or -1 for size in p["new_shape"]]),
    xnnpack.StaticSliceOp: slice_,
    xnnpack.StaticConstantPadOp: pad,
    xnnpack.StaticResizeBilinear2dOp: lambda p, x: last(
        functional.interpolate(
            first(x), (p["new_height"], p["new_width"]), mode="bilinear", align_corners=p.get("align_corners")
        )
    ),
    xnnpack.ConcatenateOp: lambda p, *xs: torch.cat(xs, p["axis"]),
}
"""A node in PyTorch, of its properties and operands."""

KINDS: dict[type[xnnpack.NodeOp], type[EnumAttribute[Any]]] = {
    xnnpack.UnaryOp: xnnpack.UnaryKindAttr,
    xnnpack.BinaryOp: xnnpack.BinaryKindAttr,
    xnnpack.StaticReduceOp: xnnpack.ReduceKindAttr,
}


def attribute(op: type[xnnpack.NodeOp], value: Any) -> Attribute:
    """A property of the op: a text is its kind."""
    if isinstance(value, str):
        return KINDS[op](KINDS[op].enum_type(value))
    if isinstance(value, bool):
        return UnitAttr()
    if isinstance(value, tuple):
        return DenseArrayBase.from_list(i32, value)
    return FloatAttr(value, f32) if isinstance(value, float) else IntegerAttr(value, i32)


def graph(case: Case, result: Shape) -> xnnpack.SubgraphOp:
    """A subgraph of the node, whose results have the shape `result`; nothing is verified. Weights are constants."""
    types = [TensorType(f32, shape) for shape in case.operands]
    inputs = types[:1] if case.op.FILTER is not None else types
    block = Block(arg_types=inputs)
    constants = [
        xnnpack.ConstantOp.create(result_types=[t], properties={"value": DenseResourceAttr.from_params("elsewhere", t)})
        for t in types[len(inputs) :]
    ]
    values = [*block.args, *(op.results[0] for op in constants)]
    results: list[Attribute] = [TensorType(f32, result)]
    if case.op is xnnpack.ArgMaxPooling2dOp:
        results.append(TensorType(i32, result))
    defaults = {
        name: each.default_value
        for name, each in case.op.get_irdl_definition().properties.items()
        if each.default_value is not None
    }
    given = {name: attribute(case.op, value) for name, value in case.properties.items()}
    node = case.op.create(operands=values, result_types=results, properties={**defaults, **given})
    block.add_ops([*constants, node, xnnpack.YieldOp.create(operands=node.results)])
    return xnnpack.SubgraphOp.create(
        result_types=results,
        properties={"target": StringAttr("executorch")},
        regions=[Region(block)],
    )


def node_of(subgraph: xnnpack.SubgraphOp) -> xnnpack.NodeOp:
    (node,) = [op for op in subgraph.body.block.ops if isinstance(op, xnnpack.NodeOp)]
    return node


def other_results(result: Shape) -> Iterator[Shape]:
    """Shapes that are not the result's: one size more or less, a dimension more or less."""
    for i, size in enumerate(result):
        yield (*result[:i], size + 1, *result[i + 1 :])
        if size > 1:
            yield (*result[:i], size - 1, *result[i + 1 :])
    yield (*result, 1)
    yield (1, *result)


def test_each_node_has_cases() -> None:
    """But those whose result has any operand's shape, and need other types."""
    assert set(xnnpack.NODE_OPS) - {case.op for case in CASES} == {xnnpack.ConvertOp, xnnpack.CopyOp}
    assert {case.op for case in CASES} == set(EAGER)


def told(call: Callable[[], object], errors: tuple[type[Exception], ...]) -> bool:
    """Whether a call raises one of the errors."""
    try:
        call()
    except errors:
        return True
    return False


def test_eager_says_the_same() -> None:
    errors = RuntimeError, IndexError, NotImplementedError, ValueError
    for case in CASES:
        operands = [torch.zeros(shape) for shape in case.operands]
        if case.refused and not case.eager_takes:
            assert told(lambda: EAGER[case.op](case.properties, *operands), errors), str(case)  # noqa: B023
            continue
        result = tuple(EAGER[case.op](case.properties, *operands).shape)
        assert case.refused or result == case.result, str(case)


def test_the_dialect_says_the_same() -> None:
    for case in CASES:
        node = node_of(graph(case, case.result))
        assert told(node.verify_, (VerifyException,)) == case.refused, str(case)
        if not case.refused:
            assert all(shape == case.result for shape in node.result_shapes(case.operands)), str(case)
            for shape in other_results(case.result):
                assert told(node_of(graph(case, shape)).verify_, (VerifyException,)), f"{case}, {shape}"


def test_the_runtime_says_the_same() -> None:
    ctx = XirContext()
    for case in CASES:
        refusal = check_subgraph(graph(case, case.result), ctx)
        assert (refusal is None) == (case.library_takes or not case.refused), str(case)
        for shape in () if case.refused else other_results(case.result):
            assert check_subgraph(graph(case, shape), ctx) is not None, f"{case}, {shape}"
