"""Pooling and resizing: all become pooling of [N, C, H, W], one pair of dimensions at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import Shape, shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, static_shape


@decomposition("edge.max_pool2d")
def max_pool2d(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`max_pool2d_with_indices(…)`"""
    return b.call("max_pool2d_with_indices", self=op.required("self"), **_window(op))


@decomposition("edge.max_pool1d", "edge.avg_pool1d")
def pool1d(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`squeeze(max_pool2d_with_indices(unsqueeze(self, -2), …), -2)`, or `avg_pool2d`"""
    row = b.call("unsqueeze", self=op.required("self"), dim=-2)
    kind = "max_pool2d_with_indices" if op.schema.name == "max_pool1d" else "avg_pool2d"
    lengths = {name: value for name, value in _window(op).items() if isinstance(value, tuple)}
    rest = {name: value for name, value in _window(op).items() if name not in lengths}
    pairs = {name: (0 if name == "padding" else 1, *value) for name, value in lengths.items()}
    return b.call("squeeze.dims", self=b.call(kind, self=row, **pairs, **rest), dim=[-2])


@decomposition("edge.avg_pool3d")
def avg_pool3d(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`avg_pool2d` over height and width, then over depth, with views around them"""
    window = _window(op)
    divisor = window.pop("divisor_override")
    plane, depth = _plane_and_depth(window)
    if divisor is not None:
        plane["divisor_override"], depth["divisor_override"] = 1, divisor
    return _pool3d(op, b, "avg_pool2d", plane, depth)


@decomposition("edge.max_pool3d_with_indices")
def max_pool3d(op: edge.EdgeOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """`max_pool2d_with_indices` over height and width, then over depth, with views around them, where the indices are
    unused"""
    if op.results[1].first_use is not None:
        return None
    values = _pool3d(op, b, "max_pool2d_with_indices", *_plane_and_depth(_window(op)))
    return None if values is None else _without_indices(op, b, values)


@decomposition("edge._adaptive_avg_pool3d")
def adaptive_avg_pool3d(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`adaptive_avg_pool2d` over height and width, then over depth, with views around them"""
    depth, height, width = op.value("output_size")
    columns = b.product([height, width])
    return _pool3d(op, b, "adaptive_avg_pool2d", {"output_size": (height, width)}, {"output_size": (depth, columns)})


def _window(op: edge.EdgeOp) -> dict[str, Any]:
    """What a pooling op says about its windows. An absent stride is the kernel's size."""
    window = {name: op.value(name) for name in op.schema.values}
    return window | {"stride": window["stride"] or window["kernel_size"]}


def _plane_and_depth(window: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The windows over [height, width], and those over [depth, positions in a plane]."""
    plane, depth = dict(window), dict(window)
    for name, value in window.items():
        if isinstance(value, tuple):
            along, *across = value
            plane[name], depth[name] = tuple(across), (along, 0 if name == "padding" else 1)
    return plane, depth


def _pool3d(
    op: edge.EdgeOp, b: EdgeBuilder, kind: str, plane: dict[str, Any], depth: dict[str, Any]
) -> SSAValue | None:
    """Windows of three dimensions in two steps. Sums and maxima split that way, and so do the counts of elements."""
    value = op.required("self")
    if static_shape(value) is None:
        return None
    *lead, slices, height, width = shape_of(value)
    planes = b.call(kind, self=b.view(value, (math.prod(lead), slices, height, width)), **plane)
    *_, height, width = shape_of(planes)
    columns = b.call(kind, self=b.view(planes, (1, math.prod(lead), slices, height * width)), **depth)
    return b.view(columns, shape_of(op.results[0]))


@decomposition("edge.adaptive_avg_pool1d")
def adaptive_avg_pool1d(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`squeeze(adaptive_avg_pool2d(unsqueeze(self, -2), [1, size]), -2)`"""
    row = b.call("unsqueeze", self=op.required("self"), dim=-2)
    pooled = b.call("adaptive_avg_pool2d", self=row, output_size=[1, *op.value("output_size")])
    return b.call("squeeze.dims", self=pooled, dim=[-2])


@decomposition("edge.adaptive_avg_pool2d")
def adaptive_avg_pool2d(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`mean(self, [-2, -1])` if it leaves one element, else `_adaptive_avg_pool2d(…)`"""
    value, size = op.required("self"), op.value("output_size")
    if size == (1, 1):
        return b.call("mean.dim", self=value, dim=[-2, -1], keepdim=True)
    return b.call("_adaptive_avg_pool2d", self=value, output_size=size)


@decomposition("edge.adaptive_max_pool2d")
def adaptive_max_pool2d(op: edge.EdgeOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """`max_pool2d_with_indices(…)` if the windows are alike, else, where the indices are unused, `cat` of the `amax`
    of each one's rows, and then of its columns"""
    value, size = op.required("self"), op.value("output_size")
    shape = static_shape(value)
    if shape is None:
        return None
    if all(length % count == 0 for length, count in zip(shape[-2:], size, strict=True)):
        kernel = tuple(length // count for length, count in zip(shape[-2:], size, strict=True))
        return b.calls("max_pool2d_with_indices", self=value, kernel_size=kernel, stride=kernel)
    if op.results[1].first_use is not None:
        return None
    for dim, count in zip((-2, -1), size, strict=True):
        length = shape[dim]
        maxima: list[SSAValue] = []
        for i in range(count):
            # As `at::native::start_index` and `end_index` have them.
            start, end = i * length // count, -(-(i + 1) * length // count)
            window = b.call("slice.Tensor", self=value, dim=dim, start=start, end=end)
            maxima.append(b.call("amax", self=window, dim=[dim], keepdim=True))
        value = b.call("cat", tensors=maxima, dim=dim)
    return _without_indices(op, b, value)


def _without_indices(op: edge.EdgeOp, b: EdgeBuilder, values: SSAValue) -> Sequence[SSAValue]:
    """Results whose indices have no user: anything of their type will do."""
    return values, b.call("full", size=shape_of(op.results[1]), fill_value=0)


@decomposition("edge.upsample_bilinear2d", "edge.upsample_nearest2d")
def upsample(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`upsample_bilinear2d.vec(…)`, `upsample_nearest2d.vec(…)`: by the factors if there are some, else to the size"""
    value, size = op.required("self"), op.value("output_size")
    factors = (op.value("scales_h"), op.value("scales_w"))
    result = op.results[0]
    how: dict[str, Any] = {"output_size": size, "scale_factors": None}
    # The factors say more than the size, as long as both agree: they are what ATen computes positions from.
    if None not in factors and scaled_shape(shape_of(value), factors) == shape_of(result):
        how = {"output_size": None, "scale_factors": factors}
    corners = {"align_corners": op.value("align_corners")} if "align_corners" in op.schema.values else {}
    return b.call(f"{op.schema.name}.vec", input=value, **how, **corners)


def scaled_shape(shape: Shape, factors: Sequence[float]) -> Shape:
    """[N, C, H, W] enlarged by (factor of H, factor of W), rounded down."""
    space = (size if size < 0 else int(size * factor) for size, factor in zip(shape[2:], factors, strict=True))
    return (*shape[:2], *space)
