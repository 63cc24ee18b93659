"""Lines of tests' own sources, which programs are to tell."""

from __future__ import annotations

from pathlib import Path


def line_of(file: str, text: str) -> int:
    """The number of the one line of a file that ends with `text`."""
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    (number,) = [index for index, line in enumerate(lines, 1) if line.endswith(text)]
    return number
