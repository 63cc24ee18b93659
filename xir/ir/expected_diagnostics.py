"""Matching diagnostics against the `expected-*` comments of a test, as `mlir-opt --verify-diagnostics` does.

```mlir
// expected-error @+1 {{a part of the message}}
edge.relu(%x) ...  // expected-remark {{...}}
```

Kinds are `error`, `warning`, `remark` and `note`; the place is this line, `@+N`, `@-N`, `@above`, `@below` (the nearest
line without such a comment), or `@unknown` (no location in this file). `expected-error-re {{...}}` has regular
expressions in inner double braces. Every expectation has to be met by one diagnostic and, unless told otherwise, every
diagnostic has to be expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xir.ir.diagnostics import Diagnostic, Severity
from xir.ir.location import file_location, find_file_location

_EXPECTATION = re.compile(
    r"expected-(?P<kind>error|warning|remark|note)(?P<re>-re)?\s*"
    r"(?:@(?P<place>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>(?:.(?!\}\}\s*expected-))*?)\}\}(?=\s*(?:expected-|$))"
)


@dataclass
class _Expectation:
    severity: Severity
    line: int | None
    """The line, counted from 1 in the whole file; None for a diagnostic without a location in it."""
    pattern: re.Pattern[str]
    text: str
    at_line: int
    at_column: int
    met: bool = False


def check_expectations(
    text: str, name: str, diagnostics: Iterable[Diagnostic], line_offset: int = 0, only_expected: bool = False
) -> list[Diagnostic]:
    """Errors for each expectation in `text` that is not met and each diagnostic that is not expected.

    `name` is the file of the locations that count as this text's, `line_offset` the number of lines before it there.
    With `only_expected`, diagnostics beyond the expected ones are let through.
    """
    expectations = list(_parse(text, line_offset))
    problems: list[Diagnostic] = []
    for diagnostic in diagnostics:
        for each in (diagnostic, *diagnostic.notes):
            if not _meet(each, name, expectations) and not only_expected:
                message = f"unexpected {each.severity.value}: {each.message}"
                problems.append(Diagnostic(Severity.ERROR, each.location, message))
    for expectation in expectations:
        if not expectation.met:
            message = f'expected {expectation.severity.value} "{expectation.text}" was not produced'
            where = file_location(name, expectation.at_line, expectation.at_column)
            problems.append(Diagnostic(Severity.ERROR, where, message))
    return problems


def _meet(diagnostic: Diagnostic, name: str, expectations: list[_Expectation]) -> bool:
    found = find_file_location(diagnostic.location)
    line = found.line.data if found is not None and found.filename.data == name else None
    for expectation in expectations:
        if (
            not expectation.met
            and expectation.line == line
            and expectation.severity is diagnostic.severity
            and expectation.pattern.search(diagnostic.message)
        ):
            expectation.met = True
            return True
    return False


def _parse(text: str, line_offset: int) -> Iterator[_Expectation]:
    lines = text.split("\n")
    has_expectation = [_EXPECTATION.search(line) is not None for line in lines]
    for index, line in enumerate(lines):
        for match in _EXPECTATION.finditer(line):
            target = _target(match["place"], index, has_expectation)
            yield _Expectation(
                severity=Severity(match["kind"]),
                line=None if target is None else target + 1 + line_offset,
                pattern=_pattern(match["text"], bool(match["re"])),
                text=match["text"],
                at_line=index + 1 + line_offset,
                at_column=match.start() + 1,
            )


def _target(place: str | None, index: int, has_expectation: list[bool]) -> int | None:
    if place is None:
        return index
    if place == "unknown":
        return None
    if place not in ("above", "below"):
        return index + int(place)
    step = -1 if place == "above" else 1
    index += step
    while 0 <= index < len(has_expectation) and has_expectation[index]:
        index += step
    return index


def _pattern(text: str, is_regex: bool) -> re.Pattern[str]:
    if not is_regex:
        return re.compile(re.escape(text))
    literal_and_regex = re.split(r"\{\{(.*?)\}\}", text + ("}}" if text.count("{{") > text.count("}}") else ""))
    return re.compile(
        "".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(literal_and_regex))
    )
