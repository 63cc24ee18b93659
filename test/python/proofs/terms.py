"""Tensors of z3's terms: what a value of a subgraph is, as a formula of its inputs.

A floating-point number is a real one, so roundings of activations are left out, as docs/numerics.md does. An integer of
a quantised type is an integer, and becomes a number by its type's scale and zero point; both are exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import z3
from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute

from proofs.extended import Term, as_number, number, within
from xir.dialects.quant import UniformType

Terms = np.ndarray
"""An array of `Term`, in the order of the dimensions that the IR says."""


def each(function: Callable[..., Term], *operands: Terms) -> Terms:
    """A function of single elements over tensors, which broadcast."""
    result = np.frompyfunc(function, len(operands), 1)(*operands)
    return np.asarray(result, object)


def variables(
    name: str, shape: Sequence[int], element: Attribute, places: range = range(0)
) -> tuple[Terms, list[Term]]:
    """An input of a type: a variable for each element, and between which bounds it lies.

    Plain integers are positions among `places`.
    """
    terms, bounds = np.empty(shape, object), list[Term]()
    for index in np.ndindex(*shape):
        label = f"{name}{list(index)}"
        if isinstance(element, UniformType):
            terms[index] = z3.Int(label)
            bounds += [terms[index] >= element.storage_min.data, terms[index] <= element.storage_max.data]
        elif element == i1:
            terms[index] = z3.Bool(label)
        elif isinstance(element, IntegerType):
            terms[index] = z3.Int(label)
            bounds += [terms[index] >= places.start, terms[index] <= places.stop - 1]
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
    term = as_number(term)
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


def largest(terms: Iterator[Term]) -> Term:
    """The largest of some terms."""
    found = next(terms)
    for term in terms:
        found = z3.If(term > found, term, found)
    return found


def along(function: Callable[[Sequence[Term]], Sequence[Term]], value: Terms, dim: int) -> Terms:
    """A function of rows along a dimension, which gives rows of any one length."""
    rows = np.moveaxis(value, dim, -1)
    results = [function(list(rows[index])) for index in np.ndindex(*rows.shape[:-1])]
    length = len(results[0]) if results else rows.shape[-1]
    found = np.empty((len(results), length), object)
    for place, result in enumerate(results):
        found[place] = result
    return np.moveaxis(found.reshape(*rows.shape[:-1], length), -1, dim)
