"""What every rule builds computes what ATen computes: by the reference, in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, Literal

import pytest
import torch
from reference.dozens import check_together, dozens
from reference.edge import Arguments, Const, calls_of, case, sampled
from reference.runtimes import load_stock
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute
from xdsl.traits import Pure

from xir.api import EdgeProgram, XnnpackPartitioner
from xir.dialects import edge
from xir.dialects.edge.families import Dequantize, Quantize, names_of
from xir.dialects.xnnpack import kinds
from xir.dialects.xnnpack.wire import FIRST_XIR_TAG
from xir.evaluate import run_module
from xir.evaluate.nodes import BINARY, REDUCE, UNARY
from xir.importer.dtypes import ELEMENT_TYPES
from xir.ir.passes import PassManager
from xir.runtime import Runtime
from xir.transforms.xnnpack.legalizations import RULES
from xir.transforms.xnnpack.legalizations.samples import samples_of
from xir.transforms.xnnpack.select.partition_xnnpack import PartitionXnnpackPass

TOLERANCE = 1e-5
"""Of the largest magnitude of a result. fp32 has 6e-8; sums and approximations of functions add to it."""

GENERATOR = torch.Generator().manual_seed(20)


def r(*shape: int) -> torch.Tensor:
    """Numbers of both signs."""
    return torch.randn(shape, generator=GENERATOR)


def p(*shape: int) -> torch.Tensor:
    """Positive numbers, away from zero."""
    return torch.rand(shape, generator=GENERATOR) + 0.5


def c(*shape: int) -> Const:
    return Const(r(*shape))


QUANTIZATION = names_of(Quantize | Dequantize)
"""Conversions from and to integers, which `test_quantized.py` puts around the others."""

Target = Literal["executorch", "xir"]
Case = Arguments

IMAGE, MATRIX = r(2, 4, 7, 9), r(5, 6)
MASK = Const(torch.rand(5, 6, generator=GENERATOR) > 0.5)
INFINITE = torch.where(torch.rand(5, 6, generator=GENERATOR) > 0.5, torch.tensor(-math.inf), torch.tensor(math.inf))
NEAR_ZERO = torch.linspace(-8, 8, 101)
EXTREME = torch.tensor([-200.0, -90.0, -30.0, -1e-3, 0.0, 1e-3, 30.0, 90.0, 200.0])
ROUNDING = torch.tensor([-2.5, -2.0, -1.5, -0.5, -0.0, 0.5, 1.5, 2.0, 2.5])
SIGNS = torch.tensor([-3e38, -1.0, -2e-38, 0.0, 2e-38, 0.5, math.inf])

CASES: list[Case] = [
    *(case(name, self=ROUNDING) for name in ("ceil", "floor", "trunc", "round")),
    *(case(name, self=EXTREME) for name in ("sigmoid", "tanh", "mish", "silu", "softplus")),
    case("expm1", self=EXTREME[:-2]),
    case("log1p", self=torch.tensor([-1.0, -0.5, -1e-4, -1e-9, 0.0, 1e-9, 1e-4, 0.5, 3.0, 1e9, math.inf])),
    case("round", self=torch.tensor([0.49999997, 4194304.5, 8388607.5, -8388609.0, 16777219.0, -3e38, math.inf])),
    case("sign", self=SIGNS),
    *(case("pow.Tensor_Scalar", self=p(2, 3), exponent=e) for e in (16, -1, 0.75, 1.5, -1.7, 65, 66, -65)),
    case("pow.Tensor_Scalar", self=r(2, 3), exponent=65),
    case("pow.Tensor_Scalar", self=torch.tensor([-3.0, -0.5, 0.0, 2.0]), exponent=0.3),
    case("pow.Tensor_Tensor", self=r(4, 5), exponent=torch.tensor([-3.0, -2.0, 0.0, 1.0, 4.0])),
    case("pow.Tensor_Tensor", self=torch.tensor([0.0, 0.0, -2.0, 1.0]), exponent=torch.tensor([0.0, 2.0, 0.5, 1e9])),
    case("div.Tensor_mode", self=r(4, 5) * 9, other=p(4, 5), rounding_mode="trunc"),
    *(case(f"{name}.Scalar", self=r(4, 5) * 9, other=-0.5) for name in ("remainder", "fmod")),
    case("clamp.Tensor", self=r(4, 5), min=c(5)),
    case("clamp.Tensor", self=r(4, 5), max=c(5)),
    case("softplus", self=torch.cat((NEAR_ZERO, EXTREME)), beta=1, threshold=1),
    *(
        case("elu", self=NEAR_ZERO, alpha=alpha, scale=scale, input_scale=input_scale)
        for alpha, scale, input_scale in ((1.67, 1.05, 1), (2.0, 1, 0.5), (-1.5, 2, 1), (0, 1, 1), (-1.0, 1, -1.0))
    ),
    case("prelu", self=r(5), weight=c(1)),
    case("max_pool2d", self=-p(4, 7, 9), kernel_size=(2, 2), padding=(1, 1)),
    case("addmm", self=torch.full((3,), math.nan), mat1=MATRIX, mat2=r(6, 3), beta=0),
    *(case("_log_softmax", self=r(2, 3, 4) * 50, dim=dim, half_to_float=False) for dim in (-1, 0)),
    # No product so small that processors may take it for 0.
    case("prod", self=MATRIX.sign() * (1 + MATRIX.abs() / 8)),
    # Choices by a static mask.
    case("where.self", condition=MASK, self=MATRIX, other=c(6)),
    case("where.self", condition=MASK, self=Const(torch.tensor(2.5)), other=MATRIX),
    case("where.self", condition=MASK, self=INFINITE, other=r(5, 6)),
    *(case("masked_fill.Scalar", self=MATRIX, mask=MASK, value=v) for v in (3, -0.5, -math.inf, math.inf)),
    case("masked_fill.Scalar", self=INFINITE, mask=MASK, value=0),
    case("masked_fill.Scalar", self=r(6), mask=MASK, value=1),
    case("masked_fill.Scalar", self=MATRIX, mask=Const(torch.zeros(6, dtype=torch.bool)), value=1),
    case("full_like", self=r(2, 3), fill_value=math.inf),
]
"""Where numbers end or turn, and forms that no program of torch's has. `ops/` has their geometries."""

