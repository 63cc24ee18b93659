"""Ranges by what the outputs feel: of several ranges for a value, the one whose errors arrive least at the outputs.

Cutting off outliers gives all other numbers a finer scale, which lowers a value's own squared error, but outliers may
be what the outputs depend on most; and the reverse. To first order an error e of a value changes the outputs by J·e.
For random directions v of the outputs, g = vᵀJ is one backward pass of the float graph, and (Σ g·e)² has the mean
|J·e|² (Hutchinson's estimate). Rounding errors are independent of each other, and Σ (g·e)² has the same mean then, with
less variance; errors of cutting off are not. The mean of both is what ranges are compared by.

Ranges are narrowed at both ends alike. One that is narrowed at one end alone has to be better in each half of the
inputs, and to cut something off in each: among so many ranges the best one for few inputs is often not the best one for
others, and what costs nothing because it was not seen tells nothing.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
"""The ranges that are tried, of the one that covers all values; the same for one end."""

LEAST_GAIN = 0.9
"""What the cost has to fall to in each half of the inputs, for a range to be narrowed at one end alone."""

LEAST_END = 0.02
"""The shortest end that is narrowed, of the other one: shorter ones hardly count."""

LARGEST_SAMPLES = 12
"""How many inputs are looked at."""

ScaleAndZero = tuple[Tensor, Tensor]
"""A scale and a zero point, of one number each."""


@dataclass(frozen=True)
class Candidates:
    """Ranges for a value."""

    alike: Sequence[ScaleAndZero]
    """Narrowed at both ends by the same factor, behind the observer's own range, which stays if nothing is better."""
    at_one_end: Sequence[ScaleAndZero]

    @staticmethod
    def of(observer: OutputRange) -> Candidates:
        """Those of a value that an observer has seen."""
        low, high = observer.min_val, observer.max_val
        alike = [(low * factor, high * factor) for factor in FACTORS]
        one = [(low * factor, high) for factor in FACTORS[1:] if -float(low) * factor > LEAST_END * float(high)]
        one += [(low, high * factor) for factor in FACTORS[1:] if float(high) * factor > -LEAST_END * float(low)]
        one = one if float(low) < 0 < float(high) else []
        found, more = ([observer._calculate_qparams(*each) for each in spans] for spans in (alike, one))
        return Candidates([observer.calculate_qparams(), *found], more)

    @property
    def all(self) -> list[ScaleAndZero]:
        """First those that are narrowed alike."""
        return [*self.alike, *self.at_one_end]

    def best(self, costs: Tensor, cutting: Tensor) -> ScaleAndZero | None:
        """By what each costs (f64) and whether it cuts anything off (bool) in each half of the inputs, [2, candidates];
        None where nothing is known of them."""
        total = costs.sum(0)
        if not bool(torch.isfinite(total).all()) or not float(total.max()) > 0:
            return None
        count = len(self.alike)
        best = int(total[:count].argmin())
        better = (costs < LEAST_GAIN * costs[:, best, None]) & cutting
        others = total.where(better.all(0), torch.inf)[count:]
        return self.at_one_end[int(others.argmin())] if bool(others.isfinite().any()) else self.alike[best]


class _Costs:
    """What each of a value's candidates costs in each half of the inputs."""

    def __init__(self, candidates: Candidates):
        self._candidates = candidates
        count = len(candidates.all)
        self._arriving = torch.zeros(2, count, dtype=torch.float64)
        self._cutting = torch.zeros(2, count, dtype=torch.bool)

    def add(self, half: int, value: Tensor, gradients: Sequence[Tensor]) -> None:
        """Take in a value, and the gradients [elements] of directions of the outputs in it."""
        if not value.numel():
            return
        squares = [each.square() for each in gradients]
        for index, (scale, zero_point) in enumerate(self._candidates.all if gradients else ()):
            rounded = torch.fake_quantize_per_tensor_affine(value, float(scale), int(zero_point), -128, 127)
            error = (rounded - value).flatten()
            square = error.square()
            for gradient, weights in zip(gradients, squares, strict=True):
                arriving = float(torch.dot(gradient, error)) ** 2 + float(torch.dot(weights, square))
                self._arriving[half, index] += arriving / 2
            self._cutting[half, index] |= bool(error.abs().max() > scale)

    def best(self) -> ScaleAndZero | None:
        """None where no output of floating point depends on the value."""
        return self._candidates.best(self._arriving, self._cutting)


def choose_ranges(calling: GraphModule, samples: Sequence[tuple[Any, ...]]) -> None:
    """Give each `OutputRange` the range that the outputs feel least.

    `calling` is the prepared graph after calibration, with the calls of observers that saw anything new. Observers
    keep their own range where no output of floating point depends on the value.
    """
    observers = {id(each): each for node in calling.graph.nodes if (each := _observer(calling, node)) is not None}
    costs = {key: _Costs(Candidates.of(each)) for key, each in observers.items()}
    if not costs:
        return
    state, generator = GraphState(calling), torch.Generator().manual_seed(0)
    every = max(len(samples) // LARGEST_SAMPLES, 1)
    chosen = list(islice(samples, 0, every * LARGEST_SAMPLES, every))
    for index, sample in enumerate(counted("Choosing ranges", chosen)):
        with torch.autograd.graph.allow_mutation_on_saved_tensors(), torch.enable_grad():
            outputs, seen = _run(calling, sample, state)
            _add_costs(outputs, seen, costs, index % 2, generator)
        state.leave()
    for key, observer in observers.items():
        best = costs[key].best()
        if best is not None:
            observer.found = best


def _observer(graph: GraphModule, node: Node) -> OutputRange | None:
    """The observer that a node calls, if it asks for this and has seen a range."""
    module = graph.get_submodule(str(node.target)) if node.op == "call_module" else None
    if not isinstance(module, OutputRange) or module.bad_value is not None:
        return None
    return module if bool(module.max_val > module.min_val) else None


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
    outputs: Sequence[Tensor], seen: Seen, costs: Mapping[int, _Costs], half: int, generator: torch.Generator
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
            costs[key].add(half, value, known)
