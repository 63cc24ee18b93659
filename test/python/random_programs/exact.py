"""What a program computes without roundings, and how far roundings move that.

Eager runs a program line by line in the types that it has. The same lines run on numbers in fp64: conversions that the
program asks for round as they do, all else does not. Then they run a few times more, each operand of a line and each
result of a call in it moved up or down by one rounding of the type that the line has in eager. What moves in these runs
is what an order of summation or a fused step may move as well; more than some times as much is another computation.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any

import torch
from reference.roundings import Bounds, Noise, Steps, StepsInside, Where, noises, wide
from torch import Tensor

from random_programs.program import NAMES, Kind, Line, Program

RUNS = 5
"""How many times roundings are drawn."""


@cache
def code_of(text: str) -> CodeType:
    return compile(text, "<line>", "eval")


def evaluated(line: Line, values: Mapping[str, Tensor]) -> Tensor:
    """The value of a line."""
    return eval(code_of(line.text), NAMES, values)  # pyright: ignore[reportArgumentType]


def eager(program: Program, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All values of a program as PyTorch computes them."""
    values = {**program.weights, **inputs}
    for line in program.lines:
        values[line.name] = evaluated(line, values)
    return values


TIES = 8.0
"""Roundings by which what a program's own conversions round may be on the other side of a tie."""


def exact(
    program: Program, inputs: Mapping[str, Tensor], types: Mapping[str, Tensor], noise: Noise | None
) -> dict[str, Tensor]:
    """All values in fp64; `types` are eager's values, whose types they have there. With `noise` they are rounded."""
    given = {**program.weights, **inputs}
    values = {name: wide(value) for name, value in given.items()}
    computed = set[str]()
    for line in program.lines:
        if line.kind is Kind.CONSTANT:
            values[line.name] = wide(evaluated(line, values))
            continue
        operands = values
        if noise is not None and line.kind is Kind.COMPUTES:
            operands = {**values, **{name: noise.moved(values[name], types[name].dtype) for name in line.reads}}
        elif noise is not None and line.kind is Kind.ROUNDS:
            near = {name: noise.moved(values[name], types[name].dtype, TIES) for name in line.reads if name in computed}
            operands = {**values, **near}
        if line.kind is Kind.COMPUTES or not computed.isdisjoint(line.reads):
            computed.add(line.name)
        dtype = types[line.name].dtype
        is_rounded = noise is not None and line.kind is Kind.COMPUTES
        rounding = steps(noise, dtype) if noise is not None and is_rounded else contextlib.nullcontext()
        torch.set_default_dtype(torch.float64)
        try:
            with rounding:
                result = wide(evaluated(line, operands))
        finally:
            torch.set_default_dtype(torch.float32)
        if result.is_floating_point() and dtype.is_floating_point:
            rounded = result.to(dtype)
            result = torch.where(rounded.isinf(), rounded.double(), result)
        values[line.name] = result
    return values


@contextlib.contextmanager
def steps(noise: Noise, dtype: torch.dtype) -> Generator[None]:
    """Each call is a rounding of its type off, and what it is made of one of the type that is computed in."""
    with Steps(noise, dtype), StepsInside(noise, torch.float64 if dtype == torch.float64 else torch.float32):
        yield


@dataclass
class Reference:
    """What an output is. How far roundings move it is computed when a result is off by more than eager's own are."""

    least: Bounds
    """By eager's result and the exact one."""
    all: Callable[[], Bounds]

    def wrong(self, got: Any, where: Where) -> str:
        """As `Bounds.wrong`."""
        return self.least.wrong(got, where) and self.all().wrong(got, where)


def references(program: Program, inputs: Mapping[str, Tensor], seed: int) -> dict[str, Reference]:
    """The outputs of a program for these inputs."""
    with torch.no_grad():
        types = eager(program, inputs)
        best = exact(program, inputs, types, None)
    lost = behind_listed(program, types)

    @cache
    def nearby() -> list[dict[str, Tensor]]:
        with torch.no_grad():
            return [exact(program, inputs, types, noise) for noise in noises(seed, RUNS)]

    def reference(name: str) -> Reference:
        least = Bounds.of(types[name], best[name], [])
        if name in lost:
            return Reference(least.unknown(), least.unknown)
        return Reference(least, lambda: Bounds.of(types[name], best[name], [each[name] for each in nearby()]))

    return {name: reference(name) for name in program.outputs}


MADE_NAN = re.compile(r"sqrt|std|norm|conv")
"""What makes NaN of infinities or beside them, as docs/reference/xnnpack_faults.md and the rationale say."""


def behind_listed(program: Program, types: Mapping[str, Tensor]) -> set[str]:
    """The values that come of numbers with which XNNPACK is known to compute others than PyTorch, as the pages say.

    These are NaN, which it passes over in places, and infinities that a root or a convolution reads.
    """
    floats = {name: value for name, value in types.items() if value.is_floating_point()}
    found = {name for name, value in floats.items() if bool(value.isnan().any())}
    infinite = {name for name, value in floats.items() if bool(value.isinf().any())}
    for line in program.lines:
        makes_nan = MADE_NAN.search(line.text) is not None and not infinite.isdisjoint(line.reads)
        if makes_nan or not found.isdisjoint(line.reads):
            found.add(line.name)
    return found
