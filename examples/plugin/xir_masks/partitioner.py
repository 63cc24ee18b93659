"""The backend for `EdgeProgram.to_backend`."""

from __future__ import annotations

from xir.plugin import XirPass, passes_of


class MasksPartitioner:
    """Delegates masks: `program.to_backend(MasksPartitioner())`, before XNNPACK's or without it."""

    def passes(self) -> list[XirPass]:
        """The passes that delegate."""
        return passes_of("delegate-masks")
