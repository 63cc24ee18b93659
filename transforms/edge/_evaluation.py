"""What edge ops compute, in numpy: for values that are known at compile time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import result_element
from xir.ir.constants import storage_dtype


class NotEvaluatedError(Exception):
    """The op has no value that can be computed now, such as an index out of range: leave it to its kernel."""


@dataclass(frozen=True)
class Call:
    """One edge op and the arrays of its operands, as far as they are known."""

    op: edge.EdgeOp
    arrays: Mapping[SSAValue, np.ndarray]

    def tensor(self, name: str) -> np.ndarray:
        """The array of a tensor argument that the schema requires."""
        value = self.op.argument(name)
        assert value is not None
        return self.arrays[value]

    def tensors(self, name: str) -> list[np.ndarray]:
        """The arrays of a list argument; NotEvaluatedError if an element is absent."""
        values = self.op.argument(name)
        if any(value is None for value in values):
            raise NotEvaluatedError
        return [self.arrays[value] for value in values if value is not None]

    def value(self, name: str) -> Any:
        """Any other argument."""
        return self.op.argument(name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return result_type(self.op).get_shape()

    @property
    def dtype(self) -> np.dtype:
        """How the result's elements are stored."""
        return storage_dtype(result_type(self.op).element_type)


Evaluator = Callable[[Call], np.ndarray]

EVALUATORS: dict[str, Evaluator] = {}
"""Edge op name -> what it computes. The caller gives the result its shape's and type's final form."""

SHAPE_ONLY = frozenset({"edge.full_like"})
"""Ops that look at their operand's type and not at its elements."""


def result_type(op: edge.EdgeOp) -> TensorType:
    """The type of an op's one result."""
    type = op.results[0].type
    assert isinstance(type, TensorType)
    return type


def evaluator(*names: str) -> Callable[[Evaluator], Evaluator]:
    """Register what the edge ops of these names compute."""

    def register(function: Evaluator) -> Evaluator:
        for name in names:
            if name in EVALUATORS or name not in edge.OPS:
                raise ValueError(f"{name} is not an edge op, or has an evaluator already")
            EVALUATORS[name] = function
        return function

    return register


# Created from numbers


@evaluator("edge.full", "edge.full_like")
def _full(call: Call) -> np.ndarray:
    return np.full(call.shape, call.value("fill_value"))


@evaluator("edge.scalar_tensor")
def _scalar_tensor(call: Call) -> np.ndarray:
    return np.asarray(call.value("s"))


@evaluator("edge.arange.start_step")
def _arange(call: Call) -> np.ndarray:
    # start + i·step in the precision of ATen's accumulation type, not by repeated addition.
    steps = np.arange(call.shape[0], dtype=call.dtype if call.dtype.kind in "iu" else np.float64)
    return call.value("start") + steps * call.value("step")


# Elements moved


@evaluator("edge.view", "edge._unsafe_view", "edge.squeeze", "edge.squeeze.dim", "edge.squeeze.dims", "edge.unsqueeze")
def _reshaped(call: Call) -> np.ndarray:
    return call.tensor("self").reshape(call.shape)


@evaluator("edge.clone", "edge.alias", "edge.detach", "edge.contiguous", "edge.lift_fresh_copy", "edge._to_copy")
def _copied(call: Call) -> np.ndarray:
    return call.tensor("self")


@evaluator("edge.expand")
def _expanded(call: Call) -> np.ndarray:
    return np.broadcast_to(call.tensor("self"), call.shape)


@evaluator("edge.copy")
def _overwritten(call: Call) -> np.ndarray:
    return np.broadcast_to(call.tensor("src"), call.shape)


@evaluator("edge.slice_scatter", "edge.select_scatter")
def _scattered(call: Call) -> np.ndarray:
    result = call.tensor("self").copy()
    index: list[slice | int] = [slice(None)] * result.ndim
    if call.op.name == "edge.select_scatter":
        index[call.value("dim")] = call.value("index")
    else:
        index[call.value("dim")] = slice(call.value("start"), call.value("end"), call.value("step"))
    result[tuple(index)] = call.tensor("src")
    return result


@evaluator("edge.permute")
def _permuted(call: Call) -> np.ndarray:
    return call.tensor("self").transpose(call.value("dims"))


@evaluator("edge.transpose.int")
def _transposed(call: Call) -> np.ndarray:
    array = call.tensor("self")
    return array.swapaxes(call.value("dim0"), call.value("dim1")) if array.ndim else array


@evaluator("edge.t")
def _t(call: Call) -> np.ndarray:
    return call.tensor("self").T


@evaluator("edge.slice.Tensor")
def _sliced(call: Call) -> np.ndarray:
    array = call.tensor("self")
    index = [slice(None)] * array.ndim
    index[call.value("dim")] = slice(call.value("start"), call.value("end"), call.value("step"))
    return array[tuple(index)]


@evaluator("edge.select.int")
def _selected(call: Call) -> np.ndarray:
    return call.tensor("self").take(call.value("index"), axis=call.value("dim"))


@evaluator("edge.cat")
def _joined(call: Call) -> np.ndarray:
    arrays = [array for array in call.tensors("tensors") if array.shape != (0,)]
    return np.concatenate(arrays, call.value("dim"))


@evaluator("edge.stack")
def _stacked(call: Call) -> np.ndarray:
    return np.stack(call.tensors("tensors"), call.value("dim"))


@evaluator("edge.repeat")
def _repeated(call: Call) -> np.ndarray:
    return np.tile(call.tensor("self"), call.value("repeats"))


@evaluator("edge.flip")
def _flipped(call: Call) -> np.ndarray:
    return np.flip(call.tensor("self"), call.value("dims"))


