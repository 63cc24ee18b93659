"""How well a cost profile chooses between int8 and fp32 for the depthwise convolutions of int8 models.

Each model is quantised and lowered for the profile, predicted without running it, and run on one thread in processor
time, of which the shortest of many runs counts. Then each of its depthwise convolutions is measured in both forms, on
integers and in fp32 between conversions, in turn. The regret of a model's choices is how much longer its depthwise
convolutions take in the chosen forms than in the best ones.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import torch

import xir
from bench.__main__ import processor
from bench.cost import Lowered, loaded, lowered_model, measured, report, shortest
from bench.models import named_model
from bench.progress import step
from bench.quantization import calibration_inputs, gather_statistics, quantize_xir
from xir.cost.processors import Processors, one_profile
from xir.cost.profile import CostProfile
from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import element_type, ints, shape_of
from xir.emitter import emit
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.ir.rewriting import rewrite_patterns
from xir.ir.walking import ops_in
from xir.transforms.registry import passes_of
from xir.transforms.xnnpack.schedule._widening import Times
from xir.transforms.xnnpack.schedule.widen_depthwise import WidenDepthwise, predicted

MODELS = ("mv2", "mv3", "mv3_large", "efficientnet_b0")

COPIES = 4
"""Of a convolution in a program, each with a filter of its own, so that a call of the runtime counts less."""

ROUNDS, FEWEST_ROUNDS, ROUND_SECONDS = 5, 3, 0.02
"""Of each form: rounds, and the runs and seconds of a round at least."""


@dataclass(frozen=True)
class Layer:
    """A depthwise convolution."""

    image: tuple[int, ...]
    """[N, H, W, C]."""
    result: tuple[int, ...]
    taps: tuple[int, ...]
    padding: tuple[int, ...]
    stride: tuple[int, ...]

    def __str__(self) -> str:
        image, taps = ("x".join(map(str, each)) for each in (self.image, self.taps))
        return f"{image} by {taps}, stride {self.stride[1]}"


X86 = Processors("x86", "x86")


class Widen(WidenDepthwise):
    """Widens every node, whatever it costs."""

    def is_faster(self, op: xnnpack.DepthwiseConv2dOp, times: Sequence[Times]) -> bool:
        return True


def lower(reference: str, cpu: str, profile: CostProfile, folder: Path) -> tuple[Lowered, Counter[Layer]]:
    """Lower an int8 model for the profile, and count its depthwise convolutions on integers."""
    name, model, inputs = named_model(reference)
    with step(f"Quantising {name}"):
        samples = calibration_inputs(inputs)
        gather_statistics(model, samples)
        edge = xir.to_edge(quantize_xir(model, inputs, samples, "static"))
    with step(f"Lowering {name}"):
        lowered = edge.to_backend(xir.XnnpackPartitioner(cpu=cpu))
        direct = edge.to_backend(xir.XnnpackPartitioner(check=False))
    return lowered_model(name, lowered, inputs, profile, folder), layers_of(direct)


def layers_of(program: xir.EdgeProgram) -> Counter[Layer]:
    """The depthwise convolutions on integers, without dilation."""
    return Counter(
        Layer(
            shape_of(node.input),
            shape_of(node.output),
            (node.kernel_height, node.kernel_width),
            ints(node.padding),
            ints(node.stride),
        )
        for node in ops_in(program.module, xnnpack.DepthwiseConv2dOp)
        if isinstance(element_type(node.input), UniformType) and set(ints(node.dilation)) == {1}
    )


def text(layer: Layer) -> str:
    """A program of some such convolutions of one image."""
    channels = layer.image[-1]
    image, result = (f"tensor<{'x'.join(map(str, shape))}x" for shape in (layer.image, layer.result))
    filter = f"tensor<1x{'x'.join(map(str, layer.taps))}x{layer.result[-1]}x"
    activations, weights = (f"!quant.uniform<i8:f32{kind}>>" for kind in (", 0.05:3", f":3, {{{scales(layer)}}}"))
    padding, stride = (f"array<i32: {', '.join(map(str, each))}>" for each in (layer.padding, layer.stride))
    properties = f"{{padding = {padding}, stride = {stride}, groups = {channels} : i32}}"
    operands = f"{image}{activations}, {filter}{weights}"
    nodes = "".join(
        f"""
            %w{index} = xnnpack.constant dense<{index + 1}> : {filter}i8> -> {filter}{weights}
            %b{index} = xnnpack.depthwise_conv2d %a, %w{index} {properties} : ({operands}) -> {result}{activations}"""
        for index in range(COPIES)
    )
    values, types = (", ".join(f"%b{index}" for index in range(COPIES)), ", ".join([result + activations] * COPIES))
    results = ", ".join([f"{result}i8>"] * COPIES)
    places = ",".join("$" * COPIES)
    return f"""
        func.func @forward(%x: {image}i8>) -> ({results})
            attributes {{xir.in_spec = "T2#1#0(T1#1($),D0())", xir.out_spec = "T1#{COPIES}({places})"}} {{
          %y:{COPIES} = xnnpack.subgraph(%x) : ({image}i8>) -> ({results}) {{
          ^bb0(%a: {image}{activations}):{nodes}
            xnnpack.yield {values} : {types}
          }}
          func.return {", ".join(f"%y#{index}" for index in range(COPIES))} : {results}
        }}"""


def scales(layer: Layer) -> str:
    """One for each channel."""
    return ", ".join(["0.01"] * layer.result[-1])


def program(layer: Layer, widened: bool) -> bytes:
    """A file with such convolutions, on integers or in fp32."""
    ctx = XirContext()
    module = parse_module(ctx, text(layer))
    if widened:
        rewrite_patterns(module, [Widen(ctx, X86)])
    PassManager(ctx, passes_of("emit")).run(module)
    file = BytesIO()
    emit(module, ctx, file)
    return file.getvalue()


def measure(layer: Layer) -> Times:
    """Measure both forms in turn."""
    image = np.random.default_rng(0).integers(-128, 128, layer.image, np.int8)
    runs = [loaded(program(layer, widened), [image]) for widened in (False, True)]
    best = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for index, run in enumerate(runs):
            best[index] = min(best[index], shortest(run, FEWEST_ROUNDS, ROUND_SECONDS) / COPIES)
    integers, floats = best
    return Times(integers, floats)


def prediction(layer: Layer, profile: CostProfile) -> Times | None:
    """What the pass predicts."""
    node = next(ops_in(parse_module(XirContext(), text(layer)), xnnpack.DepthwiseConv2dOp))
    return predicted(node, profile)


def is_chosen(layer: Layer, times: Times | None) -> bool:
    """Whether the pass widens it on x86, by figures or without any."""
    node = next(ops_in(parse_module(XirContext(), text(layer)), xnnpack.DepthwiseConv2dOp))
    return WidenDepthwise(XirContext(), X86).is_faster(node, [] if times is None else [times])


def regret(counts: Mapping[Layer, int], choices: Mapping[Layer, tuple[Times, bool]]) -> float:
    """How much longer these convolutions take in the chosen forms than in the best ones."""
    chosen = sum(count * form(*choices[layer]) for layer, count in counts.items())
    best = sum(count * min(choices[layer][0].narrow, choices[layer][0].floats) for layer, count in counts.items())
    return chosen / best - 1


def form(times: Times, widened: bool) -> float:
    """What the chosen form takes."""
    return times.floats if widened else times.narrow


def main() -> None:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.depthwise", description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS, help=f"models of the zoo (default: {' '.join(MODELS)})")
    parser.add_argument("--cpu", default="zen3", help="the cost profile (default: zen3)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    profile = one_profile(arguments.cpu)
    with tempfile.TemporaryDirectory() as folder:
        models = {reference: lower(reference, arguments.cpu, profile, Path(folder)) for reference in arguments.models}
        predictions = measured([model for model, _ in models.values()])
    layers = {reference: counts for reference, (_, counts) in models.items()}
    print(f"{profile.processor}, on {processor()}, int8, one thread, the shortest of several runs\n")
    print(report(predictions), flush=True)
    print("\n| convolution | chosen | predicted us | measured us |\n|---|---|---|---|")
    choices: dict[Layer, tuple[Times, bool]] = {}
    for layer in dict.fromkeys(layer for counts in layers.values() for layer in counts):
        with step(f"Measuring {layer}"):
            told, taken = prediction(layer, profile), measure(layer)
        choices[layer] = taken, is_chosen(layer, told)
        print(f"| {layer} | {'fp32' if choices[layer][1] else 'int8'} | {told or ''} | {taken} |", flush=True)
    print("\n| model | depthwise convolutions | regret |\n|---|--:|--:|")
    for name, counts in layers.items():
        if counts:
            print(f"| {name} | {counts.total()} | {regret(counts, choices):.1%} |")


if __name__ == "__main__":
    main()
