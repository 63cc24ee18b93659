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


RUNNING = "running.txt"
"""What the process writes the number of a file to before it runs it, as it may crash."""

BINDINGS = "executorch.extension.pybindings"


class StockError(Exception):
    """Stock ExecuTorch does not run a file."""

    def __init__(self, index: int, message: str):
        super().__init__(message)
        self.index = index
        """Of the file; 0 if none runs because of it."""


def is_installed() -> bool:
    """Whether there is a runtime of ExecuTorch's in Python."""
    try:
        return importlib.util.find_spec(f"{BINDINGS}.portable_lib") is not None
    except ModuleNotFoundError:
        return False


def stock_results(files: Sequence[Path], data: Sequence[Path], calls: Calls) -> list[list[list[Any]]]:
    """The results of each call, of each file, which runs all calls one after the other.

    `data` is a `.ptd` file of the first.

    StockError for the first file that does not run, and where ExecuTorch is not installed or takes no such inputs.
    """
    import torch

    if not is_installed():
        raise StockError(0, "it is not installed")
    if len(data) > 1:
        raise StockError(0, f"it takes one file of weights, and {len(data)} were given")
    with tempfile.TemporaryDirectory(prefix="xir-stock-") as folder:
        given, made, failed = (Path(folder) / name for name in ("calls.pt", "results.pt", "error.json"))
        running = Path(folder) / RUNNING
        torch.save([(method, list(inputs)) for method, inputs in calls], given)
        names = [*map(str, files), "--", *map(str, data)]
        command = [sys.executable, "-P", "-m", __name__, str(given), str(made), str(failed), *names]
        ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if failed.exists():
            error = json.loads(failed.read_text())
            raise StockError(error["file"], error["message"])
        if ended.returncode != 0:
            last = (ended.stderr.strip().splitlines() or [""])[-1]
            index = int(running.read_text()) if running.exists() else 0
            raise StockError(index, f"its process ended with exit code {ended.returncode}: {last}")
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
    """The process: files of calls, of results and of an error, then programs, `--` and the weights of the first."""
    import torch

    given, made, failed, *files = arguments
    end = files.index("--")
    programs, data = files[:end], files[end + 1 :]
    calls: Calls = torch.load(given, weights_only=True)
    results: list[list[list[Any]]] = []
    register_kernels(Path(programs[0]).read_bytes())
    for index, program in enumerate(programs):
        Path(failed).with_name(RUNNING).write_text(str(index))
        try:
            module = bindings()._load_for_executorch(program, *(data if index == 0 else ()))
            results.append([list(module.run_method(method, inputs)) for method, inputs in calls])
        except Exception as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            Path(failed).write_text(json.dumps({"file": index, "message": first}))
            return 0
    torch.save(results, made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
