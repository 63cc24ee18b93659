"""The program of a seed."""

from __future__ import annotations

import torch

from random_programs.builder import Builder
from random_programs.families import FAMILIES, SMOOTH
from random_programs.families.images import image
from random_programs.families.products import product
from random_programs.program import Program

MAIN_TYPES = (torch.float32, torch.float32, torch.float32, torch.float16, torch.bfloat16, torch.float64)
"""What most inputs of a program have one of."""


def drawn(seed: int, *, fewest: int = 3, most: int = 9, open_sizes: bool = False, quantized: bool = False) -> Program:
    """A program of `fewest` to `most` lines, or a few more where a family adds several.

    With `open_sizes` the caller chooses the sizes of some dimensions. With `quantized` it is in fp32, has what is
    quantised, mostly, and nothing that jumps.
    """
    b = Builder(seed, open_sizes=open_sizes, jumps=not quantized)
    main = torch.float32 if quantized else b.one(MAIN_TYPES)
    for _ in range(b.int(1, 2)):
        b.input(main if quantized or b.flag(0.75) else b.any_type(), shape(b))
    wanted = b.int(fewest, most)
    if quantized and b.flag(0.8):
        (image if b.rank("x0") == 4 else product)(b)
    families = SMOOTH if quantized else tuple(FAMILIES)
    weights = [FAMILIES[family] for family in families]
    for _ in range(4 * most):
        if len(b.lines) >= wanted:
            break
        b.random.choices(families, weights)[0](b)
    return b.finish()


def shape(b: Builder) -> list[int]:
    """Of an input: often of square matrices, which may be multiplied with themselves."""
    n = b.int(2, 5)
    return b.one(
        [
            [n, n],
            [n, n],
            [b.int(1, 6)],
            [2, n, n],
            [1, b.int(1, 3), n, n],
            [b.int(1, 4), b.int(1, 6)],
            [b.int(1, 3), b.int(1, 4), b.int(1, 5)],
            [],
        ]
    )
