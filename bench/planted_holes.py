"""`python -m bench.planted_holes`: opens mended holes of the runtime, one after the other: do the fuzzers find them?

Each hole of `bench/planted_holes.toml` is a change of some sources. Their objects are compiled of changed copies, and
linked with what the build of the fuzzer, or of the Python module, has otherwise: no source of the project changes, and
none knows of it. A hole is found if its fuzzer ends with an input within `--seconds` of one processor's time, and that
input is no finding of the fuzzer without the hole.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WORK = ROOT / "build" / "planted-holes"
LOADER_BUILD = ROOT / "build" / "fuzz"
LOADER = "backend_cpp/fuzz/xir_fuzz_loader"
REPLAY = "backend_cpp/fuzz/xir_fuzz_replay"
SEEDS = (ROOT / "backend_cpp" / "fuzz" / "kernels", ROOT / "backend_cpp" / "tests" / "data")
"""What the loader's fuzzer begins with: programs that succeed, and those of kernels with stretched sizes. What it found
in other runs would be no test of it."""


@dataclass(frozen=True)
class Edit:
    """A change of one source."""

    file: str
    before: str
    """What stands there once."""
    after: str

    def applied(self, text: str) -> str:
        """The changed text. ValueError if it does not have what is to be changed, once."""
        if text.count(self.before) != 1:
            raise ValueError(f"{self.file} has {text.count(self.before)} times: {self.before}")
        return text.replace(self.before, self.after)


@dataclass(frozen=True)
class Hole:
    """One hole that was mended."""

    name: str
    tells: str
    fuzzer: str
    """`loader` or `python`."""
    edits: tuple[Edit, ...]

    def sources(self) -> dict[str, str]:
        """File -> its text with the hole."""
        texts: dict[str, str] = {}
        for edit in self.edits:
            text = texts.get(edit.file) or (ROOT / edit.file).read_text(encoding="utf-8")
            texts[edit.file] = edit.applied(text)
        return texts


def planted_holes() -> list[Hole]:
    """The holes of `planted_holes.toml`."""
    text = Path(__file__).with_name("planted_holes.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["hole"]
    return [Hole(row["name"], row["tells"], row["fuzzer"], tuple(Edit(**edit) for edit in row["edit"])) for row in rows]


class Build:
    """A build whose objects are linked anew with some of them changed."""

    def __init__(self, folder: Path, target: str):
        self.folder = folder
        self.target = target
        listed = subprocess.run(
            ["ninja", "-C", str(folder), "-t", "commands", target], check=True, capture_output=True, text=True
        )
        self.commands = listed.stdout.splitlines()

    def with_sources(self, sources: dict[str, str], into: Path) -> Path:
        """The target, linked with the objects of these sources in the place of those of the files that they name."""
        copies: dict[Path, Path] = {}
        for file, text in sources.items():
            copy = copies[ROOT / file] = into / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
        units = {self._unit(source): into / f"unit_{index}.cc" for index, source in enumerate(copies)}
        objects = dict(self._compile(unit, planted, copies) for unit, planted in units.items())
        linked = into / Path(self.target).name
        command = next(line for line in self.commands if re.search(rf" -o {re.escape(self.target)}\b", line))
        # An object that stands before the archive it is a member of is taken in its place.
        first = [planted for original, planted in objects.items() if f" {original} " not in command]
        for original, planted in objects.items():
            command = command.replace(f" {original} ", f" {shlex.quote(planted)} ")
        command = re.sub(
            rf" -o {re.escape(self.target)}\b", f" -o {shlex.quote(str(linked))} {shlex.join(first)}", command
        )
        subprocess.run(command, shell=True, check=True, cwd=self.folder)
        return linked

    def _unit(self, source: Path) -> Path:
        """The file that is compiled: this one, or one that includes it with others of its folder."""
        for command in self.commands:
            found = re.search(r" -c (\S+)", command)
            if found and (found[1] == str(source) or _includes(self.folder / found[1], source)):
                return self.folder / found[1]
        raise ValueError(f"{self.target} is not made of {source.relative_to(ROOT)}")

    def _compile(self, unit: Path, planted: Path, copies: Mapping[Path, Path]) -> tuple[str, str]:
        """The objects of a compiled file, and of what it is with these copies in the place of sources."""
        text = f'#include "{unit}"\n' if unit in copies else unit.read_text(encoding="utf-8")
        for source, copy in copies.items():
            text = text.replace(f'"{source}"', f'"{copy}"')
        planted.write_text(text, encoding="utf-8")
        command = next(line for line in self.commands if re.search(rf" -c {re.escape(str(unit))}(\s|$)", line))
        found = re.search(r" -o (\S+\.o)\b", command)
        assert found is not None, command
        command = command.replace(f" -c {unit}", f" -c {planted}").replace(f" -o {found[1]}", f" -o {planted}.o")
        folders = {source.parent for source in copies}
        command += " -w " + shlex.join(f"-iquote{each}" for each in sorted(folders))  # a hole leaves unused functions
        subprocess.run(command, shell=True, check=True, cwd=self.folder)
        return found[1], f"{planted}.o"


def _includes(unit: Path, source: Path) -> bool:
    """Whether a compiled file is one that stands for several, this source among them."""
    return unit.name.startswith("unity_") and f'"{source}"' in unit.read_text(encoding="utf-8")


def environment() -> dict[str, str]:
    """What fuzzers find XNNPACK with, as `make` has it."""
    return {"UBSAN_OPTIONS": "print_stacktrace=1", "VIRTUAL_ENV": sys.prefix, **os.environ}


def loader_build() -> Build:
    """The build of the loader's fuzzer. RuntimeError if it finds no XNNPACK: no delegate would load."""
    command = [str(LOADER_BUILD / REPLAY), str(SEEDS[1] / "stock_q8.pte")]
    tried = subprocess.run(command, check=True, capture_output=True, text=True, env=environment())
    if "1 loaded" not in tried.stdout:
        raise RuntimeError(f"a program with a delegate does not load: {tried.stdout}")
    return Build(LOADER_BUILD, LOADER)


