"""Plans of memory: what lives together shares no byte, arenas are small, no plan is below the bound, a solver's plan is
the least there is, the work does not grow with how many live together, and what is alive at the peak is told."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from xir.arena_report import arenas_of
from xir.dialects import pte
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.ir.walking import ops_in
from xir.transforms.pte.memory import placing
from xir.transforms.pte.memory.bounds import Arena, arena_of, most_at_once
from xir.transforms.pte.memory.exact import solve
from xir.transforms.pte.memory.placing import (
    Lifetime,
    check_apart,
    extent,
    living_together,
    place,
    place_by_size,
    place_by_time,
)
from xir.transforms.pte.memory.remarks import SolvedArena
from xir.transforms.pte.plan_memory import PlanMemoryPass


def together(one: Lifetime, other: Lifetime) -> bool:
    return one.first <= other.last and other.first <= one.last


def least_arena(planned: Sequence[Lifetime]) -> int:
    """The smallest arena, by trying all plans: in some order, each tensor lies on others or at the bottom.

    Written without what the planner is made of. Of a best plan in which nothing can be moved down, the tensors in the
    order of their offsets are such an order.
    """
    best = sum(each.size for each in planned)

    def fill(placed: list[tuple[int, Lifetime]], left: list[Lifetime], top: int) -> None:
        nonlocal best
        if top >= best:
            return
        if not left:
            best = top
            return
        for index, each in enumerate(left):
            ends = {0, *(offset + other.size for offset, other in placed if together(each, other))}
            for offset in sorted(ends):
                clash = any(
                    together(each, other) and offset < start + other.size and start < offset + each.size
                    for start, other in placed
                )
                if not clash:
                    rest = left[:index] + left[index + 1 :]
                    fill([*placed, (offset, each)], rest, max(top, offset + each.size))
                    break

    fill([], list(planned), 0)
    return best


def apart(planned: Sequence[Lifetime], offsets: Sequence[int]) -> bool:
    """Whether no two tensors that live together share a byte, pair by pair."""
    return all(
        not together(planned[i], planned[j])
        or offsets[i] + planned[i].size <= offsets[j]
        or offsets[j] + planned[j].size <= offsets[i]
        for i, j in combinations(range(len(planned)), 2)
        if planned[i].size and planned[j].size
    )


LIFETIMES = st.lists(
    st.builds(
        lambda size, first, length: Lifetime(16 * size, first, first + length),
        st.integers(0, 5),
        st.integers(0, 5),
        st.integers(0, 3),
    ),
    max_size=6,
)


@given(planned=LIFETIMES)
@settings(max_examples=300, deadline=None)
def test_no_plan_is_below_the_bound(planned: list[Lifetime]) -> None:
    bound = most_at_once(planned).nbytes
    assert bound <= least_arena(planned) <= extent(planned, place(planned))
    times = range(max((each.last for each in planned), default=0) + 1)
    assert bound == max(sum(each.size for each in planned if each.first <= time <= each.last) for time in times)


@given(planned=LIFETIMES)
@settings(max_examples=60, deadline=None)
def test_a_solver_finds_the_least(planned: list[Lifetime]) -> None:
    """From the worst plan there is, in which nothing shares bytes."""
    offsets = [sum(each.size for each in planned[:index]) for index in range(len(planned))]
    found = solve(planned, offsets, most_at_once(planned).nbytes, 10.0)
    assert apart(planned, found.offsets)
    assert extent(planned, found.offsets) == found.lower_bound == least_arena(planned)


@given(planned=LIFETIMES, data=st.data())
@settings(max_examples=300, deadline=None)
def test_the_check_of_a_plan(planned: list[Lifetime], data: st.DataObject) -> None:
    """It agrees with comparing all pairs, on plans that are right and on some that are not."""
    check_apart(planned, place(planned))
    offsets = data.draw(st.lists(st.integers(0, 12), min_size=len(planned), max_size=len(planned)))
    offsets = [16 * offset for offset in offsets]
    try:
        check_apart(planned, offsets)
    except ValueError:
        assert not apart(planned, offsets)
    else:
        assert apart(planned, offsets)


def test_a_tensor_lies_in_an_arena() -> None:
    with pytest.raises(ValueError, match="tensor 0 cannot lie at -16"):
        check_apart([Lifetime(16, 0, 0)], [-16])


def lifetimes(count: int, longest: int, seed: int = 0) -> list[Lifetime]:
    """`count` tensors, one starting at each instruction, each living up to `longest` further ones."""
    rng = random.Random(seed)
    return [Lifetime(16 * rng.randint(0, 50), i, i + rng.randint(0, longest)) for i in range(count)]


def by_size(planned: Sequence[Lifetime]) -> list[int]:
    neighbors = living_together(planned)
    assert neighbors is not None
    return place_by_size(planned, neighbors)


@pytest.mark.parametrize("longest", [0, 3, 50, 400])
@pytest.mark.parametrize("seed", range(5))
def test_arenas_are_small(longest: int, seed: int) -> None:
    """Of both ways; the smaller one counts."""
    planned = lifetimes(120, longest, seed)
    least, plans = most_at_once(planned).nbytes, [by_size(planned), place_by_time(planned), place(planned)]
    assert all(apart(planned, offsets) for offsets in plans)
    *ways, chosen = (extent(planned, offsets) for offsets in plans)
    assert chosen == min(ways)
    assert least <= chosen <= max(ways) <= 1.5 * least


def test_equal_tensors_waste_nothing() -> None:
    planned = [Lifetime(64, i, i + i % 7) for i in range(200)]
    assert extent(planned, place_by_time(planned)) == most_at_once(planned).nbytes


def steps(work: Callable[[], object]) -> int:
    """How many lines of the module's code run."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace if frame.f_code.co_filename == placing.__file__ else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize("longest", [5, 10**6])
