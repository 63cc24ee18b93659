"""`xir.quantize`: from a model to a quantised exported program."""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.utils import _pytree as pytree
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from xir.importer.dtypes import is_open
from xir.importer.signature import arguments_by_name
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import place
from xir.progress import step

from .batch_norm import hide_batch_norms, show_batch_norms
from .bias_correction import OperandMeans
from .calibration import calibrate
from .choice import Choice, Chooser, Pair
from .config import DEFAULT, Effort, QuantConfig
from .equalization import equalize
from .fine_weights import round_fine_weights
from .inputs import Arguments, ModelInputs
from .measurement import without_observers
from .metric import Judge, Metric
from .operand_noise import OperandNoise
from .quantizer import XnnpackQuantizer
from .reasons import nothing_to_quantize
from .report import QuantReport
from .room_for_biases import make_room_for_biases
from .rounding import round_layers
from .rounding_work import affordable
from .scaled_results import scale_results
from .search import Goal
from .smoothing import smooth
from .verification import Verifier, verify_program

HELD = 128
"""How many calibration inputs are in memory at once: those that channels are equalised by. All others are seen once."""


@dataclass
class Calibrated:
    """A prepared model that has seen the calibration inputs."""

    means: OperandMeans
    noise: OperandNoise
    plain: GraphModule
    """The float graph before its channels were scaled."""
    floats: GraphModule
    """The one that is quantised."""
    first: Sequence[tuple[Any, ...]]
    """The calibration inputs that are held."""
    correctable: Sequence[str]
    """The layers whose biases are corrected."""
    roundable: Sequence[str]
    """The layers whose weights are rounded one after the other, and their biases with them."""
    effort: Effort


def quantize(
    model: nn.Module | ExportedProgram,
    sample_inputs: Sequence[Any],
    calibration: Iterable[Any] | None = None,
    config: QuantConfig | XnnpackQuantizer | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    metric: Metric | None = None,
    verify: bool = False,
) -> ExportedProgram:
    """Quantise a model; the result goes to `xir.to_edge`.

    - `model`: a module in evaluation mode, which is exported with `sample_inputs`, `kwargs` and `dynamic_shapes` as by
      `torch.export.export`, or an exported program. Inputs may be lists and dicts of tensors, numbers and None.
    - `calibration`: inputs for choosing static ranges and for rounding the weights of dynamic layers, an iterable of
      tuples of positional arguments, dicts of keyword arguments, pairs `(args, kwargs)`, or tensors for a single input.
      Labels may follow the inputs, and are ignored. By default the sample inputs, with weights rounded to the nearest.
    - `config`: static int8 by default; an `XnnpackQuantizer` has settings for each module and operator.
    - `metric`: a function of a callable program that returns a number or a dict of numbers, the larger the better;
      `QuantConfig.max_drop` bounds how much they may fall.
    - `verify`: compare each conversion with the float model on the calibration inputs. WrongQuantizationError names the
      first layer whose error is larger than its bits explain.

    Raises DiagnosticError for calibration inputs that do not fit the model, values without a range, groups that do not
    divide a weight, patterns that match nothing, and a model with nothing to quantise.
    """
    quantizer = _quantizer(config)
    program = export(model, sample_inputs, kwargs, dynamic_shapes)
    if quantizer.min_sqnr is not None or quantizer.max_drop is not None or metric is not None:
        inputs = ModelInputs(program, forward=_forward(model))
        _, _, result = _chosen(program, inputs, sample_inputs, calibration, quantizer, kwargs, metric, verify=verify)
        return result
    inputs = ModelInputs(program, forward=_forward(model))
    sample = inputs.sample(sample_inputs, kwargs)
    with unchanged_buffers(program):
        samples = [sample] if calibration is None else inputs.samples(calibration)
        again = verify or quantizer.rounds_for_samples
        known = list(samples) if again else ()
        calibrated = prepared(program, quantizer, known if again else samples, is_given=calibration is not None)
        fine = () if calibration is None else known
        graph = _verified(program, calibrated, known, fine) if verify else rounded(calibrated, fine)
    result = converted(program, graph, inputs.call(sample))
    if verify:
        verify_program(graph, result, sample)
    return result


def quantize_and_measure(
    model: nn.Module | ExportedProgram,
    sample_inputs: Sequence[Any],
    calibration: Iterable[Any] | None = None,
    config: QuantConfig | XnnpackQuantizer | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    metric: Metric | None = None,
    verify: bool = False,
) -> tuple[ExportedProgram, QuantReport]:
    """`quantize`, and report the error of each layer against the float program on the calibration inputs."""
    quantizer = _quantizer(config)
    program = export(model, sample_inputs, kwargs, dynamic_shapes)
    inputs = ModelInputs(program, forward=_forward(model))
    chooser, choice, result = _chosen(
        program, inputs, sample_inputs, calibration, quantizer, kwargs, metric, verify=verify
    )
    return result, chooser.report(choice)


