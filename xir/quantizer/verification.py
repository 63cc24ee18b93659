"""Whether a quantised graph is the float one but for what its bits cannot hold: conversion by conversion.

Each conversion is judged by itself, on the exact operands that the float graph has there, so that the noise of layers
before it hides nothing. What is allowed follows from the conversion's own parameters: a number within the range of the
integers is at most half a step away; that range covers what was seen, or cuts off so little that the noise is less than
the rounding of a range that covers all; and it reaches no further than what was seen. Nothing here asks the observers
what they make of what they saw.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree
from torchao.quantization.pt2e.observer import HistogramObserver, MinMaxObserver

from xir.importer.source import node_location
from xir.ir.diagnostics import WrongStageError, note
from xir.progress import step

from .compensated_products import CompensatedProducts, Finding
from .layers import module_path, operator_name
from .measurement import without_observers
from .observers import OutputRange
from .operators import arguments_of
from .parameters import Parameters
from .side_by_side import SideBySide, run_alone
from .steps import Steps, is_dequantize, steps_of

ROUNDED = 0.51
"""How many steps a number within the range may be away, and the ends of a range from what was seen: half of one, and
what fp32 makes of the quotient."""

REWRITTEN = 1e-3
"""How far a rewritten float graph may be away, of the largest magnitude of a value: other orders of additions in fp32;
a margin."""

CUT = 2.0
"""How many times the rounding noise of a range that covers all (step² / 12) a value's noise may be. Observers estimate
what cutting outliers off costs from a histogram of 2,048 bins; a margin."""

SMALLEST_SCALE = 2.0**-11
"""A weight's scales that are smaller than this, of the largest, may be coarser than their channel wants: no channel's
are made so small that its bias overflows."""

LEAST_SHARE = 0.2
"""How much of the values' range integers have to reach if the outputs choose it, out of `sensitivity.FACTORS`: the
value's own noise says little then."""

FINE = 2.0
"""How many times the noise of the scale that covers them 4-bit weights of a group may have; a margin: scales are
numbers of 16 bits."""


class WrongQuantizationError(WrongStageError):
    """A quantised graph is further from the float one than its bits explain."""

    stage = "quantize"

    def __init__(self, layer: Node, message: str, notes: Sequence[str]):
        where = node_location(layer)
        super().__init__(where, message, [note(where, each) for each in notes])
        self.layer = layer.name
        """The name of the first such node in the exported graph: what `keep_float` takes."""


@dataclass
class _Seen:
    """What was seen of one value that is quantised by one set of parameters known before."""

    source: Node
    layer: Node
    """What is named: the source itself, or what reads an input or a constant first."""
    steps: Steps
    by_outputs: bool
    """Whether the range is chosen by what the outputs feel."""
    low: float = math.inf
    high: float = -math.inf
    signal: float = 0.0
    noise: float = 0.0
    cut: int = 0
    """Numbers beyond the range of the integers."""
    count: int = 0

    def add(self, exact: Tensor, actual: Tensor) -> None:
        if not exact.numel():
            return
        low, high = torch.aminmax(exact)
        self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
        self.signal += float(exact.double().square().sum())
        self.noise += float((exact.double() - actual.double()).square().sum())
        beyond = (exact < self.steps.low - ROUNDED * self.steps.step) | (
            exact > self.steps.high + ROUNDED * self.steps.step
        )
        self.cut += int(beyond.sum())
        self.count += exact.numel()


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

    def verify(self, graph: GraphModule, samples: Sequence[tuple[Any, ...]], compensated: Collection[str] = ()) -> None:
        """Compare the converted graph with the float program. WrongQuantizationError for the first wrong layer.

        `compensated` are the layers whose 4-bit weights were rounded for what they compute.
        """
        with step("Comparing with the float model"):
            verify_rewriting(self._program, self._before[0], samples)
            verify_equalization(*self._before, samples)
            names = {node.name: node for node in self._floats.graph.nodes}
            observers = [(names[name], observer) for name, observer in self._observers if name in names]
            verify_quantization(self._floats, graph, observers, samples, self._corrected, compensated)


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
            found = _furthest(exact, actual)
            if found > REWRITTEN:
                made = next(
                    (each for each in node.all_input_nodes if each.op != "get_attr" and each not in twins), node
                )
                raise WrongQuantizationError(
                    made,
                    f"preparing the float model for quantisation changes what it computes: {_layer(made)} is off by "
                    f"{found:.1e} of the largest magnitude",
                    [f"seen in '{node.name}', on operands that are those of the exported program"],
                )


