"""What becomes of a sample on its way through the compiler and the runtime."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import torch
from reference.modules import Several, quiet
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from op_database.exceptions import listed
from op_database.inputs import WAYS
from op_database.samples import Sample, seed
from op_database.ways import Way, compare, compare_types, ways
from xir import runtime
from xir.api import EdgeProgram, ExecutorchProgram, XnnpackPartitioner, to_edge
from xir.dialects import pte, xnnpack
from xir.importer.source import node_location
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import origins_of

UNINITIALIZED = frozenset(
    f"aten::{name}" for name in "empty empty_like empty_permuted empty_strided new_empty new_empty_strided".split()
)
"""Operators whose results hold whatever lies in memory."""

ORDERING = frozenset(f"aten::{name}" for name in "sort argsort msort topk kthvalue mode median nanmedian".split())
"""Operators that give places of elements, of equal ones any."""

BEYOND = ("special", "limit")
"""The ways whose numbers integers may not hold."""

ROOT = Path(__file__).parents[3]


class Kind(StrEnum):
    """How a sample ends, what that means, and whether it is ours to mend."""

    meaning: str
    is_fault: bool

    def __new__(cls, name: str, meaning: str, is_fault: bool = False) -> Self:
        made = str.__new__(cls, name)
        made._value_, made.meaning, made.is_fault = name, meaning, is_fault
        return made

    DELEGATE = "delegate", "right, all of it in one delegate"
    KERNELS = "kernels", "right, with or in native kernels alone, or nothing to compute"
    TORCH = "torch", "right, with kernels that torch lends the Python runtime"
    EDGE = (
        "edge of XNNPACK",
        (
            "right but where eager's result or ours is infinite or NaN, and right there too without a delegate: "
            "[XNNPACK's edges](../rationale/lowering.md#xnnpacks-edge-cases-are-kept)"
        ),
    )
    NOT_FINITE = (
        "other infinities",
        (
            "right but where infinities or NaN come in, or come out of numbers near the type's limit: other "
            "ones come out, since a composition multiplies by 0 or subtracts what eager tells apart"
        ),
    )
    LISTED = "listed", "right but for a difference that is listed below"
    OPEN = (
        "left open",
        "right but for what torch does not say: the order of equal elements, integers of numbers that they cannot hold",
    )
    UNCOMPARED = "uncompared", "runs, with the right shapes and types; its numbers are others each time"
    REFUSED = "refused", "a diagnostic of the compiler, at the operator's place in the program"
    NOT_EXPORTED = "not exported", "an error of torch's own, in eager or in `torch.export`"
    UNLOCATED = "unlocated", "a diagnostic without a place", True
    RUNTIME_ERROR = "runtime error", "compiles, and an error when it runs", True
    WRONG = "wrong", "another result than eager's", True
    TRACEBACK = "traceback", "an exception that is no diagnostic", True
    CRASH = "crash", "the end of the process", True
    TIMEOUT = "timeout", "no end", True


FAULTS = frozenset(kind for kind in Kind if kind.is_fault)


@dataclass(frozen=True)
class Outcome:
    """How a sample ended, and what there is to say of it."""

    kind: Kind
    detail: str = ""
    runs: int = 0
    """How many times it was compared, on inputs of several sizes."""


def outcome_of(sample: Sample, dtype: torch.dtype = torch.float32) -> Outcome:
    """Take a sample all the way, alone."""
    with quiet():
        seed(1)
        try:
            expected = sample.program(*sample.copies())
            exported = torch.export.export(sample.program, sample.copies())
        except Exception as error:
            return Outcome(Kind.NOT_EXPORTED, f"{type(error).__name__}: {first_line(error)}")
        return compiled_outcome(sample, dtype, pytree.tree_leaves(expected), exported)


def outcomes_of(samples: Sequence[Sample], dtype: torch.dtype) -> list[Outcome]:
    """Take samples all the way as one program, or smaller ones; and alone those that are not right in it."""
    if len(samples) <= 1:
        return [outcome_of(each, dtype) for each in samples]
    found = Together(samples, dtype).outcomes()
    left = [place for place in range(len(samples)) if place not in found]
    if len(left) == len(samples):
        middle = len(samples) // 2
        return [*outcomes_of(samples[:middle], dtype), *outcomes_of(samples[middle:], dtype)]
    return [found[place] if place in found else outcome_of(each, dtype) for place, each in enumerate(samples)]


@dataclass(frozen=True)
class Together:
    """Samples as one program, of any operators."""

    samples: Sequence[Sample]
    dtype: torch.dtype

    def outcomes(self) -> dict[int, Outcome]:
        """By their places, the outcomes of the samples that are right together."""
        with quiet():
            places, found = list(range(len(self.samples))), dict[int, Outcome]()
            while places:
                apart = set(places)
                try:
                    apart = self.apart(places, found)
                except DiagnosticError as error:
                    apart = {places[index] for index in programs_of(error.diagnostic.location)}
                except Exception:
                    return found
                if not apart:
                    return found
                places = [place for place in places if place not in apart]
            return found

    def apart(self, places: Sequence[int], found: dict[int, Outcome]) -> set[int]:
        """Add the outcomes of those that are right; or the places of those that no program may have with others."""
        samples = [self.samples[place] for place in places]
        expected: dict[int, list[Any]] = {}
        for place, sample in zip(places, samples, strict=True):
            seed(1)
            with contextlib.suppress(Exception):
                expected[place] = pytree.tree_leaves(sample.program(*sample.copies()))
        if refused := set(places) - expected.keys():
            return refused
        program = Several((each.program, len(each.inputs)) for each in samples)
        exported = torch.export.export(program, tuple(value for each in samples for value in each.copies()))
        others = [node for operator, node in calls_of(exported) if leaves(operator, node) or draws(operator)]
        if others:
            return {places[index] for node in others for index in programs_of(node_location(node))}
        edge = to_edge(exported).to_backend(XnnpackPartitioner())
        lowered = edge.to_executorch()
        method = runtime.Runtime.get().load_program(lowered.buffer, threads=1).load_method()
        tried = [
            {way.name: way for way in ways(sample, self.dtype, expected[place])}
            for place, sample in zip(places, samples, strict=True)
        ]
        runs, right = [0] * len(samples), set(range(len(samples)))
        for name in WAYS:
            now = [each.get(name, each["as drawn"]) for each in tried]
            left = iter(method.execute([value.clone() for way in now for value in way.inputs]))
            for index, way in enumerate(now):
                results = [next(left) for _ in way.expected]
                runs[index] += way.name == name
                if index in right and compare(results, way):
                    right.remove(index)
        for index in right:
            found[places[index]] = Outcome(*how_computed_in(edge, lowered, index), runs[index])
        return set()


def programs_of(location: LocationAttr) -> set[int]:
    """Which programs of `Several` a location is in."""
    return {
        int(number)
        for origin in origins_of(location)
        if origin.module.startswith("programs.") and (number := origin.module.split(".")[1]).isdecimal()
    }


def how_computed_in(edge: EdgeProgram, program: ExecutorchProgram, index: int) -> tuple[Kind, str]:
    """What computes one of several samples, and the kernels of torch's that it needs."""
    calls = (op for op in program.module.walk() if isinstance(op, pte.KernelCallOp))
    nodes = (op for op in edge.module.walk() if isinstance(op, xnnpack.NodeOp))
    is_delegated = any(index in programs_of(op.location) for op in nodes)
    return how_computed({op.kernel.data for op in calls if index in programs_of(op.location)}, is_delegated)


