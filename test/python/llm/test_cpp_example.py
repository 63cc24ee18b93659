"""The C++ program that generates tokens without Python, `backend_cpp/examples/generate`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from shutil import which

import pytest
from llm.tiny_models import write_family

import xir.runtime._native
from xir.llm import ExportOptions, export, load
from xir.runtime.library import xnnpack_paths

BACKEND = Path(__file__).parents[3] / "backend_cpp"
LIBRARY = Path(xir.runtime._native.__file__).parents[1] / "lib" / "libxir_runtime.a"
PROMPT = [1, 17, 93, 4, 58, 111, 23, 140, 77]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    write_family("Qwen2", folder)
    export(folder, folder / "model.pte", ExportOptions(max_seq_len=32, prefill_len=8))
    return folder / "model.pte"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built as an application would."""
    compiler = which(os.environ.get("CXX", "c++"))
    assert compiler is not None
    path = tmp_path_factory.mktemp("example") / "generate"
    command = [compiler, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{BACKEND / 'include'}"]
    command += [str(BACKEND / "examples/generate/main.cc"), str(LIBRARY), "-ldl", "-pthread", "-o", str(path)]
    subprocess.run(command, check=True)
    return path


def run(program: Path, model: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    library = next(path for path in xnnpack_paths() if Path(path).exists())
    return subprocess.run([program, model, library, *arguments], capture_output=True, text=True, check=False)


def joined(tokens: list[int]) -> str:
    return ",".join(map(str, tokens))


def test_tokens_are_those_of_python(program: Path, model: Path) -> None:
    """A prompt of 9 goes through prefill and, its last token, through decode."""
    answer = load(model, threads=1).generate(PROMPT)
    done = run(program, model, joined(PROMPT))
    assert done.returncode == 0, done.stderr
    assert [int(line) for line in done.stdout.split()] == answer.tokens
    assert answer.tokens
    few = run(program, model, joined(PROMPT), "3")
    assert few.stdout.split() == done.stdout.split()[:3]


def test_weights_beside_the_program(program: Path, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "apart.pte"
    export(model.parent, file, ExportOptions(max_seq_len=32, prefill_len=8), weights_apart=True)
    whole = run(program, model, joined(PROMPT))
    assert run(program, file, joined(PROMPT)).stdout == whole.stdout != ""
    file.with_suffix(".ptd").unlink()
    assert f"cannot open '{tmp_path / 'apart.ptd'}'" in run(program, file, joined(PROMPT)).stderr


def test_tokens_are_drawn_by_a_seed(program: Path, model: Path) -> None:
    first, again, other = (run(program, model, joined(PROMPT), "16", "3.0", seed).stdout for seed in ("1", "1", "2"))
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("1,2,x",), "usage: generate"),
        (("1,2", "3", "-1"), "usage: generate"),
        ((joined(list(range(40))),), "generate: error: the prompt has 40 tokens, and the caches hold 32"),
        (("999",), "generate: error: "),
    ],
)
def test_what_it_refuses(program: Path, model: Path, arguments: tuple[str, ...], error: str) -> None:
    done = run(program, model, *arguments)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert done.stderr.startswith(error)
