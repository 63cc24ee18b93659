"""What becomes of a sample on its way through the compiler and the runtime."""

from __future__ import annotations

import contextlib
import io
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import UNKNOWN_LOC

from op_database.samples import Sample, seed
from xir import runtime
from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.ir.diagnostics import DiagnosticError

TOLERANCE = 1e-5
"""Of the largest magnitude of a result."""

ROUNDINGS = 16
"""How many times as far from fp64's result as eager's ours may be, where that is more than the tolerance."""

ILL_CONDITIONED = 0.01
"""A rounding of the inputs that changes a result by this much of the largest magnitude finds a jump, as `floor` has."""

UNINITIALISED = frozenset(
    f"aten::{name}"
    for name in ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
)
"""Operators whose results hold whatever lies in memory."""

ROOT = Path(__file__).parents[3]


class Kind(StrEnum):
    """How a sample ends."""

    DELEGATE = "delegate"
    KERNELS = "kernels"
    TORCH = "torch"
    EDGE = "edge of XNNPACK"
    UNCOMPARED = "uncompared"
    REFUSED = "refused"
    NOT_EXPORTED = "not exported"
    UNLOCATED = "unlocated"
    RUNTIME_ERROR = "runtime error"
    WRONG = "wrong"
    TRACEBACK = "traceback"
    CRASH = "crash"
    TIMEOUT = "timeout"


MEANING = {
    Kind.DELEGATE: "right, all of it in one delegate",
    Kind.KERNELS: "right, with or in native kernels alone, or nothing to compute",
    Kind.TORCH: "right, with kernels that torch lends the Python runtime",
    Kind.EDGE: "right but where eager's result or ours is infinite or NaN, and right there too without a delegate: "
    "[XNNPACK's edges](../rationale/lowering.md#xnnpacks-edge-cases-are-kept)",
    Kind.UNCOMPARED: "runs, with the right shapes and types; its numbers are others each time",
    Kind.REFUSED: "a diagnostic of the compiler, at the operator's place in the program",
    Kind.NOT_EXPORTED: "an error of torch's own, in eager or in `torch.export`",
    Kind.UNLOCATED: "a diagnostic without a place",
    Kind.RUNTIME_ERROR: "compiles, and an error when it runs",
    Kind.WRONG: "another result than eager's",
    Kind.TRACEBACK: "an exception that is no diagnostic",
    Kind.CRASH: "the end of the process",
    Kind.TIMEOUT: "no end",
}
"""What the outcomes are."""

FAULTS = frozenset((Kind.UNLOCATED, Kind.RUNTIME_ERROR, Kind.WRONG, Kind.TRACEBACK, Kind.CRASH, Kind.TIMEOUT))
"""The outcomes that are ours to mend."""


@dataclass(frozen=True)
class Outcome:
    """How a sample ended, and what there is to say of it."""

    kind: Kind
    detail: str = ""


def outcome_of(name: str, sample: Sample) -> Outcome:
    """Take a sample all the way."""
    seed(1)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            expected = sample.program(*sample.copies())
            exported = torch.export.export(sample.program, sample.copies())
        except Exception as error:
            return Outcome(Kind.NOT_EXPORTED, f"{type(error).__name__}: {first_line(error)}")
        return compiled_outcome(name, sample, pytree.tree_leaves(expected), exported)


def compiled_outcome(name: str, sample: Sample, expected: list[Any], exported: ExportedProgram) -> Outcome:
    """Compile and run an exported sample."""
    try:
        method = loaded(to_edge(exported).to_backend(XnnpackPartitioner()))
        results = method.execute(list(sample.copies()))
    except DiagnosticError as error:
        located = error.diagnostic.location != UNKNOWN_LOC
        return Outcome(Kind.REFUSED if located else Kind.UNLOCATED, error.diagnostic.message)
    except runtime.XirRuntimeError as error:
        return Outcome(Kind.RUNTIME_ERROR, str(error))
    except Exception as error:
        return Outcome(Kind.TRACEBACK, f"{type(error).__name__}: {first_line(error)} ({place_of(error)})")
    difference = compare(results, expected, None)
    # Memory may hold eager's numbers by chance: what says nothing is not compared, whatever it holds.
    if leaves_memory(exported) or (difference and draws_numbers(exported)):
        reason = "it leaves memory as it is" if leaves_memory(exported) else "it draws random numbers"
        difference = compare_types(results, expected)
        return Outcome(Kind.WRONG, difference) if difference else Outcome(Kind.UNCOMPARED, reason)
    if difference:
        references = References.of(sample)
        difference = compare(results, expected, references)
        if difference and is_edge(results, expected):
            portable = loaded(to_edge(exported)).execute(list(sample.copies()))
            return Outcome(Kind.WRONG if compare(portable, expected, references) else Kind.EDGE, difference)
    if difference:
        return Outcome(Kind.WRONG, difference)
    metadata = method.metadata
    if not set(metadata.kernel_names) <= runtime.portable_kernels():
        return Outcome(Kind.TORCH, ", ".join(sorted(set(metadata.kernel_names) - runtime.portable_kernels())))
    whole = metadata.num_delegates == 1 and not metadata.kernel_names
    return Outcome(Kind.DELEGATE if whole else Kind.KERNELS)


