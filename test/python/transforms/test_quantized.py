"""Every op that takes part in static quantisation becomes nodes on integers, which compute what the numbers say.

Its samples and some more, against ATen in double precision; `properties/test_integer_*.py` hold any scales and zero
points to integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from properties.integers import Params, Weight, f32
from properties.quantized import Builder, float_nodes
from reference.edge import Arguments, Const, call, case, sampled

from xir.api import EdgeProgram
from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import shape_of
from xir.evaluate import run_module
from xir.transforms.xnnpack.legalizations import RULES, Quantized
from xir.transforms.xnnpack.legalizations.samples import samples_of

QUANTIZED = {name: info.quantized for name, info in RULES.items() if info.quantized is not None}

MAX_CHAIN = 10
"""The most nodes that XNNPACK makes one table of."""

SLACK = {"edge.silu": 0.6, "edge.mish": 0.6, "edge.upsample_bilinear2d": 0.5, "edge.upsample_bilinear2d.vec": 0.5}
"""Where arithmetic is coarser than 24 bits: a gate in 1/256, weights of pixels in 1/2048."""


def ranged(numbers: torch.Tensor) -> Params:
    """The parameters of a tensor with such numbers."""
    low, high = min(float(numbers.min()), 0.0), max(float(numbers.max()), 0.0)
    scale = f32((high - low) / 255) or 1.0
    return Params(scale, max(-128, min(127, round(-128 - low / scale))))


def integers(numbers: torch.Tensor, scale: float | torch.Tensor, zero_point: int, low: int = -128) -> torch.Tensor:
    return torch.clamp(torch.round(numbers / scale) + zero_point, low, 127).to(torch.int8)


def integer_nodes(program: EdgeProgram, how: Quantized) -> None:
    """Check that no node computes in floating point, but those of a chain that XNNPACK makes one table of."""
    floats = float_nodes(program)
    if how is not Quantized.TABLE:
        assert not floats
        return
    assert len(floats) <= MAX_CHAIN
    for op in floats:
        moving = [value for value in op.operands if not isinstance(value.owner, xnnpack.ConstantOp)]
        assert len(moving) == 1
        assert all(shape_of(value) in ((), (1,)) for value in op.operands if value not in moving)
        assert all(len(list(result.uses)) == 1 for result in op.results)


GENERATOR = torch.Generator().manual_seed(20)


def r(*shape: int) -> torch.Tensor:
    """Numbers of both signs."""
    return torch.randn(shape, generator=GENERATOR)


def c(*shape: int) -> Const:
    return Const(r(*shape))


IMAGE, ROW, MATRIX = r(1, 4, 5, 6), r(2, 4, 11), r(5, 6)
PLAIN: dict[str, Any] = {
    "padding": (0, 0),
    "dilation": (1, 1),
    "output_padding": (0, 0),
    "groups": 1,
    "stride": (2, 1),
    "bias": None,
}

CASES: list[Arguments] = [
    case("convolution", **PLAIN, input=IMAGE, weight=c(3, 4, 3, 3), transposed=False),
    case("convolution", **PLAIN, input=IMAGE, weight=c(4, 3, 3, 2), transposed=True),
    case("conv2d", input=IMAGE, weight=c(8, 1, 3, 3), bias=c(8), groups=4),
    case("conv_transpose2d.input", input=IMAGE, weight=c(4, 3, 3, 3), bias=c(3)),
    case("linear", input=MATRIX, weight=c(3, 6), bias=c(3)),
    case("linear", input=r(2, 5, 6), weight=c(3, 6)),
    case("addmm", self=c(3), mat1=MATRIX, mat2=c(6, 3)),
    case("add.Tensor", self=MATRIX, other=r(5, 6)),
    case("add.Tensor", self=IMAGE, other=r(4, 1, 1)),
    case("add.Tensor", self=MATRIX, other=c(6)),
    case("sub.Tensor", self=MATRIX, other=r(6)),
    case("mul.Tensor", self=MATRIX, other=r(5, 1)),
    case("mul.Tensor", self=IMAGE, other=c(4, 1, 1)),
    case("adaptive_avg_pool1d", self=ROW, output_size=(1,)),
    *(case(name, self=IMAGE, output_size=(1, 1)) for name in ("adaptive_avg_pool2d", "_adaptive_avg_pool2d")),
    *(case(name, self=MATRIX) for name in ("elu", "gelu", "mish", "softplus", "relu")),
    case("clamp", self=MATRIX, min=-0.5, max=0.75),
    case("cat", tensors=[MATRIX, r(5, 2)], dim=1),
    case("constant_pad_nd", self=MATRIX, pad=(1, 0, 0, 2), value=0.7),
    case("max_pool2d", self=IMAGE, kernel_size=(2, 2), padding=(1, 1)),
    case("upsample_bilinear2d", self=IMAGE, output_size=(10, 9), align_corners=False),
    case("upsample_bilinear2d.vec", input=IMAGE, output_size=(10, 9), align_corners=True, scale_factors=None),
]


UNSAMPLED = {name for name, _, _ in CASES}
"""Ops of whose samples some take no part, as they compute with weights that are not known or by another number."""

CASES.extend(sampled(sample) for name in sorted(QUANTIZED.keys() - UNSAMPLED) for sample in samples_of(name))


@pytest.mark.parametrize(("name", "args", "only"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_an_op_between_conversions_is_nodes_on_integers(
    name: str, args: dict[str, Any], only: Sequence[int] | None
) -> None:
    how, b = QUANTIZED[name], Builder()
    tensors = [x for each in args.values() for x in (each if isinstance(each, list) else [each])]
    params = [ranged(x) for x in tensors if isinstance(x, torch.Tensor)]
    if how is Quantized.MOVES:
        params = params[:1] * len(params)
    if how is Quantized.MATRICES:
        params = [Params(p.scale * (1 + (i > 0)), p.zero_point * (i == 0)) for i, p in enumerate(params)]
    given = iter(params)

    def operand(key: str, value: Any) -> tuple[Any, Any]:
        """An argument of the op, and the numbers that it stands for."""
        if isinstance(value, list):
            pairs = [operand(key, each) for each in value]
            return [a for a, _ in pairs], [b for _, b in pairs]
        if isinstance(value, torch.Tensor):
            p = next(given)
            stored = integers(value, p.scale, p.zero_point)
            return b.activation(stored.numpy(), p), (stored.double() - p.zero_point) * p.scale
        if isinstance(value, Const) and key in ("weight", "mat2") and how is Quantized.WEIGHTED:
            x, axis = value.tensor, int(key == "mat2" or "transpose" in name or args.get("transposed", False))
            along = x.abs().amax([d for d in range(x.ndim) if d != axis], keepdim=True) / 127
            stored = integers(x, along, 0, -127)
            return b.weight(Weight(stored.numpy(), along.flatten().numpy()), axis), stored.double() * along.double()
        if isinstance(value, Const):
            x = value.tensor
            return b.constant(x.numpy()), x.double() if x.is_floating_point() else x
        return value, value

    pairs = {key: operand(key, value) for key, value in args.items()}
    op = edge.OPS[name].build_from({key: a for key, (a, _) in pairs.items()})
    b.add(op)
    exact = call(name, {key: x for key, (_, x) in pairs.items()}, only)
    results: list[Any] = []
    steps: list[torch.Tensor] = []
    used = only or range(len(op.results))
    for index, number in zip(used, run_module(exact.module, exact.ctx, exact.inputs), strict=True):
        p = params[0] if how is Quantized.MOVES else ranged(number)
        results.append(b.quantize(op.results[index], p))
        steps.append(torch.clamp(number / p.scale + p.zero_point, -128, 127))

    program = b.lowered(*results)
    integer_nodes(program, how)
    # A constant operand is rounded to integers as well, at compile time.
    rounds = how is Quantized.OPERANDS and any(isinstance(value, Const) for value in args.values())
    slack = 0.5 if rounds else SLACK.get(name, 0.01)
    for output in b.run(program):
        for got, want in zip(output, steps, strict=True):
            error = (torch.from_numpy(got).double() - want).abs().max().item()
            assert error <= 0.5 + slack, f"{error} steps"
