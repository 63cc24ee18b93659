"""What is done to both parts alike: moves, and choices between elements."""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore.

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.complex_tensor import ComplexTensor
from torch.utils import _pytree as pytree

from ..aliasing import Operator
from .rules import RULES, computes, halves

aten = torch.ops.aten


def _by_parts(operator: Operator) -> Callable[..., Any]:
    """The operator of all real parts and of all imaginary ones; results may be several."""

    def rule(*args: Any, **kwargs: Any) -> Any:
        real, imaginary = (operator(*pytree.tree_map(part, args), **kwargs) for part in (_real_part, _imaginary_part))
        return pytree.tree_map(ComplexTensor, real, imaginary)

    return rule


def _real_part(value: Any) -> Any:
    return value.re if isinstance(value, ComplexTensor) else value


def _imaginary_part(value: Any) -> Any:
    """Of real numbers 0; indices and masks are for both parts."""
    if isinstance(value, ComplexTensor):
        return value.im
    return torch.zeros_like(value) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


for _moving in (
    aten._chunk_cat.default,
    aten.alias_copy.default,
    aten.channel_shuffle.default,
    aten.col2im.default,
    aten.diag.default,
    aten.diag_embed.default,
    aten.diagonal_copy.default,
    aten.expand_copy.default,
    aten.im2col.default,
    aten.index_copy.default,
    aten.index_put.default,
    aten.narrow_copy.default,
    aten.permute_copy.default,
    aten.pixel_shuffle.default,
    aten.pixel_unshuffle.default,
    aten.put.default,
    aten.reflection_pad1d.default,
    aten.reflection_pad2d.default,
    aten.reflection_pad3d.default,
    aten.replication_pad1d.default,
    aten.replication_pad2d.default,
    aten.replication_pad3d.default,
    aten.roll.default,
    aten.rot90.default,
    aten.split_with_sizes_copy.default,
    aten.t_copy.default,
    aten.take.default,
    aten.trace.default,
    aten.transpose_copy.int,
    aten.tril.default,
    aten.triu.default,
    aten.unbind.int,
    aten.unbind_copy.int,
    aten.unfold.default,
    aten.unfold_copy.default,
):
    RULES[_moving] = _by_parts(_moving)


@computes(aten.block_diag.default)
def _block_diag(tensors: Sequence[Any]) -> Any:
    parts = zip(*map(halves, tensors), strict=True)
    return ComplexTensor(*(aten.block_diag(list(each)) for each in parts))


@computes(aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar)
def _where(condition: torch.Tensor, self: Any, other: Any) -> Any:
    choices = [halves(each) for each in (self, other)]
    return ComplexTensor(*(torch.where(condition, *parts) for parts in zip(*choices, strict=True)))
