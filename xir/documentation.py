"""What an op is, as Markdown from its definition: for the reference pages and for editors."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator

from xdsl.ir import Operation
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    OpDef,
    OptOperandDef,
    OptPropertyDef,
    OptResultDef,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    VarOperandDef,
    VarResultDef,
)

from xir.dialects.edge import OPS, EdgeOp


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table; nothing if there is no row."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    heads = list(heads)
    return "\n".join(["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *lines, "\n"]) if lines else ""


def docstring(thing: type) -> str:
    """The class's own docstring; one that it inherits is its base's to show."""
    return inspect.cleandoc(thing.__doc__ or "") + "\n\n"


def summary(op: type[Operation]) -> str:
    """What an op computes, in a line."""
    if issubclass(op, EdgeOp) and op.name in OPS:
        return op.row.doc
    return next(iter(docstring(op).splitlines()), "")


def op_text(op: type[Operation]) -> str:
    """What an op is, its syntax and its fields; of an edge op its schema and kernel."""
    if issubclass(op, EdgeOp) and op.name in OPS:
        kernel = f"\n\nKernel: `{op.row.out}`" if op.row.out else ""
        return f"{op.row.doc}\n\n```text\n{op.row.text}\n```{kernel}"
    text = docstring(op)
    if not issubclass(op, IRDLOperation):
        return text.rstrip()
    definition = op.get_irdl_definition()
    if definition.assembly_format:
        text += f"Syntax: `` {op.name} {definition.assembly_format} ``\n\n"
    return (text + table(("field", "is", "of"), fields(definition))).rstrip()


def fields(definition: OpDef) -> Iterator[tuple[str, str, str]]:
    """Name, role and type of everything an op has."""
    for name, operand in definition.operands:
        yield f"`{name}`", _counted("operand", operand, OptOperandDef, VarOperandDef), accepted(operand.constr)
    for name, prop in definition.properties.items():
        role = "optional property" if isinstance(prop, OptPropertyDef) else "property"
        yield f"`{name}`", role, accepted(prop.constr)
    for name, _ in definition.regions:
        yield f"`{name}`", "region", ""
    for name, result in definition.results:
        yield f"`{name}`", _counted("result", result, OptResultDef, VarResultDef), accepted(result.constr)


def _counted(role: str, field: object, optional: type, variadic: type) -> str:
    """The role with how many there may be; an optional definition is a special variadic one."""
    if isinstance(field, optional):
        return f"optional {role}"
    return f"any number of {role}s" if isinstance(field, variadic) else role


def accepted(constraint: AttrConstraint | RangeConstraint) -> str:
    """The types or attributes that a constraint admits, where it names them."""
    if isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    if isinstance(constraint, RangeOf):
        constraint = constraint.constr
    bases = constraint.get_bases() if isinstance(constraint, AttrConstraint) else None
    return ", ".join(sorted(f"`{base.name}`" for base in bases)) if bases else ""
