"""What `.pte` files compute in stock ExecuTorch's runtime, in a process of its own: that one logs what it likes."""

from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

Calls = Sequence[tuple[str, Sequence[Any]]]
"""The method and the inputs of each."""


FileWithData = tuple[Path, Sequence[Path]]
"""A program, and the `.ptd` files with the weights that it does not hold."""

RUNNING = "running.txt"
"""What the process writes the number of a file to before it runs it, as it may crash; empty when it has run all."""

BINDINGS = "executorch.extension.pybindings"


class StockError(Exception):
    """Stock ExecuTorch does not run a file, or none."""

    def __init__(self, index: int | None, message: str):
        super().__init__(message)
        self.index = index
        """Of the file; None if it runs none."""


def is_installed() -> bool:
    """Whether there is a runtime of ExecuTorch's in Python."""
    try:
        return importlib.util.find_spec(f"{BINDINGS}.portable_lib") is not None
    except ModuleNotFoundError:
        return False


def stock_results(
    files: Sequence[FileWithData], calls: Calls, max_seconds: float | None = None
) -> list[list[list[Any]]]:
    """The results of each call, of each file, which runs all calls one after the other.

    A file has at most one `.ptd` file. The process is ended after `max_seconds`.

    StockError for the first file that does not run, and where ExecuTorch is not installed or takes no such inputs. Once
    all have run, it does not count how the process ends.
    """
    import torch

    if not is_installed():
        raise StockError(None, "it is not installed")
    if (most := max(len(data) for _, data in files)) > 1:
        raise StockError(None, f"it takes one file of weights, and {most} were given")
    with tempfile.TemporaryDirectory(prefix="xir-stock-") as folder:
        given, made, failed = (Path(folder) / name for name in ("calls.pt", "results.pt", "error.json"))
        running = Path(folder) / RUNNING
        torch.save([(method, list(inputs)) for method, inputs in calls], given)
        names = [str(name) for path, data in files for name in (path, *(data or [""]))]
        command = [sys.executable, "-P", "-m", __name__, str(given), str(made), str(failed), *names]
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False, timeout=max_seconds
            )
        except subprocess.TimeoutExpired:
            number = running.read_text() if running.exists() else None
            index = int(number) if number else None
            raise StockError(index, f"it took longer than {max_seconds:g} seconds") from None
        if failed.exists():
            error = json.loads(failed.read_text())
            raise StockError(error["file"], error["message"])
        number = running.read_text() if running.exists() else None
        if ended.returncode != 0 and number != "":
            last = "".join(f": {line}" for line in ended.stderr.strip().splitlines()[-1:])
            index = None if number is None else int(number)
            raise StockError(index, f"its process ended with exit code {ended.returncode}{last}")
        return torch.load(made, weights_only=True)


def bindings() -> Any:
    """ExecuTorch's runtime as Python has it.

    `portable_lib` is the module for that; it has the names of the extension module, and imports all of ExecuTorch's
    compiler first, which takes three seconds. The extension needs torch's libraries alone.
    """
    importlib.import_module("torch")
    for name in ("_C", "_portable_lib"):  # since 1.5, before
        if importlib.util.find_spec(f"{BINDINGS}.{name}") is not None:
            return importlib.import_module(f"{BINDINGS}.{name}")
    return importlib.import_module(f"{BINDINGS}.portable_lib")


LIBRARIES = {
    b"llama::": "executorch.extension.llm.custom_ops.custom_ops",
    b"quantized_decomposed::": "executorch.kernels.quantized",
}
"""The modules of ExecuTorch's that bring the kernels of a namespace."""


def register_kernels(program: bytes) -> None:
    """Register the kernels of ExecuTorch's other libraries that a program names, as far as they are installed."""
    bindings()
    for namespace, module in LIBRARIES.items():
        if namespace in program:
            with suppress(ImportError, OSError, RuntimeError):
                importlib.import_module(module)


def main(arguments: Sequence[str]) -> int:
    """The process: files of calls, of results and of an error, then each program and its weights, which may be ""."""
    import torch

    given, made, failed, *files = arguments
    programs, data = files[::2], files[1::2]
    calls: Calls = torch.load(given, weights_only=True)
    results: list[list[list[Any]]] = []
    register_kernels(Path(programs[0]).read_bytes())
    running = Path(failed).with_name(RUNNING)
    for index, (program, weights) in enumerate(zip(programs, data, strict=True)):
        running.write_text(str(index))
        try:
            results.append(results_of(program, [weights] if weights else [], calls))
        except Exception as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            Path(failed).write_text(json.dumps({"file": index, "message": first}))
            return 0
    torch.save(results, made)
    # From here on nothing runs but the end of the process, which is no file's.
    running.write_text("")
    return 0


def results_of(program: str, data: Sequence[str], calls: Calls) -> list[list[Any]]:
    """The results of a file's calls; it is unloaded before this returns."""
    module = bindings()._load_for_executorch(program, *data)
    return [copied(module.run_method(method, copied(inputs))) for method, inputs in calls]


def copied(values: Sequence[Any]) -> list[Any]:
    """Values in memory of their own: a file may change its inputs, and its results may be in memory that goes with
    it."""
    import torch

    return [each.clone() if isinstance(each, torch.Tensor) else each for each in values]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
