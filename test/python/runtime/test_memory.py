"""What loading takes of memory, by the system's account: weights once, packed; activations for each instance."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from reference.both_runtimes import lower
from reference.process_memory import status
from torch import nn

import xir
from xir.runtime import Runtime

TESTS = Path(__file__).parents[1]

WIDTH, LAYERS = 1024, 10
WEIGHTS = LAYERS * WIDTH * (WIDTH + 1) * 4
"""Bytes. The C library maps blocks of this size and gives them back, so that none is there from an earlier test."""


def compiled(model: nn.Module, file: Path) -> Path:
    """The file, with the program of a model."""
    lower(model, torch.randn(1, WIDTH)).to_executorch().save(file)
    return file


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of nearly nothing but weights."""
    layers = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)))
    return compiled(layers, tmp_path_factory.mktemp("memory") / "layers.pte")


LOADING = f"""
import sys
import numpy as np
from reference.process_memory import forget_peak, status
from xir.runtime import Runtime
def load(path):
    program = Runtime.get().load_program(path, threads=1)
    method = program.load_method("forward")
    method.execute([np.zeros((1, {WIDTH}), np.float32)])
    return program, method
small = load(sys.argv[1])  # libraries are there from now on
forget_peak()
before = status("VmHWM")
program, method = load(sys.argv[2])
print(program.packed_weights.nbytes, status("VmHWM") - before)
"""


def test_loading_takes_what_is_packed(path: Path, tmp_path: Path):
    """The file's weights are let go one by one as they are packed: the peak is that of packed ones and little more. In
    a process of its own, since one that has run other tests holds memory that they left.
    """
    layer = compiled(nn.Linear(WIDTH, 1), tmp_path / "layer.pte")
    command = [sys.executable, "-c", LOADING, str(layer), str(path)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=True)
    packed, grown = map(int, done.stdout.split())
    assert WEIGHTS <= packed <= WEIGHTS * 1.01
    assert packed * 0.9 < grown <= packed * 1.25


def test_steps_of_a_loop_share_what_is_packed(tmp_path: Path):
    """Nodes that read one filter pack it once: all do in fp32, and in a file. Those on integers with other zero points
    pack other numbers.
    """
    layer = nn.Linear(64, 64)
    steps = nn.Sequential(*(part for _ in range(8) for part in (layer, nn.Tanh()))).eval()
    x, weights = torch.randn(1, 64), 64 * 65 * 4
    forms = [
        (torch.export.export(steps, (x,)), 1.1 * weights, 1e-6),
        (xir.quantize(steps, (x,)), 9 * weights / 4, 2e-2),
    ]
    for program, most, far in forms:
        file = xir.to_edge(program).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer
        for _ in range(2):
            loaded = Runtime.get().load_program(file, packed_weights=tmp_path / f"{len(file)}.packed")
            (out,) = loaded.load_method("forward").execute([x])
            torch.testing.assert_close(out, program.module()(x).detach(), rtol=1e-5, atol=far)
            assert weights / 4 <= loaded.packed_weights.nbytes <= most


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


LOADS_AGAIN = """
import ctypes, resource, sys
import xir.runtime
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE of linux/prctl.h: with large pages there are few faults
for _ in range(4):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    xir.runtime.Runtime.get().load_program(sys.argv[1], threads=1).load_method("forward")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_loading_again_packs_into_pages_that_the_process_has(tmp_path: Path) -> None:
    """Packed weights of 8 MB, which are 2,048 pages; a new page would be cleared first."""
    file = compiled(nn.Linear(WIDTH, 2048), tmp_path / "linear.pte")
    done = subprocess.run([sys.executable, "-c", LOADS_AGAIN, str(file)], capture_output=True, text=True, check=True)
    faults = [int(line) for line in done.stdout.split()]
    assert faults[0] > 2048
    assert faults[-1] < 1024
