"""Bugs of the compiler or of a plugin: where they happened, and how a tool reports them.

Whatever ends a pass and is no diagnostic is a bug, whatever its type: a `ValueError` of a pass says nothing about the
user's program. The op is found without the help of passes, most of which are plain loops: it is what the innermost
function on the traceback was working on.
"""

from __future__ import annotations

from typing import TextIO

from xdsl.ir import Operation

from xir.ir.diagnostics import Diagnostic, Severity, note, op_name
from xir.ir.location import Locatable, location_of
from xir.ir.plugin_bugs import plugin_line

EXIT_CODE = 70
"""The exit code of a tool that hit a bug: `EX_SOFTWARE` of BSD's `sysexits.h`. For a user's mistake it is 1."""


class InternalError(Exception):
    """A bug, located in the user's program; `__cause__` is the exception by which it showed."""

    def __init__(self, what: str, where: Locatable, error: Exception):
        self.what = what
        message = f"internal error in {what}: {describe(error)}"
        self.diagnostic = Diagnostic(Severity.ERROR, location_of(where), message)
        super().__init__(str(self.diagnostic))

    @classmethod
    def in_step(cls, step: str, error: Exception, root: Operation) -> InternalError:
        """The bug of a step on `root` that raised `error`."""
        op = op_in_work(error, root)
        return cls(f"{step} at op '{op_name(op)}'", op, error)


def describe(error: Exception) -> str:
    """The type and message of an exception on one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def op_in_work(error: BaseException, root: Operation) -> Operation:
    """The op that the innermost function with one had at hand when `error` was raised; `root` if there is none.

    Of several it is the first that has no other in its regions: a loop over a graph is at one of its nodes.
    """
    import traceback  # what only a bug needs takes its part of every start

    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        values = frame.f_locals
        # What was being built when it failed is no op yet.
        ops = [
            value
            for value in (values.get("op"), *values.values())
            if isinstance(value, Operation) and value is not root and hasattr(value, "attributes")
        ]
        if ops:
            return next(op for op in ops if not any(each is not op and op.is_ancestor(each) for each in ops))
    return root


def report_bug(error: Exception, tool: str, stream: TextIO) -> int:
    """Report an exception that is a bug, with its traceback; returns the exit code. A plugin's is at its own line."""
    import traceback

    cause = error
    if isinstance(error, InternalError) and isinstance(error.__cause__, Exception):
        cause = error.__cause__
    if (line := plugin_line(cause)) is not None:
        stream.write(f"{line[0]}:{line[1]}: error: {describe(cause)}\n")
        if isinstance(error, InternalError):
            stream.write(f"{note(error.diagnostic.location, f'it ended {error.what}')}\n")
        stream.write("This is a bug of the plugin, to be mended there, whatever the input. Its traceback:\n")
        traceback.print_exception(cause, file=stream)
        return EXIT_CODE
    if isinstance(error, InternalError):
        stream.write(f"{error.diagnostic}\n")
    else:
        stream.write(f"{tool}: internal error: {describe(error)}\n")
    stream.write("This is a bug in xir or in a plugin, whatever the input. The traceback belongs in its report:\n")
    traceback.print_exception(cause, file=stream)
    return EXIT_CODE
