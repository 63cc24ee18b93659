"""Arithmetic and activations, also where numbers end."""

import math
from collections.abc import Callable
from typing import Literal

import pytest
import torch
import torch.nn.functional as F
from ops.surface import (
    Cases,
    Model,
    assert_each_whole,
    case,
    compiled,
    dozens,
    mask,
    p,
    r,
    together,
    trained,
)
from reference.modules import Function
from torch import nn

from xir import runtime
from xir.api import XnnpackPartitioner, to_edge

X, Y = r(3, 4, 5), r(3, 4, 5)
CONSTANT = p(4, 5)
NEAR = torch.linspace(-9, 9, 181)

BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
    "minimum": torch.minimum, "rsub": torch.rsub,
    "squared_difference": lambda x, y: (x - y) ** 2, "true_divide": torch.true_divide,
    "hypot": torch.hypot, "pow": lambda x, y: torch.pow(x.abs() + 0.1, y),
    "div trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3), "l1": lambda x, y: (x - y).abs(),
    "mse": lambda x, y: ((x - y) ** 2).mean(), "dist": lambda x, y: (x - y).norm(),
    "logaddexp": torch.logaddexp,
}  # fmt: skip
SHAPES = [
    ((1,), (1,)), ((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 1, 4), (3, 1)), ((), (2, 3)), ((2, 3), ()),
    ((), ()), ((1, 1, 4, 4), (1, 1, 4, 1)), ((2, 1, 2, 1, 2, 1), (1, 2, 1, 2, 2)), ((1, 2, 1, 2, 1, 3), (2, 1)),
]  # fmt: skip


SUMS = together(torch.add, torch.maximum, BINARY["squared_difference"])


@pytest.mark.parametrize("cases", dozens(*(case(f"{a} {b}", SUMS, r(*a), r(*b)) for a, b in SHAPES)))
def test_shapes(cases: Cases) -> None:
    assert_each_whole(cases)


def broadcast(function: Model) -> Model:
    """A function of tensors of several shapes, and of a constant on either side."""
    return lambda x, y: (function(x, y), function(x, y[0, :, :1]), function(x, CONSTANT), function(CONSTANT, y))


@pytest.mark.parametrize(
    "cases", dozens(*(case(name, broadcast(function), X * 3, p(3, 4, 5)) for name, function in BINARY.items()))
)
def test_binary(cases: Cases) -> None:
    assert_each_whole(cases)


