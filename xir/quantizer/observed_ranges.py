"""Whether the observers of a prepared graph have seen what the calibration inputs make of its values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node

from .findings import REWRITTEN, Finding, role_name


class ObservedRanges:
    """The ranges of the float graph's values."""

    def __init__(self) -> None:
        self._ranges: dict[Node, tuple[float, float]] = {}

    def add(self, node: Node, value: Any) -> None:
        """Take in a value on a sample, if observers may see it."""
        if not isinstance(value, Tensor) or not value.is_floating_point() or not value.numel():
            return
        low, high = (float(each) for each in torch.aminmax(value))
        before = self._ranges.get(node, (math.inf, -math.inf))
        self._ranges[node] = min(low, before[0]), max(high, before[1])

    def findings(self, observed: Collection[tuple[Node, Any]]) -> Iterator[Finding]:
        """Observers that have not seen what the calibration inputs make of a value."""
        groups: dict[int, tuple[Any, list[Node]]] = {}
        for node, observer in observed:
            groups.setdefault(id(observer), (observer, []))[1].append(node)
        for observer, nodes in groups.values():
            known = [self._ranges[node] for node in nodes if node in self._ranges]
            if len(known) < len(nodes):
                continue
            low, high = min(each[0] for each in known), max(each[1] for each in known)
            had = float(observer.min_val), float(observer.max_val)
            allowed = REWRITTEN * max(high - low, abs(high), abs(low))
            if max(abs(had[0] - low), abs(had[1] - high)) > allowed:
                layer = nodes[0] if nodes[0].op == "call_function" else next(iter(nodes[0].users))
                what = f"the observer of {role_name(nodes[0], layer)} has seen [{had[0]:.6g}, {had[1]:.6g}] of "
                yield Finding(layer, f"{what}[{low:.6g}, {high:.6g}], which the calibration inputs make of it")
