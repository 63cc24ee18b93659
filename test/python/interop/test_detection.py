"""RT-DETR of transformers: boxes of the best scores, whose rows are gathered, in both runtimes."""

from __future__ import annotations

import pytest
import torch
from reference.runtimes import agree
from torch import Tensor, nn

from xir.api import XnnpackPartitioner, to_edge
from xir.llm.huggingface.checkpoint import import_transformers


class Detector(nn.Module):
    """RT-DETR with ten queries over images of 64 × 64, as tensors."""

    def __init__(self) -> None:
        super().__init__()
        transformers = import_transformers()
        backbone = transformers.RTDetrResNetConfig(
            embedding_size=8,
            hidden_sizes=[8, 16, 32, 64],
            depths=[1, 1, 1, 1],
            layer_type="basic",
            out_features=["stage2", "stage3", "stage4"],
        )
        self.model = transformers.RTDetrForObjectDetection(
            transformers.RTDetrConfig(
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
        )

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        found = self.model(pixel_values=pixels)
        return found.logits, found.pred_boxes, found.enc_topk_logits, found.enc_topk_bboxes, found.enc_outputs_class


@pytest.mark.filterwarnings("ignore")
def test_rt_detr() -> None:
    """As transformers begins it, the head of the scores has weights near zero, so that all 84 scores are one number:
    which rows `topk` then takes is open, and eager's are others than a kernel's. With random weights they differ."""
    torch.manual_seed(0)
    model = Detector().eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.3)
        pixels = torch.randn(1, 3, 64, 64)
        expected = model(pixels)
        program = torch.export.export(model, (pixels,))
    best = expected[-1].amax(-1).sort(descending=True).values[0, :11]
    assert (best[:-1] - best[1:]).min() > 2e-5, "scores far enough from each other for any order of sums"
    file = to_edge(program).to_backend(XnnpackPartitioner()).to_executorch().buffer
    agree(file, lambda _: expected, [[pixels]], atol=0, of_largest=1e-5)
