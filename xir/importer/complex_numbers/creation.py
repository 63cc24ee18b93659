"""New tensors of complex numbers."""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore.

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.complex_tensor import ComplexTensor

from .rules import computes

aten = torch.ops.aten


def _filled(size: Sequence[int], value: complex, dtype: torch.dtype | None) -> Any:
    """A complex number everywhere."""
    real = torch.get_default_dtype() if dtype is None else dtype.to_real()
    number = complex(value)
    return ComplexTensor(*(aten.full.default(size, part, dtype=real) for part in (number.real, number.imag)))


@computes(aten.full.default)
def _full(size: Sequence[int], fill_value: complex, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled(size, fill_value, dtype)


@computes(aten.scalar_tensor.default)
def _scalar_tensor(s: complex, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled((), s, dtype)


@computes(aten.ones.default)
def _ones(size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled(size, 1, dtype)


@computes(aten.zeros.default, aten.empty.memory_format)
def _zeros(size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _filled(size, 0, dtype)


@computes(aten.eye.default, aten.eye.m)
def _eye(*size: int, dtype: torch.dtype, **_: Any) -> Any:
    real = torch.eye(*size, dtype=dtype.to_real())
    return ComplexTensor(real, torch.zeros_like(real))


@computes(aten.full_like.default)
def _full_like(self: Any, fill_value: complex, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _new_full(self, self.shape, fill_value, dtype=dtype)


@computes(aten.ones_like.default)
def _ones_like(self: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _full_like(self, 1, dtype=dtype)


@computes(aten.zeros_like.default, aten.empty_like.default, aten.zero.default)
def _zeros_like(self: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _full_like(self, 0, dtype=dtype)


@computes(aten.fill.Scalar)
def _fill(self: Any, value: complex) -> Any:
    return _full_like(self, value)


@computes(aten.new_full.default)
def _new_full(
    self: Any, size: Sequence[int], fill_value: complex, *, dtype: torch.dtype | None = None, **_: Any
) -> Any:
    wanted: torch.dtype = self.dtype if dtype is None else dtype
    return _filled(size, fill_value, wanted) if wanted.is_complex else torch.full(size, fill_value, dtype=wanted)


@computes(aten.new_ones.default)
def _new_ones(self: Any, size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _new_full(self, size, 1, dtype=dtype)


@computes(aten.new_zeros.default, aten.new_empty.default)
def _new_zeros(self: Any, size: Sequence[int], *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    return _new_full(self, size, 0, dtype=dtype)


@computes(aten._to_copy.default)
def _to_copy(self: Any, *, dtype: torch.dtype | None = None, **_: Any) -> Any:
    re, im = (self.re, self.im) if isinstance(self, ComplexTensor) else (self, None)
    if dtype is None or not dtype.is_complex:
        return self if dtype is None else re.to(dtype)
    re = re.to(dtype.to_real())
    return ComplexTensor(re, torch.zeros_like(re) if im is None else im.to(re.dtype))
