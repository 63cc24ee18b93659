"""What the compiler computes ahead of time is what ATen computes, to the bit or to fp32's rounding."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from reference.aten_calls import CASES as ATEN_CALLS
from reference.edge import Arguments, Const, call, case
from xdsl.dialects.builtin import f32, i1, i64

from xir.dialects import edge
from xir.dialects.edge.kernels import executorch_kernels
from xir.evaluate import run_module
from xir.importer.dtypes import ELEMENT_TYPES
from xir.ir.passes import PassManager
from xir.transforms.edge._evaluation_arithmetic import EVALUATORS
from xir.transforms.edge.decompositions import DECOMPOSITIONS
from xir.transforms.edge.fold_constants import FoldConstantsPass


def c(*values: Any) -> Const:
    return Const(torch.tensor(values))


GRID = Const(torch.arange(24.0).reshape(2, 3, 4) - 11)
WHOLE = Const(torch.arange(12).reshape(3, 4) - 5)
MASK = Const(torch.tensor([[True, False, True, False]] * 3))
ROW = c(1.5, -2.0, 0.0, 3.25)

CASES: list[Arguments] = [
    case("arange.start_step", start=7, end=-3, step=-3, dtype=f32),
    case("arange.start_step", start=0.5, end=2.0, step=0.1),
    *(case("_to_copy", self=ROW, dtype=dtype) for dtype in (i64, i1)),
    case("copy", self=c(1, 2), src=Const(torch.tensor(2.75))),
    case("select_scatter", self=WHOLE, src=c(7, 8, 9), dim=-1, index=-2),
    case("slice_scatter", self=WHOLE, src=c([7, 8], [9, 10], [11, 12]), dim=1, start=1, end=4, step=2),
    case("slice_scatter", self=WHOLE, src=c([7, 8, 9, 10]), start=-1),
    case("permute", self=GRID, dims=[2, 0, -2]),
    *(case(name, self=GRID, diagonal=d) for name in ("tril", "triu") for d in (-1, 0, 1)),
    case("index.Tensor", self=GRID, indices=[None, c(2, -1)]),
    *(case(f"{name}.Tensor", self=WHOLE, other=ROW) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    # Both sides become fp32, where they are equal.
    case("eq.Tensor", self=c(2**24 + 1), other=c(float(2**24))),
    *(case(f"logical_{name}", self=WHOLE, other=ROW) for name in ("and", "or", "xor")),
    case("bitwise_not", self=WHOLE),
    case("masked_fill.Scalar", self=WHOLE, mask=MASK, value=7),
    case("div.Tensor", self=WHOLE, other=WHOLE),
    case("pow.Tensor_Scalar", self=ROW, exponent=0),
    case("baddbmm", self=c(math.nan), batch1=GRID, batch2=Const(torch.ones(2, 4, 1)), beta=0),
    case("roll", self=GRID, shifts=[1, -2], dims=[0, 2]),
    *(case(f"{name}.Scalar", self=WHOLE, other=n) for name in ("remainder", "fmod") for n in (3, -3)),
    *(case(f"{name}.Tensor", self=WHOLE, other=c(3, -2, 5, -4)) for name in ("remainder", "fmod")),
    case("cumsum", self=MASK, dim=-1),
    *(case(name, self=GRID, dim=1, half_to_float=False) for name in ("_softmax", "_log_softmax")),
    *(case(name, self=ROW) for name in ("ceil", "sign", "clone")),
    case("add.Tensor", self=WHOLE, other=ROW, alpha=3),
    case("any.dims", self=GRID, dim=[1]),
    case("pow.Scalar", self=2.5, exponent=ROW),
    case("pow.Tensor_Scalar", self=c(0.25, 1.0, 2.0, 9.0), exponent=-1.5),
    case("slice.Tensor", self=GRID, dim=-1, start=-3, end=9, step=2),
]
"""Beside the calls of `reference/aten_calls.py`: numbers of both signs and of several types."""

COMPOSITES = """all all.dim baddbmm dropout exp2 hardsigmoid hardswish linalg_vector_norm masked_fill.Tensor matmul silu
square squeeze sum""".split()
STAY = {
    f"edge.{name}"
    for name in """add.Tensor any.dims ceil fmod.Scalar fmod.Tensor pow.Scalar pow.Tensor_Scalar
remainder.Scalar remainder.Tensor sign slice.Tensor""".split()
}
"""Ops of which some calls stay: in bf16, of nothing, of integers that round, by remainders of fractions."""


def of_constants(name: str, given: tuple[Any, ...], less: float) -> Arguments:
    """A call of ATen's with tensors that are known, and floats less by a number."""
    args, named = (given[:-1], given[-1]) if isinstance(given[-1], dict) else (given, {})
    names = [argument.name for argument in edge.op(name).row.schema.arguments]

    def known(value: Any) -> Any:
        match value:
            case torch.Tensor():
                return Const(value - less if value.is_floating_point() else value)
            case torch.dtype():
                return ELEMENT_TYPES[value]
            case list():
                return [known(each) for each in value]
            case _:
                return value

    arguments = dict(zip(names, args, strict=False)) | {key: value for key, value in named.items() if key != "device"}
    return case(name, **{key: known(value) for key, value in arguments.items()})


CASES.extend(
    of_constants(name, given, less)
    for name in sorted({name.removeprefix("edge.") for name in EVALUATORS.keys() - STAY} | set(COMPOSITES))
    for given in ATEN_CALLS[name]
    for less in (0, 0.5)
)

COARSE = {"edge.gelu": 1e-7 + 1.5e-7 * 3.25 / 2}
"""How far from the exact result ATen's own may be, where that is more than fp32's rounding: its erf on x86 is a formula
that is off by up to 1.5e-7 (7.1.26 in Abramowitz and Stegun, `vec256_float.h`), and GELU multiplies it by half of the
largest number in `CASES`."""


@pytest.mark.parametrize("given", CASES, ids=lambda given: given[0].removeprefix("edge."))
def test_folds_to_what_aten_computes(given: Arguments) -> None:
    built = call(*given)
    (expected,) = run_module(built.module, built.ctx, built.inputs)
    PassManager(built.ctx, [FoldConstantsPass()]).run(built.module)
    assert not [op for op in built.module.walk() if isinstance(op, edge.EdgeOp) and op.name != "edge.constant"]
    (actual,) = run_module(built.module, built.ctx, built.inputs)
    torch.testing.assert_close(actual, expected, rtol=1e-6, atol=COARSE.get(given[0], 1e-7), equal_nan=True)


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_a_division_of_integers_by_zero_stays(name: str) -> None:
    built = call(f"edge.{name}.Tensor", {"self": c(1, 2), "other": c(1, 0)})
    PassManager(built.ctx, [FoldConstantsPass()]).run(built.module)
    assert [op.name for op in built.module.walk() if isinstance(op, edge.EdgeOp)] == [f"edge.{name}.Tensor"]


def test_evaluators_are_of_ops_with_kernels() -> None:
    """A composite is computed as the ops that it means."""
    assert not {
        name for name in EVALUATORS.keys() & DECOMPOSITIONS.keys() if edge.OPS[name].row.out not in executorch_kernels()
    }
