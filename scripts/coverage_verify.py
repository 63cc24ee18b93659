"""Which branches of the verifier the C++ tests and the fuzzer's fixed programs take (`make coverage-verify`).

Clang counts the two outcomes of each condition, and this lists those that never came. A branch that no file can reach
stands in UNREACHABLE with its reason, one a line:

    decode_values.cc: condition as the source has it: true|false: reason

Every other branch has to be taken, and what stands there has to exist and not to be taken.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "fuzz" / "backend_cpp"
PROFILES = ROOT / "build" / "coverage-verify"
SOURCES = ROOT / "backend_cpp" / "src"
VERIFIER = ("program", "verify")
"""The folders that what a file says is checked in."""
UNREACHABLE = ROOT / "backend_cpp" / "tests" / "unreachable_branches.txt"
DATA = ROOT / "backend_cpp" / "tests" / "data"
TESTS, REPLAY = BUILD / "tests" / "xir_tests", BUILD / "fuzz" / "xir_fuzz_replay"


@dataclass(frozen=True, order=True)
class Branch:
    """One outcome of a condition; that of a macro, or of a loop over a range, is the line that has it."""

    file: str
    line: int
    column: int
    condition: str
    outcome: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.condition}: never {str(self.outcome).lower()}"

    @property
    def key(self) -> tuple[str, str, bool]:
        """What names the branch where lines move."""
        return self.file, self.condition, self.outcome


def main() -> int:
    """Run, count and list; 1 if a branch is neither taken nor explained, or an explanation is out of date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--recipes", type=int, default=3000, help="generated programs (default: 3000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a processor)")
    options = parser.parse_args()
    for profile in PROFILES.glob("*"):
        profile.unlink()
    golden = [str(path) for path in sorted(DATA.glob("*.pte"))]
    commands = [
        [str(TESTS)],
        [str(REPLAY), str(ROOT / "backend_cpp" / "fuzz" / "corpus")],
        [str(REPLAY), "--recipes", str(options.recipes)],
        [str(REPLAY), "--derived", "150", *golden],
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        if not all(pool.map(_run, range(len(commands)), commands)):
            return 1
    return _report(_taken())


def _run(number: int, command: list[str]) -> bool:
    environment = {**os.environ, "LLVM_PROFILE_FILE": f"{PROFILES}/{number}-%p.profraw"}
    return subprocess.run(command, env=environment, stdout=subprocess.DEVNULL).returncode == 0


def _report(taken: dict[Branch, bool]) -> int:
    explained, out_of_date = _read_unreachable(), 0
    missing = [branch for branch in sorted(taken) if not taken[branch] and branch.key not in explained]
    for file, condition, outcome in explained:
        keys = [branch for branch in taken if branch.key == (file, condition, outcome)]
        if all(taken[branch] for branch in keys):
            what = "is taken" if keys else "does not exist"
            sys.stdout.write(f"{UNREACHABLE.name}: {file}: {condition}: {outcome}: {what}\n")
            out_of_date += 1
    for branch in missing:
        sys.stdout.write(f"{branch}\n")
    covered = sum(taken.values())
    share = 100 * covered / len(taken) if taken else 0
    sys.stdout.write(
        f"{covered} of {len(taken)} branches taken ({share:.1f} %), "
        f"{len(taken) - covered - len(missing)} explained, {len(missing)} not\n"
    )
    return int(bool(missing) or out_of_date > 0 or not taken)


def _read_unreachable() -> set[tuple[str, str, bool]]:
    keys: set[tuple[str, str, bool]] = set()
    for line in UNREACHABLE.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        file, rest = line.split(": ", 1)
        for outcome in (True, False):
            condition, found, reason = rest.partition(f": {str(outcome).lower()}: ")
            if found and reason:
                keys.add((file, condition, outcome))
                break
        else:
            raise SystemExit(f"{UNREACHABLE.name}: no outcome or no reason: {line}")
    return keys


def _taken() -> dict[Branch, bool]:
    """Each branch of the verifier, and whether any run took it in any instance of its template."""
    merged = PROFILES / "merged.profdata"
    subprocess.run(["llvm-profdata", "merge", "-o", merged, *PROFILES.glob("*.profraw")], check=True)
    command = ["llvm-cov", "export", f"-instr-profile={merged}", str(TESTS), "-object", str(REPLAY)]
    exported = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    sources = {path: path.read_text().splitlines() for name in VERIFIER for path in (SOURCES / name).iterdir()}
    taken: dict[Branch, bool] = defaultdict(bool)
    for function in exported["data"][0]["functions"]:
        for branch, count in _branches(function, sources):
            taken[branch] |= count > 0
    return taken


def _branches(function: dict[str, Any], sources: dict[Path, list[str]]) -> list[tuple[Branch, int]]:
    # A region is line, column, end line, end column, count, file, expanded file, kind (llvm/ProfileData/Coverage).
    expansion = 1
    files = [Path(name).resolve() for name in function["filenames"]]
    used_at = {region[6]: region for region in function["regions"] if region[7] == expansion}
    found: list[tuple[Branch, int]] = []
    for line, column, end_line, end_column, true_count, false_count, file, *_ in function["branches"]:
        in_macro = file in used_at
        while file in used_at:
            line, column, end_line, end_column, _, file, *_ = used_at[file]
        text = sources.get(files[file])
        if text is None:
            continue
        condition = _text(text, (line, column), (end_line, end_column))
        if in_macro or condition == ":":
            condition = text[line - 1].strip()
        where = files[file].name, line, column, condition
        found += [(Branch(*where, True), true_count), (Branch(*where, False), false_count)]
    return found


def _text(lines: list[str], begin: tuple[int, int], end: tuple[int, int]) -> str:
    part = lines[begin[0] - 1 : end[0]]
    part[-1] = part[-1][: end[1] - 1]
    part[0] = part[0][begin[1] - 1 :]
    return " ".join(" ".join(part).split())


if __name__ == "__main__":
    sys.exit(main())
