"""Strategies for steps: each family draws one op of its kind, in any form that XNNPACK can compute."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import strategies as st
from properties.programs import Builder, Calls
from random_programs.families import arithmetic, reductions
from torch import Tensor
from torch.nn import functional


def unary(b: Builder) -> None:
    b.line(arithmetic.DELEGATED, {"x": b.pick()})


def rarer_unary(b: Builder) -> None:
    b.line(arithmetic.DELEGATED_BESIDES, {"x": b.pick()})


def jumping(b: Builder) -> None:
    """On an input: no rounding has moved it."""
    b.line(arithmetic.DELEGATED_STEPS, {"x": b.one(b.float_inputs())})


def parametrized(b: Builder) -> None:
    """Activations with numbers of their own."""
    slope = b.one([0.01, 0.2, 1.0, 3.0])
    low = b.one([None, -1.0, 0.0, 0.25])
    high = b.one([0.5, 1.0, 6.0] if low is None else [None, 0.5, 6.0])
    exponent = b.one([2, 3, 4, 0.5, -1, -2])
    threshold = b.one([1.0, 20.0])
    calls: Calls = {
        f"leaky_relu[{slope}]": lambda x: functional.leaky_relu(x, slope),
        f"elu[{slope}]": lambda x: functional.elu(x, slope),
        f"celu[{slope}]": lambda x: functional.celu(x, slope),
        f"softplus[{slope}, {threshold}]": lambda x: functional.softplus(x, slope, threshold),
        f"clamp[{low}, {high}]": lambda x: x.clamp(low, high),
        f"hardtanh[{slope}]": lambda x: functional.hardtanh(x, -slope, slope),
        f"pow[{exponent}]": lambda x: (x.abs() + 0.5) ** exponent,
    }
    b.one_step(calls, b.pick())


def prelu(b: Builder) -> None:
    x = b.pick()
    shape = b.shape(x)
    channels = shape[1] if len(shape) > 1 and b.flag() else 1
    b.step("prelu", functional.prelu, x, weights=[b.weight(channels)])


def binary(b: Builder) -> None:
    """Two values, one of them broadcast, or a value and a weight."""
    x = b.pick()
    if b.flag():
        b.line(arithmetic.DELEGATED_PAIRS, {"x": x, "y": b.one(b.like(x))})
        return
    shape = b.shape(x)
    weight = b.random(*[size if b.flag() else 1 for size in shape][b.int(0, len(shape)) :])
    value, other = b.one(["xy", "yx"])
    b.line(arithmetic.DELEGATED_PAIRS, {value: x}, {other: weight})


def convolution(b: Builder) -> None:
    """1-D or 2-D, of any grouping, with an activation or a batch norm behind it or not."""
    dims = b.int(1, 2)
    x = b.pick(dims + 2)
    channels = b.shape(x)[1]
    groups = b.divisor(channels)
    outputs = groups * b.int(1, 3)
    kernel, dilation, stride = ([b.int(1, most) for _ in range(dims)] for most in (3, 2, 3))
    # Enough padding for one window at least.
    least = [-(-(d * (k - 1) + 1 - size) // 2) for k, d, size in zip(kernel, dilation, b.shape(x)[2:], strict=True)]
    padding: list[int] | str = [max(b.int(0, 2), each) for each in least]
    if all(s == k % 2 == 1 for s, k in zip(stride, kernel, strict=True)) and b.flag():
        padding = "same"
    function: Callable[..., Tensor] = functional.conv1d if dims == 1 else functional.conv2d
    text = f"conv{dims}d[stride={stride}, padding={padding}, dilation={dilation}, groups={groups}]"
    weights = b.with_bias(outputs, channels // groups, *kernel)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    after_convolution(b, b.step(text, lambda *given: function(*given, **options), x, weights=weights))


def transposed_convolution(b: Builder) -> None:
    dims = b.int(1, 2)
    x = b.pick(dims + 2)
    channels, outputs = b.shape(x)[1], b.int(1, 3)
    groups = b.divisor(channels)
    stride, kernel = ([b.int(1, 3) for _ in range(dims)] for _ in range(2))
    adjustment = [b.int(0, s - 1) for s in stride]
    # What is cut off leaves one element at least.
    padding = [min(b.int(0, 1), (k - 1 + a) // 2) for k, a in zip(kernel, adjustment, strict=True)]
    function: Callable[..., Tensor] = functional.conv_transpose1d if dims == 1 else functional.conv_transpose2d
    weights = [b.weight(channels, outputs, *kernel), *([b.weight(groups * outputs)] if b.flag() else [])]
    options = {"stride": stride, "padding": padding, "output_padding": adjustment, "groups": groups}
    text = f"conv_transpose{dims}d[{options}]"
    after_convolution(b, b.step(text, lambda *given: function(*given, **options), x, weights=weights))


def after_convolution(b: Builder, value: int) -> None:
    """Nothing, an activation, or a batch norm with one."""
    if b.flag():
        value = batch_norm(b, value)
    if b.flag():
        b.step("relu6", functional.relu6, value)


def batch_norm(b: Builder, value: int) -> int:
    channels = b.shape(value)[1]
    weights = [b.weight(channels), b.weight(channels).abs() + 0.5, b.weight(channels), b.weight(channels)]
    return b.step("batch_norm", lambda x, m, v, w, c: functional.batch_norm(x, m, v, w, c), value, weights=weights)


def batch_normalized(b: Builder) -> None:
    batch_norm(b, b.pick(b.int(2, 4)))


def linear(b: Builder) -> None:
    x = b.pick_tensor()
    b.step("linear", functional.linear, x, weights=b.with_bias(b.int(1, 5), b.shape(x)[-1]))


def matmul(b: Builder) -> None:
    """With a weight of any rank, or of a value with its own transpose."""
    x = b.pick_tensor()
    shape = b.shape(x)
    if len(shape) > 1 and b.flag():
        b.step("gram", lambda x: x @ x.transpose(-1, -2), x)
        return
    batch = [size if b.flag() else 1 for size in shape[:-2]][b.int(0, max(0, len(shape) - 2)) :]
    columns = [] if not batch and b.flag() else [b.int(1, 4)]
    weight = b.weight(*batch, shape[-1], *columns)
    b.step("matmul", torch.matmul, x, weights=[weight])


def attention(b: Builder) -> None:
    x = b.pick(b.int(3, 4))
    length = b.shape(x)[-2]
    causal, scale = b.flag(), b.one([None, 0.5])
    attend = functional.scaled_dot_product_attention
    if causal or b.flag():
        text = f"attention[causal={causal}, scale={scale}]"
        b.step(text, lambda q: attend(q, q.sin(), q.cos(), is_causal=causal, scale=scale), x)
    else:
        b.step("masked_attention", lambda q, m: attend(q, q.sin(), q, m), x, weights=[b.random(length, length)])


def dims_of(b: Builder, value: int) -> list[int]:
    """Some dimensions of a value, counted from the front or from the back."""
    rank = len(b.shape(value))
    dims = b.draw(st.lists(st.integers(0, rank - 1), min_size=1, max_size=rank, unique=True))
    return [dim - rank if b.flag() else dim for dim in dims]


def reduction(b: Builder) -> None:
    x = b.pick_tensor()
    dims, keep = dims_of(b, x), b.flag()
    along, first = f"dim={dims}, keepdim={keep}", f"dim={dims[0]}, keepdim={keep}"
    b.line(reductions.DELEGATED, {"x": x}, dims=along, dim=first)


def softmax(b: Builder) -> None:
    x = b.pick_tensor()
    b.line(reductions.SOFTMAXES, {"x": x}, dim=b.int(-len(b.shape(x)), len(b.shape(x)) - 1))


def normalization(b: Builder) -> None:
    """Over the last dimensions or groups of channels, with weights or not; a large eps keeps it well conditioned."""
    x = b.pick_tensor()
    shape = b.shape(x)
    if len(shape) > 2 and torch.Size(shape[2:]).numel() > 1 and b.flag():
        groups = b.divisor(shape[1])
        weights = [b.weight(shape[1]), b.weight(shape[1])] if b.flag() else []
        b.step(f"group_norm[{groups}]", lambda x, *w: functional.group_norm(x, groups, *w, eps=0.1), x, weights=weights)
        return
    last = shape[-b.int(1, min(2, len(shape))) :]
    weights = [b.weight(*last), b.weight(*last)] if b.flag() else []
    if b.flag():
        b.step(f"layer_norm[{last}]", lambda x, *w: functional.layer_norm(x, last, *w, eps=0.1), x, weights=weights)
    else:
        b.step(f"rms_norm[{last}]", lambda x, *w: functional.rms_norm(x, last, *w, eps=0.1), x, weights=weights[:1])


def pooling(b: Builder) -> None:
    x = b.pick(4)
    kernel = [b.int(1, min(3, size)) for size in b.shape(x)[2:]]
    stride = [b.int(1, 4), b.int(1, 4)]
    padding = [b.int(0, k // 2) for k in kernel]
    ceil, count, divisor = b.flag(), b.flag(), b.one([None, None, 3])
    text = f"[{kernel}, {stride}, {padding}, ceil={ceil}"
    calls: Calls = {
        f"max_pool2d{text}]": lambda x: functional.max_pool2d(x, kernel, stride, padding, ceil_mode=ceil),
        f"avg_pool2d{text}, count={count}, divisor={divisor}]": lambda x: functional.avg_pool2d(
            x, kernel, stride, padding, ceil, count, divisor
        ),
    }
    b.one_step(calls, x)


def adaptive_pooling(b: Builder) -> None:
    x = b.pick(4)
    size = [b.int(1, 4), b.int(1, 4)]
    name = b.one(["adaptive_avg_pool2d", "adaptive_max_pool2d"])
    b.step(f"{name}[{size}]", lambda x: getattr(functional, name)(x, size), x)


def movement(b: Builder) -> None:
    """What only moves elements."""
    x = b.pick_tensor()
    shape = b.shape(x)
    rank = len(shape)
    first, second = b.int(0, rank - 1), b.int(-rank, -1)
    perm = b.draw(st.permutations(range(rank)))
    start = b.int(0, shape[first] - 1)
    stop, by = b.int(start + 1, shape[first]), b.int(1, 2)
    times = [b.int(1, 2) for _ in shape]
    pads = [b.int(0, 2) for _ in range(2 * b.int(1, rank))]
    index = (*(slice(None),) * first, slice(start, stop, by))
    calls: Calls = {
        f"permute{perm}": lambda x: x.permute(perm),
        f"transpose[{first}, {second}]": lambda x: x.transpose(first, second),
        "flatten": lambda x: x.flatten(),
        "reshape": lambda x: x.reshape(-1, x.shape[-1]),
        f"flip_size[{first}]": lambda x: x.unsqueeze(first).squeeze(first),
        f"slice{index}": lambda x: x[index],
        f"select[{first}, {start}]": lambda x: x.select(first, start) if rank > 1 else x,
        f"repeat{times}": lambda x: x.repeat(times),
        f"expand{times[:2]}": lambda x: x.expand(times[0], *x.shape) if rank < 5 else x,
        f"pad{pads}": lambda x: functional.pad(x, pads, value=0.5),
        f"chunks[{first}]": lambda x: x.chunk(2, first)[-1],
        f"split[{first}, {stop}]": lambda x: x.split(stop, first)[0],
    }
    b.one_step(calls, x)


def concatenation(b: Builder) -> None:
    x = b.pick_tensor()
    shape, axis, count = b.shape(x), b.int(0, len(b.shape(x)) - 1), b.int(1, 6)
    same = b.like(x)
    others = [b.one(same) for _ in range(count)]
    if len(shape) < 5 and b.flag():
        b.step(f"stack[{axis}]", lambda *x: torch.stack(x, axis), x, *others)
    else:
        b.step(f"cat[{axis}]", lambda *x: torch.cat(x, axis), x, *others)


def image_movement(b: Builder) -> None:
    """What moves pixels."""
    x = b.pick(4)
    _, channels, height, width = b.shape(x)
    size, corners = [b.int(1, 9), b.int(1, 9)], b.flag()
    calls: dict[str, Callable[..., Tensor]] = {
        f"bilinear[{size}, {corners}]": lambda x: functional.interpolate(
            x, size, mode="bilinear", align_corners=corners
        ),
        f"nearest[{size}]": lambda x: functional.interpolate(x, size),
        "replicate_pad": lambda x: functional.pad(x, (1, 2, 0, 1), mode="replicate"),
    }
    if min(height, width) > 1:
        calls["reflect_pad"] = lambda x: functional.pad(x, (1, 0, 1, 1), mode="reflect")
    if channels % 4 == 0:
        calls["pixel_shuffle"] = lambda x: functional.pixel_shuffle(x, 2)
    if height % 2 == width % 2 == 0:
        calls["pixel_unshuffle"] = lambda x: functional.pixel_unshuffle(x, 2)
    b.one_step(calls, x)


FAMILIES: dict[str, Callable[[Builder], None]] = {
    function.__name__: function
    for function in (
        unary, rarer_unary, jumping, parametrized, prelu, binary, convolution, transposed_convolution,
        batch_normalized, linear, matmul, attention, reduction, softmax, normalization, pooling, adaptive_pooling,
        movement, concatenation, image_movement,
    )
}  # fmt: skip
