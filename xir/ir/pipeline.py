"""Textual pass pipelines: `builtin.module(partition-xnnpack{min-ops=2 ops=edge.cat,edge.add},canonicalize)`.

MLIR's syntax: passes separated by commas, options in braces separated by white space, values that hold spaces or braces
quoted. The `builtin.module(...)` around it may be left out; every pass here runs on the module. The name of a pipeline
stands for its passes.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Mapping, Sequence

from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import file_location
from xir.ir.passes import XirPass, unregistered_hint

PassFactories = Mapping[str, Callable[[], type[XirPass]]]

SOURCE_NAME = "<pass-pipeline>"
"""The file name in errors about a pipeline's text."""

_NAME = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*")
_OPTION = re.compile(r"\s*([A-Za-z0-9_-]+)(?:=('[^']*'|\"[^\"]*\"|\{[^{}]*\}|[^\s'\"{}]*))?(?=\s|$)")
_OPTIONS = re.compile(r"\{((?:[^{}'\"]|'[^']*'|\"[^\"]*\"|\{[^{}]*\})*)\}\s*")


def parse_pipeline(
    text: str, passes: PassFactories, pipelines: Mapping[str, str] = {}, within: Sequence[str] = ()
) -> list[XirPass]:
    """The passes of a pipeline. DiagnosticError at the column of what is not understood.

    `within` are the named pipelines that it is a part of.
    """
    result: list[XirPass] = []
    for name, options, column in _steps(text):
        result += instantiate(name, options, passes, pipelines, column, within)
    return result


@functools.lru_cache(maxsize=64)
def _steps(text: str) -> tuple[tuple[str, Mapping[str, str], int], ...]:
    """The names in a pipeline's text, their options and columns. Kept, since each compilation asks for the same few."""
    result: list[tuple[str, Mapping[str, str], int]] = []
    position = 0
    end = len(text.rstrip())
    if (anchor := re.match(r"\s*(?:builtin\.)?module\s*\(", text)) is not None:
        if not text.rstrip().endswith(")"):
            raise _error("expected ')' at the end of the pipeline", end)
        position = anchor.end()
        end = len(text.rstrip()) - 1
    while text[position:end].strip():
        name_match = _NAME.match(text, position, end)
        if name_match is None:
            raise _error("expected the name of a pass", position)
        name, name_start, position = name_match.group(1), name_match.start(1), name_match.end()
        if text[position:end].startswith("("):
            raise _error(f"passes run on builtin.module only, not on '{name}'", name_start)
        options: dict[str, str] = {}
        if text[position:end].startswith("{"):
            options_match = _OPTIONS.match(text, position, end)
            if options_match is None:
                raise _error("unbalanced braces or quotes in the options", position)
            options = parse_options(options_match.group(1), position + 1)
            position = options_match.end()
        result.append((name, options, name_start))
        if position < end:
            if text[position] != ",":
                raise _error("expected ',' between passes", position)
            position += 1
            if not text[position:end].strip():
                raise _error("expected a pass after ','", position)
    return tuple(result)


def parse_options(text: str, offset: int = 0) -> dict[str, str]:
    """`min-ops=2 ops=a,b flag` -> each option's text, empty for a bare flag. `offset` shifts columns in errors."""
    options: dict[str, str] = {}
    position = 0
    while text[position:].strip():
        match = _OPTION.match(text, position)
        if match is None:
            raise _error("expected option=value", offset + position)
        value = match.group(2) or ""
        options[match.group(1)] = value[1:-1] if value[:1] in ("'", '"', "{") else value
        position = match.end()
    return options


def instantiate(
    name: str,
    options: Mapping[str, str] | None,
    passes: PassFactories,
    pipelines: Mapping[str, str] = {},
    column: int = 0,
    within: Sequence[str] = (),
) -> list[XirPass]:
    """The pass `name` with its options, or the passes of the pipeline `name`."""
    if name in pipelines:
        if options:
            raise _error(f"'{name}' is a pipeline and takes no options", column)
        if name in within:
            raise _error(f"the pipeline '{name}' contains itself", column)
        try:
            return parse_pipeline(pipelines[name], passes, pipelines, (*within, name))
        except DiagnosticError as error:
            message = error.diagnostic.message
            raise _error(f"in the pipeline '{name}': {message}", column) from error
    if (factory := passes.get(name)) is None:
        raise _error(f"unknown pass '{name}'{unregistered_hint(name) or _close(name, [*passes, *pipelines])}", column)
    try:
        return [factory().from_options(options or {})]
    except ValueError as error:
        raise _error(str(error), column) from error


def _close(name: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f", did you mean {close[0]!r}?" if close else ""


def _error(message: str, position: int) -> DiagnosticError:
    return DiagnosticError(file_location(SOURCE_NAME, 1, position + 1), message)
