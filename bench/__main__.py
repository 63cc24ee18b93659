"""Compiles one model of the zoo with xir and with stock ExecuTorch, runs both, and prints the tables as markdown."""

import argparse
import dataclasses
import json
import math
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from bench import latency, lowering, quantization, report
from bench.models import named_model
from bench.progress import step
from bench.stock import Quantization, run_eager, stock_program
from xir.cost.native import this_machine


def processor() -> str:
    """The CPU's model name, as the system gives it, and its generation: several may share a name on hired machines."""
    machine = this_machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            return f"{name}, {machine}" if machine.generation else name
    return platform.machine()


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--model_name", default="mv2", help="a model of the zoo, or FILE.py:FACTORY (default: mv2)")
    parser.add_argument(
        "--quantize",
        nargs="?",
        const="static",
        choices=("static", "dynamic"),
        help="quantise by each compiler's own recipe (default mode: static)",
    )
    parser.add_argument(
        "--cpu", default="generic", help="xir's programs are for these, as of xir-aot (default: generic)"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="thread counts (default: 1 2)")
    parser.add_argument(
        "--stock-cache", type=Path, help="keep ExecuTorch's programs in this folder, and take them from there"
    )
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    return parser.parse_args()


@dataclass(frozen=True)
class Results:
    """What was measured of one model."""

    latencies: list[tuple[latency.Latency, ...]]
    """For each number of threads."""
    lowerings: list[lowering.Lowering]
    accuracy: dict[str, float]
    """SQNR in dB, of quantised programs."""
    accuracy_text: str


def bench_float(reference: str, cpu: str, threads: Sequence[int], folder: Path, cache: Path) -> Results:
    """Compare the float programs."""
    name, model, inputs = named_model(reference)
    ours = folder / "xir.pte"
    with step("Lowering with xir"):
        lowered = lowering.lower_xir(torch.export.export(model, inputs), ours, cpu)
    stock = stock_program(name, model, inputs, None, cache)
    measured = [latency.compare(ours, stock.path, inputs, count) for count in threads]
    largest = latency.largest_difference(ours, stock.path, inputs)
    text = f"Largest difference of the two outputs: {largest:.1e} of the largest magnitude."
    return Results(measured, [lowered, stock.lowering], {}, text)


def bench_quantized(reference: str, mode: str, cpu: str, threads: Sequence[int], folder: Path, cache: Path) -> Results:
    """Compare the programs that each compiler's recipe gives, with our float one beside them."""
    name, model, inputs = named_model(reference)
    ours, float_ = folder / "xir.pte", folder / "xir_fp32.pte"
    images = quantization.calibration_inputs(inputs)
    with step("Running the float model"):
        quantization.gather_statistics(model, images)
        wanted = latency.outputs_of(run_eager(model), images)
    with step("Quantising by xir's recipe"):
        program = quantization.quantize_xir(model, inputs, images, mode)
    with step("Lowering with xir"):
        lowered = lowering.lower_xir(program, ours, cpu)
    with step("Lowering the float model with xir"):
        lowering.lower_xir(torch.export.export(model, inputs), float_, cpu)
    with step("Running xir's quantised graph in torch"):
        graph = latency.outputs_of(run_eager(program.module()), images)
    stock = stock_program(name, model, inputs, Quantization(mode, images, wanted), cache)
    measured = [latency.compare(ours, stock.path, inputs, count, float_) for count in threads]
    outputs = latency.outputs_of(latency.load_xir(ours, 1), images)
    stock_outputs = latency.outputs_of(latency.load_stock(stock.path, 1), images)
    accuracy = {
        "xir": quantization.sqnr(outputs, wanted),
        "ExecuTorch": quantization.sqnr(stock_outputs, wanted),
        "xir's graph in torch": quantization.sqnr(graph, wanted),
        "ExecuTorch's graph in torch": stock.graph_sqnr or math.nan,
        "xir against its graph": quantization.sqnr(outputs, graph),
    }
    return Results(measured, [lowered, stock.lowering], accuracy, report.accuracy_table(accuracy))


def main() -> None:
    """Lower, run and report."""
    arguments = parse_arguments()
    name, mode, threads = arguments.model_name, arguments.quantize, arguments.threads
    with tempfile.TemporaryDirectory() as made:
        folder, cache = Path(made), arguments.stock_cache or Path(made)
        cache.mkdir(parents=True, exist_ok=True)
        if mode is None:
            results = bench_float(name, arguments.cpu, threads, folder, cache)
        else:
            results = bench_quantized(name, mode, arguments.cpu, threads, folder, cache)
    form = f"{mode} q8" if mode else "fp32"
    print(f"\n{name}, {form}, on {processor()}: milliseconds of alternating rounds, after warm-ups;")
    print(f"load and first iteration: medians of {latency.LOADS} loads, the mean of two such.\n")
    print(report.latency_table(results.latencies))
    print(f"\n{results.accuracy_text}\n")
    print(report.lowering_table(results.lowerings))
    if arguments.json:
        numbers = {
            "model": name,
            "form": form,
            "processor": processor(),
            "latency_ms": [dataclasses.asdict(row) for rows in results.latencies for row in rows],
            "lowering": [dataclasses.asdict(row) for row in results.lowerings],
            "sqnr_db": results.accuracy,
        }
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
