"""Models that gather and scatter by indices: which ops stay outside, and that both runtimes compute the rest right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.both_runtimes import delegates, lower
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn
from torch.nn import functional

from xir.llm.huggingface.checkpoint import import_transformers
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
}
"""A model, its inputs, which ops stay outside of delegates, and the number of those."""


@pytest.mark.parametrize("name", MODELS)
def test_right_in_both_runtimes(name: str) -> None:
    build, make, outside, graphs = MODELS[name]
    torch.manual_seed(0)
    model, inputs = build().eval(), make()
    lowered = lower(model, tuple(inputs))
    tolerance = 3e-5 if name == "optical flow" else 5e-6
    agree(lowered.to_executorch().buffer, model, [inputs], rtol=tolerance, atol=0, of_largest=tolerance)
    names = [op.name for op in lowered.module.walk()]
    assert Counter(name for name in names if name.startswith("edge.") and name != "edge.constant") == outside
    assert delegates(lowered) == graphs


def detector() -> nn.Module:
    """RT-DETR with ten queries over images of 64 × 64, as tensors."""
    transformers = import_transformers()
    backbone = transformers.RTDetrResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16, 32, 64],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    config = transformers.RTDetrConfig(
        backbone_config=backbone,
        encoder_hidden_dim=32,
        encoder_in_channels=[16, 32, 64],
        encoder_ffn_dim=64,
        d_model=32,
        num_queries=10,
        decoder_in_channels=[32, 32, 32],
        decoder_ffn_dim=64,
        decoder_attention_heads=4,
        encoder_attention_heads=4,
        decoder_layers=2,
        num_labels=5,
        anchor_image_size=None,
        feat_strides=[8, 16, 32],
        disable_custom_kernels=True,
    )

    def forward(m: Any, pixels: Tensor) -> tuple[Tensor, ...]:
        found = m.model(pixel_values=pixels)
        return found.logits, found.pred_boxes, found.enc_topk_logits, found.enc_topk_bboxes, found.enc_outputs_class

    return Calling(forward, model=transformers.RTDetrForObjectDetection(config)).eval()


def test_boxes_of_the_best_scores() -> None:
    """As transformers begins it, the head of the scores has weights near zero, so that all 84 scores are one number:
    which rows `topk` then takes is open, and eager's are others than a kernel's. With random weights they differ."""
    torch.manual_seed(0)
    model, pixels = detector(), torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.3)
        best = model(pixels)[-1].amax(-1).sort(descending=True).values[0, :11]
    assert (best[:-1] - best[1:]).min() > 2e-5, "scores far enough from each other for any order of sums"
    agree(lower(model, pixels).to_executorch().buffer, model, [[pixels]], atol=0, of_largest=1e-5)
