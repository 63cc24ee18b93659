"""What only moves elements."""

from __future__ import annotations

from random_programs.builder import Builder

OF_A_NUMBER = ("{x}.reshape(1)", "{x}.expand(2, 3)", "torch.stack([{x}, {x}])")

ANY = (
    "{x}.permute({order})", "{x}.transpose({d}, {e})", "{x}.transpose(-1, -{back})", "{x}.flatten()",
    "{x}.reshape(-1, {last})", "{x}.unsqueeze({d})", "{x}.squeeze()", "{x}[{before}{start}:]", "{x}[{before}::2]",
    "{x}.select({d}, {start})", "{x}.select({d}, -1)", "{x}.flip({d})", "{x}.roll(1, {d})", "{x}.repeat({times})",
    "{x}.expand(2, {same})", "F.pad({x}, (0, 2))", "F.pad({x}, (-1, 1), value=0.5)", "{x}.chunk(2, {d})[-1]",
    "{x}.index_select({d}, torch.tensor([{start}, 0]))", "{x}.repeat_interleave(2, {d})", "{x}.unfold({d}, 1, 1)",
    "{x}.contiguous()", "{x}.movedim({d}, {e})", "{x}.gather({d}, torch.zeros_like({x}, dtype=torch.int64))",
    "torch.diag({x})", "{x}.narrow({d}, {start}, 1)",
)  # fmt: skip

OF_A_MATRIX = ("{x}.tril()", "{x}.triu(1)", "{x}.diagonal()", "{x}.mT")

JOINED = (
    "torch.cat([{x}, {x}], {d})", "torch.cat([{x}, {y}], {d})", "torch.cat([{y}, {x}, {z}], {d})",
    "torch.stack([{x}, {y}], {d})", "torch.cat([{x}, {y}, {x}, {y}, {z}], {d})", "torch.stack([{x}, {x}], {d})",
)  # fmt: skip


def movement(b: Builder) -> None:
    x = b.number()
    rank = b.rank(x)
    if not rank:
        b.moves(b.one(OF_A_NUMBER).format(x=x))
        return
    d, e = b.int(0, rank - 1), b.int(0, rank - 1)
    parts = {
        "order": ", ".join(map(str, b.random.sample(range(rank), rank))),
        "back": b.int(1, rank),
        "last": b.size(x, rank - 1),
        "before": ":, " * d,
        "start": b.int(0, b.shape(x)[d] - 1),
        "times": ", ".join("2" if b.flag(0.3) else "1" for _ in range(rank)),
        "same": ", ".join(["-1"] * rank),
    }
    b.moves(b.one(ANY + OF_A_MATRIX if rank > 1 else ANY).format(x=x, d=d, e=e, **parts))


def joined(b: Builder) -> None:
    """Values that are joined, one of them several times."""
    x = b.number()
    if b.rank(x):
        d = b.int(0, b.rank(x) - 1)
        b.moves(b.one(JOINED).format(x=x, y=b.same_shape(x), z=b.same_shape(x), d=d))
