"""What works where xir was installed without its runtime (XIR_NATIVE=OFF)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from xir.tools.xir_aot import main

SCRIPT = """
import contextlib, io, json, sys

sys.modules["xir.runtime._native"] = None
from xir.tools.xir_aot import main

said = []
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        said.append((main(command), errors.getvalue()))
print(json.dumps(said))
"""
FORMS = ("--delegate", "--no-delegate")


def commands(folder: Path) -> list[list[str]]:
    """`xir-aot` in each form, each into a folder of its own."""
    return [["--model_name", "linear", form, "--output_dir", str(folder / form)] for form in FORMS]


@pytest.fixture(scope="module")
def without_runtime(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, str]]]:
    """The folder of what a process without the extension module wrote, and how its commands ended: one in each form,
    and one that runs the file."""
    folder = tmp_path_factory.mktemp("without")
    given = [*commands(folder), ["--model_name", "linear", "--output_dir", str(folder), "--test_after_export"]]
    done = subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(given)], capture_output=True, text=True, check=True)
    return folder, [tuple(each) for each in json.loads(done.stdout.splitlines()[-1])]


def test_models_compile_to_the_same_file(without_runtime: tuple[Path, list[tuple[int, str]]], tmp_path: Path) -> None:
    folder, ended = without_runtime
    assert [code for code, _ in ended[:2]] == [0, 0], ended
    for form, command in zip(FORMS, commands(tmp_path), strict=True):
        assert main(command) == 0
        (expected,), (written,) = (list((each / form).glob("*.pte")) for each in (tmp_path, folder))
        assert written.read_bytes() == expected.read_bytes()


def test_what_runs_the_file_names_the_runtime_that_is_missing(
    without_runtime: tuple[Path, list[tuple[int, str]]],
) -> None:
    assert without_runtime[1][2] == (
        1,
        "xir-aot: error: xir was installed without its runtime (XIR_NATIVE=OFF): install it again, without that\n",
    )
