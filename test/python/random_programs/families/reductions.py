"""What adds up, compares or normalises along dimensions."""

from __future__ import annotations

from random_programs.builder import Builder

DELEGATED = (
    "{x}.mean({dims})", "{x}.sum({dims})", "{x}.amax({dims})", "{x}.amin({dims})", "{x}.var({dims}, correction=0)",
    "{x}.sum()", "{x}.mean()", "torch.logsumexp({x}, {dims})", "{x}.max({dim}).values",
    "{x}.sum({dims}, dtype=torch.float32)", "{x}.max()", "torch.aminmax({x}).min",
)  # fmt: skip
"""What XNNPACK computes, and what no rounding moves far; `properties` draw from these as well."""

OF_NUMBERS = (
    *DELEGATED, "{x}.std({dims}, correction=0)", "torch.linalg.vector_norm({x}, {dims})", "{x}.norm(p=1, {dims})",
    "{x}.norm(p=3, {dims})", "{x}.norm(p=inf, {dims})", "{x}.prod({dim})", "{x}.cumsum({d})", "{x}.var({dims})",
    "torch.median({x})",
)  # fmt: skip

JUMPING = (
    "{x}.argmax({dim})", "({x} > 0).any({dim})", "({x} > 0).sum({dim})", "torch.count_nonzero({x})",
    "({x} > 0).float().mean({dims})",
)  # fmt: skip

OF_INTEGERS = (
    "{x}.sum({dims})", "{x}.sum()", "{x}.amax({dims})", "{x}.float().mean({dims})", "{x}.cumsum({d})",
    "{x}.any({dim})", "{x}.all({dim})", "{x}.prod({dim})", "{x}.max()", "{x}.sum({dims}, dtype=torch.float32)",
    "torch.mean({x}, {dims}, dtype=torch.float32)",
)  # fmt: skip

SOFTMAXES = (
    "F.softmax({x}, {dim})", "F.log_softmax({x}, {dim})", "F.softmax({x}, {dim}, dtype=torch.float32)",
    "F.softmin({x}, {dim})",
)  # fmt: skip

NORMS = (
    *SOFTMAXES, "F.normalize({x}, dim={dim})", "F.layer_norm({x}, ({n},){eps})", "F.rms_norm({x}, ({n},){eps})",
    "F.rms_norm({x}, ({n},))",
)  # fmt: skip

WITH_WEIGHTS = ("F.layer_norm({x}, ({n},), {w}, {c}{eps})", "F.rms_norm({x}, ({n},), {w}{eps})")

OF_CHANNELS = (
    "F.group_norm({x}, 1{eps})", "F.instance_norm({x}{eps})", "F.batch_norm({x}, None, None, training=True{eps})",
)  # fmt: skip


def reduction(b: Builder) -> None:
    x, keep = b.number(), b.flag()
    rank = b.rank(x)
    dims = b.random.sample(range(rank), b.int(1, rank)) if rank else [0]
    forms = OF_INTEGERS if not b.is_float(x) else JUMPING if b.flag(0.15) else OF_NUMBERS
    add = b.jumps if forms is JUMPING else b.computes
    parts = {"dims": f"dim={dims}, keepdim={keep}", "dim": f"dim={dims[0]}, keepdim={keep}", "d": dims[0]}
    add(b.one(forms).format(x=x, **parts))


def normalization(b: Builder) -> None:
    x = b.real()
    rank = b.rank(x)
    if not rank:
        return
    last, forms = b.shape(x)[-1], NORMS
    if rank > 2 and not b.open_sizes:
        forms += OF_CHANNELS
    w = c = ""
    if b.flag(0.3):
        w, c, forms = b.weight(last, dtype=b.dtype(x)), b.weight(last, dtype=b.dtype(x)), WITH_WEIGHTS
    eps = b.one(["", ", eps=1e-3", ", eps=0.1"])
    b.computes(b.one(forms).format(x=x, dim=b.int(-rank, rank - 1), n=last, w=w, c=c, eps=eps))