def verify_equalization(plain: GraphModule, scaled: GraphModule, samples: Sequence[tuple[Any, ...]]) -> None:
    """Compare the outputs of a graph with those of the same one whose channels were scaled.

    WrongQuantizationError if they differ by more than orders of additions in fp32 explain.
    """
    for sample in samples[:1]:
        pairs = zip(run_alone(plain, sample), run_alone(scaled, sample), strict=True)
        for index, (want, got) in enumerate(pairs):
            off = _furthest(want, got) if isinstance(want, Tensor) and want.is_floating_point() else 0.0
            if off > REWRITTEN:
                end = next(node for node in plain.graph.nodes if node.op == "output")
                what = f"scaling channels changes output {index} by {off:.1e} of its largest magnitude"
                raise WrongQuantizationError(end, what, [])


def verify_quantization(
    floats: GraphModule,
    quantised: GraphModule,
    observed: Collection[tuple[Node, Any]],
    samples: Sequence[tuple[Any, ...]],
    corrected: Collection[str] = (),
    compensated: Collection[str] = (),
) -> None:
    """Compare a quantised graph with the float one, whose nodes have the same names, on the calibration inputs.

    `observed` are the observers of activations with the nodes of `floats` whose values they were to see, and
    `corrected` the layers whose biases take back the mean error of their weights, and `compensated` those whose 4-bit
    weights make up for each other's errors. WrongQuantizationError for the first layer that is wrong, with what is
    wrong in it.
    """
    by_outputs = {node for node, observer in observed if isinstance(observer, OutputRange)}
    check = _Check(floats, quantised, corrected, compensated, by_outputs)
    for sample in samples:
        check.add(sample)
    found = [*check.findings.values(), *check.of_ranges(), *check.of_biases(), *check.of_observers(observed)]
    found += check.products.findings()
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
    raise WrongQuantizationError(first.node, f"the quantisation of {_layer(first.node)} is wrong: {first.what}", notes)


def verify_program(graph: GraphModule, program: ExportedProgram, sample: tuple[Any, ...]) -> None:
    """Compare a quantised graph with the program that it was exported as. WrongQuantizationError if outputs differ."""
    exported = program.module()
    assert isinstance(exported, GraphModule)
    pairs = zip(run_alone(graph, sample), run_alone(exported, sample), strict=True)
    for index, (want, got) in enumerate(pairs):
        if isinstance(want, Tensor) and (off := _furthest(want, got)) > REWRITTEN:
            end = next(node for node in graph.graph.nodes if node.op == "output")
            raise WrongQuantizationError(
                end, f"exporting the quantised graph changes output {index} by {off:.1e} of its largest magnitude", []
            )


