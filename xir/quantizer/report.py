"""The quantisation report: how far each layer of a quantised program is from the float one, the worst first."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .outputs import Output

JSON_VERSION = 3
"""Of the machine-readable form: raised when a key changes its meaning or goes away, not when one is added."""


@dataclass(frozen=True)
class Layer:
    """One quantised layer. Ratios of signal to noise are in dB; infinite where both programs agree."""

    name: str
    """The node's name in the exported graph, which `keep_float` accepts."""
    module: str
    """The path of the module that it comes from; empty for the model itself."""
    operator: str
    file: str
    """The file of the source line; empty if unknown."""
    line: int
    own: float
    """SQNR of the layer alone, on exact operands: the noise that it adds."""
    sqnr: float
    """SQNR of its result in the program, with the noise of all layers before it."""
    outputs: float
    """SQNR of the worst of the model's outputs, with the noise of this layer alone."""
    low: float
    """The least value of the float result."""
    high: float
    chosen: tuple[float, float] | None = None
    """The range of its integers; None if the result stays in float."""
    reach: float = 0.0
    histogram: tuple[float, ...] = ()
    """The share of the float result in bins of equal width from `-reach` to `reach`."""
    in_float: float | None = None
    """The predicted additional microseconds of the program with this layer in float; None if unknown."""


@dataclass(frozen=True)
class Point:
    """A program with some layers in float."""

    kept: tuple[str, ...]
    output: float
    """SQNR of the worst output, in dB."""
    metric: Mapping[str, float] = field(default_factory=dict[str, float])
    """The numbers of the user's metric."""
    microseconds: float | None = None
    """The predicted time on one thread; None if unknown."""
    measured: bool = True
    """Whether the program was made and compared; otherwise `output` is estimated from the noise of each layer."""


