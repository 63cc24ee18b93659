"""What works where xir was installed without its runtime (XIR_NATIVE=OFF)."""

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_RUNTIME = "import sys; sys.modules['xir.runtime._native'] = None; from xir.tools.xir_aot import main; "


def aot(*options: str) -> subprocess.CompletedProcess[str]:
    """`xir-aot` with these options, in a process without the extension module."""
    program = f"{WITHOUT_RUNTIME}sys.exit(main({list(options)}))"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("form", ["--delegate", "--no-delegate"])
def test_models_compile_to_the_same_file(tmp_path: Path, form: str) -> None:
    folders = [tmp_path / "with", tmp_path / "without"]
    with_runtime = [sys.executable, "-m", "xir.tools.xir_aot"]
    options = ("--model_name", "linear", form, "--output_dir")
    subprocess.run([*with_runtime, *options, folders[0]], check=True, capture_output=True)
    result = aot(*options, str(folders[1]))
    assert result.returncode == 0, result.stderr
    (expected,), (written,) = (list(folder.glob("*.pte")) for folder in folders)
    assert written.read_bytes() == expected.read_bytes()


def test_what_runs_the_file_names_the_runtime_that_is_missing(tmp_path: Path) -> None:
    result = aot("--model_name", "linear", "--output_dir", str(tmp_path), "--test_after_export")
    assert result.returncode == 1
    assert result.stderr == (
        "xir-aot: error: xir was installed without its runtime (XIR_NATIVE=OFF): install it again, without that\n"
    )
