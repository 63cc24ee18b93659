"""Conversions that a program asks for: to any type, and there and back, which rounds."""

from __future__ import annotations

import torch

from random_programs.builder import FLOATS, Builder

ON_THE_WAY = ("{x} * 2", "{x} + 1", "F.relu({x})", "{x} * {x}", "-{x}", "{x}.tanh()")


def conversion(b: Builder) -> None:
    """To any type; to integers only what they can be."""
    x, dtype = b.number(), b.any_type()
    if dtype.is_floating_point:
        b.rounds(b.one([f"{x}.to({dtype})", f"{x}.type({dtype})"]))
    elif b.is_float(x) and dtype != torch.bool:
        low, high = (0, 200) if dtype == torch.uint8 else (-100, 100)
        b.jumps(f"{x}.nan_to_num(0).clamp({low}, {high}).to({dtype})")
    else:
        b.jumps(f"{x}.to({dtype})")


def round_trip(b: Builder) -> None:
    """To another type and back, with or without a step there."""
    x = b.real()
    y = b.rounds(f"{x}.to({b.one(FLOATS)})")
    if y is None:
        return
    if b.flag(0.4):
        y = b.computes(b.one(ON_THE_WAY).format(x=y)) or y
    b.rounds(f"{y}.to({b.dtype(x) if b.flag(0.8) else b.one(FLOATS)})")
