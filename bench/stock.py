"""Stock ExecuTorch's program of a model, kept between runs: it takes stock minutes to make some of them."""

import dataclasses
import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from bench import lowering, quantization
from bench.latency import Execute, Tensors, outputs_of
from bench.lowering import Lowering
from bench.progress import step


@dataclass(frozen=True)
class StockProgram:
    """A program as stock made it."""

    path: Path
    lowering: Lowering
    graph_sqnr: float | None
    """Of stock's quantised graph as torch computes it, against the float model, in dB; None for a float program."""


@dataclass(frozen=True)
class Quantization:
    """What a quantised program depends on beside its model."""

    mode: str
    images: Sequence[tuple[torch.Tensor, ...]]
    wanted: Sequence[torch.Tensor]
    """The float model's outputs for the images."""


def stock_program(
    name: str, model: torch.nn.Module, inputs: tuple[torch.Tensor, ...], recipe: Quantization | None, folder: Path
) -> StockProgram:
    """The program in `folder`, or a new one which is put there.

    The files' name has the model's, the form, stock's version and a digest of weights and inputs.
    """
    form = "fp32" if recipe is None else f"{recipe.mode}_q8"
    key = digest(model, inputs if recipe is None else [each for image in recipe.images for each in image])
    stem = f"{name}_{form}_executorch_{importlib.metadata.version('executorch')}_{key}"
    path, facts = folder / f"{stem}.pte", folder / f"{stem}.json"
    if path.exists() and facts.exists():
        known = json.loads(facts.read_text(encoding="utf-8"))
        lowered = Lowering(**known["lowering"] | {"compiler": "ExecuTorch, in an earlier run"})
        return StockProgram(path, lowered, known["graph_sqnr"])
    if recipe is None:
        exported, ratio = torch.export.export(model, inputs), None
    else:
        with step("Quantising by ExecuTorch's recipe"):
            exported = quantization.quantize_stock(model, inputs, recipe.images, recipe.mode)
            outputs = outputs_of(run_eager(exported.module()), recipe.images)
            ratio = quantization.sqnr(outputs, recipe.wanted)
    with step("Lowering with ExecuTorch"):
        lowered = lowering.lower_stock(exported, path)
    # The facts come last: a program without them is one whose making was interrupted.
    facts.write_text(json.dumps({"lowering": dataclasses.asdict(lowered), "graph_sqnr": ratio}), encoding="utf-8")
    return StockProgram(path, lowered, ratio)


def digest(model: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> str:
    """A short digest of all numbers that go into a program."""
    sha = hashlib.sha256()
    for tensor in (*model.state_dict().values(), *inputs):
        sha.update(tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()[:12]


def run_eager(module: Callable[..., Tensors | torch.Tensor]) -> Execute:
    """A module, as a function of a tuple of inputs that gives a tuple of outputs."""

    def run(inputs: Tensors) -> Tensors:
        with torch.no_grad():
            outputs = module(*inputs)
        return outputs if isinstance(outputs, tuple) else (outputs,)  # pyright: ignore

    return run
