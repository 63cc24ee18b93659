"""The tools over a real SSH server, on the loopback address; `make test-ssh` installs what that takes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from xir.cost.profile import load_profile
from xir.device.errors import DeviceError
from xir.device.transports import transport
from xir.tools import xir_aot, xir_tune

pytestmark = pytest.mark.ssh

SERVER = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/key.pub
StrictModes no
UsePAM no
PidFile none
ForceCommand cd '{folder}/home' && exec sh -c "$SSH_ORIGINAL_COMMAND"
"""

CLIENT = """
Host loopback
  HostName 127.0.0.1
  Port {port}
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking accept-new
"""

DEVICE = "ssh:loopback"

MODEL = """
import torch
def net():
    image = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten())
    return torch.nn.Sequential(image, torch.nn.Linear(4 * 36, 5)).eval(), (torch.randn(2, 3, 8, 8),)
"""


class Server:
    """It knows one key, and keeps the files of devices in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        # It starts itself anew for each connection, by its whole path.
        program = shutil.which("sshd", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
        assert program is not None
        self._command = [program, "-D", "-e", "-f", folder / "sshd_config"]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        """The home on the device."""
        return self.folder / "home"

    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8")

    def start(self) -> None:
        with open(self.folder / "log", "wb") as log:
            self._process = subprocess.Popen(self._command, stderr=log)
        deadline = time.monotonic() + 20
        while "listening" not in self.log():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()

    def cut(self) -> None:
        """End all connections as a failing network does: nobody says good-bye."""
        assert self._process is not None
        pid = self._process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split():
            os.kill(int(child), signal.SIGKILL)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server, and an `ssh` that knows it."""
    folder = tmp_path / "ssh"
    (folder / "home").mkdir(parents=True)
    for key in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, text in (("sshd_config", SERVER), ("ssh_config", CLIENT)):
        (folder / name).write_text(text.format(port=port, folder=folder), encoding="utf-8")
    client = shutil.which("ssh")
    assert client is not None
    (folder / "bin").mkdir()
    (folder / "bin" / "ssh").write_text(f"#!/bin/sh\nexec {client} -F '{folder}/ssh_config' \"$@\"\n", encoding="utf-8")
    (folder / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    found = Server(folder)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def profile(server: Server) -> Path:
    """One of the device, which `xir-tune` measures some kernels of anew."""
    with transport(DEVICE).open() as session:
        build = f"XNNPACK build {session.hello.xnnpack[:12]}"
    file = server.folder / "loopback.toml"
    file.write_text(replace(load_profile("zen3"), xnnpack=build).text(), encoding="utf-8")
    return file


def tune(profile: Path) -> int:
    return xir_tune.main(["-o", str(profile), "--samples", "4", "--only", "softmax,tanh", "--on", DEVICE])


def test_a_model_is_tested_there(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the runner with its library is copied once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    copies = set()
    for _ in range(2):
        assert xir_aot.main(["--model", "net.py:net", "--delegate", "--test_after_export", "--on", DEVICE]) == 0
        _, outputs, latency = capsys.readouterr().out.splitlines()
        assert "outputs within" in outputs
        assert f" ms on {DEVICE}, one thread, the median of " in latency
        (runner,) = server.home.glob(".cache/xir/*/xnn_executor_runner")
        copies.add(runner.stat().st_mtime_ns)
    assert len(copies) == 1


def once_measuring(profile: Path, act: Callable[[], None]) -> threading.Thread:
    """Does something as soon as a sample is measured and kept."""
    kept = profile.with_name(f"{profile.name}.measured")

    def wait() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (kept.exists() and len(kept.read_bytes().splitlines()) > 1):
            time.sleep(0.01)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_lost_connection_is_replaced(server: Server, profile: Path) -> None:
    before, connections = profile.read_text("utf-8"), server.log().count("Accepted")
    cutting = once_measuring(profile, server.cut)
    assert tune(profile) == 0
    cutting.join()
    assert profile.read_text("utf-8") != before
    looking, serving, serving_again = 1, 1, 1
    assert server.log().count("Accepted") - connections >= looking + serving + serving_again, server.log()


def test_a_host_that_comes_back(server: Server, profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = profile.read_text("utf-8")

    def stop() -> None:
        server.cut()
        server.stop()

    stopping = once_measuring(profile, stop)
    assert tune(profile) == 1
    stopping.join()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"xir-tune: error: {DEVICE}: "), line
    assert profile.with_name(f"{profile.name}.measured").exists()
    assert profile.read_text("utf-8") == before
    server.start()
    assert tune(profile) == 0
    assert not profile.with_name(f"{profile.name}.measured").exists()
    assert profile.read_text("utf-8") != before


def test_a_key_that_the_host_does_not_know(server: Server) -> None:
    shutil.move(server.folder / "host.pub", server.folder / "key.pub")
    with pytest.raises(DeviceError, match=r"^ssh:loopback: looking for the program failed: .*Permission denied"):
        transport(DEVICE).open()
