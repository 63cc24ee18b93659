"""A composite means one thing: no more than ten are said twice, and what overrides a decomposition computes the same.

In int8, as tables, overrides are held to ATen by `test_quantized.py`.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from accuracy.measure import distance, rounded_otherwise
from reference.edge import Const, call
from xdsl.dialects.builtin import i8
from xdsl.dialects.func import FuncOp

from xir.api import EdgeProgram, XnnpackPartitioner
from xir.dialects import edge
from xir.evaluate.evaluator import Evaluator
from xir.ir.passes import PassManager
from xir.runtime import Method, Runtime
from xir.transforms.edge.decompose_for_kernels import DecomposeForKernelsPass

ROOT = Path(__file__).parents[3]
TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
SIZES = ("1e-3", "1", "30", "limit")
ALLOWED = {torch.float32: 16, torch.float16: 4, torch.bfloat16: 4}
"""How many units (`accuracy.measure.Distance`) an override may be off, by type: as in `test_accuracy.py`."""


def scripts_module(name: str) -> ModuleType:
    """A file of scripts/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


meanings = scripts_module("meanings")

ONE_BLOCK: dict[str, Any] = {
    "block_size": [4, 33],
    "scale": Const(torch.tensor(0.05)),
    "zero_point": Const(torch.tensor(3, dtype=torch.int32)),
    "quant_min": -128,
    "quant_max": 127,
}
"""One scale for a whole tensor [4, 33]. XNNPACK quantises fp32 alone."""


def numbers(size: str, dtype: torch.dtype, *shape: int, squared: bool = False) -> torch.Tensor:
    """Numbers of a size; the last size is near the largest number of the type, or near its root."""
    largest = torch.finfo(dtype).max / (8 if dtype == torch.float16 else 2**16)
    about = (math.sqrt(largest) if squared else largest) if size == "limit" else float(size)
    generator = torch.Generator().manual_seed(3)
    return (torch.randn(shape, generator=generator).clamp(-2, 2).double() * about).to(dtype)


def calls(name: str, size: str, dtype: torch.dtype) -> list[dict[str, Any]]:
    """Calls of a composite in all its forms."""

    def x(*shape: int, squared: bool = False) -> torch.Tensor:
        return numbers(size, dtype, *shape, squared=squared)

    head = x(1, 4, 6, 8, squared=True)
    few = x(1, 2, 6, 8, squared=True)
    hidden = torch.zeros(6, 6).masked_fill(torch.ones(6, 6).triu(1).bool(), -math.inf).to(dtype)
    hidden[2] = -math.inf
    match name.removeprefix("edge."):
        case "hardswish" | "mish":
            return [{"self": x(4, 33)}]
        case "square":
            return [{"self": x(4, 33, squared=True)}]
        case "softplus":
            scales = ((1, 20), (0.5, 20), (-2.0, 20), (1, 1.5), (3, 0))
            return [{"self": x(4, 33), "beta": beta, "threshold": threshold} for beta, threshold in scales]
        case "prelu":
            weight = (torch.arange(3) / 4 - 0.25).to(dtype)
            return [{"self": x(2, 3, 5, 4), "weight": each} for each in (weight, weight[:1], Const(weight))]
        case "copysign.Tensor":
            return [{"self": x(4, 33), "other": x(4, 33).flip(0)}, {"self": x(4, 33), "other": x(1, 33)}]
        case "matmul":
            shapes = (((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 2)))
            pairs = [[x(*shape, squared=True) for shape in each] for each in shapes]
            weights = [{"self": x(2, 3, 4, squared=True), "other": Const(x(4, 5, squared=True))}]
            return [*({"self": lhs, "other": rhs} for lhs, rhs in pairs), *weights]
        case "scaled_dot_product_attention":
            forms = [
                {},
                {"scale": 0.5},
                {"is_causal": True},
                {"attn_mask": Const(hidden)},
                {"attn_mask": Const(hidden == 0)},
                {"attn_mask": hidden},
            ]
            whole = [{"query": head, "key": head.flip(2), "value": head.flip(1), **form} for form in forms]
            shared = [{"query": head, "key": few, "value": few.flip(1), "enable_gqa": True, **form} for form in forms]
            return whole + shared
        case "torchao.quantize_affine":
            return [{"input": x(4, 33), **ONE_BLOCK, "output_dtype": i8}] if dtype == torch.float32 else []
        case "torchao.dequantize_affine":
            integers = torch.arange(-66, 66, dtype=torch.int8).reshape(4, 33)
            return [{"input": integers, **ONE_BLOCK, "input_dtype": i8}] if dtype == torch.float32 else []
        case _:
            raise AssertionError(f"{name} is overridden: call it here in all its forms")


