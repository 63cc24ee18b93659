"""MLIR's tokens from one regular expression: the same language as xDSL's lexer, several times faster.

Whatever the expression does not match (the end of the file, a stray character) goes to xDSL's lexer, which knows how to
complain. Every repetition is possessive: no text makes the expression backtrack.
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Position, Span, Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

_SUFFIX_ID = r"(?:[0-9]+|[a-zA-Z$._-][a-zA-Z0-9$._-]*)"
_BARE_ID = r"[a-zA-Z_][a-zA-Z0-9_$.]*"
_STRING = r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'

_TOKENS: dict[MLIRTokenKind, str] = {
    MLIRTokenKind.PERCENT_IDENT: f"%{_SUFFIX_ID}",
    MLIRTokenKind.BARE_IDENT: _BARE_ID,
    MLIRTokenKind.COMMA: ",",
    MLIRTokenKind.COLON: ":",
    MLIRTokenKind.L_PAREN: r"\(",
    MLIRTokenKind.R_PAREN: r"\)",
    MLIRTokenKind.FLOAT_LIT: r"[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?",
    MLIRTokenKind.INTEGER_LIT: r"0x[0-9a-fA-F]+|[0-9]+",
    MLIRTokenKind.EQUAL: "=",
    MLIRTokenKind.ARROW: "->",
    MLIRTokenKind.LESS: "<",
    MLIRTokenKind.GREATER: ">",
    MLIRTokenKind.FILE_METADATA_BEGIN: r"\{-#",
    MLIRTokenKind.FILE_METADATA_END: r"#-\}",
    MLIRTokenKind.L_BRACE: r"\{",
    MLIRTokenKind.R_BRACE: r"\}",
    MLIRTokenKind.L_SQUARE: r"\[",
    MLIRTokenKind.R_SQUARE: r"\]",
    MLIRTokenKind.STRING_LIT: _STRING,
    MLIRTokenKind.AT_IDENT: f"@(?:{_BARE_ID}|{_STRING})",
    MLIRTokenKind.HASH_IDENT: f"#{_SUFFIX_ID}",
    MLIRTokenKind.EXCLAMATION_IDENT: f"!{_SUFFIX_ID}",
    MLIRTokenKind.CARET_IDENT: rf"\^{_SUFFIX_ID}",
    MLIRTokenKind.MINUS: "-",
    MLIRTokenKind.PLUS: r"\+",
    MLIRTokenKind.STAR: r"\*",
    MLIRTokenKind.SLASH: "/",
    MLIRTokenKind.QUESTION: r"\?",
    MLIRTokenKind.VERTICAL_BAR: r"\|",
    MLIRTokenKind.ELLIPSIS: r"\.\.\.",
}
"""Kind -> expression, in the order in which they are tried: longer before its prefix, frequent before rare."""

_KINDS = (None, *_TOKENS)
_SPACE = r"(?:[ \t\n\r\f\v]+|//[^\n]*)*+"
_TOKEN_REGEX = re.compile(f"{_SPACE}(?:{'|'.join(f'({regex})' for regex in _TOKENS.values())})")
_OPEN_STRING_REGEX = re.compile(f'{_SPACE}@?"')


class XirToken(Token[MLIRTokenKind, str]):
    """A token that builds its span on demand, and its text only once."""

    __slots__ = ("end", "input", "kind", "start", "text")

    def __init__(self, kind: MLIRTokenKind, start: Position, end: Position, source: Input[str], text: str):
        self.kind = kind
        self.start = start
        self.end = end
        self.input = source
        self.text = text  # pyright: ignore[reportIncompatibleMethodOverride, reportAttributeAccessIssue]

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Where the token is in the input."""
        return Span(self.start, self.end, self.input)


class XirLexer(MLIRLexer):
    """Lexes MLIR text with one regular-expression match per token."""

    def lex(self) -> MLIRToken:
        """The next token, or an EOF token at the end. ParseError if the text is no token."""
        match = _TOKEN_REGEX.match(self.input.content, self.pos)
        if match is None:
            if (start_of_string := _OPEN_STRING_REGEX.match(self.input.content, self.pos)) is not None:
                # xDSL's expression for strings takes exponential time where there is no closing quote.
                position = start_of_string.end() - 1
                raise ParseError(
                    Span(position, position + 1, self.input), "unclosed string, or an unknown escape in it"
                )
            return super().lex()
        group = match.lastindex
        assert group is not None
        start, end = match.span(group)
        self.pos = end
        text = match.group(group)
        kind = _KINDS[group]
        if kind is MLIRTokenKind.STRING_LIT and "\\" in text:
            # Escapes may make it a byte string. In MLIR text is UTF-8; xDSL takes all but ASCII for bytes.
            self.pos = start
            token = super().lex()
            if token.kind is MLIRTokenKind.BYTES_LIT and _is_text(StringLiteral(start, end, self.input)):
                return XirToken(kind, start, end, self.input, text)
            return token
        assert kind is not None
        return XirToken(kind, start, end, self.input, text)


def _is_text(literal: StringLiteral) -> bool:
    try:
        literal.bytes_contents.decode()
    except UnicodeDecodeError:
        return False
    return True
