"""4-bit weights of a language model, rounded for texts that it is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Node

from xir.llm.errors import LlmError, first_line
from xir.llm.huggingface.checkpoint import quiet
from xir.quantizer.activation_aware import NormFactors, scaled_moments
from xir.quantizer.compensation import Rounded, compensated
from xir.quantizer.layerwise import LinearLayer, round_by_layer
from xir.quantizer.parameter_readers import ParameterReaders
from xir.quantizer.state import attribute

LIMITS = (-8, 7)


class _Whole(nn.Module):
    """(tokens i64 [1, S]) -> logits of the last one, without caches."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model: Any = model

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(input_ids=tokens, use_cache=False, logits_to_keep=1).logits


def round_linear_layers(
    model: nn.Module,
    paths: Collection[str],
    texts: Sequence[Sequence[int]],
    group_size: int,
    take: Callable[[str, Rounded], None],
) -> None:
    """Round the linear layers at these paths (`model.layers.0.mlp.up_proj`) for the texts, and hand each to `take`.

    Texts are tokens, as many in each. What the texts do not reach is not rounded. Weights that were handed over are
    emptied, unless something else reads them: all in fp32 beside their integers would take too much memory. Norms
    before them are scaled, and what is handed over takes that back (`xir.quantizer.activation_aware`). LlmError where
    torch cannot export the model.
    """
    samples = [(torch.tensor([text]),) for text in texts]
    try:
        with torch.no_grad(), quiet():
            graph = torch.export.export(_Whole(model), samples[0]).module()
    except Exception as error:  # torch raises what it comes across
        raise LlmError(f"torch.export cannot export {type(model).__name__}: {first_line(error)}") from error
    assert isinstance(graph, GraphModule)
    wanted = {f"model.{path}.weight": path for path in paths}

    layers = [each for each in map(_layer, graph.graph.nodes) if each and each.name in wanted]
    readers, known = ParameterReaders(graph.graph), {layer.node for layer in layers}
    norms = NormFactors(graph, layers, group_size, LIMITS)

    def round_weight(layer: LinearLayer, weight: Tensor, moments: Tensor) -> Tensor:
        factors = norms.of(layer, moments)
        if factors is None:
            rounded = compensated(weight, moments, group_size, LIMITS)
        else:
            rounded = compensated(weight * factors, scaled_moments(moments, factors), group_size, LIMITS)
        take(wanted[layer.name], rounded)
        if known.issuperset(readers.of(layer.name)):
            for owner, name in ((graph, layer.name), (model, f"{wanted[layer.name]}.weight")):
                attribute(owner, name).data = torch.empty(0)
        return rounded.weight() if factors is None else rounded.weight() / factors

    round_by_layer(graph, layers, samples, round_weight)
    for name, value in norms.divided().items():
        attribute(model, name.removeprefix("model.")).data = value


def _layer(node: Node) -> LinearLayer | None:
    """The linear layer that a node of the graph computes."""
    if node.target is not torch.ops.aten.linear.default:
        return None
    value, weight = node.args[:2]
    assert isinstance(value, Node)
    assert isinstance(weight, Node)
    return LinearLayer(node, value, weight, weight) if weight.op == "get_attr" else None


@torch.no_grad()
def perplexity_of(model: Any, texts: Sequence[Sequence[int]]) -> float:
    """exp(−mean log p) of the tokens of texts, each behind those before it in its text."""
    lost: list[Tensor] = []
    for text in texts:
        tokens = torch.tensor(text)
        logits = model(input_ids=tokens[None, :-1], use_cache=False).logits[0].float()
        lost.append(nn.functional.cross_entropy(logits, tokens[1:], reduction="none").double())
    return float(torch.cat(lost).mean().exp())
