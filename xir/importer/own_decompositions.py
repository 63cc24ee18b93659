"""Operators in terms of others, where torch has no decomposition, or one by comparisons, which XNNPACK cannot compute.

Each is what ATen's documentation says of the operator, written in operators that the edge dialect has rows for.
"""

# pyright: reportPrivateUsage=false
# torch's way out of tracing begins with an underscore.

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .aliasing import Operator
from .dtypes import is_open

aten = torch.ops.aten

OWN: dict[Operator, Callable[..., Any]] = {}
"""Operator -> a function of its arguments that calls others."""


def decomposes(*operators: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as what these operators are."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for operator in operators:
            OWN[operator] = function
        return function

    return register


LARGEST = torch.finfo(torch.float32).max


def finite(value: torch.Tensor) -> torch.Tensor:
    """`value` with the largest numbers for infinities, so that the difference of two infinities is a number."""
    return value.clamp(-LARGEST, LARGEST)


@decomposes(aten.celu.default)
def celu(self: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
    """ELU of another slope."""
    return aten.elu(self, alpha, 1.0, 1.0 / alpha)


@decomposes(aten.softshrink.default)
def softshrink(self: torch.Tensor, lambd: float = 0.5) -> torch.Tensor:
    """What is left beyond ±lambd."""
    return self - self.clamp(-lambd, lambd)


@decomposes(aten.rrelu_with_noise.default, aten.rrelu_with_noise_functional.default)
def rrelu_with_noise(
    self: torch.Tensor,
    noise: torch.Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: None = None,
) -> Any:
    """In inference a leaky ReLU of the mean slope."""
    return aten.leaky_relu(self, (lower + upper) / 2)


@decomposes(aten.round.decimals)
def round_decimals(self: torch.Tensor, *, decimals: int) -> torch.Tensor:
    """Round a multiple, or a fraction."""
    unit = 10.0 ** abs(decimals)
    return (self * unit).round() / unit if decimals > 0 else (self / unit).round() * unit


@decomposes(aten.logit.default)
def logit(self: torch.Tensor, eps: float | None = None) -> torch.Tensor:
    """log(x / (1 − x)), x within [eps, 1 − eps]."""
    value = self if eps is None else self.clamp(eps, 1 - eps)
    return (value / aten.rsub.Scalar(value, 1)).log()


@decomposes(aten.hypot.default)
def hypot(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """√(x² + y²) as max·√(1 + (min/max)²), which overflows no earlier than the result."""
    a, b = self.abs(), other.abs()
    large, small = torch.maximum(a, b), finite(torch.minimum(a, b))
    ratio = small / large.clamp(torch.finfo(torch.float32).tiny, LARGEST)
    return large * (ratio * ratio + 1).sqrt()


@decomposes(aten.logaddexp.default)
def logaddexp(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """log(eˣ + eʸ) as max + log(1 + e^−|x − y|)."""
    distance = (finite(self) - finite(other)).abs()
    return torch.maximum(self, other) + (-distance).exp().log1p()


@decomposes(aten.logsumexp.default)
def logsumexp(self: torch.Tensor, dim: Sequence[int], keepdim: bool = False) -> torch.Tensor:
    """log(Σ eˣ) as max + log(Σ e^(x − max))."""
    largest = finite(self.amax(list(dim), True))
    total = (self - largest).exp().sum(list(dim), keepdim).log()
    return total + (largest if keepdim else aten.squeeze.dims(largest, list(dim)))


@decomposes(aten.cosine_similarity.default)
def cosine_similarity(x1: torch.Tensor, x2: torch.Tensor, dim: int = 1, eps: float = 1e-08) -> torch.Tensor:
    """The product of both, each divided by its length, at least `eps`."""
    x1, x2 = torch.broadcast_tensors(x1, x2)
    units = (x / aten.linalg_vector_norm(x, 2, [dim], True).clamp(eps) for x in (x1, x2))
    first, second = units
    return (first * second).sum([dim])


@decomposes(aten.var_mean.correction)
def var_mean(
    self: torch.Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The variance and the mean."""
    return aten.var.correction(self, dim, correction=correction, keepdim=keepdim), mean(self, dim, keepdim)


@decomposes(aten.std_mean.correction)
def std_mean(
    self: torch.Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """The standard deviation and the mean."""
    variance, average = var_mean(self, dim, correction=correction, keepdim=keepdim)
    return variance.sqrt(), average


def mean(value: torch.Tensor, dim: Sequence[int] | None, keepdim: bool) -> torch.Tensor:
    """The mean over `dim`, None being all."""
    return aten.mean.dim(value, dim if dim is not None else list(range(value.dim())), keepdim)


@decomposes(aten.addmv.default)
def addmv(self: torch.Tensor, mat: torch.Tensor, vec: torch.Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta·self + alpha·(mat × vec)."""
    product = torch.matmul(mat, vec) * alpha
    return product if beta == 0 else self * beta + product


@decomposes(aten.addbmm.default)
def addbmm(
    self: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    """beta·self + alpha·Σ(batch1 × batch2)."""
    product = torch.bmm(batch1, batch2).sum([0]) * alpha
    return product if beta == 0 else self * beta + product


@decomposes(aten.bilinear.default)
def bilinear(x1: torch.Tensor, x2: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Any:
    """Σ x1ᵢ·weightₒᵢⱼ·x2ⱼ + biasₒ."""
    outputs, first, second = weight.shape
    rows = aten.linear(x1, weight.permute(0, 2, 1).reshape(outputs * second, first))
    product = (rows.reshape(*x1.shape[:-1], outputs, second) * x2.unsqueeze(-2)).sum([-1])
    return product if bias is None else product + bias


@decomposes(aten._native_batch_norm_legit_functional.default)
def batch_norm_with_statistics(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """In training the batch's own mean and variance, and what the running ones become: those of samples, with n - 1."""
    shape = [1, -1] + [1] * (input.dim() - 2)
    if not training:
        scale = (running_var + eps).rsqrt()
        average, updated = running_mean, (running_mean, running_var)
    else:
        dims = [dim for dim in range(input.dim()) if dim != 1]
        average = mean(input, dims, keepdim=False)
        variance = mean((input - average.view(shape)) ** 2, dims, keepdim=False)
        scale = (variance + eps).rsqrt()
        count = input.numel() // input.shape[1]
        sampled = variance * (count / (count - 1))
        updated = (
            running_mean * (1 - momentum) + average * momentum,
            running_var * (1 - momentum) + sampled * momentum,
        )
    result = (input - average.view(shape)) * scale.view(shape)
    if weight is not None:
        result = result * weight.view(shape)
    if bias is not None:
        result = result + bias.view(shape)
    saved = (average, scale) if training else (average.new_empty(0), average.new_empty(0))
    return result, *saved, *updated


@decomposes(aten.native_batch_norm.default)
def batch_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """The same where nobody asks for the running ones, as norms of weights and such that do not track any."""
    channels = input.shape[1]
    mean = input.new_zeros(channels) if running_mean is None else running_mean
    variance = input.new_ones(channels) if running_var is None else running_var
    return batch_norm_with_statistics(input, weight, bias, mean, variance, training, momentum, eps)[:3]


@decomposes(aten.pad.default)
def pad(self: torch.Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> torch.Tensor:
    """A border of any kind; ATen writes a circular one part by part, in place."""
    return circular_border(self, pad) if mode == "circular" else aten.pad(self, pad, mode, value)


@decomposes(aten._pad_circular.default)
def circular_border(self: torch.Tensor, pad: Sequence[int]) -> torch.Tensor:
    """What stands at the other end, put before the beginning and behind the end, once negative padding has cut."""
    value = self
    for i in range(len(pad) // 2):
        dim, before, after = self.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]
        size = self.shape[dim] + min(before, 0) + min(after, 0)
        inner = value.narrow(dim, max(-before, 0), size)
        parts = [inner]
        if before > 0:
            parts.insert(0, inner.narrow(dim, size - before, before))
        if after > 0:
            parts.append(inner.narrow(dim, 0, after))
        value = aten.cat(parts, dim) if len(parts) > 1 else inner
    return value


@decomposes(aten.unfold.default)
def unfold(self: torch.Tensor, dimension: int, size: int, step: int) -> torch.Tensor:
    """Windows of `size` elements of a dimension, each `step` behind the other, as a new last dimension."""
    dim = dimension % self.dim()
    starts = range(0, self.shape[dim] - size + 1, step)
    windows = aten.stack([self.narrow(dim, start, size) for start in starts], dim)
    return windows.movedim(dim + 1, -1)


@decomposes(aten.upsample_nearest1d.default)
def upsample_nearest1d(self: torch.Tensor, output_size: Sequence[int], scales: float | None = None) -> torch.Tensor:
    """Images of height 1."""
    return aten.upsample_nearest2d(self.unsqueeze(2), [1, *output_size], None, scales).squeeze(2)


@decomposes(aten.upsample_linear1d.default)
def upsample_linear1d(
    self: torch.Tensor, output_size: Sequence[int], align_corners: bool, scales: float | None = None
) -> torch.Tensor:
    """Images of height 1."""
    image = aten.upsample_bilinear2d(self.unsqueeze(2), [1, *output_size], align_corners, None, scales)
    return image.squeeze(2)


Resize = Callable[..., torch.Tensor]


def _resized_axis(resize: Resize, size: int, wanted: int, align_corners: bool, scale: float | None) -> torch.Tensor:
    """What resizing makes of each of `size` unit vectors, [wanted, size]: it is linear."""
    with _disable_current_modes():
        matrix = resize(torch.eye(size)[None, None], [wanted, size], align_corners, scale, None)[0, 0].numpy()
    return torch.from_numpy(matrix)


def _by_matrices(
    resize: Resize,
    self: torch.Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales: Sequence[float | None],
) -> torch.Tensor:
    """Each axis by a product with a matrix of its weights; as it is where sizes are open."""
    height, width = self.shape[-2:]
    if any(map(is_open, (height, width, *output_size))):
        return resize(self, output_size, align_corners, *scales)
    down, across = (
        _resized_axis(resize, int(size), int(wanted), align_corners, scale).to(self.dtype)
        for size, wanted, scale in zip((height, width), output_size, scales, strict=True)
    )
    result = aten.linear(self, across)
    return aten.linear(result.transpose(-1, -2), down).transpose(-1, -2)


def _decompose_resizing(resize: Any) -> None:
    """A resizing operator, and its form that takes a factor in place of a size."""

    def by_size(
        self: torch.Tensor,
        output_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> torch.Tensor:
        return _by_matrices(resize.default, self, output_size, align_corners, (scales_h, scales_w))

    def by_factor(
        input: torch.Tensor,
        output_size: Sequence[int] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> torch.Tensor:
        if output_size is None:
            assert scale_factors is not None
            pairs = zip(input.shape[-2:], scale_factors, strict=True)
            return by_size(input, [int(size * factor) for size, factor in pairs], align_corners, *scale_factors)
        return by_size(input, output_size, align_corners)

    OWN[resize.default] = by_size
    OWN[resize.vec] = by_factor


for _resize in (aten.upsample_bicubic2d, aten._upsample_bicubic2d_aa, aten._upsample_bilinear2d_aa):
    _decompose_resizing(_resize)


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


@decomposes(aten.max_pool3d.default)
def max_pool3d(
    self: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> torch.Tensor:
    """The largest over height and width, then over depth."""
    (size, *sizes), (step, *steps), (border, *borders), (distance, *distances) = (
        list(numbers) * 3 if len(numbers) == 1 else list(numbers)
        for numbers in (kernel_size, stride or kernel_size, padding, dilation)
    )
    *outer, depth, height, width = self.shape
    planes = self.reshape(-1, depth, height, width)
    planes = aten.max_pool2d(planes, sizes, steps, borders, distances, ceil_mode)
    rows, columns = planes.shape[2:]
    lines = planes.reshape(-1, 1, depth, rows * columns)
    lines = aten.max_pool2d(lines, [size, 1], [step, 1], [border, 0], [distance, 1], ceil_mode)
    return lines.reshape(*outer, lines.shape[2], rows, columns)


@decomposes(aten.adaptive_avg_pool3d.default)
def adaptive_avg_pool3d(self: torch.Tensor, output_size: Sequence[int]) -> torch.Tensor:
    """A mean where one element is left, for which ATen sets strides in place if channels are the last in memory."""
    if all(size == 1 for size in output_size):
        return self.mean((-3, -2, -1), keepdim=True)
    return aten._adaptive_avg_pool3d(self, output_size)


@decomposes(aten.im2col.default)
def im2col(
    self: torch.Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    """One slice of the image for each place in a window: torch's own gathers element by element."""
    if self.dim() == 3:
        return im2col(self.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    image = aten.constant_pad_nd(self, [padding[1], padding[1], padding[0], padding[0]]) if any(padding) else self
    lengths = [
        (size - distance * (count - 1) - 1) // step + 1
        for size, distance, count, step in zip(image.shape[2:], dilation, kernel_size, stride, strict=True)
    ]
    met: list[torch.Tensor] = []
    for place in itertools.product(*map(range, kernel_size)):
        part = image
        for dim, (at, distance, length, step) in enumerate(zip(place, dilation, lengths, stride, strict=True), 2):
            part = aten.slice(part, dim, at * distance, at * distance + (length - 1) * step + 1, step)
        met.append(part.flatten(2).unsqueeze(2))
    return torch.cat(met, 2).flatten(1, 2)


@decomposes(aten.col2im.default)
def col2im(
    self: torch.Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    """The sum of images, one for each place in a window, with zeros between its elements and around them."""
    if self.dim() == 2:
        return col2im(self.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    padded = [size + 2 * border for size, border in zip(output_size, padding, strict=True)]
    lengths = [
        (size - distance * (count - 1) - 1) // step + 1
        for size, distance, count, step in zip(padded, dilation, kernel_size, stride, strict=True)
    ]
    parts = self.unflatten(1, (-1, kernel_size[0] * kernel_size[1])).unflatten(3, lengths).unbind(2)
    total: torch.Tensor | None = None
    for place, part in zip(itertools.product(*map(range, kernel_size)), parts, strict=True):
        border: list[int] = []
        for i, (at, distance, size, step) in enumerate(zip(place, dilation, padded, stride, strict=True)):
            part, reach = with_zeros_between(part, 2 + i, step), (lengths[i] - 1) * step + 1
            border = [at * distance, size - at * distance - reach, *border]
        image = aten.constant_pad_nd(part, border)
        total = image if total is None else total + image
    assert total is not None
    (top, left), (height, width) = padding, output_size
    return total[:, :, top : top + height, left : left + width]


def with_zeros_between(value: torch.Tensor, dim: int, step: int) -> torch.Tensor:
    """`value` with its elements along a dimension `step` apart, the first and the last at the ends."""
    if step == 1:
        return value
    size = value.shape[dim]
    zeros = torch.zeros_like(value).unsqueeze(dim + 1)
    spread = torch.cat((value.unsqueeze(dim + 1), *[zeros] * (step - 1)), dim + 1).flatten(dim, dim + 1)
    return spread.narrow(dim, 0, (size - 1) * step + 1)


@decomposes(aten.embedding_bag.padding_idx)
def embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: torch.Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> Any:
    """The offset at the end is the number of indices: with it torch infers wrong shapes of unused results.

    Where a program gives another one, against the documentation, eager's modes end the last bag differently: the
    greatest are those of all indices, and a mean is the sum up to that offset divided by the number of all.
    """
    offsets = offsets[:-1] if include_last_offset else offsets
    padding = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return aten._embedding_bag_forward_only(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, False, padding
    )


@decomposes(aten.where.Scalar, aten.where.ScalarSelf, aten.where.ScalarOther)
def where(condition: torch.Tensor, self: torch.Tensor | float, other: torch.Tensor | float) -> torch.Tensor:
    """A choice between tensors, a number being one without dimensions."""
    dtype = torch.result_type(self, other)
    chosen = (
        value.to(dtype) if isinstance(value, torch.Tensor) else aten.scalar_tensor(value, dtype=dtype)
        for value in (self, other)
    )
    return aten.where.self(condition, *chosen)


@decomposes(aten.gru_cell.default)
def gru_cell(
    input: torch.Tensor,
    hx: torch.Tensor,
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor | None = None,
    b_hh: torch.Tensor | None = None,
) -> torch.Tensor:
    """One step: reset, update and new gate, in that order. ATen's C++ computes them in place."""
    of_input, of_state = (
        aten.linear(value, weight, bias).chunk(3, -1) for value, weight, bias in ((input, w_ih, b_ih), (hx, w_hh, b_hh))
    )
    reset = (of_input[0] + of_state[0]).sigmoid()
    update = (of_input[1] + of_state[1]).sigmoid()
    new = (of_input[2] + reset * of_state[2]).tanh()
    return (hx - new) * update + new


@decomposes(aten.lstm_cell.default)
def lstm_cell(
    input: torch.Tensor,
    hx: Sequence[torch.Tensor],
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor | None = None,
    b_hh: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step: input, forget, cell and output gate, in that order."""
    hidden, cell = hx
    gates = aten.linear(input, w_ih, b_ih) + aten.linear(hidden, w_hh, b_hh)
    entering, kept, new, leaving = gates.chunk(4, -1)
    cell = kept.sigmoid() * cell + entering.sigmoid() * new.tanh()
    return leaving.sigmoid() * cell.tanh(), cell


@decomposes(aten.rnn_tanh_cell.default)
def rnn_tanh_cell(
    input: torch.Tensor,
    hx: torch.Tensor,
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor | None = None,
    b_hh: torch.Tensor | None = None,
) -> torch.Tensor:
    """One step of an Elman network."""
    return (aten.linear(input, w_ih, b_ih) + aten.linear(hx, w_hh, b_hh)).tanh()


@decomposes(aten.rnn_relu_cell.default)
def rnn_relu_cell(
    input: torch.Tensor,
    hx: torch.Tensor,
    w_ih: torch.Tensor,
    w_hh: torch.Tensor,
    b_ih: torch.Tensor | None = None,
    b_hh: torch.Tensor | None = None,
) -> torch.Tensor:
    """One step of an Elman network with ReLU."""
    return (aten.linear(input, w_ih, b_ih) + aten.linear(hx, w_hh, b_hh)).relu()