def loaded(program: EdgeProgram) -> runtime.Method:
    """A program's method in the runtime."""
    return runtime.Runtime.get().load_program(program.to_executorch().buffer, threads=1).load_method()


def is_edge(results: list[Any], expected: list[Any]) -> bool:
    """Whether results differ from the expected ones only where either is infinite or NaN."""
    if compare_types(results, expected):
        return False
    ours, eagers = ([torch.as_tensor(each) for each in values] for values in (results, expected))
    finite = [got.isfinite() & want.isfinite() for got, want in zip(ours, eagers, strict=True)]

    def kept(values: list[torch.Tensor]) -> list[torch.Tensor]:
        return [torch.where(where, value, 0) for value, where in zip(values, finite, strict=True)]

    return not compare(kept(ours), kept(eagers), None)


def leaves_memory(exported: ExportedProgram) -> bool:
    """Whether a program has a value with elements that are whatever lies in memory."""
    return any(
        operator._schema.name in UNINITIALISED and node.meta["val"].numel() for operator, node in calls_of(exported)
    )


def draws_numbers(exported: ExportedProgram) -> bool:
    """Whether a program's results are other random numbers each time."""
    return any(torch.Tag.nondeterministic_seeded in operator.tags for operator, _ in calls_of(exported))


def calls_of(exported: ExportedProgram) -> Iterator[tuple[torch._ops.OpOverload, torch.fx.Node]]:
    """The operators that an exported program calls, and the calls."""
    for node in exported.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            yield node.target, node


@dataclass(frozen=True)
class References:
    """What eager computes in fp64."""

    exact: list[torch.Tensor]
    nearby: list[list[torch.Tensor]]
    """The same for inputs that are one rounding off."""

    @classmethod
    def of(cls, sample: Sample) -> References | None:
        """The references of a sample; None where the operator does not compute in fp64."""
        try:
            exact = [torch.as_tensor(each) for each in in_fp64(sample, torch.zeros_like)]
            nearby = [[torch.as_tensor(each) for each in in_fp64(sample, random_signs)] for _ in range(4)]
        except Exception:
            return None
        return cls(exact, nearby)

    def allowed(self, index: int, want: torch.Tensor, finite: torch.Tensor) -> torch.Tensor:
        """How far each finite element of a result may be from eager's in fp32."""
        exact = self.exact[index]
        largest = want[finite].abs().max()
        allowed = torch.clamp(ROUNDINGS * (want[finite] - exact[finite]).abs().max(), TOLERANCE * largest)
        moved = torch.stack([(each[index][finite] - exact[finite]).abs() for each in self.nearby]).amax(0)
        return torch.maximum(allowed, torch.where(moved < ILL_CONDITIONED * largest, 2 * moved, 0))


def in_fp64(sample: Sample, signs: Callable[[torch.Tensor], torch.Tensor]) -> list[Any]:
    """Eager's results in fp64, of inputs that are changed by their rounding in fp32 times what `signs` gives."""
    step = torch.finfo(torch.float32).eps / 2
    inputs = [
        value.double() * (1 + step * signs(value.double())) if value.dtype == torch.float32 else value
        for value in sample.copies()
    ]
    return pytree.tree_leaves(sample.program(*inputs))


def random_signs(like: torch.Tensor) -> torch.Tensor:
    """1 or −1 for each element."""
    return torch.randint_like(like, 0, 2) * 2 - 1


def compare_types(results: list[Any], expected: list[Any]) -> str:
    """What tells the results' number, shapes or types from the expected ones; "" for nothing."""
    if len(results) != len(expected):
        return f"{len(results)} results instead of {len(expected)}"
    for index, (got, want) in enumerate(zip(results, expected, strict=True)):
        got, want = torch.as_tensor(got), torch.as_tensor(want)
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            return f"result {index} is {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    return ""


def compare(results: list[Any], expected: list[Any], references: References | None) -> str:
    """What tells results from eager's; "" where they are as near as roundings are."""
    if difference := compare_types(results, expected):
        return difference
    for index, (got, want) in enumerate(zip(results, expected, strict=True)):
        got, want = torch.as_tensor(got), torch.as_tensor(want)
        if not want.dtype.is_floating_point and not want.dtype.is_complex:
            if not torch.equal(got, want):
                return f"result {index} differs in {int((got != want).sum())} of {want.numel()} integers"
            continue
        same = (got == want) | (got.isnan() & want.isnan())
        if same.all():
            continue
        if not torch.equal(got.isfinite() | same, want.isfinite() | same):
            return f"result {index} is not finite in other places"
        finite = want.isfinite()
        if not finite.any():
            return f"result {index} has other infinities"
        error = (got[finite] - want[finite]).abs()
        if references is not None and references.exact[index].shape == want.shape:
            allowed = references.allowed(index, want, finite)
        else:
            allowed = TOLERANCE * want[finite].abs().max()
        if not (error <= allowed).all():
            return f"result {index} is off by {error.max():.2g} of {want[finite].abs().max():.2g}"
    return ""


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