def in_type(value: Any, dtype: torch.dtype) -> Any:
    """An argument with its numbers in another type."""
    if isinstance(value, Const):
        return Const(in_type(value.tensor, dtype))
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def meant(name: str, args: dict[str, Any], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What the decomposition computes, in fp64."""
    built = call(name, {key: in_type(value, torch.float32) for key, value in args.items()})
    PassManager(built.ctx, [DecomposeForKernelsPass()]).run(built.module)
    assert name not in {op.name for op in built.module.walk()}
    function = next(op for op in built.module.body.ops if isinstance(op, FuncOp))
    return [torch.as_tensor(each) for each in Evaluator(built.ctx).run(function, inputs)]


def constants_equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two calls differ in inputs alone, so that one program runs both."""
    return all(torch.equal(value.tensor, other[name].tensor) for name, value in one.items() if isinstance(value, Const))


def loaded(program: EdgeProgram) -> Method:
    return Runtime.get().load_program(program.to_executorch().buffer, threads=1).load_method()


def programs_of(name: str, args: dict[str, Any]) -> dict[str, Method]:
    """A call as kernels, and as one delegate for each target that takes it."""
    built = call(name, args)
    found = {"kernels": loaded(EdgeProgram(built.module.clone(), built.ctx))}
    for target in ("executorch", "xir"):
        program = EdgeProgram(built.module.clone(), built.ctx).to_backend(XnnpackPartitioner(target))
        if not any(isinstance(op, edge.EdgeOp) for op in program.module.walk()):
            found[target] = loaded(program)
    assert "xir" in found, f"{args} is not delegated"
    return found


def results(method: Method, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What the runtime computes."""
    return [torch.as_tensor(each) for each in method.execute(list(inputs))]


def overridden() -> Iterator[Any]:
    """Each override in fp32, and in one of the short types, in turn; `make test-zoo` takes both."""
    for turn, name in enumerate(meanings.overlaps()):
        for element in TYPES:
            is_quick = element in ("f32", ("f16", "bf16")[turn % 2])
            yield pytest.param(name, element, id=f"{name}-{element}", marks=() if is_quick else pytest.mark.exhaustive)


@pytest.mark.parametrize(("name", "element"), list(overridden()))
def test_an_override_computes_what_the_decomposition_says(name: str, element: str) -> None:
    dtype = TYPES[element]
    for form in zip(*(calls(name, size, dtype) for size in SIZES), strict=True):
        programs, made_for = programs_of(name, form[0]), form[0]
        for size, args in zip(SIZES, form, strict=True):
            if not constants_equal(args, made_for):
                programs, made_for = programs_of(name, args), args
            inputs = call(name, args).inputs
            wide = tuple(each.double() if each.is_floating_point() else each for each in inputs)
            exact = meant(name, args, wide)
            moved = meant(name, args, rounded_otherwise(wide, dtype) if wide[0].is_floating_point() else wide)
            given = {way: results(method, inputs) for way, method in programs.items()}
            for target in given.keys() - {"kernels"}:
                for ours, theirs, right, near in zip(given[target], given["kernels"], exact, moved, strict=True):
                    times, *_ = distance(ours, theirs, right, near)
                    assert times <= ALLOWED[dtype], f"{target}, {size}, {args}"


def test_composites_are_said_once() -> None:
    """But for ten at most, with a reason each."""
    overlaps = meanings.overlaps()
    assert len(overlaps) <= meanings.MOST
    assert all(reason for _, reason in overlaps.values()), "@rule(overrides=reason)"
