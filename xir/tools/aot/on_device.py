"""`--test_after_export --on DEVICE`: run the file where it is for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xir.device.errors import DeviceError
from xir.device.transports import Transport
from xir.tools.command_line import UsageError
from xir.tools.devices import device_of

if TYPE_CHECKING:
    from xir.runtime.agreement import Agreement

SECONDS = 1.0
"""How long a file runs on a device, to tell its latency."""


@dataclass(frozen=True)
class RunThere:
    """What running a file on a device told."""

    agreement: Agreement
    latency: str
    """In words."""


def reachable_device(options: argparse.Namespace) -> Transport | None:
    """The device of `--on`; None without it. UsageError if it is none or does not answer: before minutes of work."""
    if options.on is None:
        return None
    device = device_of(options)
    try:
        device.open().close()
    except DeviceError as error:
        raise UsageError(f"--on: {error}") from error
    return device


def run_there(
    device: Transport, path: Path, data: Path | None, inputs: Sequence[Any], expected: Sequence[Any]
) -> RunThere:
    """Run a file on a device on one thread. DeviceError if it is lost, or refuses the file."""
    from xir.device.agreement import agreement_on, load_with  # this machine may compile without a runtime

    with device.open() as session:
        program = load_with(session, path, inputs, data)
        found = agreement_on(session, program, expected)
        times = session.run(program, seconds=SECONDS, clock="wall")
        runs = "1 run" if times.runs == 1 else f"{times.runs} runs"
        return RunThere(found, f"{times.median / 1e6:.2f} ms on {device.name}, one thread, the median of {runs}")
