"""How far the layers of a quantised program are from the float one: the report that `xir-aot` writes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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


def read_errors(path: str | Path) -> Errors:
    """Read what `xir-aot --quant-report-json` wrote. OSError if there is none; ErrorsError if it is none such."""
    try:
        return errors_of(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise ErrorsError(f"'{path}' is no report of a quantised program: `xir-aot --quant-report-json`") from error


def errors_of(report: str) -> Errors:
    """The errors in the JSON of a report."""
    layers: list[dict[str, Any]] = json.loads(report)["layers"]
    return {
        str(each["layer"]): LayerError(*(_ratio(each[key]) for key in ("own", "sqnr", "outputs"))) for each in layers
    }


def _ratio(value: Any) -> float | None:
    return None if value is None else float(value)
