"""xir-opt as a program: files, exit codes. Its flags are tested by lit."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from xir.tools.xir_opt import main

ROOT = Path(__file__).parents[3]
GOOD = "func.func @f() {\n  func.return\n}\n"
BAD = "func.func @f() -> i32 {\n  func.return\n}\n"


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "xir.tools.xir_opt", *arguments]
    return subprocess.run(command, input=stdin, cwd=ROOT, capture_output=True, check=False)


def test_the_output_file_is_written_whole(tmp_path: Path) -> None:
    source, target = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(GOOD)
    assert main([str(source), "-o", str(target)]) == 0
    assert target.read_text().startswith("builtin.module {\n  func.func @f() {")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mlir", "out.mlir"]


def test_after_an_error_the_output_file_is_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(f"{GOOD}// -----\n{BAD}")
    target.write_text("precious")
    assert main([str(source), "--split-input-file", "-o", str(target)]) == 1
    assert target.read_text() == "precious"
    assert f"{source}:6:3: error: 'func.return' op" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8 text: byte 0 is no part of a character"),
        (b"func.func @f() { \xc3", "is not UTF-8 text: byte 17"),
        (b"", None),
    ],
)
def test_any_bytes_are_read_or_refused(
    content: bytes, message: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.mlir"
    source.write_bytes(content)
    assert main([str(source)]) == int(message is not None)
    assert message is None or message in capsys.readouterr().err


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"xir-opt: error: cannot open '{tmp_path}': Is a directory\n"


def test_an_error_on_standard_input_has_a_place() -> None:
    done = run(stdin=BAD.encode())
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"<stdin>:2:3: error: 'func.return' op")
    assert done.stderr.endswith(b"\n  func.return\n  ^\n")
    assert done.stderr.count(b"\n") == 3


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text("\n".join(f"func.func @f{i}() {{ func.return }}" for i in range(3000)))
    command = f"'{sys.executable}' -m xir.tools.xir_opt '{source}' | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout == b"builtin.module {\n"
    assert done.stderr == b""
