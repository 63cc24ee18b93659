"""Running a prepared model on calibration inputs."""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.nn import Module
from torchao.quantization.pt2e.observer import ObserverBase

from xir.importer.source import node_location
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import name_location
from xir.progress import counted

from .bias_correction import OperandMeans
from .observers import Range
from .parameters import Parameters


def calibrate(model: OperandMeans, samples: Iterable[tuple[Any, ...]]) -> None:
    """Run the observed graph of `model` on every sample, its values flat. DiagnosticError if there is none."""
    count = 0
    first, later = (model.watching(_observing_once(model.observed, weights=weights)) for weights in (True, False))
    with torch.no_grad():
        for sample in counted("Calibrating", samples):
            (later if count else first).run(*sample)
            count += 1
    if count == 0:
        raise DiagnosticError(
            name_location("calibration"), "there is no input in it: give an iterable of at least one, or leave it out"
        )
    check_ranges(model.observed)


def _observing_once(model: GraphModule, *, weights: bool) -> GraphModule:
    """The prepared model, its observers shared, without the calls of them that would see what they have seen.

    Those are of values that a node only moved from values that the same observer sees (no other node shares one), and
    unless `weights`, of values that are the same for each input. Half of calibration would be spent in them.
    """
    parameters = Parameters(model)
    graph = torch.fx.Graph()
    copies: dict[Node, Node] = {}
    for node in model.graph.nodes:
        observer = _observer(model, node)
        value = node.all_input_nodes[0] if observer is not None else node
        if observer is not None and (
            (not weights and parameters.is_static(value)) or _observers(model, value) == {observer}
        ):
            copies[node] = copies[value]
        else:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return GraphModule(model, graph)


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
    operands = node.all_input_nodes
    if node.target is operator.getitem:
        operands = operands[0].all_input_nodes
    return {_observer(model, operand) for operand in operands}


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
