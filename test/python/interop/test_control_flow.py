"""Branches and loops of torch: against plain Python, in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from executorch.exir import to_edge as to_edge_of_stock
from reference.both_runtimes import Program, check, delegates, lower
from reference.modules import Calling
from reference.runtimes import agree, both
from torch import Tensor, nn
from torch._higher_order_ops.map import map as typed_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import pte
from xir.evaluate.checker import NumericsChecker
from xir.importer.interpreter import run_module
from xir.ir.diagnostics import DiagnosticError

pytestmark = pytest.mark.filterwarnings("ignore")

torch_map: Callable[..., Any] = typed_map
"""torch's annotations of it ask for a body of operands behind the element, which need not be there."""

N = Dim("n", min=2, max=64)


@dataclass(frozen=True)
class Case:
    """A function of two layers, `a` and `b`, and tensors; what it means in plain Python; and calls of it."""

    function: Callable[..., Any]
    meaning: Callable[..., Any]
    calls: Iterable[tuple[Any, ...]]
    shapes: dict[int, Dim] | None = None
    jumps: int | None = None
    """How many instructions jump on a condition."""
    graphs: int | None = None
    """How many delegates there are."""
    kernels: Sequence[str] = ()
    """What is called outside of these, such as comparisons of numbers, and writes in a loop's own memory."""


# Choices


def choose(m: Any, x: Tensor) -> Tensor:
    def not_above(x: Tensor) -> Tensor:
        return torch.cond(x.amax() > 0, lambda x: m.b(x) * 2, lambda x: x * 1, (x,))

    return torch.cond(x.sum() > 0, lambda x: m.a(x).relu(), not_above, (x,)) + 1


def chosen(m: Any, x: Tensor) -> Tensor:
    if x.sum() > 0:
        return m.a(x).relu() + 1
    return (m.b(x) * 2 if x.amax() > 0 else x * 1) + 1


def look_up(m: Any, x: Tensor, i: Tensor) -> Tensor:
    return torch.cond(i.sum() < 4, lambda x, i: x.index_select(0, i), lambda x, i: m.a(x)[:2] * 1, (x, i))


def swap(m: Any, x: Tensor, y: Tensor) -> Any:
    return torch.cond(x.sum() > y.sum(), lambda x, y: (y.clone(), x.clone()), lambda x, y: (x + y, y * 1), (x, y))


ABOVE, BETWEEN = torch.rand(3, 8), torch.cat([torch.rand(1, 8), -torch.rand(8, 8)])
ONE, OTHER = torch.rand(2, 8), torch.rand(2, 8) + 1

CHOICES = {
    # A sum, an extreme, two branches, and the rest.
    "nested, of an open length": Case(
        choose, chosen, [(ABOVE,), (BETWEEN,), (-ABOVE,)], {0: Dim("n", min=2, max=9)}, jumps=4, graphs=5
    ),
    # The second's indices are out of range.
    "a branch that is not taken may not run": Case(
        look_up,
        lambda m, x, i: x.index_select(0, i) if i.sum() < 4 else m.a(x)[:2],
        [(torch.rand(3, 8), torch.tensor([2, 0])), (torch.rand(3, 8), torch.tensor([9, 7]))],
    ),
    "results that a branch only hands on": Case(
        swap, lambda m, x, y: (y, x) if x.sum() > y.sum() else (x + y, y), [(ONE, OTHER), (OTHER, ONE)]
    ),
    "by a size": Case(
        lambda m, x: torch.cond(x.shape[0] > 4, lambda x: m.a(x), lambda x: x.sin(), (x,)),
        lambda m, x: m.a(x) if len(x) > 4 else x.sin(),
        [(torch.rand(n, 8),) for n in (5, 3, 4, 9)],
        {0: Dim("n", min=2, max=9)},
        kernels=["executorch_prim::gt.Scalar"],
    ),
}

# Loops


def steps(m: Any, x: Tensor, n: Tensor) -> Any:
    """A counter of torch, the loop's own memory, a value of two steps before, and a row written in each step."""

    def step(i: Tensor, a: Tensor, b: Tensor, rows: Tensor) -> tuple[Tensor, ...]:
        return i + 1, b.clone(), m.a(a + b).tanh(), torch.index_put(rows, (i.reshape(1),), a[:1])

    first = (torch.zeros((), dtype=torch.int64), x, x * 2, torch.zeros(16, 8))
    return while_loop(lambda i, a, b, rows: i < n, step, first)


