"""`xir-sweep`: compile, compare and measure many models in many forms, and write one table of them."""

from __future__ import annotations

import argparse
import os
import sys
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

from xir.progress import counted
from xir.tools.command_line import ArgumentParser, UsageError
from xir.tools.sweep.plan import SweepPlan, Task, read_plan
from xir.tools.sweep.results import Result, Run, worse_lines
from xir.tools.sweep.tables import write_tables
from xir.tools.sweep.task import Job, do
from xir.workers import Ended, Told, run

ATTEMPTS = 2
"""A process that goes down costs its program a second try."""


PRELOAD = ("torch", "torch._dynamo", "xir.api", "xir.importer", "xir.quantizer", "xir.tools.sweep.task")
"""What every task imports: exporting, dynamo by itself takes longer than compiling a small model."""


def argument_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="xir-sweep",
        description="Compile many models in many forms for many processors, compare the outputs of each file with "
        "PyTorch's, measure it on one thread, and write the table to DIR as table.md, table.json and table.html. A "
        "sweep that was interrupted goes on; one that is complete is done anew, and compared with file by file. Fails "
        "if a program fails, or is worse than in the last sweep.",
        allow_abbrev=False,
    )
    parser.add_argument("plan", metavar="PLAN.toml", type=Path, help="models, forms and processors; see docs/sweeps.md")
    parser.add_argument(
        "-o", dest="output", metavar="DIR", type=Path, default=Path("sweep"), help="results and files (default: sweep)"
    )
    parser.add_argument(
        "-j", "--jobs", metavar="N", type=int, default=os.cpu_count() or 1,
        help="compile so many programs at once (default: the processors of this machine); one at a time is measured",
    )  # fmt: skip
    parser.add_argument(
        "--scheduler", metavar="ADDRESS",
        help="the dask scheduler (tcp://HOST:PORT) whose workers do it; they see the same folders. Default: processes "
        "of this machine",
    )  # fmt: skip
    parser.add_argument(
        "--timeout", metavar="S", type=float, default=1800.0, help="seconds that a program may take (default: 1800)"
    )
    parser.add_argument("--anew", action="store_true", help="do all again, even if the last sweep was interrupted")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run with the arguments (default: the process's). Returns the exit code."""
    try:
        return _sweep(argument_parser().parse_args(argv))
    except (UsageError, OSError) as error:
        print(f"xir-sweep: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("xir-sweep: interrupted; the same command goes on where it ended", file=sys.stderr)
        return 130
    except SystemExit as error:
        return int(error.code or 0)
    except Exception as error:
        from xir.ir.internal_errors import report_bug

        return report_bug(error, "xir-sweep", sys.stderr)


def _sweep(options: argparse.Namespace) -> int:
    if options.jobs < 1:
        raise UsageError(f"--jobs is at least 1, not {options.jobs}")
    if not options.timeout > 0:
        raise UsageError(f"--timeout is above 0, not {options.timeout:g}")
    plan, found = read_plan(options.plan), Run(options.output.absolute())
    if options.anew or found.results().keys() >= {*plan.keys}:
        found.set_aside()
    found.begin()
    done = found.results()
    left = [task for task in plan.tasks if not done.keys() >= {*task.keys}]
    for results in counted("models", _Left(plan, left, found, options)):
        for result in results:
            found.add(result)
    done = found.results()
    results = {key: done[key] for key in plan.keys}
    before = found.before()
    paths = write_tables(found.folder, results, before)
    failed = [f"{each.label}: {each.error}" for each in results.values() if each.error]
    worse = worse_lines({key: each for key, each in results.items() if not each.error}, before)
    for line in (*failed, *worse):
        print(line)
    print(f"{len(results)} programs, {len(failed)} failed, {len(worse)} worse than in the last sweep: {paths[0]}")
    return 1 if failed or worse else 0


class _Left:
    """The results of the tasks that are left, as they come."""

    def __init__(self, plan: SweepPlan, tasks: Sequence[Task], found: Run, options: argparse.Namespace):
        folder = plan.folder.absolute()
        self._jobs = [Job(task, folder, found.folder, plan.seconds) for task in tasks]
        self._options = options

    def __len__(self) -> int:
        return len(self._jobs)

    def __iter__(self) -> Generator[list[Result]]:
        return _results(self._events())

    def _events(self) -> Iterable[Told[Job] | Ended[Job]]:
        timeout = self._options.timeout
        if self._options.scheduler is None:
            waiting = deque(self._jobs)
            return run(waiting, do, self._options.jobs, seconds=lambda _: timeout, attempts=ATTEMPTS, preload=PRELOAD)
        from xir.tools.sweep.dask_workers import run_on_dask

        return run_on_dask(self._jobs, self._options.scheduler, timeout=timeout, attempts=ATTEMPTS)


def _results(events: Iterable[Told[Job] | Ended[Job]]) -> Generator[list[Result]]:
    """What was told of each task, or why nothing was."""
    for event in events:
        if isinstance(event, Told):
            yield event.what
        elif event.reason is not None:
            times = "" if event.attempts == 1 else f", {event.attempts} times"
            yield event.task.failed(f"{event.reason}{times}")


if __name__ == "__main__":
    sys.exit(main())