def python_build() -> Build:
    """The build of the extension module."""
    (folder,) = (ROOT / "build").glob(f"cp{sys.version_info[0]}{sys.version_info[1]}-*")
    return Build(folder, f"backend_cpp/_native{sysconfig.get_config_var('EXT_SUFFIX')}")


@dataclass(frozen=True)
class Outcome:
    """What a fuzzer makes of a hole."""

    found: bool
    seconds: float
    """Of the processor, until it ended."""
    executions: int
    """Of inputs, or cases, until then, as far as it has counted them."""
    told: str
    """The last that it said."""


def run(command: Sequence[str], seconds: int, log: Path) -> tuple[int, float]:
    """A command's exit status, and the seconds of the processor that it took; these many at most."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with log.open("ab") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=environment(), preexec_fn=limited
        )
        try:
            status = process.wait(IDLE * seconds)
        except subprocess.TimeoutExpired:  # it waits for itself
            process.kill()
            status = process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return status, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


IDLE = 12
"""Seconds that a process may take for each of the processor, on a machine with other things to do."""

OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)


def find_in_loader(hole: Hole, build: Build, folder: Path, seconds: int, seed: int) -> Outcome:
    """Have the loader's fuzzer look."""
    fuzzer = build.with_sources(hole.sources(), folder)
    corpus, log = folder / "corpus", folder / "log"
    corpus.mkdir()
    for seeds in SEEDS:
        for file in seeds.glob("*.pte"):
            shutil.copy(file, corpus / file.name)
    stretch = [str(LOADER_BUILD / REPLAY), "--stretched", "--write", f"{corpus}/", str(SEEDS[0])]
    subprocess.run(stretch, check=True)
    options = ["-timeout=25", "-rss_limit_mb=3000", "-max_len=65536", "-len_control=0", "-print_final_stats=1"]
    status, taken = run(
        [str(fuzzer), *options, f"-seed={seed}", f"-artifact_prefix={folder}/found-", str(corpus)], seconds, log
    )
    found = sorted(folder.glob("found-*"))
    if status == 0 or status in OUT_OF_TIME or not found:
        return Outcome(False, taken, executions(log), last_line(log))
    clean = folder / "log-without-hole"
    status, _ = run([str(LOADER_BUILD / LOADER), "-timeout=25", str(found[0])], seconds, clean)
    if status != 0:
        return Outcome(False, taken, executions(log), f"found without the hole: {last_line(clean)}")
    return Outcome(True, taken, executions(log), last_line(log))


