"""What primitive edge ops compute, in numpy: for values that are known at compile time.

Composites are computed as the ops that they mean (`_evaluation_of_composites.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import CompareTensors, CompareWithNumber, Sum
from xir.dialects.edge.scalars import is_kept
from xir.dialects.edge.types import result_element
from xir.ir.elements import storage_dtype, stored, values_of


class NotFoldedError(Exception):
    """The op has no value that can be computed now, such as an index out of range: leave it to its kernel."""


@dataclass(frozen=True)
class KnownCall:
    """One edge op and the arrays of its operands, as far as they are known."""

    op: edge.EdgeOp
    arrays: Mapping[SSAValue, np.ndarray]

    def __getitem__(self, value: SSAValue | edge.Number) -> np.ndarray:
        """The array of an operand, or of a number."""
        return self.arrays[value] if isinstance(value, SSAValue) else np.asarray(value)

    @property
    def shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return result_type(self.op).get_shape()

    @property
    def dtype(self) -> np.dtype:
        """What the op computes in: the result's type, of halves fp32. Whoever asks for the value rounds it."""
        dtype = storage_dtype(result_type(self.op).element_type)
        return np.dtype(np.float32) if dtype == np.float16 else dtype

    def meeting(self, value: SSAValue | edge.Number) -> np.ndarray:
        """An operand, or a number, as ATen computes with it (`xir.dialects.edge.scalars`)."""
        if not isinstance(value, SSAValue) or is_kept(self.op, value):
            return self[value].astype(self.dtype)
        element = result_type(self.op).element_type
        return values_of(stored(self[value], element), element).astype(self.dtype)


EdgeOpT = TypeVar("EdgeOpT", bound=edge.EdgeOp)

Evaluator = Callable[[Any, KnownCall], np.ndarray]
"""An evaluator as the table has it, which no longer says of which op class it is."""

EVALUATORS: dict[str, Evaluator] = {}
"""Edge op name -> what it computes. The caller gives the result its shape's and type's final form."""

SHAPE_ONLY = frozenset({"edge.full_like"})
"""Ops that look at their operand's type and not at its elements."""


def result_type(op: edge.EdgeOp) -> TensorType:
    """The type of an op's one result."""
    type = op.results[0].type
    assert isinstance(type, TensorType)
    return type


def evaluator(function: Callable[[EdgeOpT, KnownCall], np.ndarray]) -> Callable[[EdgeOpT, KnownCall], np.ndarray]:
    """Register what the op classes in the annotation of the first parameter compute."""
    register_evaluator(function, *(op_class.name for op_class in edge.op_classes(function)))
    return function


def register_evaluator(function: Evaluator, *names: str) -> None:
    """Register what the edge ops of these names compute: one evaluator of many that a table makes."""
    for name in names:
        if name in EVALUATORS or name not in edge.OPS:
            raise ValueError(f"{name} is not an edge op, or has an evaluator already")
        EVALUATORS[name] = function


def static(size: edge.Size) -> int:
    """A size among the arguments: ops with sizes that the program computes are not evaluated."""
    assert isinstance(size, int)
    return size


# Created from numbers


@evaluator
def _full(op: edge.FullOp | edge.FullLikeOp, call: KnownCall) -> np.ndarray:
    return np.full(call.shape, op.fill_value)


@evaluator
def _scalar_tensor(op: edge.ScalarTensorOp, call: KnownCall) -> np.ndarray:
    return np.asarray(op.s)


@evaluator
def _arange(op: edge.ArangeStartStepOp, call: KnownCall) -> np.ndarray:
    # start + i·step in the precision of ATen's accumulation type, not by repeated addition.
    steps = np.arange(call.shape[0], dtype=np.int64 if call.dtype.kind in "iu" else np.float64)
    return op.start + steps * op.step


# Elements moved


@evaluator
def _reshaped(
    op: edge.ViewOp | edge.SqueezeDimOp | edge.SqueezeDimsOp | edge.UnsqueezeOp, call: KnownCall
) -> np.ndarray:
    return call[op.self].reshape(call.shape)


@evaluator
def _converted(op: edge.ToCopyOp, call: KnownCall) -> np.ndarray:
    return call[op.self]