def test_twice_the_tensors_are_twice_the_steps(longest: int) -> None:
    small, large = lifetimes(2000, longest), lifetimes(4000, longest)
    assert steps(lambda: place_by_time(large)) < 2.2 * steps(lambda: place_by_time(small))


def test_too_many_pairs_are_not_looked_at() -> None:
    planned = lifetimes(2000, 10**6)
    assert living_together(planned, limit=10**4) is None
    assert steps(lambda: living_together(planned, limit=10**4)) < 50_000


ABOVE = """
pte.program {
  pte.execution_plan @forward {
    %a = pte.tensor tensor<4xf32> loc("m.py":1:0)
    %b = pte.tensor tensor<16xf32> loc("m.py":2:0)
    %c = pte.tensor tensor<8xf32> loc("m.py":3:0)
    %d = pte.tensor tensor<16xf32> loc(unknown)
    %e = pte.tensor tensor<9xf32> loc("m.py":5:0)
    pte.chain {
      pte.kernel_call "my::a.out" (%c, %c)
      pte.kernel_call "my::b.out" (%a, %a)
      pte.kernel_call "my::b.out" (%a, %a)
      pte.kernel_call "my::c.out" (%c, %e, %d) loc("m.py":4:0)
      pte.kernel_call "my::d.out" (%a, %d, %b)
    }
    pte.signature inputs (%c) outputs ()
  }
}
"""
"""A plan for which both strategies need 176 bytes, where 160 live at once, in instruction 3."""


def planned(ctx: XirContext, text: str = ABOVE, **options: Any) -> ModuleOp:
    module = parse_module(ctx, text, "in.mlir")
    PlanMemoryPass(**options).apply(ctx, module)
    return module


def the_arena(module: ModuleOp) -> Arena:
    arenas = [arena_of(plan) for plan in ops_in(module, pte.ExecutionPlanOp)]
    assert len(arenas) == 1
    assert arenas[0] is not None
    return arenas[0]


