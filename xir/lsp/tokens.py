"""The tokens of a text that need not be right."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRTokenKind

from xir.ir.lexer import XirLexer

Kind = MLIRTokenKind
_OPENING = {Kind.L_BRACE, Kind.L_PAREN, Kind.L_SQUARE}
_CLOSING = {Kind.R_BRACE, Kind.R_PAREN, Kind.R_SQUARE}


@dataclass(frozen=True)
class Token:
    """A token and where it is; `start` and `end` are offsets in the text."""

    kind: MLIRTokenKind
    start: int
    end: int
    text: str


class Tokens:
    """All tokens of a text, in order. Characters that are part of none are left out."""

    def __init__(self, text: str):
        self.text = text
        self.all = list(_lex(text))
        self._starts = [token.start for token in self.all]

    def __iter__(self) -> Iterator[Token]:
        return iter(self.all)

    def index_before(self, offset: int) -> int:
        """The index of the last token that starts at `offset` or before it; -1 if there is none."""
        return bisect_right(self._starts, offset) - 1

    def at(self, offset: int) -> Token | None:
        """The token that holds the character at `offset`, else the one that ends there."""
        index = self.index_before(offset)
        found = self.all[index] if index >= 0 else None
        if found is not None and found.start == offset and index > 0 and not _is_word(found):
            before = self.all[index - 1]
            found = before if before.end == offset and _is_word(before) else found
        return found if found is not None and offset <= found.end else None

    def end_before(self, offset: int) -> int:
        """Where the last token that starts before `offset` ends; 0 if there is none."""
        index = self.index_before(offset - 1)
        return self.all[index].end if index >= 0 else 0

    def open_bracket(self, offset: int) -> Token | None:
        """The innermost bracket that is open at `offset`."""
        depth = 0
        for index in range(self.index_before(offset - 1), -1, -1):
            token = self.all[index]
            if token.kind in _CLOSING:
                depth += 1
            elif token.kind in _OPENING:
                if depth == 0:
                    return token
                depth -= 1
        return None

    @cached_property
    def line_starts(self) -> list[tuple[int, Token]]:
        """(column, token) of the first token of each line that has one; columns count from 0."""
        found: list[tuple[int, Token]] = []
        for before, token in pairwise([None, *self.all]):
            assert token is not None
            if before is None or "\n" in self.text[before.end : token.start]:
                found.append((token.start - self.text.rfind("\n", 0, token.start) - 1, token))
        return found


def _is_word(token: Token) -> bool:
    """Whether it is a name, and no punctuation."""
    return token.text[:1] in '%@#!^"' or token.text[:1].isalnum() or token.text[:1] == "_"


def _lex(text: str) -> Iterator[Token]:
    lexer = XirLexer(Input(text, ""))
    while lexer.pos < len(text):
        before = lexer.pos
        try:
            token = lexer.lex()
        except ParseError as error:
            lexer.pos = max(before + 1, error.span.end)
            continue
        if token.kind is MLIRTokenKind.EOF:
            return
        span = token.span
        yield Token(token.kind, span.start, span.end, span.text)
