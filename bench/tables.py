"""Writes docs/performance.md: MobileNetV2 and V3 by portable kernels, XNNPACK in fp32 and in int8, beside stock.

One thread; the first iteration after loading, then the mean of RUNS after WARM_UPS, the runtimes in turn; inputs of the
models' own shape and distribution. Stock ExecuTorch compiles and runs the same exported programs where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.export import ExportedProgram

import xir
from bench import lowering, quantization
from bench.__main__ import processor
from bench.latency import Execute, Tensors, load_stock, load_xir
from bench.progress import step
from xir.models import MODELS, calibration_inputs, load_model

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
MODEL_NAMES = ("mv2", "mv3")
WARM_UPS = 10
RUNS = 50
ROUND = 10
"""Iterations that a runtime takes in its turn."""

Lower = Callable[[ExportedProgram, Path], object]


@dataclass(frozen=True)
class Row:
    """One program in one runtime, in milliseconds."""

    model: str
    form: str
    runtime: str
    first: float
    mean: float


def lower_xir_portable(exported: ExportedProgram, path: Path) -> None:
    """Lower to portable kernels alone."""
    path.write_bytes(xir.to_edge(exported).to_executorch().buffer)


def lower_stock_portable(exported: ExportedProgram, path: Path) -> None:
    """The same by stock ExecuTorch."""
    from executorch.exir import to_edge

    path.write_bytes(to_edge(exported).to_executorch().buffer)


@dataclass(frozen=True)
class Runtime:
    """Who compiles and runs a program, and how."""

    name: str
    lower_portable: Lower
    lower_xnnpack: Lower
    load: Callable[[Path, int], Execute]
    quantize: quantization.Quantize


XIR = Runtime("xir", lower_xir_portable, lowering.lower_xir, load_xir, quantization.quantize_xir)
STOCK = Runtime("ExecuTorch", lower_stock_portable, lowering.lower_stock, load_stock, quantization.quantize_stock)


def runtimes() -> list[Runtime]:
    """xir, and stock ExecuTorch where its compiler is installed."""
    stock = importlib.util.find_spec("executorch") is not None and importlib.util.find_spec("executorch.exir")
    return [XIR, STOCK] if stock else [XIR]


def timed(execute: Execute, inputs: Tensors) -> float:
    """The milliseconds of one iteration."""
    start = time.perf_counter()
    execute(inputs)
    return (time.perf_counter() - start) * 1e3


def measure(programs: list[tuple[Runtime, Path]], inputs: Tensors, runs: int) -> list[tuple[float, float]]:
    """For each program the first iteration, and the mean of those behind the warm-ups.

    The runtimes take turns, ROUND iterations each, so that what else the machine does meets them alike.
    """
    loaded = [runtime.load(path, 1) for runtime, path in programs]
    firsts = [timed(execute, inputs) for execute in loaded]
    for execute in loaded:
        for _ in range(WARM_UPS - 1):
            timed(execute, inputs)
    times: list[list[float]] = [[] for _ in loaded]
    while len(times[-1]) < runs:
        for execute, taken in zip(loaded, times, strict=True):
            taken += [timed(execute, inputs) for _ in range(min(ROUND, runs - len(taken)))]
    return list(zip(firsts, map(statistics.mean, times), strict=True))


def programs_of(name: str, runtime: Runtime, folder: Path) -> dict[str, Path]:
    """The files of every form of one model, by form."""
    model, inputs = load_model(name)
    exported = torch.export.export(model, inputs)
    forms: list[tuple[str, Lower, ExportedProgram]] = [
        ("portable", runtime.lower_portable, exported),
        ("xnnpack fp32", runtime.lower_xnnpack, exported),
        ("xnnpack q8", runtime.lower_xnnpack, runtime.quantize(model, inputs, calibration_inputs(name), "static")),
    ]
    paths: dict[str, Path] = {}
    for form, lower, program in forms:
        paths[form] = folder / f"{name}_{runtime.name}_{form.replace(' ', '_')}.pte"
        with step(f"Lowering {name}, {form}, with {runtime.name}"):
            lower(program, paths[form])
    return paths


def rows_of(name: str, folder: Path, runs: int) -> list[Row]:
    """Every form of one model, in each runtime that is there."""
    found = runtimes()
    paths = [programs_of(name, runtime, folder) for runtime in found]
    (image, *_) = calibration_inputs(name)
    rows: list[Row] = []
    for form in paths[0]:
        with step(f"Measuring {name}, {form}"):
            programs = [(runtime, files[form]) for runtime, files in zip(found, paths, strict=True)]
            times = measure(programs, image, runs)
        rows += [Row(name, form, runtime.name, *each) for runtime, each in zip(found, times, strict=True)]
    return rows


def page(rows: list[Row], runs: int) -> str:
    """The page, as Markdown."""
    lines = [
        "# Performance",
        "",
        f"`make tables` writes this page. On {processor()}, one thread, random weights: milliseconds of the first",
        f"iteration after loading, then the mean of {runs} after {WARM_UPS} warm-ups, the runtimes in turn. Absolute",
        "times differ between machines and hours; what can be quoted is a ratio within one run.",
        "",
        "| model | form | runtime | first iteration | mean |",
        "|:--|:--|:--|--:|--:|",
    ]
    lines += [
        f"| {MODELS[row.model].summary} | {row.form} | {row.runtime} | {row.first:.2f} | {row.mean:.2f} |"
        for row in sorted(rows, key=lambda row: (row.model, [each.form for each in rows].index(row.form)))
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.tables", description=__doc__)
    parser.add_argument("--model_name", nargs="+", default=list(MODEL_NAMES), help="models of the zoo")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"iterations in the mean (default: {RUNS})")
    parser.add_argument("--output", type=Path, default=PAGE, help="default: docs/performance.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for name in arguments.model_name for row in rows_of(name, Path(folder), arguments.runs)]
    arguments.output.write_text(page(rows, arguments.runs), encoding="utf-8")
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    main()
