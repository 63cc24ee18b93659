"""Writing files, and saying how large they are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: str | Path) -> Generator[BinaryIO]:
    """A file to write that appears under `path` only when the block ends without an error, complete or not at all.

    A device or a pipe is written directly, and a symbolic link's target is what is replaced.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with open(descriptor, "wb") as file:
            # mkstemp makes the file private; give it the mode that `open` would have.
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(file.fileno(), 0o666 & ~mask)
            yield file
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def weights_path(path: str | os.PathLike[str]) -> Path:
    """Where the weights of a program are that are apart from it: the `.ptd` beside `path`, under the same name."""
    return Path(path).with_suffix(".ptd")


def size_text(nbytes: int) -> str:
    """A file's size for people: `13.96 MB`, or `4.5 kB` of a small one."""
    return f"{nbytes / 1e6:.2f} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:.1f} kB"
