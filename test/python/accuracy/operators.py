"""What is composed of others somewhere on its way to a file: by torch, by a decomposition, in a kernel, as nodes.

Each is a function of tensors that are all drawn alike, [rows, features] or as its shapes say, and computes in whatever
type these have: what it makes of their values in fp64 is what it ought to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Function = Callable[..., Any]

DRAWS = ("spread", "equal", "offset")
"""Numbers around 0, all equal, and all within a hundredth of a number."""


@dataclass(frozen=True)
class Operator:
    """An operator, and the shapes of its operands."""

    compute: Function
    shapes: tuple[tuple[int, ...], ...] = ((6, 40),)
    exact: Function | None = None
    """What it is in fp64 where its meaning depends on the type, a function of the type and the operands."""
    squares: bool = False
    """Whether squares have to be numbers of the type that is computed in."""
    draws: tuple[str, ...] = DRAWS
    """The kinds of numbers that say something; the variance of equal ones is what rounding makes of 0."""


def image(compute: Function, *shape: int) -> Operator:
    """An operator on an image."""
    return Operator(compute, (shape or (2, 4, 9, 12),))


def volume(compute: Function) -> Operator:
    """An operator on a volume."""
    return Operator(compute, ((1, 2, 6, 7, 8),))


def two(compute: Function) -> Operator:
    """An operator on two operands of one shape."""
    return Operator(compute, ((6, 40), (6, 40)))


def weights(like: Tensor, *shape: int) -> Tensor:
    """Numbers of about 1 that every type has."""
    count = torch.Size(shape).numel()
    return (1 + (torch.arange(count) % 7 - 3) / 16).reshape(shape).to(like.dtype)


def rms_norm_by_default(dtype: torch.dtype, x: Tensor) -> Tensor:
    """As ATen says it: epsilon is that of the type which is computed in."""
    return functional.rms_norm(
        x, (40,), eps=torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
    )


def windows(x: Tensor) -> Tensor:
    """Attention without a mask; heads of 8."""
    return x.view(1, 2, -1, 8)


def masked(x: Tensor) -> Tensor:
    """A mask of numbers of which one row hides everything."""
    mask = torch.zeros(6, 6).masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf)
    mask[2] = -torch.inf
    return mask.to(x.dtype)


def attention(*, mask: bool = False, causal: bool = False, booleans: bool = False) -> Operator:
    """Scaled dot products of queries, keys and values."""

    def compute(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        given = masked(q) if mask else masked(q) == 0 if booleans else None
        return functional.scaled_dot_product_attention(q, k, v, given, is_causal=causal)

    return Operator(compute, ((1, 2, 6, 8),) * 3)


NORMS = {
    "layer_norm": Operator(lambda x: functional.layer_norm(x, (40,))),
    "layer_norm_affine": Operator(lambda x: functional.layer_norm(x, (40,), weights(x, 40), weights(x, 40), 1e-6)),
    "layer_norm_rows": Operator(lambda x: functional.layer_norm(x, (6, 40))),
    "rms_norm": Operator(lambda x: functional.rms_norm(x, (40,)), exact=rms_norm_by_default),
    "rms_norm_eps": Operator(lambda x: functional.rms_norm(x, (40,), weights(x, 40), 1e-6)),
    "group_norm": image(lambda x: functional.group_norm(x, 2, weights(x, 4), weights(x, 4))),
    "instance_norm": image(lambda x: functional.instance_norm(x)),
    "batch_norm": image(
        lambda x: functional.batch_norm(x, weights(x, 4) - 1, weights(x, 4), weights(x, 4), weights(x, 4))
    ),
    "batch_norm_of_batch": image(lambda x: functional.batch_norm(x, None, None, training=True)),
    "batch_norm_of_batch_affine": image(
        lambda x: functional.batch_norm(x, None, None, weights(x, 4), weights(x, 4), True)
    ),
    "normalize": Operator(lambda x: functional.normalize(x, dim=-1)),
    "normalize_1": Operator(lambda x: functional.normalize(x, 1.0, 0)),
    "local_response_norm": image(lambda x: functional.local_response_norm(x, 3)),
    "weight_norm": Operator(lambda x: torch.ops.aten._weight_norm(x, x[:, :1].abs() + 1)),
}

REDUCTIONS = {
    "mean": Operator(lambda x: x.mean(-1)),
    "mean_first": Operator(lambda x: x.mean(0, keepdim=True)),
    "mean_all": Operator(lambda x: x.mean()),
    "mean_long": Operator(lambda x: x.mean(-1), ((3, 1000),)),
    "mean_longer": Operator(lambda x: x.mean(-1), ((2, 5000),)),
    "mean_image": image(lambda x: x.mean((2, 3))),
    "mean_channels": image(lambda x: x.mean(1)),
    "mean_apart": image(lambda x: x.mean((0, 2))),
    "sum": Operator(lambda x: x.sum(-1)),
    "sum_first": Operator(lambda x: x.sum(0)),
    "sum_long": Operator(lambda x: x.sum(-1), ((3, 1000),)),
    "sum_image": image(lambda x: x.sum((2, 3))),
    "sum_all": Operator(lambda x: x.sum()),
    "nansum": Operator(lambda x: x.nansum(-1)),
    "nanmean": Operator(lambda x: x.nanmean(-1)),
    "var": Operator(lambda x: x.var(-1)),
    "var_biased": Operator(lambda x: x.var(0, correction=0)),
    "var_image": image(lambda x: x.var((2, 3))),
    "std": Operator(lambda x: x.std(-1)),
    "std_all": Operator(lambda x: x.std()),
    "var_mean": Operator(lambda x: torch.var_mean(x, -1)),
    "std_mean": Operator(lambda x: torch.std_mean(x, 0)),
    "norm": Operator(lambda x: torch.linalg.vector_norm(x, 2, -1)),
    "norm_of_type": Operator(lambda x: torch.linalg.vector_norm(x, 2, -1, dtype=x.dtype)),
    "norm_long": Operator(lambda x: torch.linalg.vector_norm(x, 2, -1), ((3, 1000),)),
    "norm_1": Operator(lambda x: torch.linalg.vector_norm(x, 1, -1)),
    "norm_3": Operator(lambda x: torch.linalg.vector_norm(x, 3, -1)),
    "norm_half": Operator(lambda x: torch.linalg.vector_norm(x, 0.5, -1)),
    "norm_0": Operator(lambda x: torch.linalg.vector_norm(x, 0, -1)),
    "norm_inf": Operator(lambda x: torch.linalg.vector_norm(x, torch.inf, -1)),
    "norm_fro": Operator(lambda x: x.norm()),
    "logsumexp": Operator(lambda x: x.logsumexp(-1)),
    "softmax": Operator(lambda x: x.softmax(-1)),
    "softmax_first": Operator(lambda x: x.softmax(0)),
    "softmin": Operator(lambda x: functional.softmin(x, -1)),
    "log_softmax": Operator(lambda x: x.log_softmax(-1)),
    "log_softmax_first": Operator(lambda x: x.log_softmax(0)),
    "cumsum": Operator(lambda x: x.cumsum(-1), ((3, 200),)),
    "cumsum_first": Operator(lambda x: x.cumsum(0)),
    "cumprod": Operator(lambda x: x.cumprod(-1), ((4, 6),)),
    "logcumsumexp": Operator(lambda x: x.logcumsumexp(-1)),
    "prod": Operator(lambda x: x.prod(-1), ((4, 5),)),
    "amax": Operator(lambda x: x.amax(-1)),
    "trace": Operator(lambda x: x.trace(), ((9, 9),)),
    "median": Operator(lambda x: x.median(-1)[0]),
    "diff": Operator(lambda x: x.diff()),
    "trapezoid": Operator(lambda x: torch.trapezoid(x)),
    "aminmax": Operator(lambda x: torch.aminmax(x, dim=-1)),
}

ACTIVATIONS = {
    name: Operator(compute)
    for name, compute in {
        "celu": lambda x: functional.celu(x, 0.7),
        "elu": lambda x: functional.elu(x, 1.3),
        "selu": functional.selu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "silu": functional.silu,
        "mish": functional.mish,
        "softplus": functional.softplus,
        "softplus_beta": lambda x: functional.softplus(x, 2.5, 10),
        "softsign": functional.softsign,
        "softshrink": functional.softshrink,
        "hardshrink": functional.hardshrink,
        "tanhshrink": functional.tanhshrink,
        "hardsigmoid": functional.hardsigmoid,
        "hardswish": functional.hardswish,
        "hardtanh": functional.hardtanh,
        "leaky_relu": functional.leaky_relu,
        "logsigmoid": functional.logsigmoid,
        "prelu": lambda x: functional.prelu(x, weights(x, 40) - 1.0),
        "relu6": functional.relu6,
        "rrelu": functional.rrelu,
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "threshold": lambda x: functional.threshold(x, 0.5, 0.1),
        "glu": functional.glu,
        "log1p": lambda x: x.abs().log1p(),
        "log1p_of_negative": lambda x: x.clamp(-0.9, 0.9).log1p(),
        "expm1": torch.expm1,
        "exp": torch.exp,
        "exp2": torch.exp2,
        "log": lambda x: x.abs().log(),
        "log2": lambda x: x.abs().log2(),
        "log10": lambda x: x.abs().log10(),
        "rsqrt": lambda x: x.abs().rsqrt(),
        "sinh": torch.sinh,
        "cosh": torch.cosh,
        "asinh": torch.asinh,
        "acosh": lambda x: (x.abs().clamp(max=1e4) + 1).acosh(),
        "atanh": lambda x: x.clamp(-0.9, 0.9).atanh(),
        "asin": lambda x: x.clamp(-1, 1).asin(),
        "acos": lambda x: x.clamp(-1, 1).acos(),
        "atan": torch.atan,
        "tan": lambda x: x.clamp(-1.5, 1.5).tan(),
        "sin": torch.sin,
        "cos": torch.cos,
        "sinc": torch.sinc,
        "erf": torch.erf,
        "erfc": torch.erfc,
        "logit": lambda x: torch.logit(x.abs(), 1e-3),
        "pow_2": lambda x: x**2,
        "pow_3": lambda x: x**3,
        "pow_half": lambda x: x.abs() ** 0.5,
        "pow_third": lambda x: x.abs() ** 0.3,
        "pow_minus": lambda x: x.abs() ** -1.5,
        "pow_of": lambda x: 1.5 ** x.clamp(-20, 20),
        "square": torch.square,
        "reciprocal": torch.reciprocal,
        "round_decimals": lambda x: x.round(decimals=2),
        "frac": torch.frac,
        "rad2deg": torch.rad2deg,
        "addcmul": lambda x: torch.addcmul(x, x, x, value=0.5),
        "addcdiv": lambda x: torch.addcdiv(x, x, x.abs() + 1, value=0.5),
        "lerp": lambda x: torch.lerp(x, -x, 0.3),
        "nan_to_num": torch.nan_to_num,
        "xlogy": lambda x: torch.xlogy(x, x.abs()),
        "entropy": lambda x: torch.special.entr(x.abs()),
        "digits": lambda x: torch.remainder(x, 0.75),
        "standardize": lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-3),
    }.items()
} | {
    "hypot": two(torch.hypot),
    "logaddexp": two(torch.logaddexp),
    "logaddexp2": two(torch.logaddexp2),
    "atan2": two(torch.atan2),
    "pow": two(lambda x, y: x.abs() ** y.clamp(-2, 2)),
    "copysign": two(torch.copysign),
}

POOLS = {
    "avg_pool2d": image(lambda x: functional.avg_pool2d(x, 3, 2)),
    "avg_pool2d_large": image(lambda x: functional.avg_pool2d(x, (9, 12))),
    "avg_pool2d_padded": image(lambda x: functional.avg_pool2d(x, 3, 2, 1)),
    "avg_pool2d_uncounted": image(lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
    "avg_pool2d_ceil": image(lambda x: functional.avg_pool2d(x, (4, 5), ceil_mode=True)),
    "avg_pool2d_divisor": image(lambda x: functional.avg_pool2d(x, 3, divisor_override=7)),
    "avg_pool1d": image(lambda x: functional.avg_pool1d(x, 5, 2), 2, 4, 30),
    "avg_pool3d": volume(lambda x: functional.avg_pool3d(x, 3)),
    "lp_pool2d": image(lambda x: functional.lp_pool2d(x, 2, 3)),
    "lp_pool1d": image(lambda x: functional.lp_pool1d(x, 2, 3), 2, 4, 30),
    "adaptive_avg_pool2d": image(lambda x: functional.adaptive_avg_pool2d(x, (3, 4))),
    "adaptive_avg_pool2d_uneven": image(lambda x: functional.adaptive_avg_pool2d(x, (4, 5))),
    "adaptive_avg_pool2d_one": image(lambda x: functional.adaptive_avg_pool2d(x, 1)),
    "adaptive_avg_pool1d": image(lambda x: functional.adaptive_avg_pool1d(x, 7), 2, 4, 30),
    "adaptive_avg_pool3d": volume(lambda x: functional.adaptive_avg_pool3d(x, (2, 3, 5))),
    "max_pool2d": image(lambda x: functional.max_pool2d(x, 3, 2, 1)),
}

RESIZES = {
    f"{mode}_{'corners' if corners else 'scale' if scale else 'size'}": image(
        lambda x, mode=mode, corners=corners, scale=scale: functional.interpolate(
            x, None if scale else (14, 7), scale, mode, corners
        )
    )
    for mode in ("bilinear", "bicubic")
    for corners, scale in ((True, None), (False, None), (False, (1.6, 0.7)))
} | {
    "bilinear_antialias": image(
        lambda x: functional.interpolate(x, (4, 7), mode="bilinear", align_corners=False, antialias=True)
    ),
    "bicubic_antialias": image(
        lambda x: functional.interpolate(x, (4, 7), mode="bicubic", align_corners=False, antialias=True)
    ),
    "linear": image(lambda x: functional.interpolate(x, 17, mode="linear", align_corners=False), 2, 4, 9),
    "trilinear": volume(lambda x: functional.interpolate(x, (4, 9, 11), mode="trilinear", align_corners=False)),
    "area": image(lambda x: functional.interpolate(x, (4, 5), mode="area")),
    "grid_sample": image(
        lambda x: functional.grid_sample(
            x,
            functional.affine_grid(torch.eye(2, 3, dtype=x.dtype).expand(2, 2, 3) * 0.8, [2, 4, 9, 12], False),
            align_corners=False,
        )
    ),
}

ATTENTION = {
    "attention": attention(),
    "attention_causal": attention(causal=True),
    "attention_masked": attention(mask=True),
    "attention_booleans": attention(booleans=True),
}

LOSSES = {
    name: two(compute)
    for name, compute in {
        "mse": functional.mse_loss,
        "l1": functional.l1_loss,
        "huber": functional.huber_loss,
        "smooth_l1": functional.smooth_l1_loss,
        "kl_div": lambda x, y: functional.kl_div(
            x.log_softmax(-1), y[:, ::2].repeat(1, 2).softmax(-1) * 0.5, reduction="batchmean"
        ),
        "bce": lambda x, y: functional.binary_cross_entropy(x.sigmoid(), y.sigmoid()),
        "bce_with_logits": lambda x, y: functional.binary_cross_entropy_with_logits(x, y.sigmoid()),
        "poisson": lambda x, y: functional.poisson_nll_loss(x, y.abs(), log_input=True),
        "soft_margin": lambda x, y: functional.soft_margin_loss(x, y.sign()),
        "hinge": lambda x, y: functional.hinge_embedding_loss(x, y.sign()),
        "cosine": lambda x, y: functional.cosine_similarity(x, y),
        "cosine_first": lambda x, y: functional.cosine_similarity(x, y, 0),
        "cosine_embedding": lambda x, y: functional.cosine_embedding_loss(x, y, x[:, 0].sign()),
        "pairwise": lambda x, y: functional.pairwise_distance(x, y),
        "pairwise_1": lambda x, y: functional.pairwise_distance(x, y, 1.0),
        "cdist": lambda x, y: torch.cdist(x[None], y[None]),
        "cdist_1": lambda x, y: torch.cdist(x[None], y[None], p=1.0),
        "dist": lambda x, y: torch.dist(x, y),
        "triplet": lambda x, y: functional.triplet_margin_loss(x, y, -x),
        "cross_entropy": lambda x, y: functional.cross_entropy(x, torch.arange(6)) + y.sum() * 0,
        "cross_entropy_smooth": lambda x, y: (
            functional.cross_entropy(x, torch.arange(6), label_smoothing=0.1) + y.sum() * 0
        ),
        "soft_cross_entropy": lambda x, y: functional.cross_entropy(x, y.softmax(-1)),
        "matmul": lambda x, y: x @ y.mT,
        "linear": lambda x, y: functional.linear(x, weights(x, 8, 40) - 1, weights(x, 8)) + y[:, :8],
        "baddbmm": lambda x, y: torch.baddbmm(x[None, :, :6], x[None], y.mT[None], beta=0.5, alpha=0.25),
        "outer": lambda x, y: torch.outer(x[0], y[0]),
        "cross": lambda x, y: torch.linalg.cross(x[:, :3], y[:, :3]),
        "vecdot": torch.linalg.vecdot,
        "tensordot": lambda x, y: torch.einsum("ik,jk->ij", x, y),
    }.items()
} | {
    "pdist": Operator(lambda x: functional.pdist(x)),
    "embedding_bag": Operator(
        lambda w: functional.embedding_bag(torch.tensor([1, 2, 4, 5, 4, 3, 2, 5]), w, torch.tensor([0, 4]), mode="mean")
    ),
    "conv2d": image(lambda x: functional.conv2d(x, weights(x, 3, 4, 3, 3) - 1, weights(x, 3))),
    "conv_transpose2d": image(lambda x: functional.conv_transpose2d(x, weights(x, 4, 3, 3, 3) - 1, weights(x, 3), 2)),
}

_SQUARED = frozenset(
    """
    attention attention_booleans attention_causal attention_masked baddbmm batch_norm_of_batch
    batch_norm_of_batch_affine cdist cosine cosine_embedding cosine_first cross dist group_norm instance_norm
    layer_norm layer_norm_affine layer_norm_rows local_response_norm lp_pool1d lp_pool2d matmul mse norm norm_fro
    norm_long normalize outer pairwise pdist pow_2 rms_norm rms_norm_eps square standardize std std_all std_mean
    tensordot triplet var var_biased var_image var_mean vecdot weight_norm
    """.split()
)
"""Of these eager computes some in fp64, or by steps that do not overflow; XNNPACK squares in fp32."""

_OF_DIFFERENCES = frozenset("kl_div std std_all std_mean var var_biased var_image var_mean".split())
"""Of equal numbers they are what rounding makes of 0."""


def _as_said(name: str, operator: Operator) -> Operator:
    draws = ("spread", "offset") if name in _OF_DIFFERENCES else DRAWS
    return replace(operator, squares=name in _SQUARED, draws=draws)


OPERATORS: dict[str, Operator] = {
    name: _as_said(name, operator)
    for family in (NORMS, REDUCTIONS, ACTIVATIONS, POOLS, RESIZES, ATTENTION, LOSSES)
    for name, operator in family.items()
}
