"""What the values of a function are in an execution plan: tensors of their largest size, and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    TensorType,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import edge, pte
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import Locatable
from xir.ir.tensor_types import size_problem
from xir.transforms.analysis.sizes import SymbolicSizes, UnknownSizeError
from xir.transforms.pte._buffers import InPlace
from xir.transforms.pte._plan import Plan
from xir.transforms.pte.memory.placing import LARGEST_ARENA

STORED_ZEROS = 4096
"""Bytes up to which a buffer of zeros is stored. Beyond, as for caches, the arena's own zeros are what it begins with:
ExecuTorch's `Module` and its Python bindings hand in zeroed memory, and so does xir's runtime."""


class PlanValues(dict[SSAValue, SSAValue]):
    """Value of a function -> value of the plan that the function is lowered into."""

    def __init__(self, func: FuncOp, ctx: XirContext, plan: Plan, in_place: InPlace):
        super().__init__()
        self.func = func
        self.ctx = ctx
        self.plan = plan
        self.in_place = in_place
        """What is computed in the memory of mutable buffers."""
        self.given: dict[SSAValue, SSAValue] = {}
        """The inputs that memory has in another order than the caller: what delegates take."""
        self.reordered: dict[SSAValue, tuple[int, ...]] = {}
        """The results that are computed as the caller sees them, whose memory has the dimensions in this order."""
        self.destinations: dict[SSAValue, SSAValue] = {}
        """Where values that a branch gives are computed, if they are."""

    @cached_property
    def sizes(self) -> SymbolicSizes:
        """How large dynamic dimensions get."""
        return self.ctx.analyses.get(SymbolicSizes, self.func)

    def fill(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        """What an instruction or the caller fills in for `values`, which are that from here on."""
        made = {value: self._variable(value) for value in values}
        self.update(made)
        return list(made.values())

    def _variable(self, value: SSAValue) -> SSAValue:
        type = value.type
        if (home := self.in_place.homes.get(value)) is not None:
            return self[home]
        if (destination := self.destinations.get(value)) is not None:
            return destination
        if isinstance(type, TensorType):
            order = self.reordered.get(value)
            return self.tensor(value, self.bounded(value)) if order is None else self.seen(value, order)
        if type == i64:
            return self.plan.declare(pte.IntOp.make(int_val=IntegerAttr(0, i64)), value.owner)
        if type == f64:
            return self.plan.declare(pte.DoubleOp.make(double_val=FloatAttr(0.0, f64)), value.owner)
        if type == i1:
            return self.plan.declare(pte.BoolOp.make(bool_val=IntegerAttr.from_bool(False)), value.owner)
        raise DiagnosticError(value, f"a value of type {type} has no form in a program")

    def tensor(self, value: SSAValue, bounded: TensorType, **properties: Attribute) -> SSAValue:
        """A tensor of a type without unknown sizes, for `value` or a permutation of it."""
        check_element_type(bounded, value)
        assert isinstance(value.type, TensorType)
        if not value.type.has_static_shape():
            # TensorShapeDynamism.DynamicBound
            properties["shape_dynamism"] = IntegerAttr(1, i32)
        return self.plan.declare(pte.TensorOp.make(tensor_type=bounded, **properties), value.owner)

    def seen(self, value: SSAValue, order: tuple[int, ...]) -> SSAValue:
        """A tensor as the caller sees it, for a value whose dimensions memory has in this order of the caller's."""
        return self.tensor(value, self.seen_type(value, order), dim_order=DenseArrayBase.from_list(i64, order))

    def seen_type(self, value: SSAValue, order: tuple[int, ...]) -> TensorType:
        """The type that the caller sees."""
        memory = self.bounded(value)
        return TensorType(memory.element_type, [memory.get_shape()[order.index(dim)] for dim in range(len(order))])

    def bounded(self, value: SSAValue) -> TensorType:
        """The type of a tensor at its largest."""
        type = value.type
        assert isinstance(type, TensorType)
        try:
            shape = self.sizes.bounds(value)
        except UnknownSizeError:
            message = f"{type} has no upper bound for its dynamic dimensions, so it has no memory"
            raise DiagnosticError(value, message) from None
        if (problem := size_problem(tuple(shape))) is not None:
            raise DiagnosticError(value, f"at its largest shape, {list(shape)}: {problem}")
        return TensorType(type.element_type, shape)

    def copied(self, value: SSAValue, op: Operation) -> SSAValue:
        """What a value is now, in memory of its own."""
        copy = self.tensor(value, self.bounded(value))
        self.plan.assign(self[value], copy, op)
        return copy

    def store(self, op: edge.ConstantOp) -> None:
        """Declare a constant, a tensor with data."""
        value = op.value
        assert isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
        type = value.get_type()
        assert isinstance(type, TensorType)
        check_element_type(type, op)
        self[op.result] = self.plan.declare(pte.TensorOp.make(tensor_type=type, data=value), op)

    def keep(self, op: edge.MutableBufferOp) -> None:
        """Declare a mutable buffer, a tensor with a name."""
        initial = op.initial
        type = initial.get_type()
        assert isinstance(type, TensorType)
        check_element_type(type, op)
        name = pte.ExtraTensorInfoAttr(op.buffer, *[IntAttr(0)] * 4)
        tensor = pte.TensorOp.make(tensor_type=type, data=initial, extra_tensor_info=name)
        if tensor.nbytes > LARGEST_ARENA:
            raise DiagnosticError(op, f"the buffer takes more memory than {LARGEST_ARENA} bytes, the most of an arena")
        if tensor.nbytes > STORED_ZEROS and _is_zero(storage_array(initial, self.ctx, op)):
            tensor.data = None
        self[op.result] = self.plan.declare(tensor, op)


def check_element_type(type: TensorType, where: Locatable) -> None:
    """DiagnosticError for elements that a program has no number for."""
    if pte.scalar_code(type.element_type) is None:
        remedy = "convert them to a type that it can, such as f32"
        raise DiagnosticError(where, f"a program cannot hold elements of type {type.element_type}: {remedy}")


def _is_zero(array: np.ndarray) -> bool:
    """Whether all bytes are 0, which those of -0.0 are not."""
    if not any(array.strides):  # a splat, of however many elements
        array = array[(0,) * array.ndim]
    return not array.any() and not (array.dtype.kind == "f" and np.signbit(array).any())
