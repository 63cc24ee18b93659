"""Runs programs whose kernels are Python's or torch's, and wrong in any way (`make fuzz-boundary`)."""

from __future__ import annotations

import argparse
import importlib.util
import re
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SLOWEST = 60.0
"""Seconds that no case takes, on a machine with other things to do: it waits for itself."""


def main() -> int:
    """Run cases for the time asked for, and print each kind of failure once; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=int, default=300, help="seconds (default: 300)")
    parser.add_argument("--processor-time", type=int, metavar="S", help="seconds of the processor, if they end first")
    parser.add_argument("--seed", type=int, help="number of the first case (default: another each time)")
    parser.add_argument("--stop", action="store_true", help="end with the first failure")
    parser.add_argument("--show", type=int, metavar="CASE", help="print a case, run it, and end")
    parser.add_argument("--native", metavar="FILE", help="another build of the extension module")
    parser.add_argument("--planted", metavar="FILE=FILE", help="a source of xir, and what to take for it")
    parser.add_argument("--worker", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.show is not None or options.worker is not None:
        replace_parts(options.native, options.planted)
        from boundary_fuzz.cases import show, work

        return show(options.show) if options.show is not None else work(options.seed, Path(options.worker))
    first = secrets.randbelow(1 << 40) if options.seed is None else options.seed
    passed_on = [f"--{name}={value}" for name in ("native", "planted") if (value := getattr(options, name)) is not None]
    found: Counter[str] = Counter()
    cases = 0
    end = time.monotonic() + options.time
    for cases, failure in _failures(first, end, options.processor_time, passed_on):
        if failure is None:
            continue
        kind = re.sub(r"'[^']*'|-?\d+", "_", failure)
        if kind not in found:
            sys.stdout.write(f"case {first + cases - 1}: {failure}\n")
            sys.stdout.flush()
        found[kind] += 1
        if options.stop:
            break
    sys.stdout.write(f"{cases} cases from {first} on: {sum(found.values())} failed\n")
    return int(bool(found))


def replace_parts(native: str | None, planted: str | None) -> None:
    """Have Python take another extension module, or another text of a source, when xir is imported."""
    if native is not None:
        spec = importlib.util.spec_from_file_location("xir.runtime._native", native)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[spec.name] = module
    if planted is not None:
        from bench.planted import Planter

        file, _, text = planted.partition("=")
        sys.meta_path.insert(0, Planter(file, Path(text).read_text(encoding="utf-8")))


def _failures(
    first: int, end: float, processor_time: int | None, passed_on: list[str]
) -> Iterator[tuple[int, str | None]]:
    """How many cases are done, and what failed in the last of them, if something did."""
    done = 0

    def is_over() -> bool:
        if processor_time is None:
            return time.monotonic() > end
        taken = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.monotonic() > end or taken.ru_utime + taken.ru_stime > processor_time

    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "case"
        while not is_over():
            at.write_text("")
            command = [sys.executable, "-m", "boundary_fuzz", f"--seed={first + done}", f"--worker={at}", *passed_on]
            worker = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
            latest, since = "", time.monotonic()
            while worker.poll() is None:
                time.sleep(0.05)
                now = at.read_text()
                if now != latest:
                    latest, since = now, time.monotonic()
                if time.monotonic() > end or time.monotonic() - since > SLOWEST:
                    worker.kill()
            said = worker.communicate()[0].strip()
            number = int(latest) if latest else first + done
            ended = number - first + 1
            if time.monotonic() > end and worker.returncode < 0 and time.monotonic() - since <= SLOWEST:
                yield ended - 1, None
                return
            done = ended
            yield done, _failure(worker.returncode, said, time.monotonic() - since)


def _failure(status: int, said: str, seconds: float) -> str | None:
    if status == 0:
        return None
    told = said.splitlines()[-1] if said else ""
    if status == 1:
        return told
    if seconds > SLOWEST:
        return f"it does not end within {SLOWEST:.0f} seconds"
    return f"its process ends with {status}: {told}"
