"""What can go wrong with a device."""

from __future__ import annotations


class DeviceError(Exception):
    """A device that cannot be used: which one, why, and what to do."""


class LostConnectionError(DeviceError):
    """A device that stopped answering. Another connection may get further."""


class RefusedError(DeviceError):
    """A request that the device answered by an error; the connection is as it was."""
