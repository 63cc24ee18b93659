"""Ranges by what the outputs feel: of several ranges for a value, the one whose errors arrive least at the outputs.

Cutting off outliers gives all other numbers a finer scale, which lowers a value's own squared error, but outliers may
be what the outputs depend on most; and the reverse. To first order an error e of a value changes the outputs by J·e.
For random directions v of the outputs, g = vᵀJ is one backward pass of the float graph, and (Σ g·e)² has the mean
|J·e|² (Hutchinson's estimate). Rounding errors are independent of each other, and Σ (g·e)² has the same mean then, with
less variance; errors of cutting off are not. The mean of both is what ranges are compared by.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from xir.progress import counted

from .observers import OutputRange
from .state import GraphState, call

PROBES = 2
"""Random directions of the outputs for each input."""

FACTORS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.22)
"""The ranges that are tried, of the one that covers all values."""

LARGEST_SAMPLES = 12
"""How many inputs are looked at."""

Candidates = list[tuple[Tensor, Tensor]]
"""Scales and zero points."""


def choose_ranges(calling: GraphModule, samples: Sequence[tuple[Any, ...]]) -> None:
    """Give each `OutputRange` the range that the outputs feel least.

    `calling` is the prepared graph after calibration, with the calls of observers that saw anything new. Observers
    keep their own range where no output of floating point depends on the value.
    """
    observers = {id(each): each for node in calling.graph.nodes if (each := _observer(calling, node)) is not None}
    candidates = {key: _candidates(each) for key, each in observers.items()}
    costs = {key: torch.zeros(len(each), dtype=torch.float64) for key, each in candidates.items()}
    if not costs:
        return
    state, generator = GraphState(calling), torch.Generator().manual_seed(0)
    every = max(len(samples) // LARGEST_SAMPLES, 1)
    chosen = list(islice(samples, 0, every * LARGEST_SAMPLES, every))
    for sample in counted("Choosing ranges", chosen):
        with torch.autograd.graph.allow_mutation_on_saved_tensors(), torch.enable_grad():
            outputs, seen = _run(calling, sample, state)
            _add_costs(outputs, seen, candidates, costs, generator)
        state.leave()
    for key, observer in observers.items():
        cost = costs[key]
        if bool(torch.isfinite(cost).all()) and float(cost.max()) > 0:
            observer.found = candidates[key][int(cost.argmin())]


def _observer(graph: GraphModule, node: Node) -> OutputRange | None:
    """The observer that a node calls, if it asks for this and has seen a range."""
    module = graph.get_submodule(str(node.target)) if node.op == "call_module" else None
    if not isinstance(module, OutputRange) or module.bad_value is not None:
        return None
    return module if bool(module.max_val > module.min_val) else None


def _candidates(observer: OutputRange) -> Candidates:
    """The observer's own range first: where nothing is better, it stays."""
    spans = [(observer.min_val * factor, observer.max_val * factor) for factor in FACTORS]
    return [observer.calculate_qparams(), *(observer._calculate_qparams(low, high) for low, high in spans)]


Seen = list[tuple[int, Tensor]]
"""Observers by their identities, with values that outputs have gradients in."""


def _run(graph: GraphModule, sample: tuple[Any, ...], state: GraphState) -> tuple[list[Tensor], Seen]:
    """The outputs of floating point, and what observers see."""
    values: dict[Node, Any] = {}
    feeds, seen = iter(sample), Seen()
    last = {operand: node for node in graph.graph.nodes for operand in node.all_input_nodes}
    for node in graph.graph.nodes:
        match node.op:
            case "placeholder":
                values[node] = next(feeds)
            case "get_attr":
                found = state.read(str(node.target))
                values[node] = found.detach() if isinstance(found, Tensor) else found
            case "call_module":
                value = values[node.all_input_nodes[0]]
                if _observer(graph, node) is not None and value.is_floating_point():
                    value = value.view_as(value) if value.requires_grad else value.detach().clone().requires_grad_()
                    seen.append((id(graph.get_submodule(str(node.target))), value))
                values[node] = value
            case "output":
                leaves = pytree.tree_leaves(torch.fx.map_arg(node.args[0], values.__getitem__))
                return [each for each in leaves if isinstance(each, Tensor) and each.is_floating_point()], seen
            case _:
                values[node] = call(node, values, state)
        for operand in node.all_input_nodes:
            if last[operand] is node:
                values.pop(operand, None)
    raise AssertionError("a graph has an output")


def _add_costs(
    outputs: Sequence[Tensor],
    seen: Seen,
    candidates: Mapping[int, Candidates],
    costs: Mapping[int, Tensor],
    generator: torch.Generator,
) -> None:
    """Add what arrives of each candidate's errors, each output by its own energy."""
    gradients: list[list[Tensor]] = [[] for _ in seen]
    for output in outputs:
        energy = float(output.detach().double().square().sum())
        if not output.requires_grad or not energy > 0:
            continue
        for _ in range(PROBES):
            direction = torch.randn(output.shape, generator=generator) / energy**0.5
            values = [value for _, value in seen]
            found = torch.autograd.grad(output, values, direction, retain_graph=True, allow_unused=True)
            for known, gradient in zip(gradients, found, strict=True):
                if gradient is not None:  # pyright: ignore[reportUnnecessaryComparison]  # what allow_unused gives
                    known.append(gradient.flatten())
    with torch.no_grad():
        for (key, value), known in zip(seen, gradients, strict=True):
            squares = [each.square() for each in known]
            for index, (scale, zero_point) in enumerate(candidates[key] if known else ()):
                rounded = torch.fake_quantize_per_tensor_affine(value, float(scale), int(zero_point), -128, 127)
                error = (rounded - value).flatten()
                square = error.square()
                for gradient, weights in zip(known, squares, strict=True):
                    arriving = float(torch.dot(gradient, error)) ** 2 + float(torch.dot(weights, square))
                    costs[key][index] += arriving / 2
