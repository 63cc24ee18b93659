"""How well a cost profile predicts: models' latencies, and which form of each convolution is the fastest.

Each model is lowered for the profile, predicted without running it, and run on one thread in processor time, of which
the shortest of many runs counts: a profile's figures are such times as well. All models are measured in turn, several
times over, since rented machines are slower for minutes now and then. For the choices, every convolution of the
models that can be computed in several forms is measured in each of them, alone, in turn; those of a model whose weights
the last cache does not hold find nothing in the caches but their image. The regret of a model's choices is how much
longer its convolutions take in the chosen forms than in the best ones.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

import xir
from bench.__main__ import processor
from bench.models import named_model
from bench.progress import step
from xir.cost.choices import ConvolutionLayer
from xir.cost.processors import one_profile
from xir.cost.profile import CostProfile
from xir.cost_report import CostReport, cost_report
from xir.dialects import xnnpack
from xir.emitter import emit
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager, XirPass
from xir.ir.walking import ops_in
from xir.models import MODELS
from xir.runtime import Runtime
from xir.transforms.registry import passes_of
from xir.transforms.xnnpack.analysis.node_costs import weight_bytes
from xir.transforms.xnnpack.composed_convolutions.choosing import LEAST_GAIN, fastest, worthwhile
from xir.transforms.xnnpack.composed_convolutions.costs import predicted
from xir.transforms.xnnpack.composed_convolutions.forms import DIRECT, Form
from xir.transforms.xnnpack.schedule.winograd_conv2d import WinogradConv2dPass, convolution_of, layer_of, predictions
from xir.tuning.machine import cache_sizes
from xir.tuning.samples import random_constant

NEAR = 0.1
"""How far a prediction may be off to count as near."""

PASSES, FEWEST_RUNS, SECONDS = 4, 3, 1.5
"""How often all models are measured, and how long each one each time: as many runs as fit into the seconds, and at
least so many."""

ROUNDS, FEWEST_ROUNDS, ROUND_SECONDS = 5, 3, 0.03
"""Of each form of a convolution: rounds, and the runs and seconds of a round at least."""

MAX_ERROR = 4.0


@dataclass(frozen=True)
class Placed:
    """A convolution that several forms can compute, in a model."""

    layer: ConvolutionLayer
    weights: int
    """The bytes of all weights of the model."""

    def __str__(self) -> str:
        return str(self.layer)


def shortest(run: Callable[[], object], runs: int, seconds: float, before: Callable[[], object] | None = None) -> float:
    """The microseconds of processor time of the shortest of some runs, without what is called before each."""
    best, end, count = float("inf"), time.perf_counter() + seconds, 0
    while count < runs or time.perf_counter() < end:
        if before is not None:
            before()
        begin = time.process_time_ns()
        run()
        best, count = min(best, (time.process_time_ns() - begin) / 1e3), count + 1
    return best


def loaded(file: bytes, inputs: Sequence[object]) -> Callable[[], object]:
    """A program on one thread that has run twice."""
    method = Runtime.get().load_program(file, threads=1).load_method("forward")
    for _ in range(2):
        method.execute(inputs)
    return lambda: method.execute(inputs)


@dataclass(frozen=True)
class Prediction:
    """A model's latency, in microseconds."""

    model: str
    report: CostReport
    measured: float

    @property
    def ratio(self) -> float:
        return self.report.microseconds / self.measured

    @property
    def is_near(self) -> bool:
        return abs(self.ratio - 1) <= NEAR


@dataclass(frozen=True)
class Lowered:
    """A model that is to be measured, as a file."""

    model: str
    file: Path
    inputs: Sequence[object]
    report: CostReport

    def measure(self) -> float:
        """The microseconds of the shortest run of some."""
        with step(f"Measuring {self.model}"):
            return shortest(loaded(self.file.read_bytes(), self.inputs), FEWEST_RUNS, SECONDS)


def lowered_model(
    name: str, program: xir.EdgeProgram, inputs: Sequence[object], profile: CostProfile, folder: Path
) -> Lowered:
    """A lowered program as a file in a folder, with what is predicted of it."""
    file = folder / f"{len(list(folder.iterdir()))}.pte"
    program.to_executorch().save(file)
    return Lowered(name, file, inputs, cost_report(program.module, program.ctx, profile))


