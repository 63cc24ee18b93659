"""Runs files in processes of their own, which a file may end: stock ExecuTorch trusts what it is given."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from differential.results import Result

FILLS = ("85", "170")
"""What freed memory is filled with. A program that gives something else with each reads uninitialised memory."""
SECONDS = 120
"""What a worker may take beside a second for each file: importing PyTorch takes half a minute on a loaded machine."""


def run_all(runtime: str, files: list[Path], fill: str) -> list[Result]:
    """The result of each file; a worker that dies gets a successor, which goes on behind the file."""
    results: list[Result] = []
    environment = {**os.environ, "MALLOC_PERTURB_": fill, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "differential.worker", runtime]
    while len(results) < len(files):
        with tempfile.TemporaryFile() as output:
            names = "\n".join(map(str, files[len(results) :]))
            limit = SECONDS + len(files)
            with subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL, env=environment
            ) as worker:
                try:
                    worker.communicate(names.encode(), timeout=limit)
                except subprocess.TimeoutExpired:
                    worker.kill()
            output.seek(0)
            results += _read_all(output)
        if len(results) < len(files):
            results.append("crash")
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{runtime}: {len(results)} of {len(files)}")
    return results


def _read_all(output: Any) -> list[Result]:
    results: list[Result] = []
    try:
        while True:
            results.append(pickle.load(output))
    except (EOFError, pickle.UnpicklingError):
        return results
