"""`python -m bench.mutants`: lets a machine make mistakes in the passes, and tells which `xir-bisect` finds.

What is wrong is not for xir to say: each mutant compiles the programs of `bench/planted_programs.py` that run the
changed line, and what the files compute is compared with what eager computed. A mutant whose file is the same, or
computes the same, changes nothing that shows; one that computes something else, or ends in an error, is to be found:
the pass that runs the changed line, an op that this line worked on or one next to it, and a test of few ops that fails
with the mutant alone.
"""

from __future__ import annotations

import argparse
import builtins
import collections
import dataclasses
import hashlib
import inspect
import io
import json
import random
import resource
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import torch

from bench import planted_programs
from bench.mutation import Mutation, fits, mutations
from bench.planted import ROOT, Outcome, Planter, bisected, in_process, most_ops, outcome, passes, preload
from bench.planted_programs import LIT_TESTS, PROGRAMS, write_programs

SOURCES = (
    "transforms/",
    "dialects/xnnpack/boxes.py",
    "dialects/xnnpack/canonicalization_patterns.py",
    "xir/emitter/xnnpack/writer.py",
)
"""Where mistakes are made: what makes a program of another one, not what checks it."""

CHECKS = (
    "_check.py",
    "check_",
    "_checker.py",
    "cost.py",
    "refusal.py",
    "graph_checks.py",
    "missing_kernels.py",
    "drop_dead_resources.py",
)
"""Ends and parts of the names of files that check, count or tidy up."""

REGIONS = "simplify,mark-delegates{backend=xnnpack},form-delegates,legalize-to-xnnpack,emit"
WIDE = "delegate,widen-depthwise{cpu=x86},emit"

CASES = [
    *((name, "delegate,emit") for name in (*PROGRAMS, *LIT_TESTS)),
    *((name, "emit") for name in ("outside", "masks", "state", "sizes", "affine", "attention", "convolutions")),
    *((name, REGIONS) for name in ("twins", "convolutions", "moves")),
    ("integers", WIDE),
]
"""Programs, and the pipelines that make files of them."""

TRIES = 3
"""The cases in which a mutant is tried until one shows it."""

WORKS = "__mutant_works__"
"""A function that changed code calls."""

ABOVE_CLEAN = 4.0
"""How many times as far from eager as the right file a wrong one is, at least."""

AT_LEAST = 1e-4
"""How far from eager a wrong one is at least, of the largest magnitude."""

FEW, OWN = 2, 0.75
"""Files that so many passes run at most are chosen this often."""

ORDERS = 0.3
"""The part of mistakes in the order of arguments, most of which end at once, that is made."""

SECONDS = 240
"""Of processor time, for one run."""

PASS_SECONDS = 5.0
"""Of wall time, for one pass; one that takes longer is to be found as one that does not end."""

MEMORY = 12 << 30
"""Bytes of addresses, for one run."""


@dataclass(frozen=True)
class Mutant:
    """A change of a file, and where its line runs."""

    file: str
    mutation: Mutation
    runs: dict[int, list[str]]
    """By the number of a case the passes that run the line."""

    def source(self) -> str:
        """The file's text with the change."""
        return self.mutation.applied((ROOT / self.file).read_text(encoding="utf-8"), f"{WORKS}()")

    def __str__(self) -> str:
        change = self.mutation
        text = f"{change.before} -> {change.after}".replace("\n", " ")
        return f"{self.file}:{change.line} {change.kind}: {' '.join(text.split())[:110]}"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    kind: str
    """`same` file, `right` results, `wrong` results, `fails` with an error, or with the one that there is `without` the
    rewrites of the pass: then it makes nothing that is wrong, and no tool can know that it should make something."""
    case: int
    error: float = 0.0
    found: Outcome | None = None
    problems: tuple[str, ...] = ()


# In processes of their own.


