"""Models of the zoo, from export to both runtimes: one delegate, what stays outside of it, and eager's numbers."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from reference.runtimes import load_stock

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack
from xir.models import MODELS, load_model
from xir.runtime import Runtime

TOLERANCE = 1e-3
"""Of the output's largest magnitude."""

TOKENS = {"edge.embedding": 1}
"""The lookup of an embedding, which XNNPACK has no node for."""

OUTSIDE: dict[str, dict[str, int]] = {
    "add": {},
    "add_mul": {},
    "linear": {},
    "mv3": {},
    "edsr": {},
    "lstm": {},
    "w2l": {},
    "emformer_join": {},
    "emformer_predict": TOKENS,
    "llama2": TOKENS,
    "mobilebert": TOKENS,
}
SLOW: dict[str, dict[str, int]] = {
    "dl3": {},
    "efficientnet_b0": {},
    "emformer_transcribe": {},
    "ic3": {},
    "ic4": {},
    "mv3_large": {},
    "resnet18": {},
    "resnet50": {},
    "vit": {},
}
ELSEWHERE = {"mv2"}
"""Held to more in `interop/test_mobilenet.py`."""


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("name", "outside"),
    [*OUTSIDE.items(), *(pytest.param(*item, marks=pytest.mark.slow) for item in SLOW.items())],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_delegate_with_eagers_numbers(name: str, outside: dict[str, int]) -> None:
    model, inputs = load_model(name)
    with torch.no_grad():
        expected = model(*inputs)
    program = to_edge(torch.export.export(model, inputs)).to_backend(XnnpackPartitioner())
    ops = list(program.module.walk())
    assert Counter(op.name for op in ops if isinstance(op, edge.EdgeOp)) == outside
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
    file = program.to_executorch().buffer
    (ours,) = Runtime.get().load_program(file).load_method("forward").execute(list(inputs))
    (stock,) = load_stock(file).forward(list(inputs))
    limit = TOLERANCE * expected.abs().max().item()
    torch.testing.assert_close(ours, expected, rtol=0, atol=limit)
    torch.testing.assert_close(stock, expected, rtol=0, atol=limit)


def test_every_model_is_accounted_for() -> None:
    assert OUTSIDE.keys() | SLOW.keys() | ELSEWHERE == MODELS.keys()
