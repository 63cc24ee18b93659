"""Programs that this process has compiled, as bytes or as files: they may call the operators of the model itself.

A model may call operators that xir does not know, such as the user's own. Its program is no stranger's file as long as
it is what the compiler wrote, to the byte. It is known again by its digest, whichever way it comes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_vouched: dict[int, dict[bytes, frozenset[str]]] = {}
"""Size of a program in bytes -> SHA-256 of it -> the operators that it calls."""


class HashingWriter:
    """A binary stream that passes on what is written, and knows the digest of it."""

    def __init__(self, stream: Any):
        self._stream, self._digest, self._size = stream, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        """Write bytes; returns how many."""
        self._digest.update(data)
        self._size += memoryview(data).nbytes
        return self._stream.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def vouch(self, operators: Iterable[str]) -> None:
        """Let the program that was written call these operators, in this process."""
        _vouched.setdefault(self._size, {})[self._digest.digest()] = frozenset(operators)


def vouched_operators(source: str | os.PathLike[str] | bytes | bytearray | memoryview) -> frozenset[str]:
    """The operators beyond those that xir knows which a program may call because this process compiled it."""
    if isinstance(source, bytes | bytearray | memoryview):
        known = _vouched.get(memoryview(source).nbytes)
        return frozenset() if known is None else known.get(hashlib.sha256(source).digest(), frozenset())
    try:
        known = _vouched.get(Path(source).stat().st_size)
        if known is None:
            return frozenset()
        with open(source, "rb") as file:
            return known.get(hashlib.file_digest(file, "sha256").digest(), frozenset())
    except (OSError, ValueError):
        return frozenset()  # loading it says what is wrong
