"""State: tensors that a program keeps from one call to the next, torch's buffers that a model writes to."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, LocationAttr, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, Pure
from xdsl.utils.exceptions import VerifyException

from xir.ir.constants import DenseAttr, parse_dense


@irdl_op_definition
class MutableBufferOp(IRDLOperation):
    """The contents of a mutable buffer when the function is called.

        %count = edge.mutable_buffer "count" dense<0> : tensor<i64>

    The value is that of the buffer at the beginning of the call, wherever the op stands and whatever updates it: first
    `initial`, later what the last call left. Functions of one module that name the same buffer share it.
    """

    name = "edge.mutable_buffer"

    buffer = prop_def(StringAttr)
    initial = prop_def(DenseResourceAttr | DenseIntOrFPElementsAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    def __init__(self, buffer: str, initial: DenseAttr, location: LocationAttr | None = None):
        super().__init__(
            properties={"buffer": StringAttr(buffer), "initial": initial}, result_types=[initial.get_type()]
        )
        if location is not None:
            self.location = location

    def verify_(self) -> None:
        if not self.buffer.data:
            raise VerifyException("the buffer has no name")
        if self.initial.get_type() != self.result.type:
            raise VerifyException(f"result has type {self.result.type}, its initial value {self.initial.get_type()}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_string_literal(self.buffer.data)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.initial)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        buffer = parser.parse_str_literal()
        attributes = parser.parse_optional_attr_dict()
        op = cls(buffer, parse_dense(parser))
        op.attributes |= attributes
        return op


@irdl_op_definition
class UpdateBufferOp(IRDLOperation):
    """The contents of a mutable buffer when the function has returned.

        edge.update_buffer %count, %next : tensor<i64>

    It takes effect at the end of the call. A function updates a buffer once; one that it does not update stays.
    """

    name = "edge.update_buffer"

    T: ClassVar = VarConstraint("T", base(TensorType))

    buffer = operand_def(T)
    value = operand_def(T)

    traits = traits_def(HasParent(FuncOp))

    assembly_format = "$buffer `,` $value attr-dict `:` type($value)"

    def __init__(self, buffer: SSAValue, value: SSAValue, location: LocationAttr | None = None):
        super().__init__(operands=[buffer, value])
        if location is not None:
            self.location = location

    @property
    def declared(self) -> MutableBufferOp:
        """The buffer."""
        assert isinstance(self.buffer.owner, MutableBufferOp)
        return self.buffer.owner

    def verify_(self) -> None:
        if not isinstance(self.buffer.owner, MutableBufferOp):
            raise VerifyException("the first operand is no edge.mutable_buffer")
        block = self.parent_block()
        updates = [op for op in block.ops if isinstance(op, UpdateBufferOp)] if block is not None else []
        names = [op.buffer.owner.buffer for op in updates if isinstance(op.buffer.owner, MutableBufferOp)]
        if names.count(self.declared.buffer) > 1:
            raise VerifyException(f"the function updates the buffer {self.declared.buffer} twice")
