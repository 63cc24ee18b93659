"""How near the results of a program are to those of its model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def sqnr(exact: Tensor, actual: Tensor) -> float:
    """Decibels of a result over what another one differs from it by."""
    exact, actual = exact.detach().double(), actual.detach().double()
    return 10 * math.log10(float(exact.square().sum() / (exact - actual).square().sum()))


@torch.no_grad()
def quality(model: Callable[..., Any], program: Any, inputs: Sequence[tuple[Tensor, ...]]) -> float:
    """The decibels of a program's results over all inputs together."""
    module = program.module()
    return sqnr(*(torch.cat([each(*given) for given in inputs]) for each in (model, module)))
