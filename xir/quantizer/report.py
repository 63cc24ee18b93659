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
    """The node's name in the exported graph: what `keep_float` takes."""
    module: str
    """The path of the module that it comes from; empty for the model's own."""
    operator: str
    file: str
    """Empty where the layer has no place in a file."""
    line: int
    own: float
    """SQNR of the layer alone, on exact operands: the noise that it adds."""
    sqnr: float
    """SQNR of its result in the program, with the noise of all layers before it."""
    outputs: float
    """SQNR that the model's outputs would have with the noise of this layer alone; that of the worst one."""
    low: float
    """The least value of the float result."""
    high: float


@dataclass(frozen=True)
class Point:
    """A program with some layers in float."""

    kept: tuple[str, ...]
    output: float
    """SQNR of the worst output, in dB."""
    metric: Mapping[str, float] = field(default_factory=dict[str, float])
    """The numbers that the user's metric gives it."""


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
    """Names of the layers that were left in float to reach what was asked for."""
    metric: Mapping[str, float] = field(default_factory=dict[str, float])
    """The numbers that the user's metric gives the quantised program."""
    float_metric: Mapping[str, float] = field(default_factory=dict[str, float])
    """And those of the float program."""

    @property
    def output(self) -> float:
        """SQNR of the worst output, in dB, which `min_sqnr` is about."""
        return worst(self.outputs)

    def text(self) -> str:
        """The table for people."""
        kept = f", {len(self.kept)} kept in float: {', '.join(self.kept)}" if self.kept else ""
        lines = [f"outputs {_decibels(self.output)} on {self.inputs} inputs; {len(self.layers)} layers quantised{kept}"]
        lines += self.metric_lines()
        if len(self.outputs) > 1 or not all(each.is_float and each.in_place for each in self.outputs):
            lines += [f"output {index}: {_agreement(each)}" for index, each in enumerate(self.outputs)]
        return "\n".join([*lines, *self._table()]) + "\n"

    def metric_lines(self) -> list[str]:
        """The metric of both programs, a line for each number."""
        return [
            f"{name}: {self.metric[name]:.6g} quantised, {exact:.6g} in float"
            for name, exact in self.float_metric.items()
        ]

    def _table(self) -> Iterator[str]:
        names = [" ".join(filter(None, (layer.name, layer.module and f"({layer.module})"))) for layer in self.layers]
        width = max(map(len, names), default=0)
        columns = " ".join(f"{name:>12}" for name in ("at outputs", "layer alone", "in program"))
        yield f"{columns}  {'range':22} {'layer':{width}}  operator  source"
        for name, layer in zip(names, self.layers, strict=True):
            place = f"{layer.file}:{layer.line}" if layer.file else "?"
            span = f"[{layer.low:.4g}, {layer.high:.4g}]"
            ratios = " ".join(f"{_decibels(ratio):>12}" for ratio in (layer.outputs, layer.own, layer.sqnr))
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
                "range": [layer.low, layer.high],
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
    equal = f"{100 * output.equal:.4g} % of its elements are equal"
    if output.in_place:
        return f"{equal}; {_decibels(output.sqnr)} in {_named(output)}" if output.before else equal
    somewhere = "" if output.is_float else f", {100 * output.present:.4g} % in any order"
    return f"{_decibels(output.sqnr)} before the choice that orders it, in {_named(output)}; {equal}{somewhere}"


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


def _number(ratio: float) -> float | None:
    return round(ratio, 2) if math.isfinite(ratio) else None
