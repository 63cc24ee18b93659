"""Columns of a weight rounded one after the other, each making up for what the errors before it do to the outputs.

A layer computes W·x. Over inputs with the moments H = Σ x·xᵀ, an error D = W − Q costs its outputs tr(D·H·Dᵀ). With
H = M·Mᵀ, M upper triangular, that is the square of D·M, whose column k is Dₖ·Mₖₖ + Σ Dⱼ·Mⱼₖ over the columns j < k: the
second part is known when column k is rounded, and is best taken off by rounding Wₖ + Σ Dⱼ·Mⱼₖ / Mₖₖ.

These are the integers of GPTQ (Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
Transformers", 2022), which hands errors on by the inverse of H; that the two are one is shown by Chee et al., "QuIP:
2-Bit Quantization of Large Language Models With Guarantees", 2023. Nothing is inverted here, which takes a
third of the time and memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 128
"""How many columns are rounded between two matrix products that take in the errors of all before them; as in GPTQ."""


ENOUGH = 4
"""How much a position says, beside an input: moments are drawn towards their diagonal by inputs / (inputs + ENOUGH ·
positions), a fifth of the way where there are as many positions as inputs, nearly all of it for one vector."""


def draw_to_diagonal(moments: Tensor, positions: int) -> Tensor:
    """Moments [..., inputs, inputs] of so many positions with their diagonal for a part of them, in place.

    Of few positions, inputs seem to go together that do not on others: what they have alone is surer.
    """
    inputs = moments.shape[-1]
    alone = inputs / (inputs + ENOUGH * positions)
    diagonal = moments.diagonal(dim1=-2, dim2=-1)
    kept = diagonal.clone()
    moments.mul_(1 - alone)
    diagonal.copy_(kept)
    return moments


@dataclass(frozen=True)
class Feedback:
    """What errors of columns do to the outputs, by the moments [..., inputs, inputs] of a layer's inputs."""

    shares: Tensor
    """Mⱼₖ / Mₖₖ at [..., j, k]: how much of an error of column j column k takes up. Only those with j < k are read."""
    importance: Tensor
    """Mₖₖ² [..., inputs]: what an error of column k costs that no later column takes up."""

    @staticmethod
    def of(moments: Tensor) -> Feedback:
        """Moments that are not positive definite are none of inputs: nothing takes up errors then."""
        # The transpose of a symmetric matrix is the matrix, in the layout that LAPACK factors in place.
        factor = moments.flip(-2, -1).double().mT
        info = torch.empty(moments.shape[:-2], dtype=torch.int32)
        torch.linalg.cholesky_ex(factor, out=(factor, info))
        known = (info == 0) & factor.diagonal(dim1=-2, dim2=-1).isfinite().all(-1)
        if not bool(known.all()):
            factor = torch.where(known[..., None, None], factor, torch.eye(moments.shape[-1], dtype=factor.dtype))
        lower = factor.to(moments.dtype)
        del factor  # the largest thing here
        upper = lower.flip(-2, -1)
        del lower
        diagonal = upper.diagonal(dim1=-2, dim2=-1).clone()
        return Feedback(upper.div_(diagonal[..., None, :]), diagonal.square())


def round_in_turn(
    exact: Tensor, feedback: Feedback, round_column: Callable[[int, Tensor], Tensor], width: int = BLOCK
) -> Tensor:
    """The columns [..., inputs, channels] of a weight, rounded.

    `round_column(k, rest)` rounds column k, `rest` being what it is to be, [..., 1 to width, channels], and those after
    it in its block of `width` columns, as far as the errors before column k go.
    """
    inputs = exact.shape[-2]
    rounded, errors = torch.empty_like(exact), torch.empty_like(exact)
    for begin in range(0, inputs, width):
        end = min(begin + width, inputs)
        shares = feedback.shares[..., begin:end]
        rest = exact[..., begin:end, :] + shares[..., :begin, :].mT @ errors[..., :begin, :]
        for column in range(begin, end):
            rest = rest[..., 1:, :] if column > begin else rest
            rounded[..., column, :] = round_column(column, rest)
            errors[..., column, :] = error = exact[..., column, :] - rounded[..., column, :]
            after = shares[..., column, column + 1 - begin :, None]
            rest[..., 1:, :].addcmul_(after, error[..., None, :])
    return rounded
