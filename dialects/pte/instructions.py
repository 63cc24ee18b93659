"""Ops that are the instructions of a chain, run in order."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, FlatSymbolRefAttr, IntegerAttr, StringAttr, SymbolRefAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from xir.dialects.pte.assembly import Values
from xir.dialects.pte.attributes import FrameAttr
from xir.dialects.pte.types import BoolType, TensorType


class InstructionOp(IRDLOperation, ABC):
    """One `Instruction`. `MEMBER` is the member of `InstructionArguments` that it is.

    Operands and properties bear the names of the table's fields. `frames` is the stack trace, where the file has one.
    """

    MEMBER: ClassVar[str]

    frames = opt_prop_def(ArrayAttr.constr(base(FrameAttr)))

    irdl_options = (ParsePropInAttrDict(),)


@irdl_op_definition
class KernelCallOp(InstructionOp):
    """Call a kernel by its name in the runtime's registry, an out variant.

    The arguments are those of the kernel's schema with the out tensors last, then what the kernel returns: the out
    tensor once more, or a list of them when there are several.

    ```mlir
    pte.kernel_call "aten::add.out" (%0, %1, %2, %3, %3)
    ```
    """

    name = "pte.kernel_call"
    MEMBER: ClassVar[str] = "KernelCall"

    kernel = prop_def(StringAttr)
    args = var_operand_def(AnyAttr())

    custom_directives = (Values,)
    assembly_format = "$kernel custom<Values>($args, type($args)) attr-dict"

    def __init__(self, kernel: str, args: Sequence[SSAValue]):
        super().__init__(operands=[args], properties={"kernel": StringAttr(kernel)})

    @property
    def operator(self) -> tuple[str, str]:
        """The operator's name and overload: `("aten::add", "out")`."""
        name, _, overload = self.kernel.data.partition(".")
        return name, overload


@irdl_op_definition
class DelegateCallOp(InstructionOp):
    """Run a delegate. The arguments are all its inputs, then all its outputs.

    ```mlir
    pte.delegate_call @delegate_0 (%0, %1)
    ```
    """

    name = "pte.delegate_call"
    MEMBER: ClassVar[str] = "DelegateCall"

    delegate = prop_def(FlatSymbolRefAttr)
    args = var_operand_def(AnyAttr())

    custom_directives = (Values,)
    assembly_format = "$delegate custom<Values>($args, type($args)) attr-dict"

    def __init__(self, delegate: str, args: Sequence[SSAValue]):
        super().__init__(operands=[args], properties={"delegate": SymbolRefAttr(delegate)})


@irdl_op_definition
class MoveOp(InstructionOp):
    """Make one value what another is.

    ```mlir
    pte.move %0 to %1 : !pte.tensor to !pte.tensor
    ```
    """

    name = "pte.move"
    MEMBER: ClassVar[str] = "MoveCall"

    move_from = operand_def(AnyAttr())
    move_to = operand_def(AnyAttr())

    assembly_format = "$move_from `to` $move_to attr-dict `:` type($move_from) `to` type($move_to)"


@irdl_op_definition
class JumpFalseOp(InstructionOp):
    """Go on at instruction number `destination_instruction` of the chain if the condition is false.

    ```mlir
    pte.jump_false %0 to 7 : !pte.bool
    ```
    """

    name = "pte.jump_false"
    MEMBER: ClassVar[str] = "JumpFalseCall"

    cond_value_index = operand_def(base(BoolType) | base(TensorType))
    destination_instruction = prop_def(IntegerAttr.constr(i32))

    assembly_format = "$cond_value_index `to` $destination_instruction attr-dict `:` type($cond_value_index)"

    @property
    def destination(self) -> int:
        """The number of the instruction that follows if the condition is false."""
        return self.destination_instruction.value.data

    def verify_(self) -> None:
        if self.destination < 0:
            raise VerifyException(f"there is no instruction number {self.destination}")


@irdl_op_definition
class FreeOp(InstructionOp):
    """Give back the memory of a tensor whose shape has no upper bound.

    ```mlir
    pte.free %0
    ```
    """

    name = "pte.free"
    MEMBER: ClassVar[str] = "FreeCall"

    value_index = operand_def(TensorType())

    assembly_format = "$value_index attr-dict"


INSTRUCTION_OPS: tuple[type[InstructionOp], ...] = (KernelCallOp, DelegateCallOp, MoveOp, JumpFalseOp, FreeOp)
"""One op for each member of `InstructionArguments`."""
