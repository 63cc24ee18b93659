"""The files of a task on a device: what they compute there, and how long they take."""

from __future__ import annotations

import contextlib
import hashlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from xir.device.errors import DeviceError, LostConnectionError, RefusedError
from xir.device.transports import transport
from xir.tools.sweep.plan import Device
from xir.tools.sweep.results import Result

if TYPE_CHECKING:
    from xir.device.session import Loaded, Session

ATTEMPTS = 2
"""A connection that is lost costs a task a second one."""

ROUNDS = 5
"""So often each file runs for a while in turn."""


@dataclass(frozen=True)
class ExpectedOutputs:
    """What the model computes in PyTorch."""

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    least: float
    """The dB that outputs have to agree by."""


@dataclass(frozen=True)
class BothFiles:
    """What a program was compiled to, now and by the sweep before."""

    new: Path
    old: Path


def on_device(
    device: Device, results: Sequence[Result], files: Sequence[BothFiles], reference: ExpectedOutputs, seconds: float
) -> list[Result]:
    """The results with what running their files on a device tells, or why they do not run there."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transport(device.on, device.program, device.library).open() as session:
                session.core()
                return _measured(session, results, files, reference, seconds)
        except LostConnectionError as error:
            if attempt == ATTEMPTS:
                return _without(results, f"{error}, {ATTEMPTS} times")
        except (DeviceError, ValueError, OSError) as error:
            return _without(results, str(error))
    raise AssertionError


def _without(results: Sequence[Result], reason: str) -> list[Result]:
    return [result if result.error else replace(result, error=reason) for result in results]


def _measured(
    session: Session, results: Sequence[Result], files: Sequence[BothFiles], reference: ExpectedOutputs, seconds: float
) -> list[Result]:
    """Run all files that differ in turn. DeviceError if the device is lost."""
    on_it = _Programs(session, reference.inputs)
    found = [
        _compared(session, on_it, result, each.new, reference) for result, each in zip(results, files, strict=True)
    ]
    for each in files:
        with contextlib.suppress(RefusedError):
            on_it.load(each.old)
    times = on_it.milliseconds(seconds)

    def timed(result: Result, each: BothFiles) -> Result:
        new, old = (times.get(on_it.contents.get(path, b"")) for path in (each.new, each.old))
        return result if new is None else replace(result, milliseconds=new, since=new / old if old else None)

    return [timed(result, each) if not result.error else result for result, each in zip(found, files, strict=True)]


def _compared(session: Session, on_it: _Programs, result: Result, path: Path, reference: ExpectedOutputs) -> Result:
    """The result with how far outputs on the device are from PyTorch's."""
    from xir.device.agreement import agreement_on

    if result.error is not None:
        return result
    try:
        program = on_it.load(path)
        if program is None:
            return result
        found = agreement_on(session, program, reference.outputs)
    except RefusedError as error:
        return replace(result, error=str(error))
    is_right = found.sqnr >= reference.least and np.isfinite(found.difference)
    error = None if is_right else f"{found.where} {found.sqnr:.1f} dB from PyTorch's, where {reference.least:g} dB pass"
    return replace(result, sqnr=found.sqnr, error=error)


class _Programs:
    """What is loaded on a device, each file once however often it is there."""

    def __init__(self, session: Session, inputs: Sequence[Any]):
        self._session = session
        self._inputs = inputs
        self.contents: dict[Path, bytes] = {}
        self._loaded: dict[bytes, Loaded] = {}

    def load(self, path: Path) -> Loaded | None:
        """A file with the inputs; None if there is none. RefusedError if the device does not load it."""
        from xir.device.execution import load_with

        if not path.exists():
            return None
        content = hashlib.sha256(path.read_bytes()).digest()
        self.contents[path] = content
        if content not in self._loaded:
            self._loaded[content] = load_with(self._session, path, self._inputs)
        return self._loaded[content]

    def milliseconds(self, seconds: float) -> Mapping[bytes, float]:
        """The median of each file's times on one thread, by contents."""
        taken: dict[bytes, list[float]] = {content: [] for content in self._loaded}
        for _ in range(ROUNDS):
            for content, program in self._loaded.items():
                taken[content].append(self._session.run(program, seconds=seconds / ROUNDS).median / 1e6)
        return {content: statistics.median(times) for content, times in taken.items()}