class _Check:
    """What is found along the runs of the samples."""

    def __init__(
        self,
        floats: GraphModule,
        quantised: GraphModule,
        corrected: Collection[str],
        compensated: Collection[str],
        by_outputs: Collection[Node],
    ):
        self._graphs = floats, quantised
        self._by_outputs = by_outputs
        names = {node.name: node for node in floats.graph.nodes}
        twins = {node: names[node.name] for node in quantised.graph.nodes if node.name in names}
        self._twins = twins
        self._run = SideBySide(floats, quantised, twins)
        self._parameters = Parameters(floats)
        self._corrected = frozenset(corrected)
        self._compensated = frozenset(compensated)
        self.products = CompensatedProducts()
        """What such layers compute."""
        self._seen: dict[tuple[str, tuple[float, float, float]], _Seen] = {}
        self._products: dict[Node, tuple[Node, float]] = {}
        self._ranges: dict[Node, tuple[float, float]] = {}
        """Of each float value that observers may see."""
        self._drift: dict[Node, list[Tensor]] = {}
        """Of each layer with weights and a bias: the mean error that its rounded weights make, by sample."""
        self._biases: dict[Node, tuple[Tensor, Tensor, Steps | None, list[Steps | None]]] = {}
        """Of each such layer: the float bias, what its integers stand for, and the steps of it, operand and weight."""
        self._weights_seen: set[tuple[str, int]] = set()
        self.findings: dict[Node, Finding] = {}
        """Numbers that are further away than half a step, by the float node."""

    def add(self, sample: tuple[Any, ...]) -> None:
        """Run both graphs on one sample."""
        for node, exact in self._run.run(sample):
            twin = self._twins.get(node)
            if twin is not None:
                self._look_at_operands(node, twin)
                if isinstance(exact, Tensor) and exact.is_floating_point() and exact.numel():
                    self._note_range(twin, exact)
            else:
                self._run.keep(node, self._run.compute(node))

    def _note_range(self, node: Node, value: Tensor) -> None:
        low, high = (float(each) for each in torch.aminmax(value))
        before = self._ranges.get(node, (math.inf, -math.inf))
        self._ranges[node] = min(low, before[0]), max(high, before[1])

    def _look_at_operands(self, node: Node, twin: Node) -> None:
        """Compare each operand that is converted with the exact one."""
        roles = _roles(twin)
        pairs = zip(_operands(node), _operands(twin), strict=False)
        for place, (actual, exact) in enumerate(pairs):
            want, got = self._run.exact(exact), self._run.value(actual)
            if exact.op == "placeholder" and isinstance(want, Tensor) and want.is_floating_point() and want.numel():
                self._note_range(exact, want)
            if self._twins.get(actual) is exact or not isinstance(want, Tensor) or not want.is_floating_point():
                continue
            static = self._parameters.is_static(exact)
            if twin.name in self._compensated and exact is roles.get("weight"):
                self.products.add(twin, self._run.exact(roles["value"]), want, got, actual, self._run.value)
                continue
            if static and (twin.name, place) in self._weights_seen:
                continue
            self._weights_seen.add((twin.name, place))
            steps = steps_of(actual, self._run.value) if is_dequantize(actual) else None
            named = exact if exact.op == "call_function" else twin
            if got.shape != want.shape:
                self._found(named, f"{_role(exact, twin)} has the shape {list(got.shape)}, not {list(want.shape)}")
            elif steps is None:
                if _furthest(want, got) > REWRITTEN:
                    self._found(named, f"{_role(exact, twin)} is another value")
            elif exact is roles.get("bias"):
                continue  # looked at when all samples have been seen: it takes back what weights are off
            else:
                self._look_at_rounding(named, exact, twin, want, got, steps)
                if exact is roles.get("weight") and static:
                    self._look_at_weights(twin, exact, want, got, steps)
                elif steps.is_known and isinstance(steps.step, float):
                    key = exact.name, (steps.step, float(steps.low), float(steps.high))
                    self._seen.setdefault(key, _Seen(exact, named, steps, exact in self._by_outputs)).add(want, got)
                elif not steps.is_known:
                    self._look_at_rows(named, exact, twin, want, steps)
        self._look_at_product(node, twin, roles)

    def _found(self, node: Node, what: str, *notes: str) -> None:
        self.findings.setdefault(node, Finding(node, what, list(notes)))

    def _look_at_rounding(self, named: Node, exact: Node, user: Node, want: Tensor, got: Tensor, steps: Steps) -> None:
        """A number within the range is half a step away at most; one beyond it becomes its end."""
        held = torch.minimum(torch.maximum(want, torch.as_tensor(steps.low)), torch.as_tensor(steps.high))
        off = ((got - held).abs() / steps.step).nan_to_num(nan=math.inf)
        worst = float(off.max()) if off.numel() else 0.0
        if worst > ROUNDED:
            place = torch.unravel_index(off.argmax(), off.shape)
            self._found(
                named,
                f"{_role(exact, user)} is up to {worst:.3g} steps away, where rounding makes half of one",
                f"{float(want[place]):.6g} becomes {float(got[place]):.6g} with {steps.told}",
            )

    def _look_at_rows(self, named: Node, exact: Node, user: Node, want: Tensor, steps: Steps) -> None:
        """What is quantised at run time has the range of its vector, or of its tensor."""
        step = torch.as_tensor(steps.step)
        by_row = step.dim() == want.dim() and step.numel() > 1
        low, high = (want.amin(-1, keepdim=True), want.amax(-1, keepdim=True)) if by_row else (want.min(), want.max())
        span = high.clamp(min=0) - low.clamp(max=0)
        needed = (span / steps.count).expand_as(step) if by_row else span / steps.count
        ratio = torch.where(needed > 2.0**-30, step / needed.clamp(min=2.0**-30), torch.ones_like(step))
        for worst, wrong in ((float(ratio.max()), "coarser"), (1 / max(float(ratio.min()), 1e-30), "finer")):
            if worst > 1 + 1e-2:
                what = f"{_role(exact, user)} has a scale {worst:.3g} times {wrong} than its values want at run time"
                self._found(named, what)

    def _look_at_weights(self, layer: Node, exact: Node, want: Tensor, got: Tensor, steps: Steps) -> None:
        """A weight's scales are those of its largest numbers, one for each output channel."""
        axis = _channels(layer) if exact is _roles(layer).get("weight") else None
        if steps.axis is not None and axis is not None and steps.axis != axis:
            self._found(
                layer,
                f"its weight has a scale for each index of dimension {steps.axis}, where dimension {axis} counts its "
                "output channels",
            )
            return
        step = torch.as_tensor(steps.step)
        magnitudes, noise = steps.by_scale(want.abs()), steps.by_scale((want - got).square())
        largest = magnitudes.amax(-1)
        scales = steps.by_scale(step.expand_as(want))[..., 0]
        covering = largest / (steps.count / 2)
        if steps.count < 100:  # 4 bits: the least squared error, which may cut off
            plain = (want / steps.expand(covering, want)).nan_to_num()
            rounded = plain.round().clamp(-(steps.count + 1) / 2, (steps.count - 1) / 2) * steps.expand(covering, want)
            allowed = FINE * steps.by_scale((want - rounded).square()).sum(-1)
            wrong = (noise.sum(-1) > allowed + scales.square() * 1e-3) & (largest > 0)
            what = "has {:.3g} times the noise of the scale that covers it"
            ratio = noise.sum(-1) / allowed.clamp(min=1e-30) * FINE
        else:
            ratio = scales / covering.clamp(min=1e-30)
            wrong = (largest > 0) & (scales > SMALLEST_SCALE * scales.max())
            wrong &= (ratio > 1 + 1e-2) | (ratio < 1 - 1e-2)
            what = "has {:.3g} times the scale that its largest number wants"
        if bool(wrong.any()):
            place = int(torch.where(wrong, ratio, 0).argmax())
            of = f"channel {place} of " if ratio.numel() > 1 else ""
            self._found(layer, f"{of}its weight {what.format(float(ratio.flatten()[place]))}")

    def _look_at_product(self, node: Node, twin: Node, roles: Mapping[str, Node]) -> None:
        """Note what the rounded weights of a layer with a bias add to the mean of its channels."""
        if (factor := _factor(twin)) is not None:
            self._products[twin] = twin.all_input_nodes[0], factor
        if "bias" not in roles:
            return
        operands = dict(zip(_operands(twin), _operands(node), strict=False))
        converted = operands.get(roles["bias"])
        if converted is None or not is_dequantize(converted):
            return
        weight = self._run.exact(roles["weight"])
        bias = self._run.exact(roles["bias"])
        error = weight - self._run.value(operands[roles["weight"]])
        values = {roles["value"]: self._run.exact(roles["value"]), roles["weight"]: error}
        values[roles["bias"]] = torch.zeros_like(bias)
        args, kwargs = torch.fx.map_arg((twin.args, dict(twin.kwargs)), lambda each: values[each])
        assert callable(twin.target)
        result: Tensor = twin.target(*args, **kwargs)
        channel = -1 if "conv" not in str(twin.target) else 1 - weight.dim()
        rows = result.movedim(channel, -1).reshape(-1, result.shape[channel])
        self._drift.setdefault(twin, []).append(torch.cat([rows.double().sum(0), torch.tensor([float(len(rows))])]))
        if twin in self._biases:
            return
        scales = [steps_of(operands[roles[name]], self._run.value) for name in ("value", "weight")]
        self._biases[twin] = bias.detach(), self._run.value(converted), steps_of(converted, self._run.value), scales

    def of_ranges(self) -> Iterator[Finding]:
        """Ranges of activations that reach too far, or not far enough."""
        groups: dict[tuple[float, float, float], list[_Seen]] = {}
        for (_, parameters), seen in self._seen.items():
            groups.setdefault(parameters, []).append(seen)
        ranges = {
            parameters: (min(each.low for each in seen), max(each.high for each in seen))
            for parameters, seen in groups.items()
        }
        scaled = self._scaled_ranges(ranges)
        for parameters, group in groups.items():
            low, high = ranges[parameters]
            for more in (each for seen in group for each in scaled.get(seen.source, ())):
                low, high = min(low, more[0]), max(high, more[1])
            what = _of_range(group, min(low, 0.0), max(high, 0.0))
            if what is not None:
                worst = max(group, key=lambda each: each.noise / max(each.signal, 1e-30))
                yield Finding(worst.layer, f"{_role(worst.source, worst.layer)} has a range that {what[0]}", what[1])

    def _scaled_ranges(self, ranges: Mapping[Any, tuple[float, float]]) -> dict[Node, list[tuple[float, float]]]:
        """The ranges that results of multiplications by a constant have from the operand's."""
        found: dict[Node, list[tuple[float, float]]] = {}
        for result, (operand, factor) in self._products.items():
            for (name, parameters), _ in self._seen.items():
                if name == operand.name:
                    low, high = (each * factor for each in ranges[parameters])
                    found.setdefault(result, []).append((min(low, high), max(low, high)))
        return found

    def of_biases(self) -> Iterator[Finding]:
        """Biases of another scale than that of products, or of another value than corrects the mean."""
        readers: dict[Any, int] = {}
        for layer in self._drift:
            bias = _roles(layer)["bias"]
            readers[bias.target] = readers.get(bias.target, 0) + 1
        for layer, sums in self._drift.items():
            bias, actual, steps, (value, weight) = self._biases[layer]
            if steps is None or value is None or weight is None or bias.shape != actual.shape:
                continue
            step = torch.as_tensor(steps.step)
            wanted = (torch.as_tensor(value.step) * torch.as_tensor(weight.step)).flatten()
            ratio = step.flatten() / wanted
            if float((ratio - 1).abs().max()) > 1e-4:
                worst = float(ratio[(ratio - 1).abs().argmax()])
                what = f"its bias has {worst:.4g} times the scale of the products that it is added to"
                yield Finding(layer, what)
                continue
            total = torch.stack(sums).sum(0)
            drift = total[:-1] / total[-1]
            corrected = ((actual - bias).double() - drift).abs() / step
            kept = (actual - bias).double().abs() / step
            slack = ROUNDED + 1e-4 * float(bias.abs().max() + drift.abs().max()) / step
            is_kept = bool((kept <= slack).all())
            is_corrected = bool((corrected <= slack).all())
            is_own = readers[_roles(layer)["bias"].target] == 1 and layer.name in self._corrected
            if is_corrected or (is_kept and not is_own):
                continue
            place = int((corrected - slack).argmax())
            what = f"its bias is {float(corrected[place]):.3g} steps from the one that takes back what rounding its "
            what += "weights adds to the mean of the calibration inputs"
            values = f"in channel {place} it is {float(actual[place]):.6g}: the float one is {float(bias[place]):.6g}, "
            yield Finding(layer, what, [f"{values}and rounding takes {float(drift[place]):.3g}"])

    def of_observers(self, observed: Collection[tuple[Node, Any]]) -> Iterator[Finding]:
        """Observers that have not seen what the calibration inputs make of a value."""
        groups: dict[int, tuple[Any, list[Node]]] = {}
        for node, observer in observed:
            groups.setdefault(id(observer), (observer, []))[1].append(node)
        for observer, nodes in groups.values():
            known = [self._ranges[node] for node in nodes if node in self._ranges]
            if len(known) < len(nodes):
                continue
            low, high = min(each[0] for each in known), max(each[1] for each in known)
            had = float(observer.min_val), float(observer.max_val)
            allowed = REWRITTEN * max(high - low, abs(high), abs(low))
            if max(abs(had[0] - low), abs(had[1] - high)) > allowed:
                layer = nodes[0] if nodes[0].op == "call_function" else next(iter(nodes[0].users))
                what = f"the observer of {_role(nodes[0], layer)} has seen [{had[0]:.6g}, {had[1]:.6g}] of "
                yield Finding(layer, f"{what}[{low:.6g}, {high:.6g}], which the calibration inputs make of it")


