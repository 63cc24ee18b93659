"""Progress shows on a terminal, for steps that take long, and leaves nothing behind."""

from __future__ import annotations

import io
import time
from contextlib import suppress

import pytest

from xir import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, error: Exception | None = None) -> str:
    """What a step leaves on a stream that takes longer than patience allows, and then may fail."""
    with suppress(RuntimeError), progress.step("Baking", stream):
        time.sleep(0.05)
        if error is not None:
            raise error
    return stream.getvalue()


def test_long_steps_show_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(Terminal()) == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    assert shown(io.StringIO()) == ""
    for error in (None, RuntimeError("burnt")):
        text = shown(Terminal(), error)
        assert text.startswith("\rBaking … 0 s")
        assert text.endswith("\r\033[K")
