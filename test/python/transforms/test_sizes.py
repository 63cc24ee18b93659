"""Stand-ins for dynamic sizes: what they tell apart, and what they refuse to answer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from xir.transforms.analysis.sizes import SMALLEST, OpenSize, OpenSizeError, distinct, sized

STAND_INS = [distinct(index) for index in range(4)]


def test_small_expressions_agree_only_where_they_are_the_same() -> None:
    seen: set[int] = set()
    for factors in product(range(-4, 5), repeat=4):
        value = sum(factor * size for factor, size in zip(factors, STAND_INS, strict=True))
        assert (abs(value) < SMALLEST) == (not any(factors)), factors
        assert value not in seen, factors
        seen.add(value)


def test_no_small_number_divides_them() -> None:
    assert all(size % divisor for size in STAND_INS for divisor in range(2, 1000))


def test_the_product_of_two_fits_into_a_size() -> None:
    assert max(a * b for a in STAND_INS for b in STAND_INS) < 2**63


def test_arithmetic_stays_open_until_it_cancels() -> None:
    n, t = (sized(size) for size in STAND_INS[:2])
    assert isinstance(3 * n + t, OpenSize)
    assert (n + 5) - n == 5
    assert not isinstance((n + 5) - n, OpenSize)
    assert (n * 12) // 12 == n
    assert n - 1 < n < n + 1
    assert n > 1000


@pytest.mark.parametrize(
    "ask",
    [lambda n, t: n // 2, lambda n, t: n % 3, lambda n, t: 1 / n, lambda n, t: float(n), lambda n, t: n < t],
    ids=["quotient", "remainder", "inverse", "number", "order"],
)
def test_what_only_the_true_value_answers(ask: Callable[[int, int], object]) -> None:
    with pytest.raises(OpenSizeError):
        ask(sized(STAND_INS[0]), sized(STAND_INS[1]))
