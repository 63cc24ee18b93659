"""The golden tests on the IR: what `RUN:` lines say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commands import shell

LINES = [
    (path, line)
    for path in sorted(Path(__file__).parent.glob("*.mlir"))
    for line in re.findall(r"// RUN: (.*)", path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("path", "line"), LINES, ids=lambda value: value.stem if isinstance(value, Path) else value)
def test_lit(path: Path, line: str) -> None:
    done = shell(line.replace("%s", str(path)))
    assert done.returncode == 0, done.stdout + done.stderr
