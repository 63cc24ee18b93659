"""Every op that takes part in static quantisation becomes nodes on integers, which compute what the numbers say.

One call of each, against ATen in double precision; `properties/test_integer_*.py` hold any scales and zero points to
integer arithmetic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from reference.edge import Call, Const, call, sampled
from reference.runtimes import load_stock
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from xir import runtime
from xir.api import EdgeProgram, XnnpackPartitioner
from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type, shape_of
from xir.evaluate import run_module
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.transforms.xnnpack.legalizations import RULES, Quantized
from xir.transforms.xnnpack.legalizations.samples import samples_of

QUANTIZED = {name: info.quantized for name, info in RULES.items() if info.quantized is not None}

MAX_CHAIN = 10
"""The most nodes that XNNPACK makes one table of."""

SLACK = {"edge.silu": 0.6, "edge.mish": 0.6, "edge.upsample_bilinear2d": 0.5, "edge.upsample_bilinear2d.vec": 0.5}
"""Where arithmetic is coarser than 24 bits: a gate in 1/256, weights of pixels in 1/2048."""


@dataclasses.dataclass(frozen=True)
class Params:
    """Quantisation by tensor to int8."""

    scale: float
    zero_point: int

    def numbers(self, integers: torch.Tensor) -> torch.Tensor:
        return (integers.to(torch.float64) - self.zero_point) * self.scale

    def arguments(self) -> dict[str, Any]:
        limits = {"quant_min": -128, "quant_max": 127, "dtype": i8}
        return {"scale": self.scale, "zero_point": self.zero_point, **limits}


def f32_number(value: float) -> float:
    """The nearest fp32 number, as scales are stored."""
    return float(np.float32(value))


def ranged(low: float, high: float) -> Params:
    """The parameters of a tensor with numbers from `low` to `high`."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = f32_number((high - low) / 255) or 1.0
    return Params(scale, max(-128, min(127, round(-128 - low / scale))))


@dataclasses.dataclass(frozen=True)
class Built:
    """A quantised call of one op, and what it is called with."""

    module: ModuleOp
    ctx: XirContext
    integers: tuple[torch.Tensor, ...]
    expected: list[torch.Tensor]
    """The numbers that the op gives for the dequantised inputs, in steps of the results, zero points added."""
    slack: float
    """How far a result may be from that, in steps and beyond the half step of rounding."""


DEQUANTIZE = edge.OPS["edge.quantized_decomposed.dequantize_per_tensor"]
DEQUANTIZE_CHANNELS = edge.OPS["edge.quantized_decomposed.dequantize_per_channel"]
QUANTIZE = edge.OPS["edge.quantized_decomposed.quantize_per_tensor"]


