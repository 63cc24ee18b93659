"""What the report says of arenas: their bytes, the bytes that no plan can do without, and which tensors those are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import LocationAttr, ModuleOp

from xir.dialects import pte
from xir.ir.diagnostics import Diagnostic
from xir.ir.location import find_file_location, format_location
from xir.ir.walking import ops_in
from xir.transforms.pte.memory.bounds import Alive, Arena, arena_of
from xir.transforms.pte.memory.remarks import SolvedArena

MOST_LISTED = 5
"""How many tensors are listed; the others are counted."""


@dataclass(frozen=True)
class ArenaReport:
    """The arena of each method, in order; methods without one are left out."""

    arenas: Sequence[Arena] = ()

    def lines(self) -> list[str]:
        """For people: the arena, and what is alive where most is."""
        return [line for arena in self.arenas for line in (summary(arena), *_peak(arena))]

    def rows(self) -> list[dict[str, Any]]:
        """For machines; docs/report.md says what the keys mean."""
        return [_row(arena) for arena in self.arenas]


def arenas_of(module: ModuleOp, remarks: Iterable[Diagnostic] = ()) -> ArenaReport:
    """The arenas of a program of calls whose memory is planned. `remarks` have the bounds that a solver found."""
    bounds = {each.function: each.lower_bound for each in remarks if isinstance(each, SolvedArena)}
    arenas = (arena for plan in ops_in(module, pte.ExecutionPlanOp) if (arena := arena_of(plan)) is not None)
    return ArenaReport([arena.bounded(bounds.get(arena.plan.sym_name.data, 0)) for arena in arenas])


def summary(arena: Arena) -> str:
    """One line on an arena."""
    by = " by the solver" if arena.is_solved else ""
    return (
        f"{arena.plan.sym_name.data}: arena: {arena.nbytes:,} bytes, lower bound {arena.lower_bound:,}{by}, "
        f"gap {arena.gap:.1%}"
    )


def _peak(arena: Arena) -> Iterator[str]:
    if arena.gap and not arena.is_solved:
        yield "    --memory-plan exact asks a solver for a smaller one"
    op, alive = arena.at_peak, arena.alive
    place = "" if op is None else f", {format_location(op.location)}"
    count = f"{len(alive)} tensor{'' if len(alive) == 1 else 's'}"
    yield f"    at instruction {arena.instruction}, {arena.calls}{place}, {count} alive"
    listed = alive[:MOST_LISTED]
    rest = sum(each.nbytes for each in alive[MOST_LISTED:])
    size = len(f"{max(rest, *(each.nbytes for each in listed)):,}")
    width = max(len(_type(each)) for each in listed)
    for each in listed:
        yield f"    {each.nbytes:{size},}  {_type(each):{width}}  {_place(each)}"
    if len(alive) > len(listed):
        yield f"    {rest:{size},}  in {len(alive) - len(listed)} more"
    if arena.behind:
        yield f"    {arena.behind:{size},}  behind them, which delegates may read"


def _type(each: Alive) -> str:
    return str(each.tensor.tensor_type)


def _place(each: Alive) -> str:
    """What a tensor is to the caller, and its source line, as far as they are known."""
    known = find_file_location(each.location) is not None
    return ", ".join(filter(None, [each.role, format_location(each.location) if known or not each.role else ""]))


def _row(arena: Arena) -> dict[str, Any]:
    op = arena.at_peak
    return {
        "method": arena.plan.sym_name.data,
        "bytes": arena.nbytes,
        "lower_bound": arena.lower_bound,
        "bound_by": "solver" if arena.is_solved else "peak",
        "instruction": arena.instruction,
        "op": arena.calls,
        **_line(None if op is None else op.location),
        "alive": [
            {"type": _type(each), "bytes": each.nbytes, "role": each.role or None, **_line(each.location)}
            for each in arena.alive
        ],
    }


def _line(location: LocationAttr | None) -> dict[str, Any]:
    found = None if location is None else find_file_location(location)
    return {"file": found and found.filename.data, "line": found and found.line.data}
