"""The text of an edge op, a call: `edge.name(%a, none, [%b, %c])[%size] {property = ...} : (types) -> types`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from xdsl.dialects.builtin import DenseArrayBase, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from .properties import PRESENT_SUFFIX, SEGMENTS, is_default
from .schema import Argument, Schema

if TYPE_CHECKING:
    from .base import EdgeOp

Group = UnresolvedOperand | list[UnresolvedOperand | None] | None
"""One argument as written: a value, a list in brackets, or none."""


class CallParts(TypedDict):
    """What `Operation.create` makes the op from."""

    operands: Sequence[SSAValue]
    result_types: Sequence[Attribute]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]


def print_call(op: EdgeOp, printer: Printer) -> None:
    """Print what follows the op's name."""
    printer.print_string("(")
    printer.print_list(op.schema.tensors.values(), lambda argument: _print_argument(op, argument, printer))
    printer.print_string(")")
    if symbols := op.symbols:
        with printer.in_square_brackets():
            printer.print_list(symbols, printer.print_ssa_value)
    shown = {name: op.properties[name] for name in op.schema.values if name in op.properties}
    printer.print_op_attributes(shown | op.attributes)
    printer.print_string(" : ")
    printer.print_function_type(op.operand_types, op.result_types)


def parse_call(parser: Parser, schema: Schema) -> CallParts:
    """Parse what follows the op's name. The parser's error says which argument is wrong."""
    properties: dict[str, Attribute] = {}
    unresolved = _parse_tensors(parser, schema, properties)
    unresolved += (
        parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand) or []
    )
    attributes = _parse_values(parser, schema, properties)
    parser.parse_punctuation(":")
    pos = parser.pos
    type = parser.parse_function_type()
    operands = parser.resolve_operands(unresolved, type.inputs.data, pos)
    return CallParts(operands=operands, result_types=type.outputs.data, properties=properties, attributes=attributes)


def _parse_tensors(parser: Parser, schema: Schema, properties: dict[str, Attribute]) -> list[UnresolvedOperand]:
    """The arguments in parentheses, flat; `properties` gets what tells them apart."""
    pos = parser.pos
    groups = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
    if len(groups) != len(schema.tensors):
        expected = ", ".join(f"{a.type} {a.name}" for a in schema.tensors.values())
        parser.raise_error(
            f"{schema.qualified_name} takes {len(schema.tensors)} tensor arguments ({expected}), got {len(groups)}",
            pos,
            parser.pos,
        )
    unresolved: list[UnresolvedOperand] = []
    sizes: list[int] = []
    for argument, group in zip(schema.tensors.values(), groups, strict=True):
        if (problem := _problem(argument, group)) is not None:
            parser.raise_error(f"argument '{argument.name}' {problem}", pos, parser.pos)
        elements = group if isinstance(group, list) else [group]
        there = [element for element in elements if element is not None]
        if argument.type.is_list and len(there) < len(elements):
            flags = [element is not None for element in elements]
            properties[argument.name + PRESENT_SUFFIX] = DenseArrayBase.from_list(i1, flags)
        unresolved += there
        sizes.append(len(there))
    if len(schema.variadic) > 1:
        properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
    return unresolved


def _problem(argument: Argument, group: Group) -> str | None:
    """What is wrong with an argument as written."""
    if isinstance(group, list):
        if not argument.type.is_list:
            return "is a single value"
        return "cannot be none" if None in group and not argument.type.optional_element else None
    if argument.type.is_list:
        return "is a list in brackets"
    return "cannot be none" if group is None and not argument.type.optional else None


def _parse_values(parser: Parser, schema: Schema, properties: dict[str, Attribute]) -> dict[str, Attribute]:
    """The arguments in braces go to `properties`; what remains are annotations, which have a dot in their names."""
    pos = parser.pos
    attributes: dict[str, Attribute] = {}
    for name, attribute in parser.parse_optional_attr_dict().items():
        if (argument := schema.values.get(name)) is not None:
            if not is_default(argument, attribute):
                properties[name] = attribute
        elif "." in name:
            attributes[name] = attribute
        else:
            known = ", ".join(schema.values) or "none"
            parser.raise_error(f"{schema.qualified_name} has no argument '{name}' (it has: {known})", pos, parser.pos)
    return attributes


def _print_argument(op: EdgeOp, argument: Argument, printer: Printer) -> None:
    if argument.type.is_list:
        with printer.in_square_brackets():
            printer.print_list(op.argument(argument.name), lambda value: _print_operand(value, printer))
    else:
        _print_operand(op.argument(argument.name), printer)


def _print_operand(value: SSAValue | None, printer: Printer) -> None:
    if value is None:
        printer.print_string("none")
    else:
        printer.print_ssa_value(value)


def _parse_argument(parser: Parser) -> Group:
    group = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_operand(parser))
    return _parse_operand(parser) if group is None else group


def _parse_operand(parser: Parser) -> UnresolvedOperand | None:
    return None if parser.parse_optional_keyword("none") else parser.parse_unresolved_operand()