def _of_range(group: Sequence[_Seen], low: float, high: float) -> tuple[str, list[str]] | None:
    """What is wrong with the range of integers that values share, which are from `low` to `high`."""
    steps = group[0].steps
    step = float(torch.as_tensor(steps.step))
    largest = max(-low, high)
    if largest == 0:
        return None
    if steps.low == -(steps.count + 1) / 2 * step:  # symmetric
        low, high = -largest, largest
    covering = (high - low) / steps.count
    count, cut = sum(each.count for each in group), sum(each.cut for each in group)
    noise, signal = sum(each.noise for each in group), sum(each.signal for each in group)
    ratio = 10 * math.log10(signal / noise) if noise and signal else math.inf
    best = 10 * math.log10(max(12 * signal / (count * covering**2), 1e-30))
    span = f"[{float(steps.low):.6g}, {float(steps.high):.6g}]"
    notes = [
        f"{steps.told}: {span}, where values are in [{low:.6g}, {high:.6g}]; {100 * cut / count:.3g} % are cut off",
        f"{ratio:.1f} dB, where {math.log2(steps.count + 1):.0f} bits over the range of the values give {best:.1f} dB",
    ]
    wasted = max(low - float(steps.low), float(steps.high) - high) / step
    if wasted > ROUNDED + 1e-3 * largest / step:
        return f"reaches {wasted:.3g} steps beyond its values", notes
    if any(each.by_outputs for each in group):
        reached = min(high, float(steps.high)) - max(low, float(steps.low))
        return ("cuts off too much", notes) if reached < LEAST_SHARE * (high - low) else None
    if noise > CUT * count * covering**2 / 12 and cut:
        return "cuts off too much", notes
    return None


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


