"""Reductions, softmax and normalisations."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from ops.surface import Cases, assert_each_whole, assert_whole, case, dozens, r, together, trained
from torch import nn

IMAGE = r(2, 6, 5, 7)

REDUCTIONS = {
    "mean": torch.mean, "sum": torch.sum, "amax": torch.amax, "amin": torch.amin, "var": torch.var, "std": torch.std,
    "logsumexp": torch.logsumexp, "norm": lambda x, dim, keepdim: torch.linalg.vector_norm(x, 2, dim, keepdim),
}  # fmt: skip
BOTH = (False, True)
SHAPES = [
    ((7,), (0,)), ((5, 7), (0,)), ((5, 7), (-1,)), ((5, 7), (0, 1)), ((2, 5, 7), (1,)), ((2, 5, 7), (0, 2)),
    ((2, 6, 5, 7), (2, 3)), ((2, 6, 5, 7), (-1, -2)), ((2, 6, 5, 7), (3,)), ((2, 6, 5, 7), (1, 3)),
    ((2, 6, 5, 7), (0, 1, 2, 3)), ((2, 3, 2, 5, 4), (1, 3)), ((2, 3, 2, 2, 2, 3), (5, 0)),
    ((2, 3, 2, 2, 2, 3), (0, 2, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "dims"), SHAPES)
def test_reductions(shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    calls = [partial(function, dim=dims, keepdim=keepdim) for function in REDUCTIONS.values() for keepdim in BOTH]
    assert_whole(together(*calls), (r(*shape),))


@pytest.mark.parametrize(
    "cases",
    dozens(
        case("mean of all", torch.mean, IMAGE),
        case("sum of all", torch.sum, IMAGE),
        case("sum of a size 1", lambda x: x.sum(1), r(3, 1, 4)),
        case("max of all", torch.max, IMAGE),
        case("min of all", torch.min, IMAGE),
        case("max of a dimension", lambda x: x.max(2, keepdim=True).values + x.max(3, keepdim=True).values, IMAGE),
        case("min of a dimension", lambda x: x.min(-1)[0], IMAGE),
        case("var of all", torch.var, IMAGE),
        case("var with correction 0", lambda x: torch.var(x, (2, 3), correction=0), IMAGE),
        case("var with correction 3", lambda x: torch.var(x, -1, correction=3), IMAGE),
        case("var, biased", lambda x: torch.var(x, 1, unbiased=False), IMAGE),
        case("var and mean", lambda x: torch.var_mean(x, 1), IMAGE),
        case("prod", lambda x: x.prod(1), IMAGE),
        case("prod of all", torch.prod, r(3, 4)),
        case("logsumexp of large numbers", lambda x: torch.logsumexp(x * 100, 1), IMAGE),
        *(case(f"norm {order}", lambda x, order=order: torch.linalg.vector_norm(x, order, 1), IMAGE)
          for order in (1, 2, 3, float("inf"), -float("inf"), 0.5, -1)),
        case("norm of all", torch.norm, IMAGE),
        case("normalize", F.normalize, IMAGE),
        case("softmax of a vector", lambda x: x.softmax(0), r(7)),
        *(case(f"softmax over {dim}", lambda x, dim=dim: F.softmax(x, dim), IMAGE) for dim in range(-4, 4)),
        *(case(f"softmin over {dim}", lambda x, dim=dim: F.softmin(x, dim), IMAGE) for dim in (0, 3)),
        *(case(f"log_softmax over {dim}", lambda x, dim=dim: F.log_softmax(x * 30, dim), IMAGE) for dim in range(4)),
        case("softmax of rank 6", lambda x: x.softmax(-1) + x.softmax(2), r(2, 3, 2, 2, 2, 3)),
        case("softmax of -inf", lambda x: F.softmax(x.masked_fill(torch.ones(5, 7).triu(1) == 1, -float("inf")), -1),
             IMAGE),
    ),
)  # fmt: skip
def test_reductions_in_context(cases: Cases) -> None:
    assert_each_whole(cases)


@pytest.mark.parametrize(
    "cases",
    dozens(
        *(case(f"layer norm {shape} affine={affine} {x.dim()}d",
               trained(nn.LayerNorm(shape, elementwise_affine=affine)), x)
          for affine in (False, True)
          for shape, x in (([7], IMAGE), ([5, 7], IMAGE), ([6, 5, 7], IMAGE), ([4], r(4)), ([4], r(3, 4)))),
        case("layer norm without bias", trained(nn.LayerNorm(7, bias=False)), IMAGE),
        case("layer norm with a computed weight", lambda x, w, b: F.layer_norm(x, (7,), w, b), IMAGE, r(7), r(7)),
        case("layer norm of channels", lambda x, m=trained(nn.LayerNorm(6)): m(x.permute(0, 2, 3, 1)).permute(
             0, 3, 1, 2), IMAGE),
        *(case(f"group norm {groups} affine={affine} {x.dim()}d", trained(nn.GroupNorm(groups, 6, affine=affine)), x)
          for affine in (False, True) for groups in (1, 2, 6)
          for x in (r(2, 6), r(2, 6, 5), IMAGE, r(1, 6, 2, 3, 4)) if x[0].numel() > groups),
        *(case(f"instance norm affine={affine}", trained(nn.InstanceNorm2d(6, affine=affine)), IMAGE)
          for affine in (False, True)),
        case("instance norm 1d", nn.InstanceNorm1d(6), r(2, 6, 5)),
        case("instance norm 3d", nn.InstanceNorm3d(6), r(2, 6, 2, 3, 4)),
        case("instance norm with statistics", trained(nn.InstanceNorm2d(6, track_running_stats=True, affine=True)),
             IMAGE),
        *(case(f"rms norm affine={affine}", trained(nn.RMSNorm(7, elementwise_affine=affine)), IMAGE)
          for affine in (False, True)),
        case("rms norm over two", trained(nn.RMSNorm([5, 7], eps=1e-3)), IMAGE),
    ),
)  # fmt: skip
def test_normalizations(cases: Cases) -> None:
    assert_each_whole(cases)
