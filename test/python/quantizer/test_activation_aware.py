"""Channels of norms that carry much are rounded in finer steps by the layers that read them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from reference.modules import Calling
from torch import Tensor, nn
from torch.fx import GraphModule

from xir.quantizer.activation_aware import NormFactors, scaled_moments
from xir.quantizer.compensation import compensated, output_error
from xir.quantizer.layerwise import LinearLayer, moments_of

LIMITS = (-8, 7)


def _scaled_by_hand(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    rows = x * x.square().mean(-1, keepdim=True).rsqrt() * m.norm.weight
    return m.one(rows), m.two(rows)


def _normed(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    rows = m.norm(x)
    return m.one(rows), m.two(rows)


def _read_elsewhere(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    rows = m.norm(x)
    return m.one(rows), m.two(rows) + rows


def _computed(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    rows = nn.functional.layer_norm(x, (64,), m.norm.weight + 1)
    return m.one(rows), m.two(rows)


def case(forward: Any, *, is_shared: bool = False) -> tuple[GraphModule, list[LinearLayer], Tensor]:
    """A norm with some large channels and two layers: the graph, the layers, and what they read [rows, 64]."""
    torch.manual_seed(0)
    norm, one, two = nn.LayerNorm(64), nn.Linear(64, 96, bias=False), nn.Linear(64, 64, bias=False)
    for layer in (one, two):
        nn.init.normal_(layer.weight)  # one that is uniform has the same largest number with any factors
    norm.weight.data[::32] *= 12
    norm.bias.data = torch.randn(64) / 10
    model = Calling(forward, norm=norm, one=one, two=nn.Linear(64, 96, bias=False) if is_shared else two)
    if is_shared:
        model.two.weight = one.weight
    x = torch.randn(512, 64)
    graph = torch.export.export(model, (x,)).module()
    assert isinstance(graph, GraphModule)
    products = [node for node in graph.graph.nodes if str(node.target) == "aten.linear.default"]
    layers = [LinearLayer(node, node.args[0], node.args[1], node.args[1]) for node in products]
    return graph, layers, model.norm(x).detach()


@pytest.mark.parametrize("forward", [_scaled_by_hand, _normed])
def test_results_are_nearer_in_as_many_bits(forward: Any) -> None:
    graph, layers, rows = case(forward)
    moments = moments_of([rows])
    norms = NormFactors(graph, layers, 32, LIMITS)
    factors = norms.of(layers[0], moments)
    assert factors is not None
    assert norms.of(layers[1], moments) is factors
    plain = scaled = 0.0
    for layer in layers:
        weight = graph.get_parameter(layer.name).detach()
        seen = scaled_moments(moments, factors)
        plain += float(output_error(weight, compensated(weight, moments, 32, LIMITS), moments).sum())
        scaled += float(output_error(weight * factors, compensated(weight * factors, seen, 32, LIMITS), seen).sum())
    assert scaled < 0.9 * plain


@pytest.mark.parametrize("forward", [_scaled_by_hand, _normed])
def test_the_float_results_stay(forward: Any) -> None:
    graph, layers, rows = case(forward)
    x = torch.randn(512, 64)
    before = graph(x)
    norms = NormFactors(graph, layers, 32, LIMITS)
    factors = norms.of(layers[0], moments_of([rows]))
    assert factors is not None
    assert float(factors.max() / factors.min()) > 1.2
    divided = norms.divided()
    assert len(divided) == (1 if forward is _scaled_by_hand else 2)
    for name, value in divided.items():
        graph.get_parameter(name).data = value
    for layer in layers:
        graph.get_parameter(layer.name).data *= factors
    for one, other in zip(before, graph(x), strict=True):
        assert torch.allclose(one, other, atol=1e-4)


def _constant(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    rows = x * torch.arange(1.0, 65.0)
    return m.one(rows), m.two(rows)


def _given_constant(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    rows = x * GIVEN
    return m.one(rows), m.two(rows)


GIVEN = torch.linspace(0.1, 9.0, 64)


@pytest.mark.parametrize(
    ("forward", "is_shared"),
    [(_read_elsewhere, False), (_computed, False), (_constant, False), (_given_constant, False), (_normed, True)],
)
def test_what_something_else_reads_or_computes_stays(forward: Any, is_shared: bool) -> None:
    """Another reader of the norm, weights of norms that are no parameters of the model, a weight of both layers."""
    graph, layers, rows = case(forward, is_shared=is_shared)
    norms = NormFactors(graph, layers, 32, LIMITS)
    assert norms.of(layers[0], moments_of([rows])) is None
    assert not norms.divided()


def test_a_reader_that_is_not_rounded_leaves_the_norm_alone() -> None:
    graph, layers, rows = case(_normed)
    assert NormFactors(graph, layers[:1], 32, LIMITS).of(layers[0], moments_of([rows])) is None


def test_inputs_of_zeros_have_no_factors_that_are_not_finite() -> None:
    graph, layers, _ = case(_normed)
    factors = NormFactors(graph, layers, 32, LIMITS).of(layers[0], torch.zeros(64, 64))
    assert factors is not None
    assert bool(factors.isfinite().all())
