"""Matrix products and attention."""

from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from ops.surface import (
    Cases,
    assert_computes,
    assert_each_whole,
    assert_whole,
    beside,
    case,
    compiled,
    dozens,
    mask,
    r,
    together,
    trained,
)
from torch import nn

ATTENTION = nn.MultiheadAttention(8, 2, batch_first=True)


def attention(**options: Any) -> nn.MultiheadAttention:
    return nn.MultiheadAttention(8, 2, **options).eval()


class Encoder(nn.Module):
    """A transformer encoder layer as PyTorch has it."""

    def __init__(self, **options: Any):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, **options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


MATMULS = [
    ((6,), (6,)), ((5, 6), (6,)), ((6,), (6, 3)), ((5, 6), (6, 3)), ((2, 5, 6), (6,)), ((6,), (2, 6, 3)),
    ((2, 5, 6), (6, 3)), ((5, 6), (2, 6, 3)), ((2, 5, 6), (2, 6, 3)), ((1, 5, 6), (2, 6, 3)),
    ((2, 1, 5, 6), (4, 6, 3)), ((2, 4, 5, 6), (4, 6, 3)), ((2, 4, 5, 6), (1, 4, 6, 3)), ((4, 5, 6), (2, 4, 6, 3)),
    ((2, 1, 5, 6), (1, 4, 6, 3)), ((2, 4, 5, 6), (6,)), ((6,), (2, 4, 6, 3)), ((2, 2, 1, 5, 6), (3, 6, 2)),
    ((2, 1, 2, 1, 5, 6), (3, 1, 2, 6, 3)), ((2, 1, 1), (2, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("lhs", "rhs"), MATMULS)
def test_matmul(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> None:
    left, right = r(*lhs), r(*rhs)
    assert_whole(together(torch.matmul, lambda x, y: x @ right, lambda x, y: left @ y), (r(*lhs), r(*rhs)))


@pytest.mark.parametrize(
    "cases",
    dozens(
        *(case(f"linear of rank {len(s) + 1}", trained(nn.Linear(6, 3)), r(*s, 6))
          for s in ((), (5,), (2, 5), (2, 1, 5), (2, 1, 2, 5), (1, 2, 1, 2, 5))),
        case("linear without bias", nn.Linear(6, 3, bias=False), r(5, 6)),
        case("linear and relu", trained(nn.Sequential(nn.Linear(6, 3), nn.ReLU())), r(5, 6)),
        case("linear of one row and column", trained(nn.Linear(1, 1)), r(1, 1)),
        case("linear with a computed weight", F.linear, r(5, 6), r(3, 6)),
        case("linear with a computed weight and bias", F.linear, r(2, 5, 6), r(3, 6), r(3)),
        case("linear with a computed bias", lambda x, b, w=r(3, 6): F.linear(x, w, b), r(5, 6), r(3)),
        case("linear with a constant input", lambda w, x=r(5, 6): F.linear(x, w), r(3, 6)),
        case("linear in parallel and in sequence", lambda x, y, a=nn.Linear(6, 4), b=nn.Linear(4, 6):
             a(x) + a(b(a(y))), r(5, 6), r(5, 6)),
        case("linear with a vector", lambda x, w=r(6): F.linear(x, w), r(5, 6)),
        case("linear with a computed vector", F.linear, r(5, 6), r(6)),
        case("bilinear", trained(nn.Bilinear(4, 5, 3)), r(2, 4), r(2, 5)),
        case("mm", torch.mm, r(5, 6), r(6, 3)),
        case("mm with a constant", lambda x, w=r(6, 3): torch.mm(x, w), r(5, 6)),
        case("mm of a constant", lambda x, w=r(5, 6): torch.mm(w, x), r(6, 3)),
        case("bmm", torch.bmm, r(4, 3, 2), r(4, 2, 5)),
        case("bmm with a constant", lambda x, w=r(4, 2, 5): torch.bmm(x, w), r(4, 3, 2)),
        case("bmm of a constant", lambda x, w=r(4, 3, 2): torch.bmm(w, x), r(4, 2, 5)),
        *(case(f"addmm with self {s}", lambda b, x, w=r(6, 3): torch.addmm(b, x, w), r(*s), r(5, 6))
          for s in ((3,), (1, 3), (5, 3), (5, 1), (1,), ())),
        *(case(f"addmm with constant self {s}", lambda x, b=r(*s), w=r(6, 3): torch.addmm(b, x, w), r(5, 6))
          for s in ((3,), (1, 3), (5, 3), (5, 1), (1, 1), (1,), ())),
        case("addmm, all computed", torch.addmm, r(5, 3), r(5, 6), r(6, 3)),
        case("addmm with factors", lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2), r(3), r(5, 6), r(6, 3)),
        case("addmm with factors and constants", lambda x, b=r(3), w=r(6, 3):
             torch.addmm(b, x, w, beta=0.5, alpha=2), r(5, 6)),
        case("addmm with beta 0", lambda b, x, y: torch.addmm(b, x, y, beta=0), r(3), r(5, 6), r(6, 3)),
        case("addmv", torch.addmv, r(5), r(5, 6), r(6)),
        case("addbmm", torch.addbmm, r(5, 3), r(4, 5, 6), r(4, 6, 3)),
        case("baddbmm", torch.baddbmm, r(4, 5, 3), r(4, 5, 6), r(4, 6, 3)),
        case("baddbmm with factors", lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=-2), r(1, 5, 1),
             r(4, 5, 6), r(4, 6, 3)),
        case("baddbmm with beta 0", lambda c, a, b: torch.baddbmm(c, a, b, beta=0), r(4, 5, 3), r(4, 5, 6),
             r(4, 6, 3)),
        case("einsum of heads", lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), r(2, 3, 4, 5), r(2, 3, 6, 5)),
        case("einsum of channels", lambda a, b: torch.einsum("nkctv,kvw->nctw", a, b), r(2, 3, 4, 5, 6), r(3, 6, 6)),
        case("einsum of a trace-free sum", lambda a: torch.einsum("bij->bj", a), r(2, 3, 4)),
        case("tensordot", lambda a, b: torch.tensordot(a, b, dims=2), r(2, 3, 4), r(3, 4, 5)),
        *(case(f"two steps of {type(cell).__name__}", lambda x, h, m=trained(cell): m(x, m(x, h)), r(2, 3), r(2, 4))
          for cell in (nn.GRUCell(3, 4), nn.RNNCell(3, 4, bias=False), nn.RNNCell(3, 4, nonlinearity="relu"))),
        case("two steps of LSTMCell", lambda x, h, m=trained(nn.LSTMCell(3, 4)): m(x, m(x, (h, h * 2))), r(2, 3),
             r(2, 4)),
    ),
)  # fmt: skip
def test_products(cases: Cases) -> None:
    assert_each_whole(cases)


