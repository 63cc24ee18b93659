"""Pooling, resizing and sampling of [batch, channels, *space], the batch optional."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.ir.symbolic_size import SymbolicSize, UndecidedSizeError, floor_div

from .accessors import Size
from .base import row
from .types import Shape, element_of, known, shape_of, shape_text, tensor_type

LARGEST_DENOMINATOR = 64
"""Of a factor that an open size may have, such as 1.5 or 1.1."""

BELOW, ABOVE = Fraction(1, 2**54), Fraction(1, 2**52)
"""How far the fp64 number of such a factor may be from it, relative to it. By no more than BELOW a whole product is
rounded up again, for that is half of the distance to the next lower number at most."""

if TYPE_CHECKING:
    from . import ops

    AveragePool = ops.AvgPool1dOp | ops.AvgPool2dOp | ops.AvgPool3dOp
    MaximumPool = ops.MaxPool1dOp | ops.MaxPool2dOp | ops.MaxPool2dWithIndicesOp | ops.MaxPool3dWithIndicesOp
    AdaptivePool = (
        ops.AdaptiveAvgPool1dOp
        | ops.AdaptiveAvgPool2dOp
        | ops.AdaptiveAvgPool3dOp
        | ops.AdaptiveMaxPool2dOp
        | ops.InternalAdaptiveAvgPool2dOp
    )


def _split_space(shape: Shape, spatial: int) -> tuple[Shape, Shape]:
    if len(shape) not in (spatial + 1, spatial + 2):
        raise VerifyException(
            f"input has shape {shape_text(shape)}, expected {spatial + 1} or {spatial + 2} dimensions"
        )
    return shape[:-spatial], shape[-spatial:]


def pooled_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """One output dimension. With ceil_mode the last window may hang over, but has to start within input or left
    padding (`at::native::pooling_output_shape`)."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1
    out = floor_div(reach + (stride - 1 if ceil_mode else 0), stride) + 1
    if ceil_mode and (out - 1) * stride >= size + padding:
        out -= 1
    return out


def _mean(spatial: int) -> Callable[[AveragePool], Sequence[Attribute]]:
    def infer(op: AveragePool) -> Sequence[Attribute]:
        return (tensor_type(element_of(op.self), _pooled(op, (1,) * spatial, spatial)),)

    return infer


def _maximum(spatial: int, indices: bool = False) -> Callable[[MaximumPool], Sequence[Attribute]]:
    def infer(op: MaximumPool) -> Sequence[Attribute]:
        shape = _pooled(op, op.dilation, spatial)
        result = tensor_type(element_of(op.self), shape)
        return (result, tensor_type(i64, shape)) if indices else (result,)

    return infer


def _pooled(op: AveragePool | MaximumPool, dilation: Sequence[int], spatial: int) -> Shape:
    """The shape of what windows over the last `spatial` dimensions give."""
    lead, space = _split_space(shape_of(op.self), spatial)
    kernel, padding, stride = op.kernel_size, op.padding, op.stride or op.kernel_size
    if any(len(sizes) != spatial for sizes in (kernel, stride, padding, dilation)):
        raise VerifyException(f"kernel_size, stride, padding and dilation have {spatial} values each")
    if min(*kernel, *stride, *dilation) < 1 or min(padding) < 0:
        raise VerifyException("kernel_size, stride and dilation are at least 1, padding at least 0")
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise VerifyException("padding is at most half the kernel_size")
    out = tuple(
        size if size < 0 else pooled_size(size, k, s, p, d, op.ceil_mode)
        for size, k, s, p, d in zip(space, kernel, stride, padding, dilation, strict=True)
    )
    if any(o < 1 for o, size in zip(out, space, strict=True) if size >= 0):
        raise VerifyException(f"window {shape_text(tuple(kernel))} is larger than the padded input")
    return (*lead, *out)


def _adaptive(spatial: int, indices: bool = False) -> Callable[[AdaptivePool], Sequence[Attribute]]:
    def infer(op: AdaptivePool) -> Sequence[Attribute]:
        value = op.self
        lead, _ = _split_space(shape_of(value), spatial)
        space = tuple(map(known, op.output_size))
        if len(space) != spatial:
            raise VerifyException(f"output_size has {len(space)} values, expected {spatial}")
        shape = (*lead, *space)
        result = tensor_type(element_of(value), shape)
        return (result, tensor_type(i64, shape)) if indices else (result,)

    return infer


def _upsample(op: ops.UpsampleBilinear2dOp | ops.UpsampleNearest2dOp) -> Sequence[Attribute]:
    return _resized(op.self, op.output_size)


def _upsample_vec(op: ops.UpsampleBilinear2dVecOp | ops.UpsampleNearest2dVecOp) -> Sequence[Attribute]:
    size, factors = op.output_size, op.scale_factors
    if size is None:
        if factors is None or len(factors) != 2 or not all(map(math.isfinite, factors)):
            raise VerifyException("needs either output_size or two scale_factors")
        space = shape_of(op.input)[2:]
        if len(space) == 2:
            size = [scaled(d, factor) for d, factor in zip(space, factors, strict=True)]
    return _resized(op.input, size or ())


