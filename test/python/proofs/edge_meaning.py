"""What each edge op means as terms, by ATen's definition of its operator; sizes that are open are plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import z3
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.ir import SSAValue

from proofs import integer_meaning, look_up_meaning
from proofs.extended import (
    Extended,
    Term,
    as_extended,
    choose,
    fraction,
    is_hidden_throughout,
    larger,
    number,
    plus,
    smaller,
    softmax,
    times,
)  # fmt: skip
from proofs.integer_meaning import like
from proofs.look_up_meaning import whole
from proofs.terms import Terms, along, as_real, each
from xir.dialects import edge

Values = Mapping[SSAValue, Any]
"""Tensors as arrays of terms, run-time sizes as integers, and numbers that are read of tensors as terms."""

UNKNOWN_SIZE = -1
"""The size of a view that follows from the others, and of an expansion that stays."""


def results_of(op: edge.EdgeOp, values: Values) -> list[Any]:
    """The results of an op: of one in the table, else of one of elements that are functions of their operands'."""
    given = {name: resolved(op.argument(name), values) for name in op.accessors}
    name = op.name.removeprefix("edge.")
    if name in MEANINGS:
        found = MEANINGS[name](**given)
        results = found if isinstance(found, tuple) else [found]
        return [each if isinstance(each, int) or z3.is_expr(each) else np.asarray(each, object) for each in results]
    operands = [values[value] for value in op.tensor_operands]
    assert name in ANY_FUNCTION, op.name
    anything = z3.Function(name, *[z3.RealSort()] * (len(operands) + 1))
    return [each(lambda *terms: anything(*map(as_real, terms)), *operands)]


ANY_FUNCTION = ("exp", "log", "sigmoid", "tanh", "erf")
"""Elementwise ops that no pass looks into."""


def resolved(argument: Any, values: Values) -> Any:
    """An argument with its values in place of what holds them."""
    if isinstance(argument, SSAValue):
        return values[argument]
    if isinstance(argument, list | tuple):
        return [resolved(each, values) for each in argument]
    return argument


def view(*, self: Terms, size: Sequence[int], **_: Any) -> Terms:
    return self.reshape(size)


def unsqueeze(*, self: Terms, dim: int) -> Terms:
    return np.expand_dims(self, dim)


def expand(*, self: Terms, size: Sequence[int], **_: Any) -> Terms:
    own = [1] * (len(size) - self.ndim) + list(self.shape)
    return np.broadcast_to(self, [a if b == UNKNOWN_SIZE else b for a, b in zip(own, size, strict=True)])


def permute(*, self: Terms, dims: Sequence[int]) -> Terms:
    return self.transpose(dims)


def transpose(*, self: Terms, dim0: int, dim1: int) -> Terms:
    return np.swapaxes(self, dim0, dim1)


def sliced(*, self: Terms, dim: int, start: int | None, end: int | None, step: int) -> Terms:
    return np.moveaxis(np.moveaxis(self, dim, 0)[start:end:step], 0, dim)


def select(*, self: Terms, dim: int, index: int) -> Terms:
    return np.take(self, index, axis=dim)


def scattered(*, self: Terms, src: Terms, dim: int, start: int | None, end: int | None, step: int) -> Terms:
    result = self.copy()
    np.moveaxis(result, dim, 0)[start:end:step] = np.moveaxis(src, dim, 0)
    return result


def select_scattered(*, self: Terms, src: Terms, dim: int, index: int) -> Terms:
    result = self.copy()
    np.moveaxis(result, dim, 0)[index] = src
    return result


def index_put(*, self: Terms, indices: Sequence[Terms | None], values: Terms, accumulate: bool) -> Terms:
    """At positions of one dimension, the last of equal ones wins; they may count from the end."""
    assert not accumulate
    ((dim, positions),) = ((dim, index) for dim, index in enumerate(indices) if index is not None)
    shape = [*self.shape]
    shape[dim] = len(positions)
    new, rows = np.moveaxis(np.broadcast_to(values, shape), dim, 0), np.moveaxis(self.copy(), dim, 0)
    for place, position in enumerate(positions):
        for row in range(len(rows)):
            is_here = z3.simplify(z3.Or(position == row, position == row - len(rows)))
            rows[row] = each(lambda a, b, is_here=is_here: z3.If(is_here, a, b), new[place], rows[row])
    return np.moveaxis(rows, 0, dim)


def sum_(*, self: Terms, dim: Sequence[int] | None, keepdim: bool, **_: Any) -> Terms:
    return np.sum(self, axis=tuple(dim) if dim else None, keepdims=keepdim)