def test_a_plan_above_the_bound_and_the_solvers() -> None:
    ctx = XirContext()
    greedy = the_arena(planned(ctx))
    assert (greedy.nbytes, greedy.lower_bound, f"{greedy.gap:.1%}") == (176, 160, "10.0%")
    exact = the_arena(planned(ctx, memory_plan="exact"))
    assert (exact.nbytes, exact.lower_bound, exact.gap) == (160, 160, 0.0)
    again = the_arena(planned(ctx, memory_plan="exact"))
    assert str(again.plan) == str(exact.plan)


def test_what_a_report_says_of_it() -> None:
    assert arenas_of(planned(XirContext())).lines() == [
        "forward: arena: 176 bytes, lower bound 160, gap 10.0%",
        "    --memory-plan exact asks a solver for a smaller one",
        "    at instruction 3, my::c.out, m.py:4, 4 tensors alive",
        "    64  tensor<16xf32>  m.py:4",
        "    48  tensor<9xf32>   m.py:5",
        "    32  tensor<8xf32>   input 0, m.py:3",
        "    16  tensor<4xf32>   m.py:1",
    ]


def test_a_bound_of_the_solver() -> None:
    """What it has found out stands in the report, where it is more than what lives at once."""
    module = planned(XirContext())
    said = SolvedArena.of(the_arena(module).plan, 176, 176, 170)
    assert said.message == (
        "plan-memory: the arena takes 176 bytes, and none has fewer than 170: no smaller one was found"
    )
    found = arenas_of(module, [said])
    assert found.lines()[:2] == [
        "forward: arena: 176 bytes, lower bound 170 by the solver, gap 3.5%",
        "    at instruction 3, my::c.out, m.py:4, 4 tensors alive",
    ]
    assert found.rows()[0]["bound_by"] == "solver"
    assert found.rows()[0]["lower_bound"] == 170
    assert found.rows()[0]["alive"][2] == {
        "type": "tensor<8xf32>", "bytes": 32, "role": "input 0", "file": "m.py", "line": 3
    }  # fmt: skip


def test_what_a_delegate_reads_behind_belongs_to_the_bound() -> None:
    text = ABOVE.replace(
        "@forward {", '@forward {\n pte.delegate @other "CoreMLBackend" processed dense<0> : tensor<1xi8>'
    )
    module = planned(XirContext(), text)
    arena = the_arena(module)
    assert (arena.nbytes, arena.lower_bound, arena.behind) == (176 + 64, 160 + 64, 64)
    assert arenas_of(module).lines()[-1] == "    64  behind them, which delegates may read"


def test_a_solver_that_has_no_time_leaves_the_plan() -> None:
    rng = random.Random(0)
    many = [Lifetime(16 * rng.randint(1, 50), i, i + rng.randint(0, 50)) for i in range(120)]
    offsets, bound = place(many), most_at_once(many).nbytes
    assert extent(many, offsets) > bound
    found = solve(many, offsets, bound, 1e-9)
    assert bound <= found.lower_bound <= extent(many, found.offsets) <= extent(many, offsets)
    check_apart(many, found.offsets)


def test_without_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a plan that needs it misses it."""
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(DiagnosticError) as failed:
        planned(XirContext(), memory_plan="exact")
    message = "'ortools' is not installed: a smaller memory plan needs xir[solver]"
    assert failed.value.diagnostic.message == message
    at_bound = ABOVE.replace("%e = pte.tensor tensor<9xf32>", "%e = pte.tensor tensor<1xf32>")
    assert the_arena(planned(XirContext(), at_bound, memory_plan="exact")).gap == 0


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_seconds_are_a_number_above_0(seconds: float) -> None:
    with pytest.raises(ValueError, match="solver-seconds is a number above 0"):
        PlanMemoryPass(solver_seconds=seconds)