HALVES = (torch.float16, torch.bfloat16)

HALF_TOLERANCE = 3
"""How many units in the last place of its largest number a result may be off: two for a sum or product of rounded
numbers, whose own rounding makes it three."""


def i(*shape: int) -> torch.Tensor:
    """32-bit integers of both signs."""
    return torch.arange(-3, 7, dtype=torch.int32).repeat(10)[: torch.Size(shape).numel()].reshape(shape)


INTEGER_CASES: list[Case] = [
    *(case(f"{name}.Tensor", self=i(2, 3), other=i(3)) for name in ("add", "mul")),
    case("add.Tensor", self=torch.tensor([2**31 - 1], dtype=torch.int32), other=torch.tensor([1], dtype=torch.int32)),
    *(case(name, self=i(10)) for name in ("abs", "neg", "square", "clone")),
    case("cat", tensors=[i(2, 3), i(1, 3)]),
]
"""Calls on 32-bit integers; XNNPACK wraps sums around as ATen does."""

MIXED_CASES: list[Case] = [
    # What ATen computes of integers in fp32, and of two types in the wider one.
    *(case(name, self=i(10)) for name in ("sigmoid", "exp", "tanh")),
    case("div.Tensor", self=i(2, 3), other=Const(torch.tensor([1, 3, 7], dtype=torch.int32))),
    case("add.Scalar", self=i(2, 3), other=0.5),
    case("mul.Tensor", self=i(2, 3), other=r(3)),
    case("mul.Tensor", self=r(2, 3).half(), other=r(3)),
    case("add.Tensor", self=r(2, 3).bfloat16(), other=r(2, 3).half()),
    case("sub.Tensor", self=r(2, 3), other=Const(torch.tensor([1, 2, 3]))),
    # Conversions.
    *(
        case("_to_copy", self=source, dtype=ELEMENT_TYPES[dtype])
        for source in (r(5) * 9, (r(5) * 9).half(), (r(5) * 9).bfloat16(), i(5))
        for dtype in (torch.float32, *HALVES, torch.int32)
        if source.dtype != dtype
    ),
    case("copy", self=c(2, 3), src=i(2, 3)),
    case("copy", self=Const(i(2, 3)), src=r(2, 3) * 9),
]
"""Calls whose operands and result differ in type."""


