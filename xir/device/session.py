"""Requests to a device: `docs/device_protocol.md`."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from xir.device.answers import Answer
from xir.device.connection import Connection
from xir.device.errors import DeviceError, LostConnectionError, RefusedError

PROTOCOL = 1
"""The version of requests and answers."""

CHUNK = 3 << 20
"""The bytes of a file that one request brings."""

PATIENCE = 30.0
"""Seconds that a device may take for a request that takes next to nothing."""

LOADING = 120.0
"""The same for loading a program, or sending a part of a file."""

RUNNING = 600.0
"""The same for a run, besides the seconds that it is asked to last."""

WEIGHTS_MEMBERS = {"name": "data", "path": "data_path"}
"""What a request calls the program's own file -> what it calls that of its weights."""

GREETINGS = 20
"""Lines that may come before the first answer: what shells say when they start."""

Clock = Literal["processor", "wall"]


@dataclass(frozen=True)
class Core:
    """A core, by its number."""

    number: int
    frequency: int = 0
    """The highest, in kHz; 0 if it is not known."""
    capacity: int = 0
    """The system's figure for its speed; 0 if there is none."""


@dataclass(frozen=True)
class Hello:
    """What a device says of itself."""

    xir: str
    """The version of its program."""
    machine: str
    """As `uname -m` has it."""
    system: str
    xnnpack: str
    """The build of XNNPACK, in hexadecimal."""
    cores: tuple[Core, ...]


@dataclass(frozen=True)
class CoreFacts:
    """What a device says of one of its cores."""

    cpuinfo: str
    """Its lines in `/proc/cpuinfo`; empty where there are none."""
    caches: tuple[tuple[int, str, int], ...]
    """Level, type as Linux calls it, and bytes."""


@dataclass(frozen=True)
class RunTimes:
    """Of runs of a program, in nanoseconds."""

    runs: int
    shortest: float
    """Of those that took any time by the clock; infinite if none did."""
    median: float
    each: tuple[float, ...]
    """The first thousand."""


@dataclass(frozen=True)
class Reference:
    """How fast a core is at the moment."""

    nanoseconds: float
    """Of a computation that depends on the clock alone."""
    hot: str
    """The sensor beyond the temperature from which on cores are slowed down; empty if there is none."""


@dataclass(frozen=True)
class Loaded:
    """A program on a device."""

    number: int
    inputs: tuple[int, ...]
    """Which of the method's inputs are tensors."""
    outputs: int
    delegates: int
    nanoseconds: float
    """What loading it took."""


