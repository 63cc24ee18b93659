"""Compiles one model of the zoo with xir and with stock ExecuTorch, runs both, and prints the tables as markdown."""

import argparse
import dataclasses
import json
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

from bench import latency, lowering, quantization, report
from bench.latency import Tensors
from xir.models import load_model


def processor() -> str:
    """The CPU's model name, as the system gives it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--model_name", default="mv2", help="a model of the zoo (default: mv2)")
    parser.add_argument(
        "--quantize",
        nargs="?",
        const="static",
        choices=("static", "dynamic"),
        help="quantise by each compiler's own recipe (default mode: static)",
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="thread counts (default: 1 2)")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    return parser.parse_args()


def main() -> None:
    """Lower, run and report."""
    arguments = parse_arguments()
    model, inputs = load_model(arguments.model_name)
    with tempfile.TemporaryDirectory() as folder:
        ours, stock, float_ = (Path(folder) / name for name in ("xir.pte", "executorch.pte", "xir_fp32.pte"))
        accuracy: dict[str, float] = {}
        if arguments.quantize is None:
            exported = torch.export.export(model, inputs)
            lowerings = [lowering.lower_xir(exported, ours), lowering.lower_stock(exported, stock)]
            measured = [latency.compare(ours, stock, inputs, threads) for threads in arguments.threads]
            largest = latency.largest_difference(ours, stock, inputs)
            accuracy_text = f"Largest difference of the two outputs: {largest:.1e} of the largest magnitude."
        else:
            images = quantization.calibration_inputs(inputs)
            quantization.gather_statistics(model, images)
            programs = [quantize(model, inputs, images, arguments.quantize) for quantize in QUANTIZERS]
            lowerings = [lowering.lower_xir(programs[0], ours), lowering.lower_stock(programs[1], stock)]
            lowering.lower_xir(torch.export.export(model, inputs), float_)
            measured = [latency.compare(ours, stock, inputs, threads, float_) for threads in arguments.threads]
            accuracy = accuracies(model, images, ours, stock, programs)
            accuracy_text = report.accuracy_table(accuracy)

    form = f"{arguments.quantize} q8" if arguments.quantize else "fp32"
    print(f"\n{arguments.model_name}, {form}, on {processor()}: milliseconds of alternating rounds of")
    print(f"{latency.RUNS_PER_ROUND} runs, after {latency.WARM_UPS} warm-ups;")
    print(f"load and first iteration: medians of {latency.LOADS} loads, the mean of two such.\n")
    print(report.latency_table(measured))
    print(f"\n{accuracy_text}\n")
    print(report.lowering_table(lowerings))
    if arguments.json:
        numbers = {
            "model": arguments.model_name,
            "form": form,
            "processor": processor(),
            "latency_ms": [dataclasses.asdict(row) for rows in measured for row in rows],
            "lowering": [dataclasses.asdict(row) for row in lowerings],
            "sqnr_db": accuracy,
        }
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")


QUANTIZERS = (quantization.quantize_xir, quantization.quantize_stock)


def accuracies(
    model: torch.nn.Module,
    images: Sequence[Tensors],
    ours: Path,
    stock: Path,
    programs: Sequence[torch.export.ExportedProgram],
) -> dict[str, float]:
    """SQNR against the float model: of both programs as they run, and of the two fake-quantised graphs in torch."""

    def run_eager(module: torch.nn.Module) -> latency.Execute:
        def run(inputs: Tensors) -> Tensors:
            with torch.no_grad():
                outputs = module(*inputs)
            return outputs if isinstance(outputs, tuple) else (outputs,)

        return run

    wanted = latency.outputs_of(run_eager(model), images)
    runs = {
        "xir": latency.load_xir(ours, 1),
        "ExecuTorch": latency.load_stock(stock, 1),
        "xir's graph in torch": run_eager(programs[0].module()),
        "ExecuTorch's graph in torch": run_eager(programs[1].module()),
    }
    return {name: quantization.sqnr(latency.outputs_of(run, images), wanted) for name, run in runs.items()}


if __name__ == "__main__":
    main()
