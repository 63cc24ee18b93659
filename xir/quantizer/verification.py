"""Whether a quantised graph is the float one but for what its bits cannot hold: conversion by conversion.

Each conversion is judged by itself, on the exact operands that the float graph has there, so that the noise of layers
before it hides nothing. What is allowed follows from the conversion's own parameters: a number within the range of the
integers is at most half a step away; that range covers what was seen, or cuts off so little that the noise is less than
the rounding of a range that covers all; and it reaches no further than what was seen. Nothing here asks the observers
what they make of what they saw.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.observer import HistogramObserver, MinMaxObserver

from xir.importer.source import node_location
from xir.ir.diagnostics import WrongStageError, note
from xir.progress import step

from .activation_ranges import ActivationRanges
from .conversion_checks import check_rounding, check_rows, check_weights
from .corrected_biases import CorrectedBiases
from .findings import REWRITTEN, Finding, furthest, layer_name, role_name
from .layer_operands import operands_of, roles_of
from .measurement import without_observers
from .observed_ranges import ObservedRanges
from .observers import OutputRange
from .parameters import Parameters
from .refined_layers import worse_layers
from .room_for_biases import least_scales
from .side_by_side import SideBySide, run_alone, values_of
from .steps import is_dequantize, steps_of


class WrongQuantizationError(WrongStageError):
    """A quantised graph is further from the float one than its bits explain."""

    stage = "quantize"

    def __init__(self, layer: Node, message: str, notes: Sequence[str]):
        where = node_location(layer)
        super().__init__(where, message, [note(where, each) for each in notes])
        self.layer = layer.name
        """The name of the first such node in the exported graph: what `keep_float` takes."""


class Verifier:
    """What has to be known of a prepared model before it is converted."""

    def __init__(
        self,
        program: ExportedProgram,
        observed: GraphModule,
        corrected: Collection[str],
        before: tuple[GraphModule, GraphModule],
    ):
        """`before` are the float graph before and after channels were scaled."""
        self._program = program
        self._before = before
        self._floats = without_observers(observed)
        self._corrected = tuple(corrected)
        self._observers: list[tuple[str, Any]] = []
        """Those of activations, with the names of the values that they were to see."""
        for node in observed.graph.nodes:
            observer = observed.get_submodule(str(node.target)) if node.op == "call_module" else None
            if isinstance(observer, HistogramObserver | MinMaxObserver) and node.args[0].op != "get_attr":
                self._observers.append((node.args[0].name, observer))

    def verify(self, graph: GraphModule, samples: Sequence[tuple[Any, ...]]) -> None:
        """Compare the converted graph with the float program. WrongQuantizationError for the first wrong layer.

        Its weights are rounded to the nearest.
        """
        with step("Comparing with the float model"):
            verify_rewriting(self._program, self._before[0], samples)
            verify_equalization(*self._before, samples)
            names = {node.name: node for node in self._floats.graph.nodes}
            observers = [(names[name], observer) for name, observer in self._observers if name in names]
            verify_quantization(self._floats, graph, observers, samples, self._corrected)

    def verify_refined(self, nearest: GraphModule, graph: GraphModule, samples: Sequence[tuple[Any, ...]]) -> None:
        """Compare a graph whose weights and biases were chosen for what layers compute with the one that was verified.

        WrongQuantizationError for the first layer that it serves worse.
        """
        with step("Comparing with the nearest integers"):
            _raise_first(self._floats, worse_layers(self._floats, nearest, graph, samples))


def verify_rewriting(program: ExportedProgram, floats: GraphModule, samples: Sequence[tuple[Any, ...]]) -> None:
    """Compare the graph that is quantised, before it is, with the program that it was made of.

    WrongQuantizationError for the first node that computes something else on the same operands.
    """
    original = program.module()
    assert isinstance(original, GraphModule)
    twins = _twins_of_folded(original, floats)
    step_by_step = SideBySide(original, floats, twins)
    for sample in samples[:1]:
        for node, exact in step_by_step.run(sample):
            actual = step_by_step.compute(node)
            if exact is None:
                step_by_step.keep(node, actual)
                continue
            found = furthest(exact, actual)
            if found > REWRITTEN:
                made = next(
                    (each for each in node.all_input_nodes if each.op != "get_attr" and each not in twins), node
                )
                raise WrongQuantizationError(
                    made,
                    "preparing the float model for quantisation changes what it computes: "
                    f"{layer_name(made)} is off by {found:.1e} of the largest magnitude",
                    [f"seen in '{node.name}', on operands that are those of the exported program"],
                )


def verify_equalization(plain: GraphModule, scaled: GraphModule, samples: Sequence[tuple[Any, ...]]) -> None:
    """Compare the outputs of a graph with those of the same one whose channels were scaled.

    WrongQuantizationError if they differ by more than orders of additions in fp32 explain.
    """
    for sample in samples[:1]:
        pairs = zip(run_alone(plain, sample), run_alone(scaled, sample), strict=True)
        for index, (want, got) in enumerate(pairs):
            off = furthest(want, got) if isinstance(want, Tensor) and want.is_floating_point() else 0.0
            if off > REWRITTEN:
                end = next(node for node in plain.graph.nodes if node.op == "output")
                first = _first_unscaled(plain, scaled, sample) or end
                what = f"scaling channels changes output {index} by {off:.1e} of its largest magnitude"
                raise WrongQuantizationError(first, what, [f"seen first in {layer_name(first)}"])


def _first_unscaled(plain: GraphModule, scaled: GraphModule, sample: tuple[Any, ...]) -> Node | None:
    """The first node whose value in the scaled graph is not the other graph's with a factor for each channel."""
    values = {node.name: value for node, value in values_of(scaled, sample)}
    for node, exact in values_of(plain, sample):
        if node.op == "call_function" and isinstance(exact, Tensor) and exact.is_floating_point() and exact.numel():
            actual = values.get(node.name, exact)
            if all(_beyond_factors(exact, actual, axis) > REWRITTEN for axis in (1, -1)):
                return node
    return None


