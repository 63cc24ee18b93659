"""Texts for calibration and measurement."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xir.llm.errors import LlmError
from xir.llm.tokenizer import Tokenizer

LENGTH = 128
"""Tokens of a piece. Each piece is computed separately, from position 0."""

PIECES = 24
"""Pieces for calibration, evenly spread over the text."""

HELD_OUT = 4
"""Pieces for measuring perplexity."""

LEAST = 64
"""The least number of tokens of a calibration text."""


@dataclass
class Calibration:
    """A text in pieces of equally many tokens."""

    name: str
    seen: list[list[int]]
    """The pieces that 4-bit weights are rounded for."""
    held_out: list[list[int]]
    """The pieces for measuring perplexity, from the end of the text."""
    before: float | None = None
    """The model's perplexity on `held_out` before rounding. Set by the export."""
    after: float | None = None
    """The same after rounding."""
    in_8_bits: list[str] = field(default_factory=list[str])
    """The linear layers that got 8 bits by `ExportOptions.max_bytes`. Set by the export."""

    def __str__(self) -> str:
        count = len(self.held_out) * (len(self.held_out[0]) - 1)
        if self.before is None or self.after is None:
            return f"{self.name}: {count} tokens held out"
        change = 100 * (self.after / self.before - 1)
        layers = f"8 bits for {', '.join(self.in_8_bits)}\n" if self.in_8_bits else ""
        return (
            f"{layers}perplexity {self.before:.2f} before, {self.after:.2f} after ({change:+.1f} %), on {count} tokens "
            f"of {self.name} that calibration has not seen"
        )


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file in UTF-8. LlmError if it is not UTF-8; OSError if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LlmError(f"{os.fspath(path)}: no text in UTF-8: {error.reason} at byte {error.start}") from error


def calibration_of(path: str | os.PathLike[str], tokenizer: Tokenizer, positions: int | None) -> Calibration:
    """The pieces of a text file, for a model with `positions` positions. LlmError for a text that is too short."""
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
