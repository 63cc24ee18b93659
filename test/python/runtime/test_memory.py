"""What loading takes of memory, by the system's account: weights once, packed; activations for each instance."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from torch import nn

import xir
from xir.runtime import Runtime

WIDTH, LAYERS = 1024, 10
WEIGHTS = LAYERS * WIDTH * (WIDTH + 1) * 4
"""Bytes. The C library maps blocks of this size and gives them back, so that none is there from an earlier test."""


def status(name: str) -> int:
    """Bytes, from a line of /proc/self/status."""
    found = re.search(rf"^{name}:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of nearly nothing but weights."""
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))
    exported = torch.export.export(model, (torch.randn(1, WIDTH),))
    program = xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch()
    file = tmp_path_factory.mktemp("memory") / "layers.pte"
    file.write_bytes(program.buffer)
    return file


def test_loading_takes_what_is_packed(path: Path):
    """The file's weights are let go one by one as they are packed: the peak is that of packed ones and little more."""
    Runtime.get().load_program(path, threads=1).load_method("forward")  # libraries are there from now on
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is what is resident now, proc(5)
    before = status("VmHWM")
    program = Runtime.get().load_program(path, threads=1)
    method = program.load_method("forward")
    method.execute([torch.randn(1, WIDTH)])
    packed = program.packed_weights.nbytes
    assert WEIGHTS <= packed <= WEIGHTS * 1.01
    assert packed * 0.9 < status("VmHWM") - before <= packed * 1.25


def test_another_instance_takes_no_weights(path: Path):
    """Less than any layer's."""
    program = Runtime.get().load_program(path, threads=1)
    first = program.load_method("forward")
    x = torch.randn(1, WIDTH)
    (expected,) = first.execute([x])
    before = status("VmRSS")
    second = program.load_method("forward")
    (out,) = second.execute([x])
    torch.testing.assert_close(out, expected, rtol=0, atol=0)
    assert status("VmRSS") - before < WEIGHTS / LAYERS / 2
