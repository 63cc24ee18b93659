"""Numbers that masks use: infinities, and numbers so large that no score counts beside them.

Such a number is a real one, a multiple of the largest number that fp32 has, and a sign where it is infinite. The parts
are ordered by size: of two numbers the one with the greater infinity is greater, then the one with the greater
multiple, then the greater real one; and what is added to a larger part rounds to nothing. A sum of scores and a
multiple is that multiple, and e to the power of a difference of multiples is 0.

What floating point makes NaN of, such as 0 · ∞, is `UNDEFINED`, of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import z3

Term = Any
"""A term of z3's that is a number or a boolean."""

LARGEST = Fraction((2 << 23) - 1) * 2**104
"""The largest number of fp32."""

LEAST_LARGE = 1e30
"""From this on a number is a multiple of the largest: docs of `skip-masked-keys` and fp32's precision allow it."""

UNDEFINED = z3.Real("undefined")


@dataclass(frozen=True)
class Extended:
    """A number, at least one of whose larger parts need not be 0."""

    real: Term
    multiple: Term
    """Of the largest number, a real number."""
    infinite: Term
    """1, -1, or 0 for a finite number; an integer."""


def number(value: float) -> Term:
    """A constant, exactly."""
    if value in (inf, -inf):
        return Extended(z3.RealVal(0), z3.RealVal(0), z3.IntVal(1 if value > 0 else -1))
    exact = Fraction(value)
    if abs(value) >= LEAST_LARGE:
        return Extended(z3.RealVal(0), fraction(exact / LARGEST), z3.IntVal(0))
    return fraction(exact)


def fraction(exact: Fraction) -> Term:
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}")


def as_number(term: Term) -> Term:
    """A boolean as 0 or 1; all else as it is."""
    return choose(term, z3.IntVal(1), z3.IntVal(0)) if not isinstance(term, Extended) and z3.is_bool(term) else term


def as_extended(term: Term) -> Extended:
    """Any number with all its parts."""
    if isinstance(term, Extended):
        return term
    term = as_number(term)
    return Extended(z3.ToReal(term) if z3.is_int(term) else term, z3.RealVal(0), z3.IntVal(0))


def simplest(value: Extended) -> Term:
    """A real number where the larger parts are known to be 0."""
    multiple, infinite = z3.simplify(value.multiple), z3.simplify(value.infinite)
    if is_zero(multiple) and is_zero(infinite):
        return value.real
    return Extended(value.real, multiple, infinite)


def is_zero(term: Term) -> bool:
    """Whether a term is the number 0."""
    return bool(term.eq(z3.IntVal(0)) or term.eq(z3.RealVal(0)))


def known(condition: Term) -> bool | None:
    """Whether a condition holds; None if that depends on variables."""
    condition = z3.simplify(condition)
    return True if z3.is_true(condition) else False if z3.is_false(condition) else None


def choose(condition: Term, value: Term, other: Term) -> Term:
    """One of two numbers or booleans, by a condition."""
    holds = known(condition)
    if holds is not None:
        return value if holds else other
    if isinstance(value, Extended) or isinstance(other, Extended):
        a, b = as_extended(value), as_extended(other)
        parts = zip((a.real, a.multiple, a.infinite), (b.real, b.multiple, b.infinite), strict=True)
        return simplest(Extended(*(z3.If(condition, x, y) for x, y in parts)))
    if z3.is_bool(value) and z3.is_bool(other):
        return z3.If(condition, value, other)
    return z3.If(condition, as_number(value), as_number(other))


def plus(x: Term, y: Term) -> Term:
    """A sum; of two different infinities nothing is known."""
    if not isinstance(x, Extended) and not isinstance(y, Extended):
        return as_number(x) + as_number(y)
    a, b = as_extended(x), as_extended(y)
    opposed = a.infinite * b.infinite == -1
    infinite = z3.If(a.infinite != 0, a.infinite, b.infinite)
    return choose(opposed, UNDEFINED, simplest(Extended(a.real + b.real, a.multiple + b.multiple, infinite)))


