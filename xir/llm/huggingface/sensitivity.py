"""Which linear layers of a language model 4 bits hurt most: how far the model's answers move if one layer alone is
rounded, by its error at the layer's outputs and the gradients of the answers there.

For small errors, the Kullback-Leibler divergence of the answers is half the mean of (g·e)², with e the error of a
layer's output and g the gradient of the log-likelihood of an answer that is drawn from the model itself (Fisher's
information). Errors at different tokens are taken to be independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

PIECES = 8
"""Texts that are looked at, the first ones: the estimate for most layers then is within a tenth of that for 24."""

_SEED = 0


def divergences(
    model: Any, layers: Mapping[str, nn.Linear], rounded: Mapping[str, nn.Module], texts: Sequence[Sequence[int]]
) -> dict[str, float]:
    """For each layer, the estimated divergence of the model's answers, in nats a token, if it alone had the weight that
    its module in `rounded` gives.

    Texts are tokens. The model stays as it is; it may be of any float type, and has one text's activations in memory.
    """
    found = dict.fromkeys(layers, 0.0)
    tokens = sum(len(text) for text in texts[:PIECES])
    required = [parameter for parameter in model.parameters() if parameter.requires_grad]
    model.requires_grad_(False)
    hooks = [layer.register_forward_hook(_watch(path, rounded[path], found)) for path, layer in layers.items()]
    hooks.append(model.get_input_embeddings().register_forward_hook(lambda _, __, output: output.requires_grad_()))
    generator = torch.Generator().manual_seed(_SEED)
    try:
        with torch.enable_grad():
            for text in texts[:PIECES]:
                logits = model(input_ids=torch.tensor([text]), use_cache=False).logits[0].float()
                drawn = torch.multinomial(logits.detach().softmax(1), 1, generator=generator)[:, 0]
                functional.cross_entropy(logits, drawn, reduction="sum").backward()
    finally:
        for hook in hooks:
            hook.remove()
        for parameter in required:
            parameter.requires_grad_()
    return {path: value / (2 * tokens) for path, value in found.items()}


def _watch(path: str, rounded: nn.Module, found: dict[str, float]) -> Any:
    """A hook of a layer that adds up (g·e)² of its outputs."""

    def forward(layer: nn.Linear, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        (value,) = inputs
        value = value.detach()

        def backward(gradient: Tensor) -> None:
            error = functional.linear(value.float(), rounded().float() - layer.weight.detach().float())
            found[path] += float((error * gradient.float()).sum(-1).double().square().sum())

        if output.requires_grad:
            output.register_hook(backward)

    return forward


def layers_to_keep(costs: Mapping[str, int], gains: Mapping[str, float], budget: int) -> list[str]:
    """The layers that are worth their bytes most, as many as the budget pays for; the best first."""
    kept: list[str] = []
    for path in sorted(costs, key=lambda path: gains[path] / max(costs[path], 1), reverse=True):
        if costs[path] <= budget and gains[path] > 0:
            kept.append(path)
            budget -= costs[path]
    return kept