@evaluator
def _expanded(op: edge.ExpandOp, call: KnownCall) -> np.ndarray:
    return np.broadcast_to(call[op.self], call.shape)


@evaluator
def _overwritten(op: edge.CopyOp, call: KnownCall) -> np.ndarray:
    return np.broadcast_to(call[op.src], call.shape)


@evaluator
def _scattered(op: edge.SliceScatterOp | edge.SelectScatterOp, call: KnownCall) -> np.ndarray:
    result = call[op.self].copy()
    index: list[slice | int] = [slice(None)] * result.ndim
    if isinstance(op, edge.SelectScatterOp):
        index[op.dim] = static(op.index)
    else:
        index[op.dim] = slice(op.start, op.end, op.step)
    result[tuple(index)] = call[op.src]
    return result


@evaluator
def _permuted(op: edge.PermuteOp, call: KnownCall) -> np.ndarray:
    return call[op.self].transpose(tuple(op.dims))


@evaluator
def _transposed(op: edge.TransposeIntOp, call: KnownCall) -> np.ndarray:
    array = call[op.self]
    return array.swapaxes(op.dim0, op.dim1) if array.ndim else array


@evaluator
def _t(op: edge.TOp, call: KnownCall) -> np.ndarray:
    return call[op.self].T


@evaluator
def _sliced(op: edge.SliceTensorOp, call: KnownCall) -> np.ndarray:
    array = call[op.self]
    index = [slice(None)] * array.ndim
    index[op.dim] = slice(op.start, op.end, op.step)
    return array[tuple(index)]


@evaluator
def _selected(op: edge.SelectIntOp, call: KnownCall) -> np.ndarray:
    return call[op.self].take(static(op.index), axis=op.dim)


@evaluator
def _joined(op: edge.CatOp, call: KnownCall) -> np.ndarray:
    arrays = [array for array in [call[each] for each in op.tensors] if array.shape != (0,)]
    return np.concatenate(arrays, op.dim)


@evaluator
def _stacked(op: edge.StackOp, call: KnownCall) -> np.ndarray:
    return np.stack([call[each] for each in op.tensors], op.dim)


@evaluator
def _repeated(op: edge.RepeatOp, call: KnownCall) -> np.ndarray:
    return np.tile(call[op.self], [static(count) for count in op.repeats])


@evaluator
def _flipped(op: edge.FlipOp, call: KnownCall) -> np.ndarray:
    array = call[op.self]
    return np.flip(array, tuple(op.dims)) if array.ndim else array


@evaluator
def _triangle(op: edge.TrilOp, call: KnownCall) -> np.ndarray:
    return np.tril(call[op.self], static(op.diagonal))


# Elements looked up


def _checked_index(index: np.ndarray, size: int) -> np.ndarray:
    """An index, whose elements may count from the end."""
    if index.dtype.kind not in "iu" or index.size == 0 or index.min() < -size or index.max() >= size:
        raise NotFoldedError
    return index


@evaluator
def _embedded(op: edge.EmbeddingOp, call: KnownCall) -> np.ndarray:
    weight, indices = call[op.weight], call[op.indices]
    if indices.size and indices.min() < 0:
        raise NotFoldedError
    return weight[_checked_index(indices, weight.shape[0])]


@evaluator
def _index_selected(op: edge.IndexSelectOp, call: KnownCall) -> np.ndarray:
    array, axis = np.atleast_1d(call[op.self]), op.dim
    taken = array.take(_checked_index(call[op.index].reshape(-1), array.shape[axis]), axis=axis)
    return taken if call[op.self].ndim else taken.reshape(())


@evaluator
def _gathered(op: edge.GatherOp, call: KnownCall) -> np.ndarray:
    array, axis = np.atleast_1d(call[op.self]), op.dim
    index = _checked_index(np.atleast_1d(call[op.index]), array.shape[axis])
    box = tuple(slice(None) if d == axis % array.ndim else slice(size) for d, size in enumerate(index.shape))
    return np.take_along_axis(array[box], index, axis).reshape(call[op.index].shape)


@evaluator
def _indexed(op: edge.IndexTensorOp, call: KnownCall) -> np.ndarray:
    array = call[op.self]
    places: dict[int, np.ndarray] = {}
    for axis, value in enumerate(op.indices):
        if value is not None:
            places[axis] = _checked_index(call[value], array.shape[axis])
    return array[tuple(places.get(axis, slice(None)) for axis in range(array.ndim))]