def measured(models: Sequence[Lowered]) -> list[Prediction]:
    """Models' latencies, each the shortest of several passes over all of them."""
    passes = [[model.measure() for model in models] for _ in range(PASSES)]
    return [Prediction(model.model, model.report, min(times)) for model, *times in zip(models, *passes, strict=True)]


def lower(reference: str, cpu: str, profile: CostProfile, folder: Path) -> tuple[Lowered, Counter[Placed]]:
    """Lower a model for the profile, and count its convolutions that have several forms."""
    name, model, inputs = named_model(reference)
    with step(f"Lowering {name}"):
        edge = xir.to_edge(torch.export.export(model, inputs))
        lowered = edge.to_backend(xir.XnnpackPartitioner(cpu=cpu))
        direct = edge.to_backend(xir.XnnpackPartitioner(check=False))
    return lowered_model(name, lowered, inputs, profile, folder), layers_of(direct)


def layers_of(program: xir.EdgeProgram) -> Counter[Placed]:
    """The convolutions of a program that forms may compute."""
    found: Counter[Placed] = Counter()
    weights = weight_bytes(program.module)
    for node in ops_in(program.module, xnnpack.Conv2dOp):
        convolution = convolution_of(node)
        if convolution is not None and convolution.forms(MAX_ERROR):
            found[Placed(layer_of(node), weights)] += 1
    return found


