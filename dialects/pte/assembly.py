"""What the dialect's assembly formats share."""

from __future__ import annotations

from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer


@irdl_custom_directive
class Values(CustomDirective):
    """Operands of mixed types without those types: `(%0, %1)`.

    An execution plan's values are declared before they are used, so each type is known from the declaration.
    """

    values: VariadicOperandVariable
    types: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        pos = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        for operand in operands:
            if operand.operand_name not in parser.ssa_values:
                parser.raise_error(f"%{operand.operand_name} is used before it is declared", pos, parser.pos)
        self.values.set(state, operands)
        self.types.set(state, [parser.ssa_values[o.operand_name][o.index].type for o in operands])

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        state.print_whitespace(printer)
        with printer.in_parens():
            printer.print_list(self.values.get(op), printer.print_ssa_value)

    def is_present(self, op: IRDLOperation) -> bool:
        return self.values.is_present(op)

    def is_anchorable(self) -> bool:
        return True

    def set_empty(self, state: ParsingState) -> None:
        self.values.set_empty(state)
        self.types.set_empty(state)
