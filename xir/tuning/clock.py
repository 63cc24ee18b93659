"""Whether a core's clock is what it was: measurements at several speeds make no profile."""

from __future__ import annotations

import time

from xir.device.errors import DeviceError
from xir.device.session import Session

APART = 0.1
"""By how much the reference's time may be another one."""

LOOKS = 20
"""References of which the shortest counts: others' work on the machine lengthens some, in an emulator by half."""

FIRST_LOOKS = 40
"""The same at the beginning, until the clock has risen."""

WAITS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds to wait, one after the other, for a core to cool down."""


def reference(session: Session, looks: int = FIRST_LOOKS) -> float:
    """The nanoseconds of the reference now."""
    return min(session.reference().nanoseconds for _ in range(looks))


def settled(session: Session, wanted: float) -> bool:
    """Whether the core is neither hot nor at another speed. If it is, this waits until it is no longer, and says False:
    what was measured last has to be measured again. DeviceError if that does not help."""
    trouble = _trouble(session, wanted)
    for wait in WAITS if trouble else ():
        time.sleep(wait)
        if not _trouble(session, wanted):
            return False
    if trouble:
        raise DeviceError(
            f"{session.device}: {trouble}, also after {sum(WAITS):.0f} s of rest: what is measured would not belong "
            "together. Let it cool down, end what else runs there, have its governor keep one frequency"
        )
    return True


def _trouble(session: Session, wanted: float) -> str:
    """What is wrong with the core; empty if nothing is."""
    looks = []
    for _ in range(LOOKS):
        found = session.reference()
        if found.hot:
            return f"the core is hot, {found.hot}"
        looks.append(found.nanoseconds)
        if abs(min(looks) / wanted - 1) <= APART:
            return ""
    return f"the clock has jumped: the reference takes {min(looks) / wanted:.2f} times what it took at first"
