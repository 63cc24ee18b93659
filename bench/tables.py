"""`make tables`: measure what runtimes this machine has, keep the numbers as JSON, and draw the page from them.

Latency and first run are taken in one process, the runtimes in turn, as in `make bench`; the memory of each program in
a process of its own, as what its peak grows by from before the file is loaded to after the first run. Numbers go to
bench/results/<processor>.json with the date and all versions; docs/performance.md and its plots are drawn from all such
files (`--draw` measures nothing). A row that is measured again replaces the earlier one.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import datetime
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from bench import quantization
from bench.__main__ import processor
from bench.latency import Latency, compare_all
from bench.models import named_model
from bench.processes import in_copy_of_process
from bench.progress import step
from bench.runtimes import FORMS, Inputs, Peer, installed_peers

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
MODELS = ("mv2", "mv3", "resnet18", "vit")
QUICK_MODELS = ("linear", "mul")
FORMAT = 1
"""Of the JSON; a reader refuses others."""


@dataclass(frozen=True)
class Row:
    """One program in one runtime: times in milliseconds and seconds, sizes in bytes."""

    model: str
    form: str
    runtime: str
    threads: int
    load_ms: float
    first_ms: float
    median_ms: float
    minimum_ms: float
    memory_bytes: int
    file_bytes: int
    compile_s: float

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What a later measurement of the same replaces."""
        return self.model, self.form, self.runtime, self.threads


@dataclass(frozen=True)
class Results:
    """What one machine's file has."""

    processor: str
    cores: int
    date: str
    versions: dict[str, str]
    rows: list[Row]

    @classmethod
    def read(cls, path: Path) -> Results:
        """The results of a file. ValueError if it is of another format."""
        tree: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if tree.pop("format", None) != FORMAT:
            raise ValueError(f"{path} is not of format {FORMAT}; measure again with `make tables`")
        rows: list[Any] = tree.pop("rows")
        return cls(**tree, rows=[Row(**row) for row in rows])

    def write(self, path: Path) -> None:
        """Write the file; earlier rows of the same processor that were not measured again stay."""
        rows = {row.key: row for row in (Results.read(path).rows if path.exists() else [])}
        rows |= {row.key: row for row in self.rows}
        whole = dataclasses.replace(self, rows=[rows[key] for key in sorted(rows)])
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"format": FORMAT} | dataclasses.asdict(whole), indent=1)
        path.write_text(text + "\n", encoding="utf-8")


def slug(text: str) -> str:
    """A processor's name, as a file's."""
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def peak_bytes() -> int:
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def memory_of(peer: Peer, path: Path, inputs: Inputs) -> int:
    """How much a new process's peak grows by while it loads a program on one thread and runs it once."""

    def measure() -> int:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew, proc(5)
        before = peak_bytes()
        peer.load(path, 1)(inputs)
        return peak_bytes() - before

    return in_copy_of_process(measure)


def size_of(path: Path) -> int:
    """The bytes of a program: OpenVINO's weights and ONNX's data lie beside it."""
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.stem}.*"))


def compile_form(peer: Peer, model: torch.nn.Module, sample: Inputs, form: str, path: Path) -> float:
    """Write a program; the seconds that it took from the exported program on."""
    images = quantization.calibration_inputs(sample)
    exported = peer.exported(model, sample, images, form)
    start = time.perf_counter()
    peer.compile(exported, form, path)
    return time.perf_counter() - start


def rows_of(name: str, form: str, peers: Sequence[Peer], threads: Sequence[int], folder: Path) -> list[Row]:
    """One form of one model in each runtime that has it."""
    label, model, sample = named_model(name)
    if form not in ("portable", "fp32"):
        quantization.gather_statistics(model, quantization.calibration_inputs(sample))
    programs: list[tuple[Peer, Path, float]] = []
    for peer in peers:
        if form not in peer.forms:
            continue
        path = folder / f"{label}_{form}_{slug(peer.name)}{peer.suffix}"
        # A peer's quantizer may change the model in place.
        own = copy.deepcopy(model)
        try:
            with step(f"Compiling {label}, {form}, with {peer.name}"):
                programs.append((peer, path, compile_form(peer, own, sample, form, path)))
        except Exception as error:  # whatever another's tool raises; the others are measured all the same
            if "xir" in peer.packages:
                raise
            said = str(error).strip().splitlines() or [type(error).__name__]
            print(f"warning: {peer.name} has no {form} of {label}: {said[-1]}", file=sys.stderr)
    if not programs:
        return []
    memory = [memory_of(peer, path, sample) for peer, path, _ in programs]
    rows: list[Row] = []
    for count in threads:
        loaders = [(peer.name, peer.load, path) for peer, path, _ in programs]
        measured: Sequence[Latency] = compare_all(loaders, sample, count)
        for (peer, path, seconds), taken, peak in zip(programs, measured, memory, strict=True):
            times = taken.load, taken.first, taken.median, taken.minimum
            rows.append(Row(label, form, peer.name, count, *times, peak, size_of(path), seconds))
    return rows


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    """Measure each form of each model, and write its rows before the next one begins: an hour may end early."""
    peers = installed_peers()
    versions = {"python": platform.python_version(), "torch": version("torch")}
    versions |= {package: number for peer in peers for package, number in peer.versions().items()}
    cores = len(os.sched_getaffinity(0))
    today = datetime.date.today().isoformat()
    path = arguments.results / f"{slug(processor())}.json"
    for name in QUICK_MODELS if arguments.quick else arguments.models:
        for form in arguments.forms:
            rows = rows_of(name, form, peers, arguments.threads, folder)
            Results(processor(), cores, today, versions, rows).write(path)
    print(f"wrote {path}")


def main() -> None:
    """Measure, write, and draw."""
    parser = argparse.ArgumentParser(prog="python -m bench.tables", description=__doc__)
    parser.add_argument("--models", nargs="+", default=list(MODELS), help="of the zoo, or FILE.py:FACTORY")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS), help="default: all")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default: 1 2")
    parser.add_argument(
        "--quick", action="store_true", help=f"{' and '.join(QUICK_MODELS)} alone: to see that it works"
    )
    parser.add_argument("--results", type=Path, help="the folder of JSON files (bench/results; quick: build/tables)")
    parser.add_argument("--page", type=Path, help="default: docs/performance.md; quick: build/tables/performance.md")
    parser.add_argument("--draw", action="store_true", help="only draw what was measured before")
    arguments = parser.parse_args()
    trial = ROOT / "build" / "tables"
    arguments.results = arguments.results or (trial if arguments.quick else RESULTS)
    arguments.page = arguments.page or (trial if arguments.quick else ROOT / "docs") / "performance.md"
    if not arguments.draw:
        with tempfile.TemporaryDirectory() as folder:
            measure(arguments, Path(folder))
    from bench.draw import draw_page

    files = sorted(arguments.results.glob("*.json"))
    if not files:
        sys.exit(f"error: there are no results in {arguments.results}; measure some first")
    for written in draw_page([Results.read(path) for path in files], arguments.page):
        print(f"wrote {written}")


if __name__ == "__main__":
    main()