XIR_CASES: list[Case] = [
    case("round", self=ROUNDING),
    case("gelu", self=NEAR_ZERO, approximate="tanh"),
    case("sign", self=SIGNS),
    case("sign", self=i(10)),
    *(case("pow.Tensor_Scalar", self=p(2, 3), exponent=e) for e in (0.3, -2.7, 70)),
    case(
        "pow.Tensor_Tensor",
        self=torch.tensor([-2.0, -2.0, -0.5, 0.0, 3.0]),
        exponent=torch.tensor([3.0, 2, -1, 2, 0.4]),
    ),
    case("atan2", self=r(4, 5), other=r(5)),
    case("copysign.Tensor", self=r(4, 5), other=r(5)),
    case("fmod.Scalar", self=r(4, 5) * 9, other=-2.7),
    *(
        case(row_name, self=x, dim=dim, keepdim=keepdim)
        for row_name in ("mean.dim", "sum.dim_IntList", "amax", "amin")
        for x, dim in ((IMAGE, [1]), (IMAGE, [0, 2]), (IMAGE, [1, 3]), (r(3, 5000), [1]), (IMAGE.half(), [0, 2, 3]))
        for keepdim in (False, True)
    ),
    case("max", self=IMAGE),
    case("min.dim", only=[0], self=IMAGE, dim=1),
    case("_log_softmax", self=r(2, 3, 4) * 50, dim=1, half_to_float=False),
]
"""Calls that become nodes which stock ExecuTorch lacks."""


OF_INTEGERS = {name for row in (*kinds.UNARY, *kinds.BINARY) if row.elements == "integer" for name in row.edge}


def samples_of_all(names: Iterable[str]) -> list[Case]:
    """The samples of rules, as cases."""
    return [
        sampled(sample, i32 if name in OF_INTEGERS else f32) for name in sorted(names) for sample in samples_of(name)
    ]


OF_XIR = {name for row in (*kinds.UNARY, *kinds.BINARY) if row.tag >= FIRST_XIR_TAG for name in row.edge} | {
    f"edge.bitwise_{name}.Scalar" for name in ("and", "or", "xor")
}
"""The ops that mean a node which stock ExecuTorch lacks."""

for sample_case in samples_of_all(RULES.keys() - QUANTIZATION - OF_XIR):
    has_integers = any(isinstance(x, torch.Tensor) and x.dtype == torch.int32 for x in sample_case[1].values())
    (INTEGER_CASES if has_integers else CASES).append(sample_case)
XIR_CASES.extend(samples_of_all(OF_XIR))


def name_of(each: Case) -> str:
    return each[0].removeprefix("edge.")


def expected_of(cases: Sequence[Case]) -> list[torch.Tensor]:
    """What ATen computes."""
    built = calls_of(cases)
    return run_module(built.module, built.ctx, built.inputs)


def results_of(cases: Sequence[Case], target: Target = "executorch") -> Iterator[list[torch.Tensor]]:
    """What calls give that are delegated whole: by the reference, as the rules build them and behind the pipeline, in
    xir's runtime, and in stock ExecuTorch, which refuses nodes of xir's own.
    """
    built = calls_of(cases)
    rules_alone = built.module.clone()
    PassManager(built.ctx, [PartitionXnnpackPass(target)]).run(rules_alone)
    yield run_module(rules_alone, built.ctx, built.inputs)

    delegated = EdgeProgram(built.module, built.ctx).to_backend(XnnpackPartitioner(target))
    left = [op for op in delegated.module.walk() if isinstance(op, edge.EdgeOp)]
    assert not left, [f"{op.name}: {op.attributes.get('xir.reason')}" for op in left]
    yield run_module(delegated.module, delegated.ctx, built.inputs)

    file, inputs = delegated.to_executorch().buffer, list(built.inputs)
    yield [torch.as_tensor(each) for each in Runtime.get().load_program(file).load_method("forward").execute(inputs)]
    if target == "executorch":
        yield [torch.as_tensor(each) for each in load_stock(file).forward(inputs)]
    else:
        with pytest.raises(RuntimeError):
            load_stock(file).forward(inputs)