def find_in_python(hole: Hole, build: Build, folder: Path, seconds: int, seed: int) -> Outcome:
    """Have the fuzzer of the boundary to Python look."""
    native = {file: text for file, text in hole.sources().items() if not file.endswith(".py")}
    changed = {file: text for file, text in hole.sources().items() if file.endswith(".py")}
    command = [sys.executable, "-m", "boundary_fuzz", f"--seed={seed}", "--stop"]
    command += [f"--time={(IDLE - 1) * seconds}", f"--processor-time={seconds}"]
    if native:
        command.append(f"--native={build.with_sources(native, folder)}")
    for file, text in changed.items():
        copy = folder / Path(file).name
        copy.write_text(text, encoding="utf-8")
        command.append(f"--planted={file}={copy}")
    log = folder / "log"
    python = ["env", f"PYTHONPATH={ROOT / 'test' / 'python'}"]
    status, taken = run([*python, *command], seconds, log)
    case = re.search(r"^case (\d+): ", log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    if status != 1 or case is None:
        return Outcome(False, taken, executions(log), last_line(log))
    clean = folder / "log-without-hole"
    status, _ = run([*python, sys.executable, "-m", "boundary_fuzz", f"--show={case[1]}"], seconds, clean)
    if status != 0:
        return Outcome(False, taken, executions(log), f"found without the hole: {last_line(clean)}")
    return Outcome(True, taken, executions(log), last_line(log))


def executions(log: Path) -> int:
    """How many inputs or cases the fuzzer says it has run."""
    said = r"^(?:stat::number_of_executed_units: +|#)(\d+)\b|^(\d+) cases from "
    found = re.findall(said, log.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return max((int(number) for each in found for number in each if number), default=0)


def last_line(log: Path) -> str:
    """What is said of a finding."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = r"the runtime broke|SUMMARY|==\d+==ERROR|ALARM|case \d+|.*runtime error"
    told = [line for line in lines if re.match(said, line)]
    return (told or lines or [""])[0].strip()


FUZZERS = {"loader": (loader_build, find_in_loader), "python": (python_build, find_in_python)}


def main() -> int:
    """Plant, look, and count; 1 if a hole is not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="holes whose names say one of these, separated by commas")
    parser.add_argument("--seconds", type=int, default=300, help="of one processor for each (default: 300)")
    parser.add_argument("--seed", type=int, default=1, help="of the fuzzers (default: 1)")
    options = parser.parse_args()
    chosen = [each for each in planted_holes() if any(part in each.name for part in options.only.split(","))]
    builds: dict[str, Build] = {}
    outcomes: dict[str, Outcome] = {}
    print(f"{'hole':14}  {'fuzzer':6}  {'found':5}  {'CPU s':>5}  {'executed':>8}  what it says", flush=True)
    for hole in chosen:
        build, find = FUZZERS[hole.fuzzer]
        if hole.fuzzer not in builds:
            builds[hole.fuzzer] = build()
        folder = WORK / hole.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            outcome = find(hole, builds[hole.fuzzer], folder, options.seconds, options.seed)
        except subprocess.CalledProcessError:  # the compiler has said why; the next holes may be sound
            outcome = Outcome(False, 0, 0, "it does not compile")
        outcomes[hole.name] = outcome
        answer = "yes" if outcome.found else "NO"
        line = f"{hole.name:14}  {hole.fuzzer:6}  {answer:5}  {outcome.seconds:5.0f}  {outcome.executions:8}"
        print(f"{line}  {outcome.told[:110]}", flush=True)
    (WORK / "outcomes.json").write_text(json.dumps({name: vars(each) for name, each in outcomes.items()}, indent=1))
    count = sum(each.found for each in outcomes.values())
    print(f"{count} of {len(chosen)} found")
    return int(count < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
