"""How near the results of a program, or of a graph on its way there, are to those of its model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import prepare_pt2e

from xir.quantizer import QuantConfig, XnnpackQuantizer
from xir.quantizer.measurement import without_observers
from xir.quantizer.side_by_side import run_alone


def sqnr(exact: Tensor, actual: Tensor) -> float:
    """Decibels of a result over what another one differs from it by."""
    exact, actual = exact.detach().double(), actual.detach().double()
    return 10 * math.log10(float(exact.square().sum() / (exact - actual).square().sum()))


@torch.no_grad()
def quality(model: Callable[..., Any], program: Any, inputs: Sequence[tuple[Tensor, ...]]) -> float:
    """The decibels of a program's results over all inputs together."""
    module = program.module()
    return sqnr(*(torch.cat([each(*given) for given in inputs]) for each in (model, module)))


def observed_graph(model: nn.Module, inputs: tuple[Tensor, ...], config: QuantConfig | None = None) -> GraphModule:
    """The model's graph with observers."""
    module = torch.export.export(model.eval(), inputs).module()
    assert isinstance(module, GraphModule)
    return prepare_pt2e(module, XnnpackQuantizer(config or QuantConfig()))


@torch.no_grad()
def assert_results_stay(
    observed: GraphModule, model: nn.Module, inputs: Sequence[tuple[Tensor, ...]], rtol: float, atol: float
) -> None:
    """A graph that was rewritten gives what the model does; `atol` is of the largest number."""
    graph = without_observers(observed)
    for given in inputs:
        want = model(*given)
        allowed = atol * float(want.abs().max())
        torch.testing.assert_close(run_alone(graph, given)[0], want, rtol=rtol, atol=allowed)
