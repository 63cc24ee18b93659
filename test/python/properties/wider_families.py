"""Families of forms that models have besides: look-ups, masks, positions, state, attention as decoders write it, the
blocks of networks for images, and layers wide enough for weights of 4 bits.

XNNPACK computes parts of these; the others are kernels. What compares has inputs for operands, which no rounding moves.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from properties.families import batch_norm
from properties.programs import ROWS, Builder, Calls
from torch import Tensor
from torch.nn import functional

GROUP = 32
"""Inputs of a layer with weights of 4 bits that share a scale."""


def look_up(b: Builder) -> None:
    """Rows of a table, by tokens of the caller or by numbers that are known."""
    table, known = b.weight(ROWS, b.int(1, 6)), b.tokens(b.int(1, 3), b.int(1, 6))
    if whole := b.whole_inputs():
        padding = b.one([None, 0])
        calls: Calls = {"embedding": lambda x, w: functional.embedding(x, w, padding), "rows": lambda x, w: w[x]}
        b.one_step(calls, b.one(whole), weights=[table])
    else:
        x = b.pick_tensor()
        b.step("known_rows", lambda x, w: x.mean() + functional.embedding(known, w), x, weights=[table])


def condition(b: Builder) -> tuple[str, Callable[[Tensor], Tensor], int]:
    """A comparison of an input with numbers, or several: what it is called, what computes it, and the input."""
    n = b.one([*b.whole_inputs(), *b.float_inputs()])
    low, high = b.one([-1, 0, 1]), b.one([2, 3])
    calls: Calls = {
        "ne": lambda x: x != low,
        "eq": lambda x: x == high,
        "gt": lambda x: x > low,
        "le": lambda x: x <= high,
        "between": lambda x: (x > low) & (x < high),
        "outside": lambda x: (x < low) | (x >= high),
        "not": lambda x: ~(x >= high),
        "xor": lambda x: torch.logical_xor(x > low, x > high),
    }
    return *b.one(calls.items()), n


def mask(b: Builder) -> None:
    """Truth values that choose, fill, or become numbers."""
    name, holds, n = condition(b)
    fill = b.one([0.0, -2.5, -1e4])
    same = b.like(n)
    if not same or b.one([False, False, False, True]):
        b.step(f"float[{name}]", lambda c, x: holds(c).to(x.dtype) * 0.75, n, b.float_inputs()[0])
        return
    calls: Calls = {
        f"where[{name}]": lambda c, x, y: torch.where(holds(c), x, y),
        f"where[{name}, {fill}]": lambda c, x, _: torch.where(holds(c), x, fill),
        f"softmax_filled[{name}, {fill}]": lambda c, x, _: x.masked_fill(holds(c), fill).softmax(-1),
    }
    b.one_step(calls, n, b.one(same), b.one(same))


def position(b: Builder) -> None:
    """Numbers that depend on places alone, added or multiplied."""
    x = b.pick_tensor()
    size, by = b.shape(x)[-1], b.one([1, 2, 0.5])
    calls: Calls = {
        "arange": lambda x: x * 0.5 + torch.arange(0, size * by, by).to(x.dtype) * 0.25,
        "linspace": lambda x: x * torch.linspace(-1, 1, size).to(x.dtype),
        "full": lambda x: x - torch.full((size,), 0.5 * by).to(x.dtype),
        "like": lambda x: torch.ones_like(x) * 0.5 - torch.zeros_like(x) + x,
        "cumsum": lambda x: x.cumsum(-1) * 0.25,
        "tril": lambda x: (x.unsqueeze(-1) * x.unsqueeze(-2)).tril(-1),
    }
    b.one_step(calls, x)


def indexing(b: Builder) -> None:
    """Elements by known indices, and written to places of a copy."""
    x = b.pick_tensor()
    shape = b.shape(x)
    dim = b.int(0, len(shape) - 1)
    size = shape[dim]
    index = torch.randint(0, size, (b.int(1, 5),), generator=b.generator)
    places = torch.randint(0, size, shape, generator=b.generator)
    start = b.int(0, size - 1)
    stop, shift = b.int(start + 1, size), b.int(-2, 2)
    before = (slice(None),) * dim

    def written(x: Tensor, at: int | slice) -> Tensor:
        copy = x.clone()
        copy[(*before, at)] = copy[(*before, at)] * -0.5
        return copy

    calls: Calls = {
        f"index_select[{dim}]": lambda x: x.index_select(dim, index),
        f"index[{dim}]": lambda x: x[(*before, index)],
        f"gather[{dim}]": lambda x: x.gather(dim, places),
        f"flip[{dim}]": lambda x: x.flip(dim),
        f"roll[{shift}, {dim}]": lambda x: x.roll(shift, dim),
        f"written[{dim}, {start}:{stop}]": lambda x: written(x, slice(start, stop)),
        f"written[{dim}, {start}]": lambda x: written(x, start),
        f"repeat_interleave[{dim}]": lambda x: x.repeat_interleave(2, dim),
    }
    b.one_step(calls, x)


def order(b: Builder) -> None:
    """The largest and smallest elements of an input, and where they are."""
    n = b.one(b.float_inputs())
    dim = b.int(-len(b.shape(n)), -1)
    count, largest = b.int(1, b.shape(n)[dim]), b.flag()
    calls: Calls = {
        f"topk[{count}, {dim}]": lambda x: x.topk(count, dim, largest).values,
        f"sort[{dim}]": lambda x: x.sort(dim, largest).values,
        f"argmax[{dim}]": lambda x: x.argmax(dim).to(x.dtype) * 0.5,
        f"max[{dim}]": lambda x: x.max(dim).values,
        f"any[{dim}]": lambda x: (x > 1).any(dim).to(x.dtype),
    }
    b.one_step(calls, n)


def state(b: Builder) -> None:
    """A buffer that is read before or after it is written: in part, in whole, at places that are known."""
    x = b.pick_tensor()
    shape = b.shape(x)
    dim = b.int(0, len(shape) - 1)
    longer = [*shape[:dim], shape[dim] + b.int(0, 3), *shape[dim + 1 :]]
    start = b.int(0, longer[dim] - shape[dim])
    places = torch.randperm(longer[dim], generator=b.generator)[: shape[dim]]
    at, rows = (*(slice(None),) * dim, slice(start, start + shape[dim])), (*(slice(None),) * dim, places)

    def part(x: Tensor, cache: Tensor) -> Tensor:
        before = cache * 0.5
        cache[at] = x
        return cache + before

    def rolled(x: Tensor, cache: Tensor) -> Tensor:
        cache.copy_(torch.cat([cache, x], dim).narrow(dim, shape[dim], longer[dim]))
        return cache * 2

    def scattered(x: Tensor, cache: Tensor) -> Tensor:
        cache[rows] = x * 2
        return cache.sin()

    def summed(x: Tensor, total: Tensor) -> Tensor:
        total.add_(x)
        return total * 0.5

    name, run, held = b.one(
        [("part", part, longer), ("rolled", rolled, longer), ("scattered", scattered, longer), ("sum", summed, shape)]
    )
    b.step(f"state_{name}[{dim}]", run, x, state=[b.weight(*held)])


def heads(b: Builder) -> None:
    """Attention of several heads, of which those of keys may be fewer, with a mask, and positions by rotation."""
    x = b.pick(3)
    batch, length, width = b.shape(x)
    count, groups, features = b.int(1, 2), b.int(1, 2), 2 * b.int(1, 2)
    query, key = b.weight(count * groups * features, width), b.weight(2 * count * features, width)
    out = b.weight(width, count * groups * features)
    angles = torch.outer(torch.arange(length), torch.tensor([1.0, 0.25])[: features // 2])
    form, turns = b.one(["none", "causal", "seen", "added", "hidden"]), b.flag()
    seen = torch.rand(length, length, generator=b.generator) < 0.7
    enable = b.flag()

    def turned(x: Tensor) -> Tensor:
        even, odd = x.unflatten(-1, (-1, 2)).unbind(-1)
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)

    def run(x: Tensor, query: Tensor, key: Tensor, out: Tensor) -> Tensor:
        q = functional.linear(x, query).unflatten(-1, (count * groups, features)).transpose(1, 2)
        k, v = functional.linear(x, key).view(batch, length, 2, count, features).permute(2, 0, 3, 1, 4)
        if turns:
            q, k = turned(q), turned(k)
        if groups > 1 and not enable:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        given = {
            "seen": seen,
            "added": torch.where(seen, 0.0, -100.0).to(x.dtype),
            "hidden": (torch.arange(length) >= length - 1)[None, :] | seen,
        }.get(form)
        grouped = groups > 1 and enable
        y = functional.scaled_dot_product_attention(q, k, v, given, is_causal=form == "causal", enable_gqa=grouped)
        return functional.linear(y.transpose(1, 2).flatten(2), out)

    text = f"heads[{count} x {groups} x {features}, {form}{', turned' if turns else ''}]"
    b.step(text, run, x, weights=[query, key, out])


def fused_projection(b: Builder) -> None:
    """One layer for several values, which are cut apart."""
    x = b.pick_tensor()
    width, parts = b.int(1, 4), b.int(2, 3)

    def gated(y: Tensor) -> Tensor:
        return functional.silu(y[..., :width]) * y[..., -width:]

    name, cut = b.one(
        [
            ("chunked", lambda y: y.chunk(parts, -1)[-1].tanh()),
            ("split", lambda y: sum(y.split(width, -1)[1:], torch.zeros(()))),
            ("unbound", lambda y: y.unflatten(-1, (parts, width)).unbind(-2)[0]),
            ("gated", gated),
        ]
    )
    weights = b.with_bias(parts * width, b.shape(x)[-1])
    b.step(name, lambda x, *w: cut(functional.linear(x, *w)), x, weights=weights)


def block_of_images(b: Builder) -> None:
    """A convolution that widens, one by channel, one that narrows, with norms; a gate; the sum with what came in."""
    x = b.pick(4)
    channels = b.shape(x)[1]
    wide, size = channels * b.int(1, 3), b.one([1, 3])
    act = b.one(["relu", "relu6", "hardswish", "silu"])
    function: Callable[[Tensor], Tensor] = getattr(functional, act)

    def by_channel(y: Tensor, w: Tensor) -> Tensor:
        return functional.conv2d(y, w, padding=size // 2, groups=wide)

    def gated(y: Tensor, w: Tensor) -> Tensor:
        return y * functional.hardsigmoid(functional.conv2d(y.mean((2, 3), keepdim=True), w))

    y = x
    if wide > channels:
        y = b.step("widen", functional.conv2d, x, weights=[b.weight(wide, channels, 1, 1)])
        y = b.step(act, function, batch_norm(b, y))
    y = b.step(f"by_channel[{size}]", by_channel, y, weights=[b.weight(wide, 1, size, size)])
    y = b.step(act, function, batch_norm(b, y))
    if b.flag():
        y = b.step("gate", gated, y, weights=[b.weight(wide, wide, 1, 1)])
    y = batch_norm(b, b.step("narrow", functional.conv2d, y, weights=[b.weight(channels, wide, 1, 1)]))
    b.step("add", torch.add, x, y)


def wide_linear(b: Builder) -> None:
    """A layer of as many inputs as groups of weights in 4 bits want."""
    x = b.pick_tensor()
    inputs, outputs = GROUP * b.int(1, 2), b.int(1, 6)
    weights = [b.weight(inputs), b.weight(outputs, inputs), *([b.weight(outputs)] if b.flag() else [])]

    def run(x: Tensor, spread: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return functional.linear(x[..., :1] * spread, weight, bias)

    b.step(f"wide_linear[{inputs}]", run, x, weights=weights)


def product_of_letters(b: Builder) -> None:
    """Products as `einsum` writes them."""
    x = b.pick(3)
    batch, _, columns = b.shape(x)
    calls: Calls = {
        "einsum[bij,kj->bik]": lambda x, w, m: torch.einsum("bij,kj->bik", x, w),
        "einsum[bij,bjk->bki]": lambda x, w, m: torch.einsum("bij,bjk->bki", x, m),
        "einsum[bij,bkj->bik]": lambda x, w, m: torch.einsum("bij,bkj->bik", x, x.sin()),
        "baddbmm": lambda x, w, m: torch.baddbmm(m.mean(1, keepdim=True), x, m, beta=0.5, alpha=2),
    }
    b.one_step(calls, x, weights=[b.weight(b.int(1, 4), columns), b.weight(batch, columns, 3)])


WIDER_FAMILIES: dict[str, Callable[[Builder], None]] = {
    function.__name__: function
    for function in (
        look_up, mask, position, indexing, order, state, heads, fused_projection, block_of_images, wide_linear,
        product_of_letters,
    )
}  # fmt: skip
