"""Models that gather and scatter by indices: which ops stay outside, and that both runtimes compute the rest right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.both_runtimes import delegates
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn
from torch.nn import functional

from xir.api import XnnpackPartitioner, to_edge
from xir.models.vision import torchvision_models

pytestmark = pytest.mark.filterwarnings("ignore")


def graph_attention(edges: Tensor | None = None) -> nn.Module:
    """A layer of GAT: each node attends to those that edges come from. Edges that are not known are an input."""

    def forward(m: Any, x: Tensor, edges: Tensor) -> Tensor:
        nodes = m.linear(x).view(len(x), 2, 8)
        begin, end = edges[0], edges[1]
        score = (nodes * m.source).sum(-1)[begin] + (nodes * m.target).sum(-1)[end]
        weight = functional.leaky_relu(score, 0.2).exp()
        total = torch.zeros(len(x), 2).index_add(0, end, weight)
        message = torch.zeros(len(x), 2, 8).index_add(0, end, weight.unsqueeze(-1) * nodes[begin])
        return (message / total.unsqueeze(-1).clamp(min=1e-6)).relu().flatten(1)

    source, target = (nn.Parameter(torch.randn(1, 2, 8)) for _ in range(2))
    parts = {"linear": nn.Linear(16, 16, bias=False), "source": source, "target": target}
    if edges is None:
        return Calling(forward, **parts)
    return Calling(lambda m, x: forward(m, x, m.edges), edges=edges, **parts)


def optical_flow() -> nn.Module:
    """RAFT of two updates, without its rest."""
    torchvision_models()
    from torchvision.models.optical_flow import raft_small

    model = raft_small()
    return Calling(lambda m, before, after: m.model(before, after, num_flow_updates=2)[-1], model=model)


def video_transformer() -> nn.Module:
    """Two blocks of MViT, as torchvision builds its second version: convolutions and poolings of three dimensions, and
    relative positions, whose indices are constants."""
    torchvision_models()
    from torchvision.models.video.mvit import MSBlockConfig, MViT

    pooled = [3, 3, 3]
    blocks = [
        MSBlockConfig(1, 16, 32, pooled, pooled, [1, 1, 1], [1, 2, 2]),
        MSBlockConfig(2, 32, 32, pooled, pooled, [1, 2, 2], [1, 1, 1]),
    ]
    return MViT(
        spatial_size=(32, 32),
        temporal_size=4,
        block_setting=blocks,
        residual_pool=True,
        residual_with_cls_embed=False,
        rel_pos_embed=True,
        proj_after_attn=True,
        num_classes=5,
    )


def outlook_attention() -> nn.Module:
    """What VOLO has in place of attention: weights for the pixels around each, by `unfold` and `fold`."""
    heads, around, how = 2, 9, {"kernel_size": 3, "padding": 1, "stride": 2}

    def forward(m: Any, x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        values = functional.unfold(m.value(x).permute(0, 3, 1, 2), **how)
        places = values.shape[-1]
        values = values.reshape(batch, heads, channels // heads, around, places).permute(0, 1, 4, 3, 2)
        pooled = functional.avg_pool2d(x.permute(0, 3, 1, 2), 2, 2, ceil_mode=True).permute(0, 2, 3, 1)
        weights = m.weight(pooled).reshape(batch, places, heads, around, around).permute(0, 2, 1, 3, 4)
        mixed = (weights * (channels // heads) ** -0.5).softmax(-1) @ values
        mixed = mixed.permute(0, 1, 4, 3, 2).reshape(batch, channels * around, places)
        return m.projection(functional.fold(mixed, (height, width), **how).permute(0, 2, 3, 1))

    parts = {"value": nn.Linear(32, 32, bias=False), "weight": nn.Linear(32, heads * around**2)}
    return Calling(forward, projection=nn.Linear(32, 32), **parts)


def edges() -> Tensor:
    return torch.randint(0, 20, (2, 60))


GRAPH = {"edge.index.Tensor": 3, "edge.index_put": 2, "edge.select.int": 2}
"""XNNPACK neither gathers nor scatters: three reads by edges and two sums by node, and the rows of the edges."""

FLOW = {"edge.grid_sampler_2d": 8}
"""Each update reads four levels of correlations where the flow points, a kernel of both."""

MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], list[Tensor]], dict[str, int], int]] = {
    "graph attention": (graph_attention, lambda: [torch.randn(20, 16), edges()], GRAPH, 3),
    "along known edges": (lambda: graph_attention(edges()), lambda: [torch.randn(20, 16)], {"edge.index_put": 2}, 2),
    "optical flow": (optical_flow, lambda: [torch.randn(1, 3, 128, 128) for _ in range(2)], FLOW, 3),
    "video transformer": (video_transformer, lambda: [torch.randn(1, 3, 4, 32, 32)], {}, 1),
    "outlook attention": (outlook_attention, lambda: [torch.randn(2, 14, 14, 32)], {}, 1),
    "outlook attention, odd": (outlook_attention, lambda: [torch.randn(2, 15, 15, 32)], {}, 1),
}
"""A model, its inputs, which ops stay outside of delegates, and the number of those."""


@pytest.mark.parametrize("name", MODELS)
def test_right_in_both_runtimes(name: str) -> None:
    build, make, outside, graphs = MODELS[name]
    torch.manual_seed(0)
    model, inputs = build().eval(), make()
    with torch.no_grad():
        program = torch.export.export(model, tuple(inputs))
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    tolerance = 3e-5 if name == "optical flow" else 5e-6
    agree(lowered.to_executorch().buffer, model, [inputs], rtol=tolerance, atol=0, of_largest=tolerance)
    names = [op.name for op in lowered.module.walk()]
    assert Counter(name for name in names if name.startswith("edge.") and name != "edge.constant") == outside
    assert delegates(lowered) == graphs
