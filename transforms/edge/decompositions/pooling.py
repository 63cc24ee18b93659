"""Pooling and resizing: all become pooling of [N, C, H, W], one pair of dimensions at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import Shape, element_of, shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition, in_opmath


@decomposition
def max_pool2d(op: edge.MaxPool2dOp, b: EdgeBuilder) -> SSAValue:
    """`max_pool2d_with_indices(…)`"""
    return _max_pool(b, op.self, _maximum_windows(op))


@decomposition
def max_pool1d(op: edge.MaxPool1dOp, b: EdgeBuilder) -> SSAValue:
    """`squeeze(max_pool2d_with_indices(unsqueeze(self, -2), …), -2)`"""
    row = b.call(edge.UnsqueezeOp, self=op.self, dim=-2)
    return b.call(edge.SqueezeDimsOp, self=_max_pool(b, row, _maximum_windows(op).behind()), dim=[-2])


@decomposition
def avg_pool1d(op: edge.AvgPool1dOp, b: EdgeBuilder) -> SSAValue:
    """`squeeze(avg_pool2d(unsqueeze(self, -2), …), -2)`"""
    row = b.call(edge.UnsqueezeOp, self=op.self, dim=-2)
    pooled = _avg_pool(b, row, _mean_windows(op).behind(), op.count_include_pad, None)
    return b.call(edge.SqueezeDimsOp, self=pooled, dim=[-2])


@decomposition
@in_opmath
def avg_pool3d(op: edge.AvgPool3dOp, b: EdgeBuilder) -> SSAValue | None:
    """`avg_pool2d` over height and width, then over depth, with views around them; of integers sums first, where all
    windows are of one size"""
    windows, divisor = _mean_windows(op), op.divisor_override
    if divisor is None and isinstance(element_of(op.self), IntegerType):
        if windows.ceil_mode or (any(windows.padding) and not op.count_include_pad):
            return None
        divisor = math.prod(windows.kernel_size)
    once = None if divisor is None else 1

    def by_plane(planes: SSAValue) -> SSAValue:
        return _avg_pool(b, planes, windows.of_plane(), op.count_include_pad, once)

    def by_depth(columns: SSAValue) -> SSAValue:
        return _avg_pool(b, columns, windows.of_depth(), op.count_include_pad, divisor)

    return _pool3d(op.self, b, by_plane, by_depth)


@decomposition
def max_pool3d(op: edge.MaxPool3dWithIndicesOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """`max_pool2d_with_indices` over height and width, then over depth, with views around them, where the indices are
    unused"""
    if op.results[1].first_use is not None:
        return None
    windows = _maximum_windows(op)
    values = _pool3d(
        op.self,
        b,
        lambda planes: _max_pool(b, planes, windows.of_plane()),
        lambda columns: _max_pool(b, columns, windows.of_depth()),
    )
    return _without_indices(op, b, values)


@decomposition
@in_opmath
def adaptive_avg_pool3d(op: edge.AdaptiveAvgPool3dOp, b: EdgeBuilder) -> SSAValue:
    """`adaptive_avg_pool2d` over height and width, then over depth, with views around them"""
    depth, height, width = op.output_size
    area = b.product([height, width])
    return _pool3d(
        op.self,
        b,
        lambda planes: b.call(edge.AdaptiveAvgPool2dOp, self=planes, output_size=(height, width)),
        lambda columns: b.call(edge.AdaptiveAvgPool2dOp, self=columns, output_size=(depth, area)),
    )


@dataclass(frozen=True)
class _Windows:
    """What a pooling op says about its windows, a number for each dimension."""

    kernel_size: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    ceil_mode: bool

    def of_plane(self) -> _Windows:
        """Those over [height, width], of windows over [depth, height, width]."""
        return self._with(lambda numbers, neutral: numbers[1:])

    def of_depth(self) -> _Windows:
        """Those over [depth, positions in a plane], of windows over [depth, height, width]."""
        return self._with(lambda numbers, neutral: (numbers[0], neutral))

    def behind(self) -> _Windows:
        """Windows over a row as those over [1, row]."""
        return self._with(lambda numbers, neutral: (neutral, *numbers))

    def _with(self, spread: Callable[[Sequence[int], int], Sequence[int]]) -> _Windows:
        """The numbers of each kind for other dimensions; `spread` is told the number that changes nothing."""
        return _Windows(
            spread(self.kernel_size, 1),
            spread(self.stride, 1),
            spread(self.padding, 0),
            spread(self.dilation, 1),
            self.ceil_mode,
        )


def _maximum_windows(op: edge.MaxPool1dOp | edge.MaxPool2dOp | edge.MaxPool3dWithIndicesOp) -> _Windows:
    """An absent stride is the kernel's size."""
    return _Windows(op.kernel_size, op.stride or op.kernel_size, op.padding, op.dilation, op.ceil_mode)


