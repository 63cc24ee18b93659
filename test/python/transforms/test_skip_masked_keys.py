"""Attention in blocks computes what PyTorch does, for every mask of which something may be left out."""

from __future__ import annotations

import math

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn

import xir
from xir.dialects import xnnpack
from xir.ir.annotations import COMPOSED
from xir.ir.walking import ops_in
from xir.transforms.xnnpack.optimize.skip_masked_keys import blocks_of, seen_keys
from xir.transforms.xnnpack.schedule._band_search import Search

QUERIES, KEYS = 448, 512


def attention(mask: Tensor) -> nn.Module:
    """Attention with a mask that is known."""
    function = nn.functional.scaled_dot_product_attention
    return Calling(lambda m, query, key, value: function(query, key, value, attn_mask=m.mask), mask=mask)


def causal(size: int) -> Tensor:
    return torch.full((size, size), -math.inf).triu(1)


def distance() -> Tensor:
    """How far a key is behind a query, of which there are fewer: the last of both meet."""
    return torch.arange(KEYS - QUERIES, KEYS)[:, None] - torch.arange(KEYS)


HIDDEN = {
    "causal": distance() < 0,
    "window": (distance() < 0) | (distance() >= 100),
    "padding": (torch.arange(KEYS) >= 300).expand(2, 1, 1, KEYS),
    "longer in one batch": torch.stack([distance() < 0, distance() < -50])[:, None],
}


@pytest.mark.parametrize("lowest", [-math.inf, torch.finfo(torch.float32).min])
@pytest.mark.parametrize("hidden", list(HIDDEN.values()), ids=list(HIDDEN))
def test_blocks_compute_the_same(hidden: Tensor, lowest: float) -> None:
    torch.manual_seed(0)
    mask = torch.zeros(hidden.shape).masked_fill(hidden, lowest)
    model, inputs = attention(mask), tuple(torch.randn(2, 3, size, 16) for size in (QUERIES, KEYS, KEYS))
    program = xir.to_edge(torch.export.export(model, inputs)).to_backend(xir.XnnpackPartitioner())
    assert any(str(op.attributes.get(COMPOSED)).startswith('"attention in') for op in program.module.walk())
    agree(program.to_executorch().buffer, model, [inputs])


def test_causal_attention_needs_less_memory() -> None:
    """One block of scores at a time, for the largest of which are kept the scores and their softmax."""
    inputs = tuple(torch.randn(1, 2, 1024, 16) for _ in range(3))
    edge = xir.to_edge(torch.export.export(attention(causal(1024)), inputs))
    whole, blocks = (edge.to_backend(xir.PipelinePartitioner(each)) for each in (WITHOUT, "delegate"))
    scores = 2 * 1024 * 1024 * 4
    assert peak(whole) >= 2 * scores
    assert peak(blocks) <= 2 * scores / 3


def test_blocks_are_cut_by_heads_where_memory_is_short() -> None:
    inputs = tuple(torch.randn(1, 4, 512, 16) for _ in range(3))
    model = attention(causal(512))
    edge = xir.to_edge(torch.export.export(model, inputs))
    limit = int(0.6 * peak(edge.to_backend(xir.XnnpackPartitioner())))
    program = edge.to_backend(xir.XnnpackPartitioner(max_arena=limit))
    assert peak(program) <= limit
    agree(program.to_executorch().buffer, model, [inputs])


WITHOUT = "simplify,lower-masks,partition-xnnpack,fuse-conv-relu,fold-affine,cleanup"


def peak(program: xir.EdgeProgram) -> int:
    return max(Search(each.block).peak for each in ops_in(program.module, xnnpack.SubgraphOp))


@pytest.mark.parametrize("lowest", [-math.inf, -1e38])
def test_a_query_without_keys_stays_what_it_is(lowest: float) -> None:
    mask = torch.zeros(4, 6).masked_fill(torch.ones(4, 6, dtype=torch.bool).triu(0), lowest)
    assert seen_keys(mask.numpy(), 6) is None


def test_neighbors_that_see_the_same_are_one_block() -> None:
    seen = [(0, 2), (0, 2), (0, 2), (0, 2), (1, 4), (1, 4), (0, 5), (0, 4)]
    blocks = [(block.queries, block.keys) for block in blocks_of(seen, 8, 4)]
    assert blocks == [(range(4), range(2)), (range(4, 6), range(1, 4)), (range(6, 8), range(5))]
