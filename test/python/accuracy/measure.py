"""How far a file's results are from what they ought to be, in units of how far eager's are."""

from __future__ import annotations

import contextlib
import io
import math
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import torch
from reference.modules import Function
from torch import Tensor
from torch.utils._pytree import tree_leaves

from accuracy.operators import DRAWS, Operator
from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.runtime import Method, Runtime

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}

SIZES = ("1e-3", "1", "30", "limit")
"""How large the numbers are; the last are near the largest of their type, of fp32, bf16 and fp64 so that sums of all
operands are numbers in any order."""

FORMS = ("delegated", "xir", "kernels")
"""For stock ExecuTorch, with the nodes that xir's runtime has besides, and without a delegate."""


def operands(operator: Operator, dtype: torch.dtype, size: str, draw: str) -> tuple[Tensor, ...]:
    """Numbers of a size, the same each time."""
    generator = torch.Generator().manual_seed(zlib.crc32(f"{size} {draw}".encode()))
    about = _limit(operator, dtype) if size == "limit" else float(size)

    def drawn(shape: tuple[int, ...]) -> Tensor:
        noise = torch.randn(shape, generator=generator, dtype=torch.float64).clamp(-3, 3)
        numbers = {"spread": noise, "equal": torch.ones_like(noise), "offset": 1 + noise / 100}[draw]
        return (numbers * about).to(dtype)

    return tuple(map(drawn, operator.shapes))


def _limit(operator: Operator, dtype: torch.dtype) -> float:
    """Near the largest number of a type: of fp16 a fifth, since sums are in fp32."""
    largest = torch.finfo(dtype).max
    if dtype == torch.float16:
        return largest / 5
    return math.sqrt(largest) / 2**10 if operator.squares else largest / 2**16


def lowered(operators: Iterable[Operator], dtype: torch.dtype) -> EdgeProgram:
    """A program of the operators in the edge dialect."""
    found = list(operators)
    given = tuple(x for each in found for x in operands(each, dtype, "1", "spread"))

    def computed(*operands: Tensor) -> list[object]:
        rest = iter(operands)
        return [each.compute(*islice(rest, len(each.shapes))) for each in found]

    with torch.no_grad(), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        return to_edge(torch.export.export(Function(computed).eval(), given))


def loaded(program: EdgeProgram, form: str) -> Method:
    """A form of the program, in the runtime."""
    if form != "kernels":
        program = program.to_backend(XnnpackPartitioner("xir" if form == "xir" else "executorch"))
    return Runtime.get().load_program(program.to_executorch().buffer, threads=1).load_method()


@dataclass(frozen=True)
class Distance:
    """How far the worst result of a call is off, in units of what it may well be off.

    That is eager's error, half a unit in the last place of the largest result, or what a rounding of the operands to
    the type that is computed in changes, whichever is the most. Infinite where a number is infinite or NaN, but not
    eager's.
    """

    size: str
    draw: str
    times: float
    error: float
    largest: float


def distances(operators: Mapping[str, Operator], dtype: torch.dtype, method: Method) -> Iterator[tuple[str, Distance]]:
    """How far the results of each operator of a program are off, for numbers of every size and draw."""
    for size in SIZES:
        # What eager makes of equal numbers in fp64 is rounding, and what it is held to.
        for draw in DRAWS if dtype != torch.float64 else ("spread", "offset"):
            # All run with each draw, and those count that it says something of.
            given = {name: operands(each, dtype, size, draw) for name, each in operators.items()}
            results = iter(method.execute([x for each in given.values() for x in each]))
            for name, operator in operators.items():
                with torch.no_grad():
                    eager = tree_leaves(operator.compute(*given[name]))
                ours = list(islice(results, len(eager)))
                if draw not in operator.draws:
                    continue
                wide = tuple(each.double() for each in given[name])
                with torch.no_grad():
                    exact, moved = (_exact(operator, dtype, each) for each in (wide, rounded_otherwise(wide, dtype)))
                for found in zip(map(torch.as_tensor, ours), eager, exact, moved, strict=True):
                    yield name, Distance(size, draw, *distance(*found))


def _exact(operator: Operator, dtype: torch.dtype, wide: tuple[Tensor, ...]) -> list[Tensor]:
    return tree_leaves(operator.exact(dtype, *wide) if operator.exact else operator.compute(*wide))


def rounded_otherwise(wide: tuple[Tensor, ...], dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Each number up or down by half a unit in the last place of the type that is computed in: of halves, fp32."""
    half = torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps / 2
    generator = torch.Generator().manual_seed(1)
    return tuple(x * (1 + half * (2 * torch.randint(0, 2, x.shape, generator=generator) - 1)) for x in wide)


def distance(ours: Tensor, eager: Tensor, exact: Tensor, moved: Tensor) -> tuple[float, float, float]:
    """(units as `Distance` has them, the largest error, the largest result): of two results, fp64, and fp64 of operands
    that are rounded otherwise."""
    assert (ours.dtype, ours.shape) == (eager.dtype, eager.shape)
    if not ours.dtype.is_floating_point:
        return (0.0 if torch.equal(ours, eager) else math.inf), 0.0, 0.0
    fits = exact.to(ours.dtype)
    # Where eager has no number though there is one, ours is free to have any.
    defined = eager.isfinite() | ~fits.isfinite()
    both = defined & eager.isfinite() & ours.isfinite()
    is_same = both | ~defined | (ours == eager) | (ours.isnan() & eager.isnan())
    finite = exact[both & fits.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    if not bool(is_same.all()):
        return math.inf, math.inf, largest
    if not finite.numel():
        return 0.0, 0.0, 0.0
    chosen = both & fits.isfinite()
    error, *well = (float((each[chosen].double() - finite).abs().nan_to_num(0).max()) for each in (ours, eager, moved))
    info = torch.finfo(ours.dtype)
    unit = max(*well, info.eps / 2 * largest, info.smallest_normal * info.eps)
    return error / unit, error, largest
