"""Functions of one or two complex numbers, by formulas without cancellation, which torch's own are not.

Square roots, and inverse functions through them, are W. Kahan's (Branch Cuts for Complex Elementary Functions, 1987).
"""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore.

import math
from typing import Any

import torch
from torch._subclasses.complex_tensor import ComplexTensor

from .rules import computes, halves

aten = torch.ops.aten


def _turned(value: Any) -> Any:
    """i·z."""
    return ComplexTensor(-value.im, value.re)


def _turned_back(value: Any) -> Any:
    """-i·z."""
    return ComplexTensor(value.im, -value.re)


@computes(aten.reciprocal.default)
def _reciprocal(self: Any) -> Any:
    return _div(1.0, self)


@computes(aten.div.Tensor, aten.div.Scalar, aten.true_divide.Tensor, aten.true_divide.Scalar)
def _div(self: Any, other: Any) -> Any:
    """a·b̄ / |b|², by the larger part of b first."""
    re, im = halves(self)
    if not isinstance(other, ComplexTensor | complex):
        return ComplexTensor(re / other, im / other)
    if isinstance(other, complex):
        return self * (1 / other) if other else ComplexTensor(re / 0.0, im / 0.0)
    largest = torch.maximum(other.re.abs(), other.im.abs())
    x, y = other.re / largest, other.im / largest
    square = x * x + y * y
    return ComplexTensor((re * x + im * y) / square / largest, (im * x - re * y) / square / largest)


@computes(aten.sqrt.default)
def _sqrt(self: Any) -> Any:
    """√((|x| + |z|) / 2) is the larger part; the other one is y by twice that."""
    half = 0.5 * self
    root = torch.sqrt(half.re.abs() + torch.hypot(half.re, half.im))
    other = self.im / torch.where(root == 0, 1.0, 2 * root)
    right = self.re >= 0
    return ComplexTensor(
        torch.where(right, root, other.abs()), torch.where(right, other, torch.copysign(root, self.im))
    )


@computes(aten.rsqrt.default)
def _rsqrt(self: Any) -> Any:
    return _reciprocal(_sqrt(self))


@computes(aten.expm1.default)
def _expm1(self: Any) -> Any:
    """eˣ cos y - 1 = (eˣ - 1) cos y - 2 sin²(y / 2)."""
    half = torch.sin(0.5 * self.im)
    return ComplexTensor(
        torch.expm1(self.re) * torch.cos(self.im) - 2 * half * half, torch.exp(self.re) * torch.sin(self.im)
    )


@computes(aten.log1p.default)
def _log1p(self: Any) -> Any:
    """ln|1 + z| = ½ ln(1 + x(2 + x) + y²), as long as that is near 0."""
    x, y = self.re, self.im
    near = torch.maximum(x.abs(), y.abs()) < 0.25
    small = torch.where(near, x * (2 + x) + y * y, 0.0)
    return ComplexTensor(
        torch.where(near, 0.5 * torch.log1p(small), torch.log(torch.hypot(1 + x, y))), torch.atan2(y, 1 + x)
    )


@computes(aten.log2.default)
def _log2(self: Any) -> Any:
    return torch.log(self) * (1 / math.log(2))


@computes(aten.log10.default)
def _log10(self: Any) -> Any:
    return torch.log(self) * (1 / math.log(10))


@computes(aten.sigmoid.default)
def _sigmoid(self: Any) -> Any:
    return _reciprocal(1 + torch.exp(-self))


@computes(aten.silu.default)
def _silu(self: Any) -> Any:
    return self * _sigmoid(self)


@computes(aten.exp2.default)
def _exp2(self: Any) -> Any:
    return torch.exp(self * math.log(2))


@computes(aten.tanh.default)
def _tanh(self: Any) -> Any:
    """(sinh x cosh x + i sin y cos y) / (sinh² x + cos² y), all by cosh² x, which may be infinite."""
    tanh, narrow = torch.tanh(self.re), 1 / torch.cosh(self.re)
    cos, sin = torch.cos(self.im) * narrow, torch.sin(self.im) * narrow
    square = tanh * tanh + cos * cos
    return ComplexTensor(tanh / square, sin * cos / square)


@computes(aten.tan.default)
def _tan(self: Any) -> Any:
    return _turned_back(_tanh(_turned(self)))


@computes(aten.asin.default)
def _asin(self: Any) -> Any:
    below, above = _sqrt(1 - self), _sqrt(1 + self)
    return ComplexTensor(
        torch.atan2(self.re, below.re * above.re - below.im * above.im),
        torch.asinh(below.re * above.im - below.im * above.re),
    )


@computes(aten.acos.default)
def _acos(self: Any) -> Any:
    below, above = _sqrt(1 - self), _sqrt(1 + self)
    return ComplexTensor(2 * torch.atan2(below.re, above.re), torch.asinh(above.re * below.im - above.im * below.re))


@computes(aten.asinh.default)
def _asinh(self: Any) -> Any:
    return _turned_back(_asin(_turned(self)))


@computes(aten.acosh.default)
def _acosh(self: Any) -> Any:
    below, above = _sqrt(self - 1), _sqrt(self + 1)
    return ComplexTensor(torch.asinh(below.re * above.re + below.im * above.im), 2 * torch.atan2(below.im, above.re))


@computes(aten.atanh.default)
def _atanh(self: Any) -> Any:
    """¼ ln(1 + 4x / ((1 - x)² + y²)) for x ≥ 0, and odd; ½ the angle of 2y beside (1 - x)(1 + x) - y²."""
    x = self.re.abs()
    largest = torch.clamp(torch.maximum((1 - x).abs(), self.im.abs()), min=1.0)
    below, above, y = (1 - x) / largest, (1 + x) / largest, self.im / largest
    re = 0.25 * torch.log1p(4 * (x / largest) / (below * below + y * y) / largest)
    angle = torch.atan2(2 * y / largest, below * above - y * y)
    return ComplexTensor(torch.copysign(re, self.re), 0.5 * angle)


@computes(aten.atan.default)
def _atan(self: Any) -> Any:
    return _turned_back(_atanh(_turned(self)))


@computes(aten.pow.Tensor_Scalar)
def _pow(self: Any, exponent: complex) -> Any:
    """Products, quotients and roots for the exponents that ATen computes so; e^(exponent · ln z) for others."""
    if exponent == 0:
        return ComplexTensor(torch.ones_like(self.re), torch.zeros_like(self.re))
    if exponent in (1, 2, 3):
        return self if exponent == 1 else self * self if exponent == 2 else self * self * self
    if exponent in (-1, -2):
        return _reciprocal(self if exponent == -1 else self * self)
    if exponent in (0.5, -0.5):
        return _sqrt(self) if exponent == 0.5 else _rsqrt(self)
    power: Any = torch.exp(torch.log(self) * exponent)
    zero = (self.re == 0) & (self.im == 0)
    return ComplexTensor(torch.where(zero, 0.0, power.re), torch.where(zero, 0.0, power.im))
