"""The end of `make demo`: run the file of a model of the zoo natively, and hold the result against torch eager.

What it runs is a command that a user could type, and is shown as such.
"""

import argparse
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from xir.models import load_model
from xir.models.zoo import MODELS
from xir.progress import step

BIN = Path(sys.executable).parent
TOLERANCE = 1e-4
"""The largest difference that the outputs may have, relative to eager's largest magnitude."""
WARM_UPS = 10
ITERATIONS = 50


def run(tool: Path, *options: str | Path) -> str:
    """Show a command, run it, show what it prints and give it back."""
    arguments = list(map(str, options))
    print(f"\n$ {tool.name} {' '.join(arguments)}", flush=True)
    lines: list[str] = []
    with subprocess.Popen([tool, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if process.returncode:
        sys.exit(process.returncode)
    return "".join(lines)


def reported(name: str, output: str) -> float:
    """The milliseconds that the runner reports under `name`."""
    found = re.search(rf"{name}:? ([\d.]+) ms", output)
    assert found, f"the runner did not report its {name}"
    return float(found[1])


def eager(model: torch.nn.Module, inputs: Sequence[torch.Tensor], threads: int) -> tuple[list[np.ndarray], list[float]]:
    """The outputs of torch eager, and the milliseconds of each run after the warm-ups."""
    torch.set_num_threads(threads)
    times: list[float] = []
    with torch.inference_mode(), step("Running torch eager"):
        output = model(*inputs)
        for _ in range(WARM_UPS + ITERATIONS):
            start = time.perf_counter()
            model(*inputs)
            times.append((time.perf_counter() - start) * 1e3)
    outputs = output if isinstance(output, (tuple, list)) else [output]
    return [tensor.numpy() for tensor in outputs], times[WARM_UPS:]


def compare(expected: np.ndarray, actual: np.ndarray) -> float:
    """The largest difference, relative to the largest magnitude expected."""
    return float(np.abs(expected - actual).max() / np.abs(expected).max())


def main() -> int:
    """Run the file and the model; 1 if the two outputs differ by more than they may."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--model_name", default="mv2", choices=MODELS, metavar="NAME", help="default: mv2")
    parser.add_argument("--output_dir", type=Path, default=Path("build/demo"), help="default: build/demo")
    parser.add_argument("--threads", type=int, default=1, help="of both runtimes (default: 1)")
    parser.add_argument("--runner", type=Path, required=True, help="the native runner")
    arguments = parser.parse_args()
    name, folder, threads = arguments.model_name, arguments.output_dir, arguments.threads

    with step(f"Loading {name}"):
        model, inputs = load_model(name)
    paths = [folder / f"{name}_input_{index}.npy" for index in range(len(inputs))]
    for path, tensor in zip(paths, inputs, strict=True):
        np.save(path, tensor.numpy())
    printed = run(
        arguments.runner,
        *("--model_path", folder / f"{name}_xnnpack_fp32.pte"),
        *("--inputs", ",".join(map(str, paths))),
        *("--output-dir", folder / f"{name}_outputs"),
        *("--threads", str(threads), "--warmup", str(WARM_UPS), "--iterations", str(ITERATIONS)),
    )

    expected, times = eager(model, inputs, threads)
    actual = [np.load(folder / f"{name}_outputs/output_{index}.npy") for index in range(len(expected))]
    difference = max(map(compare, expected, actual))
    ours, theirs = reported("median", printed), statistics.median(times)
    print(f"\n{name}, median of {ITERATIONS} runs on {threads} thread{'s' if threads > 1 else ''}:")
    print(f"  xir          {ours:9.2f} ms")
    print(f"  torch eager  {theirs:9.2f} ms   ({theirs / ours:.2f} times as long)")
    print(f"Largest difference of the outputs: {difference:.1e} of eager's largest magnitude")
    if difference > TOLERANCE:
        print(f"error: that is more than {TOLERANCE:.0e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
