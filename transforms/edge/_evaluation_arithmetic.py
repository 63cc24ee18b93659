"""What edge ops compute that do arithmetic over whole tensors, in numpy; sums are taken in double precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf as erf_of_number

import numpy as np
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.transforms.edge._evaluation import (
    EVALUATORS,
    Evaluator,
    KnownCall,
    NotFoldedError,
    evaluator,
    register_evaluator,
    static,
)

__all__ = ["EVALUATORS"]

# Functions of one number


def _unary(function: Callable[[np.ndarray], np.ndarray]) -> Evaluator:
    """A function of floats, computed in double precision, whose result the caller rounds."""

    def evaluate(op: edge.EdgeOp, call: KnownCall) -> np.ndarray:
        if call.dtype.kind != "f":
            raise NotFoldedError
        return function(call[op.operands[0]].astype(np.float64))

    return evaluate


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(erf_of_number, otypes=[np.float64])(x)


for _name, _function in {
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "expm1": np.expm1,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "tan": np.tan,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sign": np.sign,
    "erf": _erf,
    "sigmoid": _sigmoid,
}.items():
    register_evaluator(_unary(_function), f"edge.{_name}")


@evaluator
def _rectified(op: edge.ReluOp, call: KnownCall) -> np.ndarray:
    return np.maximum(call[op.self], call.dtype.type(0))


@evaluator
def _clamped(op: edge.HardtanhOp | edge.ClampOp, call: KnownCall) -> np.ndarray:
    low, high = (op.min_val, op.max_val) if isinstance(op, edge.HardtanhOp) else (op.min, op.max)
    value = call[op.self].astype(call.dtype)
    if low is not None:
        value = np.maximum(value, call.dtype.type(low))
    if high is not None:
        value = np.minimum(value, call.dtype.type(high))
    return value


@evaluator
def _gelu(op: edge.GeluOp, call: KnownCall) -> np.ndarray:
    x = call[op.self].astype(np.float64)
    if op.approximate == "none":
        return x * (1 + _erf(x / np.sqrt(2))) / 2
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


@evaluator
def _power(op: edge.PowTensorScalarOp | edge.PowScalarOp | edge.PowTensorTensorOp, call: KnownCall) -> np.ndarray:
    if call.dtype.kind != "f":
        raise NotFoldedError
    return np.power(call[op.self].astype(np.float64), call[op.exponent].astype(np.float64))


# Division of integers


def _of_integers(function: np.ufunc) -> Evaluator:
    """What integers give that are divided; a division by zero is left to its kernel, whatever that makes of it."""

    def evaluate(
        op: edge.RemainderTensorOp | edge.RemainderScalarOp | edge.FmodTensorOp | edge.FmodScalarOp, call: KnownCall
    ) -> np.ndarray:
        if call.dtype.kind not in "iu":
            raise NotFoldedError
        value, other = (call[each].astype(call.dtype) for each in (op.self, op.other))
        if not other.all():
            raise NotFoldedError
        return function(value, other)

    return evaluate


for _name, _function in {"remainder": np.remainder, "fmod": np.fmod}.items():
    register_evaluator(_of_integers(_function), f"edge.{_name}.Tensor", f"edge.{_name}.Scalar")


# Reductions


def _axes(dim: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """The dimensions that a reduction is over; None and [] are all."""
    dims = [dim] if isinstance(dim, int) else dim
    return tuple(d % rank for d in dims) if dims and rank else tuple(range(rank))


OfAll = edge.MeanOp | edge.ProdOp | edge.MaxOp | edge.MinOp | edge.AnyOp
OfOne = edge.ProdDimIntOp | edge.AnyDimOp
OfSome = edge.SumDimIntListOp | edge.MeanDimOp | edge.AmaxOp | edge.AminOp | edge.AnyDimsOp


def _reduction(function: Callable[..., np.ndarray], *, exact: bool = False) -> Evaluator:
    """A reduction; of floats in double precision, unless it takes elements as they are (`exact`)."""

    def evaluate(op: OfAll | OfOne | OfSome, call: KnownCall) -> np.ndarray:
        array = call[op.self]
        dim, keepdim = (None, False) if isinstance(op, OfAll) else (op.dim, op.keepdim)
        if not exact:
            array = array.astype(np.float64 if call.dtype.kind == "f" else call.dtype)
        return function(array, axis=_axes(dim, array.ndim), keepdims=keepdim)

    return evaluate


for _names, _reduce in {
    ("sum.dim_IntList",): np.sum,
    ("mean", "mean.dim"): np.mean,
    ("prod", "prod.dim_int"): np.prod,
}.items():
    register_evaluator(_reduction(_reduce), *(f"edge.{name}" for name in _names))
for _names, _reduce in {
    ("amax", "max"): np.max,
    ("amin", "min"): np.min,
    ("any", "any.dim", "any.dims"): np.any,
}.items():
    register_evaluator(_reduction(_reduce, exact=True), *(f"edge.{name}" for name in _names))


@evaluator
def _softmax(op: edge.SoftmaxOp | edge.LogSoftmaxOp, call: KnownCall) -> np.ndarray:
    array, axis = call[op.self].astype(np.float64), op.dim
    shifted = array - array.max(axis=axis, keepdims=True) if array.ndim else array * 0
    total = np.exp(shifted).sum(axis=axis if array.ndim else None, keepdims=True)
    return np.exp(shifted) / total if isinstance(op, edge.SoftmaxOp) else shifted - np.log(total)


# Matrices


def _float_operands(call: KnownCall, *operands: SSAValue) -> list[np.ndarray]:
    """Operands in double precision; NotEvaluatedError for integers, whose products wrap."""
    if call.dtype.kind != "f":
        raise NotFoldedError
    return [call[operand].astype(np.float64) for operand in operands]


@evaluator
def _product(op: edge.MmOp | edge.BmmOp, call: KnownCall) -> np.ndarray:
    lhs, rhs = _float_operands(call, op.self, op.mat2)
    return lhs @ rhs


@evaluator
def _linear(op: edge.LinearOp, call: KnownCall) -> np.ndarray:
    value, weight = _float_operands(call, op.input, op.weight)
    product = value @ weight.T
    return product if op.bias is None else product + call[op.bias]


@evaluator
def _added_product(op: edge.AddmmOp, call: KnownCall) -> np.ndarray:
    lhs, rhs = _float_operands(call, op.mat1, op.mat2)
    product = lhs @ rhs * op.alpha
    return product + call[op.self] * op.beta if op.beta else product


# Borders


@evaluator
def _padded(op: edge.ConstantPadNdOp, call: KnownCall) -> np.ndarray:
    array, pad = call[op.self], [static(size) for size in op.pad]
    pairs = [(0, 0)] * (array.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    cut = tuple(slice(max(-p, 0), size - max(-q, 0)) for (p, q), size in zip(pairs, array.shape, strict=True))
    grown = [(max(p, 0), max(q, 0)) for p, q in pairs]
    return np.pad(array[cut], grown, constant_values=call.dtype.type(op.value))


@evaluator
def _rolled(op: edge.RollOp, call: KnownCall) -> np.ndarray:
    shifts, dims = [static(size) for size in op.shifts], op.dims
    return np.roll(call[op.self], shifts if dims else shifts[0], dims or None)
