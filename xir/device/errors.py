"""What can go wrong with a device."""

from __future__ import annotations


class DeviceError(Exception):
    """A device that cannot be used: which one, why, and what to do."""


class LostConnectionError(DeviceError):
    """A device that stopped answering. Another connection may get further."""


class RefusedError(DeviceError):
    """A request that the device answered by an error; the connection is as it was."""

    def __init__(self, message: str, is_out_of_room: bool = False):
        super().__init__(message)
        self.is_out_of_room = is_out_of_room
        """Whether its memory, or a limit, is what it has too little of."""
