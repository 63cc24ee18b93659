"""Convolutions of volumes, by planes: XNNPACK convolves two dimensions."""

from collections.abc import Sequence

import torch

from .registry import decomposes
from .shape import with_zeros_between

aten = torch.ops.aten


@decomposes(aten.conv_transpose3d.input)
def conv_transpose3d(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> torch.Tensor:
    """A convolution with the mirrored kernel, of the input with zeros between its elements and around them."""
    if input.dim() == 4:
        rest = (weight, bias, stride, padding, output_padding, groups, dilation)
        return conv_transpose3d(input.unsqueeze(0), *rest).squeeze(0)
    steps, borders, extras, distances = (
        list(numbers) * 3 if len(numbers) == 1 else list(numbers)
        for numbers in (stride, padding, output_padding, dilation)
    )
    spread, border = input, list[int]()
    for i, (step, edge, extra, distance) in enumerate(zip(steps, borders, extras, distances, strict=True)):
        spread = with_zeros_between(spread, 2 + i, step)
        reach = distance * (weight.shape[2 + i] - 1) - edge
        border = [reach, reach + extra, *border]
    spread = aten.constant_pad_nd(spread, border)
    mirrored = weight.flip([2, 3, 4])
    # Reshaped only where it must be: that cuts through what a quantised filter has scales of.
    by_output = (
        mirrored.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1) if groups > 1 else mirrored.transpose(0, 1)
    )
    return conv3d(spread, by_output, bias, (1,), (0,), distances, groups)


@decomposes(aten.conv3d.default)
def conv3d(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> torch.Tensor:
    """The sum of convolutions of planes, one for each plane of the kernel: XNNPACK convolves two dimensions."""
    if input.dim() == 4:
        return conv3d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    (step, *steps), (border, *borders), (distance, *distances) = (
        list(numbers) * 3 if len(numbers) == 1 else list(numbers) for numbers in (stride, padding, dilation)
    )
    batch, channels, _, height, width = input.shape
    planes = aten.constant_pad_nd(input, [0, 0, 0, 0, border, border]) if border else input
    planes = planes.permute(0, 2, 1, 3, 4)
    depth = (planes.shape[1] - distance * (weight.shape[2] - 1) - 1) // step + 1
    total = None
    for k in range(weight.shape[2]):
        met = planes[:, k * distance : k * distance + (depth - 1) * step + 1 : step]
        images = met.reshape(batch * depth, channels, height, width)
        part = aten.conv2d(images, weight[:, :, k], bias if total is None else None, steps, borders, distances, groups)
        total = part if total is None else total + part
    assert total is not None
    return total.reshape(batch, depth, *total.shape[1:]).permute(0, 2, 1, 3, 4)


@decomposes(aten.conv3d.padding)
def conv3d_padded(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: str = "valid",
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> torch.Tensor:
    """A border as wide as the kernel reaches, one more behind than before where that is odd, or none."""
    if padding == "same":
        distances = list(dilation) * 3 if len(dilation) == 1 else dilation
        reaches = [distance * (size - 1) for distance, size in zip(distances, weight.shape[2:], strict=True)]
        border = [width for reach in reversed(reaches) for width in (reach // 2, reach - reach // 2)]
        input = aten.constant_pad_nd(input, border)
    return conv3d(input, weight, bias, stride, (0,), dilation, groups)
