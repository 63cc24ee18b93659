"""Runs generated and altered programs in xir's runtime and in stock ExecuTorch (`make fuzz-differential`).

What both run has to give the same bytes: both call one XNNPACK. With --kernels the programs call portable kernels,
which each runtime has its own of: floats may differ by what their type rounds, all else has to be the same, and where
it is not, eager says which of the two is wrong.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from differential.arbiter import Verdict, judge
from differential.processes import FILLS, run_all
from differential.results import Output, Result, near, tensor_of
from differential.worker import inputs_of

ROOT = Path(__file__).parents[3]
GENERATOR = ROOT / "build" / "sanitize" / "backend_cpp" / "fuzz" / "xir_fuzz_replay"
REASONS = 8
"""How many of the commonest reasons for a refusal are printed."""

EQUAL = "equal"
DIFFERENT = "different"
CRASHED = "crashed xir"

COMPARED = frozenset({EQUAL, DIFFERENT, *Verdict})
"""What a program is that runs in both."""

TO_MEND = frozenset({CRASHED, DIFFERENT, Verdict.XIR, Verdict.UNDECIDED})
"""What must not be: xir is at fault, or nobody knows that it is not."""


def main() -> int:
    """Compare as many programs as asked for; 1 if xir is wrong in one, or most run in only one or neither."""
    parser = argparse.ArgumentParser(prog="python -m differential", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="programs (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first one's seed (default: 0)")
    parser.add_argument("--odd", action="store_true", help="programs whose parts need not agree")
    parser.add_argument("--kernels", action="store_true", help="programs that call portable kernels")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="where to leave programs whose results differ")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [str(GENERATOR), "--write", f"{folder}/", "--seed", str(options.seed)]
        command += ["--recipes", str(options.count), *([] if options.odd else ["--valid"])]
        if options.kernels:
            names = Path(folder) / "kernels.txt"
            names.write_text("\n".join(kernels_of_stock()))
            command += ["--kernels", str(names)]
        subprocess.run(command, check=True)
        files = [Path(folder) / f"{seed}.pte" for seed in range(options.seed, options.seed + options.count)]
        ours = run_all("xir", files, FILLS[0])
        running = [file for file, result in zip(files, ours, strict=True) if isinstance(result, list)]
        first, second = (dict(zip(running, run_all("stock", running, fill), strict=True)) for fill in FILLS)
        found: Counter[str] = Counter()
        for file, result in zip(files, ours, strict=True):
            outcome, why = outcome_of(file, (result, first.get(file), second.get(file)), kernels=options.kernels)
            found[outcome] += 1
            if outcome not in COMPARED - {EQUAL}:
                continue
            sys.stdout.write(f"program {file.stem}: {outcome}{why and f', {why}'}\n")
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, options.keep)
    for outcome, count in found.most_common():
        sys.stdout.write(f"{count:6} {outcome}\n")
    reasons = Counter(result.partition("\n")[0] for result in (*ours, *first.values()) if isinstance(result, str))
    for reason, count in reasons.most_common(REASONS):
        sys.stdout.write(f"{count:6} times: {reason}\n")
    if not options.odd and sum(found[outcome] for outcome in COMPARED) * 2 < options.count:
        sys.stdout.write("too few programs run in both for this to tell much\n")
        return 1
    return int(any(found[outcome] for outcome in TO_MEND))


def kernels_of_stock() -> list[str]:
    """Kernels with results to write to, without those that draw numbers or leave memory as it was."""
    from executorch.extension.pybindings.portable_lib import _get_operator_names  # pyright: ignore

    left_out = ("rand", "empty", "dropout", "sym_", "_local_scalar")
    names: list[str] = sorted(_get_operator_names())
    return [
        name
        for name in names
        if "." in name and not name.startswith("executorch_prim") and not any(part in name for part in left_out)
    ]


def outcome_of(file: Path, results: tuple[Result, Result | None, Result | None], *, kernels: bool) -> tuple[str, str]:
    """What became of a program, by what it gave in xir and, where that is something, twice in stock; and why."""
    ours, stock, again = results
    if isinstance(ours, str):
        return ("refused by xir" if ours != "crash" else CRASHED), ""
    if stock is None or isinstance(stock, str):
        return ("crashed stock" if stock == "crash" else "refused by stock"), ""
    if stock != again:
        return "not the same in stock twice", ""
    if not kernels:
        return (EQUAL if ours == stock else DIFFERENT), ""
    if len(ours) == len(stock) and all(map(near, ours, stock)):
        return EQUAL, ""
    return judged(file.read_bytes(), ours, stock)


def judged(data: bytes, ours: Sequence[Output], stock: Sequence[Output]) -> tuple[str, str]:
    """The arbiter's verdict on a program whose results differ."""
    return judge(data, inputs_of(data), list(map(tensor_of, ours)), list(map(tensor_of, stock)))


if __name__ == "__main__":
    sys.exit(main())
