"""How often values occur, for the picture of a layer's range."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

BINS = 64


@dataclass
class Histogram:
    """Counts in bins of equal width from `-reach` to `reach`, a power of two that grows with the values."""

    reach: float = 0.0
    counts: Tensor = field(default_factory=lambda: torch.zeros(BINS, dtype=torch.float64))

    def add(self, values: Tensor) -> None:
        """Take in values, all finite."""
        if not values.numel():
            return
        largest = float(values.abs().max())
        wanted = 2.0 ** torch.tensor(largest).log2().ceil().item() if largest > 0 else 0.0
        if wanted > self.reach:
            self._grow(wanted)
        if self.reach:
            self.counts += torch.histc(values.float(), BINS, -self.reach, self.reach).double()
        else:
            self.counts[BINS // 2] += values.numel()

    def _grow(self, reach: float) -> None:
        """Merge bins until they reach so far."""
        while 0 < self.reach < reach and self.counts.count_nonzero():
            merged = self.counts.view(-1, 2).sum(1)
            self.counts = torch.cat([torch.zeros(BINS // 4), merged, torch.zeros(BINS // 4)]).double()
            self.reach *= 2
        self.reach = reach

    def shares(self) -> tuple[float, ...]:
        """The share of values in each bin."""
        total = float(self.counts.sum())
        return tuple(float(count) / total for count in self.counts) if total else ()
