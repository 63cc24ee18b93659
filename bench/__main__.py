"""Compiles one model of the zoo with xir and with stock ExecuTorch, runs both, and prints the tables as markdown."""

import argparse
import dataclasses
import json
import platform
import tempfile
from pathlib import Path

import torch

from bench import latency, lowering, report
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
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="thread counts (default: 1 2)")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    return parser.parse_args()


def main() -> None:
    """Lower, run and report."""
    arguments = parse_arguments()
    model, inputs = load_model(arguments.model_name)
    exported = torch.export.export(model, inputs)
    with tempfile.TemporaryDirectory() as folder:
        ours, stock = Path(folder) / "xir.pte", Path(folder) / "executorch.pte"
        lowerings = [lowering.lower_xir(exported, ours), lowering.lower_stock(exported, stock)]
        pairs = [latency.compare(ours, stock, inputs, threads) for threads in arguments.threads]
        difference = latency.largest_difference(ours, stock, inputs)

    print(f"\n{arguments.model_name}, fp32, on {processor()}: milliseconds of alternating rounds of")
    print(f"{latency.RUNS_PER_ROUND} runs, after {latency.WARM_UPS} warm-ups. The first load finds XNNPACK, too.\n")
    print(report.latency_table(pairs))
    print(f"\nLargest difference of the two outputs: {difference:.1e} of the largest magnitude.\n")
    print(report.lowering_table(lowerings))
    if arguments.json:
        numbers = {
            "model": arguments.model_name,
            "processor": processor(),
            "latency_ms": [dataclasses.asdict(row) for pair in pairs for row in pair],
            "lowering": [dataclasses.asdict(row) for row in lowerings],
            "largest_relative_difference": difference,
        }
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
