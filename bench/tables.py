"""Writes docs/performance.md: MobileNetV2 and V3 by portable kernels, XNNPACK in fp32 and in int8, beside stock.

One thread; the first iteration after loading, then the mean of RUNS after WARM_UPS; inputs of the models' own shape and
distribution. Stock ExecuTorch compiles and runs the same exported programs, where it is installed.
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
from xir.models import MODELS, calibration_inputs, load_model

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
MODEL_NAMES = ("mv2", "mv3")
WARM_UPS = 10
RUNS = 50

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


def measure(load: Callable[[Path, int], Execute], path: Path, inputs: Tensors, runs: int) -> tuple[float, float]:
    """The first iteration, and the mean of those behind the warm-ups."""
    execute = load(path, 1)

    def run() -> float:
        start = time.perf_counter()
        execute(inputs)
        return (time.perf_counter() - start) * 1e3

    first = run()
    for _ in range(WARM_UPS - 1):
        run()
    return first, statistics.mean(run() for _ in range(runs))


def rows_of(name: str, folder: Path, runs: int) -> list[Row]:
    """Every form of one model, in each runtime that is there."""
    model, inputs = load_model(name)
    images = calibration_inputs(name)
    stock = importlib.util.find_spec("executorch") is not None and importlib.util.find_spec("executorch.exir")
    runtimes: list[tuple[str, Lower, Lower, Callable[[Path, int], Execute], quantization.Quantize]] = [
        ("xir", lower_xir_portable, lowering.lower_xir, load_xir, quantization.quantize_xir)
    ]
    if stock:
        runtimes.append(
            ("ExecuTorch", lower_stock_portable, lowering.lower_stock, load_stock, quantization.quantize_stock)
        )
    rows: list[Row] = []
    for runtime, lower_portable, lower_xnnpack, load, quantize in runtimes:
        exported = torch.export.export(model, inputs)
        forms: list[tuple[str, Lower, ExportedProgram]] = [
            ("portable", lower_portable, exported),
            ("xnnpack fp32", lower_xnnpack, exported),
            ("xnnpack q8", lower_xnnpack, quantize(model, inputs, images, "static")),
        ]
        for form, lower, program in forms:
            path = folder / f"{name}_{runtime}_{form.replace(' ', '_')}.pte"
            lower(program, path)
            rows.append(Row(name, form, runtime, *measure(load, path, images[0], runs)))
    return rows


def page(rows: list[Row], runs: int) -> str:
    """The page, as Markdown."""
    lines = [
        "# Performance",
        "",
        f"`make tables` writes this page. On {processor()}, one thread, random weights: milliseconds of the first",
        f"iteration after loading, then the mean of {runs} after {WARM_UPS} warm-ups. Absolute times differ between",
        "machines and hours; what can be quoted is a ratio within one run.",
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
