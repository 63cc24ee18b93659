"""Run PyTorch's operator database through the compiler, and write the page of its outcomes."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported

from op_database.outcome import FAULTS, ROOT, Kind
from op_database.page import page
from op_database.run import ALL, TIMEOUT, Records, path_of, read, run, write
from op_database.samples import operators
from xir.files import atomic_file
from xir.progress import counted


@dataclass(frozen=True)
class Run:
    """A run of some operators, whose number is known."""

    names: list[str]
    folder: Path
    jobs: int
    first: int
    timeout: float

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return run(self.names, self.folder, self.jobs, first=self.first, timeout=self.timeout)


def main() -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m op_database", description=__doc__)
    parser.add_argument("operators", nargs="*", help="names in the database, such as add or nn.functional.relu")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/op-database", help="of outcomes (%(default)s)")
    parser.add_argument("--first", type=int, default=ALL, metavar="N", help="run N samples of an operator at most")
    parser.add_argument("--again", default="", metavar="A,B", help="run samples with these outcomes once more")
    parser.add_argument("--anew", nargs="*", default=[], metavar="NAME", help="run these operators once more")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds for a sample (%(default)s)")
    parser.add_argument("--page", type=Path, help="write the page of the outcomes here")
    options = parser.parse_args()
    names = options.operators or list(operators())
    if unknown := [name for name in (*names, *options.anew) if name not in operators()]:
        parser.error(f"the database has no operator '{unknown[0]}' in fp32")
    for name in options.anew:
        path_of(options.folder, name).unlink(missing_ok=True)
    forget(names, options.folder, {Kind(kind) for kind in options.again.split(",") if kind})
    for _ in counted("operators", Run(names, options.folder, options.jobs, options.first, options.timeout)):
        pass
    found = {name: read(path_of(options.folder, name)) for name in names}
    if options.page is not None:
        with atomic_file(options.page) as stream:
            stream.write(page(found).encode())
    return report(found)


def forget(names: list[str], folder: Path, kinds: set[Kind]) -> None:
    """Remove the outcomes of these kinds, for their samples to run again."""
    for name in names if kinds else ():
        records = read(path := path_of(folder, name))
        kept = {index: outcome for index, outcome in records.outcomes.items() if outcome.kind not in kinds}
        if len(kept) < len(records.outcomes):
            write(path, Records(kept, records.total))


def report(found: dict[str, Records]) -> int:
    """Print how many samples end in which way, and what there is to mend; 1 if there is."""
    outcomes = [(name, *item) for name, records in found.items() for item in sorted(records.outcomes.items())]
    totals = Counter(outcome.kind for _, _, outcome in outcomes)
    for kind in Kind:
        if totals[kind] or kind in FAULTS:
            print(f"{totals[kind]:6} {kind}")
    for name, index, outcome in outcomes:
        if outcome.kind in FAULTS:
            print(f"{name}[{index}]: {outcome.kind}: {outcome.detail}", file=sys.stderr)
    return 1 if FAULTS & totals.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