def how_computed(kernels: set[str], is_delegated: bool) -> tuple[Kind, str]:
    """What computes a program that is right, by its kernels outside of delegates."""
    if outside := kernels - runtime.portable_kernels():
        return Kind.TORCH, ", ".join(sorted(outside))
    return Kind.DELEGATE if is_delegated and not kernels else Kind.KERNELS, ""


def compiled_outcome(sample: Sample, dtype: torch.dtype, expected: list[Any], exported: ExportedProgram) -> Outcome:
    """Compile and run an exported sample."""
    try:
        edge = to_edge(exported)
        method = loaded(edge.to_backend(XnnpackPartitioner()))
        results = method.execute(list(sample.copies()))
    except DiagnosticError as error:
        located = error.diagnostic.location != UNKNOWN_LOC
        return Outcome(Kind.REFUSED if located else Kind.UNLOCATED, error.diagnostic.message)
    except runtime.XirRuntimeError as error:
        return Outcome(Kind.RUNTIME_ERROR, str(error))
    except Exception as error:
        return Outcome(Kind.TRACEBACK, f"{type(error).__name__}: {first_line(error)} ({place_of(error)})")
    # Memory may hold eager's numbers by chance: what says nothing is not compared, whatever it holds.
    if reason := unsteady(exported):
        difference = compare_types(results, expected)
        return Outcome(Kind.WRONG, difference) if difference else Outcome(Kind.UNCOMPARED, reason)
    excuse, portable, count = None, None, 0
    for way in ways(sample, dtype, expected):
        try:
            results = method.execute([value.clone() for value in way.inputs])
        except runtime.XirRuntimeError as error:
            return Outcome(Kind.RUNTIME_ERROR, f"{way.name}: {error}")
        count += 1
        difference = compare(results, way)
        if not difference:
            continue
        portable = portable or loaded(edge)
        kind = excused(results, portable.execute([value.clone() for value in way.inputs]), way, exported)
        if kind is Kind.WRONG:
            if (entry := listed(way, results)) is None:
                return Outcome(kind, difference)
            kind, difference = Kind.LISTED, entry.name
        if excuse is None or kind is Kind.LISTED:
            excuse = kind, difference
    if excuse is not None:
        return Outcome(*excuse, count)
    metadata = method.metadata
    return Outcome(*how_computed(set(metadata.kernel_names), metadata.num_delegates == 1), count)


