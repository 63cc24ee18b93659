"""What could stand where somebody is writing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache

from xdsl.ir import Dialect, Operation, TypeAttribute
from xdsl.irdl import IRDLOperation
from xdsl.utils.mlir_lexer import MLIRTokenKind as Kind

from xir.dialects.registry import DIALECTS
from xir.documentation import accepted, op_text, summary
from xir.ir.context import XirContext
from xir.lsp.analysis import TextAnalysis
from xir.lsp.hover import value_types
from xir.lsp.names import is_alias_definition
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES, describe

_OP_PLACE = re.compile(r'^\s*(?:%[\w$.-]+(?::\d+)?(?:\s*,\s*%[\w$.-]+(?::\d+)?)*\s*=\s*)?"?([A-Za-z_][\w$.]*)?$')
_NAME_PLACE = re.compile(r"[%@#!][\w$.-]*$")
_WORD = re.compile(r"[A-Za-z_][\w$.]*$|(?<![\w$.])$")
_PASS_PLACE = re.compile(r"^\s*//\s*RUN:.*\s--?([\w-]*)$")


class What(Enum):
    """What is to be chosen."""

    OP = "op"
    VALUE = "value"
    SYMBOL = "symbol"
    TYPE = "type"
    ATTRIBUTE = "attribute"
    PROPERTY = "property"
    PASS = "pass"


@dataclass(frozen=True)
class CompletionChoice:
    """A text that could stand between two places, and what it is."""

    what: What
    text: str
    start: int
    end: int
    detail: str = ""


def complete(analysis: TextAnalysis, offset: int) -> list[CompletionChoice]:
    """The choices at a place, which is the end of what is written so far; those that do not start like it left out."""
    line = analysis.text[analysis.text.rfind("\n", 0, offset) + 1 : offset]
    if (run := _PASS_PLACE.match(line)) is not None:
        return _starting(run[1], _passes(), What.PASS, offset)
    if "//" in line:
        return []
    if (name := _NAME_PLACE.search(line)) is not None:
        return _names(analysis, name[0], offset)
    if (op := _op_of_attributes(analysis, offset)) is not None:
        word = _WORD.search(line)
        return _starting(word[0] if word else "", _properties(op), What.PROPERTY, offset)
    if (op_place := _OP_PLACE.match(line)) is not None:
        return _starting(op_place[1] or "", ((name, summary(op)) for name, op in ops().items()), What.OP, offset)
    return []


def documentation(name: str) -> str:
    """Of the op of that name, Markdown; "" if there is none."""
    op = ops().get(name)
    return "" if op is None else op_text(op)


def ops() -> dict[str, type[Operation]]:
    """Every op by its name."""
    return {op.name: op for dialect in _dialects() for op in dialect.operations}


@cache
def _dialects() -> tuple[Dialect, ...]:
    ctx = XirContext()
    return tuple(each for name in ("builtin", *DIALECTS) if (each := ctx.get_optional_dialect(name)) is not None)


def _starting(prefix: str, choices: Iterator[tuple[str, str]], what: What, end: int) -> list[CompletionChoice]:
    return [
        CompletionChoice(what, text, end - len(prefix), end, detail)
        for text, detail in choices
        if text.startswith(prefix)
    ]


def _passes() -> Iterator[tuple[str, str]]:
    yield from ((name, describe(name).summary) for name in PASSES)
    yield from ((name, each.reason or each.text) for name, each in PIPELINES.items())


def _names(analysis: TextAnalysis, prefix: str, offset: int) -> list[CompletionChoice]:
    match prefix[0]:
        case "%":
            values = [each for each in analysis.visible_values(offset) if not each.start <= offset <= each.end]
            named = ((each.name, value_types(each)) for each in values)
            return _starting(prefix, named, What.VALUE, offset)
        case "@":
            symbols = ((each.name, each.op.name) for each in analysis.symbols if not each.start <= offset <= each.end)
            return _starting(prefix, symbols, What.SYMBOL, offset)
        case sigil:
            what = What.TYPE if sigil == "!" else What.ATTRIBUTE
            return _starting(prefix, _aliases_and_attributes(analysis, sigil), what, offset)


def _aliases_and_attributes(analysis: TextAnalysis, sigil: str) -> Iterator[tuple[str, str]]:
    kind = Kind.EXCLAMATION_IDENT if sigil == "!" else Kind.HASH_IDENT
    for token in analysis.tokens:
        if token.kind is kind and is_alias_definition(analysis, token):
            yield token.text, analysis.text[token.end :].split("\n", 1)[0].lstrip(" =")
    for dialect in _dialects():
        if dialect.name == "builtin":
            continue  # whose types and attributes have no sigil
        for attribute in dialect.attributes:
            if issubclass(attribute, TypeAttribute) == (sigil == "!"):
                yield f"{sigil}{attribute.name}", (attribute.__doc__ or "").strip().split("\n")[0]


def _op_of_attributes(analysis: TextAnalysis, offset: int) -> type[IRDLOperation] | None:
    """The op in whose `{name = value, ...}` a place is where a name belongs."""
    bracket = analysis.tokens.open_bracket(offset)
    if bracket is None or bracket.kind is not Kind.L_BRACE:
        return None
    before = re.sub(r"[\w$.]*$", "", analysis.text[bracket.start : offset]).rstrip()
    if before[-1:] not in ("{", ","):
        return None
    owner = max((op for op in analysis.ops if 0 < op.name_end <= bracket.start), key=lambda op: op.start, default=None)
    if owner is None or owner.op_type is None or not issubclass(owner.op_type, IRDLOperation):
        return None
    has_region = bool(owner.op_type.get_irdl_definition().regions)
    return None if has_region and "\n" in analysis.text[bracket.end : offset] else owner.op_type


def _properties(op: type[IRDLOperation]) -> Iterator[tuple[str, str]]:
    for name, prop in op.get_irdl_definition().properties.items():
        yield name, accepted(prop.constr).replace("`", "")
