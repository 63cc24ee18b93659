"""Branches and loops of torch: against plain Python, in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from reference.both_runtimes import Program, check, lower
from reference.runtimes import load_stock
from torch import Tensor, nn
from torch._higher_order_ops.map import map as typed_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.dialects import pte
from xir.dialects.delegate import GraphOp
from xir.evaluate.checker import NumericsChecker
from xir.importer.interpreter import run_module
from xir.ir.diagnostics import DiagnosticError
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")

torch_map: Callable[..., Any] = typed_map
"""torch's annotations of it ask for a body of operands behind the element, which need not be there."""


class TwoLayers(nn.Module):
    """A function of tensors and of two layers."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        self.function = function

    def forward(self, *xs: Tensor) -> Any:
        return self.function(self, *xs)


Call = tuple[Any, ...]


def holds(
    function: Callable[..., Any], meaning: Callable[..., Any], calls: Sequence[Call], shapes: Any = None
) -> tuple[EdgeProgram, list[pte.InstructionOp]]:
    """The program and its instructions, which compute in both runtimes what the meaning says, as the module does."""
    model = TwoLayers(function).eval().requires_grad_(False)
    exported = torch.export.export(model, calls[0], dynamic_shapes=None if shapes is None else (shapes,))
    imported = to_edge(exported)
    checker = NumericsChecker(calls[0])  # of each pass, branches that are not taken among what they change
    lowered = imported.to_backend(XnnpackPartitioner(), numerics=checker)
    program = lowered.to_executorch(numerics=checker)
    assert "lower-to-pte" in dict(checker.errors)
    buffer = program.buffer  # which stock does not keep
    method, stock = Runtime.get().load_program(buffer).load_method(), load_stock(buffer)
    for inputs in calls:
        expected = meaning(model, *inputs)
        expected = expected if isinstance(expected, tuple) else (expected,)
        evaluated = run_module(imported.module, imported.ctx, inputs)
        for results in (evaluated, method.execute(inputs), stock.forward(inputs)):
            assert len(results) == len(expected)
            for actual, wanted in zip(map(torch.as_tensor, results), map(torch.as_tensor, expected), strict=True):
                torch.testing.assert_close(actual, wanted, rtol=1e-5, atol=1e-5)
    return lowered, [op for op in program.module.walk() if isinstance(op, pte.InstructionOp)]


def kernels(instructions: Sequence[pte.InstructionOp]) -> list[str]:
    return [op.kernel.data for op in instructions if isinstance(op, pte.KernelCallOp)]


# Choices


def choose(m: TwoLayers, x: Tensor) -> Tensor:
    def not_above(x: Tensor) -> Tensor:
        return torch.cond(x.amax() > 0, lambda x: m.b(x) * 2, lambda x: x * 1, (x,))

    return torch.cond(x.sum() > 0, lambda x: m.a(x).relu(), not_above, (x,)) + 1


def chosen(m: TwoLayers, x: Tensor) -> Tensor:
    if x.sum() > 0:
        return m.a(x).relu() + 1
    return (m.b(x) * 2 if x.amax() > 0 else x * 1) + 1


def test_nested_choices_of_an_open_length() -> None:
    above, between = torch.rand(3, 8), torch.cat([torch.rand(1, 8), -torch.rand(8, 8)])
    lowered, instructions = holds(choose, chosen, [(above,), (between,), (-above,)], ({0: Dim("n", min=2, max=9)},))
    graphs = sum(isinstance(op, GraphOp) for op in lowered.module.walk())
    assert graphs == 5, "a sum, an extreme, two branches, and the rest"
    assert sum(isinstance(op, pte.JumpFalseOp) for op in instructions) == 4
    assert "aten::linear.out" not in kernels(instructions)


def look_up(m: TwoLayers, x: Tensor, i: Tensor) -> Tensor:
    return torch.cond(i.sum() < 4, lambda x, i: x.index_select(0, i), lambda x, i: m.a(x)[:2] * 1, (x, i))


def test_a_branch_that_is_not_taken_may_not_run() -> None:
    def meaning(m: TwoLayers, x: Tensor, i: Tensor) -> Tensor:
        return x.index_select(0, i) if i.sum() < 4 else m.a(x)[:2]

    # The second's indices are out of range.
    holds(look_up, meaning, [(torch.rand(3, 8), torch.tensor([2, 0])), (torch.rand(3, 8), torch.tensor([9, 7]))])


def test_results_that_a_branch_only_hands_on() -> None:
    def swap(m: TwoLayers, x: Tensor, y: Tensor) -> Any:
        return torch.cond(x.sum() > y.sum(), lambda x, y: (y.clone(), x.clone()), lambda x, y: (x + y, y * 1), (x, y))

    def meaning(m: TwoLayers, x: Tensor, y: Tensor) -> Any:
        return (y, x) if x.sum() > y.sum() else (x + y, y)

    one, two = torch.rand(2, 8), torch.rand(2, 8) + 1
    holds(swap, meaning, [(one, two), (two, one)])


def test_a_choice_by_a_size() -> None:
    def by_size(m: TwoLayers, x: Tensor) -> Tensor:
        return torch.cond(x.shape[0] > 4, lambda x: m.a(x), lambda x: x.sin(), (x,))

    calls = [(torch.rand(n, 8),) for n in (5, 3, 4, 9)]
    _, instructions = holds(
        by_size, lambda m, x: m.a(x) if len(x) > 4 else x.sin(), calls, ({0: Dim("n", min=2, max=9)},)
    )
    assert "executorch_prim::gt.Scalar" in kernels(instructions)


# Loops


def steps(m: TwoLayers, x: Tensor, n: Tensor) -> Any:
    """A counter of torch, the loop's own memory, a value of two steps before, and a row written in each step."""

    def step(i: Tensor, a: Tensor, b: Tensor, rows: Tensor) -> tuple[Tensor, ...]:
        return i + 1, b.clone(), m.a(a + b).tanh(), torch.index_put(rows, (i.reshape(1),), a[:1])

    first = (torch.zeros((), dtype=torch.int64), x, x * 2, torch.zeros(16, 8))
    return while_loop(lambda i, a, b, rows: i < n, step, first)


