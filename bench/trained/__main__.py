"""Print a table of each trained model: how far recipes of int8 are from fp32 on inputs they have not seen."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
import warnings
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bench.trained import attacut, crepe, fcpe, mobilenet, resemblyzer, rxnmapper, silero
from bench.trained.recipes import Run, recipes
from bench.trained.tasks import Task
from xir.models import ModelError

TASKS = {
    module.__name__.rpartition(".")[2]: module.task
    for module in (mobilenet, crepe, fcpe, silero, attacut, rxnmapper, resemblyzer)
} | {"mobilenet_more": mobilenet.task_of_more_crops}


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a package is missing."""
    parser = argparse.ArgumentParser(prog="python -m bench.trained", description=__doc__)
    parser.add_argument("models", nargs="*", choices=[*TASKS, []], help=f"some of {', '.join(TASKS)} (default: all)")
    parser.add_argument("--only", help="recipes whose name has this in it")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        for name in options.models or TASKS:
            _print_table(TASKS[name](), options.only or "")
    except ModelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _print_table(task: Task, only: str) -> None:
    with torch.no_grad():
        exact = torch.cat([task.model(*inputs) for inputs in task.held_out])
    names = [
        task.agreement,
        *(["KL"] if task.are_logits else []),
        "SQNR, dB",
        *([task.metric] if task.truth else []),
    ]
    print(f"\n{task.name}: {len(task.calibration)} inputs to calibrate with, {len(task.held_out)} others compared\n")
    print(f"| recipe | {' | '.join(names)} | processor seconds |\n|:--|{'--:|' * (len(names) + 1)}")
    if task.truth is not None:
        print(f"| fp32 | {' | '.join([''] * (len(names) - 1))} | {task.truth(exact):.3f} | |")
    for name, quantize in recipes(task).items():
        if only not in name:
            continue
        print(f"| {name} | {' | '.join(_row(task, name, quantize, exact, len(names)))} |", flush=True)


def _row(task: Task, name: str, quantize: Callable[[], Run], exact: Tensor, columns: int) -> list[str]:
    """A recipe's measures and seconds. A peer that fails has its reason; what xir does must not fail."""
    start = time.process_time()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
            warnings.simplefilter("ignore")
            run = quantize()
        seconds = time.process_time() - start
        outputs = torch.cat([run(inputs) for inputs in task.held_out])
    except Exception as error:
        if name.startswith("xir"):
            raise
        return [*[""] * columns, f"fails: {str(error).splitlines()[0]}"]
    return [*measures(task, outputs, exact), f"{seconds:.0f}"]


def measures(task: Task, outputs: Tensor, exact: Tensor) -> list[str]:
    """What the table has of outputs [inputs, …]: means over inputs."""
    found = [f"{float((task.answers(outputs) == task.answers(exact)).float().mean()):.3f}"]
    if task.are_logits:
        wanted = exact.double().log_softmax(1)
        found.append(f"{float((wanted.exp() * (wanted - outputs.double().log_softmax(1))).sum(1).mean()):.4f}")
    signal, noise = (each.double().square().flatten(1).sum(1) for each in (exact, outputs.double() - exact.double()))
    found.append(f"{float((10 * torch.log10(signal / noise)).mean()):.1f}")
    return [*found, *([] if task.truth is None else [f"{task.truth(outputs):.3f}"])]


if __name__ == "__main__":
    sys.exit(main())
