"""Costs of kernels, fitted to measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from xir.cost.profile import COSTS, KernelCost, by_level, weights_by_level
from xir.cost.work import KERNELS, Kernel, Work, computes
from xir.tuning.measure import Measured

Tile = tuple[int, int, int]
"""Rows, columns, and columns of the kernel for fewer, as in `KernelCost`."""

WIDTHS = (8, 16, 32, 64)

TILES = [(rows, columns, 0) for columns in WIDTHS for rows in range(1, 17)]
"""The sizes of XNNPACK's products of matrices that come into question: `src/configs/gemm-config.c`."""

BY_ROW = [(1, columns, 0) for columns in WIDTHS]
"""Those of kernels that compute one row, or one pixel, at a time."""

WITH_NARROW = TILES + [(rows, columns, columns // 2) for rows, columns, _ in TILES]
"""The same where products of few columns may take another kernel: `src/operators/convolution-nhwc.c`."""

TILED: dict[str, list[Tile]] = {
    **dict.fromkeys(("gemm", "igemm", "bmm"), TILES),
    **dict.fromkeys(("gemv", "dwconv", "dwconv_strided"), BY_ROW),
}
"""By what a kernel computes."""


def tiles_of(kernel: Kernel) -> list[Tile]:
    """Those that a kernel may have; only fp32 products of constant weights have another one for few columns."""
    return WITH_NARROW if kernel in ("gemm", "igemm") else TILED.get(computes(kernel), [(1, 1, 0)])


@dataclass(frozen=True)
class Fit:
    """A kernel's costs, and how far they are from what was measured."""

    cost: KernelCost
    error: float
    """The root of the mean squared relative difference."""
    samples: int


@dataclass(frozen=True)
class KernelProblem:
    """What is known of one kernel: its part of each sample, and the rest, which is known."""

    works: list[list[Work]]
    """For each sample."""
    times: np.ndarray
    """Nanoseconds of each sample."""
    rest: np.ndarray
    """What the sample's other nodes take."""
    caches: tuple[int, int]


SMALLEST = 1e-10
"""What counts as nothing in the search for factors, beside columns of length 1."""

SHARES = (1.0, 0.75, 0.5, 0.375, 0.25, 0.1875, 0.125, 0.0625, 0.03125, 0.015625)
"""Of the last cache, which all cores share: what a program may get of it. A server's is of 260 MB, for 60 cores."""


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
    works = [each.works() for each in measured]
    others = [[work for work in each if work.kernel != kernel] for each in works]
    problem = KernelProblem(
        [[work for work in each if work.kernel == kernel] for each in works],
        np.array([each.nanoseconds for each in measured]),
        np.array([sum(known[work.kernel].nanoseconds(work, caches) for work in each) for each in others], float),
        caches,
    )
    return min((fit_tile(problem, *tile) for tile in tiles_of(kernel)), key=lambda found: found.error)


def fit_tile(problem: KernelProblem, rows: int, columns: int, narrow: int) -> Fit:
    """The least squares of relative differences, with no cost below zero."""
    tile = KernelCost(**dict.fromkeys(COSTS, 0.0), rows=rows, columns=columns, narrow=narrow)
    features = np.array([np.sum([row(work, tile, problem.caches) for work in each], 0) for each in problem.works])
    scaled, wanted = features / problem.times[:, None], 1 - problem.rest / problem.times
    # A column like another one tells nothing: nodes that are no products have one row each.
    used = sorted(np.unique(features, axis=1, return_index=True)[1])
    used = [column for column in used if features[:, column].any()]
    costs = np.zeros(len(COSTS))
    costs[used] = nonnegative(scaled[:, used], wanted)
    error = float(np.sqrt(((scaled @ costs - wanted) ** 2).mean()))
    return Fit(replace(tile, **dict(zip(COSTS, costs.tolist(), strict=True))), error, len(features))


def row(work: Work, tile: KernelCost, caches: tuple[int, int]) -> list[float]:
    """What a node has of everything that costs, in the order of `COSTS`."""
    multiplied, is_narrow = tile.multiplied(work), tile.is_narrow(work)
    held, kept, streamed = weights_by_level(work, caches, 0)
    near, far = tile.read_again(work, caches)
    return [
        0 if is_narrow else multiplied,
        *by_level(work.traffic, work.since, caches),
        kept,
        streamed,
        1,
        work.batches * work.rows,
        held,
        far,
        multiplied if is_narrow else 0,
        near,
    ]


def nonnegative(features: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The factors of the columns, none below zero, that bring the rows' sums closest to `wanted`.

    Source: the active-set method of Lawson and Hanson, "Solving Least Squares Problems", chapter 23.
    """
    scale = np.linalg.norm(features, axis=0)
    scaled = features / scale
    found, free = np.zeros(len(scale)), np.zeros(len(scale), bool)
    # Rounding may bring a column back that was just dropped: so often at most.
    for _ in range(3 * len(scale)):
        gain = np.where(free, -np.inf, scaled.T @ (wanted - scaled @ found))
        if gain.max(initial=-np.inf) <= SMALLEST:
            break
        free[gain.argmax()] = True
        found = _with(scaled, wanted, found, free)
    return found / scale


def _with(scaled: np.ndarray, wanted: np.ndarray, found: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The factors of the columns that are free; those are dropped of them that would be below zero."""
    while True:
        tried = np.zeros_like(found)
        tried[free] = np.linalg.lstsq(scaled[:, free], wanted, rcond=None)[0]
        below = free & (tried <= 0)
        if not below.any():
            return tried
        step = (found[below] / (found[below] - tried[below])).min()
        found = found + step * (tried - found)
        free &= found > SMALLEST
        found[~free] = 0.0
