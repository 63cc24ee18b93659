"""`--test_after_export`: run the file that was written, here or on the device of `--on`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xir.cost.profile import threads_text
from xir.device.errors import DeviceError
from xir.device.transports import Transport
from xir.files import atomic_file, weights_path
from xir.progress import step
from xir.tools.aot.arguments import threads_asked
from xir.tools.command_line import UsageError

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from xir.runtime.agreement import Agreement

SECONDS = 1.0
"""How long a file runs on a device, to tell its latency."""

PROFILED_RUNS = 10
"""Runs that a profile is the mean of."""


@dataclass(frozen=True)
class FileRun:
    """What running a file told."""

    agreement: Agreement
    latency: str | None = None
    """In words; None where it was not measured."""
    profile: str | None = None
    """Where the time goes, as a table; None if nobody asked."""


def run_file(path: Path, program: ExportedProgram, options: argparse.Namespace, device: Transport | None) -> FileRun:
    """Run a file, and compare its outputs with those of the program as it was before quantisation.

    On a device this also tells how long a run takes. UsageError if the file does not run, or the device is lost.
    """
    from xir.runtime import XirRuntimeError
    from xir.runtime.agreement import agreement, example_outputs, inputs_of

    data = weights_path(path) if options.weights_apart else None
    threads = threads_asked(options) or 1
    trace: Path | None = options.profile_trace
    if trace is not None:
        trace.parent.mkdir(parents=True, exist_ok=True)
    try:
        inputs = inputs_of(program)
        if device is not None:
            with step(f"Running {path} on {device.name}"):
                return run_there(device, path, data, inputs, example_outputs(program), trace, threads)
        with step(f"Running {path}"):
            found = agreement(path, program, data=[] if data is None else [data])
            return FileRun(found, profile=None if trace is None else _profiled(path, data, inputs, trace, threads))
    except (XirRuntimeError, DeviceError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from error


def run_there(
    device: Transport,
    path: Path,
    data: Path | None,
    inputs: Sequence[Any],
    expected: Sequence[Any],
    trace: Path | None = None,
    threads: int = 1,
) -> FileRun:
    """Run a file on a device. DeviceError if it is lost, or refuses the file."""
    from xir.device.agreement import agreement_on  # this machine may compile without a runtime
    from xir.device.execution import load_with

    with device.open() as session:
        program = load_with(session, path, inputs, data, threads=threads)
        found = agreement_on(session, program, expected)
        times = session.run(program, seconds=SECONDS, clock="wall")
        runs = "1 run" if times.runs == 1 else f"{times.runs} runs"
        latency = f"{times.median / 1e6:.2f} ms on {device.name}, {threads_text(threads)}, the median of {runs}"
        if trace is None:
            return FileRun(found, latency)
        table, text = session.profile(program, PROFILED_RUNS)
        with atomic_file(trace) as file:
            file.write(text.encode("utf-8"))
        return FileRun(found, latency, table)


def _profiled(path: Path, data: Path | None, inputs: Sequence[Any], trace: Path, threads: int) -> str:
    """Where the time of runs goes, on this machine; written as a trace as well."""
    from xir.runtime import Runtime

    method = Runtime.get().load_program(path, threads=threads, data=[] if data is None else [data]).load_method()
    method.execute(inputs, profile=True)  # the first one makes XNNPACK's runtimes
    profile = None
    for _ in range(PROFILED_RUNS):
        method.execute(inputs, profile=True)
        profile = method.profile() if profile is None else profile + method.profile()
    assert profile is not None
    profile.to_trace(trace)
    return profile.table()
