"""The wheel, made once. The build directory is the editable install's, so nothing is compiled twice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from reference.commands import output_of


@pytest.fixture(scope="session")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    output_of(sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", str(out), ".")
    (path,) = out.glob("xir-*.whl")
    return path