@evaluator("edge.tril", "edge.triu")
def _triangle(call: Call) -> np.ndarray:
    array = call.tensor("self")
    lower = np.tri(*array.shape[-2:], k=call.value("diagonal") - (call.op.name == "edge.triu"), dtype=np.bool_)
    kept = lower if call.op.name == "edge.tril" else ~lower
    return np.where(kept, array, array.dtype.type(0))


# Elements looked up


def _checked_index(index: np.ndarray, size: int) -> np.ndarray:
    """An index, whose elements may count from the end."""
    if index.dtype.kind not in "iu" or index.size == 0 or index.min() < -size or index.max() >= size:
        raise NotEvaluatedError
    return index


@evaluator("edge.embedding")
def _embedded(call: Call) -> np.ndarray:
    weight, indices = call.tensor("weight"), call.tensor("indices")
    if indices.size and indices.min() < 0:
        raise NotEvaluatedError
    return weight[_checked_index(indices, weight.shape[0])]


@evaluator("edge.index_select")
def _index_selected(call: Call) -> np.ndarray:
    array, axis = call.tensor("self"), call.value("dim")
    return array.take(_checked_index(call.tensor("index").reshape(-1), array.shape[axis]), axis=axis)


@evaluator("edge.gather")
def _gathered(call: Call) -> np.ndarray:
    array, axis = call.tensor("self"), call.value("dim")
    index = _checked_index(call.tensor("index"), array.shape[axis])
    box = tuple(slice(None) if d == axis % array.ndim else slice(size) for d, size in enumerate(index.shape))
    return np.take_along_axis(array[box], index, axis)


@evaluator("edge.index.Tensor")
def _indexed(call: Call) -> np.ndarray:
    array = call.tensor("self")
    places: dict[int, np.ndarray] = {}
    for axis, value in enumerate(call.op.argument("indices")):
        if value is not None:
            places[axis] = _checked_index(call.arrays[value], array.shape[axis])
    return array[tuple(places.get(axis, slice(None)) for axis in range(array.ndim))]


# Comparison and choice


def _comparison(function: np.ufunc, *, scalar: bool) -> Evaluator:
    """A comparison in the type that ATen promotes both sides to."""

    def evaluate(call: Call) -> np.ndarray:
        numbers = (call.value("other"),) if scalar else ()
        common = storage_dtype(result_element(call.op.operands, numbers))
        other = np.asarray(call.value("other")) if scalar else call.tensor("other")
        return function(call.tensor("self").astype(common), other.astype(common))

    return evaluate


for _name, _function in {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}.items():
    evaluator(f"edge.{_name}.Tensor")(_comparison(_function, scalar=False))
    evaluator(f"edge.{_name}.Scalar")(_comparison(_function, scalar=True))


@evaluator("edge.logical_not")
def _not(call: Call) -> np.ndarray:
    return call.tensor("self") == 0


@evaluator("edge.bitwise_not")
def _inverted(call: Call) -> np.ndarray:
    return np.invert(call.tensor("self"))


def _logic(function: np.ufunc) -> Evaluator:
    return lambda call: function(call.tensor("self") != 0, call.tensor("other") != 0)


for _name, _function in {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}.items():
    evaluator(f"edge.logical_{_name}")(_logic(_function))


@evaluator("edge.where.self")
def _chosen(call: Call) -> np.ndarray:
    return np.where(
        call.tensor("condition"), call.tensor("self").astype(call.dtype), call.tensor("other").astype(call.dtype)
    )


@evaluator("edge.masked_fill.Scalar", "edge.masked_fill.Tensor")
def _filled(call: Call) -> np.ndarray:
    value = np.asarray(call.value("value")) if call.op.name.endswith("Scalar") else call.tensor("value")
    return np.where(call.tensor("mask"), value.astype(call.dtype), call.tensor("self"))


# Arithmetic, in the result's type


def _binary(function: Callable[..., np.ndarray]) -> Evaluator:
    """An operator of `self` and `other`, a tensor or a number, both first in the result's type."""

    def evaluate(call: Call) -> np.ndarray:
        is_tensor = "other" in call.op.schema.tensors
        other = call.tensor("other") if is_tensor else np.asarray(call.value("other"))
        if "alpha" in call.op.schema.values:
            other = other.astype(call.dtype) * call.dtype.type(call.value("alpha"))
        return function(call.tensor("self").astype(call.dtype), other.astype(call.dtype))

    return evaluate


for _name, _binary_function in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}.items():
    evaluator(f"edge.{_name}.Tensor", f"edge.{_name}.Scalar")(_binary(_binary_function))
evaluator("edge.bitwise_and.Tensor", "edge.bitwise_and.Scalar")(_binary(np.bitwise_and))
evaluator("edge.bitwise_or.Tensor", "edge.bitwise_or.Scalar")(_binary(np.bitwise_or))
evaluator("edge.maximum")(_binary(np.maximum))
evaluator("edge.minimum")(_binary(np.minimum))


@evaluator("edge.rsub.Scalar")
def _subtracted_from(call: Call) -> np.ndarray:
    alpha, other = call.dtype.type(call.value("alpha")), call.dtype.type(call.value("other"))
    return other - call.tensor("self").astype(call.dtype) * alpha


def _unary(function: np.ufunc) -> Evaluator:
    return lambda call: function(call.tensor("self").astype(call.dtype))


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
    "square": np.square,
}.items():
    evaluator(f"edge.{_name}")(_unary(_function))


@evaluator("edge.cumsum")
def _cumulated(call: Call) -> np.ndarray:
    array = call.tensor("self").astype(call.dtype)
    return np.cumsum(array, axis=call.value("dim"), dtype=call.dtype) if array.ndim else array
