"""Why an op is not delegated."""

from __future__ import annotations


class RefusalError(Exception):
    """A backend cannot compute an op. `reason` completes "not delegated: …"; `hint` is the change that would help."""

    def __init__(self, reason: str, hint: str | None = None):
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
