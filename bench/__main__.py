"""Compiles one model of the zoo with xir and with stock ExecuTorch, runs both, and prints the tables as markdown."""

import argparse
import dataclasses
import json
import math
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from bench import latency, lowering, on_device, quantization, report
from bench.models import named_model
from bench.progress import step
from bench.stock import Quantization, run_eager, stock_program
from xir.cost.native import this_machine
from xir.device.errors import DeviceError
from xir.device.transports import Transport
from xir.tools.command_line import UsageError
from xir.tools.devices import add_device_options, reachable_device

Inputs = Sequence[latency.Tensors]


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
    add_device_options(parser, "measure both files in xir's runtime on")
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


def measured(
    device: Transport | None,
    ours: Path,
    stock: Path,
    inputs: latency.Tensors,
    threads: Sequence[int],
    float_: Path | None = None,
) -> list[tuple[latency.Latency, ...]]:
    """Both programs, and our float one, for each number of threads: each in its own runtime here, or in xir's there."""
    if device is None:
        return [latency.compare(ours, stock, inputs, count, float_) for count in threads]
    files = [("xir", ours), ("ExecuTorch", stock), *([] if float_ is None else [("xir fp32", float_)])]
    return on_device.compare_on(device, files, inputs, threads)


def outputs(device: Transport | None, load: latency.Load, path: Path, images: Inputs) -> list[torch.Tensor]:
    """What a program computes for each of several inputs: in its own runtime here, or in xir's there."""
    return latency.outputs_of(load(path, 1), images) if device is None else on_device.outputs_on(device, path, images)


def bench_float(
    reference: str, cpu: str, threads: Sequence[int], folder: Path, cache: Path, device: Transport | None
) -> Results:
    """Compare the float programs."""
    name, model, inputs = named_model(reference)
    ours = folder / "xir.pte"
    with step("Lowering with xir"):
        lowered = lowering.lower_xir(torch.export.export(model, inputs), ours, cpu)
    stock = stock_program(name, model, inputs, None, cache)
    latencies = measured(device, ours, stock.path, inputs, threads)
    found = [
        outputs(device, load, path, [inputs])
        for load, path in ((latency.load_xir, ours), (latency.load_stock, stock.path))
    ]
    largest = latency.largest_apart(*found)
    text = f"Largest difference of the two outputs: {largest:.1e} of the largest magnitude."
    return Results(latencies, [lowered, stock.lowering], {}, text)


def bench_quantized(
    reference: str, mode: str, cpu: str, threads: Sequence[int], folder: Path, cache: Path, device: Transport | None
) -> Results:
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
    latencies = measured(device, ours, stock.path, inputs, threads, float_)
    own_outputs = outputs(device, latency.load_xir, ours, images)
    stock_outputs = outputs(device, latency.load_stock, stock.path, images)
    accuracy = {
        "xir": quantization.sqnr(own_outputs, wanted),
        "ExecuTorch": quantization.sqnr(stock_outputs, wanted),
        "xir's graph in torch": quantization.sqnr(graph, wanted),
        "ExecuTorch's graph in torch": stock.graph_sqnr or math.nan,
        "xir against its graph": quantization.sqnr(own_outputs, graph),
    }
    return Results(latencies, [lowered, stock.lowering], accuracy, report.accuracy_table(accuracy))


def main() -> None:
    """Lower, run and report."""
    arguments = parse_arguments()
    try:
        bench(arguments, reachable_device(arguments))
    except (UsageError, DeviceError) as error:
        sys.exit(f"bench: error: {error}")


def bench(arguments: argparse.Namespace, device: Transport | None) -> None:
    """The same, here or on a device. DeviceError if that is lost."""
    machine = processor() if device is None else on_device.device_name(device)
    name, mode, threads = arguments.model_name, arguments.quantize, arguments.threads
    with tempfile.TemporaryDirectory() as made:
        folder, cache = Path(made), arguments.stock_cache or Path(made)
        cache.mkdir(parents=True, exist_ok=True)
        if mode is None:
            results = bench_float(name, arguments.cpu, threads, folder, cache, device)
        else:
            results = bench_quantized(name, mode, arguments.cpu, threads, folder, cache, device)
    form = f"{mode} q8" if mode else "fp32"
    print(f"\n{name}, {form}, on {machine}: milliseconds of alternating rounds, after warm-ups;")
    print(f"load and first iteration: medians of {latency.LOADS} loads, the mean of two such.\n")
    print(report.latency_table(results.latencies))
    if device is not None:
        print("\nBoth files run in xir's runtime on the device, where ExecuTorch's own is not.")
    print(f"\n{results.accuracy_text}\n")
    print(report.lowering_table(results.lowerings))
    if arguments.json:
        numbers = {
            "model": name,
            "form": form,
            "processor": machine,
            "latency_ms": [dataclasses.asdict(row) for rows in results.latencies for row in rows],
            "lowering": [dataclasses.asdict(row) for row in results.lowerings],
            "sqnr_db": results.accuracy,
        }
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
