"""Integers that follow from positions alone, along dimensions of an open size: what they are at the largest size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import CompareTensors, CompareWithNumber
from xir.dialects.edge.types import element_of, wrap_dim
from xir.ir.constants import constant_array, storage_dtype
from xir.ir.context import XirContext
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._evaluation import Call, NotEvaluatedError
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
)
"""Ops whose elements follow from the same ones of their operands: of fewer positions there are the first of them."""


@dataclass(frozen=True)
class Positions:
    """A value at the largest sizes; at others it has the first elements of each open dimension."""

    arrays: tuple[np.ndarray, ...]
    """One for each of STAND_INS."""
    ends: tuple[SSAValue | None, ...]
    """For each dimension how many elements it has; None where that is known."""

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
        self.found: dict[SSAValue, Positions | None] = {}

    def known(self, value: SSAValue) -> Positions | None:
        """What a value is; None if it follows from something else than positions."""
        if value not in self.found:
            self.found[value] = self.follow(value)
        return self.found[value]

    def follow(self, value: SSAValue) -> Positions | None:
        op = value.owner
        match op:
            case edge.ConstantOp():
                array = constant_array(op.value, self.ctx, op)
                return Positions((array,) * len(STAND_INS), (None,) * array.ndim) if array.size <= LARGEST else None
            case edge.ArangeStartStepOp():
                return self.counted(op)
            case edge.UnsqueezeOp():
                return self.unsqueezed(op)
            case edge.EdgeOp() if isinstance(op, Elementwise) and not op.has_run_time_numbers:
                operands = [self.known(operand) for operand in op.tensor_operands]
                known = [operand for operand in operands if operand is not None]
                return self.computed(op, known) if len(known) == len(operands) else None
            case _:
                return None

    def counted(self, op: edge.ArangeStartStepOp) -> Positions | None:
        """0, 1, 2, … up to a size."""
        end, limits = op.argument("end"), counted(op, self.sizes)
        if op.argument("start") != 0 or op.argument("step") != 1 or limits is None or not isinstance(end, SSAValue):
            return None
        array = np.arange(limits[1], dtype=storage_dtype(element_of(op.results[0])))
        return Positions((array,) * len(STAND_INS), (end,)) if 0 < array.size <= LARGEST else None

    def unsqueezed(self, op: edge.UnsqueezeOp) -> Positions | None:
        """A dimension more."""
        found = self.known(op.self)
        if found is None:
            return None
        dim = wrap_dim(op.dim, len(found.ends) + 1)
        ends = (*found.ends[:dim], None, *found.ends[dim:])
        return Positions(tuple(np.expand_dims(array, dim) for array in found.arrays), ends)

    def computed(self, op: edge.EdgeOp, operands: list[Positions]) -> Positions | None:
        """An op on elements, by what it computes of those of the largest sizes."""
        evaluate = EVALUATORS.get(op.name)
        ends = self.broadcast([operand.ends for operand in operands])
        if evaluate is None or ends is None:
            return None
        shape = np.broadcast_shapes(*(operand.arrays[0].shape for operand in operands))
        if int(np.prod(shape)) > LARGEST:
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
                    arrays.append(converted(evaluate(made, Call(made, given)), storage_dtype(element), stand_in))
        except NotEvaluatedError:
            return None
        finally:
            made.erase()
        return Positions(tuple(np.broadcast_to(array, shape) for array in arrays), ends)

    def broadcast(self, operands: list[tuple[SSAValue | None, ...]]) -> tuple[SSAValue | None, ...] | None:
        """The open dimensions of a result; None where two of different sizes meet."""
        ends: list[SSAValue | None] = [None] * max(map(len, operands))
        for operand in operands:
            for dim, end in enumerate(operand, len(ends) - len(operand)):
                known = ends[dim]
                if end is not None and known is not None and not self.are_equal(end, known):
                    return None
                ends[dim] = known if end is None else end
        return tuple(ends)

    def are_equal(self, first: SSAValue, second: SSAValue) -> bool:
        """Whether two numbers are one size."""
        size = self.sizes.computed(first)
        return first is second or (size is not None and size == self.sizes.computed(second))


def converted(array: np.ndarray, dtype: np.dtype, stand_in: int) -> np.ndarray:
    """Elements as another type; `stand_in` where a floating-point number is no such integer."""
    if array.dtype.kind != "f" or dtype.kind not in "iu":
        return array.astype(dtype)
    limits = np.iinfo(dtype)
    whole = np.trunc(array)
    fits = np.isfinite(whole) & (whole >= limits.min) & (whole < float(limits.max))
    return np.where(fits, whole, stand_in).astype(dtype)