# Comparison and choice


def _comparison(function: np.ufunc) -> Evaluator:
    """A comparison in the type that ATen promotes both sides to."""

    def evaluate(op: CompareTensors | CompareWithNumber, call: KnownCall) -> np.ndarray:
        numbers = () if isinstance(op.other, SSAValue) else (op.other,)
        common = storage_dtype(result_element(op.operands, numbers))
        return function(call[op.self].astype(common), call[op.other].astype(common))

    return evaluate


for _name, _function in {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}.items():
    register_evaluator(_comparison(_function), f"edge.{_name}.Tensor", f"edge.{_name}.Scalar")


@evaluator
def _not(op: edge.LogicalNotOp, call: KnownCall) -> np.ndarray:
    return call[op.self] == 0


@evaluator
def _inverted(op: edge.BitwiseNotOp, call: KnownCall) -> np.ndarray:
    return np.invert(call[op.self])


def _logic(function: np.ufunc) -> Evaluator:
    def evaluate(op: edge.LogicalAndOp | edge.LogicalOrOp | edge.LogicalXorOp, call: KnownCall) -> np.ndarray:
        return function(call[op.self] != 0, call[op.other] != 0)

    return evaluate


for _name, _function in {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.items():
    register_evaluator(_logic(_function), f"edge.logical_{_name}")


@evaluator
def _chosen(op: edge.WhereSelfOp, call: KnownCall) -> np.ndarray:
    return np.where(call[op.condition], call[op.self].astype(call.dtype), call[op.other].astype(call.dtype))


@evaluator
def _filled(op: edge.MaskedFillScalarOp, call: KnownCall) -> np.ndarray:
    return np.where(call[op.mask], call.dtype.type(op.value), call[op.self])


# Arithmetic, in the result's type


Product = edge.MulTensorOp | edge.MulScalarOp | edge.DivTensorOp | edge.DivScalarOp
Bitwise = edge.BitwiseAndTensorOp | edge.BitwiseAndScalarOp | edge.BitwiseOrTensorOp | edge.BitwiseOrScalarOp


def _binary(function: Callable[..., np.ndarray]) -> Evaluator:
    """An operator of `self` and `other`, a tensor or a number, both first in the result's type."""

    def evaluate(op: Sum | Product | Bitwise | edge.MaximumOp | edge.MinimumOp, call: KnownCall) -> np.ndarray:
        value, other = call.meeting(op.self), call.meeting(op.other)
        if isinstance(op, Sum):
            other = other * call.dtype.type(op.alpha)
        return function(value, other)

    return evaluate


for _name, _binary_function in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}.items():
    register_evaluator(_binary(_binary_function), f"edge.{_name}.Tensor", f"edge.{_name}.Scalar")
register_evaluator(_binary(np.bitwise_and), "edge.bitwise_and.Tensor", "edge.bitwise_and.Scalar")
register_evaluator(_binary(np.bitwise_or), "edge.bitwise_or.Tensor", "edge.bitwise_or.Scalar")
register_evaluator(_binary(np.maximum), "edge.maximum")
register_evaluator(_binary(np.minimum), "edge.minimum")


@evaluator
def _subtracted_from(op: edge.RsubScalarOp, call: KnownCall) -> np.ndarray:
    alpha, other = call.dtype.type(op.alpha), call.dtype.type(op.other)
    return other - call[op.self].astype(call.dtype) * alpha


def _unary(function: np.ufunc) -> Evaluator:
    def evaluate(op: edge.EdgeOp, call: KnownCall) -> np.ndarray:
        return function(call[op.operands[0]].astype(call.dtype))

    return evaluate


for _name, _function in {
    "abs": np.abs,
    "cos": np.cos,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    "sin": np.sin,
    "sqrt": np.sqrt,
}.items():
    register_evaluator(_unary(_function), f"edge.{_name}")


@evaluator
def _cumulated(op: edge.CumsumOp, call: KnownCall) -> np.ndarray:
    array = call[op.self].astype(call.dtype)
    return np.cumsum(array, axis=op.dim, dtype=call.dtype) if array.ndim else array
