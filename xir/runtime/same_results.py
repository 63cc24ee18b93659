"""Whether two `.pte` files compute the same: both run on the same inputs, call after call."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xir.runtime._native import XirRuntimeError
from xir.runtime.agreement import Agreement, compared, number_array
from xir.runtime.program import Method, MethodMetadata, Program, Runtime, UnknownKernelsError, ValueInfo
from xir.runtime.stock_results import FileWithData, StockError, copied, stock_results

CALLS = 3
"""Calls of each method on drawn inputs: what buffers keep from one shows in the next."""

INDICES = (8, 1)
"""Integers of 16 bits and more are drawn from 0 to below these, one bound after the other where that is out of range:
most are indices, of whatever is large enough."""

TIMED = 7
"""Calls of each file whose median is told, if they do not take `TIMED_SECONDS`."""

TIMED_SECONDS = 30.0
"""After this long no other calls are timed: medians of long ones need not be of many."""

STOCK_START = 60.0
"""What stock ExecuTorch's process may take besides."""


FixedInputs = Mapping[int, object]
"""Inputs of a method that are numbers or texts, by their places: no other values are taken than a file has."""


@dataclass(frozen=True)
class MethodCall:
    """A call of a method."""

    method: str
    inputs: Sequence[Any]
    where: str
    """What messages call it: "call 2", or "call 1 of inputs.npz"."""
    is_drawn: bool = False
    is_sized: bool = False
    """Whether it is at other sizes than the greatest, which the file may not be meant for."""


class NotRunError(Exception):
    """A file does not run on inputs that it was to be compared on; the text names them."""


@dataclass(frozen=True)
class Sameness:
    """How far the results of a file are from another's."""

    difference: float
    """The largest one, relative to the largest magnitude of its output; NaN where one of both has NaN alone."""
    where: str
    """The output that it is of: "output 1 of 'forward' in call 2"; "" without any."""
    before: float
    """Seconds that the other file takes for all methods: medians of alternating calls."""
    after: float
    """And the file."""
    without_stock: str | None = None
    """Why stock ExecuTorch's runtime has not compared them as well; None if it has."""
    refusal: str | None = None
    """What keeps stock ExecuTorch's runtime from running the file, though it runs the other one."""

    @property
    def ratio(self) -> float:
        """The file's time, in times of the other one's."""
        return self.after / self.before if self.before else 1.0


class NotComparedError(Exception):
    """No file can be compared with the old one, by its kernels; the text names them."""


def calls_of(
    path: Path,
    methods: Sequence[str],
    data: Sequence[Path] = (),
    given: Sequence[MethodCall] = (),
    fixed: Mapping[str, FixedInputs] = {},
    *,
    max_seconds: float = 0.0,
) -> list[MethodCall]:
    """The calls to compare a file on: those that are given, and on drawn inputs `CALLS` of each method. `fixed` are the
    inputs that methods take one value of alone. A call ends after `max_seconds`; 0 is no limit.

    A method that runs on no inputs that are drawn is called on those given alone. NotRunError if there are none, and
    NotComparedError if xir's runtime lacks kernels.
    """
    calls: list[MethodCall] = []
    for name in methods:
        own = [call for call in given if call.method == name]
        try:
            inputs = _inputs_that_run(path, name, data, fixed.get(name, {}), max_seconds)
        except UnknownKernelsError as error:
            raise NotComparedError(
                f"'{name}' calls {error.kernels}, which xir's runtime lacks, so no other file can be compared with it"
            ) from None
        except XirRuntimeError as error:
            if not own:
                raise NotRunError(f"'{name}' on random inputs: {error}") from error
            calls += own
            continue
        calls += [*own, *(MethodCall(name, inputs, f"call {number}", True) for number in range(1, CALLS + 1))]
    return calls


