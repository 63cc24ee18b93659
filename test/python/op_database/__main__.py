"""Run PyTorch's operator database through the compiler, and write the page of its outcomes."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported

from op_database.exceptions import unneeded
from op_database.outcome import FAULTS, ROOT, Kind
from op_database.page import page
from op_database.run import SPREAD, Operator, Records, read, run
from op_database.samples import DTYPES, operators
from xir.files import atomic_file


def main() -> int:
    """The command; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m op_database", description=__doc__)
    parser.add_argument("operators", nargs="*", help="names in the database, such as add or nn.functional.relu")
    parser.add_argument(
        "--types", default="fp32", metavar="A,B", help=f"of {', '.join(DTYPES)}, or 'all' (%(default)s)"
    )
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes (%(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/op-database", help="of outcomes (%(default)s)")
    parser.add_argument(
        "--most",
        type=int,
        metavar="N",
        help=f"run so many samples of an operator, spread over them (all of fp32, {SPREAD} of others)",
    )
    parser.add_argument("--anew", nargs="*", default=[], metavar="NAME", help="run these operators once more")
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
    for count, _ in enumerate(run(wanted, options.folder, options.jobs, options.most), 1):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{count} of {len(wanted)} operators")
    found = {operator: read(operator.path(options.folder)) for operator in wanted}
    if options.page is not None:
        with atomic_file(options.page) as stream:
            stream.write(page(found).encode())
    is_whole = len(types) == len(DTYPES) and not options.operators and options.most is None
    return max(report(found), report_unneeded(found) if is_whole else 0)


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
    outcomes = ((operator, each) for operator, records in found.items() for each in records.outcomes.values())
    lines = unneeded({(each.detail, operator.name) for operator, each in outcomes if each.kind is Kind.LISTED})
    sys.stderr.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
