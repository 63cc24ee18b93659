"""How far the layers of a quantised program are from the float one: the report that `xir-aot` writes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHARTS_VERSION = 3
"""The version of reports that charts are drawn of."""


class ErrorsError(ValueError):
    """A file is no such report; the message is for the user."""


@dataclass(frozen=True)
class LayerError:
    """Signal-to-noise ratios of a layer in dB; None where the numbers are the float program's."""

    own: float | None
    """Of the layer alone, on exact operands."""
    sqnr: float | None
    """Of its result in the program, with the noise of all layers before it."""
    outputs: float | None
    """Of the outputs, if the layer alone were quantised."""


Errors = Mapping[str, LayerError]
"""By the layer's name in the exported graph, which is in the location of each node that comes from it."""


def read_errors(path: str | Path) -> tuple[Errors, dict[str, Any]]:
    """The errors and the charts of what `xir-aot --quantize-report-json` wrote.

    OSError if there is no such file; ErrorsError if it is no such report.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        return errors_of(text), charts_of(text)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ErrorsError(f"'{path}' is no report of a quantised program: `xir-aot --quantize-report-json`") from error


def errors_of(report: str) -> Errors:
    """The errors in the JSON of a report."""
    layers: list[dict[str, Any]] = json.loads(report)["layers"]
    return {
        str(each["layer"]): LayerError(*(_ratio(each[key]) for key in ("own", "sqnr", "outputs"))) for each in layers
    }


def charts_of(report: str) -> dict[str, Any]:
    """What the page draws of a report: layers in its order, and the curve. Empty for one of an older version."""
    document: dict[str, Any] = json.loads(report)
    if document.get("version") != CHARTS_VERSION:
        return {}
    layers = [
        {
            "name": str(each["layer"]),
            "module": str(each["module"] or ""),
            "operator": str(each["operator"]),
            "outputs": _ratio(each["outputs"]),
            "own": _ratio(each["own"]),
            "time": _ratio(each["in_float"]),
            "range": [float(bound) for bound in each["range"]],
            "chosen": None if each["chosen"] is None else [float(bound) for bound in each["chosen"]],
            "reach": float(each["reach"]),
            "histogram": [float(share) for share in each["histogram"]],
        }
        for each in document["layers"]
    ]
    curve = [
        {
            "kept": [str(name) for name in each["kept"]],
            "output": _ratio(each["output"]),
            "time": _ratio(each["microseconds"]),
            "measured": bool(each["measured"]),
            "metric": {str(name): float(value) for name, value in each["metric"].items()},
        }
        for each in document["curve"]
    ]
    costs = {str(name): float(took) for name, took in document["costs"].items()}
    return {"layers": layers, "curve": curve, "costs": costs, "processor": str(document["processor"] or ""),
            "output": _ratio(document["output"]), "kept": [str(name) for name in document["kept"]]}  # fmt: skip


def _ratio(value: Any) -> float | None:
    return None if value is None else float(value)
