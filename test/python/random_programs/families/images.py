"""Convolutions, pooling and resampling."""

from __future__ import annotations

from random_programs.builder import Builder

MOVED = (
    "F.max_pool2d({x}, {k}, {stride})", "F.avg_pool2d({x}, {k}, {stride})", "F.adaptive_avg_pool2d({x}, 2)",
    "F.adaptive_avg_pool2d({x}, (3, 1))", "F.avg_pool2d({x}, {k}, {stride}, {half}, ceil_mode=True)",
    "F.avg_pool2d({x}, {k}, {stride}, {half}, count_include_pad=False)", "F.interpolate({x}, scale_factor=2)",
    "F.interpolate({x}, scale_factor=2, mode='bilinear')", "F.interpolate({x}, scale_factor=1.5, mode='bilinear')",
    "F.interpolate({x}, size=(4, 5), mode='bilinear', align_corners=True)", "F.interpolate({x}, size=(3, 2))",
    "F.interpolate({x}, scale_factor=2, mode='bicubic')", "F.interpolate({x}, size=(2, 3), mode='area')",
    "F.pad({x}, (1, 0, 0, 1), mode='replicate')", "{x}.mean((2, 3))", "F.pixel_unshuffle({x}, 1)",
)  # fmt: skip

BEHIND = ("F.relu({y})", "F.relu6({y})", "{y}.clamp(-1, 1)", "F.hardswish({y})", "{y} + {y}")


def image(b: Builder) -> None:
    x = b.real(4)
    if b.rank(x) != 4:
        return
    height, width = b.shape(x)[2:]
    k = [b.int(1, min(3, height)), b.int(1, min(3, width))]
    stride, half = [b.int(1, 2), b.int(1, 2)], [each // 2 for each in k]
    form = convolution(b, x, k, stride, half) if b.flag() else b.one(MOVED).format(x=x, k=k, stride=stride, half=half)
    y = b.computes(form)
    if y is not None and b.flag(0.4):
        b.computes(b.one(BEHIND).format(y=y))


def convolution(b: Builder, x: str, k: list[int], stride: list[int], half: list[int]) -> str:
    """Plain, depthwise or transposed, of weights of its own."""
    channels, dtype = b.shape(x)[1], b.dtype(x)
    if b.flag(0.25):
        w = b.weight(channels, b.int(1, 2), *k, dtype=dtype)
        return f"F.conv_transpose2d({x}, {w}, None, {stride})"
    groups = b.one([1, channels])
    w = b.weight(groups * b.int(1, 2), channels // groups, *k, dtype=dtype)
    bias = b.weight(b.shape(w)[0], dtype=dtype) if b.flag() else None
    return b.one(
        [
            f"F.conv2d({x}, {w}, {bias}, {stride}, {half}, groups={groups})",
            f"F.conv2d({x}, {w}, {bias}, padding='same', groups={groups})",
        ]
    )
