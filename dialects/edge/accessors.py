"""The arguments of an edge op as Python attributes: `op.dim`, `op.bias`.

A schema's argument has one Python type, which is what reading it gives and what building the op takes:

| ATen | Python |
|---|---|
| Tensor | `SSAValue` |
| int, float, bool | `int`, `float`, `bool` |
| SymInt | `Size`: a number, or the value that holds it when the program runs |
| Scalar | `Number` |
| str, Device, Layout, MemoryFormat | `str` |
| ScalarType | `Attribute`, the element type itself |
| T[], T[2] | `Sequence[T]` |
| T? | `T`, or None |

Type checkers know it from `ops.pyi`, which `scripts/generate_edge_ops.py` writes, or from the annotations of an op
class that is written by hand (`register_op`).
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, SSAValue

from .attributes import DYNAMIC, RUN_TIME, to_python
from .properties import PRESENT_SUFFIX, default_of
from .schema import REQUIRED, ArgType, Argument, Schema

if TYPE_CHECKING:
    from .base import EdgeOp

Size = int | SSAValue
"""A size or an index: a number, or the value that holds it when the program runs."""

Number = bool | int | float
"""A number whose type takes part in promotion.

One that the program computes is the value that holds it, as `EdgeOp.has_run_time_numbers` says. Rules, decompositions
and evaluators are not called for such ops.
"""

Accessor = Callable[["EdgeOp"], Any]
"""Reads one argument of an op."""

_PYTHON = {
    "Tensor": "SSAValue",
    "int": "int",
    "SymInt": "Size",
    "float": "float",
    "bool": "bool",
    "Scalar": "Number",
    "str": "str",
    "Device": "str",
    "Layout": "str",
    "MemoryFormat": "str",
    "ScalarType": "Attribute",
}
_NAMES = {"Attribute": Attribute, "Number": Number, "Sequence": Sequence, "Size": Size, "SSAValue": SSAValue}


def annotation_text(type: ArgType) -> str:
    """The Python type of an argument, as it is written: `Sequence[Size] | None`. KeyError if it has none."""
    text = _PYTHON[type.base]
    if type.is_list:
        text = f"Sequence[{text} | None]" if type.optional_element else f"Sequence[{text}]"
    return f"{text} | None" if type.optional else text


def annotation(type: ArgType) -> Any:
    """The Python type of an argument."""
    return eval(annotation_text(type), _NAMES)


def accessors_of(schema: Schema) -> Mapping[str, Accessor]:
    """What reads each argument of a schema, by name."""
    tensors = list(schema.tensors.values())
    # As long as each argument before it is one operand, an argument's place is known.
    fixed = next((i for i, argument in enumerate(tensors) if argument.name in schema.variadic), len(tensors))
    return {
        **{argument.name: _operand(i) for i, argument in enumerate(tensors[:fixed])},
        **{argument.name: _operands(argument) for argument in tensors[fixed:]},
        **{argument.name: _property(argument) for argument in schema.values.values()},
    }


def _operand(index: int) -> Accessor:
    return lambda op: op.operands[index]


def _operands(argument: Argument) -> Accessor:
    name = argument.name

    def single(op: EdgeOp) -> SSAValue | None:
        start, stop = op.span(name)
        return op.operands[start] if stop > start else None

    def several(op: EdgeOp) -> Sequence[SSAValue | None]:
        start, stop = op.span(name)
        present = op.properties.get(name + PRESENT_SUFFIX)
        if present is None:
            return op.operands[start:stop]
        assert isinstance(present, DenseArrayBase)
        values = iter(op.operands[start:stop])
        return tuple(next(values) if there else None for there in present.get_values())

    return several if argument.type.is_list else single


def _property(argument: Argument) -> Accessor:
    name, type = argument.name, argument.type
    default = None if argument.default is REQUIRED else default_of(argument)

    def value(op: EdgeOp) -> Any:
        attribute = op.properties.get(name)
        return default if attribute is None else to_python(type, attribute)

    def size(op: EdgeOp) -> Any:
        found = value(op)
        if found == DYNAMIC:
            return op.size_of(name, op.symbols_of(name)[0])
        if isinstance(found, tuple) and DYNAMIC in found:
            symbols = iter(op.symbols_of(name))
            return tuple(op.size_of(name, next(symbols)) if each == DYNAMIC else each for each in found)
        return found

    def number(op: EdgeOp) -> Any:
        found = value(op)
        return op.symbols_of(name)[0] if found is RUN_TIME else found

    if not type.is_symbolic:
        return value
    return number if type.base == "Scalar" else size


def check_annotations(op_class: type[EdgeOp], schema: Schema) -> None:
    """Compare the annotations of an op class with its schema; TypeError says what the schema has instead.

    Defaults in the class, which type checkers go by, are compared as well, and taken out: the schema has them.
    """
    written = inspect.get_annotations(op_class, eval_str=True)
    if taken := [argument.name for argument in schema.arguments if hasattr(op_class.__base__, argument.name)]:
        raise TypeError(f"{schema.qualified_name} has an argument '{taken[0]}', which is something else of every op")
    for name in written.keys() - {argument.name for argument in schema.arguments}:
        raise TypeError(f"{op_class.__name__} has '{name}', which is no argument of {schema.qualified_name}")
    for argument in schema.arguments:
        name = argument.name
        if argument.type.base not in _PYTHON:
            raise TypeError(
                f"{schema.qualified_name} has an argument '{name}' of type '{argument.type.base}': an op takes "
                f"{', '.join(_PYTHON)}, lists of them, and None for T?"
            )
        default = None if argument.default is REQUIRED else default_of(argument)
        if written.get(name) != annotation(argument.type) or op_class.__dict__.get(name, default) != default:
            shown = annotation_text(argument.type) + ("" if argument.default is REQUIRED else f" = {default!r}")
            raise TypeError(f"{op_class.__name__} should have '{name}: {shown}', as {schema.qualified_name} has")
        if name in op_class.__dict__:
            delattr(op_class, name)


def op_classes(function: Callable[..., Any]) -> tuple[type[EdgeOp], ...]:
    """The op classes that a function takes, by the annotation of its first parameter: one class, or a union.

    TypeError if that names anything else, or every edge op.
    """
    annotation = next(iter(inspect.get_annotations(function).values()), None)
    if isinstance(annotation, str):
        annotation = eval(annotation, function.__globals__)
    classes = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    if not all(isinstance(each, type) and hasattr(each, "row") for each in classes):
        raise TypeError(f"{function.__qualname__}: the first parameter needs an annotation, the op classes it is for")
    return typing.cast("tuple[type[EdgeOp], ...]", classes)