def steps_in_python(m: Any, x: Tensor, n: Tensor) -> Any:
    a, b, rows = x, x * 2, torch.zeros(16, 8)
    for i in range(int(n)):
        rows[i] = a[0]
        a, b = b, m.a(a + b).tanh()
    return n, a, b, rows


def halve(m: Any, x: Tensor) -> Any:
    """A number, and a choice inside."""

    def step(i: int, y: Tensor) -> Any:
        return i + 1, torch.cond(y.sum() > 0, lambda y: y * 0.5 - 1, lambda y: m.b(y), (y,))

    return while_loop(lambda i, y: i < 5, step, (0, x))


def halved(m: Any, x: Tensor) -> Any:
    for _ in range(5):
        x = x * 0.5 - 1 if x.sum() > 0 else m.b(x)
    return 5, x


def grown(m: Any, x: Tensor) -> Any:
    while x.sum() < 100:
        x = x * 2 + len(x)
    return x


def following(m: Any, x: Tensor) -> Any:
    """A state, one that stays as it was, and a row of each step by layers and a number by the state."""

    def step(carried: tuple[Tensor, Tensor], row: Tensor) -> Any:
        state, shift = carried
        state = m.a(state + row).tanh()
        return (state, shift.clone()), (state * row + shift, (state > 0).sum())

    return scan(step, (torch.zeros(8), x[0]), x)


def followed(m: Any, x: Tensor) -> Any:
    states = [torch.zeros(8)]
    for row in x:
        states.append(m.a(states[-1] + row).tanh())
    after = torch.stack(states[1:])
    return after[-1], x[0], after * x + x[0], (after > 0).sum(1)


def parts_of_rows(m: Any, x: Tensor) -> Any:
    """A map of another, whose length is known."""

    def of_row(row: Tensor, total: Tensor) -> Any:
        return torch_map(lambda part: part.cumsum(0), m.a(row + total).view(2, 4))

    return torch_map(of_row, x, x.sum(0))


ONE_LENGTH = [(torch.randn(n, 8),) for n in (5, 2, 64)]

LOOPS = {
    # What it begins with, and the body; a row is written in the loop's memory.
    "whose length depends on data": Case(
        steps,
        steps_in_python,
        [(torch.randn(4, 8), torch.tensor(n)) for n in (3, 0, 1, 16)],
        jumps=2,
        graphs=2,
        kernels=["aten::index_put_"],
    ),
    "with a number and a choice": Case(
        halve, halved, [(torch.rand(4, 8) * 16,), (-torch.rand(4, 8),)], kernels=["executorch_prim::lt.Scalar"]
    ),
    "of an open size": Case(
        lambda m, x: while_loop(lambda y: y.sum() < 100, lambda y: (y * 2 + y.shape[0],), (x,)),
        grown,
        [(torch.rand(n, 8),) for n in (3, 9, 2)],
        {0: Dim("n", min=2, max=9)},
    ),
    # The rows are written in the loop's memory.
    "a scan of an open length": Case(
        following, followed, [*ONE_LENGTH, (torch.randn(33, 8),)], {0: N}, jumps=2, kernels=["aten::index_put_"] * 2
    ),
    "a map of an open length": Case(
        parts_of_rows, lambda m, x: m.a(x + x.sum(0)).view(-1, 2, 4).cumsum(2), ONE_LENGTH, {0: N}, jumps=2
    ),
    "an open map inside of a map": Case(
        lambda m, x: torch_map(lambda column, total: torch_map(lambda y: y * 2, column + total), x.t(), x.sum(1)),
        lambda m, x: (x.t() + x.sum(1)) * 2,
        ONE_LENGTH,
        {0: N},
    ),
    # Two loops, and none for its sizes alone.
    "open maps inside of each other": Case(
        lambda m, x: torch_map(lambda row, total: torch_map(lambda one: m.a(one), row + total), x, x.sum(0)),
        lambda m, x: m.a(x + x.sum(0)),
        [(torch.randn(n, k, 8),) for n, k in ((4, 6), (2, 9), (9, 2))],
        {0: Dim("n", min=2, max=9), 1: Dim("k", min=2, max=9)},
        jumps=4,
    ),
}


