"""One task of a sweep: compiled for each processor, run on each device. It has a process of its own."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import io
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from xir.plugin_loading import load_installed_plugins, load_named_plugins
from xir.tools.aot.arguments import parse_arguments, partitioners_of
from xir.tools.aot.precision import LEAST_SQNR, precision_of
from xir.tools.aot.quantization import quantize_program
from xir.tools.aot.source import load
from xir.tools.command_line import UsageError
from xir.tools.sweep.device_runs import BothFiles, ExpectedOutputs, on_device
from xir.tools.sweep.plan import Task, safe_name
from xir.tools.sweep.results import Result, Run

if TYPE_CHECKING:
    from torch.export import ExportedProgram


@dataclass(frozen=True)
class Job:
    """A task with all that doing it takes."""

    task: Task
    plan_folder: Path
    output: Path
    seconds: float

    def failed(self, reason: str) -> list[Result]:
        """The results of a task that failed as a whole."""
        return [replace(result, error=reason) for result in self.results()]

    def results(self) -> list[Result]:
        """One for each processor and device, of which nothing is known yet."""
        task = self.task
        return [
            Result(task.key(cpu, device), task.model, task.form, cpu, device.name)
            for cpu in task.cpus
            for device in task.devices
        ]


def do(job: Job, tell: Callable[[list[Result]], None]) -> None:
    """Do a task, and tell its results, one for each processor; what goes wrong is one as well.

    PyTorch computes on one thread: two for each of several tasks would wait for each other on the same cores, and
    a file's bytes would depend on how many tasks there are at once.
    """
    from xir.torch_threads import one_thread

    os.chdir(job.plan_folder)
    warnings.filterwarnings("ignore")
    with one_thread(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            results = _done(job)
        except Exception as error:  # of the model, of torch: it is what became of this task alone
            results = job.failed(_text(error))
    tell(results)


def _text(error: Exception) -> str:
    """The error in a line."""
    diagnostic = getattr(error, "diagnostic", None)
    lines = str(error if diagnostic is None else diagnostic).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _done(job: Job) -> list[Result]:
    """Compile for each processor, then run on each device. Any error of the model's, or of quantising it."""
    task, run = job.task, Run(job.output)
    load_installed_plugins()
    options = [parse_arguments(load_named_plugins(task.arguments_for(cpu))) for cpu in task.cpus]
    _, exact = load(options[0])
    reference = _reference(exact, LEAST_SQNR[precision_of(options[0], exact)])
    compiled = [*_compiled(task, options, exact, run)]
    names = [task.file_key(cpu) for cpu in task.cpus]
    files = [BothFiles(run.file(name), run.file(name, before=True)) for name in names]
    results: list[Result] = []
    for device in task.devices:
        keyed = [
            replace(each, key=task.key(cpu, device), device=device.name)
            for each, cpu in zip(compiled, task.cpus, strict=True)
        ]
        with _alone(job.output / f".{safe_name(device.name)}.busy"):
            results += on_device(device, keyed, files, reference, job.seconds)
    return results


def _reference(exact: ExportedProgram, least: float) -> ExpectedOutputs:
    """What the model computes in PyTorch. UsageError if there is nothing to compute it on."""
    from xir.runtime.agreement import example_outputs, example_values

    values = example_values(exact)
    if values is None:
        raise UsageError("the program was saved without example inputs: export it again")
    return ExpectedOutputs(values, example_outputs(exact), least)


def _compiled(task: Task, options: Sequence[argparse.Namespace], exact: ExportedProgram, run: Run) -> Generator[Result]:
    """The files of all processors. Any error of quantising the model."""
    program = exact
    for cpu, each in zip(task.cpus, options, strict=True):
        start = time.perf_counter()
        if each.quantize is not None and (program is exact or _asks_what_layers_cost(each)):
            program = quantize_program(each, exact)[0]
        found = Result("", task.model, task.form, cpu, "")
        try:
            found = _written(found, each, program, run.file(task.file_key(cpu)))
        except Exception as error:  # of a pass: it is what became of this program alone
            found = replace(found, error=_text(error))
        yield replace(found, compile_seconds=time.perf_counter() - start)


def _asks_what_layers_cost(options: argparse.Namespace) -> bool:
    """Whether what is quantised depends on the processor."""
    return options.min_sqnr is not None or bool(options.max_drop)


def _written(result: Result, options: argparse.Namespace, program: ExportedProgram, path: Path) -> Result:
    """Write a file."""
    from xir.api import to_edge

    edge = to_edge(program, max_size=options.max_size)
    for partitioner in partitioners_of(options):
        edge = edge.to_backend(partitioner)
    executorch = edge.to_executorch()
    executorch.save(path)
    return replace(
        result,
        file_bytes=path.stat().st_size,
        delegates=executorch.num_delegates,
        outside=len(executorch.kernel_names),
    )


@contextlib.contextmanager
def _alone(path: Path) -> Generator[None]:
    """Only one process at a time is in here; one that goes down leaves."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Do the task whose pickle comes in, and write the pickle of its results: a process that another machine starts."""
    told: list[list[Result]] = []
    do(pickle.load(sys.stdin.buffer), told.append)
    sys.stdout.buffer.write(pickle.dumps(told[0]))
