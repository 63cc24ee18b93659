"""The arguments of a kernel's call: what a value of a plan is for the edge op."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation, SSAValue

from xir.dialects import edge, pte
from xir.ir.location import Locatable
from xir.transforms.pte.raising.memory import PlaceContents
from xir.transforms.pte.raising.refusal import NotRaisedError

_LAYOUTS = frozenset({"MemoryFormat", "Layout", "Device"})
"""What a value's memory is like, which a function does not say."""


def argument_of(argument: edge.Argument, value: SSAValue, memory: PlaceContents, call: Operation) -> Any:
    """What `EdgeOp.build_from` takes for an argument: values of the function for tensors, else Python values."""
    kind = argument.type
    if kind.base in _LAYOUTS:
        return None
    match value.owner:
        case pte.NullOp():
            return None
        case pte.TensorOp() as op:
            return memory.read(op, call)
        case pte.TensorListOp() as op:
            return [memory.read(_tensor(item, call), call) for item in op.items]
        case pte.OptionalTensorListOp() as op:
            items = iter(op.items)
            flags = [bool(flag) for flag in op.present.get_values()]
            return [memory.read(_tensor(next(items), call), call) if flag else None for flag in flags]
        case pte.IntListOp() as op:
            return tuple(_number(item, kind, memory, call) for item in op.items)
        case pte.DoubleListOp() | pte.BoolListOp() as op:
            convert = bool if isinstance(op, pte.BoolListOp) else float
            return tuple(convert(item) for item in op.items.get_values())
        case pte.StringOp() as op:
            return op.string_val.data
        case _:
            return _number(value, kind, memory, call)


def _number(value: SSAValue, kind: edge.ArgType, memory: PlaceContents, call: Operation) -> Any:
    """A number of the file, as the argument's type has it."""
    if value in memory.numbers:
        return memory.numbers[value]
    if value in memory.computed:
        raise NotRaisedError(call, "it takes a number that the program computes")
    match value.owner:
        case pte.IntOp() as op if kind.base == "ScalarType":
            element = pte.scalar_type(op.int_val.value.data)
            if element is None:
                raise NotRaisedError(call, f"there is no type of number {op.int_val.value.data}")
            return element
        case pte.IntOp() as op:
            number = op.int_val.value.data
            return float(number) if kind.base == "float" else number
        case pte.DoubleOp() as op:
            return op.double_val.value.data
        case pte.BoolOp() as op:
            return bool(op.bool_val.value.data)
        case _:
            raise NotRaisedError(call, f"argument '{kind}' is none of its type")


def _tensor(value: SSAValue, where: Locatable) -> pte.TensorOp:
    if not isinstance(value.owner, pte.TensorOp):
        raise NotRaisedError(where, "a list of tensors has something else in it")
    return value.owner