@pytest.mark.parametrize("name", [*CHOICES, *LOOPS])
def test_means_what_python_does(name: str) -> None:
    """In both runtimes, in the module as imported, and behind each pass, with branches that are not taken."""
    case = CHOICES.get(name) or LOOPS[name]
    calls = list(case.calls)
    model = Calling(case.function, a=nn.Linear(8, 8), b=nn.Linear(8, 8)).eval().requires_grad_(False)
    shapes = None if case.shapes is None else (case.shapes, *[None] * (len(calls[0]) - 1))
    imported = to_edge(torch.export.export(model, calls[0], dynamic_shapes=shapes))
    checker = NumericsChecker(calls[0])
    lowered = imported.to_backend(XnnpackPartitioner(), numerics=checker)
    program = lowered.to_executorch(numerics=checker)
    assert "lower-to-pte" in dict(checker.errors)
    buffer = program.buffer
    runs = both(buffer)
    for inputs in calls:
        expected = case.meaning(model, *inputs)
        expected = [torch.as_tensor(each) for each in (expected if isinstance(expected, tuple) else (expected,))]
        evaluated = run_module(imported.module, imported.ctx, inputs)
        for results in (evaluated, *(run(inputs) for run in runs)):
            torch.testing.assert_close([torch.as_tensor(each) for each in results], expected, rtol=1e-5, atol=1e-5)
    instructions = [op for op in program.module.walk() if isinstance(op, pte.InstructionOp)]
    jumps = [op for op in instructions if isinstance(op, pte.JumpFalseOp)]
    assert case.jumps is None or len(jumps) == case.jumps
    assert case.graphs is None or delegates(lowered) == case.graphs
    kernels = [op.kernel.data for op in instructions if isinstance(op, pte.KernelCallOp)]
    assert all(kernels.count(kernel) == case.kernels.count(kernel) for kernel in case.kernels)
    assert "aten::linear.out" not in kernels
    if "aten::index_put_" in case.kernels:
        # The loop copies nothing else of what it writes to; its last jump goes back.
        body = instructions[jumps[-1].destination : instructions.index(jumps[-1])]
        assert [op.destination < instructions.index(op) for op in jumps] == [False, True]
        written = [op.kernel.data for op in body if isinstance(op, pte.KernelCallOp)]
        assert "aten::index_put_" in written
        assert "aten::index_put.out" not in written


# Straight code


def recurrence(x: Tensor) -> Any:
    """What a state-space model does for each token."""

    def step(carried: Tensor, token: Tensor) -> tuple[Tensor, Tensor]:
        following = carried * 0.9 + token
        return following, following.tanh() * token

    return scan(step, torch.zeros(4), x)


@pytest.mark.parametrize(
    "function",
    [recurrence, lambda x: torch_map(lambda row, all: (row + all).softmax(-1), x, x.mean(0))],
    ids=["scan", "map"],
)
def test_loops_are_one_delegate(function: Callable[[Tensor], Any]) -> None:
    torch.manual_seed(1)
    model = Program(function)
    check(model, lower(model, torch.randn(6, 4)), [torch.randn(6, 4) for _ in range(2)])


def test_a_map_of_thousands_of_steps_is_a_loop() -> None:
    model = Program(lambda x: torch_map(lambda row, one: row + one, x.expand(9000, 8, 4), x.clone()))
    buffer = lower(model, torch.randn(8, 4)).to_executorch().buffer
    x = torch.randn(8, 4)
    for run in both(buffer):
        torch.testing.assert_close(run([x])[0], (2 * x).expand(9000, 8, 4))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch_map(lambda row, all: (row + all).relu(), x, x.sum(0)),
        lambda x: scan(lambda carry, row: (carry * 0.5 + row, carry.abs()), x[0], x, dim=0),
        lambda x: torch_map(lambda row, all: torch_map(lambda one: one * all.sum(), row), x, x.sum(0)),
    ],
    ids=["map", "scan", "map in a map"],
)
def test_files_of_stock_with_loops(function: Callable[[Tensor], Any]) -> None:
    """Each step is written behind the one before, into a result that grows by it."""
    model, x = Program(function), torch.randn(5, 3)
    buffer = to_edge_of_stock(torch.export.export(model, (x,))).to_executorch().buffer
    agree(buffer, model, [[x], [torch.randn(5, 3)], [-x]])


def test_refusals_name_the_users_line() -> None:
    def counted(x: Tensor) -> Tensor:
        first = (0, x.to(torch.complex64))
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, torch.fft.fft(y)), first)[1].abs()

    with pytest.raises(DiagnosticError, match="branches and loops take no complex numbers") as error:
        lower(Program(counted), torch.randn(8, 4))
    assert "eval_with_key" not in str(error.value)
    assert ".py:" in str(error.value)