def quantized(
    name: str,
    args: dict[str, Any],
    only: Sequence[int] | None,
    inputs: Sequence[Params] | None = None,
    result: Params | None = None,
) -> Built:
    """The call of a float op between conversions; parameters that are not given resolve the range of the numbers."""
    how, ctx, block = QUANTIZED[name], XirContext(), Block()
    tensors = [value for each in args.values() for value in (each if isinstance(each, list) else [each])]
    tensors = [value for value in tensors if isinstance(value, torch.Tensor)]
    given = list(inputs or [ranged(float(t.min()), float(t.max())) for t in tensors])
    if how is Quantized.MOVES:
        given = [result or given[0]] * len(given)
    if how is Quantized.MATRICES:
        given = [Params(p.scale * (1 + (i > 0)), p.zero_point * (i == 0)) for i, p in enumerate(given)]
    integers: list[torch.Tensor] = []
    float_args: dict[str, Any] = {}

    def add(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    def activation(value: torch.Tensor) -> tuple[SSAValue, torch.Tensor]:
        params = given[len(integers)]
        stored = torch.clamp(torch.round(value / params.scale) + params.zero_point, -128, 127).to(torch.int8)
        integers.append(stored)
        argument = block.insert_arg(TensorType(i8, stored.shape), len(block.args))
        return add(DEQUANTIZE.build_from({"input": argument, **params.arguments()})), params.numbers(stored)

    def weight(value: torch.Tensor, axis: int) -> tuple[SSAValue, torch.Tensor]:
        by_channel = value.movedim(axis, 0).flatten(1)
        scales = (by_channel.abs().amax(1) / 127).clamp(min=1e-6).to(torch.float32)
        along = scales.reshape([-1 if d == axis else 1 for d in range(value.ndim)])
        stored = torch.clamp(torch.round(value / along), -127, 127).to(torch.int8)
        constants = {"input": stored, "scales": scales, "zero_points": torch.zeros(len(scales), dtype=torch.int64)}
        values = {k: add(edge.ConstantOp(make_dense(v.numpy(), ctx, k))) for k, v in constants.items()}
        limits = {"axis": axis, "quant_min": -127, "quant_max": 127, "dtype": i8}
        return add(DEQUANTIZE_CHANNELS.build_from({**values, **limits})), stored.double() * along.double()

    def operand(key: str, value: Any) -> tuple[Any, Any]:
        if isinstance(value, list):
            pairs = [operand(key, each) for each in value]
            return [a for a, _ in pairs], [b for _, b in pairs]
        if isinstance(value, torch.Tensor):
            return activation(value)
        if isinstance(value, Const) and key in ("weight", "mat2") and how is Quantized.WEIGHTED:
            transposed = name.startswith("edge.conv_transpose") or args.get("transposed") or key == "mat2"
            return weight(value.tensor, int(bool(transposed)))
        if isinstance(value, Const):
            dense = make_dense(value.tensor.numpy(), ctx, "constant")
            return add(
                edge.ConstantOp(dense)
            ), value.tensor.double() if value.tensor.is_floating_point() else value.tensor
        return value, value

    edge_args: dict[str, Any] = {}
    for key, value in args.items():
        edge_args[key], float_args[key] = operand(key, value)
    op = edge.OPS[name].build_from(edge_args)
    block.add_op(op)
    exact = numbers_of(name, float_args, only)
    returned: list[SSAValue] = []
    steps: list[torch.Tensor] = []
    for index, number in zip(range(len(op.results)) if only is None else only, exact, strict=True):
        params = given[0] if how is Quantized.MOVES else result or ranged(float(number.min()), float(number.max()))
        returned.append(add(QUANTIZE.build_from({"input": op.results[index], **params.arguments()})))
        steps.append(torch.clamp(number / params.scale + params.zero_point, -128, 127))
    block.add_op(ReturnOp(*returned))
    types = ([arg.type for arg in block.args], [value.type for value in returned])
    # A constant operand is rounded to integers as well, at compile time.
    rounds = how is Quantized.OPERANDS and any(isinstance(value, Const) for value in args.values())
    slack = 0.5 if rounds else SLACK.get(name, 0.01)
    return Built(ModuleOp([FuncOp("forward", types, Region(block))]), ctx, tuple(integers), steps, slack)


def numbers_of(name: str, args: dict[str, Any], only: Sequence[int] | None) -> list[torch.Tensor]:
    """What ATen computes in double precision."""

    def as_const(value: Any) -> Any:
        return [as_const(each) for each in value] if isinstance(value, list) else value

    built: Call = call(name, {key: as_const(value) for key, value in args.items()}, only)
    return run_module(built.module, built.ctx, built.inputs)


def integer_nodes(module: ModuleOp, how: Quantized) -> None:
    """Check that no node computes in floating point, but those of a chain that XNNPACK makes one table of."""
    nodes = [op for op in module.walk() if isinstance(op, xnnpack.NodeOp)]
    floats = [op for op in nodes if any(is_float(value) for value in (*op.operands, *op.results))]
    assert nodes
    if how is not Quantized.TABLE:
        assert not floats
        return
    assert len(floats) <= MAX_CHAIN
    for op in floats:
        moving = [value for value in op.operands if not isinstance(value.owner, xnnpack.ConstantOp)]
        assert len(moving) == 1
        assert all(shape_of(value) in ((), (1,)) for value in op.operands if value not in moving)
        assert all(len(list(result.uses)) == 1 for result in op.results)


def is_float(value: SSAValue) -> bool:
    return isinstance(element_type(value), Float32Type)


def check(name: str, built: Built) -> None:
    """Check the nodes of a quantised call, and what both runtimes compute."""
    delegated = EdgeProgram(built.module, built.ctx).to_backend(XnnpackPartitioner())
    left = [op.name for op in delegated.module.walk() if isinstance(op, edge.EdgeOp)]
    assert not left
    integer_nodes(delegated.module, QUANTIZED[name])
    file = delegated.to_executorch().buffer
    ours = runtime.Runtime.get().load_program(file).load_method("forward").execute(list(built.integers))
    for output in (ours, load_stock(file).forward(list(built.integers))):
        for got, want in zip(output, built.expected, strict=True):
            error = (torch.as_tensor(got).double() - want).abs().max().item()
            assert error <= 0.5 + built.slack, f"{error} steps"


GENERATOR = torch.Generator().manual_seed(20)

Case = tuple[str, dict[str, Any], "Sequence[int] | None"]


def r(*shape: int) -> torch.Tensor:
    """Numbers of both signs."""
    return torch.randn(shape, generator=GENERATOR)


def p(*shape: int) -> torch.Tensor:
    """Positive numbers."""
    return torch.rand(shape, generator=GENERATOR) * 3 + 0.1


def c(*shape: int) -> Const:
    return Const(r(*shape))


def case(name: str, /, *, only: Sequence[int] | None = None, **args: Any) -> Case:
    """A call of `edge.<name>`; `only` names the results that are used, where not all are."""
    return f"edge.{name}", args, only


def convolution(**args: Any) -> Case:
    """A call of `edge.convolution`, whose arguments have no defaults."""
    rest: dict[str, Any] = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "output_padding": (0, 0)}
    return "edge.convolution", {"transposed": False, "groups": 1, **rest, **args}, None


