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

from op_database.exceptions import unneeded
from op_database.outcome import FAULTS, ROOT, Kind
from op_database.page import page
from op_database.run import ALL, SPREAD, TIMEOUT, Choice, Operator, Records, read, run, write
from op_database.samples import DTYPES, operators
from xir.files import atomic_file
from xir.progress import counted


@dataclass(frozen=True)
class Run:
    """A run of some operators, whose number is known."""

    operators: list[Operator]
    folder: Path
    jobs: int
    choice: Choice | None
    timeout: float

    def __len__(self) -> int:
        return len(self.operators)

    def __iter__(self) -> Iterator[Operator]:
        return run(self.operators, self.folder, self.jobs, choice=self.choice, timeout=self.timeout)


def main() -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m op_database", description=__doc__)
    parser.add_argument("operators", nargs="*", help="names in the database, such as add or nn.functional.relu")
    parser.add_argument(
        "--types", default="fp32", metavar="A,B", help=f"of {', '.join(DTYPES)}, or 'all' (%(default)s)"
    )
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/op-database", help="of outcomes (%(default)s)")
    parser.add_argument("--first", type=int, default=ALL, metavar="N", help="make N samples of an operator at most")
    parser.add_argument(
        "--most",
        type=int,
        metavar="N",
        help=f"run so many of those, spread over them (all of fp32, {SPREAD} of others)",
    )
    parser.add_argument("--again", default="", metavar="A,B", help="run samples with these outcomes once more")
    parser.add_argument("--anew", nargs="*", default=[], metavar="NAME", help="run these operators once more")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds for a sample (%(default)s)")
    parser.add_argument("--page", type=Path, help="write the page of the outcomes here")
    options = parser.parse_args()
    types = list(DTYPES) if options.types == "all" else options.types.split(",")
    if unknown := [each for each in types if each not in DTYPES]:
        parser.error(f"'{unknown[0]}' is none of the types {', '.join(DTYPES)}")
    known = {name for dtype in types for name in operators(dtype)}
    if unknown := [name for name in (*options.operators, *options.anew) if name not in known]:
        parser.error(f"the database has no operator '{unknown[0]}' in {', '.join(types)}")
    wanted = [
        Operator(name, dtype)
        for dtype in types
        for name in operators(dtype)
        if not options.operators or name in options.operators
    ]
    for operator in wanted:
        if operator.name in options.anew:
            operator.path(options.folder).unlink(missing_ok=True)
    forget(wanted, options.folder, {Kind(kind) for kind in options.again.split(",") if kind})
    one_for_all = options.most is not None or options.first != ALL
    choice = Choice(options.first, options.most or ALL) if one_for_all else None
    for _ in counted("operators", Run(wanted, options.folder, options.jobs, choice, options.timeout)):
        pass
    found = {operator: read(operator.path(options.folder)) for operator in wanted}
    if options.page is not None:
        with atomic_file(options.page) as stream:
            stream.write(page(found).encode())
    is_whole = len(types) == len(DTYPES) and not options.operators and choice is None
    return max(report(found), report_unneeded(found) if is_whole else 0)


def forget(wanted: list[Operator], folder: Path, kinds: set[Kind]) -> None:
    """Remove the outcomes of these kinds, for their samples to run again."""
    for operator in wanted if kinds else ():
        records = read(path := operator.path(folder))
        kept = {index: outcome for index, outcome in records.outcomes.items() if outcome.kind not in kinds}
        if len(kept) < len(records.outcomes):
            write(path, Records(kept, records.made, records.first))


def report(found: dict[Operator, Records]) -> int:
    """Print how many samples end in which way, and what there is to mend; 1 if there is."""
    outcomes = [(operator, *item) for operator, records in found.items() for item in sorted(records.outcomes.items())]
    for dtype in dict.fromkeys(operator.dtype for operator in found):
        of_type = [outcome for operator, _, outcome in outcomes if operator.dtype == dtype]
        totals = Counter(outcome.kind for outcome in of_type)
        print(f"{dtype}: {len(of_type)} samples, {sum(outcome.runs for outcome in of_type)} comparisons")
        for kind in Kind:
            if totals[kind] or kind in FAULTS:
                print(f"{totals[kind]:6} {kind}")
    for operator, index, outcome in outcomes:
        if outcome.kind in FAULTS:
            print(f"{operator.name}[{index}] {operator.dtype}: {outcome.kind}: {outcome.detail}", file=sys.stderr)
    return 1 if any(outcome.kind in FAULTS for _, _, outcome in outcomes) else 0


def report_unneeded(found: dict[Operator, Records]) -> int:
    """Print which differences are listed and found no longer; 1 if there are any."""
    needed = {
        (outcome.detail, operator.name)
        for operator, records in found.items()
        for outcome in records.outcomes.values()
        if outcome.kind is Kind.LISTED
    }
    for line in (lines := unneeded(needed)):
        print(line, file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
