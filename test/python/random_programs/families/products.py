"""Products of matrices: of a value with itself, with another, with a weight; attention."""

from __future__ import annotations

from random_programs.builder import Builder

SQUARE = (
    "{x} @ {x}", "{x} @ {x}", "{x} @ {x}", "torch.linalg.matrix_power({x}, 2)", "torch.linalg.matrix_power({x}, 3)",
)  # fmt: skip
TRANSPOSED = ("{x} @ {x}.transpose(-1, -2)", "{x}.transpose(-1, -2) @ {x}")
BATCHED = (
    "torch.einsum('bij,bkj->bik', {x}, {x})", "torch.bmm({x}, {x}.transpose(1, 2))",
    "torch.baddbmm({x}[:, :, :1], {x}, {x}.transpose(1, 2), alpha=0.5)",
)  # fmt: skip

OF_A_TRANSPOSE = (
    "{y} @ {x}", "{x} @ {y}", "{y} @ {z}.transpose(-1, -2)", "{y}.transpose(-1, -2) @ {z}", "{y} * {z}", "{y} @ {z}",
)  # fmt: skip

MASKS = (
    "torch.triu(torch.full(({n}, {n}), -inf, dtype={dtype}), 1)", "torch.tril(torch.ones({n}, {n}, dtype=torch.bool))",
    "torch.triu(torch.full(({n}, {n}), -inf, dtype={dtype}))",
    "torch.tril(torch.ones({n}, {n}, dtype=torch.bool), -1)", "torch.zeros({n}, {n}, dtype={dtype})",
    "torch.ones(1, {n}, dtype=torch.bool)",
)  # fmt: skip
"""Some have rows that see nothing."""


def product(b: Builder) -> None:
    x = b.real()
    rank = b.rank(x)
    if not rank:
        return
    n = b.shape(x)[-1]
    if b.flag(0.4):
        w = b.weight(b.int(1, 5), n, dtype=b.dtype(x))
        c = b.weight(b.shape(w)[0], dtype=b.dtype(x))
        b.computes(b.one([f"F.linear({x}, {w})", f"{x} @ {w}.T", f"F.linear({x}, {w}, {c})", f"{x} @ {w}.T + {c}"]))
        return
    forms = [each.format(x=x) for each in TRANSPOSED] if rank > 1 else [f"torch.dot({x}, {x})"]
    if rank > 1 and b.shape(x)[-2] == n:
        forms += [each.format(x=x) for each in SQUARE]
    if rank == 3:
        forms += [each.format(x=x) for each in BATCHED]
    others = [y for y in b.named(b.dtype(x)) if b.rank(y) > 1 and b.shape(y)[-2] == n]
    forms += [f"{x} @ {b.one(others)}"] * 3 if others else []
    b.computes(b.one(forms))


def transposed_product(b: Builder) -> None:
    """One permutation that several products read, or two equal ones."""
    x = b.real(b.int(2, 4))
    rank = b.rank(x)
    if rank < 2:
        return
    order = ", ".join(map(str, b.random.sample(range(rank), rank)))
    y = b.moves(f"{x}.permute({order})")
    z = b.moves(f"{x}.permute({order})") if b.flag(0.3) else y
    if y is None or z is None:
        return
    if b.shape(y)[-1] == b.shape(y)[-2]:
        b.computes(f"{y} @ {z}")
    b.computes(b.one(OF_A_TRANSPOSE).format(x=x, y=y, z=z))


def attention(b: Builder) -> None:
    x = b.real(b.int(3, 4))
    if b.rank(x) < 3:
        return
    mask = b.one(["", ", is_causal=True"])
    if b.flag():
        c = b.constant(b.one(MASKS).format(n=b.size(x, b.rank(x) - 2), dtype=b.dtype(x)))
        mask = f", attn_mask={c}" if c else ""
    y, z = (b.computes(f"{x}.{each}()") if b.flag() else x for each in ("tanh", "sin"))
    b.computes(f"F.scaled_dot_product_attention({x}, {y or x}, {z or x}{mask})")
