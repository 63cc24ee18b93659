"""What a file, a kernel in Python, a signal or a wrong input may do to the process that runs a program.

`boundary_fuzz` has kernels that raise, answer and write what they may not; `boundary_test.cc` has those of C++.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from boundary_fuzz.cases import LOOP
from reference.method_text import file_of
from reference.modules import Calling, Function

import xir
from xir.runtime import Method, Runtime, XirRuntimeError
from xir.runtime.same_results import MethodCall, NotComparedError, calls_of, sameness

what_happens: dict[str, Callable[[], None]] = {}
"""What `boundary::step` does before it copies."""


@torch.library.custom_op("boundary::step", mutates_args=())
def step(x: torch.Tensor) -> torch.Tensor:
    """A copy."""
    if "now" in what_happens:
        what_happens["now"]()
    return x.clone()


@step.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


STEPPING = Function(lambda x: torch.ops.boundary.step(x) + 1)
"""One operator in Python, and one behind it."""


def compiled(model: torch.nn.Module, *inputs: torch.Tensor) -> xir.ExecutorchProgram:
    """A program of kernels alone."""
    return xir.to_edge(torch.export.export(model.eval(), inputs)).to_executorch()


def load(file: bytes, **options: Any) -> Method:
    return Runtime.get().load_program(file, threads=1, **options).load_method()


@pytest.fixture
def stepping() -> Method:
    """A method whose first kernel does `what_happens["now"]`."""
    what_happens.clear()
    return load(compiled(STEPPING, torch.ones(2)).buffer)


def raising(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


# --- Operators -------------------------------------------------------------------------------------------------------


def test_a_file_calls_no_operator_that_xir_does_not_know(tmp_path: Path):
    """Nor does comparing a file allow it more. `boundary_fuzz` has others."""
    name = "aten::max_unpool2d.out"  # which writes where indices say
    text = f"""
      %x = pte.tensor tensor<4xf32>
      %out = pte.tensor tensor<4xf32> planned <1, 0>
      pte.chain {{ pte.kernel_call "{name}" (%x, %out) }}
    """
    path = tmp_path / "stranger.pte"
    path.write_bytes(file_of(text, inputs="%x"))
    refusal = f"calls '{name}', which xir does not know"
    with pytest.raises(XirRuntimeError, match=refusal) as error:
        load(path.read_bytes())
    assert f"allow_ops=['{name.partition('::')[0]}']" in str(error.value)
    with pytest.raises(XirRuntimeError, match=refusal):
        sameness(path, path, [MethodCall("forward", [torch.ones(4)], "call 1")], in_stock=False)
    with pytest.raises(NotComparedError, match=f"calls '{name}', which xir's runtime lacks"):
        calls_of(path, ["forward"])


def test_a_caller_allows_operators(tmp_path: Path):
    # As a file of another process: a byte of it differs from what this process has compiled.
    buffer = compiled(STEPPING, torch.ones(2)).buffer.replace(b"boundary::step", b"boundary::stop", 1)
    with pytest.raises(XirRuntimeError, match="which xir does not know"):
        load(buffer)
    path = tmp_path / "other.pte"
    path.write_bytes(compiled(STEPPING, torch.ones(2)).buffer + b"\0")
    for allowed in ("boundary", "boundary::step"):
        what_happens.clear()
        method = Runtime.get().load_program(path, allow_ops=[allowed]).load_method()
        assert method.execute([torch.ones(2)])[0].tolist() == [2, 2]
    with pytest.raises(XirRuntimeError, match="which xir does not know"):
        Runtime.get().load_program(path, allow_ops=["boundary::step.out"]).load_method()
    with pytest.raises(XirRuntimeError, match="allow_ops is a list of names"):
        Runtime.get().load_program(b"", allow_ops="aten")


def test_what_this_process_compiled_calls_what_its_model_does(tmp_path: Path):
    what_happens.clear()
    program = compiled(STEPPING, torch.ones(2))
    program.save(tmp_path / "own.pte")
    for source in (program.buffer, bytearray(program.buffer), tmp_path / "own.pte"):
        method = Runtime.get().load_program(source).load_method()
        assert method.execute([torch.ones(2)])[0].tolist() == [2, 2]
    code = f"import xir.runtime as r; r.Runtime.get().load_program({str(tmp_path / 'own.pte')!r}).load_method()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "calls 'boundary::step', which xir does not know" in done.stderr


EYE = """
  %x = pte.tensor tensor<4xf32>
  %n = pte.int 20000
  %out = pte.tensor tensor<4x4xf32> planned <1, 0>
  pte.chain { pte.kernel_call "aten::eye.out" (%n, %out, %out) }