def _mean_windows(op: edge.AvgPool1dOp | edge.AvgPool3dOp) -> _Windows:
    dense = [1] * len(op.kernel_size)
    return _Windows(op.kernel_size, op.stride or op.kernel_size, op.padding, dense, op.ceil_mode)


def _max_pool(b: EdgeBuilder, value: SSAValue, windows: _Windows) -> SSAValue:
    return b.call(
        edge.MaxPool2dWithIndicesOp,
        self=value,
        kernel_size=windows.kernel_size,
        stride=windows.stride,
        padding=windows.padding,
        dilation=windows.dilation,
        ceil_mode=windows.ceil_mode,
    )


def _avg_pool(
    b: EdgeBuilder, value: SSAValue, windows: _Windows, count_include_pad: bool, divisor: int | None
) -> SSAValue:
    return b.call(
        edge.AvgPool2dOp,
        self=value,
        kernel_size=windows.kernel_size,
        stride=windows.stride,
        padding=windows.padding,
        ceil_mode=windows.ceil_mode,
        count_include_pad=count_include_pad,
        divisor_override=divisor,
    )


def _pool3d(
    value: SSAValue,
    b: EdgeBuilder,
    by_plane: Callable[[SSAValue], SSAValue],
    by_depth: Callable[[SSAValue], SSAValue],
) -> SSAValue:
    """Windows of three dimensions in two steps. Sums and maxima split that way, and so do the counts of elements."""
    *lead, slices, height, width = b.sizes(value)
    planes = by_plane(b.view(value, (b.product(lead), slices, height, width)))
    rows, columns = b.sizes(planes)[-2:]
    lines = by_depth(b.view(planes, (1, b.product(lead), slices, b.product([rows, columns]))))
    return b.view(lines, (*lead, b.size(lines, -2), rows, columns))


@decomposition
def adaptive_avg_pool1d(op: edge.AdaptiveAvgPool1dOp, b: EdgeBuilder) -> SSAValue:
    """`squeeze(adaptive_avg_pool2d(unsqueeze(self, -2), [1, size]), -2)`"""
    row = b.call(edge.UnsqueezeOp, self=op.self, dim=-2)
    pooled = b.call(edge.AdaptiveAvgPool2dOp, self=row, output_size=[1, *op.output_size])
    return b.call(edge.SqueezeDimsOp, self=pooled, dim=[-2])


@decomposition
def adaptive_avg_pool2d(op: edge.AdaptiveAvgPool2dOp, b: EdgeBuilder) -> SSAValue:
    """`mean(self, [-2, -1])` if it leaves one element, else `_adaptive_avg_pool2d(…)`"""
    value, size = op.self, op.output_size
    if size == (1, 1):
        return b.call(edge.MeanDimOp, self=value, dim=[-2, -1], keepdim=True)
    return b.call(edge.InternalAdaptiveAvgPool2dOp, self=value, output_size=size)


