"""The ways in which an existing file is optimised, the fastest first, and which of them is taken."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from xir.cost.processors import Processors, processors
from xir.cost.profile import threads_text
from xir.dialects.delegate import GraphOp
from xir.files import size_text
from xir.ir.diagnostics import DiagnosticError
from xir.ir.walking import ops_in
from xir.lock.predicted import OutsideIn, knowing_most, predicted_microseconds
from xir.progress import step
from xir.tools.command_line import UsageError
from xir.transforms.pipelines import PIPELINES
from xir.transforms.xnnpack.composed_convolutions.choosing import MOST_LOST

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from xir.api import ExecutorchProgram, XnnpackPartitioner
    from xir.ir.remarks import RemarkFilter
    from xir.runtime.same_results import FixedInputs, MethodCall, Sameness


@dataclass(frozen=True)
class Approach:
    """A way to optimise a file."""

    pipeline: str
    """The passes; none at all where the file stays as it is."""
    what: str
    """What they optimise."""
    is_whole: bool = False
    """Whether that is the kernels between delegates, too."""


WAYS = (
    Approach("remake", "the whole program", is_whole=True),
    Approach("optimize,schedule,finish", "its delegates alone"),
    Approach(
        f"raise-from-pte,{PIPELINES['delegate'].text.replace('optimize,schedule', 'rearrange,reform')},emit",
        "the whole program with its conversions",
        is_whole=True,
    ),
    Approach("rearrange,reform,finish", "its delegates alone with their conversions"),
    Approach("optimize,finish", "its delegates alone as they round"),
    Approach("", "nothing"),
)
"""The first that gives the same results, is predicted to be no slower, and grows no more than it may is taken; in the
place of delegates alone the whole program behind them, where that is predicted to be faster. Times that are measured
decide nothing, as the same file has to come of the same command."""

GROWN_ANYWAY = 16 << 10
"""The bytes that a file may always grow by, whatever it has: its tables are another program's."""

SLOWER = 1.01
"""How many times the old file's time a new one may be predicted to take: less than profiles tell apart. On two threads,
which stock ExecuTorch takes unless it is told otherwise, it is as much as forms of convolutions may lose there,
and for one processor as many times as it is faster on one thread: a program of many small nodes wakes or waits for the
other thread at each."""


@dataclass(frozen=True)
class Attempt:
    """A file that may take the old one's place."""

    path: Path
    program: ExecutorchProgram
    way: Approach
    found: Sameness
    passed_over: Sequence[str]
    """The better ways, each with the reason why it was not taken."""


@dataclass(frozen=True)
class _Times:
    """The microseconds that two programs are predicted to take."""

    processor: str
    threads: int
    runtime: OutsideIn
    before: float
    after: float
    most: float
    """How many times the time before is not slower."""
    decides: bool
    """Whether something is to be gained, instead of not to be lost."""

    @property
    def where(self) -> str:
        threads = "" if self.threads == 1 else f", {threads_text(self.threads)}"
        return f"{self.processor}{threads}{' in stock ExecuTorch' if self.runtime == 'stock' else ''}"

    @property
    def is_slower(self) -> bool:
        return self.after > self.before * self.most

    @property
    def is_faster(self) -> bool:
        return self.after * SLOWER < self.before if self.decides else not self.is_slower


def _microseconds(time: float) -> str:
    return f"{time:.1f} \N{MICRO SIGN}s"


class _NotTakenError(Exception):
    """A way that is not taken; the text is the reason."""


