"""What tests share: `--on COMMAND`, which runs programs on another processor, and the generator of wire facts.

With `--on` a program runs in the native runner that COMMAND starts.
"""

from __future__ import annotations

import importlib.util
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from reference.elsewhere import RunnerElsewhere

from xir.runtime import Runtime

ROOT = Path(__file__).parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--on",
        metavar="COMMAND",
        help="run programs by this command instead of in this process: xnn_executor_runner built for, or emulated on, "
        "another processor, such as 'qemu-aarch64 -L /usr/aarch64-linux-gnu build/arm/xnn_executor_runner'",
    )


def pytest_configure(config: pytest.Config) -> None:
    if command := config.getoption("--on"):
        elsewhere = RunnerElsewhere(shlex.split(command))
        Runtime.get = staticmethod(lambda: elsewhere)  # pyright: ignore[reportAttributeAccessIssue]


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    """`scripts/generate_wire.py` as a module."""
    spec = importlib.util.spec_from_file_location("generate_wire", ROOT / "scripts/generate_wire.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
