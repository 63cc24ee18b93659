"""Ops that make tensors from numbers, and numbers from tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, f32, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xir.ir.symbolic_size import SymbolicSize, UndecidedSizeError, floor_div, largest, modulo, smallest

from .accessors import Size
from .base import EdgeOp, row
from .types import element_of, known, scalar_type, shape_of, tensor_type, wrap_dim

_OPTIONS = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

if TYPE_CHECKING:
    from . import ops


def _full(op: ops.FullOp) -> Sequence[Attribute]:
    return (_sized(op.dtype or scalar_type(op.fill_value), op.size),)


def _empty(op: ops.EmptyMemoryFormatOp | ops.RandOp | ops.RandnOp) -> Sequence[Attribute]:
    return (_sized(op.dtype or f32, op.size),)


def _sized(element: Attribute, size: Sequence[Size]) -> TensorType:
    return tensor_type(element, tuple(map(known, size)))


def _like(op: ops.FullLikeOp) -> Sequence[Attribute]:
    value = op.self
    return (tensor_type(op.dtype or element_of(value), shape_of(value)),)


def _arange(op: ops.ArangeStartStepOp) -> Sequence[Attribute]:
    numbers: dict[str, object] = {"start": op.start, "end": op.end, "step": op.step}
    default = i64 if all(scalar_type(number) != f32 for number in numbers.values()) else f32
    length = _steps(*(op.size_of(name, each) if isinstance(each, SSAValue) else each for name, each in numbers.items()))
    return (tensor_type(op.dtype or default, (length,)),)


def _steps(start: Any, end: Any, step: Any) -> int:
    """How many numbers there are from `start` to `end`, open where one of them is known at run time alone."""
    if any(isinstance(number, SSAValue) for number in (start, end, step)):
        return DYNAMIC_INDEX
    if any(isinstance(number, SymbolicSize) for number in (start, end, step)):
        if not all(isinstance(number, int | SymbolicSize) for number in (start, end)) or not isinstance(step, int):
            raise UndecidedSizeError
        distance, width = (end - start, step) if step > 0 else (start - end, -step)
        return floor_div(distance + width - 1, width)
    steps = (end - start) / step if step else math.nan
    if not math.isfinite(steps) or (length := math.ceil(steps)) < 0:
        raise VerifyException(f"does not come from {start} to {end} in steps of {step}")
    return length


def _scalar_tensor(op: ops.ScalarTensorOp) -> Sequence[Attribute]:
    return (tensor_type(op.dtype or f32, ()),)


def _randperm(op: ops.RandpermOp) -> Sequence[Attribute]:
    return (tensor_type(op.dtype, (known(op.n),)),)


def _number(op: EdgeOp) -> Sequence[Attribute]:
    return (i64,)


def _truth(op: EdgeOp) -> Sequence[Attribute]:
    return (i1,)


def _size(op: ops.SymSizeIntOp) -> Sequence[Attribute]:
    wrap_dim(op.dim, len(shape_of(op.self)))
    return (i64,)


_SIZE_OPERATORS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add": ("a + b, of sizes.", operator.add),
    "sub": ("a - b, of sizes.", operator.sub),
    "mul": ("a * b, of sizes.", operator.mul),
    "floordiv": ("a // b, of sizes.", floor_div),
    "mod": ("a % b, of sizes.", modulo),
    "sym_max": ("The larger of two sizes.", largest),
    "sym_min": ("The smaller of two sizes.", smallest),
}

SIZE_OPERATORS = {f"edge.executorch_prim.{name}.Scalar": compute for name, (_, compute) in _SIZE_OPERATORS.items()}
"""What the arithmetic on sizes computes, of numbers and of symbolic sizes."""

_COMPARISONS: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "eq": ("Whether a == b, of sizes.", operator.eq),
    "ge": ("Whether a >= b, of sizes.", operator.ge),
    "gt": ("Whether a > b, of sizes.", operator.gt),
    "le": ("Whether a <= b, of sizes.", operator.le),
    "lt": ("Whether a < b, of sizes.", operator.lt),
}

COMPARISONS = {f"edge.executorch_prim.{name}.Scalar": compute for name, (_, compute) in _COMPARISONS.items()}
"""What the comparisons of sizes compute, of numbers."""

ROWS = [
    row(f"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, {_OPTIONS}) -> Tensor",
        "start, start + step, ... before end.", out="arange.start_out", infer=_arange),
    row(f"aten::full(SymInt[] size, Scalar fill_value, {_OPTIONS}) -> Tensor", "One value everywhere.",
        out="full.out", infer=_full),
    row(f"aten::full_like(Tensor self, Scalar fill_value, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
        "One value everywhere, in the shape of another tensor.", out="full_like.out", infer=_like),
    row(f"aten::empty.memory_format(SymInt[] size, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
        "A tensor of unspecified values.", out="empty.out", infer=_empty),
    row(f"aten::scalar_tensor(Scalar s, {_OPTIONS}) -> Tensor", "A number as tensor without dimensions.",
        out="scalar_tensor.out", infer=_scalar_tensor),
    row(f"aten::rand(SymInt[] size, {_OPTIONS}) -> Tensor", "Random values of [0, 1).", out="rand.out",
        infer=_empty, pure=False),
    row(f"aten::randn(SymInt[] size, {_OPTIONS}) -> Tensor", "Normally distributed random values.",
        out="randn.out", infer=_empty, pure=False),
    row("aten::randperm(SymInt n, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor", "A random order of 0 to n - 1.", out="randperm.out", infer=_randperm,
        pure=False),
    row("aten::sym_size.int(Tensor self, int dim) -> SymInt", "A dimension's size as number.",
        out="sym_size.int", infer=_size),
    row("aten::sym_numel(Tensor self) -> SymInt", "The element count as number.", out="sym_numel", infer=_number),
    *(
        row(f"executorch_prim::{name}.Scalar(SymInt a, SymInt b) -> SymInt", doc,
            out=f"executorch_prim::{name}.Scalar", infer=_number)
        for name, (doc, _) in _SIZE_OPERATORS.items()
    ),
    *(
        row(f"executorch_prim::{name}.Scalar(SymInt a, SymInt b) -> bool", doc,
            out=f"executorch_prim::{name}.Scalar", infer=_truth)
        for name, (doc, _) in _COMPARISONS.items()
    ),
    row("aten::_local_scalar_dense(Tensor self) -> Scalar", "The one element as number.", out="_local_scalar_dense"),
]  # fmt: skip
