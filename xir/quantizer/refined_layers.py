"""Whether weights and biases that were chosen for what layers compute serve them better than the nearest integers.

What only loses their gain is no error here: the tests of each method hold that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.fx import GraphModule, Node

from .findings import Finding
from .layer_operands import roles_of
from .parameter_readers import parameter_of
from .side_by_side import SideBySide

WORSE = 1.25
"""How many times the error of the nearest integers a layer's results may have. Some have been rounded for inputs behind
other rounded layers, and all are compared on exact ones; a margin."""

EXACT = 1e-9
"""The error of a layer, of the power of its results, that is left by orders of additions in fp32: −90 dB."""


@dataclass
class _Layers:
    """All layers that share a weight: it is chosen for them together."""

    nodes: dict[Node, None] = field(default_factory=dict[Node, None])
    power: float = 0.0
    """Of the exact results, summed over all inputs, as errors are."""
    error: float = 0.0


def worse_layers(
    floats: GraphModule, plain: GraphModule, refined: GraphModule, samples: Sequence[tuple[Any, ...]]
) -> list[Finding]:
    """The layers of the graph `refined` whose results are further from those of the float graph than in `plain`, whose
    weights are rounded to the nearest. Each layer has the exact operands, rounded as its graph rounds them."""
    wanted, found = (_errors(floats, graph, samples) for graph in (plain, refined))
    return [
        Finding(next(iter(layers.nodes)), _text(layers.error, wanted[name].error))
        for name, layers in found.items()
        if layers.error > WORSE * wanted[name].error + EXACT * layers.power
    ]


def _text(found: float, wanted: float) -> str:
    if not wanted:
        return "its results have an error, and with the nearest integers none"
    return f"its results have {found / wanted:.3g} times the error that the nearest integers make"


def _errors(floats: GraphModule, quantized: GraphModule, samples: Sequence[tuple[Any, ...]]) -> dict[str, _Layers]:
    """The layers by the names of their weights."""
    names = {node.name: node for node in floats.graph.nodes}
    twins = {node: names[node.name] for node in quantized.graph.nodes if node.name in names}
    run, found = SideBySide(floats, quantized, twins), defaultdict[str, _Layers](_Layers)
    for sample in samples:
        for node, exact in run.run(sample):
            if node not in twins:
                run.keep(node, run.compute(node))
                continue
            roles = roles_of(twins[node])
            if "weight" not in roles or not isinstance(exact, Tensor):
                continue
            layers = found[parameter_of(roles["weight"]) or node.name]
            layers.nodes[twins[node]] = None
            layers.power += float(exact.double().square().sum())
            layers.error += float((run.compute(node) - exact).double().square().sum())
    return found