def excused(results: list[Any], portable: list[Any], way: Way, exported: ExportedProgram) -> Kind:
    """What a difference is; `portable` are the results without a delegate."""
    finite = not compare(results, way, "both are finite")
    if not compare(portable, way) and (finite or way.name == "special"):
        return Kind.EDGE
    if finite and (way.name == "special" or not compare(results, way, "eager is finite")):
        return Kind.NOT_FINITE
    orders = any(operator._schema.name in ORDERING for operator, _ in calls_of(exported))
    if not compare(results, way, integers=False) and (way.name in BEYOND or orders):
        return Kind.OPEN
    return Kind.WRONG


def loaded(program: EdgeProgram) -> runtime.Method:
    """A program's method in the runtime."""
    return runtime.Runtime.get().load_program(program.to_executorch().buffer, threads=1).load_method()


def unsteady(exported: ExportedProgram) -> str:
    """Why a program's results are others each time; "" where they are not."""
    calls = [*calls_of(exported)]
    if any(leaves(*call) for call in calls):
        return "it leaves memory as it is"
    return "it draws random numbers" if any(draws(operator) for operator, _ in calls) else ""


def leaves(operator: torch._ops.OpOverload, node: torch.fx.Node) -> bool:
    """Whether a call leaves elements as they lie in memory."""
    return operator._schema.name in UNINITIALIZED and bool(node.meta["val"].numel())


def draws(operator: torch._ops.OpOverload) -> bool:
    """Whether an operator's results are other random numbers each time."""
    return torch.Tag.nondeterministic_seeded in operator.tags


def calls_of(exported: ExportedProgram) -> Iterator[tuple[torch._ops.OpOverload, torch.fx.Node]]:
    """The operators that an exported program calls, and the calls."""
    for node in exported.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            yield node.target, node


def first_line(error: BaseException) -> str:
    """What an exception says, at its shortest."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")[:300]


def place_of(error: BaseException) -> str:
    """The innermost of our own lines that an exception came through."""
    frames = [(Path(frame.filename).resolve(), frame) for frame in traceback.extract_tb(error.__traceback__)]
    own = [
        f"{path.relative_to(ROOT)}:{frame.lineno} {frame.name}"
        for path, frame in frames
        if path.is_relative_to(ROOT) and ".venv" not in path.parts and "test" not in path.relative_to(ROOT).parts
    ]
    return own[-1] if own else f"{frames[-1][0].name}:{frames[-1][1].lineno}" if frames else "?"
