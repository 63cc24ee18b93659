"""Running a prepared model on calibration inputs."""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.nn import Module
from torchao.quantization.pt2e.observer import ObserverBase

from xir.importer.source import node_location
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import place
from xir.progress import counted

from .bias_correction import OperandMeans
from .observers import Range
from .parameters import Parameters
from .sensitivity import choose_ranges
from .state import writes


def calibrate(model: OperandMeans, samples: Iterable[tuple[Any, ...]], first: Sequence[tuple[Any, ...]]) -> None:
    """Run the observed graph of `model` on every sample, its values flat, and choose ranges by those that are `first`.

    DiagnosticError if there is no sample, and for values that have no range.
    """
    count = 0
    calling = _observing_once(model.observed, weights=False)
    once, later = model.watching(_observing_once(model.observed, weights=True)), model.watching(calling)
    with torch.no_grad():
        for sample in counted("Calibrating", samples):
            (later if count else once).run(*sample)
            count += 1
    if count == 0:
        raise DiagnosticError(
            place("calibration"), "there is no input in it: give an iterable of at least one, or leave it out"
        )
    check_ranges(model.observed)
    choose_ranges(calling, first)


def _observing_once(model: GraphModule, *, weights: bool) -> GraphModule:
    """The prepared model, its observers shared, without the calls of them that would see what they have seen.

    Those are of values that a node only moved from values that the same observer sees (no other node shares one), each
    once, and unless `weights`, of values that are the same for each input. Half of calibration would be spent in them.
    """
    parameters, changing = Parameters(model), _changing(model)
    graph = torch.fx.Graph()
    copies: dict[Node, Node] = {}
    for node in model.graph.nodes:
        observer = _observer(model, node)
        value = node.all_input_nodes[0] if observer is not None else node
        if observer is not None and (
            (not weights and parameters.is_static(value) and value not in changing)
            or (_observers(model, value) == {observer} and not _repeats(value))
        ):
            copies[node] = copies[value]
        else:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return GraphModule(model, graph)


def _changing(model: GraphModule) -> set[Node]:
    """What depends on buffers that the model writes to, which differ from one input to the next."""
    written: set[str] = set()
    for node in model.graph.nodes:
        base = node if writes(node) else None
        while base is not None and base.op == "call_function" and base.all_input_nodes:
            base = base.all_input_nodes[0]
        if base is not None and base.op == "get_attr":
            written.add(str(base.target))
    found: set[Node] = set()
    for node in model.graph.nodes:
        if (node.op == "get_attr" and str(node.target) in written) or not found.isdisjoint(node.all_input_nodes):
            found.add(node)
    return found


def _observer(model: GraphModule, node: Node) -> Module | None:
    """The observer that a node calls."""
    module = model.get_submodule(str(node.target)) if node.op == "call_module" else None
    return module if isinstance(module, ObserverBase) else None


def _observers(model: GraphModule, node: Node) -> set[Module | None]:
    """The observers of all numbers that a node may move; None among them for those that none sees."""
    if node.op != "call_function":
        return set()
    if isinstance(node.target, OpOverload) and any(each.name == "value" for each in node.target._schema.arguments):
        return {None}  # what a pad fills with
    return {_observer(model, operand) for operand in _operands(node)}


def _operands(node: Node) -> list[Node]:
    """What a node moves numbers of; one of several results is moved by the node that has them."""
    operands = node.all_input_nodes
    return operands[0].all_input_nodes if node.target is operator.getitem else operands


def _repeats(node: Node) -> bool:
    """Whether a node's result has more elements than its operands: an error in one of those counts as often."""
    operands = [operand.all_input_nodes[0] for operand in _operands(node) if operand.op == "call_module"]
    return statically_known_true(_size(node) > sum(map(_size, operands)))


def _size(node: Node) -> int:
    value = node.meta.get("val")
    return value.numel() if isinstance(value, torch.Tensor) else 0


def check_ranges(model: GraphModule) -> None:
    """DiagnosticError where a layer's values have no range."""
    for node in model.graph.nodes:
        observer = model.get_submodule(str(node.target)) if node.op == "call_module" else None
        if not isinstance(observer, Range) or observer.bad_value is None:
            continue
        source = node.all_input_nodes[0]
        raise DiagnosticError(
            node_location(source),
            f"its values reach {observer.bad_value} on the calibration inputs, which no scale can hold: "
            f"leave it in float, keep_float=('{source.name}',), or correct the model",
        )