def _beyond_factors(want: Tensor, got: Tensor, axis: int) -> float:
    """How far a value is from another one with the best factors along an axis, of each channel's largest magnitude."""
    if want.shape != got.shape:
        return math.inf
    channels = want.shape[axis] if want.dim() > 1 else 1
    rows = [each.movedim(axis, 0) if want.dim() > 1 else each for each in (want, got)]
    wanted, found = (each.double().reshape(channels, -1) for each in rows)
    power = wanted.square().sum(1, keepdim=True)
    factors = (wanted * found).sum(1, keepdim=True) / power.clamp(min=torch.finfo(torch.float64).tiny)
    largest = found.abs().amax(1).clamp(min=1e-30)
    return float(((wanted * factors - found).abs().amax(1) / largest).max())


def verify_quantization(
    floats: GraphModule,
    quantized: GraphModule,
    observed: Collection[tuple[Node, Any]],
    samples: Sequence[tuple[Any, ...]],
    corrected: Collection[str] = (),
) -> None:
    """Compare a quantised graph with the float one, whose nodes have the same names, on the calibration inputs.

    `observed` are the observers of activations with the nodes of `floats` whose values they were to see, and
    `corrected` the layers whose biases take back the mean error of their weights. WrongQuantizationError for the first
    layer that is wrong, with what is wrong in it.
    """
    by_outputs = {node for node, observer in observed if isinstance(observer, OutputRange)}
    check = _Check(floats, quantized, corrected, by_outputs)
    for sample in samples:
        check.add(sample)
    _raise_first(floats, check.findings(observed))


def _raise_first(floats: GraphModule, found: list[Finding]) -> None:
    """WrongQuantizationError for the first of the layers that something is wrong with, if there is one."""
    if not found:
        return
    places = {node: index for index, node in enumerate(floats.graph.nodes)}
    found.sort(key=lambda each: places[each.node])
    first = found[0]
    others = list(dict.fromkeys(each.node.name for each in found if each.node is not first.node))
    more = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
    notes = [*first.notes, *(f"also: {each.what}" for each in found[1:] if each.node is first.node)]
    if others:
        notes.append(f"behind it also: {more}")
    raise WrongQuantizationError(
        first.node, f"the quantisation of {layer_name(first.node)} is wrong: {first.what}", notes
    )


def verify_program(graph: GraphModule, program: ExportedProgram, sample: tuple[Any, ...]) -> None:
    """Compare a quantised graph with the program that it was exported as. WrongQuantizationError if outputs differ."""
    exported = program.module()
    assert isinstance(exported, GraphModule)
    pairs = zip(run_alone(graph, sample), run_alone(exported, sample), strict=True)
    for index, (want, got) in enumerate(pairs):
        if isinstance(want, Tensor) and (off := furthest(want, got)) > REWRITTEN:
            end = next(node for node in graph.graph.nodes if node.op == "output")
            raise WrongQuantizationError(
                end, f"exporting the quantised graph changes output {index} by {off:.1e} of its largest magnitude", []
            )


