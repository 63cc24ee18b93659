"""What each edge op means as terms, by ATen's definition of its operator; sizes that are open are plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import z3
from xdsl.ir import SSAValue

from proofs.terms import Term, Terms, as_real, each, number, total
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
        return [found if isinstance(found, int) or z3.is_expr(found) else np.asarray(found, object)]
    operands = [values[value] for value in op.tensor_operands]
    assert name in ANY_FUNCTION, op.name
    anything = z3.Function(name, *[z3.RealSort()] * (len(operands) + 1))
    return [each(anything, *operands)]


ANY_FUNCTION = ("exp", "sigmoid", "tanh", "erf")
"""Elementwise ops that no pass looks into."""


def resolved(argument: Any, values: Values) -> Any:
    """An argument with its values in place of what holds them."""
    if isinstance(argument, SSAValue):
        return values[argument]
    if isinstance(argument, list | tuple):
        return [resolved(each, values) for each in argument]
    return argument


def as_term(value: Any) -> Term:
    """A number of the program's as a term."""
    return value if z3.is_expr(value) else number(float(value))


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


EXP = z3.Function("exp", z3.RealSort(), z3.RealSort())


def softmax(*, self: Terms, dim: int, **_: Any) -> Terms:
    powers = each(EXP, self)
    return powers / np.sum(powers, axis=dim, keepdims=True)


def matmul(*, self: Terms, other: Terms | None = None, mat2: Terms | None = None) -> Terms:
    right = other if mat2 is None else mat2
    assert right is not None
    return np.sum(self[..., :, :, None] * right[..., None, :, :], axis=-2)


def linear(*, input: Terms, weight: Terms, bias: Terms | None) -> Terms:
    result = np.sum(input[..., None, :] * weight, axis=-1)
    return result if bias is None else result + bias


def attention(
    *, query: Terms, key: Terms, value: Terms, attn_mask: None, scale: float | None, enable_gqa: bool, **_: Any
) -> Terms:
    """Without a mask; heads of keys and values serve as many neighbouring heads of queries each."""
    assert attn_mask is None
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = (np.repeat(each, times, axis=-3) for each in (key, value))
    factor = number(query.shape[-1] ** -0.5 if scale is None else scale)
    scores = matmul(self=query, other=np.swapaxes(key, -1, -2)) * factor
    return matmul(self=softmax(self=scores, dim=-1), other=value)


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
    taps = zip(x.shape[2:], weight.shape[2:], stride, dilation, strict=True)
    space = [(size - (taps - 1) * apart - 1) // step + 1 for size, taps, step, apart in taps]
    result = np.empty((len(x), len(weight), *space), object)
    for image, channel, *at in np.ndindex(*result.shape):
        first = channel // (len(weight) // groups) * weight.shape[1]
        terms = [
            x[image, first + inner, *(a * s + t * d for a, s, t, d in zip(at, stride, tap, dilation, strict=True))]
            * weight[channel, inner, *tap]
            for inner in range(weight.shape[1])
            for tap in product(*map(range, weight.shape[2:]))
        ]
        result[image, channel, *at] = total(terms) if bias is None else total(terms) + bias[channel]
    return result


def added(*, self: Terms, other: Any, alpha: Any = 1) -> Terms:
    return each(lambda x, y: x + as_term(y) * as_term(alpha), self, other)


def subtracted(*, self: Terms, other: Any, alpha: Any = 1) -> Terms:
    return each(lambda x, y: x - as_term(y) * as_term(alpha), self, other)


def subtracted_from(*, self: Terms, other: Any, alpha: Any = 1) -> Terms:
    return each(lambda x, y: as_term(y) - x * as_term(alpha), self, other)


def multiplied(*, self: Terms, other: Any) -> Terms:
    return each(lambda x, y: x * as_term(y), self, other)


def divided(*, self: Terms, other: Any) -> Terms:
    return each(lambda x, y: x / as_term(y), self, other)


def full(*, size: Sequence[int], fill_value: Any, **_: Any) -> Terms:
    return np.full(size, as_term(fill_value), object)


MEANINGS: Mapping[str, Callable[..., Any]] = {
    "view": view,
    "_unsafe_view": view,
    "unsqueeze": unsqueeze,
    "squeeze": lambda *, self: self.squeeze(),
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
    "_softmax": softmax,
    "softmax.int": softmax,
    "bmm": matmul,
    "matmul": matmul,
    "linear": linear,
    "scaled_dot_product_attention": attention,
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
    "full": full,
    "scalar_tensor": lambda *, s, **_: np.array(as_term(s), object),
    "_local_scalar_dense": lambda *, self: as_real(self.reshape(-1)[0]),
    "sym_size.int": lambda *, self, dim: int(self.shape[dim]),
    "executorch_prim.mul.Scalar": lambda *, a, b: a * b,
    "executorch_prim.add.Scalar": lambda *, a, b: a + b,
    "executorch_prim.sub.Scalar": lambda *, a, b: a - b,
    "executorch_prim.floordiv.Scalar": lambda *, a, b: a // b,
}
"""By the names of ops; arguments by those of the operator's schema."""
