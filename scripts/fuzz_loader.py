"""Runs libFuzzer over the loader (`make fuzz-loader`) and sums up what it did and found."""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FUZZER = ROOT / "build" / "fuzz" / "backend_cpp" / "fuzz" / "xir_fuzz_loader"
REPLAY = FUZZER.with_name("xir_fuzz_replay")
WORK = ROOT / "build" / "fuzz-loader"
KEPT = ROOT / "backend_cpp" / "fuzz" / "corpus"
KERNELS = ROOT / "backend_cpp" / "fuzz" / "kernels"
GOLDEN = ROOT / "backend_cpp" / "tests" / "data"
SLOW = 5.0
"""Seconds of the processor that no input should take, its share of starting the fuzzer included."""


def main() -> int:
    """Fuzz for the time asked for; 1 if an input crashed, hung, leaked or took too much memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time", type=int, default=300, help="seconds (default: 300)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--minimize", action="store_true", help="write the smallest inputs that cover as much as all")
    options = parser.parse_args()
    corpus, artifacts = WORK / "corpus", WORK / "found"
    for folder in (corpus, artifacts):
        folder.mkdir(parents=True, exist_ok=True)
    if options.minimize:
        return _minimize(corpus)
    for file in (*KEPT.iterdir(), *KERNELS.iterdir(), *GOLDEN.glob("*.pte")):
        shutil.copy(file, corpus / file.name)
    subprocess.run([str(REPLAY), "--stretched", "--write", f"{corpus}/", str(KERNELS)], check=True)
    command = [
        str(FUZZER), f"-fork={options.jobs}", "-ignore_crashes=1", "-ignore_ooms=1", "-ignore_timeouts=1",
        "-max_len=65536", "-len_control=0", "-timeout=25", "-rss_limit_mb=3000", f"-max_total_time={options.time}",
        f"-artifact_prefix={artifacts}/", str(corpus),
    ]  # fmt: skip
    executed = ""
    with (
        (WORK / "log").open("w", encoding="utf-8") as log,
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace", env=_environment()) as fuzzer,
    ):
        assert fuzzer.stderr is not None
        for line in fuzzer.stderr:
            log.write(line)
            if re.match(r"#\d+: cov:", line):
                executed = line.strip()
                if sys.stderr.isatty():
                    sys.stderr.write(f"\r{executed:<120.120}")
    found = sorted(path for path in artifacts.iterdir() if not _only_waited(path))
    sys.stdout.write(f"\n{executed or 'nothing was executed'}\n")
    for path in found:
        sys.stdout.write(f"found: {path.relative_to(ROOT)}\n")
    if found:
        sys.stdout.write(f"run one again: {FUZZER.relative_to(ROOT)} FILE\n")
        sys.stdout.write(f"what they did: {(WORK / 'log').relative_to(ROOT)}\n")
    return int(bool(found) or not executed)


def _environment() -> dict[str, str]:
    # By VIRTUAL_ENV XNNPACK is found, as `make` has it: without it no delegate of a program loads.
    return {"UBSAN_OPTIONS": "print_stacktrace=1", "VIRTUAL_ENV": sys.prefix, **os.environ}


def _only_waited(found: Path) -> bool:
    """Whether an input was slow by the clock on the wall alone, as on a machine with more to do; it is removed then."""
    if not found.name.startswith(("slow-unit-", "timeout-")):
        return False
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([str(FUZZER), str(found)], check=False, capture_output=True, env=_environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if run.returncode or taken > SLOW:
        return False
    found.unlink()
    return True


def _minimize(corpus: Path) -> int:
    """Replace what is kept in the tree by a set of inputs, as small as libFuzzer finds one."""
    chosen = WORK / "chosen"
    shutil.rmtree(chosen, ignore_errors=True)
    chosen.mkdir()
    command = [str(FUZZER), "-set_cover_merge=1", "-use_counters=0", "-max_len=16384", str(chosen), str(corpus)]
    subprocess.run(command, check=True, env=_environment(), stderr=subprocess.DEVNULL)
    for file in KEPT.iterdir():
        file.unlink()
    for file in chosen.iterdir():
        shutil.copy(file, KEPT / file.name)
    sys.stdout.write(f"{len(list(KEPT.iterdir()))} inputs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
