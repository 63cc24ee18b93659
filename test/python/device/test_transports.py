"""The native program answers requests over each transport, whatever the lines are, and is copied to a device once.

`ssh` and `adb` are scripts that run the command here, in another home.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from xir.cost.native import installed_xnnpack, this_machine
from xir.device.errors import DeviceError, RefusedError
from xir.device.session import Session
from xir.device.transports import own_library, own_runner, transport
from xir.runtime import Runtime
from xir.tools import xir_tune
from xir.tuning.machine import cache_sizes, measurable, processor_name
from xir.tuning.samples import AdditionSample, program

SHELL = """#!/bin/sh
# What stands for {name}: the last argument is the command.
for command; do :; done
echo "$command" >> '{home}/commands'
case "$command" in 'cat >'*)
  if [ -e '{home}/full' ]; then echo 'cat: write error: No space left on device' >&2; exit 1; fi;;
esac
cd '{home}' || exit 255
exec sh -c "$(echo "$command" | sed 's#/data/local/tmp#{home}/tmp#g')"
"""

BAD_LINES = (
    b"", b"nonsense", b"{", b"[]", b"null", b'{"request": 3}', b'{"request": "fly"}', b'{"id": -1, "request": "hello"}',
    b'{"request": "run"}', b'{"request": "run", "program": 9}', b'{"request": "load", "name": "none"}',
    b'{"request": "load", "path": "/none"}', b'{"request": "put", "name": "a", "size": 1e15, "data": ""}',
    b'{"request": "put", "name": "a", "size": 3, "data": "AAA"}',
    b'{"request": "put", "name": "a", "size": 1, "data": "AAAA"}',
    b'{"request": "put", "name": "b", "size": 9, "at": 3, "data": "AAAA"}', b'{"request": "hello"} {}',
    b'{"request": "\\ud800"}', b'{"request": "\\x"}', b'{"request": ["hello"]}', b'\xff\xfe', b'{"request": "\xff"}',
    b'{"request": "core", "core": 100000}', b'{"request": "drop", "name": "none"}', b"x" * (9 << 20),
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home on the device, of which `ssh` and `adb` are scripts."""
    for name in ("ssh", "adb"):
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text(SHELL.format(name=name, home=tmp_path), encoding="utf-8")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.fixture(params=["local", "command", "ssh:phone", "adb:0123"])
def connected(request: pytest.FixtureRequest, home: Path) -> Iterator[Session]:
    name = shlex.quote(str(own_runner())) if request.param == "command" else request.param
    with transport(name).open() as session:
        yield session


def test_a_program_runs(connected: Session) -> None:
    """As it does in this process, and its times are in order."""
    sample = AdditionSample(4, 8)
    file, image = program(sample, 3), np.linspace(-1, 1, 128, dtype=np.float32).reshape(sample.shape)
    loaded = connected.load(file)
    connected.give(loaded, 0, image)
    times = connected.run(loaded, 5, clock="wall")
    assert (times.runs, len(times.each), loaded.inputs, loaded.outputs) == (5, 5, (0,), 1)
    assert 0 < times.shortest == min(times.each) <= times.median <= max(times.each)
    dtype, shape, data = connected.output(loaded, 0)
    (wanted,) = Runtime.get().load_program(file).load_method("forward").execute([image])
    assert (dtype, shape) == ("float32", sample.shape)
    np.testing.assert_array_equal(np.frombuffer(data, np.float32).reshape(shape), np.from_dlpack(wanted))
    table, trace = connected.profile(loaded, 2)
    assert "xnn_binary_elementwise_nd" in table or "Add" in table
    assert json.loads(trace)
    connected.unload(loaded)
    with pytest.raises(RefusedError, match=f"there is no program {loaded.number}"):
        connected.run(loaded)


def test_it_says_what_it_is(connected: Session) -> None:
    """The same as this process finds out; a command's XNNPACK is known by its build."""
    core = connected.core()
    here = measurable(connected.hello, core, is_here=True)
    assert here.machine == this_machine()
    assert (here.processor, here.caches, here.xnnpack) == (processor_name(), cache_sizes(), installed_xnnpack())
    there = measurable(connected.hello, core, is_here=False)
    assert there.xnnpack == f"XNNPACK build {connected.hello.xnnpack[:12]}"
    assert len(connected.hello.cores) == os.cpu_count()
    assert 0 < connected.reference().nanoseconds < 1e8


def test_bad_lines_are_one_error_each() -> None:
    text = b"\n".join((*BAD_LINES, b'{"id": 7, "request": "hello"}', b'{"request": "quit"}', b'{"request": "hello"}\n'))
    found = subprocess.run([own_runner(), "--serve"], input=text, capture_output=True, check=True)
    *errors, hello, last = map(json.loads, found.stdout.splitlines())
    assert len(errors) == len(BAD_LINES)
    assert all(set(each) - {"id"} == {"error", "code"} and each["error"] for each in errors), errors
    assert (hello["id"], hello["protocol"], last) == (7, 1, {})
    assert found.stderr == b""


def test_serving_takes_no_program() -> None:
    found = subprocess.run([own_runner(), "--serve", "--model_path", "a.pte"], capture_output=True, check=False)
    assert (found.returncode, found.stdout) == (1, b"")
    assert b"--serve takes no --model_path" in found.stderr


@pytest.mark.parametrize("device", ["ssh:phone", "adb:0123"])
def test_the_program_is_copied_once(home: Path, device: str) -> None:
    def copied() -> int:
        return sum(line.startswith("cat >") for line in (home / "commands").read_text(encoding="utf-8").splitlines())

    files = 2 + sum(
        (own_library() or Path()).with_name(f"libexecutorch{name}.so").exists() for name in ("", "_threadpool")
    )
    for _ in range(2):
        transport(device).open().close()
        assert copied() == files
    (program_there,) = home.glob("**/xnn_executor_runner")
    program_there.write_bytes(program_there.read_bytes()[:-1])
    transport(device).open().close()
    assert copied() == 2 * files
    assert program_there.read_bytes() == own_runner().read_bytes()


def test_there_is_no_room(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "full").touch()
    assert xir_tune.main(["-o", str(home / "a.toml"), "--on", "ssh:phone"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("xir-tune: error: ssh:phone: copying xnn_executor_runner, ")
    assert line.endswith("cat: write error: No space left on device: free some room there, and try again")
    assert not list(home.glob(".cache/xir/*"))
    assert not list(home.glob("a.toml*"))


def test_the_program_is_for_another_processor(home: Path) -> None:
    """It is not copied."""
    other = bytearray(own_runner().read_bytes()[:64])
    other[18:20] = b"\xf3\x00"
    (home / "runner").write_bytes(other)
    with pytest.raises(
        DeviceError, match=r"ssh:phone: it is \S+, and \S+ is built for riscv64: build the runner for it"
    ):
        transport("ssh:phone", home / "runner").open()
    assert not list(home.glob(".cache"))


def test_a_host_that_is_not_there(home: Path) -> None:
    (home / "bin" / "ssh").write_text("#!/bin/sh\necho 'ssh: no such host' >&2; exit 255\n", encoding="utf-8")
    with pytest.raises(DeviceError, match=r"^ssh:phone: looking for the program failed: ssh: no such host$"):
        transport("ssh:phone").open()


def test_a_command_says_which_program_it_takes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the command 'sh -c x' says itself which program"):
        transport("sh -c x", tmp_path)
