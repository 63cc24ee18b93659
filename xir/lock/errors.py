"""The error for a build that breaks its contract."""

from __future__ import annotations

from collections.abc import Sequence


class BrokenContractError(Exception):
    """A build is worse than its lock, or out of its bounds: no file was written. Each line of the text is one fact."""

    def __init__(self, lines: Sequence[str], *, is_worse: bool):
        super().__init__("\n".join(lines))
        self.lines = list(lines)
        self.is_worse = is_worse
        """Whether it is worse than its lock, which can be updated; bounds cannot."""