"""


def test_results_are_measured_before_they_are_made(monkeypatch: pytest.MonkeyPatch):
    method = load(file_of(EYE, inputs="%x"), allow_ops=["aten"], max_memory=1 << 20)
    made: list[int] = []
    real = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *args, **kwargs: made.append(1) or real(*args, **kwargs))
    with pytest.raises(XirRuntimeError, match="shape \\[20000, 20000\\] takes 1600000000 bytes, and its memory has 64"):
        method.execute([torch.zeros(4)])
    assert made  # the empty tensor that it would have been written to


# --- Exceptions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_interruptions_pass_through(stepping: Method, raised: type[BaseException]):
    what_happens["now"] = raising(raised())
    with pytest.raises(raised):
        stepping.execute([torch.ones(2)])
    what_happens.clear()
    assert stepping.execute([torch.ones(2)])[0].tolist() == [2, 2]


# --- Time ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def loop() -> bytes:
    return file_of(LOOP, outputs="%o", arena=262144)


def test_time_is_limited(loop: bytes):
    method = load(loop, max_seconds=0.05)
    begin = time.monotonic()
    with pytest.raises(XirRuntimeError, match=r"stopped after 0\.05 seconds, as max_seconds says"):
        method.execute([])
    with pytest.raises(XirRuntimeError, match=r"stopped after 0\.02 seconds"):
        method.execute([], max_seconds=0.02)
    with pytest.raises(XirRuntimeError, match=r"stopped after 0\.05 seconds"):
        method.execute([])
    assert time.monotonic() - begin < 5
    with pytest.raises(XirRuntimeError, match="max_seconds must be at least 0"):
        load(loop, max_seconds=-1)
    with pytest.raises(XirRuntimeError, match="a limit of nan seconds"):
        method.execute([], max_seconds=float("nan"))


def test_ctrl_c_stops_an_execution(loop: bytes):
    # Shells start what runs in the background with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    method = load(loop)
    begin = time.monotonic()

    def execute_and_interrupt() -> None:
        """Well before the loop has run as many instructions as an execution may."""
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        method.execute([])

    try:
        with pytest.raises(KeyboardInterrupt):
            execute_and_interrupt()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 3
    with pytest.raises(XirRuntimeError, match="stopped after"):
        method.execute([], max_seconds=0.01)


# --- Inputs ----------------------------------------------------------------------------------------------------------


WRONG_SIZES = [
    (((5, 5), (5, 3)), "input 0 has shape \\[4 to 16, 4\\], and \\[5, 5\\] was given"),
    (((5, 3), (5, 3)), "input 0 has shape \\[4 to 16, 4\\], and \\[5, 3\\] was given"),
    (((17, 4), (17, 3)), "input 0 has shape \\[4 to 16, 4\\], and \\[17, 4\\] was given"),
    (((3, 4), (3, 3)), "input 0 has shape \\[4 to 16, 4\\], and \\[3, 4\\] was given"),
    (((5, 4), (6, 3)), "input 1 has the size 6 in dimension 0, .* as in dimension 0 of input 0, 5"),
    (((5, 4, 1), (5, 3)), "input 0 has shape .*, and \\[5, 4, 1\\] was given"),
]


@pytest.mark.parametrize("delegate", [False, True])
def test_sizes_are_the_programs(delegate: bool):
    """Rows of four, of which there may be any number, and as many of three."""
    rows = torch.export.Dim("rows", min=4, max=16)
    affine = Calling(lambda m, x, y: m.linear(x) + y, linear=torch.nn.Linear(4, 3))
    inputs = (torch.randn(5, 4), torch.randn(5, 3))
    edge = xir.to_edge(torch.export.export(affine, inputs, dynamic_shapes=({0: rows}, {0: rows})))
    method = load((edge.to_backend(xir.XnnpackPartitioner()) if delegate else edge).to_executorch().buffer)
    for shapes, told in WRONG_SIZES:
        tensors = [torch.ones(shape) for shape in shapes]
        for given in (tensors, [tensor.numpy() for tensor in tensors]):
            with pytest.raises(XirRuntimeError, match=told):
                method.execute(given)
        for count in (4, 16):
            assert method.execute([torch.ones(count, 4), torch.ones(count, 3)])[0].shape == (count, 3)


def test_static_sizes_of_images_are_the_programs():
    batch = torch.export.Dim("batch", max=8)
    image = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    model = torch.nn.Conv2d(3, 4, 3).eval()
    exported = torch.export.export(model, (image,), dynamic_shapes=({0: batch},))
    method = load(xir.to_edge(exported).to_backend(xir.XnnpackPartitioner()).to_executorch().buffer)
    assert method.execute([image[:1]])[0].shape == (1, 4, 6, 6)
    with pytest.raises(XirRuntimeError, match="has shape \\[8 at most, 3, 8, 8\\], and \\[2, 3, 7, 8\\] was given"):
        method.execute([image[:, :, :7]])


# --- Text ------------------------------------------------------------------------------------------------------------


def test_paths_need_not_be_text(tmp_path: Path, loop: bytes):
    path = os.fsencode(tmp_path) + b"/\xff.pte"
    with pytest.raises(XirRuntimeError, match=r"xff\.pte"):
        Runtime.get().load_program(os.fsdecode(path))
    Path(os.fsdecode(path)).write_bytes(loop)
    assert Runtime.get().load_program(os.fsdecode(path)).method_names == ["forward"]