class Session:
    """A connection to a device that has said what it is. A context manager."""

    def __init__(self, connection: Connection, shares_files: bool):
        """Greet the device. DeviceError if it does not answer, or speaks another version."""
        self._connection = connection
        self._folder = TemporaryDirectory() if shares_files else None
        self._requests = 0
        try:
            self.hello = self._greet()
        except BaseException:
            self.close()
            raise

    @property
    def device(self) -> str:
        """What the user calls it."""
        return self._connection.device

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the program on the device."""
        self._connection.close()
        if self._folder is not None:
            self._folder.cleanup()

    def core(self, number: int | None = None) -> CoreFacts:
        """What is known of a core, on which everything runs from now on; of the first one without a number."""
        answer = self._ask("core", "asking for a core", **({} if number is None else {"core": number}))
        caches = tuple(
            (each.whole("level"), each.text("type"), _cache_bytes(each.text("size")))
            for each in answer.objects("caches")
        )
        return CoreFacts(answer.text("cpuinfo"), caches)

    def reference(self) -> Reference:
        """How fast the core is now. It takes some milliseconds."""
        answer = self._ask("reference", "measuring the clock")
        return Reference(answer.number("nanoseconds"), answer.text("hot") if answer.has("hot") else "")

    def load(self, file: bytes | Path, threads: int = 1, method: str = "forward", data: Path | None = None) -> Loaded:
        """Bring a program, with the `.ptd` file of its weights if they are apart, and load it.

        Its inputs are ones until others are given.
        """
        where = self._bring("program", file)
        weights = {} if data is None else self._bring("weights", data)
        named = {WEIGHTS_MEMBERS[member]: value for member, value in weights.items()}
        answer = self._ask("load", "loading a program", LOADING, **where, **named, threads=threads, method=method)
        for each in (where, weights):
            self._forget(each)
        return Loaded(
            answer.whole("program"),
            tuple(answer.wholes("inputs")),
            answer.whole("outputs"),
            answer.whole("delegates"),
            answer.number("nanoseconds"),
        )

    def give(self, program: Loaded, index: int, array: np.ndarray) -> None:
        """An input of all further runs, in C order."""
        file = BytesIO()
        np.save(file, array)
        self._put("input", file.getvalue())
        self._ask("input", f"giving input {index}", LOADING, program=program.number, index=index, name="input")
        self._ask("drop", "giving an input", name="input")

    def run(self, program: Loaded, runs: int = 1, seconds: float = 0.0, clock: Clock = "processor") -> RunTimes:
        """Run a program so often, and until so many seconds have gone."""
        answer = self._ask(
            "run",
            "running a program",
            RUNNING + seconds,
            program=program.number,
            runs=runs,
            seconds=seconds,
            clock=clock,
        )
        shortest = answer.number("shortest") if answer.has("shortest") else math.inf
        times = tuple(float(each) for each in answer.numbers("times"))
        return RunTimes(answer.whole("runs"), shortest, answer.number("median"), times)

    def profile(self, program: Loaded, runs: int = 1) -> tuple[str, str]:
        """Where the time of runs goes: a table for people, and a trace as `--profile-trace` writes it."""
        answer = self._ask("profile", "profiling a program", RUNNING, program=program.number, runs=runs)
        return answer.text("table"), answer.text("trace")

    def output(self, program: Loaded, index: int) -> tuple[str, tuple[int, ...], bytes]:
        """What the last run computed: the name of its dtype, its shape, and its bytes in C order."""
        data = bytearray()
        while True:
            answer = self._ask(
                "output", "reading an output", LOADING, program=program.number, index=index, at=len(data)
            )
            try:
                data += base64.b64decode(answer.text("data"), validate=True)
            except ValueError as error:
                raise self._nonsense("reading an output", answer.text("data")) from error
            size = answer.whole("size")
            if len(data) >= size or not answer.text("data"):
                return answer.text("dtype"), tuple(answer.wholes("shape")), bytes(data)

    def unload(self, program: Loaded) -> None:
        """Free what a program takes."""
        self._ask("unload", "unloading a program", program=program.number)

    def _bring(self, name: str, file: bytes | Path) -> dict[str, str]:
        """The members of a request that name a file, which the device has by then."""
        if self._folder is None:
            self._put(name, file if isinstance(file, bytes) else file.read_bytes())
            return {"name": name}
        if isinstance(file, Path):
            return {"path": str(file.resolve())}
        path = Path(self._folder.name) / f"{name}_{self._requests}"
        path.write_bytes(file)
        return {"path": str(path)}

    def _forget(self, where: Mapping[str, str]) -> None:
        """What is loaded needs no name any longer."""
        if not where:
            return
        if "name" in where:
            self._ask("drop", "loading a program", name=where["name"])
        elif self._folder is not None and Path(where["path"]).parent == Path(self._folder.name):
            Path(where["path"]).unlink()

    def _put(self, name: str, file: bytes) -> None:
        for at in range(0, max(len(file), 1), CHUNK):
            data = base64.b64encode(file[at : at + CHUNK]).decode("ascii")
            doing = f"sending {len(file)} bytes"
            answer = self._ask("put", doing, LOADING, name=name, size=len(file), at=at, data=data)
            if answer.whole("received") != min(at + CHUNK, len(file)):
                raise self._nonsense(doing, json.dumps(dict(answer.members)))

    def _greet(self) -> Hello:
        answer = self._ask("hello", "waiting for it to say what it is", protocol=PROTOCOL)
        protocol = answer.members.get("protocol")
        if protocol != PROTOCOL:
            raise DeviceError(
                f"{self.device}: its program speaks version {protocol!r} of the protocol, and this is {PROTOCOL}: "
                "use the xnn_executor_runner that belongs to this xir"
            )
        cores = tuple(
            Core(each.whole("core"), each.whole("frequency", 0), each.whole("capacity", 0))
            for each in answer.objects("cores")
        )
        return Hello(answer.text("xir"), answer.text("machine"), answer.text("system"), answer.text("xnnpack"), cores)

    def _ask(self, request: str, doing: str, patience: float | None = None, **members: Any) -> Answer:
        patience = PATIENCE if patience is None else patience
        self._requests += 1
        line = json.dumps({"id": self._requests, "request": request, **members})
        found = self._connection.exchange(line.encode("ascii"), patience, doing)
        for _ in range(GREETINGS if request == "hello" else 0):
            if found.startswith(b"{"):
                break
            found = self._connection.next(patience, doing)
        try:
            answer = json.loads(found)
        except ValueError as error:
            raise self._nonsense(doing, found.decode("utf-8", "replace")) from error
        if not isinstance(answer, dict) or answer.get("id") != self._requests:
            raise self._nonsense(doing, found.decode("utf-8", "replace"))
        if "error" in answer:
            raise RefusedError(f"{self.device}: {doing}: {answer['error']}", answer.get("code") == "resource limit")
        return Answer(self.device, answer)

    def _nonsense(self, doing: str, found: str) -> DeviceError:
        shown = "".join(each if each.isprintable() else " " for each in found[:60])
        return LostConnectionError(
            f"{self.device}: no answer of the protocol but '{shown}' while {doing}: is that the xnn_executor_runner of "
            "this xir, and does nothing else write to its output?"
        )


def _cache_bytes(text: str) -> int:
    """Of '512K'; 0 for what is written otherwise."""
    return int(text[:-1]) << 10 if text.endswith("K") and text[:-1].isdecimal() else 0
