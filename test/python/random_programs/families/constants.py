"""Tensors that are made inside of the program, of any type, where they meet values."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from random_programs.builder import Builder
from random_programs.families.scalars import scalar

ANY = (
    "torch.ones({shape}, dtype={dtype})", "torch.zeros({shape}, dtype={dtype})",
    "torch.full({shape}, {s}, dtype={dtype})", "torch.tensor({s}, dtype={dtype})", "torch.tensor({n})",
    "torch.tensor([{s}, {t}], dtype={dtype})", "torch.tensor([{t}], dtype={dtype})",
)  # fmt: skip

OF_A_SIZE = (
    "torch.arange({size}, dtype={dtype})", "torch.arange({size})", "torch.linspace(-1, 1, {size}, dtype={dtype})",
    "torch.eye({size}, dtype={dtype})", "torch.arange({size}).to({dtype})", "F.one_hot(torch.arange({size}), {size})",
    "F.one_hot(torch.arange({size}) % 2, 2).T[0].to({dtype})", "torch.arange({size}) % 2 == 0",
    "torch.tril(torch.ones({size}, {size}, dtype={dtype}))", "torch.arange({size}, 0, -1, dtype={dtype})",
    "torch.triu(torch.full(({size}, {size}), -inf), 1)", "torch.ones({shape}, dtype={dtype}).cumsum(-1)",
)  # fmt: skip

OPERANDS = (
    "{x} + {c}", "{c} + {x}", "{x} - {c}", "{c} - {x}", "{x} * {c}", "{c} * {x}", "torch.maximum({x}, {c})",
    "torch.minimum({c}, {x})", "{x} / ({c} + 2)", "torch.clamp({x}, {c})", "torch.clamp({x}, max={c})",
    "torch.add({x}, {c}, alpha=2)",
)  # fmt: skip

MATRICES = (
    "torch.ones({m}, {n}, dtype={dtype})", "torch.eye({n}, dtype={dtype})",
    "torch.full(({m}, {n}), 0.1, dtype={dtype})", "torch.arange({n}, dtype={dtype}).repeat({m}, 1)",
    "F.one_hot(torch.arange({n}), {n}).to({dtype})",
)  # fmt: skip


def sizes_of(b: Builder, x: str) -> list[str]:
    """Sizes that broadcast against a value's."""
    sizes = [b.size(x, dim) for dim in range(b.rank(x))]
    return [size if b.flag(0.7) else "1" for size in sizes][b.int(0, len(sizes)) :]


def constant(b: Builder, dtype: torch.dtype, sizes: Sequence[str]) -> str | None:
    """A tensor of a type, mostly of these sizes."""
    form = b.one(ANY + OF_A_SIZE if sizes else ANY)
    shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
    numbers = {"s": scalar(b, small=b.flag(0.8)), "t": scalar(b, small=True), "n": b.one(["3", "-1", "2", "True"])}
    return b.constant(form.format(shape=shape, size=sizes[-1] if sizes else "1", dtype=dtype, **numbers))


def constant_operand(b: Builder) -> None:
    """A constant of any type beside a value."""
    x = b.number()
    c = constant(b, b.any_type() if b.flag() else b.dtype(x), sizes_of(b, x))
    if c is None:
        return
    if b.flag(0.1):
        b.jumps(f"torch.where({x} > 0, {x}, {c})")
    else:
        b.computes(b.one(OPERANDS).format(x=x, c=c))


def constant_joined(b: Builder) -> None:
    x = b.number()
    if not b.rank(x):
        return
    dim = b.int(0, b.rank(x) - 1)
    sizes = [b.size(x, each) if each != dim else "1" for each in range(b.rank(x))]
    c = constant(b, b.dtype(x) if b.flag(0.7) else b.any_type(), sizes)
    if c is not None:
        b.moves(b.one([f"torch.cat([{x}, {c}], {dim})", f"torch.cat([{c}, {x}, {c}], {dim})"]))


def constant_product(b: Builder) -> None:
    """A product with a matrix that is known."""
    x = b.real()
    if not b.rank(x):
        return
    n, m, dtype = b.size(x, b.rank(x) - 1), b.int(1, 4), b.dtype(x)
    c = b.constant(b.one(MATRICES).format(m=m, n=n, dtype=dtype))
    if c is not None:
        b.computes(b.one([f"F.linear({x}, {c})", f"{x} @ {c}.T", f"torch.matmul({x}, {c}.transpose(0, 1))"]))
