"""Texts with places in them: `^name^` marks one, and is no part of the text."""

from __future__ import annotations

import re

from xir.lsp.analysis import TextAnalysis
from xir.lsp.names import name_at, occurrences

_MARK = re.compile(r"\^(\w+)\^")


def marked(text: str) -> tuple[str, dict[str, int]]:
    """The text without its marks, and the offset of each."""
    places: dict[str, int] = {}
    while (match := _MARK.search(text)) is not None:
        assert match[1] not in places
        places[match[1]] = match.start()
        text = text[: match.start()] + text[match.end() :]
    return text, places


def definitions_and_uses(text: str, at: int) -> tuple[list[int], list[int]]:
    """Where the name at a place is defined, and where it is used."""
    analysis = TextAnalysis(text)
    token = name_at(analysis, at)
    assert token is not None
    found = occurrences(analysis, token)
    defined = [each.start for each in found.definitions]
    return defined, [each.start for each in found.all if each.start not in defined]
