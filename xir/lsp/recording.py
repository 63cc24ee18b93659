"""A parser that remembers where things stand, also of text that it cannot parse to its end.

This is what MLIR's parser keeps in its `AsmParserState` for the same purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation, OpResult, Region, SSAValue
from xdsl.parser import Parser
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from xir.ir.context import XirContext
from xir.ir.parser import XirParser
from xir.lsp.tokens import Tokens


@dataclass(eq=False)
class Scope:
    """A region: names that are defined in it are visible there, and in the regions inside unless one is isolated."""

    start: int
    end: int
    parent: Scope | None
    isolated: bool = False

    def holds(self, offset: int) -> bool:
        """Whether a place is in the region."""
        return self.start <= offset < self.end

    def sees(self, other: Scope) -> bool:
        """Whether a name of `other` means the same here."""
        scope: Scope | None = self
        while scope is not None and scope is not other:
            scope = None if scope.isolated else scope.parent
        return scope is other


@dataclass(eq=False)
class RecordedOp:
    """An operation in the text."""

    start: int
    end: int
    """Of all of it with its regions; where parsing stopped for one that is not finished."""
    parent: RecordedOp | None
    name: str = ""
    name_start: int = 0
    name_end: int = 0
    op_type: type[Operation] | None = None
    """None while the name is unknown."""
    head_end: int | None = None
    """Where its first region starts, if it has one."""
    op: Operation | None = None
    """None for one that did not parse."""


@dataclass(eq=False)
class RecordedValues:
    """A name of SSA values, where it is defined: the results of an op, or an argument of a block."""

    name: str
    """With its `%`."""
    start: int
    end: int
    scope: Scope
    values: Sequence[SSAValue]
    owner: RecordedOp | None
    """The op of the results, or the one in whose region the block is."""

    @property
    def is_argument(self) -> bool:
        """Whether it is the argument of a block."""
        return not isinstance(self.values[0], OpResult) if self.values else False


@dataclass
class Record:
    """What a parser came across, in its order."""

    tokens: Tokens
    ops: list[RecordedOp] = field(default_factory=list[RecordedOp])
    values: list[RecordedValues] = field(default_factory=list[RecordedValues])
    scopes: list[Scope] = field(default_factory=list[Scope])
    reached: int = 0
    """Where the parser stopped."""
    open_alias: int | None = None
    """The start of the definition of an alias in which it stopped."""
    unfinished: list[RecordedOp] = field(default_factory=list[RecordedOp])
    """The ops that it was in, the outermost first."""


class RecordingParser(XirParser):
    """A parser that writes a `Record`. Locations that the text gives are left out: ops are where their text is."""

    def __init__(self, record: Record, ctx: XirContext, text: str, name: str, line_offset: int):
        self._record = record
        self._open = record.unfinished
        self._scope = Scope(0, len(text) + 1, None)
        record.scopes.append(self._scope)
        super().__init__(ctx, text, name, line_offset)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        finally:
            self._record.reached = self.pos
            for op in self._open:
                op.end = self.pos
            scope = self._scope
            while scope.parent is not None:
                scope.end = self.pos + 1
                scope = scope.parent

    def _parse_alias_def(self) -> None:
        self._record.open_alias = self.pos
        super()._parse_alias_def()
        self._record.open_alias = None

    def parse_optional_location(self) -> LocationAttr | None:
        super().parse_optional_location()
        return None

    def parse_operation(self) -> Operation:
        recorded = RecordedOp(self.pos, self.pos, self._open[-1] if self._open else None)
        self._record.ops.append(recorded)
        self._open.append(recorded)
        recorded.op = super().parse_operation()
        self._open.pop()
        recorded.end = self._record.tokens.end_before(self.pos)
        return recorded.op

    def _op_type(self, name: str, span: Span) -> type[Operation]:
        recorded = self._open[-1]
        recorded.name, recorded.name_start, recorded.name_end = name, span.start, span.end
        recorded.op_type = super()._op_type(name, span)
        return recorded.op_type

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        owner = self._open[-1] if self._open else None
        self._record.values.append(RecordedValues(f"%{name}", span.start, span.end, self._scope, tuple(values), owner))
        super()._register_ssa_definition(name, values, span)

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        outside = self._scope
        owner = self._open[-1] if self._open else None
        op_type = owner.op_type if owner is not None else None
        isolated = op_type is not None and op_type.has_trait(IsolatedFromAbove, value_if_unregistered=False)
        arguments = None if arguments is None else list(arguments)
        # The names of a function's arguments stand before its region.
        start = min([self.pos, *(argument.name.start for argument in arguments or ())])
        self._scope = scope = Scope(start, len(self._text) + 1, outside, isolated)
        self._record.scopes.append(scope)
        if owner is not None and owner.head_end is None and self._current_token.kind is MLIRTokenKind.L_BRACE:
            owner.head_end = self.pos
        region = super().parse_optional_region(arguments)
        self._scope = outside
        if region is None:
            self._record.scopes.remove(scope)
        else:
            scope.end = self._record.tokens.end_before(self.pos)
        return region
