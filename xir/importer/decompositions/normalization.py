"""Batch norms by the statistics of the batch itself, and weights by their own norm."""

from typing import Any

import torch

from .reduction import mean
from .registry import HALVES, decomposes

aten = torch.ops.aten


@decomposes(aten._native_batch_norm_legit_functional.default)
def batch_norm_with_statistics(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """In training the batch's own mean and variance, and what the running ones become: those of samples, with n - 1.

    Computed in fp32 for fp16 and bf16; running statistics keep their type.
    """
    dtypes = input.dtype, running_mean.dtype, running_var.dtype
    input, running_mean, running_var = (
        each.float() if each.dtype in HALVES else each for each in (input, running_mean, running_var)
    )
    shape = [1, -1] + [1] * (input.dim() - 2)
    if not training:
        scale = (running_var + eps).rsqrt()
        average, updated = running_mean, (running_mean, running_var)
    else:
        dims = [dim for dim in range(input.dim()) if dim != 1]
        average = mean(input, dims, keepdim=False)
        variance = mean((input - average.view(shape)) ** 2, dims, keepdim=False)
        scale = (variance + eps).rsqrt()
        count = input.numel() // input.shape[1]
        sampled = variance * (count / (count - 1))
        updated = (
            running_mean * (1 - momentum) + average * momentum,
            running_var * (1 - momentum) + sampled * momentum,
        )
    result = (input - average.view(shape)) * scale.view(shape)
    if weight is not None:
        result = result * weight.view(shape)
    if bias is not None:
        result = result + bias.view(shape)
    saved = (average, scale) if training else (average.new_empty(0), average.new_empty(0))
    new_mean, new_var = updated
    return result.to(dtypes[0]), *saved, new_mean.to(dtypes[1]), new_var.to(dtypes[2])


@decomposes(aten.native_batch_norm.default)
def batch_norm(
    input: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """The same where nobody asks for the running ones, as norms of weights and such that do not track any.

    Saved statistics have the type of the input and the weights: fp32 if these differ. torch's fake tensors say fp32.
    """
    channels, like = input.shape[1], input if weight is None else weight
    mean = like.new_zeros(channels) if running_mean is None else running_mean
    variance = like.new_ones(channels) if running_var is None else running_var
    result, *saved = batch_norm_with_statistics(input, weight, bias, mean, variance, training, momentum, eps)[:3]
    kept = torch.float32 if like.dtype != input.dtype else input.dtype
    return result, *(each.to(kept) for each in saved)


@decomposes(aten._weight_norm_interface.default)
def weight_norm(v: torch.Tensor, g: torch.Tensor, dim: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """v · g / ‖v‖ over all dimensions but one, and the norms, which ATen has in fp32 for bf16; computed in fp32."""
    dims = [each for each in range(v.dim()) if each != dim]
    wide, scale = (each.float() if each.dtype in HALVES else each for each in (v, g))
    norm = aten.linalg_vector_norm(wide, 2, dims, True)
    kept = torch.float32 if g.dtype == torch.bfloat16 else g.dtype
    return (wide * (scale / norm)).to(v.dtype), norm.to(kept)