@decomposition
def adaptive_max_pool2d(op: edge.AdaptiveMaxPool2dOp, b: EdgeBuilder) -> Sequence[SSAValue] | None:
    """`max_pool2d_with_indices(…)` if the windows are alike, else, where the indices are unused, `amax` if it leaves
    one element, or `cat` of the `amax` of each window's rows, and then of its columns"""
    value, size = op.self, op.output_size
    space = shape_of(value)[-2:]
    is_open = min(space) < 0
    if not is_open and all(length % count == 0 for length, count in zip(space, size, strict=True)):
        kernel = tuple(length // count for length, count in zip(space, size, strict=True))
        return b.calls(edge.MaxPool2dWithIndicesOp, self=value, kernel_size=kernel, stride=kernel)
    if op.results[1].first_use is not None:
        return None
    if size == (1, 1):
        return _without_indices(op, b, b.call(edge.AmaxOp, self=value, dim=[-2, -1], keepdim=True))
    if is_open:
        return None
    for dim, count in zip((-2, -1), size, strict=True):
        maxima: list[SSAValue] = []
        for start, end in cell_bounds(space[dim], count):
            window = b.call(edge.SliceTensorOp, self=value, dim=dim, start=start, end=end)
            maxima.append(b.call(edge.AmaxOp, self=window, dim=[dim], keepdim=True))
        value = b.call(edge.CatOp, tensors=maxima, dim=dim)
    return _without_indices(op, b, value)


def cell_bounds(size: int, count: int) -> list[tuple[int, int]]:
    """(start, end) of each of the cells that ATen cuts so many elements into; they may overlap.

    Source: `start_index` and `end_index` in ATen/native/AdaptivePooling.h.
    """
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def _without_indices(op: edge.EdgeOp, b: EdgeBuilder, values: SSAValue) -> Sequence[SSAValue]:
    """Results whose indices have no user: anything of their type will do."""
    return values, b.call(edge.FullOp, size=b.sizes(values), fill_value=0)


@decomposition
def upsample(op: edge.UpsampleBilinear2dOp | edge.UpsampleNearest2dOp, b: EdgeBuilder) -> SSAValue | None:
    """`upsample_bilinear2d.vec(…)`, `upsample_nearest2d.vec(…)`: by the factors if there are some, else to the size

    They take one of the two; a call whose factors contradict its size stays.
    """
    size, factors = op.output_size, None
    # The factors say more than the size, as long as both agree: they are what ATen computes positions from.
    if op.scales_h is not None and op.scales_w is not None:
        given = (op.scales_h, op.scales_w)
        if scaled_shape(shape_of(op.self), given) == shape_of(op.results[0]):
            size, factors = None, given
    if factors is None and not follows_from_size(op):
        return None
    if isinstance(op, edge.UpsampleNearest2dOp):
        return b.call(edge.UpsampleNearest2dVecOp, input=op.self, output_size=size, scale_factors=factors)
    return b.call(
        edge.UpsampleBilinear2dVecOp,
        input=op.self,
        output_size=size,
        align_corners=op.align_corners,
        scale_factors=factors,
    )


def follows_from_size(op: edge.UpsampleBilinear2dOp | edge.UpsampleNearest2dOp) -> bool:
    """Whether ATen computes the same without the factors (`aten/src/ATen/native/UpSample.h`).

    It does not look at one that is not positive, nor where corners are aligned, an image keeps its size, or nearest
    neighbours double it.
    """
    if isinstance(op, edge.UpsampleBilinear2dOp) and op.align_corners:
        return True
    ignored = (1, 2) if isinstance(op, edge.UpsampleNearest2dOp) else (1,)
    sizes = zip((op.scales_h, op.scales_w), shape_of(op.self)[2:], shape_of(op.results[0])[2:], strict=True)
    return all(
        factor is None or factor <= 0 or (size > 0 and (1 / factor == size / out or out / size in ignored))
        for factor, size, out in sizes
    )


def scaled_shape(shape: Shape, factors: Sequence[float]) -> Shape:
    """[N, C, H, W] enlarged by (factor of H, factor of W), rounded down."""
    space = (size if size < 0 else int(size * factor) for size, factor in zip(shape[2:], factors, strict=True))
    return (*shape[:2], *space)
