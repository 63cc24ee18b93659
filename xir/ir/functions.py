"""Which functions of a module users call."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp


def is_method(function: FuncOp) -> bool:
    """Whether a function is a method of the program; private ones are parts of others, such as branches."""
    return function.sym_visibility is None or function.sym_visibility.data != "private"


def methods_of(module: ModuleOp) -> list[FuncOp]:
    """The methods of a program, in order."""
    return [op for op in module.body.ops if isinstance(op, FuncOp) and is_method(op)]
