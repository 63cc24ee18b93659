"""How many calibration inputs layers can be rounded on within a minute, by the multiplications that this takes.

Times differ between machines and runs. Multiplications do not, so that a model gets the same weights everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

from .operators import Operators
from .rounding import LARGEST_INPUTS, LARGEST_SAMPLES, has_state, sizes_of

MOST_WORK = 1e12
"""Multiplications: half a minute of a core with AVX2."""

FEWEST_SAMPLES = 4
"""Where not even so many inputs can be afforded, weights are rounded to the nearest."""


@dataclass(frozen=True)
class _LayerWork:
    """The multiplications of rounding a layer."""

    once: float
    """Those that do not depend on the number of inputs."""
    per_sample: float

    @staticmethod
    def of(channels: int, inputs: int, groups: int, positions: int) -> _LayerWork:
        """For a weight [channels, inputs] in so many groups of channels, read at so many positions of a sample.

        The moments of a group are factorised in double precision (inputs³/6, each as long as two), and each channel
        hands on errors (inputs²/2). For a sample, moments take inputs² at each position, and the layer is computed
        twice, once of them for its bias.
        """
        size = float(inputs)
        moments = groups * size**2 if inputs <= LARGEST_INPUTS else 0.0
        once = moments * size / 3 + (channels * size**2 / 2 if moments else 0.0)
        return _LayerWork(once, positions * (moments + 2 * channels * size))


def affordable(observed: GraphModule, names: Collection[str], samples: Sequence[tuple[Any, ...]]) -> int:
    """How many samples these layers of a prepared graph can be rounded on; 0 where it is too much work, or not done.

    The graph is run on the first one, without its observers.
    """
    if not samples or not names or has_state(observed):
        return 0
    run = _Noting(observed, names)
    with torch.no_grad():
        run.run(*samples[0])
    left = MOST_WORK - sum(each.once for each in run.layers)
    count = int(left / max(sum(each.per_sample for each in run.layers), 1.0))
    wanted = min(len(samples), LARGEST_SAMPLES)
    return min(count, wanted) if count >= min(wanted, FEWEST_SAMPLES) else 0


class _Noting(Interpreter):
    """Runs a prepared graph without its observers, and notes the sizes of layers."""

    def __init__(self, observed: GraphModule, names: Collection[str]):
        super().__init__(observed)
        self._names, self._operators = frozenset(names), Operators()
        self.layers: list[_LayerWork] = []

    def run_node(self, n: Node) -> Any:
        """The node's result."""
        if n.op == "call_module" and n.args:
            return self.env[n.all_input_nodes[0]]
        result = super().run_node(n)
        weight = self._operators.weighted_arguments(n)[1] if n.name in self._names else None
        if weight is not None:
            found = self.env[weight]
            groups, inputs = sizes_of(n, found, self._operators)
            if groups is not None:
                channels = len(found)
                self.layers.append(_LayerWork.of(channels, inputs, groups, result.numel() // channels))
        return result
