"""What there is to know of one module's text: its ops and values with their places, and what is wrong with it.

A parser stops at the first error. So that the rest of a file stays alive, the function with the error is then taken
out (replaced by blanks: places stay) and the rest is parsed again. Where the function ends is told by indentation,
since its brackets are what is most likely wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice

from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolOpInterface
from xdsl.utils.mlir_lexer import MLIRTokenKind

from xir.ir.context import XirContext
from xir.ir.diagnostics import Diagnostic, DiagnosticError
from xir.ir.internal_errors import InternalError
from xir.ir.location import find_file_location
from xir.ir.parser import parse_module
from xir.ir.verifier import verify
from xir.lsp.recording import Record, RecordedOp, RecordedValues, RecordingParser, Scope
from xir.lsp.tokens import Token, Tokens

_NAME = "<text>"
_SHARED_NAMES = {MLIRTokenKind.AT_IDENT, MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT}
"""Names that other functions use; without the text that defines them, their uses are no mistakes."""

_MOST_ERRORS = 20
"""So many functions with errors are looked into; each costs another parse."""


@dataclass(frozen=True)
class Problem:
    """A diagnostic at a range of the text."""

    start: int
    end: int
    message: str
    notes: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Symbol:
    """A name with `@`, where it is defined."""

    name: str
    """With its `@`."""
    start: int
    end: int
    op: RecordedOp


@dataclass
class TextAnalysis:
    """One module's text and all that was found in it."""

    text: str
    allow_unregistered: bool = False
    tokens: Tokens = field(init=False)
    records: list[Record] = field(init=False, default_factory=list[Record])
    """The record of what parses, then those of functions with errors as far as they go."""
    problems: list[Problem] = field(init=False, default_factory=list[Problem])
    module: ModuleOp | None = field(init=False, default=None)
    """What parses; None if nothing does."""

    def __post_init__(self) -> None:
        self.tokens = Tokens(self.text)
        self._parse()
        self.problems.sort(key=lambda problem: problem.start)

    # --- Parsing and verifying ---------------------------------------------------------------------------------------

    def _parse(self) -> None:
        text = self.text
        lost: set[str] = set()
        for _ in range(_MOST_ERRORS):
            record = Record(self.tokens if text is self.text else Tokens(text))
            problem = self._parse_once(text, record)
            if problem is None:
                self.records.insert(0, record)
                self._verify(lost)
                return
            if not _names_one_of(lost, problem.message):
                self.problems.append(problem)
            start, end = _broken(record, problem.start)
            self.records.append(_part(record, start, end))
            lost |= {token.text for token in self.tokens if start <= token.start < end and token.kind in _SHARED_NAMES}
            rest = text[:start] + "".join(char if char == "\n" else " " for char in text[start:end]) + text[end:]
            if rest == text:
                return
            text = rest

    def _parse_once(self, text: str, record: Record) -> Problem | None:
        ctx = XirContext(allow_unregistered=self.allow_unregistered)
        try:
            self.module = parse_module(ctx, text, _NAME, make_parser=partial(RecordingParser, record))
        except (DiagnosticError, InternalError) as error:
            return self._problem(error.diagnostic)
        return None

    def _verify(self, lost: set[str]) -> None:
        """Verify what was parsed, `lost` being the names in what was taken out."""
        assert self.module is not None
        whole = self._failure(self.module)
        if whole is None:
            return
        each = [problem for op in self.module.body.ops if (problem := self._failure(op)) is not None]
        # A call of a function that was taken out is no mistake.
        known = [problem for problem in each or [whole] if not _names_one_of(lost, problem.message)]
        self.problems += known

    def _failure(self, op: Operation) -> Problem | None:
        try:
            verify(op)
        except DiagnosticError as error:
            return self._problem(error.diagnostic)
        except Exception as error:
            return self._problem(InternalError.in_step("the verifier", error, op).diagnostic)
        return None

    def _problem(self, diagnostic: Diagnostic) -> Problem:
        start, end = self._range(diagnostic.location)
        return Problem(start, end, diagnostic.message, tuple(map(self._problem, diagnostic.notes)))

    def _range(self, location: LocationAttr) -> tuple[int, int]:
        """The token at a location, else the place alone; the start of the text if it is elsewhere."""
        found = find_file_location(location)
        if found is None or found.filename.data != _NAME:
            return 0, 0
        line = self._line_starts[min(found.line.data, len(self._line_starts)) - 1]
        start = min(line + max(found.column.data - 1, 0), len(self.text))
        index = self.tokens.index_before(start)
        if index >= 0 and ((token := self.tokens.all[index]).end > start or not self.text[token.end :].strip()):
            return token.start, token.end
        return start, min(start + 1, len(self.text))

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(index + 1 for index, char in enumerate(self.text) if char == "\n")]

    # --- Looking up --------------------------------------------------------------------------------------------------

    @cached_property
    def ops(self) -> list[RecordedOp]:
        """Every op, those with errors too, by their places."""
        return sorted((op for record in self.records for op in record.ops), key=lambda op: op.start)

    @cached_property
    def values(self) -> list[RecordedValues]:
        """Every definition of SSA values, by their places."""
        return sorted((value for record in self.records for value in record.values), key=lambda value: value.start)

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Every op with a symbol, by their places; functions also where their text is not finished."""
        return [symbol for op in self.ops if (symbol := self._symbol(op)) is not None]

    def scope_at(self, offset: int) -> Scope | None:
        """The innermost region around a place."""
        scopes = (scope for record in self.records for scope in record.scopes if scope.holds(offset))
        return max(scopes, key=lambda scope: (scope.parent is not None, scope.start), default=None)

    def visible_values(self, offset: int) -> list[RecordedValues]:
        """The values whose names mean something at a place."""
        scope = self.scope_at(offset)
        return [value for value in self.values if scope is not None and scope.sees(value.scope)]

    def definition_of(self, token: Token) -> RecordedValues | None:
        """The definition of the value that a `%name` names."""
        named = [value for value in self.values if value.name == token.text]
        if (here := next((value for value in named if value.start == token.start), None)) is not None:
            return here
        scope = self.scope_at(token.start)
        return next((value for value in named if scope is not None and scope.sees(value.scope)), None)

    def _symbol(self, op: RecordedOp) -> Symbol | None:
        if op.op is None:
            is_symbol = op.op_type is not None and op.op_type.has_trait(SymbolOpInterface, value_if_unregistered=False)
            name = None
        else:
            name = op.op.get_attr_or_prop("sym_name")
            is_symbol = isinstance(name, StringAttr)
        if not is_symbol:
            return None
        for token in islice(self.tokens.all, self.tokens.index_before(op.name_end) + 1, None):
            if token.start >= op.end:
                return None
            if _is_symbol(token) and (name is None or token.text.strip('@"') == getattr(name, "data", None)):
                return Symbol(token.text, token.start, token.end, op)
        return None


def _names_one_of(names: set[str], message: str) -> bool:
    """Whether a message is about one of some names: `@f`, `'f'` or `"f"` is about `@f`."""
    forms = (form for name in names for form in (name, f"'{name.lstrip('@')}'", f'"{name.lstrip("@")}"'))
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?![\w.])", message) is not None for form in forms)


def _is_symbol(token: Token) -> bool:
    return token.kind is MLIRTokenKind.AT_IDENT


def _broken(record: Record, error: int) -> tuple[int, int]:
    """What to take out so that the rest parses: the op of the outermost level that the parser was in, or a line."""
    tokens = record.tokens
    open_ops = record.unfinished
    if len(open_ops) > 1 and open_ops[0].op_type is ModuleOp:
        open_ops = open_ops[1:]
    reached = max(record.reached, error)
    lines = tokens.line_starts
    if record.open_alias is not None:
        start = record.open_alias
    elif open_ops and open_ops[0].op_type is not ModuleOp:
        start = open_ops[0].start
    else:
        start = max((token.start for column, token in lines if column == 0 and token.start <= reached), default=0)
    index = bisect_right(lines, start, key=lambda line: line[1].start)
    column = lines[index - 1][0] if index else 0
    # A bracket at the op's column closes it; any other token there, or further out, is the next op's.
    for at, token in lines[index:]:
        if at <= column and (token.start >= reached or _begins_an_op(token)):
            closes = at == column and token.kind is MLIRTokenKind.R_BRACE
            return start, token.end if closes else token.start
    return start, len(tokens.text)


def _begins_an_op(token: Token) -> bool:
    return token.kind is MLIRTokenKind.BARE_IDENT and "." in token.text


def _part(record: Record, start: int, end: int) -> Record:
    """The record of a part of the text alone: the rest is recorded again when it is parsed without that part."""
    part = Record(record.tokens)
    part.ops = [op for op in record.ops if start <= op.start < end]
    part.values = [value for value in record.values if start <= value.start < end]
    part.scopes = [scope for scope in record.scopes if start <= scope.start < end]
    for each in (*part.ops, *part.scopes):
        each.end = min(each.end, end)
    for op in part.ops:
        if op.op is None:
            # The parser stopped in it, and what follows is being written.
            op.end = end
    for scope in part.scopes:
        if scope.end > record.reached:
            scope.end = end
    return part
