"""Loops and choices of torch, which become straight code: against eager, in both runtimes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.both_runtimes import Program, check, lower
from torch import Tensor
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from xir.ir.diagnostics import DiagnosticError

pytestmark = pytest.mark.filterwarnings("ignore")


def signs(x: Tensor) -> Tensor:
    return torch.cond(x.sum() > 0, lambda x: x.sin() * 2, lambda x: x.cos() - 1, (x,))


def nested(x: Tensor) -> Tensor:
    def above(x: Tensor) -> Tensor:
        return torch.cond(x.amax() > 2, lambda x: x * 3, lambda x: 1 / x, (x,))

    return torch.cond(x.sum() > 0, above, lambda x: -x, (x,))


SIGNED = [torch.ones(4, 8), -torch.ones(4, 8), torch.full((4, 8), 2.5), torch.zeros(4, 8)]


@pytest.mark.parametrize(("function", "count"), [(signs, 1), (nested, 2)])
def test_choices(function: Callable[[Tensor], Tensor], count: int) -> None:
    model = Program(function)
    lowered = lower(model, torch.randn(4, 8))
    kernels = sorted(op.name for op in lowered.module.walk() if op.name.startswith("edge."))
    assert kernels.count("edge.where.self") == count
    check(model, lowered, SIGNED, [op.name for op in lowered.module.walk() if op.name.startswith("edge.")])


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


def counted(x: Tensor) -> Tensor:
    return while_loop(lambda i, y: i < y.sum(), lambda i, y: (i + 1, y * 0.5), (torch.zeros(()), x))[1]


@pytest.mark.parametrize(
    ("function", "shapes", "message"),
    [
        (counted, None, "'while_loop' has no form here: how often it runs depends on data"),
        (recurrence, ({0: Dim("n", min=2, max=9)},), "of an open length has no form here: make it static"),
        (
            lambda x: torch.cond(x.sum() > 0, lambda x: x[x[0].long()], lambda x: x * 1, (x,)),
            None,
            r"aten.index.Tensor in a branch of 'cond' has no form here: both branches are computed",
        ),
        (
            lambda x: torch_map(lambda row, one: row + one, x.expand(9000, 8, 4), x.clone()),
            None,
            "of 9000 steps would be .* operators",
        ),
    ],
    ids=["while", "open", "index", "long"],
)
def test_refusals_name_the_users_line(function: Callable[[Tensor], Any], shapes: Any, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message) as error:
        lower(Program(function), torch.randn(8, 4), shapes)
    assert "eval_with_key" not in str(error.value)
    assert ".py:" in str(error.value)
