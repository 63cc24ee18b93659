"""Attention to the live prefix of a cache gives what attention to the whole window gives, for masks of many forms.

The caches hold random numbers from the beginning, so that a column too few shows, as does one that the mask does not
hide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge
from xir.runtime import Runtime

WINDOW, HEADS, KV_HEADS, SIZE = 72, 4, 2, 8
columns = torch.arange(WINDOW)
CAUSAL = torch.ones(WINDOW, WINDOW, dtype=torch.bool).tril()
LOW = torch.finfo(torch.float32).min

Mask = Callable[[Tensor], Tensor]


def choose(seen: Tensor, low: float) -> Tensor:
    return torch.where(seen, 0.0, low)


CUT: dict[str, Mask] = {
    "boolean": lambda at: columns <= at[:, None],
    "four dimensions": lambda at: (columns[None, None, None, :] <= at[None, None, :, None]).expand(1, 1, -1, -1),
    "compared the other way": lambda at: at[:, None] + 1 > columns,
    "negated": lambda at: ~(columns > at[:, None]),
    "sliding window": lambda at: (columns <= at[:, None]) & (columns > at[:, None] - 5),
    "two conditions": lambda at: (columns <= at[:, None]) | (columns <= at[:, None] - 3),
    "one ahead": lambda at: columns - 1 <= at[:, None],
    "minus infinity": lambda at: choose(columns <= at[:, None], -torch.inf),
    "the lowest number": lambda at: choose(columns <= at[:, None], LOW),
    "filled": lambda at: torch.zeros(1, WINDOW).masked_fill(columns > at[:, None], -torch.inf),
    "multiplied": lambda at: (1.0 - (columns <= at[:, None]).float()) * LOW,
    "rows of a table": lambda at: CAUSAL[at],
    "rows of a table of numbers": lambda at: torch.full((WINDOW, WINDOW), -torch.inf).triu(1)[at],
}
"""Masks that hide all columns behind the largest position, or behind the one after it."""

WHOLE: dict[str, Mask] = {
    "a low number that does not hide": lambda at: choose(columns <= at[:, None], -2.0),
    "columns behind a position": lambda at: columns >= at[:, None],
    "columns that all may see": lambda at: (columns <= at[:, None]) | (columns > WINDOW - 3),
    "columns by their parity": lambda at: columns % 2 == at[:, None] % 2,
}
"""Masks that show something further behind."""


def attention(mask: Mask, *, repeats: bool) -> nn.Module:
    """Grouped attention over caches that are full of numbers."""

    def forward(m: Any, q: Tensor, k: Tensor, v: Tensor, at: Tensor) -> Tensor:
        keys, values = m.keys.index_copy_(2, at, k), m.values.index_copy_(2, at, v)
        if repeats:
            keys, values = (each.repeat_interleave(HEADS // KV_HEADS, 1) for each in (keys, values))
        return nn.functional.scaled_dot_product_attention(q, keys, values, mask(at), enable_gqa=not repeats)

    torch.manual_seed(0)
    return Calling(forward, **{name: torch.randn(1, KV_HEADS, WINDOW, SIZE) for name in ("keys", "values")})


def call(first: int, count: int) -> tuple[Tensor, ...]:
    shapes = (HEADS, KV_HEADS, KV_HEADS)
    return (*(torch.randn(1, heads, count, SIZE) for heads in shapes), torch.arange(first, first + count))


def check(mask: Mask, *, repeats: bool, dynamic: bool, is_cut: bool) -> None:
    length = Dim("length", max=WINDOW)
    shapes = ({2: length},) * 3 + ({0: length},) if dynamic else None
    with torch.no_grad():
        model = attention(mask, repeats=repeats)
        exported = torch.export.export(model, call(0, 3 if dynamic else 1), dynamic_shapes=shapes)
    program, eager = (
        to_edge(exported).to_backend(XnnpackPartitioner()).to_executorch(),
        attention(mask, repeats=repeats),
    )
    assert ("aten::_local_scalar_dense" in program.kernel_names) == is_cut
    file = program.buffer
    method = Runtime.get().load_program(file, threads=1).load_method()
    # One token at a time to the end of the window; or texts of several lengths, the last of which fills it. Prefixes
    # are multiples of 32, so that some end one before, at and behind one.
    lengths = (6, 1, 24, 1, 1, 11, 28) if dynamic else (1,) * WINDOW
    first = 0
    for length in lengths:
        inputs = call(first, length)
        first += length
        with torch.no_grad():
            expected = eager(*inputs)
        torch.testing.assert_close(method.execute(inputs)[0], expected, rtol=1e-4, atol=1e-5)
    assert first == WINDOW


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("name", CUT)
def test_what_a_mask_hides_is_cut(name: str, dynamic: bool) -> None:
    check(CUT[name], repeats=name != "boolean", dynamic=dynamic, is_cut=True)


@pytest.mark.parametrize("name", WHOLE)
def test_what_a_mask_shows_is_kept(name: str) -> None:
    check(WHOLE[name], repeats=True, dynamic=False, is_cut=False)


@pytest.mark.parametrize("shape", [(1, 1), (), (1, HEADS), (2, 1)])
def test_masks_of_grouped_heads_of_open_lengths(shape: tuple[int, ...]) -> None:
    """Groups are a dimension of the scores; a mask that differs between heads or batches does not broadcast to it."""

    def grouped(_: nn.Module, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)

    def inputs(length: int, keys: int) -> tuple[Tensor, ...]:
        batch = 2 if shape[:1] == (2,) else 1
        sizes = ((HEADS, length), (KV_HEADS, keys), (KV_HEADS, keys))
        return (*(torch.randn(batch, *each, SIZE) for each in sizes), torch.randn(*shape, length, keys))

    length, keys = Dim("length", max=9), Dim("keys", max=12)
    shapes = ({2: length}, {2: keys}, {2: keys}, {len(shape): length, len(shape) + 1: keys})
    model = Calling(grouped)
    exported = torch.export.export(model, inputs(5, 7), dynamic_shapes=shapes)
    program = to_edge(exported).to_backend(XnnpackPartitioner()).to_executorch()
    assert program.kernel_names == []
    agree(program.buffer, model, (inputs(*sizes) for sizes in ((5, 7), (1, 12), (9, 2))), rtol=1e-4)