def steps_in_python(m: TwoLayers, x: Tensor, n: Tensor) -> Any:
    a, b, rows = x, x * 2, torch.zeros(16, 8)
    for i in range(int(n)):
        rows[i] = a[0]
        a, b = b, m.a(a + b).tanh()
    return n, a, b, rows


def test_a_loop_whose_length_depends_on_data() -> None:
    calls = [(torch.randn(4, 8), torch.tensor(n)) for n in (3, 0, 1, 16)]
    lowered, instructions = holds(steps, steps_in_python, calls)
    jumps = [op for op in instructions if isinstance(op, pte.JumpFalseOp)]
    assert [op.destination < instructions.index(op) for op in jumps] == [False, True]
    # A row is written in the loop's memory: nothing copies the sixteen.
    body = kernels(instructions)[len(kernels(instructions[: jumps[1].destination])) :]
    assert "aten::index_put_" in body
    assert "aten::index_put.out" not in body
    assert sum(isinstance(op, GraphOp) for op in lowered.module.walk()) == 2, "what it begins with, and the body"


def test_a_loop_with_a_number_and_a_choice_in_it() -> None:
    def halve(m: TwoLayers, x: Tensor) -> Any:
        def step(i: int, y: Tensor) -> Any:
            return i + 1, torch.cond(y.sum() > 0, lambda y: y * 0.5 - 1, lambda y: m.b(y), (y,))

        return while_loop(lambda i, y: i < 5, step, (0, x))

    def meaning(m: TwoLayers, x: Tensor) -> Any:
        for _ in range(5):
            x = x * 0.5 - 1 if x.sum() > 0 else m.b(x)
        return 5, x

    _, instructions = holds(halve, meaning, [(torch.rand(4, 8) * 16,), (-torch.rand(4, 8),)])
    assert "executorch_prim::lt.Scalar" in kernels(instructions)


def test_a_loop_of_an_open_size() -> None:
    def grow(m: TwoLayers, x: Tensor) -> Any:
        return while_loop(lambda y: y.sum() < 100, lambda y: (y * 2 + y.shape[0],), (x,))

    def meaning(m: TwoLayers, x: Tensor) -> Any:
        while x.sum() < 100:
            x = x * 2 + len(x)
        return x

    calls = [(torch.rand(n, 8),) for n in (3, 9, 2)]
    holds(grow, meaning, calls, ({0: Dim("n", min=2, max=9)},))


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


LENGTHS = ({0: Dim("n", min=2, max=64)},)


