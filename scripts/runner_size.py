"""Build a small native runner for a model, check its size, and print what each of its parts takes.

The runner has the portable kernels that the given files call, no profiler, and no XNNPACK, which it loads; it is
built for size, and stripped. Fails if it is larger than --limit, or if a program that calls another kernel does not end
in a diagnostic.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from xir.emitter.container import map_file
from xir.emitter.needed_kernels import needed_kernels, runtime_kernels

ROOT = Path(__file__).parent.parent
BACKEND = ROOT / "backend_cpp"
ENVIRONMENT = os.environ | {"VIRTUAL_ENV": sys.prefix}
"""In which the runner finds XNNPACK."""

LIMIT = 1_000_000
"""Bytes; what a runner for MobileNetV2 may have."""


def build(folder: Path, kernels: str, profiler: bool) -> Path:
    """Configure and build; the runner, with its symbols."""
    options = {
        "CMAKE_BUILD_TYPE": "MinSizeRel",
        "XIR_KERNELS": kernels,
        "XIR_PROFILER": "ON" if profiler else "OFF",
        "XIR_BUILD_SHARED": "OFF",
        "XIR_WERROR": "ON",
    }
    defines = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run(["cmake", "--log-level=WARNING", "-S", BACKEND, "-B", folder, "-G", "Ninja", *defines], check=True)
    subprocess.run(["cmake", "--build", folder], check=True)
    return folder / "xnn_executor_runner"


def symbols(file: Path, *flags: str) -> list[list[str]]:
    """What nm prints of a file's symbols, a line as its words."""
    printed = subprocess.run(["nm", *flags, file], check=True, capture_output=True, text=True).stdout
    return [line.split() for line in printed.splitlines()]


def parts(folder: Path, runner: Path) -> Counter[str]:
    """The bytes of the runner's code and data by the folder of the runtime that they were compiled from."""
    places: dict[str, set[str]] = {}
    for target in ("xir_runtime.dir/src", "xir_runner_parts.dir", "xnn_executor_runner.dir"):
        base = folder / "CMakeFiles" / target
        for path in base.rglob("*.o"):
            place = path.relative_to(base).parts[0]
            for words in symbols(path, "--defined-only"):
                places.setdefault(words[-1], set()).add(place)
    taken: Counter[str] = Counter()
    for words in symbols(runner, "--defined-only", "--print-size"):
        if len(words) == 4 and words[2] not in "bB":
            of = places.get(words[3], {"the compiler"})
            taken[next(iter(of)) if len(of) == 1 else "templates of several"] += int(words[1], 16)
    return taken


def failure(runner: Path, *arguments: str | Path) -> str:
    """What a run that has to fail says."""
    run = subprocess.run([runner, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT)
    if run.returncode != 1 or len(run.stderr.splitlines()) != 1:
        sys.exit(
            f"error: {' '.join(map(str, arguments))} ended with {run.returncode}, not one diagnostic: {run.stderr}"
        )
    return run.stderr


def check_diagnostics(runner: Path, kernels: str) -> None:
    """Of the golden programs, those that call other kernels are refused with the kernels' names and the option's."""
    refused = 0
    for path in sorted((BACKEND / "tests/data").glob("*.pte")):
        left_out = (needed_kernels(map_file(path)) & runtime_kernels()) - set(kernels.split(";"))
        if not left_out or "external" in path.name:
            continue
        text = failure(runner, "--model_path", path)
        missing = [word for word in [*left_out, "XIR_KERNELS"] if word not in text]
        if missing:
            sys.exit(f"error: the diagnostic of {path.name} does not name {', '.join(missing)}: {text}")
        refused += 1
    print(f"{refused} programs that call other kernels are refused by name")
    text = failure(runner, "--model_path", BACKEND / "tests/data/stock_q8.pte", "--profile")
    if "XIR_PROFILER=ON" not in text:
        sys.exit(f"error: the diagnostic of --profile does not name the option: {text}")


def main() -> int:
    """Build, check, print; 1 if the runner is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.pte", help="the programs that it is for")
    parser.add_argument("--all", action="store_true", help="with all kernels and the profiler, to compare")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/small", help="default: build/small")
    parser.add_argument("--limit", type=int, default=LIMIT, help=f"bytes (default: {LIMIT:,})")
    arguments = parser.parse_args()
    needed = {name for path in arguments.files for name in needed_kernels(map_file(path))} & runtime_kernels()
    kernels = "all" if arguments.all else ";".join(sorted(needed))
    runner = build(arguments.folder, kernels, profiler=arguments.all)
    stripped = runner.with_name("xnn_executor_runner.stripped")
    subprocess.run(["strip", "-o", stripped, runner], check=True)
    size = stripped.stat().st_size
    taken = parts(arguments.folder, runner)
    print(f"\nThe stripped runner has {size:,} bytes, with {len(needed) if not arguments.all else 'all'} kernels:\n")
    for part, count in [*taken.most_common(), ("tables of unwinding and relocation", size - taken.total())]:
        print(f"  {count:9,}  {part}")
    print()
    if arguments.all:
        return 0
    check_diagnostics(runner, kernels)
    for path in arguments.files:
        subprocess.run([runner, "--model_path", path, "--iterations", "3"], check=True, env=ENVIRONMENT)
    if size > arguments.limit:
        print(f"error: the runner is larger than {arguments.limit:,} bytes", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
