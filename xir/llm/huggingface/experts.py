"""Mixtures of experts as two products of matrices.

`densify-experts` makes them of transformers' own, which sort tokens by the experts that `topk` has chosen. This is for
those that are chosen in another way, or gather weights. All experts see every token, and others count nothing:

    from xir.llm.huggingface.experts import DENSE

    model.set_experts_implementation(DENSE)

The first matrices of all experts, one below the other, are one fully connected layer, and the second ones beside each
other are another, whose sum over its inputs adds up the experts. That takes experts ÷ chosen experts times the
multiplications, in one delegate, for any number of tokens. A step of generation reads the weights of all experts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from xir.llm.huggingface.checkpoint import import_transformers

DENSE = "xir_dense"
"""The name that transformers knows the implementation by."""


def dense_experts(experts: Any, hidden: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    """What the chosen experts of each token give, [T, H], of `hidden` [T, H].

    `chosen` [T, K] are the numbers of the experts, `weights` [T, K] what each counts. `experts` is a module of
    transformers: `gate_up_proj` [E, 2·I, H] or `up_proj` [E, I, H], and `down_proj` [E, H, I], transposed and with
    biases where it says so. ValueError for experts whose results are normalised before they are added.
    """
    if experts.has_post_expert_norm:
        raise ValueError(f"{DENSE} has no norm of what each expert gives, as {type(experts).__name__} has")
    numbers = torch.arange(experts.num_experts, dtype=hidden.dtype)
    # 1 where the expert is the chosen one, without a comparison, which no node of XNNPACK makes.
    is_chosen = 1 - (chosen.to(hidden.dtype).unsqueeze(-1) - numbers).abs().clamp(max=1)
    share = (is_chosen * weights.to(hidden.dtype).unsqueeze(-1)).sum(1)

    first, bias = _projection(experts, "gate_up_proj" if experts.has_gate else "up_proj")
    inner = linear(hidden, first.flatten(0, 1), None if bias is None else bias.flatten()).unflatten(-1, first.shape[:2])
    inner = experts._apply_gate(inner) if experts.has_gate else experts.act_fn(inner)
    second, bias = _projection(experts, "down_proj")
    result = linear((inner * share.unsqueeze(-1)).flatten(1), second.transpose(0, 1).flatten(1))
    return result if bias is None else result + share @ bias


def _projection(experts: Any, name: str) -> tuple[Tensor, Tensor | None]:
    """The matrices [E, out, in] of this name, and their biases [E, out]."""
    weight = getattr(experts, name)
    bias = getattr(experts, f"{name}_bias") if experts.has_bias else None
    return weight.transpose(1, 2) if experts.is_transposed else weight, bias


import_transformers().integrations.moe.ExpertsInterface.register(DENSE, dense_experts)