def mean(*, self: Terms, dim: Sequence[int] | None, keepdim: bool, **_: Any) -> Terms:
    summed = sum_(self=self, dim=dim, keepdim=keepdim)
    return summed * number(1.0 * np.size(summed)) / number(1.0 * self.size)


def shares(*, self: Terms, dim: int, **_: Any) -> Terms:
    return along(softmax, self, dim)


def matmul(*, self: Terms, other: Terms | None = None, mat2: Terms | None = None) -> Terms:
    right = other if mat2 is None else mat2
    assert right is not None
    return self @ right


def linear(*, input: Terms, weight: Terms, bias: Terms | None) -> Terms:
    result = input @ weight.T
    return result if bias is None else result + bias


def attention(
    *,
    query: Terms,
    key: Terms,
    value: Terms,
    attn_mask: Terms | None,
    scale: float | None,
    enable_gqa: bool,
    is_causal: bool,
    dropout_p: float,
) -> Terms:
    """Heads of keys and values serve as many neighbouring heads of queries each; rows that a mask of booleans or minus
    infinity hides throughout are zeros, as by `_safe_softmax`."""
    assert not is_causal
    assert not dropout_p
    if enable_gqa:
        times_each = query.shape[-3] // key.shape[-3]
        key, value = (np.repeat(each, times_each, axis=-3) for each in (key, value))
    factor = number(query.shape[-1] ** -0.5 if scale is None else scale)
    scores = matmul(self=query, other=np.swapaxes(key, -1, -2)) * factor
    if attn_mask is not None:
        scores = each(masked, scores, attn_mask)
    return matmul(self=along(safe_softmax, scores, -1), other=value)


def masked(score: Term, mask: Term) -> Term:
    """A score with what a mask adds to it, minus infinity for False."""
    is_boolean = not isinstance(mask, Extended) and z3.is_bool(mask)
    return choose(mask, score, number(float("-inf"))) if is_boolean else plus(score, mask)


def safe_softmax(row: Sequence[Term]) -> list[Term]:
    hidden = is_hidden_throughout(row)
    return [choose(hidden, number(0.0), share) for share in softmax(row)]


def attend_prefix(
    *,
    query: Terms,
    key: Terms,
    value: Terms,
    attn_mask: Terms,
    key_scales: Terms | None,
    value_scales: Terms | None,
    scale: float | None,
) -> Terms:
    """Attention to as many keys as the mask has columns."""
    count = attn_mask.shape[-1]
    keys, values = (
        each(as_real, given)[:, :, :count] if scales is None else (each(as_real, given) * scales)[:, :, :count]
        for given, scales in ((key, key_scales), (value, value_scales))
    )
    return attention(
        query=query,
        key=keys,
        value=values,
        attn_mask=attn_mask,
        scale=scale,
        enable_gqa=True,
        is_causal=False,
        dropout_p=0.0,
    )


