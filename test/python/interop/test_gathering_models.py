"""Models that gather and scatter by indices: which ops stay outside, and that both runtimes compute the rest right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from reference.runtimes import agree
from torch import Tensor, nn

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects.delegate import GraphOp
from xir.models.vision import torchvision_models

pytestmark = pytest.mark.filterwarnings("ignore")


def outside_and_delegates(
    model: nn.Module, inputs: Sequence[Tensor], tolerance: float = 5e-6
) -> tuple[Counter[str], int]:
    """The ops outside of delegates by name, and the number of those, of a model that is right in both runtimes."""
    model.eval()
    with torch.no_grad():
        program = torch.export.export(model, tuple(inputs))
    lowered = to_edge(program).to_backend(XnnpackPartitioner())
    agree(lowered.to_executorch().buffer, model, [inputs], rtol=tolerance, atol=0, of_largest=tolerance)
    names = [op.name for op in lowered.module.walk()]
    outside = Counter(name for name in names if name.startswith("edge.") and name != "edge.constant")
    return outside, sum(isinstance(op, GraphOp) for op in lowered.module.walk())


class GraphAttention(nn.Module):
    """A layer of GAT: each node attends to those that edges come from. Edges are an input, as in a changing graph."""

    def __init__(self, width: int = 16, heads: int = 2, features: int = 8) -> None:
        super().__init__()
        self.size = (heads, features)
        self.linear = nn.Linear(width, heads * features, bias=False)
        self.source, self.target = (nn.Parameter(torch.randn(1, heads, features)) for _ in range(2))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        nodes = self.linear(x).view(len(x), *self.size)
        begin, end = edges[0], edges[1]
        score = (nodes * self.source).sum(-1)[begin] + (nodes * self.target).sum(-1)[end]
        weight = nn.functional.leaky_relu(score, 0.2).exp()
        total = torch.zeros(len(x), self.size[0]).index_add(0, end, weight)
        message = torch.zeros(len(x), *self.size).index_add(0, end, weight.unsqueeze(-1) * nodes[begin])
        return (message / total.unsqueeze(-1).clamp(min=1e-6)).relu().flatten(1)


def test_graph_attention() -> None:
    """XNNPACK neither gathers nor scatters: three reads by edges and two sums by node, and the rows of the edges."""
    torch.manual_seed(0)
    outside, delegates = outside_and_delegates(GraphAttention(), (torch.randn(20, 16), torch.randint(0, 20, (2, 60))))
    assert outside == {"edge.index.Tensor": 3, "edge.index_put": 2, "edge.select.int": 2}
    assert delegates == 3


class FixedGraph(nn.Module):
    """The same, of edges that are known."""

    def __init__(self, edges: Tensor) -> None:
        super().__init__()
        self.layer = GraphAttention()
        self.register_buffer("edges", edges)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, self.edges)


def test_graph_attention_along_known_edges() -> None:
    torch.manual_seed(0)
    model = FixedGraph(torch.randint(0, 20, (2, 60)))
    outside, delegates = outside_and_delegates(model, [torch.randn(20, 16)])
    assert outside == {"edge.index_put": 2}
    assert delegates == 2


class OpticalFlow(nn.Module):
    """RAFT of two updates, without its rest."""

    def __init__(self, updates: int) -> None:
        super().__init__()
        torchvision_models()
        from torchvision.models.optical_flow import raft_small

        self.model, self.updates = raft_small(), updates

    def forward(self, before: Tensor, after: Tensor) -> Tensor:
        return self.model(before, after, num_flow_updates=self.updates)[-1]


def test_optical_flow() -> None:
    """Each update reads four levels of correlations where the flow points: `grid_sampler_2d`, a kernel of both."""
    torch.manual_seed(0)
    outside, delegates = outside_and_delegates(OpticalFlow(2), [torch.randn(1, 3, 128, 128) for _ in range(2)], 3e-5)
    assert outside == {"edge.grid_sampler_2d": 8}
    assert delegates == 3


def video_transformer(version: int) -> nn.Module:
    """Two blocks of MViT, as torchvision builds its first and its second version."""
    torchvision_models()
    from torchvision.models.video.mvit import MSBlockConfig, MViT

    pooled = [3, 3, 3]
    blocks = [
        MSBlockConfig(1, 16, 32, pooled if version == 2 else [], pooled, [1, 1, 1] if version == 2 else [], [1, 2, 2]),
        MSBlockConfig(2, 32, 32, pooled, pooled, [1, 2, 2], [1, 1, 1]),
    ]
    return MViT(
        spatial_size=(32, 32),
        temporal_size=4,
        block_setting=blocks,
        residual_pool=version == 2,
        residual_with_cls_embed=version == 1,
        rel_pos_embed=version == 2,
        proj_after_attn=version == 2,
        num_classes=5,
    )


@pytest.mark.parametrize("version", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_video_transformers_are_one_delegate(version: int) -> None:
    """Three-dimensional convolutions and poolings, and relative positions, whose indices are constants."""
    torch.manual_seed(0)
    assert outside_and_delegates(video_transformer(version), [torch.randn(1, 3, 4, 32, 32)]) == (Counter(), 1)


class OutlookAttention(nn.Module):
    """What VOLO has in place of attention: weights for the pixels around each, by `unfold` and `fold`."""

    def __init__(self, width: int = 32, heads: int = 2, kernel: int = 3, stride: int = 2) -> None:
        super().__init__()
        self.heads, self.kernel, self.stride = heads, kernel, stride
        self.value = nn.Linear(width, width, bias=False)
        self.weight = nn.Linear(width, heads * kernel**4)
        self.projection = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        around, stride = self.kernel**2, self.stride
        places = math.ceil(height / stride) * math.ceil(width / stride)
        how = {"padding": self.kernel // 2, "stride": stride}
        values = nn.functional.unfold(self.value(x).permute(0, 3, 1, 2), self.kernel, **how)
        values = values.reshape(batch, self.heads, channels // self.heads, around, places).permute(0, 1, 4, 3, 2)
        pooled = nn.functional.avg_pool2d(x.permute(0, 3, 1, 2), stride, stride, ceil_mode=True).permute(0, 2, 3, 1)
        weights = self.weight(pooled).reshape(batch, places, self.heads, around, around).permute(0, 2, 1, 3, 4)
        mixed = (weights * (channels // self.heads) ** -0.5).softmax(-1) @ values
        mixed = mixed.permute(0, 1, 4, 3, 2).reshape(batch, channels * around, places)
        return self.projection(nn.functional.fold(mixed, (height, width), self.kernel, **how).permute(0, 2, 3, 1))


@pytest.mark.parametrize("size", [14, 15])
def test_outlook_attention_is_one_delegate(size: int) -> None:
    torch.manual_seed(0)
    assert outside_and_delegates(OutlookAttention(), [torch.randn(2, size, size, 32)]) == (Counter(), 1)
