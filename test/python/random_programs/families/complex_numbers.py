"""Complex numbers, which are made and taken apart inside of the program."""

from __future__ import annotations

import torch

from random_programs.builder import Builder

MADE = (
    "torch.complex({x}, {x}.cos())", "torch.complex({x}, {x})", "torch.polar({x}.abs(), {x})", "{x} * 1j",
    "torch.complex({x}, {y})",
)  # fmt: skip

COMPUTED = (
    "{z} * {z}", "{z} + {z}.conj()", "{z} * 2", "{z} * (1 + 2j)", "{z} * {y}", "{z} + 3", "{z}.conj()",
    "torch.cat([{z}, {z}], -1)", "{z} * torch.ones({shape}, dtype=torch.complex64)",
    "{z} + torch.full({shape}, 2 + 1j)", "{z} * torch.tensor(3)", "2 * {z}", "{z} / (1 - 1j)",
    "torch.eye(2, dtype=torch.complex64) * {z}.sum()",
)  # fmt: skip

TAKEN_APART = (
    "torch.view_as_real({z})", "{z}.real", "{z}.imag", "{z}.abs()", "({z} * {z}.conj()).real", "{z}.angle()",
)  # fmt: skip


def complex_numbers(b: Builder) -> None:
    x = b.real()
    if b.dtype(x) != torch.float32:
        x = b.rounds(f"{x}.float()") or x
    y = b.same_shape(x)
    z = b.computes(b.one(MADE).format(x=x, y=y))
    if z is None:
        return
    for _ in range(b.int(0, 2)):
        shape = f"({''.join(f'{b.size(z, dim)}, ' for dim in range(b.rank(z)))})"
        z = b.computes(b.one(COMPUTED).format(z=z, y=y, shape=shape)) or z
    b.computes(b.one(TAKEN_APART).format(z=z))
