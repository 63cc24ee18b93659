"""Tasks on the workers of a dask scheduler, which may be other machines that see the same folders."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Generator, Sequence

from xir.tools.command_line import UsageError
from xir.tools.sweep.results import Result
from xir.tools.sweep.task import Job
from xir.workers import Ended, Told

PATIENCE = 10.0
"""Seconds that a scheduler may take to answer."""


def run_on_dask(
    jobs: Sequence[Job], address: str, *, timeout: float, attempts: int
) -> Generator[Told[Job] | Ended[Job]]:
    """Work on tasks, and yield results as they come. UsageError if there is no scheduler at the address.

    Each task is a process of its worker's: one that goes down costs the task one of its `attempts`. A worker that goes
    down costs nothing: dask gives its task to another one. A device that tasks have named is a resource of dask's,
    `DEVICE=1`, for all but "local", so that one task at a time has it.
    """
    try:
        from distributed import Client, as_completed
    except ModuleNotFoundError as error:
        raise UsageError(f"--scheduler needs {error.name}: it comes with xir[sweep]") from error
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--scheduler: no dask scheduler answers at '{address}': {error}") from error
    with client:
        futures = {
            client.submit(in_process, job, timeout, attempts, pure=False, resources=_devices(job)): job for job in jobs
        }
        for future in as_completed(futures):
            job = futures[future]
            error = future.exception()
            if error is not None:
                yield Ended(job, f"dask: {error}", is_late=False, attempts=attempts)
                continue
            results, reason = future.result()
            if results is not None:
                yield Told(job, results)
            yield Ended(job, reason, is_late=False, attempts=attempts)


def _devices(job: Job) -> dict[str, float]:
    return {device.name: 1.0 for device in job.task.devices if device.name != "local"}


def in_process(job: Job, timeout: float, attempts: int) -> tuple[list[Result] | None, str | None]:
    """A task's results, or why there are none, from a process that may go down. Workers call it."""
    command = [sys.executable, "-c", "from xir.tools.sweep.task import main; main()"]
    reason = None
    for _ in range(attempts):
        try:
            done = subprocess.run(command, input=pickle.dumps(job), capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            reason = f"it took longer than {timeout:g} s"
            continue
        if done.returncode == 0:
            return pickle.loads(done.stdout), None
        reason = f"the process ended with exit code {done.returncode}"
    return None, reason
