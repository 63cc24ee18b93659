"""xir's commands in processes that have imported PyTorch already: copies of one, for pages with many commands."""

# pyright: reportPrivateUsage=false
# There is one fork server of multiprocessing, which may run with other modules or none.

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import forkserver, get_context
from pathlib import Path
from typing import Any

CONTEXT = get_context("forkserver")
SERVER: Any = forkserver._forkserver


@contextmanager
def serving() -> Generator[None]:
    """While this lasts, multiprocessing copies a process in which `docs.warm` is imported, with one thread."""
    before = dict(os.environ)
    os.environ.update(PYTHONPATH=os.pathsep.join(sys.path), OMP_NUM_THREADS="1")
    SERVER._stop()
    forkserver.set_forkserver_preload(["docs.warm"])
    forkserver.ensure_running()
    os.environ.clear()
    os.environ.update(before)
    yield
    SERVER._stop()


def run(words: Sequence[str], folder: Path, stdin: str) -> tuple[int, str, str]:
    """The exit code of a command of this environment's, and what it prints: to standard output, and to the other."""
    with tempfile.TemporaryDirectory() as scratch:
        streams = [Path(scratch, name) for name in ("given", "printed", "told")]
        streams[0].write_text(stdin, encoding="utf-8")
        process = CONTEXT.Process(target=_be, args=(words, folder, dict(os.environ), streams))
        process.start()
        process.join()
        printed, told = (each.read_text(encoding="utf-8") for each in streams[1:])
        return process.exitcode or 0, printed, told


def _be(words: Sequence[str], folder: Path, environment: Mapping[str, str], streams: Sequence[Path]) -> None:
    """Be a command, which ends this process."""
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    os.chdir(folder)
    os.environ.clear()
    for name in ("COLUMNS", "LINES"):
        os.unsetenv(name)  # readline sets them where `os.environ` does not see it
    os.environ.update(environment)
    sys.argv[:] = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)  # multiprocessing has another
    runpy.run_path(sys.argv[0], run_name="__main__")
