"""Offsets in a text, and the protocol's positions: lines from 0, columns in the units of the client."""

from __future__ import annotations

from bisect import bisect_right

from lsprotocol.types import Position, Range
from pygls.workspace import PositionCodec


class Places:
    """The places of one text. One beyond the text or a line is at its end."""

    def __init__(self, text: str, codec: PositionCodec):
        self._text = text
        self._codec = codec
        self._starts = [0, *(index + 1 for index, char in enumerate(text) if char == "\n")]

    def offset(self, position: Position) -> int:
        """The offset of a position, in characters."""
        if position.line >= len(self._starts):
            return len(self._text)
        start = self._starts[position.line]
        line = self._text[start : self._end_of_line(position.line)]
        if not line:
            return start
        return start + self._codec.position_from_client_units([line], Position(0, position.character)).character

    def position(self, offset: int) -> Position:
        """The position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._codec.client_num_units(self._text[self._starts[line] : offset]))

    def range(self, start: int, end: int) -> Range:
        """The range between two offsets."""
        return Range(self.position(start), self.position(end))

    def _end_of_line(self, line: int) -> int:
        return self._starts[line + 1] - 1 if line + 1 < len(self._starts) else len(self._text)
