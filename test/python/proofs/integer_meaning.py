"""What edge ops on integers and booleans mean, and those between them and numbers, by ATen's definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import z3
from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i1
from xdsl.ir import Attribute

from proofs.extended import Extended, Term, as_number, choose, is_equal, is_less, number, plus, within
from proofs.terms import Terms, along, as_real, each


def converted(*, self: Terms, dtype: Attribute | None, **_: Any) -> Terms:
    """Elements of another type: numbers lose their fraction, and integers that do not fit wrap around."""

    def of(term: Term) -> Term:
        if isinstance(term, Extended) or dtype is None:
            return term
        if dtype == i1:
            return term if z3.is_bool(term) else as_number(term) != 0
        if isinstance(dtype, IntegerType):
            return wrapped(truncated(term), dtype)
        if z3.is_bool(term) or z3.is_int(term) or dtype in (f32, f64):
            return as_real(term)
        return term if is_in_each_type(term) else z3.Function(str(dtype), z3.RealSort(), z3.RealSort())(term)

    return each(of, self)


def is_in_each_type(term: Term) -> bool:
    """Whether a number is one that every type of floats has: a known integer of 8 bits."""
    return z3.is_rational_value(term) and term.denominator_as_long() == 1 and abs(term.numerator_as_long()) <= 256


def truncated(term: Term) -> Term:
    """A number without its fraction."""
    term = as_number(term)
    return term if z3.is_int(term) else z3.If(term >= 0, z3.ToInt(term), -z3.ToInt(-term))


def wrapped(term: Term, element: IntegerType) -> Term:
    """An integer as a type has it; types of 32 bits and more have all that programs here compute."""
    bits = element.width.data
    if bits > 16:
        return term
    low = 0 if element.signedness.data == Signedness.UNSIGNED else -(1 << (bits - 1))
    high = low + (1 << bits) - 1
    solver = z3.Solver()
    solver.add(z3.Not(z3.And(term >= low, term <= high)))
    return term if solver.check() == z3.unsat else (term - low) % (1 << bits) + low


def like(value: Any, term: Term) -> Term:
    """A number of the program's as a term that is compared with others."""
    if z3.is_expr(value) or isinstance(value, Extended):
        return value
    is_whole = isinstance(value, int) and not isinstance(term, Extended) and not z3.is_real(term)
    return z3.IntVal(int(value)) if is_whole else number(float(value))


COMPARISONS: Mapping[str, Callable[[Term, Term], Term]] = {
    "eq": is_equal,
    "ne": lambda x, y: z3.Not(is_equal(x, y)),
    "lt": is_less,
    "gt": lambda x, y: is_less(y, x),
    "le": lambda x, y: z3.Or(is_less(x, y), is_equal(x, y)),
    "ge": lambda x, y: z3.Or(is_less(y, x), is_equal(x, y)),
}


def comparison(compare: Callable[[Term, Term], Term]) -> Callable[..., Terms]:
    """Of each element with another, or with a number."""
    return lambda *, self, other: each(lambda x, y: z3.simplify(compare(x, like(y, x))), self, other)


def logic(of: Callable[..., Term], *, by_bits: bool) -> Callable[..., Terms]:
    """Of booleans, and of numbers as whether they are 0, unless their bits would count."""

    def truth(term: Term) -> Term:
        assert z3.is_bool(term) or not by_bits, "bits of integers"
        return term if z3.is_bool(term) else as_number(term) != 0

    return lambda *, self, other=None: each(
        lambda *terms: z3.simplify(of(*map(truth, terms))), self, *([] if other is None else [other])
    )


def any_along(*, self: Terms, dim: int, keepdim: bool) -> Terms:
    found = along(lambda row: [z3.simplify(z3.Or(*row))], self, dim)
    return found if keepdim else found.squeeze(dim)


def where(*, condition: Terms, self: Terms, other: Terms) -> Terms:
    return each(choose, condition, self, other)


def filled(*, self: Terms, mask: Terms, value: Any) -> Terms:
    return each(lambda hides, x, y: choose(hides, like(y, x), x), mask, self, value)


def clamped(*, self: Terms, min: float | None, max: float | None) -> Terms:
    low, high = (-np.inf if min is None else min), (np.inf if max is None else max)
    return each(lambda term: within(term, float(low), float(high)), self)


def running_sum(*, self: Terms, dim: int, **_: Any) -> Terms:
    return along(lambda row: list(accumulate(map(as_number, row), plus)), self, dim)


def joined(*, tensors: Sequence[Terms], dim: int) -> Terms:
    return np.concatenate(list(tensors), dim)


def counted(*, start: int, end: int, step: int, dtype: Attribute | None, **_: Any) -> Terms:
    is_whole = dtype is None or isinstance(dtype, IntegerType)
    numbers = [z3.IntVal(value) if is_whole else number(float(value)) for value in range(start, end, step)]
    return np.array(numbers, object)


def full_like(*, self: Terms, fill_value: Any, dtype: Attribute | None, **_: Any) -> Terms:
    value = like(fill_value, self.flat[0] if dtype is None else z3.IntVal(0))
    return converted(self=np.full(self.shape, value, object), dtype=dtype)


def amax(*, self: Terms, dim: Sequence[int], keepdim: bool) -> Terms:
    """Of all elements."""
    assert not dim
    assert not keepdim
    found = self.flat[0]
    for term in self.flat[1:]:
        found = choose(is_less(found, term), term, found)
    return np.array(found, object)


