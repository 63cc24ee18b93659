"""Costs of kernels, fitted to measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np

from xir.cost.profile import COSTS, KernelCost, by_level
from xir.cost.work import KERNELS, Kernel, Work
from xir.tuning.measure import Measured

Tile = tuple[int, int, int]
"""Rows, columns, and columns of the kernel for fewer, as in `KernelCost`."""

WIDTHS = (8, 16, 32, 64)

TILES = [(rows, columns, 0) for columns in WIDTHS for rows in range(1, 17)]
"""The sizes of XNNPACK's products of matrices that come into question: `src/configs/gemm-config.c`."""

BY_ROW = [(1, columns, 0) for columns in WIDTHS]
"""Those of kernels that compute one row, or one pixel, at a time."""

TILED: dict[Kernel, list[Tile]] = {
    **dict.fromkeys(("gemm", "bmm", "qs8_gemm", "qs8_igemm"), TILES),
    # Convolutions of fewer channels than the tile has columns take another kernel: `src/operators/convolution-nhwc.c`.
    "igemm": TILES + [(rows, columns, columns // 2) for rows, columns, _ in TILES],
    **dict.fromkeys(("gemv", "dwconv", "dwconv_strided"), BY_ROW),
    **dict.fromkeys(("qs8_gemv", "qs8_dwconv", "qs8_dwconv_strided"), BY_ROW),
}


@dataclass(frozen=True)
class Fit:
    """A kernel's costs, and how far they are from what was measured."""

    cost: KernelCost
    error: float
    """The root of the mean squared relative difference."""
    samples: int


@dataclass(frozen=True)
class Problem:
    """What is known of one kernel: its part of each sample, and the rest, which is known."""

    works: list[list[Work]]
    """For each sample."""
    streamed: list[bool]
    """Whether its weights come from the memory."""
    times: np.ndarray
    """Nanoseconds of each sample."""
    rest: np.ndarray
    """What the sample's other nodes take."""
    caches: tuple[int, int]


SHARES = (1.0, 0.75, 0.5, 0.375, 0.25)
"""Of the last cache, which all cores share: what a program may get of it."""


def fit_share(measured: Sequence[Measured], caches: tuple[int, int]) -> tuple[tuple[int, int], dict[Kernel, Fit]]:
    """The caches, of the last one the share that explains the times best, and the costs of each kernel with these."""
    own, last = caches
    shares = [(own, max(own, int(share * last))) for share in SHARES]
    found = [(each, fit_all(measured, each)) for each in shares]
    return min(found, key=lambda each: sum(fit.samples * fit.error**2 for fit in each[1].values()))


def fit_all(
    measured: Sequence[Measured], caches: tuple[int, int], known: Mapping[Kernel, KernelCost] = MappingProxyType({})
) -> dict[Kernel, Fit]:
    """The costs of each kernel that was measured; kernels whose samples have nodes of others come behind those, or the
    others are `known`."""
    fits: dict[Kernel, Fit] = {}
    costs = dict(known)
    for kernel in KERNELS:
        if samples := [each for each in measured if each.sample.kernel == kernel]:
            fits[kernel] = fit(kernel, samples, costs, caches)
            costs[kernel] = fits[kernel].cost
    return fits


def fit(
    kernel: Kernel, measured: Sequence[Measured], known: Mapping[Kernel, KernelCost], caches: tuple[int, int]
) -> Fit:
    """The costs of one kernel; of products, with the tile that explains the times best."""
    works = [each.sample.works() for each in measured]
    others = [[work for work in each if work.kernel != kernel] for each in works]
    problem = Problem(
        [[work for work in each if work.kernel == kernel] for each in works],
        [each.streamed for each in measured],
        np.array([each.nanoseconds for each in measured]),
        np.array([sum(known[work.kernel].nanoseconds(work, caches) for work in each) for each in others], float),
        caches,
    )
    return min((fit_tile(problem, *tile) for tile in TILED.get(kernel, [(1, 1, 0)])), key=lambda found: found.error)


def fit_tile(problem: Problem, rows: int, columns: int, narrow: int) -> Fit:
    """The least squares of relative differences, with no cost below zero."""
    tile = KernelCost(**dict.fromkeys(COSTS, 0.0), rows=rows, columns=columns, narrow=narrow)
    samples = zip(problem.works, problem.streamed, strict=True)
    features = np.array(
        [np.sum([row(work, tile, problem.caches, streamed) for work in each], 0) for each, streamed in samples]
    )
    scaled, wanted = features / problem.times[:, None], 1 - problem.rest / problem.times
    # A column like another one tells nothing: nodes that are no products have one row each.
    used = sorted(np.unique(features, axis=1, return_index=True)[1])
    used = [column for column in used if features[:, column].any()]
    subsets = [list(kept) for count in range(1, len(used) + 1) for kept in combinations(used, count)]
    found = [solution for kept in subsets if (solution := solved(scaled, wanted, kept)) is not None]
    if not found:
        return Fit(tile, float(np.sqrt((wanted**2).mean())), len(features))
    best, error = min(found, key=lambda each: each[1])
    return Fit(replace(tile, **dict(zip(COSTS, best.tolist(), strict=True))), error, len(features))


def row(work: Work, tile: KernelCost, caches: tuple[int, int], streamed: bool) -> list[float]:
    """What a node has of everything that costs."""
    weights = (0, work.weights) if streamed else (work.weights, 0)
    moved, rows = by_level(work.traffic, work.since, caches), work.batches * work.rows
    return [tile.multiplied(work), *moved, *weights, 1, rows, work.reread]


def solved(features: np.ndarray, wanted: np.ndarray, kept: list[int]) -> tuple[np.ndarray, float] | None:
    """The factors of the `kept` columns that bring the rows' sums closest to `wanted`, the others zero, and how far.

    None if one is below zero: the least squares without negative factors are among those of all subsets of columns.
    """
    factors = np.zeros(features.shape[1])
    factors[kept] = np.linalg.lstsq(features[:, kept], wanted, rcond=None)[0]
    if (factors < 0).any():
        return None
    return factors, float(np.sqrt(((features @ factors - wanted) ** 2).mean()))
