"""Latency of programs on a device, all of them in xir's runtime: stock ExecuTorch's own is not there, its file is.

A program is timed by the device itself, so that the connection takes no part in it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import torch

from bench.latency import (
    FEWEST_WARM_UPS,
    LOADS,
    MOST_WARM_UPS,
    WARM_UP_SECONDS,
    Latency,
    Tensors,
    fitting,
    take_rounds,
    together,
)
from bench.progress import step
from xir.cost.profile import threads_text
from xir.device.execution import load_with, output_of
from xir.device.session import Loaded, Session
from xir.device.transports import Transport
from xir.tuning.machine import measurable

File = tuple[str, Path]
"""What tables call a program, and where it is."""


class ThereLoaded:
    """A program on a device under measurement, as `bench.latency.Peer` is one here."""

    def __init__(self, session: Session, file: File, inputs: Tensors, threads: int):
        """Load it several times, of which the medians count, and run it until it is warm."""
        self.runtime, path = file
        self.times: list[float] = []
        self._session = session
        loads: list[float] = []
        firsts: list[float] = []
        program: Loaded | None = None
        for _ in range(LOADS):
            if program is not None:
                session.unload(program)
            program = load_with(session, path, inputs, threads=threads)
            loads.append(program.nanoseconds / 1e6)
            firsts.append(session.run(program, clock="wall").median / 1e6)
        assert program is not None
        self.program = program
        self.load, self.first = statistics.median(loads), statistics.median(firsts)
        self.run(inputs, fitting(WARM_UP_SECONDS, self.first * 1e-3, FEWEST_WARM_UPS, MOST_WARM_UPS) - 1)

    def run(self, inputs: Tensors, count: int) -> list[float]:
        """Run `count` times, on the inputs that it was given, and give each run's milliseconds."""
        return [each / 1e6 for each in self._session.run(self.program, count, clock="wall").each]


def compare_on(
    device: Transport, files: Sequence[File], inputs: Tensors, threads: Sequence[int]
) -> list[tuple[Latency, ...]]:
    """Measure programs in turn, for each number of threads, in half of the rounds with the last of them loaded first.

    DeviceError if the device is lost, or refuses a file.
    """
    with device.open() as session:
        return [_compared(session, files, inputs, count) for count in threads]


def _compared(session: Session, files: Sequence[File], inputs: Tensors, threads: int) -> tuple[Latency, ...]:
    halves: list[dict[str, ThereLoaded]] = []
    for order in (files, files[::-1]):
        with step(f"Measuring on {threads_text(threads)} of {session.device}, {order[0][0]} loaded first"):
            peers = {each[0]: ThereLoaded(session, each, inputs, threads) for each in order}
            take_rounds(list(peers.values()), inputs)
        for peer in peers.values():
            session.unload(peer.program)
        halves.append(peers)
    return tuple(together([half[name] for half in halves], threads) for name, _ in files)


def outputs_on(device: Transport, path: Path, inputs: Sequence[Tensors]) -> list[torch.Tensor]:
    """A program's outputs on a device for each of several inputs, one after the other."""
    found: list[torch.Tensor] = []
    with device.open() as session:
        for each in inputs:
            program = load_with(session, path, each)
            session.run(program)
            found += [output_of(session, program, index) for index in range(program.outputs)]
            session.unload(program)
    return found


def device_name(device: Transport) -> str:
    """What a device is, and how it is reached."""
    with device.open() as session:
        found = measurable(session.hello, session.core(), is_here=False)
        return f"{found.processor}, by {session.device}, {found.xnnpack}"