def sameness(
    before: Path,
    after: Path,
    calls: Sequence[MethodCall],
    data: Sequence[Path] = (),
    *,
    is_data_shared: bool = False,
    in_stock: bool = True,
    threads: int = 1,
    max_seconds: float = 0.0,
) -> Sameness:
    """Run two files on the same calls. `data` are the `.ptd` files of the first; the other has its weights, unless
    `is_data_shared`. They are timed on so many threads.

    With `in_stock` they run in stock ExecuTorch's runtime as well, if it is installed. NotRunError if a file does not
    run, or if a call takes longer than `max_seconds`.
    """
    files = [(before, data), (after, data if is_data_shared else ())]
    ran = [list(_results(path, calls, own, max_seconds)) for path, own in files]
    worst, where = _farthest(calls, *([results for results, _ in each] for each in ran))
    changed, at = _farthest(calls, *([inputs for _, inputs in each] for each in ran))
    if _is_farther(changed, worst):
        worst, where = changed, f"what is left in {at.replace('output', 'input', 1)}"
    spent = _timed_files(files, calls, threads)
    without_stock = refusal = None
    if not in_stock:
        without_stock = "it was not asked to"
    else:
        try:
            compared, found = _in_stock(files, calls, max_seconds)
        except StockError as error:
            match error.index:
                case None:
                    without_stock = str(error)
                case 0:
                    without_stock = f"it does not run the old file, {error}"
                case _:
                    refusal = str(error)
        else:
            apart, at = _farthest(compared, *found)
            if _is_farther(apart, worst):
                worst, where = apart, f"{at} in stock ExecuTorch"
    return Sameness(worst, where, *spent, without_stock, refusal)


def _in_stock(
    files: Sequence[FileWithData], calls: Sequence[MethodCall], max_seconds: float
) -> tuple[Sequence[MethodCall], list[list[list[Any]]]]:
    """The calls that stock ExecuTorch's runtime has made, and the results of both files. It may refuse sizes that
    xir's takes: then all calls are at the greatest."""
    for some in (calls, [call for call in calls if not call.is_sized]):
        named = [(call.method, call.inputs) for call in some]
        limit = STOCK_START + 2 * len(some) * max_seconds if max_seconds else None
        try:
            return some, stock_results(files, named, limit)
        except StockError as error:
            if error.index != 0 or len(some) == len(calls) - sum(call.is_sized for call in calls):
                raise
    raise AssertionError


def _farthest(calls: Sequence[MethodCall], old: Sequence[Any], new: Sequence[Any]) -> tuple[float, str]:
    """The largest difference of results, and what it is of."""
    worst, where = 0.0, ""
    for call, expected, results in zip(calls, old, new, strict=True):
        found = difference(results, expected)
        if _is_farther(found.difference, worst):
            worst, where = found.difference, f"{found.where} of '{call.method}' in {call.where}"
    return worst, where


def _is_farther(difference: float, worst: float) -> bool:
    """Whether a difference is larger than the largest so far. NaN is larger than any: no other takes its place."""
    return not math.isnan(worst) and not difference <= worst


def loaded(path: Path, data: Sequence[Path] = (), max_seconds: float = 0.0, threads: int = 1) -> Program:
    """A file's program, each call of which ends after so many seconds. Of torch's operators it may call those alone
    that any file may: in a stranger's file others, such as a pooling's gradient, write where its indices say."""
    return Runtime.get().load_program(path, data=data, threads=threads, max_seconds=max_seconds)


def _results(
    path: Path, calls: Sequence[MethodCall], data: Sequence[Path], max_seconds: float
) -> Iterator[tuple[list[Any], list[Any]]]:
    """The results of a file's calls, and what they leave in their inputs. NotRunError for one that fails."""
    program = loaded(path, data, max_seconds)
    methods: Mapping[str, Method] = {name: program.load_method(name) for name in {call.method for call in calls}}
    for call in calls:
        inputs = copied(call.inputs)  # which a method may change
        try:
            yield methods[call.method].execute(inputs), inputs
        except (XirRuntimeError, TypeError, ValueError) as error:
            raise NotRunError(f"'{call.method}' in {call.where}: {error}") from error


