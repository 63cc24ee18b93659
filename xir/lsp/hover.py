"""What an editor shows of the thing under the mouse, as Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.utils.mlir_lexer import MLIRTokenKind as Kind

from xir.documentation import op_text
from xir.lsp.analysis import TextAnalysis
from xir.lsp.names import name_at, occurrences
from xir.lsp.recording import RecordedOp, RecordedValues
from xir.lsp.tokens import Token
from xir.transforms.pipelines import PIPELINES
from xir.transforms.registry import PASSES, describe

_LONGEST = 400
"""So much of an op's or alias's text is shown."""

FLAG = re.compile(r"--?([A-Za-z][\w-]*)")


@dataclass(frozen=True)
class Hover:
    """Markdown about the text between two places."""

    start: int
    end: int
    text: str


def hover(analysis: TextAnalysis, offset: int) -> Hover | None:
    """What there is to say of the text at a place: of an op, a value, a symbol, an alias, a pass in a `RUN:` line."""
    if (flag := _flag(analysis.text, offset)) is not None:
        return flag
    for op in analysis.ops:
        if op.op_type is not None and op.name_start <= offset < op.name_end:
            text = f"**`{op.op_type.name}`**\n\n{op_text(op.op_type)}"
            return Hover(op.name_start, op.name_end, text)
    token = name_at(analysis, offset)
    if token is None:
        return None
    text = _of_value(analysis, token) if token.kind is Kind.PERCENT_IDENT else _of_definition(analysis, token)
    return None if text is None else Hover(token.start, token.end, text)


def value_types(value: RecordedValues) -> str:
    """The types of what a name stands for, as the text has them."""
    return ", ".join(str(each.type) for each in value.values)


def _of_value(analysis: TextAnalysis, token: Token) -> str | None:
    value = analysis.definition_of(token)
    if value is None:
        return None
    text = f"```mlir\n{value.name} : {value_types(value)}\n```\n"
    if value.is_argument:
        return f"{text}\nAn argument of `{_called(analysis, value.owner)}`"
    if value.owner is None:
        return text
    return f"{text}\nDefined by\n\n```mlir\n{_head(analysis, value.owner)}\n```"


def _of_definition(analysis: TextAnalysis, token: Token) -> str | None:
    """The text that defines a symbol or an alias; the docstring's place is the op's name."""
    found = occurrences(analysis, token).definitions
    if not found:
        return None
    symbol = next((each for each in analysis.symbols if each.start == found[0].start), None)
    if symbol is not None:
        return f"```mlir\n{_head(analysis, symbol.op)}\n```"
    end = analysis.text.find("\n", found[0].start)
    return f"```mlir\n{_short(analysis.text[found[0].start : end if end >= 0 else None])}\n```"


def _called(analysis: TextAnalysis, op: RecordedOp | None) -> str:
    """An op's name, with its symbol if it has one."""
    if op is None:
        return "builtin.module"
    symbol = next((each.name for each in analysis.symbols if each.op is op), "")
    return f"{op.name} {symbol}".rstrip()


def _head(analysis: TextAnalysis, op: RecordedOp) -> str:
    """An op's text up to its first region."""
    return _short(analysis.text[op.start : op.end if op.head_end is None else op.head_end].rstrip())


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _flag(text: str, offset: int) -> Hover | None:
    """A pass or pipeline in a `RUN:` line."""
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:].split("\n", 1)[0]
    if "RUN:" not in line or not line.lstrip().startswith("//"):
        return None
    for match in FLAG.finditer(line):
        if match.start() <= offset - start <= match.end():
            name = match[1]
            if name in PIPELINES:
                about = f"**`{name}`** is `{PIPELINES[name].text}`\n\n{PIPELINES[name].reason}".rstrip()
                return Hover(start + match.start(), start + match.end(), about)
            if name in PASSES:
                info = describe(name)
                about = f"**`{name}`**\n\n{info.summary}\n\n{info.description}".rstrip()
                return Hover(start + match.start(), start + match.end(), about)
    return None