Q, K, V = r(2, 4, 5, 8), r(2, 4, 7, 8), r(2, 4, 7, 6)
BOOLEAN = mask(5, 7)
BOOLEAN[:, 0] = True


@pytest.mark.parametrize(
    "cases",
    dozens(
        case("plain", F.scaled_dot_product_attention, Q, K, V),
        case("of rank 2", F.scaled_dot_product_attention, r(5, 8), r(7, 8), r(7, 6)),
        case("of rank 3", F.scaled_dot_product_attention, r(4, 5, 8), r(4, 7, 8), r(4, 7, 6)),
        case("of rank 5", F.scaled_dot_product_attention, r(1, 2, 4, 5, 8), r(1, 2, 4, 7, 8), r(1, 2, 4, 7, 6)),
        case("causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), Q, K, V),
        case("computed mask", F.scaled_dot_product_attention, Q, K, V, r(5, 7)),
        case("computed mask by head", F.scaled_dot_product_attention, Q, K, V, r(2, 1, 5, 7)),
        case("computed mask by key", F.scaled_dot_product_attention, Q, K, V, r(2, 1, 1, 7)),
        case("constant mask", lambda q, k, v, m=r(5, 7): F.scaled_dot_product_attention(q, k, v, m), Q, K, V),
        case("boolean mask", lambda q, k, v, m=BOOLEAN: F.scaled_dot_product_attention(q, k, v, m), Q, K, V),
        case("mask that hides rows", lambda q, k, v, m=mask(5, 7) & torch.tensor([[True], [False]] * 2 + [[True]]):
             F.scaled_dot_product_attention(q, k, v, m), Q, K, V),
        case("mask of triangles", lambda q, k, v: F.scaled_dot_product_attention(
             q, k, v, torch.ones(5, 7, dtype=torch.bool).tril()), Q, K, V),
        case("grouped", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
             r(2, 6, 5, 8), r(2, 2, 7, 8), r(2, 2, 7, 6)),
        case("grouped, causal", lambda q, k, v: F.scaled_dot_product_attention(
             q, k, v, enable_gqa=True, is_causal=True, scale=0.2), r(2, 6, 5, 8), r(2, 3, 5, 8), r(2, 3, 5, 8)),
        case("of one head of many", F.scaled_dot_product_attention, Q, r(2, 1, 7, 8), r(2, 1, 7, 6)),
        case("multi-head, self", lambda x, m=attention(): m(x, x, x, need_weights=False)[0], r(5, 2, 8)),
        case("multi-head, with weights", lambda x, m=attention(): m(x, x, x), r(5, 2, 8)),
        case("multi-head, other sizes", lambda x, k, v, m=attention(kdim=6, vdim=4): m(x, k, v, need_weights=False)[0],
             r(5, 2, 8), r(7, 2, 6), r(7, 2, 4)),
        case("multi-head, bias of keys and values", lambda x, m=attention(add_bias_kv=True):
             m(x, x, x, need_weights=False)[0], r(5, 2, 8)),
        case("multi-head, zero attention", lambda x, m=attention(add_zero_attn=True):
             m(x, x, x, need_weights=False)[0], r(5, 2, 8)),
        case("multi-head, computed mask", lambda x, a, m=attention():
             m(x, x, x, attn_mask=a, need_weights=False)[0], r(5, 2, 8), r(5, 5)),
        case("multi-head, boolean mask", lambda x, a=~mask(5, 5).fill_diagonal_(True), m=attention():
             m(x, x, x, attn_mask=a, need_weights=False)[0], r(5, 2, 8)),
        case("multi-head, key padding", lambda x, a=torch.tensor([[False] * 4 + [True], [False] * 5]), m=attention():
             m(x, x, x, key_padding_mask=a, need_weights=False)[0], r(5, 2, 8)),
        case("encoder layer", trained(Encoder(batch_first=True)), r(2, 5, 8)),
    ),
)  # fmt: skip
def test_attention(cases: Cases) -> None:
    assert_each_whole(cases)


def even(number: float, *shape: int) -> torch.Tensor:
    """fp16, all the same."""
    return torch.full(shape, number, dtype=torch.float16)


# Each product is ±96,000 or more, beyond fp16, and each result below 50,000.
SUMS = [
    case("addmm", partial(torch.addmm, alpha=0.25, beta=0.5), even(-200.0, 4, 5), even(200.0, 4, 6), even(80.0, 6, 5)),
    case("addmm less", torch.addmm, even(-6e4, 5), even(200.0, 4, 6), even(80.0, 6, 5)),
    case("addmv", partial(torch.addmv, alpha=0.25), even(-200.0, 4), even(200.0, 4, 6), even(80.0, 6)),
    case("addbmm", partial(torch.addbmm, alpha=0.25), even(-200.0, 4, 5), even(200.0, 2, 4, 3), even(80.0, 2, 3, 5)),
    case("baddbmm", partial(torch.baddbmm, alpha=0.25), even(-9.0, 4, 5), even(200.0, 2, 4, 6), even(80.0, 2, 6, 5)),
    case("linear", F.linear, even(200.0, 4, 6), even(80.0, 5, 6), even(-6e4, 5)),
    case("addcmul", partial(torch.addcmul, value=0.25), even(-200.0, 4), even(400.0, 4), even(240.0, 4)),
]


def test_sums_of_halves_do_not_overflow_on_the_way() -> None:
    model, inputs = beside(SUMS)
    assert all(each.isfinite().all() for each in model(*inputs))
    assert_computes(compiled(model, inputs), model, inputs, stock=False)
