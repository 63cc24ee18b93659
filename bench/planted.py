"""`python -m bench.planted`: plants miscompiles in the passes, one after the other, and tells which `xir-bisect` finds.

Each fault runs in a process of its own, with its file changed in memory, on the program of `bench/planted_programs.py`
that it names, or with `--models` on models of the zoo. It is found if the pass and the op are named, by the op's source
line, and the test that is written is of few ops, fails with the fault, and passes without it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import resource
import sys
import tomllib
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import torch

from bench.planted_programs import CALIBRATED, LIT_TESTS, MODELS, PROGRAMS, write_model, write_programs

ROOT = Path(__file__).parents[1]

FEWEST_FOUND = 0.95
"""The part of the faults that is to be found."""

MOST_SECONDS = 60.0
"""Of processor time for one fault, from a file of text to its test."""

MOST_OPS = 10
"""Of a test."""

CHECK = r"( --(?:verify-numerics|pass-seconds)\S*)?"
"""What the RUN line of a test says besides its passes."""

PATTERNS = {"densify-experts": 24}
"""Passes that recognise a computation of more ops than that, which their tests need to have -> the most of these."""

STAGES = ("import", "quantize")
"""What comes before the passes. There is no test for lit of it: its layer and source line are what is to be named."""


@dataclass(frozen=True)
class PlantedFault:
    """One mistake in a pass, or before the passes."""

    culprit: str
    """The pass, or `import` or `quantize`."""
    file: str
    before: str
    """What stands there."""
    after: str
    """What stands there instead."""
    program: str
    """The program in which it shows."""
    at: tuple[str, ...]
    """What one of the source lines says that may be named."""
    pipeline: str = "delegate,emit"
    quantize: str | None = None
    """How the program is quantised with the fault planted."""
    models: tuple[str, ...] = ()
    """The models in which it shows as well (`bench.planted_programs.MODELS`)."""


@dataclass(frozen=True)
class Outcome:
    """What `xir-bisect` makes of a fault."""

    culprit: str = ""
    """The pass that it names; empty if it names none."""
    line: str = ""
    """The source line that it names."""
    place: str = ""
    """Where that is, as `file:number`."""
    error_place: str = ""
    """Where the error is that shows it, in the same way."""
    told: str = ""
    ops: int = 0
    """Of the test."""
    seconds: float = 0.0
    """Of processor time."""
    fails: bool = False
    """Whether the test fails with the fault."""
    passes: bool = False
    """Whether the test passes without it."""


def planted_faults() -> list[PlantedFault]:
    """The faults of `planted_faults.toml`."""
    text = Path(__file__).with_name("planted_faults.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["fault"]
    for row in rows:
        row |= {key: tuple(row.get(key, ())) for key in ("at", "models")}
    return [PlantedFault(**row) for row in rows]


def on_models(faults: Sequence[PlantedFault]) -> list[PlantedFault]:
    """The faults that show in models, in each of these, wherever they do."""
    return [replace(fault, program=model, at=("",)) for fault in faults for model in fault.models]


class Planter(importlib.abc.MetaPathFinder):
    """Loads one file of the sources with another text."""

    def __init__(self, file: str, source: str):
        self.name = ".".join(("xir", *Path(file).with_suffix("").parts)).replace("xir.xir.", "xir.")
        self.name = self.name.removesuffix(".__init__")
        self.source = source
        self.path = str(ROOT / file)

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """The changed file's spec, under the name that passes import it by."""
        if fullname != self.name:
            return None
        loader = _Changed(fullname, self.path)
        loader.source = self.source
        return importlib.util.spec_from_file_location(fullname, self.path, loader=loader)


class _Changed(importlib.machinery.SourceFileLoader):
    source = ""

    def get_code(self, fullname: str) -> Any:
        return compile(self.source, self.path, "exec")