def limit() -> None:
    """End a process that never would."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def compiled(
    case: int, programs: Path, results: Path, current: list[str] | None = None, without: str = ""
) -> dict[str, Any]:
    """Compile a case, run its file on each set of inputs, and save what comes out: the file's hash, or the error.

    `current` always holds the name of the pass that runs, and that of the one before the emitter behind all. The pass
    `without` makes no rewrite.
    """
    limit()
    from xir.emitter import emit
    from xir.ir.context import XirContext
    from xir.ir.functions import functions_of
    from xir.ir.parser import parse_module
    from xir.ir.passes import PassManager
    from xir.ir.rewriting import RewriteCounter
    from xir.runtime import Runtime
    from xir.transforms.delegate.forming.late_refusals import run_passes
    from xir.transforms.registry import passes_of

    name, pipeline = CASES[case]
    ctx = XirContext()
    ctx.diagnostics.handlers.append(lambda _: True)
    path = programs / f"{name}.mlir"
    try:
        module = parse_module(ctx, path.read_text(encoding="utf-8"), str(path))
        function = functions_of(module)[0].sym_name.data
        manager = PassManager(ctx, passes_of(pipeline), pass_seconds=None if current else PASS_SECONDS)
        if without:
            manager.rewrite_counters = {without: RewriteCounter(0)}
        if current is not None:
            manager.before_pass.append(lambda each, _: current.__setitem__(0, each.name))
            manager.after_pass.append(lambda *_: current.__setitem__(0, "lower-to-pte"))
        run_passes(manager, module)
        stream = io.BytesIO()
        emit(module, ctx, stream)
        data = stream.getvalue()
        saved: list[list[list[torch.Tensor]]] = []
        for inputs in inputs_of(programs, name):
            method = Runtime.get().load_program(data).load_method(function)
            saved.append([list(method.execute(inputs)) for _ in range(2)])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    torch.save(saved, results)
    return {"hash": hashlib.sha256(data).hexdigest()}


def compiled_with(mutant: Mutant, case: int, programs: Path, results: Path) -> dict[str, Any]:
    """`compiled` with the mutant planted, and the lines of the ops that the changed code worked on."""
    lines, near = set[str](), set[str]()
    setattr(builtins, WORKS, lambda: note_ops(inspect.currentframe(), lines, near))
    sys.meta_path.insert(0, Planter(mutant.file, mutant.source()))
    told = compiled(case, programs, results)
    return told | {"lines": sorted(lines)[:400], "near": sorted(near - lines)[:400]}


def bisected_with(mutant: Mutant, case: int, programs: Path, test: Path) -> dict[str, Any]:
    """`bisected` with the mutant planted."""
    limit()
    setattr(builtins, WORKS, lambda: None)
    sys.meta_path.insert(0, Planter(mutant.file, mutant.source()))
    name, pipeline = CASES[case]
    return bisected(programs / f"{name}.mlir", pipeline, test, flags=[f"--pass-seconds={PASS_SECONDS:g}"])


def note_ops(frame: FrameType | None, lines: set[str], near: set[str]) -> None:
    """Note the source lines of the ops that the nearest function has at hand which has any, and of their neighbours."""
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation, SSAValue

    if len(lines) > 300:
        return
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    while frame is not None and "xir" in frame.f_code.co_filename + frame.f_globals.get("__name__", ""):
        values = [value for each in frame.f_locals.values() for value in (each if isinstance(each, list) else [each])]
        owners = [value.owner if isinstance(value, SSAValue) else value for value in values]
        ops = [op for op in owners if isinstance(op, Operation) and not isinstance(op, ModuleOp | FuncOp)]
        if ops:
            for op in ops:
                lines.update(lines_of(op))
                for value in op.operands:
                    near.update(lines_of(value.owner))
                for use in (use for result in op.results for use in result.uses):
                    near.update(lines_of(use.operation))
            return
        frame = frame.f_back


def lines_of(op: Any) -> list[str]:
    """The lines of an op, as `file:number`."""
    from xdsl.ir import Operation

    from xir.ir.location import origins_of

    if not isinstance(op, Operation):
        return []
    return [f"{origin.file}:{origin.line}" for origin in origins_of(op.location) if origin.file]


def inputs_of(programs: Path, name: str) -> list[list[Any]]:
    """The sets of inputs of a program."""
    return [each["inputs"] for each in torch.load(programs / f"{name}.eager", weights_only=True)]


def eager_of(programs: Path, name: str) -> list[list[list[torch.Tensor]]]:
    """What eager computed of each set, in two calls; nothing for a program that is not torch's."""
    sets = torch.load(programs / f"{name}.eager", weights_only=True)
    return [each["calls"] for each in sets if each["calls"]]


def reached(case: int, programs: Path, results: Path) -> dict[str, list[str]]:
    """The lines that a case runs, as `file:number`, and the passes that run them."""
    found: dict[tuple[str, int], set[str]] = {}
    current = ["lower-to-pte"]
    names: dict[str, str | None] = {}

    def file_of(path: str) -> str | None:
        if path not in names:
            inside = Path(path).is_relative_to(ROOT) and ".venv" not in path
            file = str(Path(path).resolve().relative_to(ROOT)) if inside else ""
            is_source = file.startswith(SOURCES) and not any(part in file for part in CHECKS)
            names[path] = file if is_source else None
        return names[path]

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        file = file_of(frame.f_code.co_filename)
        if file is None:
            return None
        if event == "line":
            found.setdefault((file, frame.f_lineno), set()).add(current[0])
        return trace

    sys.settrace(trace)
    try:
        told = compiled(case, programs, results, current)
    finally:
        sys.settrace(None)
    if "error" in told:
        return {"": [told["error"]]}
    return {f"{file}:{line}": sorted(names) for (file, line), names in found.items()} | {"": [told["hash"]]}