def _chosen(
    program: ExportedProgram,
    inputs: ModelInputs,
    sample_inputs: Sequence[Any],
    calibration: Iterable[Any] | None,
    quantizer: XnnpackQuantizer,
    kwargs: Mapping[str, Any] | None,
    metric: Metric | None,
    *,
    verify: bool,
) -> tuple[Chooser, Choice, ExportedProgram]:
    """The quantised graph that reaches what the configuration asks for, what found it, and its program."""
    sample = inputs.sample(sample_inputs, kwargs)
    samples = [sample] if calibration is None else list(inputs.samples(calibration))

    def attempt(kept: Sequence[str]) -> Pair:
        with unchanged_buffers(program):
            calibrated = prepared(program, quantizer.keep(kept), samples, is_given=calibration is not None)
            fine = () if calibration is None else samples
            graph = _verified(program, calibrated, samples, fine) if verify else rounded(calibrated, fine)
        return Pair(calibrated.floats, graph, dict(quantizer.layers))

    made: dict[GraphModule, ExportedProgram] = {}

    def exported(pair: Pair) -> ExportedProgram:
        if pair.graph not in made:
            made[pair.graph] = converted(program, pair.graph, inputs.call(sample))
        return made[pair.graph]

    if quantizer.max_drop is not None and metric is None:
        raise ValueError("max_drop bounds what a metric loses: give metric=, a function of a callable program")
    judge = None if metric is None else Judge(metric, lambda: unchanged_buffers(program))
    exact = {} if judge is None else judge.of_float(program.module())
    chooser = Chooser(program, samples, attempt, exported, judge, quantizer.cpu)
    choice = chooser.choose(Goal(quantizer.min_sqnr, quantizer.max_drop, exact))
    result = exported(choice.pair)
    if verify:
        verify_program(choice.pair.graph, result, sample)
    return chooser, choice, result


def _forward(model: nn.Module | ExportedProgram) -> Callable[..., Any] | None:
    return None if isinstance(model, ExportedProgram) else model.forward


def _quantizer(config: QuantConfig | XnnpackQuantizer | None) -> XnnpackQuantizer:
    return config if isinstance(config, XnnpackQuantizer) else XnnpackQuantizer(config or DEFAULT)


def export(
    model: nn.Module | ExportedProgram, args: Sequence[Any], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any
) -> ExportedProgram:
    """The float program."""
    if isinstance(model, ExportedProgram):
        return model
    with step("Exporting the float model"):
        return torch.export.export(model, tuple(args), dict(kwargs or {}), dynamic_shapes=dynamic_shapes)


@contextmanager
def unchanged_buffers(program: ExportedProgram) -> Generator[None]:
    """Put back what running the program makes of its buffers, such as caches: they are to begin as they were.

    Calibration runs it, and `convert_pt2e` runs what it takes for constant.
    """
    names = program.graph_signature.inputs_to_buffers.values()
    tensors = [program.state_dict.get(name, program.constants.get(name)) for name in names]
    before = [(tensor, tensor.clone()) for tensor in tensors if isinstance(tensor, Tensor)]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, value in before:
                tensor.copy_(value)


def prepared(
    program: ExportedProgram,
    quantizer: XnnpackQuantizer,
    samples: Iterable[tuple[Any, ...]],
    *,
    is_given: bool = True,
) -> Calibrated:
    """The program's graph with observers that have seen the calibration inputs.

    Unless `is_given`, they are the sample inputs alone, which decide nothing that would do without.
    """
    with step("Preparing the model"):
        module = program.module()
        assert isinstance(module, GraphModule)
        hide_batch_norms(module)
        observed = prepare_pt2e(module, quantizer)
    if unmatched := quantizer.unmatched():
        raise DiagnosticError(
            place("quantize"),
            f"keep_float '{unmatched[0]}' matches no layer: patterns are of a module's path, an operator such as "
            "aten.add, or a node's name",
        )
    if not quantizer.layers:
        raise nothing_to_quantize(observed, quantizer.config_of)
    left = iter(samples)
    first = list(islice(left, HELD))
    plain = without_observers(observed)
    if quantizer.equalization:
        with unchanged_buffers(program):
            equalize(observed, first)
    if quantizer.smoothing and (is_given or quantizer.is_static):
        with unchanged_buffers(program):
            smooth(observed, first)
            scale_results(observed, first)
    names, means = tuple(quantizer.correctable), OperandMeans(observed, quantizer.correctable)
    roundable = (*(names if quantizer.effort == "best" else ()), *(quantizer.dynamic if is_given else ()))
    floats = without_observers(observed)
    with unchanged_buffers(program):
        calibrate(means, chain(first, left), first)
    make_room_for_biases(observed)
    noise = OperandNoise(observed, names)
    with unchanged_buffers(program):
        noise.see(first)
    return Calibrated(means, noise, plain, floats, first, names, roundable, quantizer.effort)


