"""Copying the program to a device with a shell: once, by what is in the files."""

from __future__ import annotations

import hashlib
import shlex
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from xir.device.errors import DeviceError, LostConnectionError
from xir.files import size_text

PATIENCE = 60.0
"""Seconds that a command of the shell may take."""

SLOWEST = 100_000
"""Bytes of a file that are sent in a second, at least."""

MACHINES = {62: "x86_64", 183: "aarch64", 40: "arm", 3: "i686", 243: "riscv64"}
"""`e_machine` of ELF -> what `uname -m` says. Source: elf.h of Linux."""

ALIKE = {"arm64": "aarch64", "amd64": "x86_64", "armv7l": "arm", "armv8l": "arm"}


@dataclass(frozen=True)
class Shell:
    """A way to run commands on a device, by POSIX's shell."""

    device: str
    prefix: Sequence[str]
    """What the text of a command follows."""
    folder: str
    """Where the program is kept."""

    def words(self, command: str) -> list[str]:
        """What runs a command there."""
        return [*self.prefix, command]

    def run(self, command: str, doing: str, file: Path | None = None) -> str:
        """What a command prints, with a file as its input. DeviceError if it fails."""
        seconds = PATIENCE + (0 if file is None else file.stat().st_size / SLOWEST)
        try:
            with open("/dev/null" if file is None else file, "rb") as standard_input:
                found = subprocess.run(
                    self.words(command), stdin=standard_input, capture_output=True, timeout=seconds, check=False
                )
        except subprocess.TimeoutExpired as error:
            raise LostConnectionError(f"{self.device}: no answer in {seconds:.0f} s while {doing}") from error
        except OSError as error:
            raise DeviceError(f"{self.device}: cannot start '{self.prefix[0]}': {error.strerror}") from error
        if found.returncode != 0:
            complaints = found.stderr.decode("utf-8", "replace").strip().splitlines() or [f"code {found.returncode}"]
            raise DeviceError(f"{self.device}: {doing} failed: {complaints[-1]}")
        return found.stdout.decode("utf-8", "replace")


@dataclass(frozen=True)
class Files:
    """The program first, which is made executable."""

    shell: Shell
    paths: Sequence[Path]

    def pushed(self) -> str:
        """The folder on the device that has them, whole and unchanged. DeviceError if they cannot get there."""
        digests = {path.name: _digest(path) for path in self.paths}
        name = hashlib.sha256("".join(digests.values()).encode()).hexdigest()[:16]
        folder = f"{self.shell.folder}/{name}"
        names = shlex.join(digests)
        check = "uname -m; cd {0} 2>/dev/null || exit 0; {{ sha256sum {1} || shasum -a 256 {1}; }} 2>/dev/null; exit 0"
        machine, _, sums = self.shell.run(check.format(folder, names), "looking for the program").partition("\n")
        self._check_machine(machine.strip())
        found = [line.split()[0] for line in sums.splitlines() if line.strip()]
        if found != list(digests.values()):
            self._push(folder)
        return folder

    def _push(self, folder: str) -> None:
        part = f"{folder}.part"
        try:
            self.shell.run(f"rm -rf {part} {folder} && mkdir -p {part}", "making a folder")
            for path in self.paths:
                doing = f"copying {path.name}, {size_text(path.stat().st_size)}, to {self.shell.folder}"
                self.shell.run(f"cat > {part}/{shlex.quote(path.name)}", doing, path)
            program = shlex.quote(self.paths[0].name)
            self.shell.run(f"chmod 755 {part}/{program} && mv {part} {folder}", "moving the program to its place")
        except DeviceError as error:
            # A device that is gone cannot be tidied up: what went wrong first is told.
            with suppress(DeviceError):
                self.shell.run(f"rm -rf {part}", "tidying up")
            if "No space left" in str(error):
                raise DeviceError(f"{error}: free some room there, and try again") from error
            raise

    def _check_machine(self, machine: str) -> None:
        """DeviceError for a program that is built for another processor."""
        built = _machine(self.paths[0])
        if built and ALIKE.get(machine, machine) != built:
            raise DeviceError(
                f"{self.shell.device}: it is {machine}, and {self.paths[0]} is built for {built}: build the runner for "
                "it (docs/phones.md), and name that with --program"
            )


def _digest(path: Path) -> str:
    """SHA-256, in hexadecimal. DeviceError for a file that cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DeviceError(f"cannot read '{path}': {error.strerror}") from error


def _machine(path: Path) -> str:
    """The processors that a program is built for; empty for what is no program of Linux."""
    with open(path, "rb") as file:
        start = file.read(20)
    return MACHINES.get(int.from_bytes(start[18:20], "little"), "") if start[:4] == b"\x7fELF" else ""
