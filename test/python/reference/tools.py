"""The commands of xir, called in this process as one types them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

import pytest


class Tool:
    """A command by its `main`. What it printed last is in `out` and `err`."""

    def __init__(self, main: Callable[[Sequence[str]], int], capture: pytest.CaptureFixture[str]):
        self.main, self.capture = main, capture
        self.out = self.err = ""

    def __call__(self, command: str, code: int = 0) -> str:
        """What the command prints to standard output; it ends with this exit code."""
        self.capture.readouterr()
        found = self.main(shlex.split(command))
        self.out, self.err = self.capture.readouterr()
        assert found == code, self.err
        return self.out

    def refuse(self, command: str) -> str:
        """The one line of standard error with which the command ends, and nothing else."""
        assert self(command, code=1) == ""
        assert self.err.count("\n") == 1, self.err
        return self.err
