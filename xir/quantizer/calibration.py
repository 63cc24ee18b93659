"""Calibration inputs: checking them, and running a prepared model on them."""

# pyright: reportPrivateUsage=false
# torch's name for an operator's schema begins with an underscore.

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.nn import Module
from torchao.quantization.pt2e.observer import ObserverBase
from xdsl.dialects.builtin import LocationAttr

from xir.importer.source import node_location
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import name_location
from xir.progress import counted

from .bias_correction import OperandMeans
from .observers import Range
from .parameters import Parameters

Inputs = tuple[Tensor, ...]


def calibrate(model: OperandMeans, samples: Iterable[Any], reference: Inputs, free: Sequence[frozenset[int]]) -> None:
    """Run the observed graph of `model` on every sample.

    `free` has, for each input, the dimensions whose size may differ from the `reference`'s. DiagnosticError for a
    sample that does not fit, and where there is none.
    """
    count = 0
    first, later = (model.watching(_observing_once(model.observed, weights=weights)) for weights in (True, False))
    with torch.no_grad():
        for sample in counted("Calibrating", checked(samples, reference, free)):
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


def checked(samples: object, reference: Inputs, free: Sequence[frozenset[int]]) -> Iterator[Inputs]:
    """The samples as tuples of tensors, each like `reference`. A model of one input takes bare tensors as well."""
    if isinstance(samples, Tensor) or not isinstance(samples, Iterable):
        what = "a tensor" if isinstance(samples, Tensor) else f"of type {type(samples).__name__}"
        raise DiagnosticError(
            name_location("calibration"), f"it is {what}: give an iterable of inputs, such as a list of batches"
        )
    for index, sample in enumerate(cast("Iterable[Any]", samples)):
        where = name_location(f"calibration input {index}")
        if not isinstance(sample, Tensor | tuple | list):
            raise DiagnosticError(
                where,
                f"it is of type {type(sample).__name__}: give a tuple of tensors, or the tensor of a single input",
            )
        values = (sample,) if isinstance(sample, Tensor) else tuple(sample)
        if len(values) != len(reference):
            raise DiagnosticError(where, f"it has {_count(len(values))}; the model takes {_count(len(reference))}")
        for position, (value, like) in enumerate(zip(values, reference, strict=True)):
            _check_tensor(where, position, value, like, free[position])
        yield values


def _count(number: int) -> str:
    return f"{number} tensor{'' if number == 1 else 's'}"


def _check_tensor(where: LocationAttr, position: int, value: Any, like: Tensor, free: frozenset[int]) -> None:
    if not isinstance(value, Tensor):
        raise DiagnosticError(where, f"tensor {position} is a {type(value).__name__}")
    if value.device != like.device:
        raise DiagnosticError(where, f"tensor {position} is on device {value.device}; the model is on {like.device}")
    if value.dtype != like.dtype:
        raise DiagnosticError(where, f"tensor {position} has dtype {value.dtype}; the model takes {like.dtype}")
    different = [dim for dim, (a, b) in enumerate(zip(value.shape, like.shape, strict=False)) if a != b]
    if value.dim() != like.dim() or not free.issuperset(different):
        raise DiagnosticError(
            where, f"tensor {position} has shape {list(value.shape)}; the model takes {_shape(like, free)}"
        )
    if value.is_floating_point() and not bool(torch.isfinite(value).all()):
        raise DiagnosticError(where, f"tensor {position} has infinite or NaN values, which no scale can hold")


def _shape(like: Tensor, free: frozenset[int]) -> str:
    return "[" + ", ".join("any" if dim in free else str(size) for dim, size in enumerate(like.shape)) + "]"


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
