"""`xir-aot --test_after_export --on DEVICE` runs the file where it is for, and ends in one line where that fails."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
import torch

from xir.device import session
from xir.device.agreement import agreement_on
from xir.device.errors import DeviceError
from xir.device.execution import load_with
from xir.device.session import Loaded, Session
from xir.device.transports import own_runner, transport
from xir.explore import read_profile
from xir.tools import xir_aot

FAKE = Path(__file__).with_name("fake_device.py")

MODEL = """import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 8)
    def forward(self, x, n, y):
        return self.layer(x) * n, y + 1, (x > 0).sum()
def net():
    return Net().to(torch.{dtype}).eval(), (torch.randn(4, 16, dtype=torch.{dtype}), 3, torch.arange(5))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(folder: Path, device: str, *more: str, dtype: str = "float32") -> int:
    (folder / "net.py").write_text(MODEL.format(dtype=dtype), encoding="utf-8")
    return xir_aot.main(["--model", "net.py:net", "--test_after_export", "--on", device, *more])


@pytest.mark.parametrize(
    ("device", "dtype", "more"),
    [
        ("local", "float32", []),
        ("local", "bfloat16", []),
        ("local", "float32", ["--weights-apart"]),
        ("command", "float32", ["--weights-apart"]),
        ("command", "float16", ["--no-delegate"]),
    ],
)
def test_a_file_runs_there(
    folder: Path, device: str, dtype: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A number among the inputs is part of the program; integers and a sum of bools come back as such."""
    name = shlex.quote(str(own_runner())) if device == "command" else device
    assert compiled(folder, name, *more, dtype=dtype) == 0
    *_, agreement, latency = capsys.readouterr().out.splitlines()
    assert "of PyTorch's largest magnitude, SQNR" in agreement or agreement.endswith("are PyTorch's exactly")
    assert " ms on " in latency
    assert ", one thread, the median of " in latency


@pytest.mark.parametrize("where", [[], ["--on", "local"]])
def test_a_profile_is_written(folder: Path, where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "net.py").write_text(MODEL.format(dtype="float32"), encoding="utf-8")
    arguments = ["--model", "net.py:net", "-t", *where]
    assert xir_aot.main([*arguments, "--profile-trace", "traces/net.json"]) == 0
    out = capsys.readouterr().out
    assert "forward: 10 executions, on average " in out
    assert " Fully Connected (NC, F32)" in out
    assert read_profile("traces/net.json").executions == 10
    assert xir_aot.main([*arguments, "--profile", "traces/net.json"]) == 0
    assert " executions in traces/net.json" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("die", "the connection ended while running a program: Segmentation fault"),
        ("nonsense", "no answer of the protocol but"),
        ("hang", "no answer in 0.5 s while running a program"),
        ("full", "sending"),
        ("", "as 'data'"),
    ],
)
def test_a_device_that_goes_wrong(
    folder: Path, trouble: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is there by then."""
    monkeypatch.setattr(session, "RUNNING", 0.5)
    command = [sys.executable, str(FAKE), str(folder / "log"), *([trouble] if trouble else [])]
    assert compiled(folder, shlex.join(command)) == 1
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("xir-aot: error: net_xnnpack_fp32.pte: ")
    assert message in line
    assert (folder / "net_xnnpack_fp32.pte").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--on", "local"], "--on says where --test_after_export runs the file, and --tune measures: give one of them"),
        (["--profile-trace", "t.json"], "--profile-trace profiles what --test_after_export runs: give that as well"),
        (["-t", "--program", "runner"], "--program is a file for a device: give --on as well"),
        (["-t", "--on", "none-such --x"], "--on: a device is local, ssh:host, adb:serial, or a command"),
        (["-t", "--on", "false"], "--on: false: the connection ended while waiting for it to say what it is"),
    ],
)
def test_wrong_arguments(folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the model is compiled."""
    assert xir_aot.main(["--model", "net.py:net", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (("float32", (2,), b"1234"), r"output 0 comes as 4 bytes of 'float32' in shape \(2,\)"),
        (("object", (1,), b"12345678"), "output 0 comes as 8 bytes of 'object'"),
        (("float31", (1,), b"1234"), "output 0 comes as 4 bytes of 'float31'"),
    ],
)
def test_outputs_that_are_none(
    output: tuple[str, tuple[int, ...], bytes], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> None: ...

    def answer(*_: object) -> tuple[str, tuple[int, ...], bytes]:
        return output

    monkeypatch.setattr(Session, "run", run)
    monkeypatch.setattr(Session, "output", answer)
    with transport("local").open() as connected, pytest.raises(DeviceError, match=message):
        agreement_on(connected, Loaded(1, (0,), 1, 0, 1.0), [torch.zeros(1)])


def test_inputs_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> Loaded:
        return Loaded(1, (3,), 1, 0, 1.0)

    monkeypatch.setattr(Session, "load", load)
    with transport("local").open() as connected, pytest.raises(DeviceError, match="asks for input 3, and the program"):
        load_with(connected, Path("a.pte"), [torch.zeros(1)])
