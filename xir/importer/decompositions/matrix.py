"""Products of matrices and vectors in terms of others."""

from typing import Any

import torch

from .registry import decomposes, in_opmath

aten = torch.ops.aten


@decomposes(aten.addmv.default)
@in_opmath
def addmv(self: torch.Tensor, mat: torch.Tensor, vec: torch.Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta·self + alpha·(mat × vec)."""
    return _added(self, torch.matmul(mat, vec), beta, alpha)


@decomposes(aten.addbmm.default)
@in_opmath
def addbmm(
    self: torch.Tensor, batch1: torch.Tensor, batch2: torch.Tensor, *, beta: float = 1, alpha: float = 1
) -> torch.Tensor:
    """beta·self + alpha·Σ(batch1 × batch2)."""
    return _added(self, torch.bmm(batch1, batch2).sum([0], dtype=self.dtype), beta, alpha)


def _added(self: torch.Tensor, product: torch.Tensor, beta: float, alpha: float) -> torch.Tensor:
    """beta·self + alpha·product. ATen's kernels for integers take numbers without their fractions."""
    if not self.is_floating_point():
        beta, alpha = int(beta), int(alpha)
    return product * alpha if beta == 0 else self * beta + product * alpha


@decomposes(aten.bilinear.default)
def bilinear(x1: torch.Tensor, x2: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Any:
    """Σ x1ᵢ·weightₒᵢⱼ·x2ⱼ + biasₒ."""
    outputs, first, second = weight.shape
    rows = aten.linear(x1, weight.permute(0, 2, 1).reshape(outputs * second, first))
    product = (rows.reshape(*x1.shape[:-1], outputs, second) * x2.unsqueeze(-2)).sum([-1], dtype=x1.dtype)
    return product if bias is None else product + bias
