"""Where programs run, by what the user calls it: `local`, `ssh:host`, `adb:serial`, or a command."""

from __future__ import annotations

import shlex
import shutil
import sysconfig
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from xir.device.connection import Connection
from xir.device.errors import DeviceError
from xir.device.pushing import Files, Shell
from xir.device.session import Session

RUNNER = "xnn_executor_runner"

LIBRARIES = ("libexecutorch.so", "libexecutorch_threadpool.so")
"""What the library with XNNPACK of ExecuTorch's wheel needs, beside which they lie."""


class Transport(ABC):
    """A way to a device."""

    name: str
    shares_files: bool = False
    """Whether the device has this machine's files under the same names."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """What starts the program on the device, which answers on standard output. DeviceError where that cannot be."""

    def open(self) -> Session:
        """Connect to the device. DeviceError if it does not answer."""
        return Session(Connection(self.name, self.command()), self.shares_files)


@dataclass(frozen=True)
class Local(Transport):
    """This machine, in a process of its own."""

    program: Path | None = None
    library: Path | None = None
    name: str = "local"
    shares_files: bool = True

    def command(self) -> Sequence[str]:
        return [str(self.program or own_runner()), "--serve", *given_library(self.library)]


@dataclass(frozen=True)
class Command(Transport):
    """A command that starts the runner somewhere, or an emulator of it: what follows is added to it."""

    words: Sequence[str]
    name: str

    def command(self) -> Sequence[str]:
        return [*self.words, "--serve"]


@dataclass(frozen=True)
class Pushed(Transport):
    """A device with a shell, to which the runner is copied unless it is there."""

    shell: Shell
    program: Path | None = None
    library: Path | None = None
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.shell.device)

    def command(self) -> Sequence[str]:
        files = Files(self.shell, self._files())
        folder = files.pushed()
        words = [f"{folder}/{files.paths[0].name}", "--serve"]
        if len(files.paths) > 1:
            words += ["--xnnpack", f"{folder}/{files.paths[1].name}"]
        return self.shell.words(f"exec {shlex.join(words)}")

    def _files(self) -> list[Path]:
        """The program, its library, and what that needs."""
        library = self.library
        if library is None and self.program is None:
            library = own_library()
        if library is None:
            return [self.program or own_runner()]
        beside = [library.with_name(name) for name in LIBRARIES]
        return [self.program or own_runner(), library, *(each for each in beside if each.exists())]


def transport(device: str, program: Path | None = None, library: Path | None = None) -> Transport:
    """The way to a device by its name. `program` is the runner for it, `library` the XNNPACK that it takes; without
    them, this machine's. ValueError for what names no device."""
    kind, colon, rest = device.partition(":")
    if device == "local":
        return Local(program, library)
    if colon and kind == "ssh" and rest and not rest.startswith("-"):
        options = ("-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3")
        return Pushed(Shell(device, ("ssh", *options, rest), ".cache/xir"), program, library)
    if colon and kind == "adb":
        serial = ("-s", rest) if rest else ()
        return Pushed(Shell(device, ("adb", *serial, "shell", "-T"), "/data/local/tmp/xir"), program, library)
    try:
        words = shlex.split(device)
    except ValueError as error:
        raise ValueError(f"'{device}' is no command: {error}") from error
    if not words or shutil.which(words[0]) is None:
        raise ValueError(f"a device is local, ssh:host, adb:serial, or a command that starts {RUNNER}, not '{device}'")
    if program is not None or library is not None:
        raise ValueError(f"the command '{device}' says itself which program and library it takes")
    return Command(words, device)


def given_library(library: Path | None) -> list[str]:
    """The runner's option."""
    return [] if library is None else ["--xnnpack", str(library)]


def own_runner() -> Path:
    """The runner that is installed with xir. DeviceError if there is none."""
    path = Path(sysconfig.get_path("scripts")) / RUNNER
    found = str(path) if path.exists() else shutil.which(RUNNER)
    if found is None:
        raise DeviceError(f"{RUNNER} is not installed: reinstall xir, or name one with --program")
    return Path(found)


def own_library() -> Path | None:
    """The library with XNNPACK that this Python has."""
    from xir.runtime.library import xnnpack_paths

    files = (Path(folder) / "libexecutorch_backend_xnnpack.so" for folder in xnnpack_paths())
    return next((each for each in files if each.exists()), None)