class _Check:
    """Runs a float graph and the quantised one side by side, and hands what each conversion makes to the checks."""

    def __init__(
        self,
        floats: GraphModule,
        quantized: GraphModule,
        corrected: Collection[str],
        by_outputs: Collection[Node],
    ):
        names = {node.name: node for node in floats.graph.nodes}
        self._twins = {node: names[node.name] for node in quantized.graph.nodes if node.name in names}
        self._run = SideBySide(floats, quantized, self._twins)
        self._parameters = Parameters(floats)
        self._static_seen: set[tuple[str, int]] = set()
        """The operands that are the same on each sample and have been looked at, by layer and place."""
        self._conversions: dict[Node, Finding] = {}
        """The first thing that is wrong of each float node's conversions."""
        self._ranges = ActivationRanges(by_outputs)
        self._biases = CorrectedBiases(corrected)
        self._observed = ObservedRanges()

    def findings(self, observed: Collection[tuple[Node, Any]]) -> list[Finding]:
        """All that is wrong; `observed` as in `verify_quantization`."""
        return [
            *self._conversions.values(),
            *self._ranges.findings(),
            *self._biases.findings(),
            *self._observed.findings(observed),
        ]

    def add(self, sample: tuple[Any, ...]) -> None:
        """Run both graphs on one sample."""
        for node, exact in self._run.run(sample):
            twin = self._twins.get(node)
            if twin is not None:
                self._look_at_operands(node, twin)
                self._observed.add(twin, exact)
            else:
                self._run.keep(node, self._run.compute(node))

    def _look_at_operands(self, node: Node, twin: Node) -> None:
        """Compare each operand that is converted with the exact one."""
        roles = roles_of(twin)
        pairs = zip(operands_of(node), operands_of(twin), strict=False)
        for place, (actual, exact) in enumerate(pairs):
            want, got = self._run.exact(exact), self._run.value(actual)
            if exact.op == "placeholder":
                self._observed.add(exact, want)
            if self._twins.get(actual) is exact or not isinstance(want, Tensor) or not want.is_floating_point():
                continue
            is_weight, static = exact is roles.get("weight"), self._parameters.is_static(exact)
            if static and (twin.name, place) in self._static_seen:
                continue
            self._static_seen.add((twin.name, place))
            steps = steps_of(actual, self._run.value) if is_dequantize(actual) else None
            named = exact if exact.op == "call_function" else twin
            if got.shape != want.shape:
                what = f"{role_name(exact, twin)} has the shape {list(got.shape)}, not {list(want.shape)}"
                self._note([Finding(named, what)])
            elif steps is None:
                if furthest(want, got) > REWRITTEN:
                    self._note([Finding(named, f"{role_name(exact, twin)} is another value")])
            elif exact is not roles.get("bias"):  # which takes back what weights are off on all samples
                self._note(check_rounding(named, exact, twin, want, got, steps))
                if is_weight and static:
                    self._note(check_weights(twin, want, got, steps, self._needed_by_bias(node, twin)))
                elif steps.is_known and isinstance(steps.step, float):
                    self._ranges.add(exact, named, steps, want, got)
                elif not steps.is_known:
                    self._note(check_rows(named, exact, twin, want, steps))
        self._ranges.add_product(twin)
        self._biases.add(twin, node, self._run)

    def _needed_by_bias(self, node: Node, twin: Node) -> Tensor:
        """The least scales of the weight's channels, as the layer's bias needs them."""
        roles = roles_of(twin)
        converted = dict(zip(operands_of(twin), operands_of(node), strict=False)).get(roles["value"])
        steps = steps_of(converted, self._run.value) if converted is not None and is_dequantize(converted) else None
        if "bias" not in roles or steps is None or not isinstance(steps.step, float):
            return torch.zeros(1)
        return least_scales(self._run.exact(roles["bias"]), steps.step)

    def _note(self, findings: Iterable[Finding]) -> None:
        for found in findings:
            self._conversions.setdefault(found.node, found)


def _twins_of_folded(original: GraphModule, floats: GraphModule) -> dict[Node, Node]:
    """Which node of the program each one of a graph stands for: a layer that a batch norm was folded into for both."""
    names = {node.name: node for node in original.graph.nodes}
    left = {node.name for node in floats.graph.nodes}
    twins: dict[Node, Node] = {}
    for node in floats.graph.nodes:
        twin = names.get(node.name)
        if twin is None or node.op == "get_attr":
            continue
        users = list(twin.users)
        if len(users) == 1 and "batch_norm" in str(users[0].target) and users[0].name not in left:
            twin = users[0]
        twins[node] = twin
    return twins