@dataclass(frozen=True)
class Attempts:
    """Tries the ways on one file."""

    options: argparse.Namespace
    old: ExecutorchProgram
    partitioner: XnnpackPartitioner
    calls: Sequence[MethodCall]
    folder: Path
    """Where new files are written."""
    remarks: RemarkFilter | None

    def first(self) -> Attempt:
        """What the first way makes that may be taken. UsageError if none may, as for a program that draws numbers."""
        reasons: list[str] = []
        for number, way in enumerate(WAYS):
            if not self._applies(way):
                continue
            found = self._tried(number, reasons)
            if found is None:
                continue
            behind = [later for later in range(number + 1, len(WAYS)) if WAYS[later].is_whole]
            if not way.is_whole and behind:
                return self._faster(found, behind)
            return found
        raise UsageError(f"{self.options.program}: {reasons[-1].partition(': ')[2]}: nothing is written")

    def _applies(self, way: Approach) -> bool:
        """Whether there is something for a way: no file without delegates, or with other backends' alone, has some that
        are optimised."""
        return way.is_whole or not way.pipeline or any(ops_in(self.old.module, GraphOp))

    def _tried(self, number: int, reasons: list[str]) -> Attempt | None:
        """What a way makes; None if it may not be taken, with the reason added to those before."""
        way, path = WAYS[number], self.folder / f"{number}.pte"
        try:
            program = self._made(way, path)
            found = self._compared(way, path, program)
        except _NotTakenError as reason:
            reasons.append(f"{way.what}: {reason}")
            return None
        return Attempt(path, program, way, found, list(reasons))

    def _faster(self, found: Attempt, others: Sequence[int]) -> Attempt:
        """What one of other ways makes, if each profile predicts that to be faster than what was found."""
        for number in others:
            reasons = list(found.passed_over)
            other = self._tried(number, reasons)
            if other is None:
                continue
            times = self._predicted(found.program, other.program)
            if times and all(each.is_faster for each in times):
                first = times[0]
                reasons.append(
                    f"{found.way.what}: it is predicted to take {_microseconds(first.before)} for "
                    f"{_microseconds(first.after)} on {first.where}"
                )
                return replace(other, passed_over=reasons)
        return found

    @property
    def _processors(self) -> Processors:
        return processors(self.partitioner.cpu)

    def _predicted(self, before: ExecutorchProgram, after: ExecutorchProgram) -> list[_Times]:
        """The times of two programs in either runtime, by the profiles that know the most of them: on the threads that
        the file is for, or on one and on two."""
        asked = self.partitioner.threads
        found: list[_Times] = []
        for profile, runtime in product(knowing_most(self._processors.profiles, (before, after)), get_args(OutsideIn)):
            gained = 0.0
            for threads in [asked] if asked else [1, 2]:
                old, new = (predicted_microseconds(each, profile, runtime, threads) for each in (before, after))
                most, decides = SLOWER, threads == (asked or 1)
                if not decides:
                    # For one processor forms of convolutions are chosen by one thread, and two would refuse some.
                    most = max(1 + MOST_LOST, 0.0 if self._processors.is_generic else gained)
                gained = old / new if new else 0.0
                found.append(_Times(profile.processor, threads, runtime, old, new, most, decides))
        return found

    def _made(self, way: Approach, path: Path) -> ExecutorchProgram:
        try:
            with step(f"Optimising {self.options.program}"):
                program = self.old.optimized(self.partitioner, pipeline=way.pipeline, remarks=self.remarks)
                program.save(path, data=kept_apart(self.options))
        except DiagnosticError as error:
            if not way.pipeline:
                raise
            raise _NotTakenError(f"it does not compile, {str(error.diagnostic).partition(chr(10))[0]}") from None
        if way.pipeline:
            self._check_growth(size_with(path, kept_apart(self.options)))
            self._check_prediction(program)
        return program

    def _check_growth(self, size: int) -> None:
        before = size_of(self.options)
        growth = self.partitioner.max_growth
        if growth is None:
            growth = self._processors.growth
        if growth is None or math.isinf(growth) or size <= before + max(growth * before, GROWN_ANYWAY):
            return
        raise _NotTakenError(
            f"it would take {size_text(size)} for {size_text(before)}, more than --max-growth {growth:g}"
        )

    def _check_prediction(self, program: ExecutorchProgram) -> None:
        for each in self._predicted(self.old, program):
            if each.is_slower:
                raise _NotTakenError(
                    f"it is predicted to take {_microseconds(each.after)} for {_microseconds(each.before)} on "
                    f"{each.where}"
                )

    def _sized_calls(self, program: ExecutorchProgram) -> Sequence[MethodCall]:
        """Calls at other sizes, of the methods that have open ones."""
        from xir.runtime.sized_calls import sized_calls

        fixed = fixed_inputs(self.old)
        limit = self.options.max_seconds
        calls = sized_calls(self.options.program, open_dims(program), self.options.data, fixed, max_seconds=limit)
        if raised_open := [name for name, dims in open_dims(program).items() if dims]:
            for name in raised_open:
                if not any(call.method == name for call in calls):
                    raise _NotTakenError(f"'{name}' runs at no other sizes that are drawn, so none can be compared")
        return calls

    def _compared(self, way: Approach, path: Path, program: ExecutorchProgram) -> Sameness:
        from xir.runtime.same_results import NotRunError, sameness

        options = self.options
        with step("Comparing both files"):
            calls = [*self.calls, *(self._sized_calls(program) if way.pipeline else ())]
            try:
                found = sameness(
                    options.program,
                    path,
                    calls,
                    options.data,
                    is_data_shared=options.data_apart,
                    in_stock=options.in_stock,
                    threads=self.partitioner.threads or 1,
                    max_seconds=options.max_seconds,
                )
            except NotRunError as error:
                raise _NotTakenError(f"it does not run {error}") from None
        if found.refusal is not None:
            raise _NotTakenError(f"stock ExecuTorch runs the old file, and would not run this: {found.refusal}")
        if not found.difference <= options.max_difference:
            raise _NotTakenError(
                f"{found.where} would differ by {found.difference:.1e} of its largest magnitude, "
                f"where {options.max_difference:g} is allowed (--max-difference)"
            )
        return found


