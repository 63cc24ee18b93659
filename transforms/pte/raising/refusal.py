"""Why a plan stays a plan."""

from __future__ import annotations

from xir.ir.location import Locatable


class NotRaisedError(Exception):
    """A plan does what a function does not say, or what cannot be told from the file."""

    def __init__(self, where: Locatable, reason: str):
        super().__init__(reason)
        self.where = where
        """The value or instruction that is the cause."""
        self.reason = reason