def pad(*, self: Terms, pad: Sequence[int], value: float) -> Terms:
    amounts = [(0, 0)] * (self.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    return np.pad(self, amounts, constant_values=number(float(value)))


def convolution(
    *,
    input: Terms,
    weight: Terms,
    bias: Terms | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    transposed: bool = False,
    **_: Any,
) -> Terms:
    """Over one dimension of space or several."""
    assert not transposed
    rank = weight.ndim - 2
    stride, padding, dilation = (
        [*(given if len(given) == rank else [given[0]] * rank)] for given in (stride, padding, dilation)
    )
    x = pad(self=input, pad=[amount for each in reversed(padding) for amount in (each, each)], value=0.0)
    reach = [(taps - 1) * apart + 1 for taps, apart in zip(weight.shape[2:], dilation, strict=True)]
    windows = sliding_window_view(x, reach, tuple(range(2, 2 + rank)))
    windows = windows[(..., *(slice(None, None, step) for step in (*stride, *dilation)))]
    inner = [1, *range(2 + rank, 2 + 2 * rank)]
    parts = [
        np.tensordot(window, filters, (inner, range(1, 2 + rank)))
        for window, filters in zip(np.split(windows, groups, 1), np.split(weight, groups), strict=True)
    ]
    result = np.concatenate(parts, -1)
    return np.moveaxis(result if bias is None else result + bias, -1, 1)


def scaled(value: Any, alpha: Any, beside: Term) -> Term:
    """The second operand of a sum, times its factor."""
    return times(like(value, beside), like(alpha, beside))


def added(*, self: Terms, other: Any, alpha: Any = 1) -> Terms:
    return each(lambda x, y: plus(x, scaled(y, alpha, x)), self, other)


def subtracted(*, self: Terms, other: Any, alpha: Any = 1) -> Terms:
    return each(lambda x, y: plus(x, times(like(-1, x), scaled(y, alpha, x))), self, other)


def subtracted_from(*, self: Terms, other: Any, alpha: Any = 1) -> Terms:
    return each(lambda x, y: plus(like(y, x), times(like(-1, x), scaled(x, alpha, x))), self, other)


def multiplied(*, self: Terms, other: Any) -> Terms:
    return each(lambda x, y: times(x, like(y, x)), self, other)


def divided(*, self: Terms, other: Any) -> Terms:
    return each(lambda x, y: times(x, 1 / as_extended(like(y, x)).real), self, other)


def normalized(
    *,
    input: Terms,
    weight: Terms | None,
    bias: Terms | None,
    running_mean: Terms,
    running_var: Terms,
    eps: float,
    training: bool = False,
    **_: Any,
) -> Terms:
    """Batch norm by known statistics, channels being dimension 1; variances are known squares, less epsilon."""
    assert not training
    along_channels = [-1 if axis == 1 else 1 for axis in range(input.ndim)]
    roots = each(lambda term: root(term.as_fraction() + Fraction(eps)), running_var)
    factors = 1 / roots if weight is None else weight / roots
    shifted = (input - running_mean.reshape(along_channels)) * factors.reshape(along_channels)
    return shifted if bias is None else shifted + bias.reshape(along_channels)


def root(square: Fraction) -> Term:
    """The square root of a fraction that has one among fractions."""
    found = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    assert found * found == square, f"{square} is no square"
    return fraction(found)


def no_statistics(**arguments: Any) -> tuple[Terms, ...]:
    """The form with results for a batch's own statistics, which it has none of."""
    return normalized(**arguments), np.empty(0, object), np.empty(0, object)


def full(*, size: Sequence[int], fill_value: Any, **_: Any) -> Terms:
    return np.full(size, like(fill_value, number(0.0)), object)


def read(term: Term) -> Term | int:
    """A number of a tensor, as an integer if it is a known one."""
    place = whole(term) if z3.is_int(term) else None
    return as_real(term) if place is None else place


MEANINGS: Mapping[str, Callable[..., Any]] = {
    **integer_meaning.MEANINGS,
    **look_up_meaning.MEANINGS,
    "view": view,
    "_unsafe_view": view,
    "unsqueeze": unsqueeze,
    "squeeze": lambda *, self: self.squeeze(),
    "squeeze.dim": lambda *, self, dim: self.squeeze(dim) if self.shape[dim] == 1 else self,
    "expand": expand,
    "permute": permute,
    "transpose.int": transpose,
    "clone": lambda *, self, **_: self,
    "slice.Tensor": sliced,
    "select.int": select,
    "slice_scatter": scattered,
    "select_scatter": select_scattered,
    "index_put": index_put,
    "sum.dim_IntList": sum_,
    "mean.dim": mean,
    "_softmax": shares,
    "softmax.int": shares,
    "bmm": matmul,
    "mm": matmul,
    "matmul": matmul,
    "linear": linear,
    "scaled_dot_product_attention": attention,
    "xir.attend_prefix": attend_prefix,
    "batch_norm": normalized,
    "_native_batch_norm_legit_no_training": no_statistics,
    "constant_pad_nd": pad,
    "conv1d": convolution,
    "conv2d": convolution,
    "convolution": convolution,
    "add.Tensor": added,
    "add.Scalar": added,
    "sub.Tensor": subtracted,
    "sub.Scalar": subtracted,
    "rsub.Scalar": subtracted_from,
    "mul.Tensor": multiplied,
    "mul.Scalar": multiplied,
    "div.Scalar": divided,
    "div.Tensor": divided,
    "minimum": lambda *, self, other: each(smaller, self, other),
    "maximum": lambda *, self, other: each(larger, self, other),
    "full": full,
    "scalar_tensor": lambda *, s, **_: np.array(like(s, number(0.0)), object),
    "_local_scalar_dense": lambda *, self: read(self.reshape(-1)[0]),
    "sym_size.int": lambda *, self, dim: int(self.shape[dim]),
    "executorch_prim.mul.Scalar": lambda *, a, b: a * b,
    "executorch_prim.add.Scalar": lambda *, a, b: a + b,
    "executorch_prim.sub.Scalar": lambda *, a, b: a - b,
    "executorch_prim.sym_max.Scalar": lambda *, a, b: max(a, b),
    "executorch_prim.floordiv.Scalar": lambda *, a, b: a // b,
}
"""By the names of ops; arguments by those of the operator's schema."""