def times(x: Term, y: Term) -> Term:
    """A product, of which one factor at most has larger parts."""
    if not isinstance(x, Extended) and not isinstance(y, Extended):
        return as_number(x) * as_number(y)
    if isinstance(y, Extended):
        x, y = y, x
    assert not isinstance(y, Extended), "a product of two large numbers"
    factor = as_extended(y).real
    sign = z3.If(factor > 0, z3.IntVal(1), z3.If(factor < 0, z3.IntVal(-1), z3.IntVal(0)))
    product = simplest(Extended(x.real * factor, x.multiple * factor, x.infinite * sign))
    return choose(z3.And(factor == 0, x.infinite != 0), UNDEFINED, product)


def is_less(x: Term, y: Term) -> Term:
    """Whether a number is less than another."""
    if not isinstance(x, Extended) and not isinstance(y, Extended):
        return as_number(x) < as_number(y)
    a, b = as_extended(x), as_extended(y)
    by_real = z3.And(a.multiple == 0, b.multiple == 0, a.real < b.real)
    finite = z3.Or(a.multiple < b.multiple, z3.And(a.multiple == b.multiple, by_real))
    return z3.Or(a.infinite < b.infinite, z3.And(a.infinite == 0, b.infinite == 0, finite))


def is_equal(x: Term, y: Term) -> Term:
    """Whether two numbers or booleans are the same in floating point."""
    if not isinstance(x, Extended) and not isinstance(y, Extended):
        return x == y if z3.is_bool(x) == z3.is_bool(y) else as_number(x) == as_number(y)
    a, b = as_extended(x), as_extended(y)
    finite = z3.And(a.multiple == b.multiple, z3.Or(a.multiple != 0, a.real == b.real))
    return z3.And(a.infinite == b.infinite, z3.Or(a.infinite != 0, finite))


def smaller(x: Term, y: Term) -> Term:
    return choose(is_less(x, y), x, y)


def larger(x: Term, y: Term) -> Term:
    return choose(is_less(y, x), x, y)


def within(term: Term, low: float, high: float) -> Term:
    """A term within bounds, where these are finite."""
    as_term: Callable[[float], Term] = number
    if not isinstance(term, Extended):
        term = as_number(term)
        as_term = (lambda bound: z3.IntVal(int(bound))) if z3.is_int(term) else number
    if low != -inf:
        term = either(is_less(term, as_term(low)), as_term(low), term)
    if high != inf:
        term = either(is_less(as_term(high), term), as_term(high), term)
    return term


def either(condition: Term, value: Term, other: Term) -> Term:
    """As `choose`, but real numbers at once: z3 simplifies a long chain of roundings once, not at each of them."""
    if isinstance(value, Extended) or isinstance(other, Extended):
        return choose(condition, value, other)
    return z3.If(condition, value, other)


EXP = z3.Function("exp", z3.RealSort(), z3.RealSort())


def softmax(row: Sequence[Term]) -> list[Term]:
    """e to the power of each, as shares of their sum: 0 for what is smaller than another in a larger part, and nothing
    known where all are minus infinity, or one is plus infinity."""
    if not any(isinstance(term, Extended) for term in row):
        powers: list[Term] = [EXP(as_extended(term).real) for term in row]
        return [power / z3.Sum(*powers) for power in powers]
    values = [as_extended(term) for term in row]
    most, top = values[0].infinite, values[0].multiple
    for value in values[1:]:
        is_above = z3.Or(value.infinite > most, z3.And(value.infinite == most, value.multiple > top))
        most, top = choose(is_above, value.infinite, most), choose(is_above, value.multiple, top)
    counts = [z3.And(most == 0, value.infinite == 0, value.multiple == top) for value in values]
    powers = [
        choose(is_counted, EXP(value.real), z3.RealVal(0)) for is_counted, value in zip(counts, values, strict=True)
    ]
    summed: Term = z3.simplify(z3.Sum(*powers))
    shares = [
        choose(is_counted, z3.simplify(power / summed), z3.RealVal(0))
        for is_counted, power in zip(counts, powers, strict=True)
    ]
    return [choose(most == 0, share, UNDEFINED) for share in shares]


def is_hidden_throughout(row: Sequence[Term]) -> Term:
    """Whether all of a row are minus infinity."""
    return z3.And(*(as_extended(term).infinite == -1 for term in row))
