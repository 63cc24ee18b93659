"""Attributes: the small tables that hang on a program's values, plans and instructions."""

from __future__ import annotations

from xdsl.dialects.builtin import I8, DenseArrayBase, IntAttr, StringAttr
from xdsl.ir import ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class AllocationAttr(ParametrizedAttribute):
    """A place in a planned arena: `<memory_id, byte offset>`. Arenas count from 1."""

    name = "pte.allocation"

    memory_id: IntAttr
    offset: IntAttr

    def __init__(self, memory_id: int, offset: int):
        super().__init__(IntAttr(memory_id), IntAttr(offset))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[IntAttr]:
        pos = parser.pos
        memory_id, offset = _parse_integers(parser, 2)
        if problem := cls.problem(memory_id.data, offset.data):
            parser.raise_error(problem, pos)
        return [memory_id, offset]

    def print_parameters(self, printer: Printer) -> None:
        _print_integers(printer, self.memory_id, self.offset)

    def verify(self) -> None:
        if problem := self.problem(self.memory_id.data, self.offset.data):
            raise VerifyException(problem)

    @staticmethod
    def problem(memory_id: int, offset: int) -> str | None:
        """What is wrong with a place, None if it is a sound one."""
        if not 1 <= memory_id < 1 << 32:
            return f"memory ids count from 1, found {memory_id}"
        if not 0 <= offset < 1 << 64:
            return f"the offset {offset} is not an unsigned 64-bit number"
        return None


@irdl_attr_definition
class ExtraTensorInfoAttr(ParametrizedAttribute):
    """`ExtraTensorInfo`: `<"name", data segment, location, device type, device index>`, all as the schema numbers them.

    The name of a tensor that has none is the empty string.
    """

    name = "pte.extra_tensor_info"

    fully_qualified_name: StringAttr
    mutable_data_segments_idx: IntAttr
    location: IntAttr
    device_type: IntAttr
    device_index: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[StringAttr | IntAttr]:
        with parser.in_angle_brackets():
            name = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            numbers = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_integer)
            if len(numbers) != 4:
                parser.raise_error("expected four integers after the name")
        return [name, *map(IntAttr, numbers)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.fully_qualified_name.data)
            for number in (self.mutable_data_segments_idx, self.location, self.device_type, self.device_index):
                printer.print_string(f", {number.data}")


@irdl_attr_definition
class CompileSpecAttr(ParametrizedAttribute):
    """One option that a delegate was compiled with: `<"key", array<i8: ...>>`."""

    name = "pte.compile_spec"

    key: StringAttr
    value: DenseArrayBase[I8]


@irdl_attr_definition
class BufferDeviceAttr(ParametrizedAttribute):
    """The device of one arena: `<arena, device type, device index>`."""

    name = "pte.buffer_device"

    buffer_idx: IntAttr
    device_type: IntAttr
    device_index: IntAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[IntAttr]:
        return _parse_integers(parser, 3)

    def print_parameters(self, printer: Printer) -> None:
        _print_integers(printer, self.buffer_idx, self.device_type, self.device_index)


@irdl_attr_definition
class FrameAttr(ParametrizedAttribute):
    """One frame of an instruction's stack trace: `<"file", line, "function", "source text">`."""

    name = "pte.frame"

    filename: StringAttr
    lineno: IntAttr
    function: StringAttr
    context: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[StringAttr | IntAttr]:
        with parser.in_angle_brackets():
            filename = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            line = IntAttr(parser.parse_integer())
            parser.parse_punctuation(",")
            function = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            context = StringAttr(parser.parse_str_literal())
        return [filename, line, function, context]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.filename.data)
            printer.print_string(f", {self.lineno.data}, ")
            printer.print_string_literal(self.function.data)
            printer.print_string(", ")
            printer.print_string_literal(self.context.data)


def _parse_integers(parser: AttrParser, count: int) -> list[IntAttr]:
    pos = parser.pos
    numbers = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parser.parse_integer)
    if len(numbers) != count:
        parser.raise_error(f"expected {count} integers, found {len(numbers)}", pos)
    return [IntAttr(number) for number in numbers]


def _print_integers(printer: Printer, *numbers: IntAttr) -> None:
    with printer.in_angle_brackets():
        printer.print_string(", ".join(str(number.data) for number in numbers))
