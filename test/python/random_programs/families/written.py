"""What people write besides: orders, scans, losses, scattered values, updates in place."""

from __future__ import annotations

from random_programs.builder import Builder

COMPUTED = (
    "{x}.cumprod({d})", "{x}.cummax({d}).values", "{x}.logcumsumexp({d})", "{x}.sort({d}).values",
    "{x}.topk(1, {d}).values", "{x}.kthvalue(1, {d}).values", "{x}.diff(dim={d})", "{x}.median({d}).values",
    "torch.einsum('...i,...i->...', {x}, {x})", "torch.einsum('...i,...j->...ij', {x}, {x})",
    "{x}.index_add(0, torch.tensor([0]), {x}[:1])",
    "torch.ones_like({x}).scatter_add({d}, torch.zeros_like({x}, dtype=torch.int64), {x})",
    "torch.ones_like({x}).scatter_reduce({d}, torch.zeros_like({x}, dtype=torch.int64), {x}, 'amax')",
    "torch.zeros_like({x}).index_put((torch.tensor([0, 0]),), {x}[:1], accumulate=True)",
    "{x}.clone().mul_(2).sub_({x}).relu_()", "{x}.clone().clamp_(-1, 1).add_({x})",
    "torch.mul({x}, {x}, out=torch.empty_like({x}))", "torch.cumulative_trapezoid({x}, dim={d})",
)  # fmt: skip

OF_TWO = (
    "F.mse_loss({x}, {y})", "F.l1_loss({x}, {y}, reduction='none')", "F.smooth_l1_loss({x}, {y}, beta=0.5)",
    "F.huber_loss({x}, {y}, delta=0.5)", "F.binary_cross_entropy_with_logits({x}, {y}.sigmoid())",
    "F.kl_div(F.log_softmax({x}, {d}), F.softmax({y}, {d}), reduction='sum')", "F.cosine_similarity({x}, {y}, {d})",
    "F.soft_margin_loss({x}, torch.ones_like({x}))", "F.poisson_nll_loss({x}.clamp(max=4), {y}.abs())",
    "torch.einsum('...i,...i->...', {x}, {y})", "{x}.clone().addcmul_({x}, {y}, value=0.5)",
    "F.pairwise_distance({x}, {y})", "F.triplet_margin_loss({x}, {y}, {x} * 2)",
)  # fmt: skip

MOVED = (
    "{x}.scatter({d}, torch.zeros_like({x}, dtype=torch.int64)[:1], {x}[:1])", "{x}.swapaxes(0, {d})",
    "{x}.index_copy(0, torch.tensor([0]), {x}[-1:])", "{x}.take(torch.tensor([0, -1]))", "{x}.flatten().view(-1, 1)",
    "{x}.slice_scatter({x}[:1] * 0, 0, 0, 1)", "{x}.select_scatter({x}[0], 0, -1)", "torch.atleast_2d({x})",
    "{x}.unsqueeze(0).expand(2, {same}).flatten(0, 1)", "torch.roll({x}, (1, -1), (0, {d}))",
    "{x}.as_strided((1,), (1,), 0)",
)  # fmt: skip

OF_A_MATRIX = (
    "{x}.rot90()", "torch.block_diag({x}, {x})", "{x}.clone().fill_diagonal_(1)",
    "{x}.masked_fill(torch.ones_like({x}, dtype=torch.bool).tril(), 0)",
)  # fmt: skip

# Which of equal elements an index without a promise of order means is unspecified.
JUMPING = (
    "{x}.argsort({d}, stable=True)", "{x}.clone().masked_scatter_({x} > 0, {x}.abs())",
    "torch.bucketize({x}, torch.tensor([-1.0, 0.0, 1.0]))", "{x}.sort({d}, stable=True, descending=True).indices",
    "({x} > 0).cumsum({d})", "({x} * 4).clamp(-99, 99).int() // 3", "F.one_hot({x}.argmax(-1), {last})",
    "torch.where({x} > 0, {x}, torch.where({x} < -1, {x} * 2, -{x}))",
)  # fmt: skip


def written(b: Builder) -> None:
    x = b.real()
    rank = b.rank(x)
    if not rank:
        return
    d = b.int(0, rank - 1)
    parts = {"d": d, "same": ", ".join(["-1"] * rank), "last": b.shape(x)[-1]}
    if b.flag(0.25):
        b.moves(b.one(MOVED + OF_A_MATRIX if rank == 2 else MOVED).format(x=x, **parts))
    elif b.flag(0.25):
        b.jumps(b.one(JUMPING).format(x=x, **parts))
    elif b.flag(0.4):
        alike = [y for y in b.named(b.dtype(x)) if b.shape(y) == b.shape(x)]
        b.computes(b.one(OF_TWO).format(x=x, y=b.one(alike), **parts))
    else:
        b.computes(b.one(COMPUTED).format(x=x, **parts))
