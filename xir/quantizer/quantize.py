"""`xir.quantize`: from a model to a quantised exported program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from xir.importer.dtypes import is_open
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import name_location
from xir.progress import step

from .calibration import calibrate, checked
from .config import QuantConfig
from .quantizer import XnnpackQuantizer


def quantize(
    model: nn.Module | ExportedProgram,
    sample_inputs: Sequence[Tensor],
    calibration: Iterable[Any] | None = None,
    config: QuantConfig | XnnpackQuantizer | None = None,
    *,
    dynamic_shapes: Any = None,
) -> ExportedProgram:
    """Quantise a model, and give what `xir.to_edge` takes.

    `model` is a module in evaluation mode, exported with `sample_inputs` (and `dynamic_shapes`, as
    `torch.export.export` takes them), or a program exported before. Static quantisation takes ranges from
    `calibration`: an iterable of inputs, each a tuple of tensors, or a tensor where the model takes one; default: the
    sample inputs alone. `config` defaults to static int8; a quantizer of one's own has settings for each module and
    operator.

    DiagnosticError for calibration inputs that do not fit the model, values without a range, groups that do not
    divide a weight, patterns that match nothing, and a model that has nothing to quantise.
    """
    sample = next(checked([tuple(sample_inputs)], tuple(sample_inputs), [frozenset()] * len(sample_inputs)))
    program = export(model, sample, dynamic_shapes)
    quantizer = config if isinstance(config, XnnpackQuantizer) else XnnpackQuantizer(config or QuantConfig())
    return convert(program, prepared(program, quantizer, sample, calibration), sample)


def export(model: nn.Module | ExportedProgram, sample: tuple[Tensor, ...], dynamic_shapes: Any) -> ExportedProgram:
    """The float program."""
    if isinstance(model, ExportedProgram):
        return model
    with step("Exporting the float model"):
        return torch.export.export(model, sample, dynamic_shapes=dynamic_shapes)


def prepared(
    program: ExportedProgram,
    quantizer: XnnpackQuantizer,
    sample: tuple[Tensor, ...],
    calibration: Iterable[Any] | None,
) -> GraphModule:
    """The program's graph with observers that have seen the calibration inputs."""
    with step("Preparing the model"):
        module = program.module()
        assert isinstance(module, GraphModule)
        observed = prepare_pt2e(module, quantizer)
    if unmatched := quantizer.unmatched():
        raise DiagnosticError(
            name_location("quantize"),
            f"keep_float '{unmatched[0]}' matches no layer: patterns are of a module's path, an operator such as "
            "aten.add, or a node's name",
        )
    if quantizer.annotated == 0:
        raise DiagnosticError(
            name_location("quantize"),
            "the model has nothing to quantise: no layer of it that the configuration covers computes on integers",
        )
    calibrate(observed, [sample] if calibration is None else calibration, sample, _free_dimensions(program))
    return observed


def convert(program: ExportedProgram, observed: GraphModule, sample: tuple[Tensor, ...]) -> ExportedProgram:
    """The quantised program, with the float program's open dimensions."""
    with step("Converting the model"), torch.no_grad():
        converted = convert_pt2e(observed)
        return torch.export.export(converted, sample, dynamic_shapes=_dynamic_shapes(program))


def _inputs(program: ExportedProgram) -> list[Any]:
    """The values of the inputs that the user gives, as exported."""
    names = set(program.graph_signature.user_inputs)
    return [node.meta["val"] for node in program.graph.nodes if node.op == "placeholder" and node.name in names]


def _free_dimensions(program: ExportedProgram) -> list[frozenset[int]]:
    return [frozenset(d for d, size in enumerate(value.shape) if is_open(size)) for value in _inputs(program)]


def _dynamic_shapes(program: ExportedProgram) -> Any:
    """What `torch.export.export` has to be told for the same open dimensions; None if there are none."""
    shapes: list[dict[int, Any]] = []
    for value in _inputs(program):
        shapes.append({d: torch.export.Dim.AUTO for d, size in enumerate(value.shape) if is_open(size)})
    return tuple(shapes) if any(shapes) else None
