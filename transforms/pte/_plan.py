"""What an execution plan is made of, as `lower-to-pte` collects it: declarations, delegates and instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr, f64, i1, i32, i64
from xdsl.ir import Operation, SSAValue

from xir.dialects import pte
from xir.ir.location import Locatable


class Plan:
    """Values are declared in the order of their first use, equal scalars once."""

    def __init__(self) -> None:
        self.declarations: list[pte.ValueOp] = []
        self.delegates: list[pte.DelegateOp] = []
        self.calls: list[pte.InstructionOp] = []
        self._scalars: dict[object, SSAValue] = {}

    def declare(self, op: pte.ValueOp, where: Locatable) -> SSAValue:
        """Add a value, which comes from `where`."""
        if isinstance(where, Operation):
            op.location = where.location
        self.declarations.append(op)
        return op.value

    # Instructions, each of the op that it comes from.

    def call(self, call: pte.InstructionOp, op: Operation) -> None:
        """Add an instruction."""
        call.location = op.location
        self.calls.append(call)

    def assign(self, value: SSAValue, to: SSAValue, op: Operation) -> None:
        """Make one value of the plan what another is."""
        if isinstance(to.type, pte.TensorType):
            self.call(pte.KernelCallOp("aten::clone.out", [value, self.null(), to, to]), op)
        else:
            self.call(pte.MoveOp.build(operands=[value, to]), op)

    def jump(self, condition: SSAValue, op: Operation) -> pte.JumpFalseOp:
        """A jump if a condition is false; `land` says where to."""
        jump = pte.JumpFalseOp.build(operands=[condition], properties={"destination_instruction": IntegerAttr(0, i32)})
        self.call(jump, op)
        return jump

    def land(self, jump: pte.JumpFalseOp, destination: int | None = None) -> None:
        """Let a jump lead to an instruction; None: the next one."""
        destination = len(self.calls) if destination is None else destination
        jump.destination_instruction = IntegerAttr(destination, i32)

    # Values that never change.

    def null(self) -> SSAValue:
        return self._scalar(None, pte.NullOp.make)

    def boolean(self, value: bool) -> SSAValue:
        return self._scalar(value, lambda: pte.BoolOp.make(bool_val=IntegerAttr.from_bool(value)))

    def integer(self, value: int) -> SSAValue:
        # Not under the number itself: True equals 1.
        return self._scalar((int, value), lambda: pte.IntOp.make(int_val=IntegerAttr(value, i64)))

    def double(self, value: float) -> SSAValue:
        # Through its text, because -0.0 equals 0.0 and nan does not equal itself.
        return self._scalar((float, repr(value)), lambda: pte.DoubleOp.make(double_val=FloatAttr(value, f64)))

    def string(self, value: str) -> SSAValue:
        return self._scalar((str, value), lambda: pte.StringOp.make(string_val=StringAttr(value)))

    def booleans(self, values: Sequence[bool]) -> SSAValue:
        items = DenseArrayBase.from_list(i1, values)
        return self._scalar(("bool", tuple(values)), lambda: pte.BoolListOp.make(items=items))

    def doubles(self, values: Sequence[float]) -> SSAValue:
        items = DenseArrayBase.from_list(f64, values)
        return self._scalar(("float", tuple(map(repr, values))), lambda: pte.DoubleListOp.make(items=items))

    def integers(self, values: Iterable[int | SSAValue]) -> SSAValue:
        """A list of numbers, some of which may be values of the plan."""
        items = tuple(each if isinstance(each, SSAValue) else self.integer(each) for each in values)
        return self._scalar(("int", *items), lambda: pte.IntListOp.make(items))

    def _scalar(self, key: object, make: Callable[[], pte.ValueOp]) -> SSAValue:
        if key not in self._scalars:
            self._scalars[key] = self.declare(make(), None)
        return self._scalars[key]
