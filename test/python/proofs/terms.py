"""Tensors of z3's terms: what a value of a subgraph is, as a formula of its inputs.

A floating-point number is a real one, so roundings of activations are left out, as docs/numerics.md does. An integer of
a quantised type is an integer, and becomes a number by its type's scale and zero point; both are exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import z3
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute

from xir.dialects.quant import UniformType

Term = Any
"""A term of z3's that is a number; its own annotations name all kinds of terms."""

Terms = np.ndarray
"""An array of `Term`, in the order of the dimensions that the IR says."""


def number(value: float) -> Term:
    """A constant, exactly."""
    exact = Fraction(value)
    return z3.RealVal(f"{exact.numerator}/{exact.denominator}")


def each(function: Callable[..., Term], *operands: Terms) -> Terms:
    """A function of single elements over tensors, which broadcast."""
    result = np.frompyfunc(function, len(operands), 1)(*operands)
    return np.asarray(result, object)


def variables(name: str, shape: Sequence[int], element: Attribute, positions: int = 0) -> tuple[Terms, list[Term]]:
    """An input of a type: a variable for each element, and between which bounds it lies.

    Plain integers are `positions`, which may count from the end.
    """
    terms, bounds = np.empty(shape, object), list[Term]()
    for index in np.ndindex(*shape):
        label = f"{name}{list(index)}"
        if isinstance(element, UniformType):
            terms[index] = z3.Int(label)
            bounds += [terms[index] >= element.storage_min.data, terms[index] <= element.storage_max.data]
        elif isinstance(element, IntegerType):
            terms[index] = z3.Int(label)
            bounds += [terms[index] >= -positions, terms[index] <= positions - 1]
        else:
            terms[index] = z3.Real(label)
    return terms, bounds


def parameters(element: UniformType, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Scales and zero points of a type by tensor or by channel, as arrays that broadcast to tensors of a rank."""
    assert element.is_per_tensor or element.is_per_axis, element
    along = [-1 if element.is_per_axis and axis == element.axis else 1 for axis in range(rank)]
    scales, zeros = (np.array(array, np.float64) for array in (element.scale_array(), element.zero_point_array()))
    shape = along if element.is_per_axis else ()
    return scales.reshape(shape), zeros.reshape(shape)


def numbers(stored: Terms, element: Attribute) -> Terms:
    """What the elements of a type stand for."""
    if not isinstance(element, UniformType):
        return stored
    scales, zeros = parameters(element, stored.ndim)
    return each(lambda term, scale, zero: (as_real(term) - int(zero)) * number(scale), stored, scales, zeros)


def as_real(term: Term) -> Term:
    """The same number as a real one."""
    return z3.ToReal(term) if z3.is_int(term) else term


def stored(value: Terms, element: Attribute, rounds: bool = True) -> Terms:
    """The elements of a type for numbers: rounded once, ties to even, within the type's integers.

    Without rounding they keep their fractions, as where passes are compared (`xir.evaluate.quantized`).
    """
    if not isinstance(element, UniformType):
        return value
    scales, zeros = parameters(element, value.ndim)
    low, high = element.storage_min.data, element.storage_max.data

    def steps(term: Term, scale: float, zero: float) -> Term:
        quotient = term / number(scale)
        return within((to_nearest(quotient) if rounds else quotient) + int(zero), low, high)

    return each(steps, value, scales, zeros)


def to_nearest(term: Term) -> Term:
    """The nearest integer, of two as near the even one."""
    below = z3.ToInt(term)
    rest = term - z3.ToReal(below)
    is_above = z3.Or(rest > number(0.5), z3.And(rest == number(0.5), below % 2 == 1))
    return z3.If(is_above, below + 1, below)


def within(term: Term, low: float, high: float) -> Term:
    """A term within bounds, where these are finite."""
    as_term = (lambda bound: z3.IntVal(int(bound))) if z3.is_int(term) else number
    if low != -inf:
        term = z3.If(term < as_term(low), as_term(low), term)
    if high != inf:
        term = z3.If(term > as_term(high), as_term(high), term)
    return term


def largest(terms: Iterator[Term]) -> Term:
    """The largest of some terms."""
    found = next(terms)
    for term in terms:
        found = z3.If(term > found, term, found)
    return found


def total(terms: Sequence[Term]) -> Term:
    """A sum."""
    return z3.Sum(*terms)
