"""What a name in the text stands for: where it is defined, and where it is used."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.utils.mlir_lexer import MLIRTokenKind as Kind

from xir.lsp.analysis import TextAnalysis
from xir.lsp.tokens import Token

NAMES = {Kind.PERCENT_IDENT, Kind.AT_IDENT, Kind.HASH_IDENT, Kind.EXCLAMATION_IDENT, Kind.CARET_IDENT}


@dataclass(frozen=True)
class Occurrences:
    """The places of one name; `definitions` are among `all`."""

    definitions: list[Token]
    all: list[Token]


def name_at(analysis: TextAnalysis, offset: int) -> Token | None:
    """The name of a value, symbol, alias or block at a place."""
    token = analysis.tokens.at(offset)
    return token if token is not None and token.kind in NAMES else None


def occurrences(analysis: TextAnalysis, token: Token) -> Occurrences:
    """All places of what a name stands for, in the module that it is in."""
    match token.kind:
        case Kind.PERCENT_IDENT:
            return _of_value(analysis, token)
        case Kind.AT_IDENT:
            same = [each for each in analysis.tokens if each.kind is Kind.AT_IDENT and each.text == token.text]
            places = {symbol.start for symbol in analysis.symbols}
            return Occurrences([each for each in same if each.start in places], same)
        case Kind.CARET_IDENT:
            scope = analysis.scope_at(token.start)
            same = [each for each in analysis.tokens if each.kind is Kind.CARET_IDENT and each.text == token.text]
            same = [each for each in same if analysis.scope_at(each.start) is scope]
            first = {each.start for _, each in analysis.tokens.line_starts}
            return Occurrences([each for each in same if each.start in first], same)
        case _:
            same = [each for each in analysis.tokens if each.kind is token.kind and each.text == token.text]
            return Occurrences([each for each in same if is_alias_definition(analysis, each)], same)


def is_alias_definition(analysis: TextAnalysis, token: Token) -> bool:
    """Whether a `#name` or `!name` is one that is being defined: `#name = …`."""
    index = analysis.tokens.index_before(token.start)
    following = analysis.tokens.all[index + 1 : index + 2]
    starts_line = index == 0 or "\n" in analysis.text[analysis.tokens.all[index - 1].end : token.start]
    return starts_line and bool(following) and following[0].kind is Kind.EQUAL


def _of_value(analysis: TextAnalysis, token: Token) -> Occurrences:
    definition = analysis.definition_of(token)
    same = [each for each in analysis.tokens if each.kind is Kind.PERCENT_IDENT and each.text == token.text]
    if definition is None:
        # In text that did not parse: what is called the same in the same region.
        scope = analysis.scope_at(token.start)
        return Occurrences([], [each for each in same if analysis.scope_at(each.start) is scope])
    found = [each for each in same if analysis.definition_of(each) is definition]
    return Occurrences([each for each in found if each.start == definition.start], found)
