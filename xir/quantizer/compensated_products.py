"""What layers compute whose 4-bit weights make up for each other's errors, compared with the nearest integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from .findings import Finding
from .steps import Steps, is_dequantize, steps_of

WORSE = 1.25
"""How many times the error of the nearest integers a layer's outputs may have. It has been rounded for inputs behind
other rounded layers, and is compared on exact ones; a margin."""


class CompensatedProducts:
    """The errors of such layers on the calibration inputs."""

    def __init__(self) -> None:
        self._errors: dict[Node, tuple[float, float]] = {}
        """Of each layer, the squared error with its integers, and with the nearest."""
        self._others: list[Finding] = []

    def add(
        self, layer: Node, value: Tensor, exact: Tensor, actual: Tensor, converted: Node, read: Callable[[Node], Any]
    ) -> None:
        """Take in a layer's input on a sample. `exact` is its weight [channels, inputs], `actual` what the node
        `converted` makes of the integers; `read` has the values of the quantised graph's nodes."""
        steps = steps_of(converted, read) if is_dequantize(converted) else None
        if steps is None:
            self._others.append(Finding(layer, "its weight has no integers"))
            return
        errors = [
            float(torch.nn.functional.linear(value, exact - weight).double().square().sum())
            for weight in (actual, _nearest(exact, steps))
        ]
        before = self._errors.get(layer, (0.0, 0.0))
        self._errors[layer] = before[0] + errors[0], before[1] + errors[1]

    def findings(self) -> list[Finding]:
        """The layers whose outputs are further off than rounding makes them."""
        wrong = [
            Finding(layer, f"its outputs have {found / plain:.3g} times the error that the nearest integers make")
            for layer, (found, plain) in self._errors.items()
            if found > WORSE * plain and plain > 0
        ]
        return [*self._others, *wrong]


def _nearest(weight: Tensor, steps: Steps) -> Tensor:
    """The weight rounded with the scales that cover its largest numbers."""
    covering = steps.by_scale(weight.abs()).amax(-1) / (steps.count / 2)
    step = steps.expand(covering, weight)
    integers = (weight / step).nan_to_num().round()
    return integers.clamp(-(steps.count + 1) / 2, (steps.count - 1) / 2) * step