def assert_near(
    actual: Sequence[torch.Tensor], exact: Sequence[torch.Tensor], tolerance: float, dtype: torch.dtype | None = None
) -> None:
    """Equal shapes, the type `dtype` or that of `exact`, and numbers within the tolerance, of the largest magnitude."""
    for got, want in zip(actual, exact, strict=True):
        rounded = want.to(dtype or want.dtype)
        assert (got.dtype, got.shape) == (rounded.dtype, rounded.shape)
        finite = rounded.isfinite()
        largest = want[finite].abs().max().item() if finite.any() else 0.0
        numbers = torch.where(finite, want, rounded.to(want.dtype))
        allowed = tolerance * max(largest, 1e-6)
        torch.testing.assert_close(got.to(want.dtype), numbers, rtol=0, atol=allowed, equal_nan=True)


@pytest.mark.parametrize("cases", dozens(CASES, name_of))
def test_a_rule_computes_what_aten_computes(cases: Sequence[Case]) -> None:
    def holds(some: Sequence[Case]) -> None:
        expected = expected_of(some)
        for results in results_of(some):
            assert_near(results, expected, TOLERANCE)

    check_together(holds, cases, name_of)


@pytest.mark.parametrize("case", XIR_CASES, ids=name_of)
def test_a_rule_for_xirs_own_nodes_computes_what_aten_computes(case: Case) -> None:
    expected = expected_of([case])
    for results in results_of([case], "xir"):
        assert_near(results, expected, TOLERANCE)


def cast(value: Any, dtype: torch.dtype) -> Any:
    """An argument with its floating-point tensors converted, or the type of its result."""
    match value:
        case Attribute():
            return ELEMENT_TYPES[dtype]
        case Const(tensor):
            return Const(cast(tensor, dtype))
        case torch.Tensor():
            return value.to(dtype) if value.is_floating_point() else value
        case list():
            return [cast(each, dtype) for each in value]
        case _:
            return value


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("cases", dozens(CASES, name_of))
def test_halves(cases: Sequence[Case], dtype: torch.dtype) -> None:
    def arguments(some: Sequence[Case], *types: torch.dtype) -> list[Case]:
        return [
            (name, {key: reduce(cast, types, value) for key, value in args.items()}, only) for name, args, only in some
        ]

    def holds(some: Sequence[Case]) -> None:
        exact = expected_of(arguments(some, dtype, torch.float32))
        for results in results_of(arguments(some, dtype)):
            assert_near(results, exact, HALF_TOLERANCE * torch.finfo(dtype).eps, dtype)

    check_together(holds, cases, name_of)


@pytest.mark.parametrize("cases", [*dozens(INTEGER_CASES, name_of), *dozens(MIXED_CASES, name_of)])
def test_integers_and_mixed_types(cases: Sequence[Case]) -> None:
    """Integers to the bit."""

    def holds(some: Sequence[Case]) -> None:
        expected = expected_of(some)
        for results in results_of(some):
            torch.testing.assert_close(results, expected)

    check_together(holds, cases, name_of)


def test_every_rule_is_for_an_op_of_the_dialect_without_effect() -> None:
    assert all(edge.OPS[name].has_trait(Pure) for name in RULES)


def test_the_reference_computes_every_kind() -> None:
    assert {row.kind for row in kinds.UNARY} == UNARY.keys()
    assert {row.kind for row in kinds.BINARY} == BINARY.keys()
    assert {row.kind for row in kinds.REDUCE} == REDUCE.keys()
