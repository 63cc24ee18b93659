"""Symbolic sizes: arithmetic against numbers put in for the symbols, what they tell apart, and what they refuse."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX

from xir.ir.shapes import broadcast, merged, sliced_size, window_output
from xir.ir.symbolic_size import (
    SizeFunction,
    SymbolicSize,
    UndecidedSizeError,
    bound_of_symbol,
    exact_quotient,
    floor_div,
    is_dynamic,
    largest,
    modulo,
    parse_size,
    size_order,
    smallest,
    symbol,
    upper_bound,
)

N, T = symbol("n"), symbol("t")

FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


def at(size: int, **values: int) -> int:
    """A size with numbers in place of its symbols."""
    if not isinstance(size, SymbolicSize):
        return size
    total = 0
    for monomial, factor in size.terms:
        for variable in monomial:
            if isinstance(variable, SizeFunction):
                factor *= FUNCTIONS[variable.function](at(variable.a, **values), at(variable.b, **values))
            else:
                factor *= values[variable.text]
        total += factor
    return total


EXPRESSIONS: list[Callable[[int, int], int]] = [
    lambda n, t: 3 * n + t - 5,
    lambda n, t: (n + 2 * t) * (n - t) + n * t,
    lambda n, t: (n + 5) * 12 // 12 - n,
    lambda n, t: (n + 1) * (t + 3) // (t + 3),
    lambda n, t: 7 - n,
    lambda n, t: -(n * n * t),
    lambda n, t: floor_div(2 * n + t, 3) + floor_div(6 * n, 3),
    lambda n, t: floor_div(6 * n + t - 7, 3) - floor_div(4 * n - 1, 2),
    lambda n, t: floor_div(floor_div(n - 7, 5) - 3, 2) + floor_div(floor_div(n * t, 3) * 2 + 1, 4),
    lambda n, t: modulo(n * t + 1, 4) * n,
    lambda n, t: largest(n, t) - smallest(n, t),
    lambda n, t: smallest(largest(n, 7), t + n),
    lambda n, t: window_output(n, 1, 1, 3, 2, 1),
    lambda n, t: sliced_size(n + 9, 2, -1, 3),
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_agrees_with_arithmetic_on_numbers(expression: Callable[[int, int], int]) -> None:
    size = expression(N, T)
    for n, t in product(range(3, 20), repeat=2):
        assert at(size, n=n, t=t) == expression(n, t), (n, t)


def test_whole_multiples_leave_a_quotient() -> None:
    assert floor_div(2 * N - 1, 2) + 1 == N
    assert floor_div(4 * N + T, 2) == 2 * N + floor_div(T, 2)


def test_a_quotient_has_one_form() -> None:
    assert floor_div(N - 1, 2) + 1 == floor_div(N + 1, 2)
    assert floor_div(floor_div(floor_div(N - 10, 5) - 2, 2) - 2, 2) == floor_div(N, 20) - 2
    assert floor_div(floor_div(N, 2) * 3, 2) != floor_div(N * 3, 4)


def test_bounds_of_symbols_follow_from_those_of_sizes() -> None:
    assert bound_of_symbol(2 * N, 64) == (N, 32)
    assert bound_of_symbol(3 * N + 5, 64) == (N, 19)
    assert bound_of_symbol(N, 7) == (N, 7)
    for size in (N * T, N + T, 7 - N, floor_div(N, 2), 12):
        assert bound_of_symbol(size, 64) is None


def test_equal_where_the_polynomials_are() -> None:
    assert (N + T) * (N - T) == N * N - T * T
    assert len({hash(N + T), hash(T + N)}) == 1
    assert N not in (T, N + 1, 2 * N, 0, DYNAMIC_INDEX)
    assert largest(N, T) == largest(T, N)
    assert (N + 5) - N == 5
    assert type((N + 5) - N) is int


def test_order() -> None:
    assert N - 1 < N < N + 1
    assert N > 1000
    sizes = [2, 9, 2 * N, N, N * T, T, T * T]
    for a, b, factor in product(sizes, sizes, (3, N, T)):
        assert (size_order(a) < size_order(b)) == (size_order(a * factor) < size_order(b * factor))
    assert exact_quotient(4 * N * T, 2 * T) == 2 * N
    assert exact_quotient(N * T, T + 1) is None
    assert exact_quotient(N, 0) is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda n, t: n // 2,
        lambda n, t: n % 3,
        lambda n, t: 1 / n,
        lambda n, t: float(n),
        lambda n, t: int(n * 1.5),
        lambda n, t: n < t,
    ],
    ids=["quotient", "remainder", "inverse", "number", "scaled", "order"],
)
def test_what_only_the_true_value_answers(ask: Callable[[int, int], object]) -> None:
    with pytest.raises(UndecidedSizeError):
        ask(N, T)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("s0", symbol("s0")),
        ("2*s0 + 1", 2 * symbol("s0") + 1),
        ("s0*s1", symbol("s1") * symbol("s0")),
        ("s0**2", symbol("s0") * symbol("s0")),
        ("-s0 + 8", 8 - symbol("s0")),
        ("(s0//2)", floor_div(symbol("s0"), 2)),
        ("Max(1, s0)", largest(1, symbol("s0"))),
        ("Mod(s0, 2)", modulo(symbol("s0"), 2)),
        ("FloorDiv(4*s0, 2)", 2 * symbol("s0")),
    ],
)
def test_expressions_of_torch(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["a b", "f(s0)", "s0 //", "3", "s0 - s0", "s0 // 0", "(" * 999])
def test_other_names_are_symbols(text: str) -> None:
    assert parse_size(text) == symbol(text)


def test_upper_bounds() -> None:
    limits: dict[int, int] = {N: 10, T: 7}
    for size in (2 * N + T, N * T - 3, N - T, floor_div(N * T, 3), modulo(N, 4), largest(N, T), smallest(N, T + 20)):
        bound = upper_bound(size, limits)
        reached = max(at(size, n=n, t=t) for n, t in product(range(11), range(8)))
        assert bound is not None
        assert bound >= reached
    assert upper_bound(2 * N + T, limits) == 27


def test_upper_bounds_of_what_quotients_leave() -> None:
    limits: dict[int, int] = {N: 11, T: 7}
    half, third = floor_div(N, 2), floor_div(N, 3)
    for size in (N - half, 2 * N - half - third, 3 * N - 2 * third + T, N * T - floor_div(N * T, 4)):
        assert upper_bound(size, limits) == max(at(size, n=n, t=t) for n, t in product(range(12), range(8)))
    # More quotients than there are of the dividend: the size may fall while it grows.
    for size in (N - 2 * half, N - half - third, N - floor_div(T, 2), N - floor_div(N, T + 1)):
        bound = upper_bound(size, limits)
        assert bound is not None
        assert bound >= max(at(size, n=n, t=t) for n, t in product(range(12), range(8)))


def test_upper_bounds_of_unknown_symbols() -> None:
    limits: dict[int, int] = {N: 10, T: 7}
    assert upper_bound(symbol("u") + N, limits) is None


def test_broadcast() -> None:
    assert broadcast((N, 1, 4), (T, 1)) == (N, T, 4)
    assert broadcast((N,), (8,)) == (8,)
    assert broadcast((DYNAMIC_INDEX, 2), (5, 1)) == (5, 2)
    assert broadcast((N,), (T,)) == broadcast((T,), (N,)) == (largest(N, T),)
    assert merged((DYNAMIC_INDEX, N, 3)) == 3
    assert merged((DYNAMIC_INDEX, N)) == N
    assert is_dynamic(N)
    assert is_dynamic(DYNAMIC_INDEX)
    assert not is_dynamic(7)


@pytest.mark.parametrize("expression", [*EXPRESSIONS, lambda n, t: floor_div(3 * n + 1, 4), lambda n, t: -n])
def test_parts_make_the_size(expression: Callable[[int, int], int]) -> None:
    combine = {"add": operator.add, "multiply": operator.mul, "floordiv": operator.floordiv}

    def from_parts(size: int, **values: int) -> int:
        parts = size.parts() if isinstance(size, SymbolicSize) else None
        if parts is None:
            return at(size, **values)
        kind, first, second = parts
        return combine[kind](from_parts(first, **values), from_parts(second, **values))

    size = expression(N, T)
    for n, t in product(range(1, 6), repeat=2):
        assert from_parts(size, n=n, t=t) == at(size, n=n, t=t)
    assert N.parts() is None
