"""Whether two `.pte` files compute the same: both run on the same inputs, call after call."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xir.runtime._native import XirRuntimeError
from xir.runtime.agreement import Agreement, compared, number_array
from xir.runtime.program import Method, MethodMetadata, Runtime, ValueInfo

CALLS = 3
"""Calls of each method: what buffers keep from one shows in the next."""

INDICES = (8, 1)
"""Integers of 16 bits and more are drawn from 0 to below these, one bound after the other where that is out of range:
most are indices, of whatever is large enough."""

TIMED = 7
"""Calls of each file whose median is told."""


@dataclass(frozen=True)
class Sameness:
    """How far the results of a file are from another's."""

    difference: float
    """The largest one, relative to the largest magnitude of its output; NaN where one of both has NaN alone."""
    where: str
    """The output that it is of: "output 1 of 'forward' in call 2"; "" without any."""
    ratio: float
    """The file's time for all methods, in times of the other one's; medians of alternating calls on one thread."""


def sameness(before: Path, after: Path, methods: Sequence[str], data: Sequence[Path] = ()) -> Sameness:
    """Run the methods of two files on drawn inputs. `data` are the `.ptd` files of both.

    XirRuntimeError if a file does not run, the older one on no inputs that are drawn.
    """
    files = [Runtime.get().load_program(path, data=data, threads=1) for path in (before, after)]
    worst, where, spent_old, spent_new = 0.0, "", 0.0, 0.0
    for name in methods:
        old, new = (file.load_method(name) for file in files)
        inputs, results = first_results(old)
        for call in range(CALLS):
            found = difference(new.execute(inputs), results)
            if not found.difference <= worst:
                worst, where = found.difference, f"{found.where} of '{name}' in call {call + 1}"
            if call < CALLS - 1:
                results = old.execute(inputs)
        seconds = timed(old, new, inputs)
        spent_old, spent_new = spent_old + seconds[0], spent_new + seconds[1]
    return Sameness(worst, where, spent_new / spent_old if spent_old else 1.0)


def first_results(method: Method) -> tuple[list[Any], list[Any]]:
    """Inputs that a method takes, and its first results. XirRuntimeError if it takes none that are drawn."""
    for most in INDICES[:-1]:
        inputs = drawn_inputs(method.metadata, most)
        try:
            return inputs, method.execute(inputs)
        except XirRuntimeError:
            continue
    inputs = drawn_inputs(method.metadata, INDICES[-1])
    return inputs, method.execute(inputs)


def drawn_inputs(metadata: MethodMetadata, most: int) -> list[Any]:
    """Random inputs of a method's largest shapes, the same each time."""
    import torch

    generator = torch.Generator().manual_seed(0)
    return [drawn(each, most, generator) for each in metadata.inputs]


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


def timed(old: Method, new: Method, inputs: list[Any]) -> tuple[float, float]:
    """Median seconds of both, called in turn."""
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMED):
        for own, method in zip(spent, (old, new), strict=True):
            began = time.perf_counter()
            method.execute(inputs)
            own.append(time.perf_counter() - began)
    return statistics.median(spent[0]), statistics.median(spent[1])