def _roles(layer: Node) -> dict[str, Node]:
    """Value, weight and bias of a layer with weights; nothing for another node."""
    if not str(layer.target).startswith(_WITH_WEIGHTS):
        return {}
    names = ("mat1", "mat2", "self") if "addmm" in str(layer.target) else ("input", "weight", "bias")
    arguments = arguments_of(layer)
    found = {role: arguments.get(name) for role, name in zip(("value", "weight", "bias"), names, strict=True)}
    return {role: each for role, each in found.items() if isinstance(each, Node)}


_WITH_WEIGHTS = ("aten.conv", "aten.linear", "aten.addmm")


def _channels(layer: Node) -> int | None:
    """The dimension of a layer's weight that counts output channels, if one does alone, as PyTorch documents them."""
    name, arguments = str(layer.target), arguments_of(layer)
    if "addmm" in name:
        return 1
    if "transpose" in name or arguments.get("transposed"):
        return 1 if arguments.get("groups", 1) == 1 else None
    return 0


def _operands(node: Node) -> list[Node]:
    """The nodes that one reads, as often as it does, in the order of its arguments."""
    return [each for each in pytree.tree_leaves((node.args, dict(node.kwargs))) if isinstance(each, Node)]


def _factor(node: Node) -> float | None:
    """The positive number that a node multiplies by."""
    name = str(node.target)
    if not name.startswith(("aten.mul", "aten.div")) or len(node.args) < 2 or not isinstance(node.args[1], int | float):
        return None
    factor = float(node.args[1])
    if factor == 0:
        return None
    return 1 / factor if "div" in name else factor


def _role(operand: Node, user: Node) -> str:
    return "its value" if operand.op == "call_function" else f"operand '{operand.target}' of {user.name}"


def _layer(node: Node) -> str:
    """A layer's name, and which it is in the model."""
    path = module_path(node)
    operator = operator_name(node) if node.op == "call_function" else node.op
    return f"'{node.name}' ({path or operator})"


def _furthest(want: Any, got: Any) -> float:
    """The largest difference, of the largest magnitude."""
    if not isinstance(want, Tensor) or not isinstance(got, Tensor):
        return 0.0
    if want.shape != got.shape:
        return math.inf
    if not want.numel():
        return 0.0
    equal = (want == got) | (want.isnan() & got.isnan())
    off = torch.where(equal, 0.0, (want.double() - got.double()).abs()).nan_to_num(nan=math.inf)
    finite = want.double()[want.isfinite()] if want.is_floating_point() else want.double()
    size = float(finite.abs().max()) if finite.numel() else 0.0
    return float(off.max()) / max(size, 1e-30)