def with_fault(fault: PlantedFault) -> str:
    """The text of the file with the fault. ValueError if it does not say what is to be changed."""
    source = (ROOT / fault.file).read_text(encoding="utf-8")
    if fault.before not in source:
        raise ValueError(f"{fault.file} does not say: {fault.before}")
    return source.replace(fault.before, fault.after, 1)


def in_process(work: Any) -> tuple[Any, float]:
    """What a function of no arguments returns in a process of its own, as JSON, and its seconds of processor time.

    The process begins without any module of xir. None if it ends before.
    """
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        torch.set_num_threads(1)
        try:
            result = json.dumps(work())
        except BaseException:
            result = json.dumps({"told": traceback.format_exc()[-1500:]})
        os.write(writer, result.encode()[:60000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    os.waitpid(child, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (json.loads(told) if told else None), seconds


def preload() -> None:
    """Import what xir imports, but nothing of xir, so that no process has to."""
    names, _ = in_process(modules_besides_xir)
    for name in names or ():
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def modules_besides_xir() -> list[str]:
    """The modules that are loaded once xir-bisect has run."""
    from xir.tools.xir_bisect import main

    with TemporaryDirectory() as folder:
        program = Path(folder) / "program.mlir"
        program.write_text("func.func @forward(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }")
        with contextlib.redirect_stdout(io.StringIO()):
            main([str(program)])
    return [name for name in sys.modules if name.partition(".")[0] not in ("xir", "__main__", "bench")]


def bisected(
    program: Path, pipeline: str, test: Path, quantize: str | None = None, flags: Sequence[str] = ()
) -> dict[str, Any]:
    """What `xir-bisect` prints, and whether its test fails, in a process in which something is planted."""
    from xir.tools.xir_bisect import main

    printed = io.StringIO()
    arguments = [str(program), pipeline, "-o", str(test), *flags]
    if quantize is not None:
        arguments += ["--quantize", quantize]
        if program.stem in CALIBRATED:
            arguments += ["--calibration", f"{ROOT / 'bench' / 'planted_programs.py'}:{CALIBRATED[program.stem]}"]
    if program.suffix == ".mlir" and (inputs := program.with_suffix(".pt")).exists():
        arguments += ["--inputs", str(inputs)]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        main(arguments)
    return {"told": printed.getvalue(), "fails": test.exists() and not passes(test)}


def bisected_with(fault: PlantedFault, programs: Path, test: Path) -> dict[str, Any]:
    """What `bisected` says with the fault planted."""
    sys.meta_path.insert(0, Planter(fault.file, with_fault(fault)))
    program = programs / f"{fault.program}.pt2"
    if fault.program not in MODELS and fault.culprit not in STAGES:
        program = program.with_suffix(".mlir")
    return bisected(program, fault.pipeline, test, fault.quantize)


def passes(test: Path) -> bool:
    """Whether the RUN line of a test succeeds."""
    from xir.tools.xir_opt import main

    run = test.read_text(encoding="utf-8").partition("\n")[0]
    found = re.fullmatch(rf"// RUN: xir-opt (--pass-pipeline)='(.*?)'{CHECK} %s \| filecheck %s", run)
    assert found is not None, run
    arguments = [f"--pass-pipeline={found[2]}", *(found[3] or "").split(), str(test), "-o", os.devnull]
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        return main(arguments) == 0


def outcome(told: Mapping[str, Any], seconds: float) -> Outcome:
    """What the lines say that `xir-bisect` printed."""
    text: str = told.get("told", "")
    named = re.search(r"^(?:pass|stage): ([\w-]+)", text, re.MULTILINE)
    rewrite = re.search(r"^  \S.* at '\S+', (.*?):(\d+)(?::\d+)?$", text, re.MULTILINE)
    error = re.search(r"^(.*?):(\d+)(?::\d+)?: error: ", text, re.MULTILINE)
    ops = re.search(r": a test of (\d+) ops?,", text)
    place = rewrite or error
    places = [f"{each[1]}:{each[2]}" if each else "" for each in (place, error)]
    return Outcome(
        culprit=named[1] if named else "",
        line=source_line(place[1], int(place[2])) if place else "",
        place=places[0],
        error_place=places[1],
        told=text,
        ops=int(ops[1]) if ops else 0,
        seconds=seconds,
        fails=bool(told.get("fails")),
    )


def source_line(path: str, number: int) -> str:
    """A line of a file, where there is one."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()[number - 1].strip()
    except (OSError, IndexError):
        return ""


def outcomes(faults: Sequence[PlantedFault], programs: Path, folder: Path) -> Iterator[tuple[PlantedFault, Outcome]]:
    """Each fault's; tests are written to a folder."""
    for number, fault in enumerate(faults):
        test = folder / f"test_{number}.mlir"
        told, seconds = in_process(lambda fault=fault, test=test: bisected_with(fault, programs, test))
        found = outcome(told or {"told": "the process ended"}, seconds)
        if found.fails:
            clean, _ = in_process(lambda test=test: passes(test))
            found = replace(found, passes=clean is True)
        yield fault, found


def most_ops(culprit: str) -> int:
    """How many ops a test of a pass may have."""
    return PATTERNS.get(culprit, MOST_OPS)


def shortcomings(fault: PlantedFault, found: Outcome) -> list[str]:
    """What is not as it should be, in words."""
    problems = {
        f"the pass is named as '{found.culprit}'" if found.culprit else "it is not found": found.culprit
        != fault.culprit,
        f"the line is named as '{found.line}'": not any(each in found.line for each in fault.at),
        f"it takes {found.seconds:.0f} s": found.seconds > MOST_SECONDS,
        f"the test has {found.ops} ops": fault.culprit not in STAGES and not 0 < found.ops <= most_ops(fault.culprit),
        "the test does not fail with the fault": fault.culprit not in STAGES and not found.fails,
        "the test does not pass without the fault": found.fails and not found.passes,
    }
    return [problem for problem, holds in problems.items() if holds]


def main() -> int:
    """Plant, look, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default="", help="faults of the passes whose names say one of these, separated by commas"
    )
    parser.add_argument("--programs", metavar="FOLDER", help="write the programs there, or take those that are there")
    parser.add_argument("--told", action="store_true", help="print what xir-bisect says of what is not found")
    parser.add_argument("--models", action="store_true", help="plant in MobileNets and a vision transformer instead")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    chosen = [each for each in planted_faults() if any(part in each.culprit for part in options.only.split(","))]
    if options.models:
        chosen = on_models(chosen)
    unknown = {each.program for each in chosen} - {*PROGRAMS, *LIT_TESTS, *MODELS}
    assert not unknown, unknown
    preload()
    found_count = 0
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        programs = Path(options.programs or scratch)
        programs.mkdir(parents=True, exist_ok=True)
        if options.models:
            for model in sorted({each.program for each in chosen}):
                in_process(lambda model=model: write_model(programs, model))
        elif not any(programs.glob("*.mlir")):
            in_process(lambda: write_programs(programs))
        print(f"{'pass':22}  {'CPU s':>5}  {'ops':>3}  {'line named':58}  fault")
        for fault, found in outcomes(chosen, programs, folder):
            problems = shortcomings(fault, found)
            found_count += not problems
            where = f"{fault.program}: " if options.models else ""
            what = f"{where}{fault.before.strip()} -> {fault.after.strip()}".replace("\n", " ")
            print(
                f"{fault.culprit:22}  {found.seconds:5.1f}  {found.ops:3}  {found.line[:58]:58}  {what[:100]}",
                flush=True,
            )
            for problem in problems:
                print(f"    NOT FOUND: {problem}", flush=True)
            if problems and options.told:
                print(found.told, flush=True)
    print(f"{found_count} of {len(chosen)} found")
    return 0 if found_count >= FEWEST_FOUND * len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
