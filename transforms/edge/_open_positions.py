"""Integers that follow from positions alone, along dimensions of an open size: what they are at the largest size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import CompareTensors, CompareWithNumber
from xir.dialects.edge.types import element_of, replaced, wrap_dim
from xir.ir.constants import constant_array
from xir.ir.context import XirContext
from xir.ir.elements import storage_dtype
from xir.ir.symbolic_size import is_dynamic
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._evaluation import KnownCall, NotFoldedError
from xir.transforms.edge._evaluation_arithmetic import EVALUATORS
from xir.transforms.edge._ranges import counted

LARGEST = 1 << 20
"""How many elements are computed at most."""

STAND_INS = (0, 1 << 20, -1 << 20)
"""What stands for an integer that C++ leaves open, the conversion of an infinity: a result in which these do not differ
does not depend on it."""

Elementwise = (
    CompareTensors
    | CompareWithNumber
    | edge.AddTensorOp
    | edge.SubTensorOp
    | edge.MulTensorOp
    | edge.AddScalarOp
    | edge.SubScalarOp
    | edge.RsubScalarOp
    | edge.MulScalarOp
    | edge.DivScalarOp
    | edge.NegOp
    | edge.AbsOp
    | edge.LogOp
    | edge.MinimumOp
    | edge.MaximumOp
    | edge.WhereSelfOp
    | edge.ToCopyOp
    | edge.FullLikeOp
    | edge.LogicalAndOp
    | edge.LogicalOrOp
    | edge.LogicalNotOp
    | edge.BitwiseAndTensorOp
    | edge.BitwiseOrTensorOp
    | edge.BitwiseNotOp
)
"""Ops whose elements follow from the same ones of their operands: of fewer positions there are the first of them."""

Reshape = edge.ViewOp | edge.UnsafeViewOp | edge.UnsqueezeOp | edge.SqueezeOp | edge.SqueezeDimOp | edge.SqueezeDimsOp
"""Ops that may do nothing but to add dimensions of size 1, or to leave them out."""

Followed = Elementwise | Reshape | edge.ExpandOp | edge.IndexTensorOp | edge.SliceTensorOp | edge.CatOp | edge.CumsumOp
"""Ops whose results are positions if their operands are."""


@dataclass(frozen=True)
class LeadingPositions:
    """A value at the largest sizes; at others it has the first elements of each open dimension.

    A dimension of the arrays is as long as the value's gets, or 1 where all of its elements are the same.
    """

    arrays: tuple[np.ndarray, ...]
    """One for each of STAND_INS."""

    @property
    def array(self) -> np.ndarray | None:
        """The elements; None if they depend on what is left open."""
        first, *others = self.arrays
        return first if all(np.array_equal(first, other) for other in others) else None


class OpenPositions:
    """Follows the values of one function, each once."""

    def __init__(self, ctx: XirContext, sizes: SymbolicSizes):
        self.ctx = ctx
        self.sizes = sizes
        self.found: dict[SSAValue, LeadingPositions | None] = {}
        self.ends: dict[int, SSAValue] = {}
        """Open size -> the number that positions are counted up to."""

    def known(self, value: SSAValue) -> LeadingPositions | None:
        """What a value is; None if it follows from something else than positions."""
        pending = [value]
        while pending:
            if pending[-1] in self.found:
                pending.pop()
            elif sources := [each for each in sources_of(pending[-1]) if each not in self.found]:
                pending += sources
            else:
                found = self.follow(each := pending.pop())
                self.found[each] = None if found is None else self.checked(each, found)
        return self.found[value]

    def checked(self, value: SSAValue, positions: LeadingPositions) -> LeadingPositions | None:
        """Positions as `LeadingPositions` says: each dimension as long as it gets, or 1; None if that is too much."""
        lengths = self.lengths(value)
        arrays = [compact(array) for array in positions.arrays]
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        if lengths is None or len(shape) != len(lengths) or prod(shape) > LARGEST:
            return None
        if any(size not in (1, length) for size, length in zip(shape, lengths, strict=True)):
            return None
        return LeadingPositions(tuple(np.broadcast_to(array, shape) for array in arrays))

    def lengths(self, value: SSAValue) -> tuple[int, ...] | None:
        """How long each dimension of a value gets; None if one has no bound, or may be empty."""
        limits = [self.sizes.limit(size) for size in self.sizes.known(value)]
        known = tuple(limit for limit in limits if limit is not None and limit > 0)
        return known if len(known) == len(limits) else None

    def follow(self, value: SSAValue) -> LeadingPositions | None:
        """What a value is, whose sources have been followed."""
        op = value.owner
        if isinstance(op, edge.ConstantOp):
            array = constant_array(op.value, self.ctx, op)
            return LeadingPositions((array,) * len(STAND_INS)) if 0 < array.size <= LARGEST else None
        if not isinstance(op, edge.EdgeOp) or len(op.results) != 1 or op.has_run_time_numbers:
            return self.counted(op) if isinstance(op, edge.ArangeStartStepOp) else None
        match op:
            case edge.ArangeStartStepOp():
                return self.counted(op)
            case edge.FullOp():
                array = np.full((1,) * len(op.size), op.fill_value, storage_dtype(element_of(value)))
                return LeadingPositions((array,) * len(STAND_INS))
            case edge.ExpandOp():
                return self.of_one(op.self, lambda array: spread(array, len(op.size)))
            case edge.IndexTensorOp():
                return self.indexed(op)
            case edge.SliceTensorOp():
                return self.sliced(op)
            case edge.CatOp():
                return self.joined(op)
            case edge.CumsumOp():
                return self.cumulated(op)
            case _ if isinstance(op, Reshape):
                return self.reshaped(op)
            case _:
                return self.computed(op) if isinstance(op, Elementwise) else None

    def of_one(self, value: SSAValue, change: Callable[[np.ndarray], np.ndarray | None]) -> LeadingPositions | None:
        """What a change makes of the positions that a value is."""
        found = self.found[value]
        arrays = () if found is None else tuple(change(array) for array in found.arrays)
        kept = tuple(array for array in arrays if array is not None)
        return LeadingPositions(kept) if kept and len(kept) == len(arrays) else None

    def counted(self, op: edge.ArangeStartStepOp) -> LeadingPositions | None:
        """0, 1, 2, … up to a size."""
        end, limits = op.argument("end"), counted(op, self.sizes)
        if op.argument("start") != 0 or op.argument("step") != 1 or limits is None or not isinstance(end, SSAValue):
            return None
        if limits[1] > LARGEST or (size := self.sizes.computed(end)) is None:
            return None
        self.ends.setdefault(size, end)
        array = np.arange(limits[1], dtype=storage_dtype(element_of(op.results[0])))
        return LeadingPositions((array,) * len(STAND_INS))

    def reshaped(self, op: Reshape) -> LeadingPositions | None:
        """Other dimensions of size 1."""
        before, after = self.sizes.known(op.self), self.sizes.known(op.results[0])
        if [size for size in before if size != 1] != [size for size in after if size != 1]:
            return None

        def change(array: np.ndarray) -> np.ndarray:
            lengths = iter(length for length, size in zip(array.shape, before, strict=True) if size != 1)
            return array.reshape([1 if size == 1 else next(lengths) for size in after])

        return self.of_one(op.self, change)

    def sliced(self, op: edge.SliceTensorOp) -> LeadingPositions | None:
        """Some of the elements, from a known one on: how many there are, the result's size says."""
        dim, start = wrap_dim(op.dim, len(self.sizes.known(op.self))), op.argument("start") or 0
        lengths = self.lengths(op.results[0])
        if lengths is None or op.argument("step") != 1 or not isinstance(start, int) or start < 0:
            return None

        def change(array: np.ndarray) -> np.ndarray | None:
            if array.shape[dim] == 1:
                return array
            taken = array.take(range(start, min(start + lengths[dim], array.shape[dim])), dim)
            return taken if taken.shape[dim] == lengths[dim] else None

        return self.of_one(op.self, change)

    def joined(self, op: edge.CatOp) -> LeadingPositions | None:
        """Positions behind others, of which only the last ones may have an open size."""
        dim = wrap_dim(op.dim, len(self.sizes.known(op.results[0])))
        *first, _ = [self.sizes.known(each)[dim] for each in op.tensors]
        found = [self.found[each] for each in op.tensors]
        lengths = [self.lengths(each) for each in op.tensors]
        if any(map(is_dynamic, first)) or None in found or None in lengths or self.lengths(op.results[0]) is None:
            return None
        whole = [each for each in lengths if each is not None]
        if sum(each[dim] for each in whole) > LARGEST:
            return None
        dtype = storage_dtype(element_of(op.results[0]))
        arrays: list[np.ndarray] = []
        for number in range(len(STAND_INS)):
            parts = [each.arrays[number] for each in found if each is not None]
            shape = list(np.broadcast_shapes(*(replaced(part.shape, dim, 1) for part in parts)))
            filled = [
                np.broadcast_to(part, replaced(tuple(shape), dim, length[dim]))
                for part, length in zip(parts, whole, strict=True)
            ]
            if prod(shape) * sum(each[dim] for each in whole) > LARGEST:
                return None
            arrays.append(np.concatenate(filled, dim).astype(dtype))
        return LeadingPositions(tuple(arrays))

    def cumulated(self, op: edge.CumsumOp) -> LeadingPositions | None:
        """Sums of the elements so far, which do not depend on how many follow."""
        rank, lengths = len(self.sizes.known(op.self)), self.lengths(op.self)
        dtype = storage_dtype(element_of(op.results[0]))
        if lengths is None or not rank or dtype.kind not in "iu":
            return None
        dim = wrap_dim(op.dim, rank)

        def change(array: np.ndarray) -> np.ndarray | None:
            if not array.any():
                return array.astype(dtype)
            shape = replaced(array.shape, dim, lengths[dim])
            return np.cumsum(np.broadcast_to(array, shape), dim, dtype) if prod(shape) <= LARGEST else None

        return self.of_one(op.self, change)

    def indexed(self, op: edge.IndexTensorOp) -> LeadingPositions | None:
        """Elements by an index for each dimension; along those whose elements are all the same any index does."""
        source, indices = self.found[op.self], op.indices
        rank = len(self.sizes.known(op.results[0]))
        if source is None or len(indices) != len(source.arrays[0].shape) or None in indices:
            return None

        arrays: list[np.ndarray] = []
        for number, array in enumerate(source.arrays):
            places: list[np.ndarray | int] = []
            for size, index in zip(array.shape, indices, strict=True):
                found = None if index is None or size == 1 else self.found[index]
                place = 0 if found is None else found.arrays[number]
                if size > 1 and (isinstance(place, int) or place.min() < 0 or place.max() >= size):
                    return None  # what is counted from the end, or would not be there
                places.append(place)
            arrays.append(spread(array[tuple(places)], rank))
        return LeadingPositions(tuple(arrays))

    def computed(self, op: Elementwise) -> LeadingPositions | None:
        """An op on elements, by what it computes of those of the largest sizes."""
        evaluate, found = EVALUATORS.get(op.name), [self.found[value] for value in op.tensor_operands]
        operands = [each for each in found if each is not None]
        if evaluate is None or len(operands) < len(found) or not self.fit(op, operands):
            return None
        shape = np.broadcast_shapes(*(operand.arrays[0].shape for operand in operands))
        if prod(shape) > LARGEST:
            return None
        element = element_of(op.results[0])
        types = [
            TensorType(element_of(old), operand.arrays[0].shape)
            for old, operand in zip(op.tensor_operands, operands, strict=True)
        ]
        values = Block(arg_types=types).args
        arguments = {name: op.argument(name) for name in op.schema.values}
        made = op.build_from(
            arguments | dict(zip(op.schema.tensors, values, strict=True)), [TensorType(element, shape)], op.location
        )
        arrays: list[np.ndarray] = []
        try:
            for number, stand_in in enumerate(STAND_INS):
                with np.errstate(all="ignore"):
                    given: dict[SSAValue, np.ndarray] = {
                        value: operand.arrays[number] for value, operand in zip(values, operands, strict=True)
                    }
                    arrays.append(converted(evaluate(made, KnownCall(made, given)), storage_dtype(element), stand_in))
        except NotFoldedError:
            return None
        finally:
            made.erase()
        return LeadingPositions(tuple(np.broadcast_to(array, shape) for array in arrays))

    def fit(self, op: Elementwise, operands: Sequence[LeadingPositions]) -> bool:
        """Whether the dimensions along which operands differ are those of the result."""
        result = self.sizes.known(op.results[0])
        for value, operand in zip(op.tensor_operands, operands, strict=True):
            shape = self.sizes.known(value)
            along = zip(operand.arrays[0].shape, shape, result[len(result) - len(shape) :], strict=True)
            if any(length > 1 and size != whole for length, size, whole in along):
                return False
        return True


def sources_of(value: SSAValue) -> Sequence[SSAValue]:
    """The values that a value's elements follow from."""
    op = value.owner
    return op.tensor_operands if isinstance(op, Followed) else ()


def compact(array: np.ndarray) -> np.ndarray:
    """An array with a size of 1 for each dimension along which it does not change."""
    for dim in range(array.ndim):
        first = array.take([0], dim)
        if array.shape[dim] > 1 and np.array_equal(np.broadcast_to(first, array.shape), array):
            array = first
    return array


def spread(array: np.ndarray, rank: int) -> np.ndarray:
    """An array with dimensions of size 1 before its own."""
    return array.reshape((1,) * (rank - array.ndim) + array.shape)


def converted(array: np.ndarray, dtype: np.dtype, stand_in: int) -> np.ndarray:
    """Elements as another type; `stand_in` where a floating-point number is no such integer."""
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        return array.astype(dtype)
    limits = np.iinfo(dtype)
    whole = np.trunc(array)
    fits = np.isfinite(whole) & (whole >= limits.min) & (whole < float(limits.max))
    return np.where(fits, whole, stand_in).astype(dtype)
