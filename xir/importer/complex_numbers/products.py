"""Sums and products of complex numbers that torch does not take apart, or by angles."""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore.

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.complex_tensor import ComplexTensor

from .rules import computes, halves

aten = torch.ops.aten


@computes(aten.addcmul.default)
def _addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: complex = 1) -> Any:
    return self + _times(tensor1 * tensor2, value)


@computes(aten.addcdiv.default)
def _addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: complex = 1) -> Any:
    return self + _times(tensor1 / tensor2, value)


@computes(aten.lerp.Scalar, aten.lerp.Tensor)
def _lerp(self: Any, end: Any, weight: Any) -> Any:
    return self + (end - self) * weight


@computes(aten.vdot.default)
def _vdot(self: Any, other: Any) -> Any:
    return aten.dot(self.conj(), other)


@computes(aten.mv.default)
def _mv(self: Any, vec: Any) -> Any:
    return aten.mm(self, vec[:, None])[:, 0]


def _times(value: Any, factor: complex) -> Any:
    return value if factor == 1 else value * factor


def _added(product: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def rule(self: Any, left: Any, right: Any, *, beta: complex = 1, alpha: complex = 1) -> Any:
        found = _times(product(left, right), alpha)
        return found if beta == 0 else _times(self, beta) + found

    return rule


computes(aten.addmv.default)(_added(_mv))
computes(aten.addr.default)(_added(lambda left, right: left[:, None] * right))
computes(aten.baddbmm.default)(_added(aten.bmm))
computes(aten.addbmm.default)(_added(lambda left, right: aten.bmm(left, right).sum(0)))


@computes(aten.diff.default)
def _diff(self: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    value = torch.cat([each for each in (prepend, self, append) if each is not None], dim)
    for _ in range(n):
        value = value.narrow(dim, 1, value.shape[dim] - 1) - value.narrow(dim, 0, value.shape[dim] - 1)
    return value


@computes(aten.prod.default, aten.prod.dim_int)
def _prod(self: Any, dim: int | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
    """Of pairs, of pairs of these, and so on."""
    re, im = _in_type(self, dtype)
    if dim is None:
        re, im, dim = re.flatten(), im.flatten(), 0
    if not re.dim():
        return ComplexTensor(re, im)
    length = re.shape[dim]
    if length == 0:
        ones = re.sum(dim, keepdim) + 1
        return ComplexTensor(ones, torch.zeros_like(ones))
    while length > 1:
        half = length // 2
        left, right, rest = (
            tuple(each.narrow(dim, start, count) for each in (re, im))
            for start, count in ((0, half), (half, half), (2 * half, length % 2))
        )
        re, im = (torch.cat(each, dim) for each in zip(_product(left, right), rest, strict=True))
        length = half + length % 2
    return ComplexTensor(*((re, im) if keepdim else (re.squeeze(dim), im.squeeze(dim))))


@computes(aten.cumprod.default)
def _cumprod(self: Any, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """Of all numbers up to each, first of two, then of four, and so on."""
    re, im = _in_type(self, dtype)
    reach = 1
    while re.dim() and reach < re.shape[dim]:
        length = re.shape[dim]
        first = [each.narrow(dim, 0, reach) for each in (re, im)]
        left, right = (tuple(each.narrow(dim, start, length - reach) for each in (re, im)) for start in (0, reach))
        re, im = (torch.cat(each, dim) for each in zip(first, _product(left, right), strict=True))
        reach *= 2
    return ComplexTensor(re, im)


def _product(left: Sequence[Tensor], right: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Real and imaginary part of the product of two pairs of parts."""
    (a, b), (c, d) = left, right
    return a * c - b * d, a * d + b * c


def _in_type(value: Any, dtype: torch.dtype | None) -> tuple[Tensor, Tensor]:
    """The parts in a complex type, if one is asked for."""
    re, im = halves(value)
    return (re, im) if dtype is None else (re.to(dtype.to_real()), im.to(dtype.to_real()))
