"""Files of several inputs, one after the other, which tests are: `--split-input-file` of `mlir-opt`."""

from __future__ import annotations

SPLIT_MARKER = "// -----"
"""The line between two inputs, unless a tool is told otherwise."""


def split_input(text: str, marker: str = SPLIT_MARKER) -> list[tuple[str, int]]:
    """The parts between marker lines, each with the number of lines before it."""
    parts: list[tuple[str, int]] = []
    start = 0
    current: list[str] = []
    for number, line in enumerate(text.split("\n")):
        if line.strip() == marker:
            parts.append(("\n".join(current), start))
            current, start = [], number + 1
        else:
            current.append(line)
    return [*parts, ("\n".join(current), start)]