WHOLE_NUMBERS = [1e-10, 0.3, 0.5, 1, 1.75, 7.3, 1e6 + 0.25, 2.0**24, 2.0**24 + 2, 3e10, 6e4, 3e38, math.inf]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("target", ["executorch", "xir"])
def test_remainders_of_numbers_of_all_sizes(target: Literal["executorch", "xir"], dtype: torch.dtype) -> None:
    """Quotients by less than 1 overflow, and those by large numbers are too small to be told from 0.

    PyTorch in fp64 is who is right: in fp32 its vectors of numbers overflow, and the rest behind them does not.
    """
    numbers = torch.tensor([0.0, *WHOLE_NUMBERS, math.nan])
    x = torch.cat([numbers, -numbers]).to(dtype)
    divisors = [0.5, -0.25, 2.0**-20, 1, 4, -4, 2.0**23, 2.0**24, -(2.0**100)]

    def model(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        remainders = [f(x, d) for d in divisors for f in (torch.remainder, torch.fmod)]
        return (*remainders, *(torch.div(x, d, rounding_mode="floor") for d in divisors))

    exported = torch.export.export(Function(model), (x,))
    program = to_edge(exported).to_backend(XnnpackPartitioner(target=target)).to_executorch()
    got = runtime.Runtime.get().load_program(program.buffer).load_method().execute([x])
    for result, want in zip(got, model(x.double()), strict=True):
        torch.testing.assert_close(result, want.to(dtype), rtol=2.0**-23, atol=0.0, equal_nan=True)


SCALARS = {
    "add": lambda x: x + 2, "radd": lambda x: 2 + x, "sub": lambda x: x - 0.5, "rsub": lambda x: 0.5 - x,
    "mul": lambda x: x * -3, "div": lambda x: x / 3, "rdiv": lambda x: 3 / (x.abs() + 1), "neg": lambda x: -x,
    "alpha": lambda x: torch.add(x, x * x, alpha=-2), "sub alpha": lambda x: torch.sub(x, x * x, alpha=0.5),
    "rsub alpha": lambda x: torch.rsub(x, 2, alpha=3), "self twice": lambda x: x + x,
    "maximum of a number": lambda x: torch.maximum(x, torch.tensor(0.5)), "floor_divide": lambda x: x * 9 // 2,
    "remainder": lambda x: x * 9 % 4, "negative remainder": lambda x: x * 9 % -4,
    "fmod": lambda x: torch.fmod(x * 9, 4),
    "div floor": lambda x: torch.div(x * 9, -2, rounding_mode="floor"),
    "div trunc": lambda x: torch.div(x * 9, 2, rounding_mode="trunc"),
    "lerp": lambda x: torch.lerp(x, x * x, torch.full((5,), 0.25)),
    "addcmul": lambda x: torch.addcmul(x, x + 1, x - 1, value=0.5),
    "addcdiv": lambda x: torch.addcdiv(x, x + 1, x.abs() + 1, value=-2),
    "clamp": lambda x: x.clamp(-0.5, 0.5), "clamp_min": lambda x: x.clamp_min(-0.25),
    "clamp_max": lambda x: x.clamp_max(0.25), "clamp integers": lambda x: x.clamp(0, 1),
    "clamp equal bounds": lambda x: x.clamp(0.5, 0.5), "clamp crossed bounds": lambda x: x.clamp(1.0, -1.0),
    "clip": lambda x: x.clip(min=0), "clamp tensors": lambda x: x.clamp(torch.full((5,), -0.3), torch.tensor(0.6)),
    **{f"pow {e}": lambda x, e=e: torch.pow(x, e) for e in (1, 2, 3, 4, 5, 8, 2.0, 3.0, -1, -2, -3, 20, -20)},
    **{f"pow {e}": lambda x, e=e: torch.pow(x.abs() + 0.1, e) for e in (0.5, -0.5, 1.5, 2.5, -1.5, 0.25, 0.3333, 2.2)},
    "pow of a number": lambda x: torch.pow(2.5, x), "pow of 1": lambda x: torch.pow(1, x),
    "pow of a number tensor": lambda x: torch.pow(torch.tensor(3.0), x), "float_power": lambda x: x.pow(2).pow(0.5),
}  # fmt: skip


@pytest.mark.parametrize("cases", dozens(*(case(name, model, X) for name, model in SCALARS.items())))
def test_numbers(cases: Cases) -> None:
    assert_each_whole(cases)


UNARY = {
    "abs": torch.abs, "neg": torch.neg, "exp": torch.exp, "square": torch.square, "sin": torch.sin, "cos": torch.cos,
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round,
    "round 1": lambda x: torch.round(x, decimals=1), "round -1": lambda x: torch.round(x * 10, decimals=-1),
    "trunc": torch.trunc, "frac": torch.frac, "sign": torch.sign, "sgn": torch.sgn, "exp2": torch.exp2,
    "cosh": torch.cosh, "sinh": torch.sinh, "tan": lambda x: torch.tan(x / 8), "positive": torch.positive,
    "erf": torch.erf, "expm1": torch.expm1,
    "relu": F.relu, "relu6": F.relu6, "hardtanh": F.hardtanh, "hardtanh -2 2": lambda x: F.hardtanh(x, -2, 2),
    "leaky_relu": F.leaky_relu, "leaky_relu 0.2": lambda x: F.leaky_relu(x, 0.2),
    "leaky_relu 0": lambda x: F.leaky_relu(x, 0.0), "elu": F.elu, "elu 0.5": lambda x: F.elu(x, 0.5),
    "elu 1.2": lambda x: F.elu(x, 1.2), "elu -1": lambda x: F.elu(x, -1.0), "elu 0": lambda x: F.elu(x, 0.0),
    "selu": F.selu, "celu": F.celu, "celu 2": lambda x: F.celu(x, 2.0), "celu -1.5": lambda x: F.celu(x, -1.5),
    "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
    "softplus": F.softplus, "softplus 2 3": lambda x: F.softplus(x, 2, 3), "softplus -1": lambda x: F.softplus(x, -1),
    "logsigmoid": F.logsigmoid, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "softshrink": lambda x: F.softshrink(x, 0.7),

    "glu": lambda x: F.glu(x[:180]), "relu of a norm": lambda x: F.relu(x / x.norm()), "deg2rad": torch.deg2rad,
    "rad2deg": torch.rad2deg, "quick gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "erf gelu": lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2))),
}  # fmt: skip
POSITIVE = {
    "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p, "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal, "logit": lambda x: torch.logit(x / 4),


}  # fmt: skip


@pytest.mark.parametrize("cases", dozens(*(case(name, model, NEAR) for name, model in UNARY.items())))
def test_unary(cases: Cases) -> None:
    assert_each_whole(cases)


@pytest.mark.parametrize("function", [torch.sin, torch.cos])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sines_of_large_angles_are_numbers(
    function: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype
) -> None:
    """XNNPACK's are beyond 1 from 10⁹ on, and NaN from 10¹³; eager's are NaN for infinities alone. They lose
    digits from 7 · 10⁵ on without fused multiply-add (`known_faults/kernels.py`)."""
    x = torch.tensor([3e9, -1e12, 1e13, 3e38, -3e38, math.inf, -math.inf, math.nan, 1e5, -1e5, 3.0], dtype=dtype)
    file = compiled(lambda x: function(x), (x,)).to_executorch().buffer
    result = torch.as_tensor(runtime.Runtime.get().load_program(file).load_method().execute([x])[0])
    assert torch.equal(result.isnan(), function(x).isnan())
    assert bool((result.nan_to_num(0).abs() <= 1).all())
    torch.testing.assert_close(result[-3:], function(x)[-3:], rtol=0, atol=1e-2 if dtype == torch.bfloat16 else 1e-4)


@pytest.mark.parametrize("cases", dozens(*(case(name, model, p(3, 40)) for name, model in POSITIVE.items())))
def test_unary_of_positive_numbers(cases: Cases) -> None:
    assert_each_whole(cases)


def test_ranks() -> None:
    shapes = ((2, 1, 3, 1, 2, 2)[:rank] for rank in range(7))
    assert_each_whole([case(str(shape), lambda x: F.gelu(torch.sigmoid(x) * 2 + x), r(*shape)) for shape in shapes])


@pytest.mark.parametrize(
    "cases",
    dozens(
        case("prelu", trained(nn.PReLU()), X),
        case("prelu by channel", trained(nn.PReLU(4, 0.2)), X),
        case("prelu of an image", trained(nn.PReLU(5, 0.2)), r(1, 5, 3, 2)),
        case("prelu of a matrix", trained(nn.PReLU(5)), r(3, 5)),
        case("prelu of a vector", trained(nn.PReLU()), r(5)),
        case("prelu of a number", trained(nn.PReLU()), r()),
        case("prelu with a computed weight", F.prelu, X, r(4)),
        case("prelu with one computed weight", F.prelu, X, r(1)),
        case("add and relu", lambda x, y: F.relu(x + y), X, Y),
        case("sub and relu6", lambda x, y: F.relu6(x - y), X, Y),
        case("mul and hardtanh", lambda x, y: F.hardtanh(x * y), X, Y),
        case("add a parameter", lambda x, y=nn.Parameter(r(4, 4, 4)): x + y + y, r(4, 4, 4)),
        case("dropout", nn.Dropout(0.3).eval(), X),
        case("contiguous", lambda x: x.transpose(0, 1).contiguous() + 1, X),
        case("in place", lambda x: (x + 1).mul_(2).relu_(), X),
        case("rrelu in inference", nn.RReLU().eval(), X),
        case("where with a constant mask", lambda x, y, m=mask(4, 5): torch.where(m, x, y), X, Y),
        case("where with a number", lambda x, m=mask(4, 5): torch.where(m, x, 0.0), X),
        case("masked_fill", lambda x, m=mask(4, 5): x.masked_fill(m, -math.inf), X),
        case("masked_fill of triangles", lambda x: x.masked_fill(torch.ones(4, 5).triu(1) == 1, -math.inf), X),
        case("triu", lambda x: torch.triu(x, 2), X),
        case("tril of a vector product", lambda x: torch.tril(x, -1) + torch.triu(x, 1), X),
        case("mask of comparisons", lambda x: x.masked_fill(torch.arange(5)[None] > torch.arange(4)[:, None], 0), X),
        case("constant arithmetic", lambda x, w=r(4, 5): x * torch.sigmoid(w).exp().clamp(1.1, 2).pow(3).tanh(), X),
    ),
)  # fmt: skip
def test_elementwise_in_context(cases: Cases) -> None:
    assert_each_whole(cases)


UNBOUNDED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "logit": torch.logit,
    "pow": lambda x: torch.pow(x.abs(), 0.3),
    "pow of tensors": lambda x: torch.pow(x.abs(), 0.3 * torch.ones_like(x)),
    "logsumexp": lambda x: torch.logsumexp(x[:, None], 1),
    "a norm whose sum overflows": lambda x: torch.linalg.vector_norm(x[:, None] * torch.tensor(1e30), 3, dim=1),
    "softplus": F.softplus,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_logarithms_hide_no_infinity_and_no_nan(dtype: torch.dtype) -> None:
    """XNNPACK's are 88.4 and 88.8 on processors without AVX-512: a norm of numbers whose cubes overflow was 6.2e12."""
    x = torch.tensor([math.inf, math.nan, 100, 1, 0.25], dtype=dtype)
    model = Function(lambda x: [function(x) for function in UNBOUNDED.values()])
    program = to_edge(torch.export.export(model, (x,))).to_backend(XnnpackPartitioner()).to_executorch()
    results = runtime.Runtime.get().load_program(program.buffer).load_method("forward").execute([x])
    for name, function, got in zip(UNBOUNDED, UNBOUNDED.values(), results, strict=True):
        want = function(x) if name != "a norm whose sum overflows" else torch.where(x.isnan(), x, math.inf)
        special = ~want.isfinite()
        torch.testing.assert_close(got[special], want[special], equal_nan=True, msg=lambda text, n=name: f"{n}: {text}")