def rounded(calibrated: Calibrated, samples: Sequence[tuple[Any, ...]] = ()) -> GraphModule:
    """The graph with conversions in the place of observers, biases corrected, 4-bit weights rounded for the samples.

    Without samples these are rounded to the nearest. Buffers are the float program's.
    """
    means = calibrated.means
    calibrated.noise.take_back(means)
    if samples:
        round_fine_weights(means.observed, samples)
    _round_layers(calibrated)
    return _with_conversions(means.observed)


def _rounded_to_nearest(calibrated: Calibrated) -> GraphModule:
    """`rounded`, but each weight to the nearest number that its scale has, and biases corrected for nothing else."""
    calibrated.means.correct_biases()
    return _with_conversions(calibrated.means.observed)


def _with_conversions(observed: GraphModule) -> GraphModule:
    graph = convert_pt2e(observed)
    show_batch_norms(graph)
    return graph


def _round_layers(calibrated: Calibrated) -> None:
    """Round 8-bit weights one after the other, as far as the effort allows, and correct biases."""
    means, names, samples = calibrated.means, calibrated.roundable, calibrated.first
    if calibrated.effort == "best":
        if not round_layers(means.observed, names, samples):
            means.correct_biases()
        return
    means.correct_biases()  # of static layers; the others' are corrected where their weights are rounded
    if count := affordable(means.observed, names, samples):
        round_layers(means.observed, names, samples, count)


def _verified(
    program: ExportedProgram,
    calibrated: Calibrated,
    samples: Sequence[tuple[Any, ...]],
    fine: Sequence[tuple[Any, ...]],
) -> GraphModule:
    """`rounded` for the samples `fine`, compared with the float program.

    Number by number, that is said of what is rounded to the nearest: half a step away at most. Weights and biases that
    are chosen for what layers compute are held to its results.
    """
    observed, before = calibrated.means.observed, (calibrated.plain, calibrated.floats)
    verifier = Verifier(program, observed, calibrated.correctable, before)
    again = copy.deepcopy(observed)
    with unchanged_buffers(program):
        nearest = _rounded_to_nearest(calibrated)
    verifier.verify(nearest, samples)
    calibrated.means.observed = again
    graph = rounded(calibrated, fine)
    verifier.verify_refined(nearest, graph, samples)
    return graph


def converted(program: ExportedProgram, graph: GraphModule, sample: Arguments) -> ExportedProgram:
    """The quantised graph as a program with buffers of its own, and with the float program's open dimensions."""
    buffers = set(program.graph_signature.inputs_to_buffers.values())
    for name, value in list(graph.named_buffers()):
        if name in buffers:
            path, _, attribute = name.rpartition(".")
            setattr(graph.get_submodule(path), attribute, value.clone())
    if program.example_inputs is not None:
        sample = program.example_inputs  # of a size other than 1 where it is open: export takes 1 for a constant
    with step("Exporting the quantised model"), torch.no_grad():
        return torch.export.export(graph, *sample, dynamic_shapes=_dynamic_shapes(program, graph))


def _dynamic_shapes(program: ExportedProgram, graph: GraphModule) -> Any:
    """What `torch.export.export` has to be told for the same open dimensions; None if there are none."""
    dims: dict[str, Any] = {}

    def shape(value: Any) -> Any:
        if isinstance(value, torch.SymInt):
            return torch.export.Dim.DYNAMIC
        if not isinstance(value, Tensor):
            return None
        sizes: list[tuple[int, Any]] = [each for each in enumerate(value.shape) if is_open(each[1])]
        return {d: _dimension(program, size, dims) for d, size in sizes}

    inputs = ModelInputs(program)
    if not any(shape(value) for value in inputs.values):
        return None
    args, kwargs = inputs.call(inputs.values)
    return pytree.tree_map(shape, arguments_by_name(graph.forward, args, kwargs))


def _dimension(program: ExportedProgram, size: torch.SymInt, dims: dict[str, Any]) -> Any:
    """The dimension of a size; the same for the same symbol. Export finds relations such as 2·n again by itself."""
    symbol = size.node.expr
    if not symbol.is_Symbol:
        return torch.export.Dim.AUTO
    if symbol.name not in dims:
        bounds = program.range_constraints[symbol]
        upper = int(bounds.upper) if bounds.upper.is_Integer else None
        dims[symbol.name] = torch.export.Dim(symbol.name, min=int(bounds.lower), max=upper)
    return dims[symbol.name]
