"""Whether the schema that a plugin gives an op is the one that the operator has in torch.

Another one would show in calls that nothing is wrong with: as an argument that is not there, or as the plugin's default
for one that the model leaves out.
"""

# pyright: reportPrivateUsage=false
# torch's names for an operator's type and schema begin with an underscore.

from __future__ import annotations

import inspect
from functools import lru_cache

from xdsl.dialects.builtin import LocationAttr

from xir.dialects import edge
from xir.dialects.edge.schema import Argument, Schema, SchemaError, parse_schema
from xir.ir.diagnostics import DiagnosticError, note
from xir.ir.location import file_location, name_location

from .aliasing import Operator


def check_schema(op_class: type[edge.EdgeOp], target: Operator, call: LocationAttr) -> None:
    """DiagnosticError at the plugin's class if its schema is not the operator's, with a note at the call."""
    if op_class.__module__.partition(".")[0] == "xir" or _is_same(op_class, target):
        return
    raise DiagnosticError(
        _place_of(op_class),
        f"{op_class.__name__} has the schema '{op_class.row.schema.text}', and the operator has "
        f"'{target._schema}': register the operator's",
        [note(call, "the model calls it here")],
    )


@lru_cache(maxsize=4096)
def _is_same(op_class: type[edge.EdgeOp], target: Operator) -> bool:
    try:
        wanted = parse_schema(str(target._schema))
    except SchemaError:
        return True  # types that no class can have, such as another library's own; its calls say what is wrong
    return _form(op_class.row.schema) == _form(wanted)


def _form(schema: Schema) -> tuple[object, ...]:
    """What calls depend on."""
    return (*(_argument(each) for each in schema.arguments), *(_type(str(each.type)) for each in schema.returns))


def _argument(argument: Argument) -> tuple[object, ...]:
    return argument.name, _type(str(argument.type)), argument.default, argument.kwarg_only


def _type(text: str) -> str:
    """A size that a class takes as a number is refused where a model computes it, which the call says."""
    return text.replace("SymInt", "int")


def _place_of(op_class: type[edge.EdgeOp]) -> LocationAttr:
    try:
        file, line = inspect.getsourcefile(op_class), inspect.findsource(op_class)[1] + 1
    except (OSError, TypeError):
        return name_location(op_class.__qualname__)
    return file_location(file or op_class.__module__, line)
