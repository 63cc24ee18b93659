"""What is done to both parts alike: moves, and choices between elements."""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore.

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.complex_tensor import ComplexTensor

from ..aliasing import Operator
from .rules import RULES, computes, halves

aten = torch.ops.aten


def _by_parts(operator: Operator) -> Callable[..., Any]:
    def rule(self: Any, *args: Any, **kwargs: Any) -> Any:
        return ComplexTensor(operator(self.re, *args, **kwargs), operator(self.im, *args, **kwargs))

    return rule


for _moving in (
    aten.alias_copy,
    aten.diag,
    aten.diag_embed,
    aten.diagonal_copy,
    aten.expand_copy,
    aten.reflection_pad1d,
    aten.reflection_pad2d,
    aten.reflection_pad3d,
    aten.replication_pad1d,
    aten.replication_pad2d,
    aten.replication_pad3d,
    aten.roll,
    aten.tril,
    aten.triu,
):
    RULES[_moving.default] = _by_parts(_moving.default)


@computes(aten.block_diag.default)
def _block_diag(tensors: Sequence[Any]) -> Any:
    parts = zip(*map(halves, tensors), strict=True)
    return ComplexTensor(*(aten.block_diag(list(each)) for each in parts))


@computes(aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar)
def _where(condition: torch.Tensor, self: Any, other: Any) -> Any:
    choices = [halves(each) for each in (self, other)]
    return ComplexTensor(*(torch.where(condition, *parts) for parts in zip(*choices, strict=True)))
