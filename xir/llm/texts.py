"""Texts that a model is calibrated or measured with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xir.llm.errors import LlmError
from xir.llm.tokenizer import Tokenizer

LENGTH = 128
"""Tokens of a piece: each is computed by itself, from position 0."""

PIECES = 24
"""How many pieces weights are rounded for, taken from all over the text."""

HELD_OUT = 4
"""How many pieces perplexity is measured with."""

LEAST = 64
"""Tokens that a calibration text has at least."""


@dataclass
class Calibration:
    """A text in pieces, tokens, as many in each."""

    name: str
    seen: list[list[int]]
    """Those that 4-bit weights are rounded for."""
    held_out: list[list[int]]
    """Those that perplexity is measured with, from the end of the text."""
    before: float | None = None
    """The model's perplexity on those held out, as it was. Set by the export."""
    after: float | None = None
    """The same with weights rounded."""

    def __str__(self) -> str:
        count = len(self.held_out) * (len(self.held_out[0]) - 1)
        if self.before is None or self.after is None:
            return f"{self.name}: {count} tokens held out"
        change = 100 * (self.after / self.before - 1)
        return (
            f"perplexity {self.before:.2f} before, {self.after:.2f} after ({change:+.1f} %), on {count} tokens of "
            f"{self.name} that calibration has not seen"
        )


def read_text(path: str | os.PathLike[str]) -> str:
    """A text file in UTF-8. LlmError if it is something else; OSError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LlmError(f"{os.fspath(path)}: no text in UTF-8: {error.reason} at byte {error.start}") from error


def calibration_of(path: str | os.PathLike[str], tokenizer: Tokenizer, positions: int | None) -> Calibration:
    """The pieces of a text file, for a model that knows so many positions. LlmError for a text that is too short."""
    tokens = tokenizer.encode(read_text(path))
    if len(tokens) < LEAST:
        raise LlmError(
            f"{os.fspath(path)}: calibration takes a text of {LEAST} tokens or more, better of thousands; this one has "
            f"{len(tokens)}"
        )
    length = min(LENGTH, len(tokens) // 4, LENGTH if positions is None else positions)
    pieces = [tokens[begin : begin + length] for begin in range(0, len(tokens) - length + 1, length)]
    held_out = min(HELD_OUT, max(len(pieces) // 4, 1))
    return Calibration(os.fspath(path), _spread(pieces[:-held_out], PIECES), pieces[-held_out:])


def _spread(pieces: Sequence[list[int]], count: int) -> list[list[int]]:
    """As many, from all over."""
    if len(pieces) <= count:
        return list(pieces)
    return [pieces[index * len(pieces) // count] for index in range(count)]
