"""Costs of kernels, fitted to measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import cast

import numpy as np

from xir.cost.profile import KERNELS, Kernel, KernelCost
from xir.tuning.measure import Measured

TILES = [(rows, columns) for columns in (8, 16, 32, 64) for rows in range(1, 17)]
"""The sizes of XNNPACK's products of matrices that come into question: `src/configs/gemm-config.c`."""


@dataclass(frozen=True)
class Fit:
    """A kernel's costs, and how far they are from what was measured."""

    cost: KernelCost
    error: float
    """The root of the mean squared relative difference."""
    samples: int


def fit_all(measured: Sequence[Measured]) -> dict[Kernel, Fit]:
    """The costs of each kernel."""
    return {kernel: fit([each for each in measured if each.sample.kernel == kernel]) for kernel in KERNELS}


def fit(measured: Sequence[Measured]) -> Fit:
    """The costs of one kernel; of products, with the tile that explains the times best."""
    is_product = measured[0].sample.kernel in ("gemm", "igemm")
    tiles = TILES if is_product else [(1, 1)]
    return min((fit_tile(measured, *tile) for tile in tiles), key=lambda found: found.error)


def fit_tile(measured: Sequence[Measured], rows: int, columns: int) -> Fit:
    """The least squares of relative differences, with no cost below zero."""
    tile = KernelCost(0.0, 0.0, 0.0, 0.0, rows, columns)
    times = np.array([each.nanoseconds for each in measured])
    samples = [each.sample for each in measured]
    features = np.array([[each.work(tile), each.traffic, each.weights, each.calls] for each in samples], float)
    scaled = features / times[:, None]
    used = [column for column in range(features.shape[1]) if features[:, column].any()]
    subsets = [list(kept) for count in range(1, len(used) + 1) for kept in combinations(used, count)]
    found = [solution for kept in subsets if (solution := solved(scaled, kept)) is not None]
    best, error = min(found, key=lambda each: each[1])
    work, traffic, weights, call = cast("list[float]", best.tolist())
    return Fit(replace(tile, work=work, traffic=traffic, weights=weights, call=call), error, len(measured))


def solved(features: np.ndarray, kept: list[int]) -> tuple[np.ndarray, float] | None:
    """The factors of the `kept` columns that bring the rows' sums closest to 1, the others zero, and the difference.

    None if one is below zero: the least squares without negative factors are among those of all subsets of columns.
    """
    factors = np.zeros(features.shape[1])
    factors[kept] = np.linalg.lstsq(features[:, kept], np.ones(len(features)), rcond=None)[0]
    if (factors < 0).any():
        return None
    return factors, float(np.sqrt(((features @ factors - 1) ** 2).mean()))
