"""The smallest arena there is, by OR-tools' CP-SAT: each tensor is a rectangle of time and bytes, and none overlap.

The solver runs on one thread from a fixed seed, and its limit counts its own steps, so that every run gives the same
plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from xir.transforms.pte.memory.placing import Lifetime, check_apart, extent

EXTRA = "solver"
"""The extra of xir's package that brings the solver."""

LARGEST_UNITS = 2**40
"""Arenas of more units than this are not asked about: areas of rectangles would not fit into the solver's numbers."""

MOST_TENSORS = 10_000
"""More tensors than this are not asked about: what the solver does before its first step is not limited."""


class SolverMissingError(Exception):
    """OR-tools is not installed."""

    def __str__(self) -> str:
        return f"'ortools' is not installed: a smaller memory plan needs xir[{EXTRA}]"


@dataclass(frozen=True)
class Solved:
    """What the solver found."""

    offsets: Sequence[int]
    """Of the tensors: the ones that it was given, unless it knows better."""
    lower_bound: int
    """Bytes that no plan can do with less than, as far as it got."""


def solve(lifetimes: Sequence[Lifetime], offsets: Sequence[int], lower_bound: int, seconds: float) -> Solved:
    """The smallest arena that the solver finds, from a plan and a bound on.

    `seconds` are the solver's own: steps that take a second or so. SolverMissingError if it is not installed.
    """
    try:
        from ortools.sat.python import cp_model
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ortools":
            raise
        raise SolverMissingError from None
    nbytes = extent(lifetimes, offsets)
    # Tensors that are pushed down as far as they go lie on sums of sizes.
    unit = gcd(*(each.size for each in lifetimes))
    if nbytes == lower_bound or nbytes // unit > LARGEST_UNITS or len(lifetimes) > MOST_TENSORS:
        return Solved(offsets, lower_bound)
    model = cp_model.CpModel()
    height = model.new_int_var(-(-lower_bound // unit), nbytes // unit, "height")
    starts: dict[int, cp_model.IntVar] = {}
    rows: list[cp_model.IntervalVar] = []
    times: list[cp_model.IntervalVar] = []
    for index, (each, offset) in enumerate(zip(lifetimes, offsets, strict=True)):
        if each.size == 0:
            continue
        size = each.size // unit
        starts[index] = start = model.new_int_var(0, nbytes // unit - size, f"start{index}")
        model.add(start + size <= height)
        model.add_hint(start, offset // unit)
        rows.append(model.new_fixed_size_interval_var(start, size, f"bytes{index}"))
        times.append(model.new_fixed_size_interval_var(each.first, each.last + 1 - each.first, f"time{index}"))
    model.add_no_overlap_2d(times, rows)
    model.minimize(height)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = seconds
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        if status != cp_model.UNKNOWN:
            raise ValueError(f"the solver says {solver.status_name(status)} of a program that has a plan")
        return Solved(offsets, max(lower_bound, round(solver.best_objective_bound) * unit))
    found = [solver.value(starts[index]) * unit if index in starts else 0 for index in range(len(lifetimes))]
    check_apart(lifetimes, found)
    bound = max(lower_bound, round(solver.best_objective_bound) * unit)
    better = extent(lifetimes, found) < nbytes
    return Solved(found if better else offsets, bound)