def absolute(*, self: Terms) -> Terms:
    return each(lambda x: choose(is_less(x, like(0, x)), -as_number(x), x), self)


def by_block(parameters: Terms, block_size: Sequence[int], shape: Sequence[int]) -> Terms:
    """Parameters of blocks as one for each element of the tensor."""
    blocks = [size if block == -1 else block for size, block in zip(shape, block_size, strict=True)]
    grid = [size // block for size, block in zip(shape, blocks, strict=True)]
    spread = parameters.reshape(grid) if parameters.size == prod(grid) else np.broadcast_to(parameters, grid)
    for axis, block in enumerate(blocks):
        spread = np.repeat(spread, block, axis)
    return spread


def choose_parameters(
    *, input: Terms, mapping_type: str, block_size: Sequence[int], quant_min: Any, quant_max: Any, **_: Any
) -> tuple[Terms, Terms]:
    """Any function of a block's elements; of a symmetric mapping the zero point is the middle of the range, rounded
    down, as torchao's `_choose_qparams_affine` has it."""
    low, high = -128 if quant_min is None else quant_min, 127 if quant_max is None else quant_max
    width = int(np.prod([size if block == -1 else block for size, block in zip(input.shape, block_size, strict=True)]))
    grid = [1 if block == -1 else size // block for size, block in zip(input.shape, block_size, strict=True)]
    assert width == input.shape[-1], "blocks are rows"
    assert prod(grid) * width == input.size
    reals = [z3.RealSort()] * width
    scale, point = z3.Function("scale", *reals, z3.RealSort()), z3.Function("point", *reals, z3.IntSort())
    rows = input.reshape(-1, width)
    scales = np.array([scale(*row) for row in rows], object).reshape(grid)
    middle = z3.IntVal(int((low + high + 1) / 2))
    points = [middle if mapping_type.startswith("SYMMETRIC") else point(*row) for row in rows]
    return scales, np.array(points, object).reshape(grid)


QUANTIZED = z3.Function("quantized", z3.RealSort(), z3.RealSort(), z3.IntSort(), z3.IntSort())


def quantize_affine(
    *, input: Terms, block_size: Sequence[int], scale: Terms, zero_point: Terms | None, quant_min: Any, quant_max: Any,
    **_: Any,
) -> Terms:  # fmt: skip
    """Any function of a number and its parameters, within the range: no pass asks how it rounds."""
    low, high = -128 if quant_min is None else quant_min, 127 if quant_max is None else quant_max
    scales = by_block(scale, block_size, input.shape)
    points = by_block(np.array(z3.IntVal(0)) if zero_point is None else zero_point, block_size, input.shape)
    return each(lambda x, s, z: within(QUANTIZED(x, s, z), low, high), input, scales, points)


def dequantize_affine(
    *, input: Terms, block_size: Sequence[int], scale: Terms, zero_point: Terms | None, **_: Any
) -> Terms:
    scales = by_block(scale, block_size, input.shape)
    points = by_block(np.array(z3.IntVal(0), object) if zero_point is None else zero_point, block_size, input.shape)
    return each(lambda q, s, z: (as_real(q) - as_real(z)) * s, input, scales, points)


def dequantize_per_channel(*, input: Terms, scales: Terms, zero_points: Terms | None, axis: int, **_: Any) -> Terms:
    block = [1 if dim == axis % input.ndim else size for dim, size in enumerate(input.shape)]
    return dequantize_affine(input=input, block_size=block, scale=scales, zero_point=zero_points)


def dequantize_groups(*, input: Terms, scales: Terms, zero_points: Terms | None, group_size: int, **_: Any) -> Terms:
    block = [*(1 for _ in input.shape[1:]), group_size]
    return dequantize_affine(input=input, block_size=block, scale=scales, zero_point=zero_points)


MEANINGS: Mapping[str, Callable[..., Any]] = {
    "_to_copy": converted,
    **{
        f"{name}.{other}": comparison(compare)
        for name, compare in COMPARISONS.items()
        for other in ("Scalar", "Tensor")
    },
    **{
        name: logic(of, by_bits=name.startswith("bitwise"))
        for of, names in (
            (z3.And, ("logical_and", "bitwise_and.Tensor")),
            (z3.Or, ("logical_or", "bitwise_or.Tensor")),
            (z3.Not, ("logical_not", "bitwise_not")),
        )
        for name in names
    },
    "any.dim": any_along,
    "where.self": where,
    "masked_fill.Scalar": filled,
    "masked_fill.Tensor": filled,
    "clamp": clamped,
    "abs": absolute,
    "neg": lambda *, self: each(lambda x: -as_number(x), self),
    "cumsum": running_sum,
    "cat": joined,
    "arange.start_step": counted,
    "full_like": full_like,
    "amax": amax,
    "remainder.Scalar": lambda *, self, other: each(lambda x: x % other, self),
    "_int_mm": lambda *, self, mat2: self @ mat2,
    "torchao.choose_qparams_affine": choose_parameters,
    "torchao.quantize_affine": quantize_affine,
    "torchao.dequantize_affine": dequantize_affine,
    "quantized_decomposed.dequantize_per_channel": dequantize_per_channel,
    "quantized_decomposed.dequantize_per_channel_group": dequantize_groups,
}
"""By the names of ops; arguments by those of the operator's schema."""
