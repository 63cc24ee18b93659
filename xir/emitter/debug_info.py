"""The debug information of a `.pte` file: what its instructions and nodes come from, out of the IR's locations.

Handles of nodes and frames of instructions are ExecuTorch's own fields. What handles stand for has no place in its
format, so it is named data of the program (`xir/schema/debug.fbs`), which stock ExecuTorch does not look at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import LocationAttr

from xir.emitter.codec import Tree, encode
from xir.emitter.fbs import load_schema
from xir.ir.attribute_numbers import AttributeNumbers
from xir.ir.location import SourceOrigin, origins_of

NO_HANDLE = 65535
"""The debug handle of a node that has none."""

_INSTALLED = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")


class DebugInfoWriter:
    """Collects the origins of a program's nodes and instructions. Equal ones share a handle, so that equal delegates
    stay equal."""

    def __init__(self) -> None:
        self._strings = {"": 0}
        self._origins: dict[SourceOrigin, int] = {}
        self._handles: dict[tuple[int, ...], int] = {}
        self._locations = AttributeNumbers()
        self._by_location: dict[int, int] = {}
        self._plans: list[Tree] = []

    def handle(self, location: LocationAttr) -> int:
        """The handle of what has this location; NO_HANDLE if that says nothing."""
        number = self._locations[location]
        known = self._by_location.get(number)
        if known is None:
            known = self._by_location[number] = self._handle(origins_of(location))
        return known

    def frames(self, location: LocationAttr) -> list[Tree]:
        """The `Frame`s of an instruction: a frame's name is the module, and its context the operator."""
        return [
            {"filename": _unicode(shown_path(o.file)), "lineno": o.line, "name": o.module, "context": o.op}
            for o in origins_of(location)
            if o.file
        ]

    def add_plan(self, instructions: Sequence[LocationAttr]) -> None:
        """Add the next plan, by the locations of its first chain's instructions."""
        self._plans.append({"instructions": [self.handle(location) for location in instructions]})

    def encode(self) -> bytes:
        """The data; nothing if no origin is known."""
        if not self._handles:
            return b""
        origins = [
            {
                "file": self._string(shown_path(o.file)),
                "line": o.line,
                "module": self._string(o.module),
                "op": self._string(o.op),
                "name": self._string(o.name),
            }
            for o in self._origins
        ]
        tree: Tree = {
            "strings": list(self._strings),
            "origins": origins,
            "handles": [{"items": list(items)} for items in self._handles],
            "plans": self._plans,
        }
        return encode(load_schema("debug"), tree)

    def _handle(self, origins: Sequence[SourceOrigin]) -> int:
        if not origins:
            return NO_HANDLE
        if len(self._handles) == NO_HANDLE:
            self._handles[()] = NO_HANDLE
        indices = tuple(self._origins.setdefault(origin, len(self._origins)) for origin in origins)
        return self._handles.setdefault(indices, len(self._handles))

    def _string(self, text: str) -> int:
        return self._strings.setdefault(_unicode(text), len(self._strings))


def _unicode(text: str) -> str:
    """A text without halves of surrogate pairs, which stand for bytes in the names of files."""
    return text.encode("utf-8", "replace").decode()


@lru_cache(maxsize=1024)
def shown_path(path: str) -> str:
    """A source file as a `.pte` names it: within its installed package, or as seen from the current directory.

    Absolute paths would tell where a file was built, and make files differ that say the same.
    """
    installed = _INSTALLED.match(path)
    if installed is not None:
        return path[installed.end() :]
    here = os.getcwd() + os.sep
    return path.removeprefix(here)