def _timed_files(files: Sequence[FileWithData], calls: Sequence[MethodCall], threads: int) -> tuple[float, float]:
    """Median seconds of both files, each method once, on the first of its calls."""
    old_file, new_file = (loaded(path, data, threads=threads) for path, data in files)
    first = {call.method: copied(call.inputs) for call in reversed(calls)}
    seconds = [
        timed(old_file.load_method(name), new_file.load_method(name), inputs, threads) for name, inputs in first.items()
    ]
    return sum(old for old, _ in seconds), sum(new for _, new in seconds)


def _inputs_that_run(path: Path, name: str, data: Sequence[Path], fixed: FixedInputs, max_seconds: float) -> list[Any]:
    """Drawn inputs that a method takes. XirRuntimeError if it takes none that are drawn."""
    method = loaded(path, data, max_seconds).load_method(name)
    for most in INDICES[:-1]:
        inputs = drawn_inputs(method.metadata, most, fixed=fixed)
        began = time.monotonic()
        try:
            method.execute(copied(inputs))
        except XirRuntimeError:
            if is_time_up(began, max_seconds):
                raise
            continue
        return inputs
    inputs = drawn_inputs(method.metadata, INDICES[-1], fixed=fixed)
    method.execute(copied(inputs))
    return inputs


def is_time_up(began: float, max_seconds: float) -> bool:
    """Whether a call that began then has ended for its limit of time: on other inputs it would take as long."""
    return 0 < max_seconds <= time.monotonic() - began


def drawn_inputs(
    metadata: MethodMetadata, most: int, sizes: Mapping[tuple[int, int], int] = {}, fixed: Mapping[int, object] = {}
) -> list[Any]:
    """Random inputs of a method's largest shapes, the same each time. `sizes` are other ones, by the input's number and
    the dimension."""
    import torch

    generator = torch.Generator().manual_seed(0)
    return [
        fixed[number] if number in fixed else drawn(_sized(each, number, sizes), most, generator)
        for number, each in enumerate(metadata.inputs)
    ]


def _sized(info: ValueInfo, number: int, sizes: Mapping[tuple[int, int], int]) -> ValueInfo:
    if info.shape is None:
        return info
    return replace(info, shape=tuple(sizes.get((number, dim), size) for dim, size in enumerate(info.shape)))


def drawn(info: ValueInfo, most: int, generator: Any) -> Any:
    """A random tensor, or what stands for a number or text; 8-bit integers are of the whole range."""
    import torch

    if info.kind != "tensor":
        return {"int": 1, "bool": True, "double": 1.0, "string": "", "none": None}[info.kind]
    assert info.shape is not None
    assert info.dtype is not None
    dtype, shape = getattr(torch, info.dtype), list(info.shape)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    limits = torch.iinfo(dtype)
    low, high = (limits.min, limits.max + 1) if limits.bits <= 8 else (0, most)
    return torch.randint(low, high, shape, generator=generator, dtype=dtype)


def difference(results: Sequence[Any], expected: Sequence[Any]) -> Agreement:
    """How far results are from those of the other file."""
    got, want = ([number_array(each) for each in values if _is_number(each)] for values in (results, expected))
    return compared(got, want)


def _is_number(value: Any) -> bool:
    return value is not None and not isinstance(value, str)


def timed(old: Method, new: Method, inputs: list[Any], threads: int = 1) -> tuple[float, float]:
    """Median seconds of both, called in turn: on one thread those of the processor, which other programs do not take
    part in."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMED):
        if sum(map(sum, spent)) > TIMED_SECONDS:
            break
        for own, method in zip(spent, (old, new), strict=True):
            began = clock()
            method.execute(inputs)
            own.append(clock() - began)
    return statistics.median(spent[0]), statistics.median(spent[1])
