"""MLIR text to IR: xDSL's parser, with locations, exact names and constants, isolated scopes, and more speed.

Differences that show:
- Every op and block argument has the location that the text gives it, else its own `file:line:col`. `#loc` aliases may
  be defined after their use, where `mlir-opt` prints them.
- Hex literals in float constants are bit patterns, as in MLIR.
- Names keep their `_<digits>`, and a region isolated from above may reuse the names around it.
- Any error is a `DiagnosticError` at its line and column.
"""

from __future__ import annotations

import math
import re
import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    CallSiteLoc,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FusedLoc,
    IndexType,
    IntegerType,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    RankedStructure,
    StringAttr,
    UnknownLoc,
    UnregisteredOp,
)
from xdsl.ir import Attribute, AttributeInvT, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.parser import AttrParser, ForwardDeclaredValue, Parser, ParserState, UnresolvedOperand
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRTokenKind, PunctuationSpelling

from xir.ir.constants import dense_elements
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError, note, op_name
from xir.ir.internal_errors import InternalError
from xir.ir.lexer import XirLexer
from xir.ir.location import file_location

_SHAPED_TYPE = re.compile(r"(?:tensor|memref|vector|!quant\.[a-z]+)<[^<>\n]*+(?:<[^<>\n]*+>[^<>\n]*+)*+>")
"""A type whose text can be looked up: with at most one nested pair of angle brackets."""

_FLAT_DICTIONARY = re.compile(r'\{(?:[^{}"/]++|"[^"\\\n]*+")*+\}')
"""An attribute dictionary whose text can be looked up: nothing nested, no comment, no escape."""

_ALIAS_DEFINITION = re.compile(r"^[ \t]*(#[a-zA-Z0-9$._-]+)[ \t]*=", re.MULTILINE)


ParserFactory = Callable[[XirContext, str, str, int], "XirParser"]
"""Makes a parser of a context, a text, the file's name and the number of lines before the text."""


def parse_module(
    ctx: XirContext,
    text: str,
    name: str = "<input>",
    line_offset: int = 0,
    *,
    implicit_module: bool = True,
    make_parser: ParserFactory | None = None,
) -> ModuleOp:
    """Parse a module from MLIR text; ops outside a `module` are put into one, unless `implicit_module` is False.

    `name` is the file name in locations and errors, `line_offset` the number of lines before `text` in that file.
    `make_parser` makes the parser, where it is to be another than `XirParser`.
    Constant data in `{-# dialect_resources #-}` goes to `ctx.blobs`. DiagnosticError if the text is no module;
    InternalError for a bug of a dialect or the parser.
    The module is not verified: that is `xir.ir.verifier.verify`.
    """
    parser: XirParser | None = None
    try:
        parser = (make_parser or XirParser)(ctx, text, name, line_offset)
        return parser.parse_module(implicit_module)
    except ParseError as error:
        references = error.refs if isinstance(error, MultipleSpansParseError) else []
        notes = [note(_locate(span, line_offset), message or "it is here") for span, message in references]
        raise DiagnosticError(_locate(error.span, line_offset), _one_line(error.msg), notes) from error
    except RecursionError as error:
        raise DiagnosticError(file_location(name, line_offset + 1), "the text is nested too deeply") from error
    except (DiagnosticError, MemoryError):
        raise
    except (VerifyException, ValueError, OverflowError, NotImplementedError, struct.error) as error:
        # Constructors of attributes and ops verify what they are given, and pack numbers into bytes; xDSL's parser
        # leaves out some of the language.
        raise DiagnosticError(_reached(parser, name, line_offset), _one_line(str(error))) from error
    except Exception as error:
        raise InternalError("the parser", _reached(parser, name, line_offset), error) from error


def _reached(parser: XirParser | None, name: str, line_offset: int) -> LocationAttr:
    """How far the parser came."""
    return file_location(name, line_offset + 1) if parser is None else parser.location_at(parser.pos)


def _locate(span: Span[Any], line_offset: int) -> LocationAttr:
    location = span.get_location()
    return file_location(location.file, location.line + line_offset, location.col)