# In this one.


class Campaign:
    """Tries mutants."""

    def __init__(self, programs: Path, folder: Path):
        self.programs = programs
        self.folder = folder
        self.hashes: dict[int, str] = {}
        self.expected: dict[int, list[list[list[torch.Tensor]]]] = {}
        self.clean: dict[int, float] = {}
        """How far the right file is from eager."""
        self.runs: dict[str, dict[int, list[str]]] = {}
        """The lines that cases run, by case the passes that do."""

    def prepare(self) -> None:
        """Compile all cases as they are, and see which lines they run, unless that is known of these sources."""
        if not any(self.programs.glob("*.eager")):
            in_process(lambda: write_programs(self.programs))
        digest = digest_of_sources()
        for case, (name, pipeline) in enumerate(CASES):
            results, table = self.programs / f"{digest}_{case}.clean", self.programs / f"{digest}_{case}.json"
            if not table.exists():
                in_process(lambda case=case, results=results, table=table: self._reached(case, results, table))
            lines: dict[str, list[str]] = json.loads(table.read_text(encoding="utf-8"))
            told = lines.pop("")[0]
            if not lines:
                print(f"{name} by {pipeline} is left out: {told}")
                continue
            self.hashes[case] = told
            clean = torch.load(results, weights_only=True)
            self.expected[case] = eager_of(self.programs, name) or clean
            self.clean[case] = largest_error(self.expected[case], clean)
            for line, names in lines.items():
                self.runs.setdefault(line, {})[case] = names

    def _reached(self, case: int, results: Path, table: Path) -> str:
        table.write_text(json.dumps(reached(case, self.programs, results)), encoding="utf-8")
        return ""

    def candidates(self) -> list[Mutant]:
        """All mutants whose lines run."""
        found: list[Mutant] = []
        for file in sorted({line.rpartition(":")[0] for line in self.runs}):
            for each in mutations((ROOT / file).read_text(encoding="utf-8")):
                if (runs := self.runs.get(f"{file}:{each.line}")) is not None:
                    found.append(Mutant(file, each, runs))
        return found

    def verdict(self, mutant: Mutant, number: int, seed: int) -> Verdict:
        """Try a mutant in some of its cases, until one shows it."""
        cases = sorted(mutant.runs)
        random.Random(seed).shuffle(cases)
        last = Verdict("same", cases[0])
        for case in cases[:TRIES]:
            results = self.folder / f"{number}.pt"
            results.unlink(missing_ok=True)
            told, _ = in_process(lambda case=case, results=results: compiled_with(mutant, case, self.programs, results))
            told = told or {"error": "the process ended"}
            if told.get("hash") == self.hashes[case]:
                continue
            if "hash" not in told:
                if self.fails_without(mutant, case, results, told["error"]):
                    return Verdict("without", case)
                return self.bisected(mutant, case, number, "fails", 0.0, told)
            error = largest_error(self.expected[case], torch.load(results, weights_only=True))
            results.unlink()
            if error > ABOVE_CLEAN * self.clean[case] + AT_LEAST:
                return self.bisected(mutant, case, number, "wrong", error, told)
            last = Verdict("right", case, error)
        return last

    def fails_without(self, mutant: Mutant, case: int, results: Path, error: str) -> bool:
        """Whether the right compiler ends in the same error if a pass that runs the line makes no rewrite."""
        for name in mutant.runs[case]:
            told, _ = in_process(lambda name=name: compiled(case, self.programs, results, without=name))
            if (told or {}).get("error") == error:
                return True
        return False

    def bisected(
        self, mutant: Mutant, case: int, number: int, kind: str, error: float, told: dict[str, Any]
    ) -> Verdict:
        """What `xir-bisect` makes of a mutant that shows."""
        test = self.folder / f"{number}.mlir"
        test.unlink(missing_ok=True)
        printed, seconds = in_process(lambda: bisected_with(mutant, case, self.programs, test))
        found = outcome(printed or {"told": "the process ended"}, seconds)
        if found.fails:
            clean, _ = in_process(lambda: passes(test))
            found = dataclasses.replace(found, passes=clean is True)
        return Verdict(kind, case, error, found, tuple(self.problems(mutant, case, found, told)))

    def problems(self, mutant: Mutant, case: int, found: Outcome, told: dict[str, Any]) -> Iterable[str]:
        """What is not as it should be, in words."""
        if not found.culprit:
            yield f"it is not found ({told.get('error', 'wrong results')})"
            return
        if found.culprit not in mutant.runs[case]:
            yield f"the pass is named as '{found.culprit}', not {' or '.join(mutant.runs[case])}"
        lines, near = told.get("lines", []), told.get("near", [])
        if lines and not {found.place, found.error_place} & {*lines, *near}:
            yield f"the op is named as the one at {found.place or 'no line'}"
        # What ends in an error may do so on any program, an empty one too.
        if not ("error" in told or found.ops) or found.ops > most_ops(found.culprit):
            yield f"the test has {found.ops} ops"
        if not found.fails:
            yield "the test does not fail with the mutant"
        elif not found.passes:
            yield "the test does not pass without the mutant"


