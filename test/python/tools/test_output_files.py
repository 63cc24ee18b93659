"""Files are written completely or not at all."""

import os
from pathlib import Path

import pytest

from xir.files import atomic_file
from xir.tools.xir_opt import main


def test_a_file_appears_complete_or_not_at_all(tmp_path: Path):
    path = tmp_path / "out.pte"
    path.write_bytes(b"old")

    def fail_midway() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_midway()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.pte"]
    with atomic_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out.pte"]
    reference = tmp_path / "reference"
    reference.write_bytes(b"")
    assert path.stat().st_mode == reference.stat().st_mode


def test_an_error_is_of_the_file_and_not_of_its_draft(tmp_path: Path):
    for path in (Path("/proc/out.pte"), tmp_path / "gone" / "out.pte"):
        with pytest.raises(OSError, match=rf"^\[Errno \d+\] [^:]+: '{path}'$"), atomic_file(path):
            pass
    assert os.listdir(tmp_path) == []


def test_devices_and_links_are_kept(tmp_path: Path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    for path, text in ((link, b"new"), (Path(os.devnull), b"gone")):
        with atomic_file(path) as file:
            file.write(text)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert not Path(os.devnull).is_file()


def test_xir_opt_keeps_devices(tmp_path: Path):
    source, pipe = tmp_path / "empty.mlir", tmp_path / "pipe"
    source.write_text("builtin.module {}\n")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main([str(source), "-o", str(pipe)]) == 0
        assert b"builtin.module" in os.read(reader, 1000)
    finally:
        os.close(reader)
    assert pipe.is_fifo()