def _one_line(message: str) -> str:
    return " ".join(message.split())


class XirParser(Parser):
    """The parser behind `parse_module`; dialects use it through xDSL's `Parser` interface."""

    def __init__(self, ctx: XirContext, input: str, name: str = "<input>", line_offset: int = 0):
        AttrParser.__init__(self, ParserState(XirLexer(Input(input, name))), ctx)
        self.ssa_values = {}
        self.blocks = {}
        self.forward_block_references = defaultdict(list)
        self.forward_ssa_references = {}
        self._text = input
        self._filename = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", input))]
        self._first_use: dict[str, Span] = {}
        self._definitions: dict[str, Span] = {}
        self._named_blocks: dict[Block, Span] = {}
        self._op_types: list[type[Operation]] = []
        self._types: dict[str, TypeAttribute] = {}
        self._dictionaries: dict[str, dict[str, Attribute]] = {}
        self._alias_positions: dict[str, int] | None = None
        self._open_aliases: set[str] = set()
        self._early_aliases: set[str] = set()

    # --- Locations -------------------------------------------------------------------------------------------------

    def location_at(self, position: int) -> LocationAttr:
        """The `file:line:col` of a position in the text."""
        line = bisect_right(self._line_starts, position)
        return file_location(self._filename, line + self._line_offset, position - self._line_starts[line - 1] + 1)

    def parse_optional_location(self) -> LocationAttr | None:
        """Parse a trailing `loc(...)`, if present."""
        token = self._parser_state.current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT or token.text != "loc":
            return None
        self._consume_token()
        with self.in_parens():
            return self._parse_location()

    def _parse_location(self) -> LocationAttr:
        token = self._parser_state.current_token
        if token.kind is MLIRTokenKind.HASH_IDENT:
            self._consume_token()
            attr = self._resolve_alias(token.text, token.span)
            if not isinstance(attr, LocationAttr):
                self.raise_error(f"'{token.text}' is not a location", token.span)
            return attr
        if token.kind is MLIRTokenKind.STRING_LIT:
            name = StringAttr(self.parse_str_literal())
            if self.parse_optional_punctuation(":") is None:
                if self.parse_optional_punctuation("(") is None:
                    return NameLoc(name, NoneAttr())
                child = self._parse_location()
                self.parse_punctuation(")")
                return NameLoc(name, child)
            line = self.parse_integer(False, False)
            self.parse_punctuation(":")
            start = file_location(name, line, self.parse_integer(False, False))
            if self.parse_optional_keyword("to") is not None:
                # xDSL has no attribute for ranges; a place to look at is where the range starts.
                self.parse_optional_integer(False, False)
                self.parse_punctuation(":")
                self.parse_integer(False, False)
            return start
        if self.parse_optional_keyword("unknown") is not None:
            return UnknownLoc()
        if self.parse_optional_keyword("callsite") is not None:
            with self.in_parens():
                callee = self._parse_location()
                self.parse_keyword("at")
                return CallSiteLoc(callee, self._parse_location())
        if self.parse_optional_keyword("fused") is not None:
            metadata: Attribute = NoneAttr()
            if self.parse_optional_punctuation("<") is not None:
                metadata = self.parse_attribute()
                self.parse_punctuation(">")
            parts = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
            return FusedLoc(ArrayAttr(parts), metadata)
        return self.raise_error("expected a location", token.span)

    def _resolve_alias(self, name: str, span: Span) -> Attribute:
        """The attribute of a `#name`, parsed ahead of its place if it is defined further down."""
        if name in self.attribute_aliases:
            return self.attribute_aliases[name]
        if self._alias_positions is None:
            self._alias_positions = {m.group(1): m.end() for m in _ALIAS_DEFINITION.finditer(self._text)}
        position = self._alias_positions.get(name)
        if position is None or name in self._open_aliases:
            self.raise_error(f"undefined attribute alias '{name}'", span)
        resume = self._parser_state.current_token.span.start
        self._resume_from(position)
        self._open_aliases.add(name)
        self.attribute_aliases[name] = attr = self.parse_attribute()
        self._open_aliases.remove(name)
        self._early_aliases.add(name)
        self._resume_from(resume)
        return attr

    def _parse_alias_def(self) -> None:
        name = self._parser_state.current_token.text
        if name in self._early_aliases:
            # Read already, through a use above; its definition is no second one.
            self._early_aliases.remove(name)
            del self.attribute_aliases[name]
        super()._parse_alias_def()

    # --- Operations ------------------------------------------------------------------------------------------------

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole input: one module, or ops to put into one (unless `allow_implicit_module` is False)."""
        ops: list[Operation] = []
        while (kind := self._parser_state.current_token.kind) is not MLIRTokenKind.EOF:
            if kind is MLIRTokenKind.HASH_IDENT or kind is MLIRTokenKind.EXCLAMATION_IDENT:
                self._parse_alias_def()
            elif kind is MLIRTokenKind.FILE_METADATA_BEGIN:
                self._parse_file_metadata_dictionary()
            elif (op := self.parse_optional_operation()) is not None:
                ops.append(op)
            else:
                self.raise_error("expected an operation")
        self._check_no_forward_references()
        if len(ops) == 1 and isinstance(ops[0], ModuleOp):
            return ops[0]
        if not allow_implicit_module:
            self.raise_error("expected a builtin.module around the operations", 0)
        module = ModuleOp(ops)
        module.location = file_location(self._filename, self._line_offset + 1, 1)
        return module

    def parse_operation(self) -> Operation:
        """Parse an operation in custom or generic form, with its results and its location."""
        first_token = self._parser_state.current_token
        results = self._parse_op_result_list()
        token = self._parser_state.current_token
        position = token.span.start
        if token.kind is MLIRTokenKind.BARE_IDENT:
            self._consume_token()
            op_type = self._op_type(token.text, token.span)
            if issubclass(op_type, UnregisteredOp):
                self.raise_error(f"'{token.text}' is unregistered and has no custom form, only the generic", token.span)
            parse = op_type.parse
        else:
            op_type = self._op_type(self.parse_str_literal(" as the name of an operation"), token.span)
            parse = None

        stack = self._parser_state.dialect_stack
        stack.append(op_type.dialect_name())
        self._op_types.append(op_type)
        op = self._parse_generic_operation(op_type) if parse is None else parse(self)
        self._op_types.pop()
        stack.pop()
        op.location = self.parse_optional_location() or self.location_at(position)

        bound = sum(size for _, size in results)
        if bound and len(op.results) != bound:
            self.raise_error(f"'{op_name(op)}' has {len(op.results)} results, but {bound} are bound", first_token.span)
        index = 0
        for span, size in results:
            self._register_ssa_definition(span.text[1:], op.results[index : index + size], span)
            index += size
        return op

    def _op_type(self, name: str, span: Span) -> type[Operation]:
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is not None and not issubclass(op_type, UnregisteredOp):
            return op_type
        dialect, _, rest = name.partition(".")
        if rest and self.ctx.get_optional_dialect(dialect) is not None:
            self.raise_error(f"'{name}': the dialect '{dialect}' has no such operation", span)
        if op_type is None:
            self.raise_error(f"'{name}' belongs to no known dialect (--allow-unregistered-dialect lets it in)", span)
        return op_type

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        operands = self.parse_op_args_list()
        successors = self.parse_optional_successors() or []
        properties = self.parse_optional_properties_dict()
        regions = self.parse_region_list()
        attributes = self.parse_optional_attr_dict()
        self.parse_punctuation(":", " before the type of an operation")
        type_position = self.pos
        function_type = self.parse_function_type()
        if not properties and issubclass(op_type, IRDLOperation):
            # Text from before there were properties has them among the attributes.
            names = op_type.get_irdl_definition().properties.keys() & attributes.keys()
            properties = {name: attributes.pop(name) for name in names}
        return op_type.create(
            operands=self.resolve_operands(operands, function_type.inputs.data, type_position),
            result_types=function_type.outputs.data,
            properties=properties,
            attributes=attributes,
            successors=successors,
            regions=regions,
        )

    # --- Values and regions ----------------------------------------------------------------------------------------

    def parse_optional_unresolved_operand(self) -> UnresolvedOperand | None:
        """Parse `%name` or `%name#index`, if present."""
        token = self._parser_state.current_token
        if token.kind is not MLIRTokenKind.PERCENT_IDENT:
            return None
        self._consume_token()
        index_token = self._parser_state.current_token
        if index_token.kind is not MLIRTokenKind.HASH_IDENT:
            return UnresolvedOperand(token.span, 0)
        if not index_token.text[1:].isdigit():
            self.raise_error("expected the index of a result after '#'", index_token.span)
        self._consume_token()
        return UnresolvedOperand(token.span, int(index_token.text[1:]))

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        """The value of an operand; a placeholder if its definition comes later."""
        name = operand.operand_name
        values = self.ssa_values.get(name)
        if values is None:
            references = self.forward_ssa_references.setdefault(name, {})
            resolved = references.get(operand.index)
            if resolved is None:
                self._first_use.setdefault(name, operand.span)
                resolved = references[operand.index] = ForwardDeclaredValue(type)
        elif operand.index < len(values):
            resolved = values[operand.index]
        else:
            self.raise_error(f"'%{name}' has only {len(values)} results", operand.span)
        if resolved.type is not type and resolved.type != type:
            self.raise_error(f"'%{name}' is used with type {type}, but it is {resolved.type}", operand.span)
        return cast(SSAValue[AttributeInvT], resolved)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        if name in self.ssa_values:
            first: list[tuple[Span[Any], str | None]] = []
            if name in self._definitions:
                first.append((self._definitions[name], "previously defined here"))
            raise MultipleSpansParseError(span, f"redefinition of SSA value '%{name}'", "", first)
        self._definitions[name] = span
        super()._register_ssa_definition(name, values, span)
        if SSAValue.is_valid_name(name):
            for value in values:
                # The setter would take `_1` off `conv_1`, and two ops would swap their names when printed.
                value._name = name  # pyright: ignore[reportPrivateUsage]

    def _parse_block(self) -> Block:
        if self._current_token.kind is not MLIRTokenKind.CARET_IDENT:
            self.raise_error("expected an operation, a block, or '}' at the end of the region")
        name, span = self._current_token.text[1:], self._current_token.span
        block, declared = self.blocks.get(name, (None, None))
        if block is not None and declared is None:
            # The base class does not note where a block is declared that a successor has named before.
            if (first := self._named_blocks.get(block)) is not None:
                message = f"re-declaration of block '{name}'"
                raise MultipleSpansParseError(span, message, "originally declared here:", [(first, None)])
            self._named_blocks[block] = span
        return super()._parse_block()

    def _parse_optional_block_arg_list(self, block: Block) -> Block | None:
        if self._current_token.kind is not MLIRTokenKind.L_PAREN:
            return None

        def parse_argument() -> None:
            token = self._parse_token(MLIRTokenKind.PERCENT_IDENT, "block argument expected")
            self.parse_punctuation(":")
            type = self.parse_type()
            location = self.parse_optional_location() or self.location_at(token.span.start)
            argument = block.insert_arg(type, len(block.args), location)
            self._register_ssa_definition(token.text[1:], (argument,), token.span)

        self.parse_comma_separated_list(self.Delimiter.PAREN, parse_argument)
        return block

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        """Parse `{ ... }`, if present; in an isolated op's region no name from outside is visible."""
        if arguments is not None:
            arguments = list(arguments)
            for argument in arguments:
                argument.location = argument.location or self.location_at(argument.name.start)
        if not (self._op_types and self._op_types[-1].has_trait(IsolatedFromAbove, value_if_unregistered=False)):
            return super().parse_optional_region(arguments)
        outside = (self.ssa_values, self.forward_ssa_references, self._first_use, self._definitions)
        self.ssa_values, self.forward_ssa_references, self._first_use, self._definitions = {}, {}, {}, {}
        region = super().parse_optional_region(arguments)
        self._check_no_forward_references()
        self.ssa_values, self.forward_ssa_references, self._first_use, self._definitions = outside
        return region

    def _check_no_forward_references(self) -> None:
        for name in self.forward_ssa_references:
            self.raise_error(f"'%{name}' is used but never defined", self._first_use[name])

    # --- Types and attributes --------------------------------------------------------------------------------------

    def parse_optional_type(self) -> TypeAttribute | None:
        """Parse a type, if present. Equal text gives the same object."""
        token = self._parser_state.current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT and token.kind is not MLIRTokenKind.EXCLAMATION_IDENT:
            return super().parse_optional_type()
        start = token.span.start
        match = _SHAPED_TYPE.match(self._text, start)
        text = token.text if match is None else match.group()
        if (known := self._types.get(text)) is not None:
            self._resume_from(start + len(text))
            return known
        parsed = super().parse_optional_type()
        if parsed is not None and self._has_read_up_to(start + len(text)):
            self._types[text] = parsed
        return parsed

    def parse_optional_dictionary_attr_dict(self) -> dict[str, Attribute]:
        """Parse `{name = attribute, ...}`, if present."""
        token = self._parser_state.current_token
        if token.kind is not MLIRTokenKind.L_BRACE:
            return {}
        start = token.span.start
        match = _FLAT_DICTIONARY.match(self._text, start)
        if match is not None and (known := self._dictionaries.get(match.group())) is not None:
            self._resume_from(match.end())
            return known.copy()
        parsed = super().parse_optional_dictionary_attr_dict()
        if match is not None and self._has_read_up_to(match.end()):
            self._dictionaries[match.group()] = parsed.copy()
        return parsed

    def _has_read_up_to(self, position: int) -> bool:
        """Whether what was parsed ended at `position` exactly, with nothing but white space up to the next token."""
        next_token = self._parser_state.current_token.span.start
        return next_token >= position and not self._text[position:next_token].strip()

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        match self._parser_state.current_token.kind:
            case MLIRTokenKind.INTEGER_LIT | MLIRTokenKind.FLOAT_LIT | MLIRTokenKind.MINUS:
                return self.parse_optional_builtin_int_or_float_attr()
            case MLIRTokenKind.STRING_LIT:
                return StringAttr(self.parse_str_literal())
            case MLIRTokenKind.L_SQUARE:
                return self._parse_optional_array_attr()
            case MLIRTokenKind.L_BRACE:
                return self._parse_optional_builtin_dict_attr()
            case MLIRTokenKind.AT_IDENT:
                return self._parse_optional_symref_attr()
            case MLIRTokenKind.BARE_IDENT if self._parser_state.current_token.text == "array":
                self._consume_token()
                return self._parse_builtin_densearray_attr()
            case _:
                return super()._parse_optional_builtin_attr()

    def parse_optional_punctuation(self, punctuation: PunctuationSpelling) -> PunctuationSpelling | None:
        """Parse a punctuation, if it is next."""
        if self._parser_state.current_token.kind is not KIND_BY_PUNCTUATION_SPELLING[punctuation]:
            return None
        self._consume_token()
        return punctuation

    # --- Constants -------------------------------------------------------------------------------------------------

    @dataclass
    class _TensorLiteralElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
        def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType) -> Any:
            if isinstance(type, AnyFloat) and isinstance(self.value, int) and self.span.text[:2] in ("0x", "0X"):
                return _float_from_bits(parser, self.value, type, self.span)
            return super().to_type(parser, type)

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType] | None
    ) -> DenseIntOrFPElementsAttr:
        """Parse what follows `dense`. A splat stays one element, which xDSL writes out."""
        start = self.pos
        self.parse_punctuation("<", " in dense attribute")
        values: list[Any] | None = None
        shape: list[int] = []
        data = b""
        if self.parse_optional_punctuation(">") is None:
            if (digits := self.parse_optional_str_literal()) is not None:
                data = self._dense_bytes(digits, start)
            else:
                values, shape = self._parse_tensor_literal()
            self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        element = type.element_type
        if values is not None:
            if shape and shape != list(type.get_shape()):
                self.raise_error(f"a literal of shape {shape} for a constant of shape {list(type.get_shape())}", start)
            stored = [value.to_type(self, element) for value in values]
            if isinstance(element, IntegerType):
                stored = [element.get_normalized_value(value) for value in stored]
            data = element.pack(stored)  # pyright: ignore[reportAttributeAccessIssue]
        size, expected = element.compile_time_size, math.prod(type.get_shape())
        splat = not shape and len(data) == size and expected > 0
        if len(data) != expected * size and not splat:
            self.raise_error(f"a literal of {len(data) // size} elements for a constant of {expected}", start)
        return dense_elements(type, data)

    def _dense_bytes(self, digits: str, start: int) -> bytes:
        try:
            return bytes.fromhex(digits.removeprefix("0x"))
        except ValueError:
            self.raise_error("the data of a constant is pairs of hex digits after 0x", start)

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase:
        self.parse_punctuation("<", " in array attribute")
        start = self.pos
        element_type = self.parse_type()
        if not isinstance(element_type, AnyFloat | IntegerType):
            self.raise_error("the elements of an array attribute are integers or floats", start)
        if self.parse_optional_punctuation(">") is not None:
            return DenseArrayBase.from_list(element_type, [])
        self.parse_punctuation(":", " in array attribute")
        if isinstance(element_type, IntegerType):
            integers = self.parse_comma_separated_list(
                self.Delimiter.NONE, lambda: self._parse_typed_integer(element_type)
            )
            self.parse_punctuation(">", " in array attribute")
            return DenseArrayBase.from_list(element_type, integers)
        floats = self.parse_comma_separated_list(self.Delimiter.NONE, lambda: self._parse_float_element(element_type))
        self.parse_punctuation(">", " in array attribute")
        return DenseArrayBase.from_list(element_type, floats)

    def _parse_float_element(self, type: AnyFloat) -> float:
        token = self._parser_state.current_token
        if token.kind is MLIRTokenKind.INTEGER_LIT and token.text[:2] in ("0x", "0X"):
            return _float_from_bits(self, self.parse_integer(), type, token.span)
        return float(self.parse_number())

    def _parse_dialect_resource_handle(self, dialect_name: str, interface: OpAsmDialectInterface) -> str:
        key = self.parse_identifier_or_str_literal(" for resource handle")
        self.dialect_resources.add((dialect_name, key))
        return key

    def _parse_external_resources(self) -> None:
        """`{key: {name: "text", other: true}}`, of any keys, into the context."""
        self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_external_resource)

    def _parse_external_resource(self) -> None:
        key = self.parse_identifier_or_str_literal(" as the key of an external resource")
        self.parse_punctuation(":")
        entries: dict[str, str | bool] = {}

        def parse_entry() -> None:
            name = self.parse_identifier_or_str_literal(" as the name of a resource")
            self.parse_punctuation(":")
            value = self.parse_optional_boolean()
            if value is None and (value := self.parse_optional_str_literal()) is None:
                self.raise_error("expected a string or a boolean as the value of an external resource")
            entries[name] = value

        self.parse_comma_separated_list(self.Delimiter.BRACES, parse_entry)
        assert isinstance(self.ctx, XirContext)
        self.ctx.external_resources[key] = entries

    def _parse_resource(self, dialect_name: str, interface: OpAsmDialectInterface) -> None:
        key = self._parse_dialect_resource_handle(dialect_name, interface)
        self.parse_punctuation(":")
        # Straight from the token: a resource has no escapes, and may be most of the file.
        token = self._parse_token(MLIRTokenKind.STRING_LIT, "expected a resource's hex digits as a string")
        try:
            interface.parse_resource(key, token.text[1:-1])
        except ValueError as error:
            self.raise_error(str(error), token.span)


def _float_from_bits(parser: AttrParser, bits: int, type: AnyFloat, span: Span) -> float:
    if bits.bit_length() > 8 * type.compile_time_size:
        parser.raise_error(f"the literal has more bits than {type}", span)
    return type.unpack(bits.to_bytes(type.compile_time_size, "little"), 1)[0]
