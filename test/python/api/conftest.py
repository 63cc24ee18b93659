"""`xir-aot` in a folder of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from reference.tools import Tool

from xir.tools.xir_aot import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def aot(folder: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    """The command, in `folder`."""
    return Tool(main, capsys)