@dataclass(frozen=True)
class QuantReport:
    """A quantised program against the float one, on the calibration inputs."""

    layers: tuple[Layer, ...]
    """Those that compute on integers, by `outputs`, the worst first."""
    outputs: tuple[Output, ...]
    """The tensors that the model returns, in order."""
    inputs: int
    """How many inputs were measured."""
    kept: tuple[str, ...] = ()
    """Names of the layers that were left in float to reach `min_sqnr` or `max_drop`."""
    metric: Mapping[str, float] = field(default_factory=dict[str, float])
    """The numbers of the user's metric for the quantised program."""
    float_metric: Mapping[str, float] = field(default_factory=dict[str, float])
    """The numbers of the user's metric for the float program."""
    curve: tuple[Point, ...] = ()
    """From all layers on integers to all in float."""
    costs: Mapping[str, float] = field(default_factory=dict[str, float])
    """Microseconds that each of `kept` adds, predicted."""
    processor: str = ""
    """The processor that times are predicted for."""

    @property
    def output(self) -> float:
        """SQNR of the worst output, in dB, which `min_sqnr` bounds."""
        return worst(self.outputs)

    def text(self) -> str:
        """The table for people."""
        kept = f", {len(self.kept)} kept in float: {', '.join(self.kept)}" if self.kept else ""
        counted = f"{len(self.layers)} layer{'' if len(self.layers) == 1 else 's'} quantised"
        lines = [f"outputs {_decibels(self.output)} on {self.inputs} inputs; {counted}{kept}"]
        lines += self.metric_lines()
        if len(self.outputs) > 1 or not all(each.is_float and each.in_place for each in self.outputs):
            lines += [f"output {index}: {_agreement(each)}" for index, each in enumerate(self.outputs)]
        return "\n".join([*lines, *self._curve_lines(), *self._table()]) + "\n"

    def metric_lines(self) -> list[str]:
        """The metric of both programs, a line for each number."""
        return [
            f"{name}: {self.metric[name]:.6g} quantised, {exact:.6g} in float"
            for name, exact in self.float_metric.items()
        ]

    def _curve_lines(self) -> Iterator[str]:
        """Accuracy against time, and what each layer in float costs."""
        if not self.curve:
            return
        fastest = self.curve[0].microseconds or 0.0
        yield f"{'in float':>12} {'predicted':>12} {'outputs':>12}  on one thread of {self.processor}"
        for point in self.curve:
            if point.microseconds is None:
                continue
            is_more = fastest and point is not self.curve[0]
            more = f" ({100 * (point.microseconds / fastest - 1):+.1f} %)" if is_more else ""
            count = "all" if point is self.curve[-1] else str(len(point.kept))
            chosen = ", chosen" if point.kept == self.kept and point.measured else ""
            how = "" if point is self.curve[-1] else "measured" if point.measured else "estimated"
            numbers = "".join(f", {name} {value:.6g}" for name, value in point.metric.items())
            time = _time(point.microseconds)
            yield f"{count:>12} {time:>12} {_decibels(point.output):>12}  {how}{chosen}{more}{numbers}".rstrip()
        for name, took in self.costs.items():
            yield f"{name} in float costs {_time(took)}"

    def _table(self) -> Iterator[str]:
        names = [" ".join(filter(None, (layer.name, layer.module and f"({layer.module})"))) for layer in self.layers]
        width = max(map(len, names), default=0)
        columns = " ".join(f"{name:>12}" for name in ("at outputs", "layer alone", "in program"))
        is_timed = any(layer.in_float is not None for layer in self.layers)
        columns += f" {'in float':>10}" if is_timed else ""
        yield f"{columns}  {'range':22} {'layer':{width}}  operator  source"
        for name, layer in zip(names, self.layers, strict=True):
            place = f"{layer.file}:{layer.line}" if layer.file else "?"
            span = f"[{layer.low:.4g}, {layer.high:.4g}]"
            ratios = " ".join(f"{_decibels(ratio):>12}" for ratio in (layer.outputs, layer.own, layer.sqnr))
            if is_timed:
                ratios += f" {'?' if layer.in_float is None else _time(layer.in_float):>10}"
            yield f"{ratios}  {span:22} {name:{width}}  {layer.operator}  {place}"

    def json(self) -> str:
        """The same for machines; docs/quantization_accuracy.md says what the keys mean."""
        rows = [
            {
                "layer": layer.name,
                "module": layer.module or None,
                "operator": layer.operator,
                "own": _number(layer.own),
                "sqnr": _number(layer.sqnr),
                "outputs": _number(layer.outputs),
                "in_float": None if layer.in_float is None else round(layer.in_float, 3),
                "range": [layer.low, layer.high],
                "chosen": None if layer.chosen is None else list(layer.chosen),
                "reach": layer.reach,
                "histogram": [float(f"{share:.3g}") for share in layer.histogram],
                "file": layer.file or None,
                "line": layer.line or None,
            }
            for layer in self.layers
        ]
        document: dict[str, Any] = {
            "version": JSON_VERSION,
            "output": _number(self.output),
            "outputs": [_output_row(each) for each in self.outputs],
            "inputs": self.inputs,
            "metric": dict(self.metric),
            "float_metric": dict(self.float_metric),
            "kept": list(self.kept),
            "costs": {name: round(took, 3) for name, took in self.costs.items()},
            "processor": self.processor or None,
            "curve": [_point_row(point) for point in self.curve],
            "layers": rows,
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def worst(outputs: tuple[Output, ...]) -> float:
    """SQNR of the worst output of floating point, in dB; of any if none is."""
    floats = [each.sqnr for each in outputs if each.is_float]
    return min(floats or (each.sqnr for each in outputs), default=math.inf)


def _decibels(ratio: float) -> str:
    return "exact" if math.isinf(ratio) and ratio > 0 else f"{ratio:.1f} dB"


def _agreement(output: Output) -> str:
    if output.is_float and output.in_place:
        return _decibels(output.sqnr)
    if output.is_float:
        return f"{_decibels(output.sqnr)} before the choice that orders its rows, in {_named(output)}"
    equal = f"{100 * output.equal:.4g} % of its elements are equal"
    if not output.before:
        return equal
    moved = "" if output.in_place or output.present == output.equal else f", {100 * output.present:.4g} % in any order"
    return f"{equal}{moved}; {_decibels(output.sqnr)} in what they follow from, {_named(output)}"


def _named(output: Output) -> str:
    return ", ".join(f"'{name}'" for name in output.before)


def _output_row(output: Output) -> dict[str, Any]:
    return {
        "sqnr": _number(output.sqnr),
        "equal": round(output.equal, 6),
        "float": output.is_float,
        "in_place": output.in_place,
        "present": round(output.present, 6),
        "before": list(output.before),
    }


def _point_row(point: Point) -> dict[str, Any]:
    return {
        "kept": list(point.kept),
        "output": _number(point.output),
        "metric": dict(point.metric),
        "microseconds": None if point.microseconds is None else round(point.microseconds, 1),
        "measured": point.measured,
    }


def _time(microseconds: float) -> str:
    return f"{microseconds / 1e3:.2f} ms" if abs(microseconds) >= 1e3 else f"{microseconds:.1f} us"


def _number(ratio: float) -> float | None:
    return round(ratio, 2) if math.isfinite(ratio) else None
