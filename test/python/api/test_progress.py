"""Progress shows on a terminal, for steps that take long, and leaves nothing behind."""

import io
import time

import pytest

from xir import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_long_step_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    stream = Terminal()
    with progress.step("Baking", stream):
        time.sleep(0.1)
    text = stream.getvalue()
    assert text.startswith("\rBaking … 0 s")
    assert text.endswith("\r\033[K")


def test_short_step_says_nothing() -> None:
    stream = Terminal()
    with progress.step("Baking", stream):
        pass
    assert stream.getvalue() == ""


def test_a_pipe_stays_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    stream = io.StringIO()
    with progress.step("Baking", stream):
        time.sleep(0.05)
    assert stream.getvalue() == ""


def test_the_line_is_wiped_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    stream = Terminal()

    def burn() -> None:
        with progress.step("Baking", stream):
            time.sleep(0.05)
            raise RuntimeError("burnt")

    with pytest.raises(RuntimeError, match="burnt"):
        burn()
    assert stream.getvalue().endswith("\r\033[K")
