"""Measuring samples on a device, and going on where that was interrupted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from xir.device.errors import DeviceError, LostConnectionError, RefusedError
from xir.device.session import Loaded, Session
from xir.progress import counted
from xir.tuning.clock import reference, settled
from xir.tuning.kept import SKIPPED, KeptTimes
from xir.tuning.measure import SHARE, Measured, Reading, apart, readings, repetitions, weights_of
from xir.tuning.samples import Sample, program
from xir.tuning.waiting import KEY, waiting

ROUND_SECONDS = 0.02
ROUNDS = 5
WARMUPS = 2

LARGEST_SHARE = 0.01
"""Of the time that there is, for one sample: what takes longer is skipped."""

LOST_IN_A_ROW = 3
"""Connections that may be lost without anything being measured."""

MEASURED_AGAIN = 5
"""Times that a sample is measured whose clock was not steady."""


@dataclass
class Outcome:
    """What measuring came to."""

    measured: list[Measured] = field(default_factory=list)
    skipped: int = 0
    """Samples that the device is too slow or too small for."""
    left: list[Sample] = field(default_factory=list)
    """Those that there was no time for."""


@dataclass
class Bench:
    """A device that samples are measured on."""

    connect: Callable[[], Session]
    last_cache: int
    """Its bytes."""
    kept: KeptTimes
    seconds: float
    """How long may be measured; what was begun is finished."""
    _session: Session | None = None

    def measure(self, chosen: Sequence[Sample]) -> Outcome:
        """Measure samples on one thread, in processor time, and those with constant weights for each way to read them.

        DeviceError if the device is lost or its clock is not steady; what was measured is kept by then.
        """
        outcome, end = Outcome(), time.monotonic() + self.seconds
        wanted = [(*each, count) for each in readings(chosen) if (count := self._count(*each))]
        try:
            for sample, reading, count in counted("Measuring nodes", wanted):
                key = f"{sample!r} {reading}"
                if key not in self.kept.times:
                    if time.monotonic() >= end:
                        outcome.left.append(sample)
                        continue
                    self.kept.add(key, self._time(sample, reading, count))
                if self.kept.times[key] == SKIPPED:
                    outcome.skipped += 1
                else:
                    outcome.measured.append(Measured(sample, self.kept.times[key], apart(sample, reading, count)))
        except DeviceError as error:
            raise type(error)(
                f"{error}; {len(self.kept.times)} of {len(wanted)} times are kept in {self.kept.path}: the same "
                "command goes on from there"
            ) from error
        finally:
            self.close()
        return outcome

    def wait(self, connect: Callable[[], Session]) -> float | None:
        """The nanoseconds that two threads wait for each other at the end of a node, on any cores; None for a device
        that cannot tell. DeviceError if it is lost."""
        if KEY not in self.kept.times:
            if not self.kept.times:
                with connect() as session:
                    self.kept.begin(reference(session))
            self.kept.add(KEY, waiting(connect))
        found = self.kept.times[KEY]
        return None if found == SKIPPED else found

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _count(self, sample: Sample, reading: Reading) -> int:
        """How many samples a chain has; 0 if there is no such chain."""
        repeated = repetitions(sample, int(self.last_cache * SHARE[reading]))
        has_one = reading != "streamed" or repeated * weights_of(sample) > self.last_cache
        return repeated if has_one else 0

    def _time(self, sample: Sample, reading: Reading, count: int) -> float:
        """The nanoseconds of a sample, by another connection where one was lost."""
        for lost in range(1, LOST_IN_A_ROW + 1):
            try:
                return self._steady_time(sample, reading, count)
            except RefusedError as error:
                if error.is_out_of_room:
                    return SKIPPED
                raise
            except LostConnectionError:
                self.close()
                if lost == LOST_IN_A_ROW:
                    raise
        raise AssertionError

    def _steady_time(self, sample: Sample, reading: Reading, count: int) -> float:
        for _ in range(MEASURED_AGAIN):
            session = self._connected()
            taken = nanoseconds(session, sample, count, reading == "held", self.seconds * LARGEST_SHARE)
            if not self.kept.times:  # the clock may still have risen
                self.kept.begin(min(self.kept.reference, reference(session)))
            if settled(session, self.kept.reference):
                return taken
        raise DeviceError(
            f"{self._connected().device}: its clock is another one after each of {MEASURED_AGAIN} attempts"
        )

    def _connected(self) -> Session:
        if self._session is None:
            self._session = self.connect()
            if not self.kept.times:
                self.kept.begin(reference(self._session))
            settled(self._session, self.kept.reference)
        return self._session


def nanoseconds(
    session: Session, sample: Sample, count: int, shares_weights: bool = False, most_seconds: float = math.inf
) -> float:
    """What one such sample takes: what a chain of so many takes more than one alone, for each one more. `SKIPPED` if
    measuring it would take longer than `most_seconds`."""
    image = np.random.default_rng(0).standard_normal(sample.shape, dtype=np.float32)
    chains: list[Loaded] = []
    try:
        for length in (1, count):
            chains.append(_loaded(session, program(sample, length, shares_weights), image))
            once = session.run(chains[-1], WARMUPS).median / 1e9
            if once * (count if length == 1 else 1) * (ROUNDS + WARMUPS) > most_seconds:
                return SKIPPED
        best = [math.inf] * len(chains)
        for _ in range(ROUNDS):
            for index, chain in enumerate(chains):
                best[index] = min(best[index], session.run(chain, seconds=ROUND_SECONDS).shortest)
    except LostConnectionError:
        chains.clear()  # to ask a device that hangs would take all patience again
        raise
    finally:
        _unload(session, chains)
    return max(best[1] - best[0], 1.0) / (count - 1)


def _loaded(session: Session, file: bytes, image: np.ndarray) -> Loaded:
    chain = session.load(file)
    session.give(chain, 0, image)
    return chain


def _unload(session: Session, chains: Sequence[Loaded]) -> None:
    """Free them; a device that is gone has."""
    for chain in chains:
        try:
            session.unload(chain)
        except LostConnectionError:
            return
