"""Diagnostics: what a pass or a tool tells its user, always with a place in the user's program.

Passes *emit* (`ctx.diagnostics.remark(op, "...")`) and go on, or *raise* `DiagnosticError` where they cannot. Handlers
decide what becomes of a diagnostic: tools print it, `--verify-diagnostics` matches it, the API collects it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, TextIO

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.ir import Operation

from xir.ir.location import Locatable, find_file_location, format_location, location_of
from xir.ir.shown_text import shortened

LONGEST_SHOWN = 400
"""Source lines with more characters are not shown below a diagnostic."""


class Severity(Enum):
    """How bad it is; the value is the word printed."""

    ERROR = "error"
    WARNING = "warning"
    REMARK = "remark"
    NOTE = "note"


@dataclass(frozen=True)
class Diagnostic:
    """One message at one location, with notes that point elsewhere."""

    severity: Severity
    location: LocationAttr
    message: str
    notes: tuple[Diagnostic, ...] = ()

    def head(self) -> str:
        """`file:line:col: error: message`, without the notes."""
        return shortened(f"{format_location(self.location)}: {self.severity.value}: {self.message}")

    def __str__(self) -> str:
        """One line for the diagnostic and one for each note."""
        return "\n".join((self.head(), *map(str, self.notes)))


def note(where: Locatable, message: str) -> Diagnostic:
    """A note to attach to another diagnostic."""
    return Diagnostic(Severity.NOTE, location_of(where), message)


def op_name(op: Operation) -> str:
    """The name in the text: `op.name`, except that an unregistered op's class has no name of its own."""
    name = op.attributes.get("op_name__")
    return op.name if name is None else str(getattr(name, "data", op.name))


class DiagnosticError(Exception):
    """A user's mistake or a limit of the compiler, with its place: ends the compilation with one diagnostic.

    Raise it for anything that the user can fix; a broken invariant of the compiler itself stays an assertion.
    """

    def __init__(self, where: Locatable, message: str, notes: Sequence[Diagnostic] = ()):
        self.diagnostic = Diagnostic(Severity.ERROR, location_of(where), message, tuple(notes))
        super().__init__(str(self.diagnostic))


class WrongStageError(DiagnosticError):
    """What comes before the passes has made another program of the one that it was given."""

    stage: ClassVar[str]
    """Its name: `quantize` or `import`."""


class AlreadyReportedError(Exception):
    """A pass emitted errors through the engine; the compilation ends and there is nothing left to print."""


Handler = Callable[[Diagnostic], bool]
"""Handles a diagnostic. Returns True if nothing else has to be done, False to pass it on to the handler below."""


@dataclass
class DiagnosticEngine:
    """The diagnostics of one context: a stack of handlers, the newest first.

    With no handler, errors and warnings go to stderr and remarks are dropped, so that a library user is not flooded.
    """

    handlers: list[Handler] = field(default_factory=list[Handler])
    error_count: int = 0
    """Errors emitted so far. The pass manager compares it before and after a pass."""

    def emit(self, diagnostic: Diagnostic) -> None:
        """Hand a diagnostic to the handlers."""
        if diagnostic.severity is Severity.ERROR:
            self.error_count += 1
        for handler in reversed(self.handlers):
            if handler(diagnostic):
                return
        if diagnostic.severity is not Severity.REMARK:
            sys.stderr.write(f"{diagnostic}\n")

    def error(self, where: Locatable, message: str, notes: Sequence[Diagnostic] = ()) -> None:
        """Emit an error and go on, to report several at once; the pass that did so fails when it returns."""
        self.emit(Diagnostic(Severity.ERROR, location_of(where), message, tuple(notes)))

    def warning(self, where: Locatable, message: str, notes: Sequence[Diagnostic] = ()) -> None:
        """Emit a warning: the result is right but probably not what the user wants."""
        self.emit(Diagnostic(Severity.WARNING, location_of(where), message, tuple(notes)))

    def remark(self, where: Locatable, message: str, notes: Sequence[Diagnostic] = ()) -> None:
        """Emit a remark: a decision of the compiler that the user may want to know, such as an op left out."""
        self.emit(Diagnostic(Severity.REMARK, location_of(where), message, tuple(notes)))

    @contextmanager
    def handler(self, handler: Handler) -> Generator[None]:
        """Put `handler` on top of the stack for the duration."""
        self.handlers.append(handler)
        try:
            yield
        finally:
            self.handlers.remove(handler)

    @contextmanager
    def collect(self) -> Generator[list[Diagnostic]]:
        """Collect all diagnostics in the list for the duration, instead of passing them on."""
        collected: list[Diagnostic] = []

        def handle(diagnostic: Diagnostic) -> bool:
            collected.append(diagnostic)
            return True

        with self.handler(handle):
            yield collected


def stream_handler(stream: TextIO, sources: Mapping[str, str] | None = None) -> Handler:
    """A handler that prints everything to `stream`.

    A place in one of `sources` (text by file name) is shown: its line, and a caret.
    """
    lines = {name: text.split("\n") for name, text in (sources or {}).items()}

    def handle(diagnostic: Diagnostic) -> bool:
        for each in (diagnostic, *diagnostic.notes):
            place = find_file_location(each.location)
            shown = "" if place is None else _source_line(lines.get(place.filename.data, ()), place)
            stream.write(f"{each.head()}\n{shown}")
        return True

    return handle


def _source_line(lines: Sequence[str], place: FileLineColLoc) -> str:
    """A source line and a caret below its column; empty if there is no such line, or if it is too long."""
    line, column = place.line.data, place.column.data
    if not 0 < line <= len(lines) or not 0 < column <= len(lines[line - 1]) + 1 or len(lines[line - 1]) > LONGEST_SHOWN:
        return ""
    # Tabs are kept, so that the caret is below its character.
    blank = "".join("\t" if char == "\t" else " " for char in lines[line - 1][: column - 1])
    return f"{lines[line - 1]}\n{blank}^\n"
