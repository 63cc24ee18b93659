"""What was measured so far, in a file beside the profile that is not there yet: a run that ends early goes on there."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from xir.device.errors import DeviceError

VERSION = 1

SKIPPED = math.inf
"""What a sample took that the device is too slow or too small for."""


class KeptTimes:
    """A file of lines of JSON: what the machine is, and then what each sample took.

    An unfinished last line, of a process that was killed, does not count.
    """

    def __init__(self, path: Path, identity: Mapping[str, object]):
        """Read the file, if there is one. DeviceError if it is of another machine, or cannot be read."""
        self.path = path
        self.times: dict[str, float] = {}
        """What is in the file: nanoseconds of each sample."""
        self.reference = 0.0
        """Nanoseconds of the reference when the first one was measured; 0 if none was."""
        self._identity = json.loads(json.dumps(identity))
        if path.exists():
            self._read()

    def begin(self, reference: float) -> None:
        """Write what the machine is, and its reference. Nothing is kept yet."""
        self.reference = reference
        header = {"version": VERSION, "machine": self._identity, "reference": reference}
        self.path.write_text(json.dumps(header) + "\n", encoding="utf-8")

    def add(self, key: str, nanoseconds: float) -> None:
        """Write what a sample took."""
        self.times[key] = nanoseconds
        line = {"sample": key, "nanoseconds": None if math.isinf(nanoseconds) else nanoseconds}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def discard(self) -> None:
        """Remove the file, whose figures are in a profile now."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> None:
        text = self.path.read_text(encoding="utf-8", errors="replace")
        whole = text[: text.rfind("\n") + 1]
        try:
            header, *lines = map(json.loads, whole.splitlines() or ["{}"])
            if whole and header["machine"] == self._identity and header["version"] == VERSION:
                self.times = {
                    each["sample"]: SKIPPED if each["nanoseconds"] is None else float(each["nanoseconds"])
                    for each in lines
                }
                self.reference = float(header["reference"])
            elif whole:
                raise DeviceError(
                    f"{self.path} keeps what was measured on another machine or XNNPACK: go on there, or remove it"
                )
        except (ValueError, KeyError, TypeError) as error:
            raise DeviceError(f"{self.path} is no file of kept measurements: remove it") from error
        if whole != text:
            self.path.write_text(whole, encoding="utf-8")
