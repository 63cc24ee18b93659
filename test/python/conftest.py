"""What tests share: `--on COMMAND`, which runs programs on another processor, seeds, and the generator of wire facts.

With `--on` a program runs in the native runner that COMMAND starts. That takes long where COMMAND is an emulator, so
Hypothesis shows the example that failed as it drew it, without looking for a smaller one.
"""

from __future__ import annotations

import gc
import importlib.util
import random
import shlex
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import Phase, settings
from reference.elsewhere import RunnerElsewhere
from reference.registrations import (
    compile_graphs_once,
    export_patterns_once,
    look_up_composites_once,
    register_kernels_in_little_time,
)

from xir.runtime import Runtime

ROOT = Path(__file__).parents[2]
ELSEWHERE = pytest.StashKey[RunnerElsewhere]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--on",
        metavar="COMMAND",
        help="run programs by this command instead of in this process: xnn_executor_runner built for, or emulated on, "
        "another processor, such as 'qemu-aarch64 -L /usr/aarch64-linux-gnu build/arm/xnn_executor_runner'",
    )


def pytest_configure(config: pytest.Config) -> None:
    compile_graphs_once()
    look_up_composites_once()
    register_kernels_in_little_time()
    command = config.getoption("--on")
    settings.register_profile("xir", phases=[Phase.generate] if command else [Phase.generate, Phase.shrink])
    settings.load_profile("xir")
    if command:
        elsewhere = RunnerElsewhere(shlex.split(command))
        config.stash[ELSEWHERE] = elsewhere
        Runtime.get = staticmethod(lambda: elsewhere)  # pyright: ignore[reportAttributeAccessIssue]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)  # no process waits for a long one at the end
    if ELSEWHERE not in config.stash:
        return
    left = [item for item in items if item.get_closest_marker("here") is not None]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)


def pytest_collection_finish() -> None:
    """What is imported by now stays. Python's collector need not look through PyTorch's objects in each test.

    Nor need it look at every 700 new objects: an export makes a million, of which few are garbage in cycles, and
    looking that often takes a tenth of the time of all tests.
    """
    export_patterns_once()
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


def seed(number: int) -> None:
    """The global generators begin here."""
    torch.default_generator.manual_seed(number)
    np.random.seed(number)
    random.seed(number)


@pytest.hookimpl(tryfirst=True)
def pytest_collectstart(collector: pytest.Collector) -> None:
    gc.disable()  # until the last module is imported: what they make stays
    if isinstance(collector, pytest.Module):
        seed(1)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup() -> None:
    seed(2)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call() -> None:
    """A test draws the same numbers alone, after others and in any process."""
    seed(3)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if elsewhere := config.stash.get(ELSEWHERE, None):
        terminalreporter.section("results of the other processor")
        for line in elsewhere.summary():
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    """`scripts/generate_wire.py` as a module."""
    spec = importlib.util.spec_from_file_location("generate_wire", ROOT / "scripts/generate_wire.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
