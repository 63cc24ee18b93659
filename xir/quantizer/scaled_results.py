"""Results of linear layers that floating point alone reads are scaled by channel, to about the same range in 8 bits.

A tensor of integers has one scale, which its largest channel decides. In trained transformers, some channels of what a
feed-forward block adds to the residual sum are many times as large as the others. Rows of the layer's weight and bias
are divided by powers of two, and the result, back in floating point, is multiplied by them. That changes no result in
floating point, and not the integers of the weight either, which have a scale for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

from xir.progress import counted

from .observers import PerChannelRange, Range
from .operators import arguments_of
from .parameter_readers import ParameterReaders
from .smoothing import SeenRows, is_integer, multiply
from .state import attribute, set_parameter

LEAST_GAIN = 0.5
"""What the squared error of the results has to fall to for them to be scaled, which adds a multiplication."""

SMALLEST = 2.0**-10
"""The least factor, where the largest channel's is 1."""

_aten = torch.ops.aten
_IDENTITIES = frozenset({_aten.dropout.default, _aten.clone.default, _aten.contiguous.default})
"""What leaves each number in its place, in evaluation mode."""


@dataclass(frozen=True)
class _Result:
    """A linear layer on integers whose result floating point alone reads."""

    layer: Node
    parameters: tuple[str, ...]
    """The attributes of the weight [outputs, inputs] and of the bias [outputs], if there is one."""
    last: Node
    """The observer that floating point reads."""


def scale_results(observed: GraphModule, samples: Sequence[tuple[Any, ...]]) -> int:
    """Scale results of a prepared graph's layers where their integers are much closer then, on `samples`.

    Layers that have one weight are scaled alike. Returns how many weights were scaled.
    """
    groups = list(_groups(observed))
    if not groups:
        return 0
    seen = SeenRows(observed, [each.layer for group in groups for each in group], len(samples))
    with torch.no_grad():
        for sample in counted("Scaling results", samples):
            seen.run(*sample)
        return sum(_scale(observed, group, seen) for group in groups)


def _groups(observed: GraphModule) -> Iterator[list[_Result]]:
    """The layers of each weight, where nothing else reads it or the bias."""
    found: dict[tuple[str, ...], list[_Result]] = {}
    readers = ParameterReaders(observed.graph)
    for node in observed.graph.nodes:
        if (result := _result(observed, node)) is not None:
            found.setdefault(result.parameters, []).append(result)
    for parameters, group in found.items():
        layers = {each.layer for each in group}
        if all(set(readers.of(name)) == layers for name in parameters):
            yield group


def _result(observed: GraphModule, node: Node) -> _Result | None:
    if node.target is not _aten.linear.default:
        return None
    operands = [arguments_of(node).get(name) for name in ("weight", "bias")]
    known = [each for each in operands if isinstance(each, Node)]
    sources = [each.all_input_nodes[0] for each in known if each.op == "call_module"]
    if not sources or len(sources) < len(known) or any(each.op != "get_attr" for each in sources):
        return None
    if not isinstance(observed.get_submodule(str(known[0].target)), PerChannelRange):
        return None
    last = _last(observed, node)
    return None if last is None else _Result(node, tuple(str(each.target) for each in sources), last)


def _last(observed: GraphModule, value: Node) -> Node | None:
    """The observer of a layer's result that floating point reads; None if something reads integers."""
    users = list(value.users)
    if len(users) != 1 or users[0].op != "call_module":
        return None
    observer = users[0]
    if not isinstance(observed.get_submodule(str(observer.target)), Range):
        return None
    readers = list(observer.users)
    if len(readers) == 1 and readers[0].target in _IDENTITIES:
        return _last(observed, readers[0])
    return observer if readers and not any(is_integer(each) for each in readers) else None


def _scale(observed: GraphModule, group: Sequence[_Result], seen: SeenRows) -> bool:
    """Scale the results of layers with one weight, if their integers are much closer then. Whether they are."""
    known = [(rows, largest) for rows, largest in (seen.of(each.layer) for each in group) if len(rows)]
    if not known:
        return False
    largest = torch.stack([each for _, each in known]).amax(0)
    if not bool(largest.isfinite().all()) or not float(largest.max()) > 0:
        return False
    if not all(_gains(rows) for rows, _ in known):
        return False
    factors = _factors(largest)
    for name in group[0].parameters:
        value: Tensor = attribute(observed, name).detach()
        set_parameter(observed, name, value / factors.reshape(-1, *[1] * (value.ndim - 1)))
    for each in group:
        multiply(observed, each.last, factors, list(each.last.users))
    return True


def _factors(largest: Tensor) -> Tensor:
    """Powers of two by the largest magnitude of each channel, 1 for the largest. Each channel reaches between half of
    the range and all of it."""
    return torch.exp2((largest / largest.max()).clamp(min=SMALLEST).log2().ceil())


def _gains(rows: Tensor) -> bool:
    """Whether factors that either half of the vectors [n, channels] has make the integers of all of them closer.

    A channel that only the other half uses, as a class's result may be, widens the range of the tensor then.
    """
    plain = _error(rows, torch.ones(rows.shape[1]))
    halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    if not all(len(half) and float(half.abs().max()) > 0 for half in halves):
        return False
    return all(_error(rows, _factors(half.abs().amax(0))) < LEAST_GAIN * plain for half in halves)


def _error(rows: Tensor, factors: Tensor) -> float:
    """The squared error of vectors in 8 bits, scaled by channel."""
    scaled = rows / factors
    low, high = (float(each) for each in torch.aminmax(scaled))
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / 255
    zero_point = max(min(round(-128 - low / scale), 127), -128)
    rounded = torch.fake_quantize_per_tensor_affine(scaled, scale, zero_point, -128, 127)
    return float((rounded * factors - rows).square().sum())
