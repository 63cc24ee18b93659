"""Writing files, and saying how large they are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(path: str | Path) -> Generator[BinaryIO]:
    """A file to write that appears under `path` only when the block ends without an error, complete or not at all.

    A device or a pipe is written directly, and a symbolic link's target is what is replaced.
    """
    with atomic_files(path) as (file,):
        yield file


@contextmanager
def atomic_files(*paths: str | Path) -> Generator[tuple[BinaryIO, ...]]:
    """Files that belong together, each as `atomic_file`, which appear in this order: all of them, or none.

    Where one cannot be replaced, those before it are again what they were.
    """
    with ExitStack() as undo:
        drafts = [_Draft(Path(path).resolve()) for path in paths]
        files: list[BinaryIO] = []
        for draft in drafts:
            undo.callback(draft.discard)
            files.append(undo.enter_context(open(draft.create(), "wb")))
        yield tuple(files)
        for file in files:
            file.close()
        for draft in drafts:
            undo.callback(draft.restore)
            draft.replace(keep_old=draft is not drafts[-1])
        undo.pop_all()
        for draft in drafts:
            draft.forget()


@contextmanager
def new_folder_beside(path: Path) -> Generator[Path]:
    """A folder for files that are to take the place of `path`, which goes when the block ends. The folder of `path` is
    made if need be. OSError, of `path`, if there can be none."""
    with _errors_of(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix=".xir-", dir=path.parent)
    with folder as name:
        yield Path(name)


def move_to(draft: Path, path: Path) -> None:
    """Put a file in the place of another. OSError, of `path`, if it cannot be."""
    with _errors_of(path):
        os.replace(draft, path)


@contextmanager
def _errors_of(path: Path) -> Generator[None]:
    """What fails of a draft fails for the user's file: the draft's name says nothing to anybody."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


class _Draft:
    """A file that is to take the place of the one under `path`; a device or a pipe has none."""

    def __init__(self, path: Path):
        self.path = path
        self.name: Path | None = None
        """Where it is, until it is in its place."""
        self.old: Path | None = None
        """Where the file is that was there before, while it may have to come back."""
        self.is_in_place = False

    def create(self) -> Path:
        """An empty file to write to."""
        if self.path.exists() and not self.path.is_file():
            return self.path
        with _errors_of(self.path):
            self.name = self._beside()
        # mkstemp makes the file private; give it the mode that `open` would have.
        mask = os.umask(0)
        os.umask(mask)
        self.name.chmod(0o666 & ~mask)
        return self.name

    def _beside(self) -> Path:
        """A new file that can be renamed to the path."""
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".tmp")
        os.close(descriptor)
        return Path(name)

    def replace(self, *, keep_old: bool) -> None:
        """Take the path's place."""
        if self.name is None:
            return
        with _errors_of(self.path):
            if keep_old and self.path.exists():
                aside = self._beside()
                try:
                    os.replace(self.path, aside)
                except OSError:
                    aside.unlink()
                    raise
                self.old = aside
            os.replace(self.name, self.path)
        self.name, self.is_in_place = None, True

    def restore(self) -> None:
        """Undo `replace`, as far as it came."""
        if self.old is not None:
            os.replace(self.old, self.path)
        elif self.is_in_place:
            self.path.unlink()

    def discard(self) -> None:
        """Leave nothing of a file that is not in its place."""
        if self.name is not None:
            self.name.unlink()

    def forget(self) -> None:
        """Remove what was there before."""
        if self.old is not None:
            self.old.unlink()


def weights_path(path: str | os.PathLike[str]) -> Path:
    """Where the weights of a program are that are apart from it: the `.ptd` beside `path`, under the same name."""
    return Path(path).with_suffix(".ptd")


def size_text(nbytes: int) -> str:
    """A file's size for people: `13.96 MB`, or `4.5 kB` of a small one."""
    return f"{nbytes / 1e6:.2f} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:.1f} kB"