def test_a_scan_of_an_open_length_is_a_loop() -> None:
    def following(m: TwoLayers, x: Tensor) -> Any:
        """A state, one that stays as it was, and a row of each step by layers and a number by the state."""

        def step(carried: tuple[Tensor, Tensor], row: Tensor) -> Any:
            state, shift = carried
            state = m.a(state + row).tanh()
            return (state, shift.clone()), (state * row + shift, (state > 0).sum())

        return scan(step, (torch.zeros(8), x[0]), x)

    def meaning(m: TwoLayers, x: Tensor) -> Any:
        state, rows = torch.zeros(8), list[Tensor]()
        counts = list[Tensor]()
        for row in x:
            state = m.a(state + row).tanh()
            rows.append(state * row + x[0])
            counts.append((state > 0).sum())
        return state, x[0], torch.stack(rows), torch.stack(counts)

    calls = [(torch.randn(n, 8),) for n in (5, 2, 64, 33)]
    lowered, instructions = holds(following, meaning, calls, LENGTHS)
    assert sum(isinstance(op, pte.JumpFalseOp) for op in instructions) == 2
    # The rows are written in the loop's memory: nothing copies all of them.
    assert kernels(instructions).count("aten::index_put_") == 2
    assert "aten::index_put.out" not in kernels(instructions)
    assert "aten::linear.out" not in kernels(instructions)
    assert any(isinstance(op, GraphOp) for op in lowered.module.walk())


def test_a_map_of_an_open_length_is_a_loop() -> None:
    """Of another map inside, whose length is known."""

    def rows(m: TwoLayers, x: Tensor) -> Any:
        def of_row(row: Tensor, total: Tensor) -> Any:
            return torch_map(lambda part: part.cumsum(0), m.a(row + total).view(2, 4))

        return torch_map(of_row, x, x.sum(0))

    def meaning(m: TwoLayers, x: Tensor) -> Any:
        return torch.stack([m.a(row + x.sum(0)).view(2, 4).cumsum(1) for row in x])

    _, instructions = holds(rows, meaning, [(torch.randn(n, 8),) for n in (5, 2, 64)], LENGTHS)
    assert sum(isinstance(op, pte.JumpFalseOp) for op in instructions) == 2


def test_an_open_map_inside_of_a_map() -> None:
    def sums(m: TwoLayers, x: Tensor) -> Any:
        return torch_map(lambda column, total: torch_map(lambda one: one * 2, column + total), x.t(), x.sum(1))

    calls = [(torch.randn(n, 8),) for n in (5, 2, 64)]
    holds(sums, lambda m, x: (x.t() + x.sum(1)) * 2, calls, LENGTHS)


def test_open_maps_inside_of_each_other() -> None:
    def waves(m: TwoLayers, x: Tensor) -> Any:
        return torch_map(lambda row, total: torch_map(lambda one: m.a(one), row + total), x, x.sum(0))

    calls = [(torch.randn(n, k, 8),) for n, k in ((4, 6), (2, 9), (9, 2))]
    sizes = ({0: Dim("n", min=2, max=9), 1: Dim("k", min=2, max=9)},)
    _, instructions = holds(waves, lambda m, x: m.a(x + x.sum(0)), calls, sizes)
    assert sum(isinstance(op, pte.JumpFalseOp) for op in instructions) == 4, "two loops, and none for its sizes alone"


def test_a_map_of_thousands_of_steps_is_a_loop() -> None:
    model = Program(lambda x: torch_map(lambda row, one: row + one, x.expand(9000, 8, 4), x.clone()))
    buffer = lower(model, torch.randn(8, 4)).to_executorch().buffer
    x = torch.randn(8, 4)
    for results in (
        Runtime.get().load_program(buffer).load_method().execute([x]),
        load_stock(buffer).forward([x]),
    ):
        torch.testing.assert_close(results[0], (2 * x).expand(9000, 8, 4))


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
    from executorch.exir import to_edge as to_edge_of_stock

    model, x = Program(function), torch.randn(5, 3)
    buffer = to_edge_of_stock(torch.export.export(model, (x,))).to_executorch().buffer
    method, stock = Runtime.get().load_program(buffer).load_method(), load_stock(buffer)
    for call in (x, torch.randn(5, 3), -x):
        results = method.execute([call])
        for ours, theirs in zip(results, stock.run_method("forward", [call]), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)
        expected = function(call)
        for ours, wanted in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
            torch.testing.assert_close(ours, wanted)


def test_refusals_name_the_users_line() -> None:
    def counted(x: Tensor) -> Tensor:
        first = (0, x.to(torch.complex64))
        return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, torch.fft.fft(y)), first)[1].abs()

    with pytest.raises(DiagnosticError, match="branches and loops take no complex numbers") as error:
        lower(Program(counted), torch.randn(8, 4))
    assert "eval_with_key" not in str(error.value)
    assert ".py:" in str(error.value)