def open_dims(program: ExecutorchProgram) -> dict[str, list[tuple[int, int]] | None]:
    """The open sizes of each method's inputs, as (number of the input, dimension); None where the file does not say."""
    from xir.dialects.pte import ExecutionPlanOp

    found: dict[str, list[tuple[int, int]] | None] = {}
    for plan in ops_in(program.module, ExecutionPlanOp):
        sizes = plan.input_sizes
        found[plan.sym_name.data] = None
        if sizes is not None:
            texts = [[text.data for text in each] for each in sizes]
            found[plan.sym_name.data] = [
                (i, dim) for i, each in enumerate(texts) for dim, text in enumerate(each) if text
            ]
    return found


def fixed_inputs(program: ExecutorchProgram) -> dict[str, FixedInputs]:
    """What the methods of a file take for inputs that are no tensors: the values that they were exported with."""
    from xir.dialects.pte import BoolOp, DoubleOp, ExecutionPlanOp, IntOp, StringOp

    def value_of(value: SSAValue) -> object:
        match value.owner:
            case IntOp() as op:
                return op.int_val.value.data
            case BoolOp() as op:
                return bool(op.bool_val.value.data)
            case DoubleOp() as op:
                return op.double_val.value.data
            case StringOp() as op:
                return op.string_val.data
            case _:
                return None

    return {
        plan.sym_name.data: {
            number: found
            for number, value in enumerate(plan.signature.inputs)
            if (found := value_of(value)) is not None
        }
        for plan in ops_in(program.module, ExecutionPlanOp)
    }


def size_of(options: argparse.Namespace) -> int:
    """The bytes of the old file, with those of its weights."""
    return size_with(options.program, options.data)


def kept_apart(options: argparse.Namespace) -> Sequence[Path]:
    """The files that a new one reads its weights from, as the old one does."""
    return options.data if options.data_apart else ()


def size_with(path: Path, data: Sequence[Path]) -> int:
    """The bytes of a program and of its weights."""
    return sum(each.stat().st_size for each in (path, *data))
