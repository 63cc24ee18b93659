"""`--on COMMAND`: the tests' programs run on another processor, in the native runner that COMMAND starts."""

from __future__ import annotations

import shlex

import pytest
from reference.elsewhere import RunnerElsewhere

from xir.runtime import Runtime


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
