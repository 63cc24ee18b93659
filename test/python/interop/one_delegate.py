"""Models that become one delegate, right in both runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference.both_runtimes import Inputs, check, delegates, lower
from torch import nn


def holds(model: nn.Module, inputs: Sequence[Inputs], shapes: Any = None, outside: Sequence[str] = ()) -> None:
    """One delegate, and kernels of the names `outside`, right for all inputs; the first are those of the export."""
    lowered = lower(model.requires_grad_(False), inputs[0], shapes)
    assert delegates(lowered) == 1
    check(model, lowered, inputs, outside)