def module_of(layer: ConvolutionLayer, ctx: XirContext) -> ModuleOp:
    """A program of one convolution, with random weights: equal ones would be packed once."""
    batch, height, width, _ = layer.image
    top, right, bottom, left = layer.padding
    outputs, *taps, _ = layer.filter
    sizes = zip((height + top + bottom, width + left + right), taps, layer.stride, layer.dilation, strict=True)
    rows, columns = ((size - (count - 1) * apart - 1) // step + 1 for size, count, step, apart in sizes)
    result = (batch, rows, columns, outputs)
    image, filter, output = (f"tensor<{'x'.join(map(str, each))}xf32>" for each in (layer.image, layer.filter, result))
    bounds = ", output_min = 0.0 : f32" if layer.bounded else ""
    strides, dilations = (", ".join(map(str, each)) for each in (layer.stride, layer.dilation))
    module = parse_module(
        ctx,
        f"""
        func.func @forward(%x: {image}) -> {output}
            attributes {{xir.in_spec = "T2#1#0(T1#1($),D0())", xir.out_spec = "$"}} {{
          %y = xnnpack.subgraph(%x) : ({image}) -> {output} {{
          ^bb0(%a: {image}):
            %w = xnnpack.constant dense<0.5> : {filter}
            %b = xnnpack.conv2d %a, %w {{padding = array<i32: {top}, {right}, {bottom}, {left}>,
                 stride = array<i32: {strides}>, dilation = array<i32: {dilations}>{bounds}}}
                 : ({image}, {filter}) -> {output}
            xnnpack.yield %b : {output}
          }}
          func.return %y : {output}
        }}""",
    )
    (constant,) = ops_in(module, xnnpack.ConstantOp)
    Rewriter.replace_op(constant, random_constant(layer.filter, ctx))
    return module


def program(layer: ConvolutionLayer, form: Form) -> bytes:
    """A file with one convolution in one form."""
    ctx = XirContext()
    module = module_of(layer, ctx)
    composed = WinogradConv2dPass(form=(form.height, form.width), by_gemm=form.by_gemm)
    chosen: list[XirPass] = [] if form.is_direct else [composed]
    PassManager(ctx, [*chosen, *passes_of("emit")]).run(module)
    file = BytesIO()
    emit(module, ctx, file)
    return file.getvalue()


@dataclass(frozen=True)
class Choice:
    """What each form of a convolution takes, measured and predicted, in microseconds."""

    measured: dict[Form, float]
    predicted: dict[Form, float]
    chosen: Form

    @property
    def best(self) -> Form:
        return min(self.measured, key=self.measured.__getitem__)


def choose(placed: Placed, profile: CostProfile) -> Choice:
    """Measure the forms of a convolution in turn, and say which one the pass would choose."""
    layer = placed.layer
    (node,) = ops_in(module_of(layer, XirContext()), xnnpack.Conv2dOp)
    convolution = convolution_of(node)
    assert convolution is not None
    forms = (DIRECT, *convolution.forms(MAX_ERROR))
    image = np.random.default_rng(0).standard_normal(layer.image, dtype=np.float32)
    runs = {form: loaded(program(layer, form), [image]) for form in forms}
    profile = profile.of_program(placed.weights)
    # Written to: pages that are only read are one and the same in memory.
    others = np.ones(2 * cache_sizes()[1] // 8)

    def forget() -> None:
        others.sum()
        image.sum()

    before = forget if placed.weights > profile.caches[1] else None
    measured = dict.fromkeys(forms, float("inf"))
    for _ in range(ROUNDS):
        for form, run in runs.items():
            measured[form] = min(measured[form], shortest(run, FEWEST_ROUNDS, ROUND_SECONDS, before))
    costs = {form: predicted(convolution, form, layer.image[0], layer.bounded, profile) / 1e3 for form in forms}
    times = predictions(node, convolution, forms[1:], [profile], also_on_two=False)
    return Choice(measured, costs, fastest(worthwhile(times, (LEAST_GAIN,))))


def report(predictions: Sequence[Prediction]) -> str:
    """The predictions as a table, and how many are near."""
    rows = ["| model | predicted ms | measured ms | ratio | not predicted |", "|---|--:|--:|--:|---|"]
    for each in predictions:
        unknown = ", ".join(f"{n} × {name}" for method in each.report.methods for name, n in method.unknown)
        figures = (each.report.microseconds / 1e3, each.measured / 1e3, each.ratio)
        rows.append(f"| {each.model} | {' | '.join(f'{figure:.2f}' for figure in figures)} | {unknown} |")
    near = sum(each.is_near for each in predictions)
    rows += ["", f"{near} of {len(predictions)} within {NEAR:.0%}"]
    return "\n".join(rows)


def regret(counts: Mapping[Placed, int], choices: Mapping[Placed, Choice]) -> float:
    """How much longer these convolutions take in the chosen forms than in the best ones."""
    chosen, best = (
        sum(counts[layer] * choices[layer].measured[which(choices[layer])] for layer in counts)
        for which in (lambda each: each.chosen, lambda each: each.best)
    )
    return chosen / best - 1


def main() -> None:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.cost", description=__doc__)
    parser.add_argument(
        "models",
        nargs="*",
        default=[],
        help="models of the zoo, or FILE.py:FACTORY (default: the zoo but the small ones)",
    )
    parser.add_argument("--cpu", default="zen4", help="the cost profile (default: zen4)")
    parser.add_argument("--no-choices", action="store_true", help="measure no forms of convolutions")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    profile = one_profile(arguments.cpu)
    references = arguments.models or [name for name, model in MODELS.items() if model.module != "small"]
    with tempfile.TemporaryDirectory() as folder:
        models = {reference: lower(reference, arguments.cpu, profile, Path(folder)) for reference in references}
        predictions = measured([model for model, _ in models.values()])
    layers = {reference: counts for reference, (_, counts) in models.items()}
    print(f"{profile.processor}, on {processor()}, fp32, one thread, the shortest of several runs\n")
    print(report(predictions), flush=True)
    if arguments.no_choices:
        return
    choices: dict[Placed, Choice] = {}
    for layer in dict.fromkeys(layer for counts in layers.values() for layer in counts):
        with step(f"Measuring {layer}"):
            choices[layer] = choose(layer, profile)
    print("\n| convolution | chosen | predicted us | measured us | best | measured us | direct us |")
    print("|---|---|--:|--:|---|--:|--:|")
    for layer, each in choices.items():
        figures = (each.predicted[each.chosen], each.measured[each.chosen])
        print(
            f"| {layer} | {each.chosen} | {figures[0]:.0f} | {figures[1]:.0f} | {each.best} | "
            f"{each.measured[each.best]:.0f} | {each.measured[DIRECT]:.0f} |"
        )
    print("\n| model | convolutions | regret |\n|---|--:|--:|")
    for name, counts in layers.items():
        if counts:
            print(f"| {name} | {counts.total()} | {regret(counts, choices):.1%} |")


if __name__ == "__main__":
    main()
