"""The file of a lock: a text with one fact a line, sorted, so that git shows what a change changes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import file_location
from xir.lock.kinds import KINDS, FactKind, Key, Rule
from xir.lock.layers import OperatorLayer

if TYPE_CHECKING:
    from xir.lock.facts import Facts

VERSION = 1
"""Of the format: raised when a kind of facts changes its meaning or goes away, not when one is added."""

_HEADER = re.compile(r"xir-lock (\d{1,9})")
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"=]+')
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,18})?")
_SIGNED = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?")
_SHARE = re.compile(r"(\d{1,9}) of (\d{1,9})")
_PLAIN = re.compile(r"[\w.:/+-]+")


@dataclass(frozen=True)
class Lock:
    """What a file was when the lock was written."""

    path: str
    values: Mapping[Key, str]
    lines: Mapping[Key, int] = field(default_factory=dict[Key, int])
    """Where each fact is, counted from 1."""

    def line_for(self, key: Key) -> int:
        """The line of a fact; of one that is not there, the line that it would stand in."""
        if (line := self.lines.get(key)) is not None:
            return line
        after = _order(key)
        return min((line for other, line in self.lines.items() if _order(other) > after), default=len(self.lines) + 2)


def text_of(facts: Facts) -> str:
    """The text of a lock."""
    lines = [f"{key_text(key)} = {facts.values[key]}" for key in sorted(facts.values, key=_order)]
    return "\n".join([f"xir-lock {VERSION}", *lines]) + "\n"


def key_text(key: Key) -> str:
    """How a fact is called: its kind and its names, in quotes where they are not plain words."""
    return " ".join(name if _PLAIN.fullmatch(name) else json.dumps(name) for name in key)


def _order(key: Key) -> tuple[tuple[tuple[int, str], ...], ...]:
    """Orders facts by their names, and numbers in them by value: `features.9` is before `features.10`."""
    parts = (re.findall(r"\d+|\D+", name) for name in key)
    return tuple(tuple((int(part), "") if part.isdecimal() else (-1, part) for part in each) for each in parts)


def read_lock(path: str | os.PathLike[str]) -> Lock:
    """The lock of a file. OSError if it cannot be read; DiagnosticError, with the line, if it is none."""
    name = os.fspath(path)
    try:
        lines = Path(path).read_bytes().decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise _error(name, 1, "this is no lock: it is not text") from None
    header = _HEADER.fullmatch(lines[0]) if lines else None
    if header is None:
        raise _error(name, 1, f"this is no lock, whose first line is 'xir-lock {VERSION}': name another file")
    if int(header[1]) != VERSION:
        raise _error(
            name,
            1,
            f"this lock has version {header[1]}, and this xir reads {VERSION}: write it anew with --update-lock",
        )
    values: dict[Key, str] = {}
    places: dict[Key, int] = {}
    for number, line in enumerate(lines[1:], 2):
        key, value = _fact(name, number, line)
        if key in places:
            raise _error(name, number, f"line {places[key]} has '{key_text(key)}' already: keep one of both")
        values[key], places[key] = value, number
    return Lock(name, values, places)


def _fact(path: str, number: int, line: str) -> tuple[Key, str]:
    """The fact of a line."""
    left, equals, value = _parts(line)
    key = None if not equals else _key(left)
    if key is None:
        raise _error(path, number, f"'{line}' is no fact, which is a kind, names, '=' and a value")
    kind = KINDS.get(key[0])
    if kind is None:
        raise _error(path, number, f"there are no facts of the kind '{key[0]}', but of {', '.join(KINDS)}")
    repeats = kind.may_repeat and len(key) == len(kind.names) + 2 and key[-1].isdecimal()
    if len(key) != len(kind.names) + 1 and not repeats:
        names = " ".join(name.upper() for name in kind.names)
        raise _error(path, number, f"'{key[0]}' is followed by {names or 'nothing'}, not by '{' '.join(key[1:])}'")
    if (wrong := _wrong(key[0], kind, value)) is not None:
        raise _error(path, number, f"'{key_text(key)}' has no value '{value}': {wrong}")
    return key, value


def _parts(line: str) -> tuple[str, str, str]:
    """What is before, in and behind the equals sign outside of quotes."""
    position = 0
    while position < len(line):
        if line.startswith(" = ", position):
            return line[:position], "=", line[position + 3 :]
        found = _NAME.match(line, position)
        position = position + 1 if found is None else found.end()
    return line, "", ""


def _key(text: str) -> Key | None:
    """The names in a text; None if it has none, or something else."""
    found = _NAME.findall(text)
    if not found or " ".join(found) != text:
        return None
    try:
        return tuple(json.loads(name) if name.startswith('"') else name for name in found)
    except ValueError:
        return None


def _wrong(name: str, kind: FactKind, value: str) -> str | None:
    """What is wrong with a value; None if nothing is."""
    if not value.strip():
        return "it is empty"
    if kind.rule is Rule.LAYER:
        try:
            OperatorLayer.parse(value)
        except ValueError as error:
            return str(error)
    elif kind.rule is not Rule.SAME and number_of(name, value) is None:
        return "it takes 'NUMBER of NUMBER', none of them larger" if name == "quantised" else "it takes a number"
    return None


def number_of(name: str, value: str) -> float | None:
    """The number that a fact of the kind `name` is compared by; None if it has none."""
    if name == "quantised":
        share = _SHARE.fullmatch(value)
        some, of = (0, 0) if share is None else map(int, share.groups())
        return some / of if some <= of and of else None
    if name in ("outside", "pass"):
        value = value.partition(",")[0]
    pattern = _SIGNED if name == "accuracy" else _NUMBER
    return float(value) if pattern.fullmatch(value) else None


def _error(path: str, line: int, message: str) -> DiagnosticError:
    return DiagnosticError(file_location(path, line), message)


def sorted_keys(keys: Iterable[Key]) -> list[Key]:
    """Facts in the order that a lock has them."""
    return sorted(keys, key=_order)
