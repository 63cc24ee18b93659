"""Minimal filtering: m outputs of a filter with r taps by m + r - 1 products instead of m·r.

    outputs = A · ((G · filter) ⊙ (B · inputs))

after Toom and Cook, as Winograd applied it to filtering, F(m, r): filter and inputs are polynomials, and their product
is known by its values at m + r - 1 points. Sources: Lavin and Gray, "Fast algorithms for convolutional neural
networks" (arXiv:1509.09308); Barabasz and others, "Error analysis and improving the accuracy of Winograd convolution
for deep neural networks" (arXiv:1803.10986), on how the points decide the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

POINTS: dict[int, tuple[Fraction, ...]] = {
    4: (Fraction(0), Fraction(1), Fraction(-1)),
    6: (Fraction(0), Fraction(3, 4), Fraction(-3, 4), Fraction(5, 4), Fraction(-5, 4)),
}
"""Number of products -> the points beside infinity, which comes last: zero, then pairs ±a.

With a = 3/4 and b = 5/4 the error in fp32 is about half of that with the usual 1 and 2, since a·b is close to one and
the powers stay small; and b² - a² = 1 saves a multiplication for each output. All numbers of B are exact in fp32.
"""

ERROR_GROWTH: dict[int, float] = {4: 1.0, 6: 1.9}
"""Number of products -> how many times the root-mean-square error of direct convolution, in fp32, it may make along one
dimension; along two, the factors multiply. Measured with random filters on random images, of 32 to 512 channels."""

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Transforms:
    """The matrices of F(outputs, taps)."""

    outputs: int
    taps: int
    inputs: Matrix
    """B: [m + r - 1, m + r - 1]."""
    filter: Matrix
    """G: [m + r - 1, r]."""
    result: Matrix
    """A: [m, m + r - 1]."""

    @property
    def points(self) -> int:
        """How many products there are."""
        return len(self.inputs)

    @property
    def pairs(self) -> tuple[Fraction, ...]:
        """The points that come as ±a, by a; the products 1 and 2 are of the first, 3 and 4 of the second."""
        return POINTS[self.points][1::2]

    def filter_matrix(self) -> np.ndarray:
        """G, in fp64."""
        return np.array([[float(each) for each in row] for row in self.filter])

    def bias(self) -> np.ndarray:
        """What to add to each product so that each output grows by one: A·bias = 1, in fp64.

        As many products have a share as there are outputs, so that no more biases are stored: those of the points ±a,
        or one of them where a power of 1 is all that is wanted.
        """
        shares = np.zeros(self.points)
        if Fraction(1) in self.pairs:
            shares[1] = 1.0
            return shares
        few = slice(1, 1 + self.outputs)
        matrix = np.array([[float(each) for each in row[few]] for row in self.result])
        shares[few] = np.linalg.solve(matrix, np.ones(self.outputs))
        return shares


@cache
def transforms(outputs: int, taps: int) -> Transforms:
    """F(outputs, taps). KeyError for a number of products that there are no points for."""
    points = POINTS[outputs + taps - 1]
    inputs: list[tuple[Fraction, ...]] = []
    filter: list[tuple[Fraction, ...]] = []
    for point in points:
        others = [other for other in points if other != point]
        inputs.append((*_polynomial(others), Fraction(0)))
        scale = Fraction(1)
        for other in others:
            scale *= point - other
        filter.append(tuple(point**power / scale for power in range(taps)))
    inputs.append(_polynomial(points))
    filter.append(tuple(Fraction(power == taps - 1) for power in range(taps)))
    result = tuple((*(point**power for point in points), Fraction(power == outputs - 1)) for power in range(outputs))
    return Transforms(outputs, taps, tuple(inputs), tuple(filter), result)


def _polynomial(roots: tuple[Fraction, ...] | list[Fraction]) -> tuple[Fraction, ...]:
    """The coefficients of Π (x - root), the constant one first."""
    coefficients = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *coefficients]
        coefficients = [
            above - root * below for above, below in zip(shifted, [*coefficients, Fraction(0)], strict=True)
        ]
    return tuple(coefficients)
