"""`--explore`: an HTML page of the program after each pass."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xir.progress import step
from xir.tools.command_line import UsageError

if TYPE_CHECKING:
    from xir.explore import Recorder
    from xir.explore.profile import MethodProfile
    from xir.ir.diagnostics import Diagnostic
    from xir.quantizer import QuantReport


class Exploration:
    """The page that is asked for, and what is recorded for it."""

    def __init__(self, path: Path, profile: MethodProfile | None):
        from xir.explore import Recorder

        self.path = path
        self.recorder: Recorder = Recorder()
        self._profile = profile

    @staticmethod
    def of(options: argparse.Namespace, profile: MethodProfile | None) -> Exploration | None:
        """What --explore asks for."""
        return None if options.explore is None else Exploration(options.explore, profile)

    def write(self, title: str, remarks: Sequence[Diagnostic], quality: QuantReport | None = None) -> None:
        """Write the page, with the errors of layers if they were measured.

        UsageError if the profile is of another program; OSError if it cannot be written.
        """
        from xir.explore import ProfileError, document, write_page
        from xir.explore.errors import charts_of, errors_of

        report = None if quality is None else quality.json()
        errors, charts = (None, None) if report is None else (errors_of(report), charts_of(report))
        with step(f"Writing {self.path}"):
            try:
                page = document(self.recorder.stages, remarks, self._profile, title, errors, charts)
            except ProfileError as error:
                raise UsageError(str(error)) from error
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_page(self.path, page)

    def write_unfinished(self, error: Diagnostic) -> None:
        """Write the page of a program that a pass refused, which has no profile."""
        self._profile = None
        if self.recorder.stages:
            self.write(str(self.path.stem), [error])