def scaled(size: int, factor: float) -> int:
    """A size times a factor, rounded down. A symbolic size takes factors of small denominators, such as 1.5 or 1.1.

    A factor that fp64 rounds down too far is none: 45 · 1.4 is 62.99999999999999 there, which makes 62.
    """
    if not isinstance(size, SymbolicSize):
        return size if size < 0 else int(size * factor)
    ratio = Fraction(factor).limit_denominator(LARGEST_DENOMINATOR)
    if not ratio or not -BELOW <= Fraction(factor) / ratio - 1 <= ABOVE:
        raise UndecidedSizeError
    return floor_div(size * ratio.numerator, ratio.denominator)


def _resized(value: SSAValue, size: Sequence[Size]) -> Sequence[Attribute]:
    """The type of images of another size."""
    shape = shape_of(value)
    if len(shape) != 4:
        raise VerifyException(f"input has shape {shape_text(shape)}, expected 4 dimensions")
    if len(size) != 2 or any(known(s) == 0 for s in size):
        raise VerifyException("output_size has two positive values")
    return (tensor_type(element_of(value), (*shape[:2], *map(known, size))),)


def _pixel_shuffle(op: ops.PixelShuffleOp) -> Sequence[Attribute]:
    value, factor = op.self, op.upscale_factor
    shape = shape_of(value)
    if len(shape) < 3 or factor < 1 or (shape[-3] > 0 and shape[-3] % factor**2):
        raise VerifyException(f"cannot spread the channels of {shape_text(shape)} over {factor}x{factor}")
    c, h, w = shape[-3:]
    channels = c // factor**2 if c > 0 else c
    return (tensor_type(element_of(value), (*shape[:-3], channels, *(d * factor if d > 0 else d for d in (h, w)))),)


def _pixel_unshuffle(op: ops.PixelUnshuffleOp) -> Sequence[Attribute]:
    value, factor = op.self, op.downscale_factor
    shape = shape_of(value)
    if len(shape) < 3 or factor < 1 or any(d > 0 and d % factor for d in shape[-2:]):
        raise VerifyException(f"cannot gather {factor}x{factor} blocks of {shape_text(shape)}")
    c, h, w = shape[-3:]
    channels = c * factor**2 if c > 0 else c
    return (tensor_type(element_of(value), (*shape[:-3], channels, *(d // factor if d > 0 else d for d in (h, w)))),)


def _grid_sampler(op: ops.GridSampler2dOp) -> Sequence[Attribute]:
    value = op.input
    shape, grid = shape_of(value), shape_of(op.grid)
    if len(shape) != 4 or len(grid) != 4 or grid[3] != 2:
        raise VerifyException(f"takes NCHW and a grid [N, H, W, 2], got {shape_text(grid)}")
    return (tensor_type(element_of(value), (*shape[:2], *grid[1:3])),)


ROWS = [
    row("aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True) -> Tensor", "Mean of windows.", out="avg_pool1d.out",
        infer=_mean(1)),
    row("aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
        "Mean of windows; no stride means the kernel's size.", out="avg_pool2d.out", infer=_mean(2)),
    row("aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
        "Mean of windows.", out="avg_pool3d.out", infer=_mean(3)),
    row("aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
        "bool ceil_mode=False) -> Tensor", "Maximum of windows.", infer=_maximum(1)),
    row("aten::max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
        "bool ceil_mode=False) -> Tensor", "Maximum of windows; no stride means the kernel's size.", infer=_maximum(2)),
    row("aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, "
        "int[2] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", "Maximum of windows, and where it is.",
        out="max_pool2d_with_indices.out", infer=_maximum(2, indices=True)),
    row("aten::max_pool3d_with_indices(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, "
        "int[3] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", "Maximum of windows, and where it is.",
        out="max_pool3d_with_indices.out", infer=_maximum(3, indices=True)),
    row("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
        "Mean of as many windows as the output has elements.", out="adaptive_avg_pool1d.out", infer=_adaptive(1)),
    row("aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
        "Mean of as many windows as the output has elements.", out="adaptive_avg_pool2d.out", infer=_adaptive(2)),
    row("aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
        "adaptive_avg_pool2d after decomposition.", out="_adaptive_avg_pool2d.out", infer=_adaptive(2),
        class_name="InternalAdaptiveAvgPool2dOp"),
    row("aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
        "adaptive_avg_pool3d after decomposition.", out="_adaptive_avg_pool3d.out", infer=_adaptive(3)),
    row("aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
        "Maximum of as many windows as the output has elements, and where it is.", out="adaptive_max_pool2d.out",
        infer=_adaptive(2, indices=True)),
    row("aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
        "float? scales_w=None) -> Tensor", "Bilinear interpolation.", out="upsample_bilinear2d.out", infer=_upsample),
    row("aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, "
        "float[]? scale_factors) -> Tensor", "Bilinear interpolation to a size or by factors.",
        out="upsample_bilinear2d.vec_out", infer=_upsample_vec),
    row("aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None) "
        "-> Tensor", "Nearest neighbour.", out="upsample_nearest2d.out", infer=_upsample),
    row("aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
        "Nearest neighbour, to a size or by factors.", out="upsample_nearest2d.vec_out", infer=_upsample_vec),
    row("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", "Channels to blocks of space.",
        out="pixel_shuffle.out", infer=_pixel_shuffle),
    row("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", "Blocks of space to channels.",
        out="pixel_unshuffle.out", infer=_pixel_unshuffle),
    row("aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
        "bool align_corners) -> Tensor", "Samples of the input at the grid's points (in [-1, 1]).",
        out="grid_sampler_2d.out", infer=_grid_sampler),
]  # fmt: skip
