"""Texts of messages: names in them may come from a file, and be as long as it likes."""

from __future__ import annotations

import re

LONGEST_NAME = 500
"""The characters of a name, or anything else without a space, that messages show whole: as much as most paths have."""

LONGEST_TEXT = 8_000
"""The same of all the names that a message lists, and of one with spaces."""

KEPT = 200
"""The characters that are left at either end of what is longer."""

_LONG_NAME = re.compile(rf"\S{{{LONGEST_NAME + 1},}}")


def shortened(text: str) -> str:
    """A message without the middle of what is too long to be read."""
    if len(text) <= LONGEST_NAME:
        return text
    text = _LONG_NAME.sub(lambda found: _without_middle(found[0]), text)
    return text if len(text) <= LONGEST_TEXT else _without_middle(text)


def _without_middle(text: str) -> str:
    return f"{text[:KEPT]}...{text[-KEPT:]}"
