"""The wheel, made once. The build directory is the editable install's, so nothing is compiled twice."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

import pytest
from reference.commands import output_of


@pytest.fixture(scope="session")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder that all processes of a run share: the first that asks for it makes it, and the others wait."""
    own = tmp_path_factory.getbasetemp()
    out = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "wheel"
    out.mkdir(exist_ok=True)
    with (out / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(out.glob("xir-*.whl")):
            wheel = (sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", str(out))
            output_of(*wheel, ".")
    (path,) = out.glob("xir-*.whl")
    return path
