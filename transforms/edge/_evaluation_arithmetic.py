"""What edge ops compute that do arithmetic over whole tensors, in numpy; sums are taken in double precision."""

from __future__ import annotations

from collections.abc import Callable
from math import erf as erf_of_number

import numpy as np

from xir.transforms.edge._evaluation import EVALUATORS, Call, Evaluator, NotEvaluatedError, evaluator

__all__ = ["EVALUATORS"]

# Functions of one number


def _unary(function: Callable[[np.ndarray], np.ndarray]) -> Evaluator:
    """A function of floats, computed in double precision, whose result the caller rounds."""

    def evaluate(call: Call) -> np.ndarray:
        if call.dtype.kind != "f":
            raise NotEvaluatedError
        return function(call.tensor("self").astype(np.float64))

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
    "exp2": np.exp2,
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
    "silu": lambda x: x * _sigmoid(x),
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
}.items():
    evaluator(f"edge.{_name}")(_unary(_function))


@evaluator("edge.relu")
def _rectified(call: Call) -> np.ndarray:
    return np.maximum(call.tensor("self"), call.dtype.type(0))


@evaluator("edge.hardtanh", "edge.clamp")
def _clamped(call: Call) -> np.ndarray:
    low, high = ("min_val", "max_val") if call.op.name == "edge.hardtanh" else ("min", "max")
    value = call.tensor("self").astype(call.dtype)
    if (bound := call.value(low)) is not None:
        value = np.maximum(value, call.dtype.type(bound))
    if (bound := call.value(high)) is not None:
        value = np.minimum(value, call.dtype.type(bound))
    return value


@evaluator("edge.gelu")
def _gelu(call: Call) -> np.ndarray:
    x = call.tensor("self").astype(np.float64)
    if call.value("approximate") == "none":
        return x * (1 + _erf(x / np.sqrt(2))) / 2
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


@evaluator("edge.pow.Tensor_Scalar", "edge.pow.Scalar", "edge.pow.Tensor_Tensor")
def _power(call: Call) -> np.ndarray:
    if call.dtype.kind != "f":
        raise NotEvaluatedError
    base = np.asarray(call.value("self")) if call.op.name == "edge.pow.Scalar" else call.tensor("self")
    is_number = call.op.name == "edge.pow.Tensor_Scalar"
    exponent = np.asarray(call.value("exponent")) if is_number else call.tensor("exponent")
    return np.power(base.astype(np.float64), exponent.astype(np.float64))


# Reductions


def _axes(call: Call, rank: int) -> tuple[int, ...]:
    """The dimensions that a reduction is over; no `dim`, None and [] are all."""
    dim = call.value("dim") if "dim" in call.op.schema.values else None
    if dim is None or dim == () or rank == 0:
        return tuple(range(rank))
    return tuple(d % rank for d in (dim if isinstance(dim, tuple) else (dim,)))


def _reduction(function: Callable[..., np.ndarray], *, exact: bool = False) -> Evaluator:
    """A reduction; of floats in double precision, unless it takes elements as they are (`exact`)."""

    def evaluate(call: Call) -> np.ndarray:
        array = call.tensor("self")
        keepdim = "keepdim" in call.op.schema.values and call.value("keepdim")
        if not exact:
            array = array.astype(np.float64 if call.dtype.kind == "f" else call.dtype)
        return function(array, axis=_axes(call, array.ndim), keepdims=keepdim)

    return evaluate


for _names, _reduce in {
    ("sum", "sum.dim_IntList"): np.sum,
    ("mean", "mean.dim"): np.mean,
    ("prod", "prod.dim_int"): np.prod,
}.items():
    evaluator(*(f"edge.{name}" for name in _names))(_reduction(_reduce))
for _names, _reduce in {
    ("amax", "max"): np.max,
    ("amin", "min"): np.min,
    ("any", "any.dim", "any.dims"): np.any,
    ("all", "all.dim"): np.all,
}.items():
    evaluator(*(f"edge.{name}" for name in _names))(_reduction(_reduce, exact=True))


@evaluator("edge.linalg_vector_norm")
def _norm(call: Call) -> np.ndarray:
    order = float(call.value("ord"))
    if order not in (1, 2):
        raise NotEvaluatedError
    array = np.abs(call.tensor("self").astype(np.float64))
    axes, keepdims = _axes(call, array.ndim), call.value("keepdim")
    return np.sum(array, axes, keepdims=keepdims) if order == 1 else np.sqrt(np.sum(array**2, axes, keepdims=keepdims))


@evaluator("edge._softmax", "edge._log_softmax")
def _softmax(call: Call) -> np.ndarray:
    array, axis = call.tensor("self").astype(np.float64), call.value("dim")
    shifted = array - array.max(axis=axis, keepdims=True) if array.ndim else array * 0
    total = np.exp(shifted).sum(axis=axis if array.ndim else None, keepdims=True)
    return np.exp(shifted) / total if call.op.name == "edge._softmax" else shifted - np.log(total)


# Matrices


def _float_operands(call: Call, *names: str) -> list[np.ndarray]:
    """Operands in double precision; NotEvaluatedError for integers, whose products wrap."""
    if call.dtype.kind != "f":
        raise NotEvaluatedError
    return [call.tensor(name).astype(np.float64) for name in names]


@evaluator("edge.mm", "edge.bmm")
def _product(call: Call) -> np.ndarray:
    lhs, rhs = _float_operands(call, "self", "mat2")
    return lhs @ rhs


@evaluator("edge.matmul")
def _any_product(call: Call) -> np.ndarray:
    lhs, rhs = _float_operands(call, "self", "other")
    return lhs @ rhs


@evaluator("edge.linear")
def _linear(call: Call) -> np.ndarray:
    value, weight = _float_operands(call, "input", "weight")
    product = value @ weight.T
    return product if call.op.argument("bias") is None else product + call.tensor("bias")


@evaluator("edge.addmm", "edge.baddbmm")
def _added_product(call: Call) -> np.ndarray:
    names = ("mat1", "mat2") if call.op.name == "edge.addmm" else ("batch1", "batch2")
    lhs, rhs = _float_operands(call, *names)
    product, beta = lhs @ rhs * call.value("alpha"), call.value("beta")
    return product + call.tensor("self") * beta if beta else product


# Borders


@evaluator("edge.constant_pad_nd")
def _padded(call: Call) -> np.ndarray:
    array, pad = call.tensor("self"), call.value("pad")
    pairs = [(0, 0)] * (array.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    cut = tuple(slice(max(-p, 0), size - max(-q, 0)) for (p, q), size in zip(pairs, array.shape, strict=True))
    grown = [(max(p, 0), max(q, 0)) for p, q in pairs]
    return np.pad(array[cut], grown, constant_values=call.dtype.type(call.value("value")))


@evaluator("edge.roll")
def _rolled(call: Call) -> np.ndarray:
    shifts, dims = call.value("shifts"), call.value("dims")
    return np.roll(call.tensor("self"), shifts if dims else shifts[0], dims or None)