def digest_of_sources() -> str:
    """What another text of any source changes."""
    files = sorted(path for folder in ("transforms", "dialects", "xir") for path in (ROOT / folder).rglob("*.py"))
    digest = hashlib.sha256()
    for path in (*files, Path(planted_programs.__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def largest_error(expected: Sequence[Any], actual: Sequence[Any]) -> float:
    """The largest difference of all outputs, each relative to its largest magnitude; infinite where shapes differ."""
    worst = 0.0
    for calls, others in zip(expected, actual, strict=True):
        for outputs, found in zip(calls, others, strict=True):
            if len(outputs) != len(found):
                return float("inf")
            for a, b in zip(outputs, found, strict=True):
                if a.shape != b.shape or a.dtype != b.dtype:
                    return float("inf")
                a, b = a.double(), b.double()
                finite = a.isfinite()
                if bool((finite != b.isfinite()).any()):
                    return float("inf")
                size = float(a[finite].abs().max()) if bool(finite.any()) else 0.0
                away = float((a - b)[finite].abs().max()) if bool(finite.any()) else 0.0
                worst = max(worst, away / max(size, 1e-30)) if away else worst
    return worst


def chosen(candidates: Sequence[Mutant], count: int, seed: int, only: str) -> list[Mutant]:
    """Some of the mutants: the passes take turns, in each its files, its own rather than others, and in these the kinds
    of mistakes.
    """
    generator = random.Random(seed)
    left: dict[str, dict[str, dict[str, list[Mutant]]]] = {}
    users: dict[str, set[str]] = {}
    for each in candidates:
        if each.mutation.kind == "order" and generator.random() > ORDERS:
            continue
        for name in {name for names in each.runs.values() for name in names}:
            users.setdefault(each.file, set()).add(name)
            if any(part in name for part in only.split(",")):
                left.setdefault(name, {}).setdefault(each.file, {}).setdefault(each.mutation.kind, []).append(each)
    found: dict[tuple[str, Mutation], Mutant] = {}
    while left and len(found) < count:
        for name in sorted(left):
            files = left[name]
            own = [file for file in files if len(users[file]) <= FEW]
            file = generator.choice(sorted(own if own and generator.random() < OWN else files))
            kind = generator.choice(sorted(files[file]))
            mutants = files[file][kind]
            mutant = mutants.pop(generator.randrange(len(mutants)))
            if fits(mutant.mutation, (ROOT / mutant.file).read_text(encoding="utf-8"), f"{WORKS}()"):
                found.setdefault((mutant.file, mutant.mutation), mutant)
            if not mutants:
                del files[file][kind]
            if not files[file]:
                del files[file]
            if not files:
                del left[name]
    return list(found.values())[:count]


def main() -> int:
    """Mutate, compile, look, and count."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many mutants (default: 200)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (default: 1)")
    parser.add_argument("--only", default="", help="passes whose names say one of these, separated by commas")
    parser.add_argument("--programs", metavar="FOLDER", help="write the programs there, or take those that are there")
    parser.add_argument("--told", action="store_true", help="print what xir-bisect says of what is not found")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    preload()
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        programs = Path(options.programs or scratch)
        programs.mkdir(parents=True, exist_ok=True)
        campaign = Campaign(programs, folder)
        campaign.prepare()
        candidates = campaign.candidates()
        mutants = chosen(candidates, options.count, options.seed, options.only)
        print(f"{len(candidates)} mutants run, {len(mutants)} are tried", flush=True)
        kinds = collections.Counter[str]()
        missed = 0
        for number, mutant in enumerate(mutants):
            verdict = campaign.verdict(mutant, number, options.seed)
            kinds[verdict.kind] += 1
            missed += bool(verdict.problems)
            found = verdict.found
            named = f"{found.culprit} {found.ops} ops {found.seconds:.1f} s" if found else ""
            print(f"{verdict.kind:5}  {CASES[verdict.case][0]:12}  {named:40}  {mutant}", flush=True)
            for problem in verdict.problems:
                print(f"    NOT FOUND: {problem}", flush=True)
            if verdict.problems and options.told and found:
                print(found.told, flush=True)
    shown = kinds["wrong"] + kinds["fails"]
    print(f"{dict(kinds)}; of {shown} that show, {shown - missed} are found")
    return 0 if missed <= 0.05 * shown else 1


if __name__ == "__main__":
    sys.exit(main())