def case_name(value: object) -> str:
    return value.removeprefix("edge.") if isinstance(value, str) else ""


IMAGE = r(1, 4, 5, 6)
ROW = r(2, 4, 11)
MATRIX = r(5, 6)

CASES: list[Case] = [
    # Weighted.
    convolution(input=IMAGE, weight=c(3, 4, 3, 3), bias=c(3), padding=(1, 1), stride=(2, 1)),
    convolution(input=IMAGE, weight=c(6, 2, 3, 3), bias=None, groups=2, dilation=(1, 2)),
    convolution(input=IMAGE, weight=c(8, 1, 3, 3), bias=c(8), groups=4),
    convolution(input=IMAGE, weight=c(4, 3, 3, 2), bias=c(3), transposed=True, stride=(2, 2), output_padding=(1, 1)),
    convolution(input=IMAGE, weight=c(4, 3, 2, 2), bias=c(6), transposed=True, groups=2),
    convolution(input=ROW, weight=c(3, 4, 3), bias=c(3), stride=(1,), padding=(1,), dilation=(1,), output_padding=(0,)),
    case("conv1d", input=ROW, weight=c(3, 4, 3), bias=c(3)),
    case("conv2d", input=IMAGE, weight=c(3, 4, 3, 3), bias=c(3)),
    case("conv_transpose1d", input=ROW, weight=c(4, 3, 3), bias=c(3)),
    case("conv_transpose2d.input", input=IMAGE, weight=c(4, 3, 3, 3), bias=c(3)),
    case("linear", input=MATRIX, weight=c(3, 6), bias=c(3)),
    case("linear", input=r(2, 5, 6), weight=c(3, 6)),
    case("addmm", self=c(3), mat1=MATRIX, mat2=c(6, 3)),
    # Operands.
    case("add.Tensor", self=MATRIX, other=r(5, 6)),
    case("add.Tensor", self=IMAGE, other=r(4, 1, 1)),
    case("add.Tensor", self=MATRIX, other=c(6)),
    case("sub.Tensor", self=MATRIX, other=r(6)),
    case("mul.Tensor", self=MATRIX, other=r(5, 1)),
    case("mul.Tensor", self=IMAGE, other=c(4, 1, 1)),
    case("mean", self=MATRIX),
    case("mean.dim", self=IMAGE, dim=(2, 3), keepdim=True),
    case("mean.dim", self=IMAGE, dim=(1,)),
    case("adaptive_avg_pool1d", self=ROW, output_size=(1,)),
    case("adaptive_avg_pool2d", self=IMAGE, output_size=(1, 1)),
    case("_adaptive_avg_pool2d", self=IMAGE, output_size=(1, 1)),
    case("bmm", self=r(2, 5, 6), mat2=r(2, 6, 3)),
    # Tables.
    *(case(kind, self=MATRIX) for kind in ("abs", "ceil", "cos", "exp", "floor", "neg", "sigmoid", "sin", "square")),
    *(case(kind, self=MATRIX) for kind in ("tanh", "hardswish", "hardsigmoid", "relu", "silu", "gelu", "elu")),
    *(case(kind, self=MATRIX) for kind in ("mish", "softplus")),
    *(case(kind, self=p(5, 6)) for kind in ("log", "rsqrt", "sqrt")),
    case("leaky_relu", self=MATRIX, negative_slope=0.1),
    case("clamp", self=MATRIX, min=-0.5, max=0.75),
    case("clamp", self=MATRIX, max=0.75),
    case("hardtanh", self=MATRIX),
    *(case(f"{kind}.Scalar", self=MATRIX, other=1.5) for kind in ("add", "sub", "mul", "div", "rsub")),
    # Moves.
    *(case(kind, self=MATRIX) for kind in ("alias", "clone", "detach", "lift_fresh_copy", "contiguous", "t")),
    case("dropout", input=MATRIX, p=0.5, train=False),
    *(case(kind, self=MATRIX, size=(3, 10)) for kind in ("view", "_unsafe_view")),
    case("squeeze", self=r(1, 5, 1)),
    case("squeeze.dim", self=r(1, 5, 1), dim=0),
    case("squeeze.dims", self=r(1, 5, 1), dim=(0, 2)),
    case("unsqueeze", self=MATRIX, dim=1),
    case("permute", self=IMAGE, dims=(0, 2, 3, 1)),
    case("transpose.int", self=IMAGE, dim0=1, dim1=3),
    case("cat", tensors=[MATRIX, r(5, 2)], dim=1),
    case("stack", tensors=[MATRIX, r(5, 6)], dim=1),
    case("slice.Tensor", self=MATRIX, dim=1, start=1, end=6, step=2),
    case("select.int", self=MATRIX, dim=1, index=2),
    case("index_select", self=MATRIX, dim=1, index=Const(torch.tensor([1, 0, 4]))),
    case("split.Tensor", self=MATRIX, split_size=2),
    case("split_with_sizes", self=MATRIX, split_sizes=(1, 3, 1)),
    case("unbind.int", self=r(3, 4)),
    case("flip", self=MATRIX, dims=(1,)),
    case("roll", self=MATRIX, shifts=(2,), dims=(1,)),
    case("repeat", self=MATRIX, repeats=(2, 1, 2)),
    case("pixel_shuffle", self=IMAGE, upscale_factor=2),
    case("pixel_unshuffle", self=r(1, 2, 4, 6), downscale_factor=2),
    case("constant_pad_nd", self=MATRIX, pad=(1, 2)),
    case("constant_pad_nd", self=MATRIX, pad=(1, 0, 0, 2), value=0.7),
    case("max_pool1d", self=ROW, kernel_size=(2,)),
    case("max_pool2d", self=IMAGE, kernel_size=(2, 2), padding=(1, 1)),
    case("max_pool2d_with_indices", self=IMAGE, kernel_size=(3, 3), stride=(2, 2), only=[0]),
    case("upsample_bilinear2d", self=IMAGE, output_size=(10, 9), align_corners=False),
    case("upsample_bilinear2d.vec", input=IMAGE, output_size=(10, 9), align_corners=True, scale_factors=None),
    *(
        case(f"{kind}_pad{dims}d", self=r(*(2, 3, 4, 5, 6)[: dims + 2]), padding=(1, 2) * dims)
        for kind in ("reflection", "replication")
        for dims in (1, 2, 3)
    ),
]


CASES.extend(
    (name, sampled(sample), sample.used)
    for name in sorted(QUANTIZED.keys() - {name for name, _, _ in CASES})
    for sample in samples_of(name)
)


@pytest.mark.parametrize(("name", "args", "only"), CASES, ids=case_name)
def test_an_op_between_conversions_is_nodes_on_integers(
    name: str, args: dict[str, Any], only: Sequence[int] | None
) -> None:
    check(name, quantized(name, args, only))
