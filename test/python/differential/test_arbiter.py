"""Who is said to be wrong where runtimes differ: faults planted in results, and those that stock ExecuTorch has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import load_stock
from runtime.kernel_program import KernelProgram
from torch import Tensor, nn

import xir
from differential.__main__ import COMPARED, TO_MEND, outcome_of
from differential.arbiter import Verdict, judge
from differential.processes import FILLS, run_all
from differential.results import plain
from differential.worker import inputs_of, run_stock, run_xir
from xir.runtime import Runtime

pytestmark = pytest.mark.filterwarnings("ignore")

FP32 = torch.empty(2, 3)
X = torch.linspace(-1.0, 2.0, 6).reshape(2, 3)


@dataclass(frozen=True)
class Program:
    """A file, and inputs that it takes."""

    data: bytes
    inputs: list[Tensor]

    def verdict(self, ours: Sequence[Tensor], stock: Sequence[Tensor]) -> tuple[Verdict, str]:
        return judge(self.data, self.inputs, ours, stock)


def program(name: str, arguments: Sequence[Any], *results: Tensor) -> Program:
    """One call of a kernel."""
    made = KernelProgram()
    made.call(name, arguments, results)
    # As ExecuTorch has them, with the results once more behind the arguments.
    made.calls[0].operands = [*made.calls[0].operands, *made.outputs]
    return Program(made.file(), made.given)


def test_a_wrong_number_is_its_runtimes() -> None:
    made, right, wrong = program("aten::add.out", [X, X, 1], FP32), X + X, X + X + torch.eye(2, 3) * 1e-3
    assert made.verdict([right], [right]) == (Verdict.NEITHER, "")
    assert made.verdict([wrong], [right]) == (Verdict.XIR, "aten::add.out")
    assert made.verdict([right], [wrong]) == (Verdict.STOCK, "aten::add.out")
    assert made.verdict([wrong], [wrong]) == (Verdict.XIR, "aten::add.out")


def test_a_kernel_is_judged_on_what_it_read() -> None:
    made = KernelProgram()
    made.call("aten::exp.out", [X], [FP32])
    made.call("aten::neg.out", [None], [FP32])
    exponentials, negated = made.outputs
    made.calls[1].operands = [exponentials, negated]
    both = Program(made.file(), made.given)
    right, shifted = [X.exp(), -X.exp()], [X.exp() + 1, -(X.exp() + 1)]
    assert both.verdict(right, shifted) == (Verdict.STOCK, "aten::exp.out")
    assert both.verdict([right[0], shifted[1]], right) == (Verdict.XIR, "aten::neg.out")


def test_numbers_may_be_off_by_the_shortest_types_roundings() -> None:
    made = program("aten::exp.out", [X], FP32.double())
    exact, rounded = X.double().exp(), X.exp().double()
    assert not torch.equal(exact, rounded)
    assert made.verdict([exact], [rounded]) == (Verdict.NEITHER, "")
    assert made.verdict([exact], [rounded * (1 + 1e-3)]) == (Verdict.STOCK, "aten::exp.out")
    assert program("aten::exp.out", [X.double()], FP32.double()).verdict([exact], [rounded])[0] is Verdict.STOCK


def test_what_eager_rounds_is_not_held_against_a_kernel() -> None:
    # In fp32 these have no mean: its neighbours are a whole one apart.
    x = 2.0**24 + 2 * torch.tensor([[0.0, 1.0, 1.0, 3.0, 8.0]])
    exact = [each.float() for each in torch.native_layer_norm(x.double(), [5], None, None, 1e-5)]
    eager = torch.native_layer_norm(x, [5], None, None, 1e-5)
    assert (exact[0] - eager[0]).abs().max() > 1e-3
    made = program("aten::native_layer_norm.out", [x, [5], None, None, 1e-5], x, x[:, :1], x[:, :1])
    assert made.verdict(exact, [exact[0] + 1e-2, *exact[1:]]) == (Verdict.STOCK, "aten::native_layer_norm.out")


def test_integers_have_to_be_eagers() -> None:
    x = torch.tensor([2**53 + 1, -(2**53) - 1])
    made = program("aten::floor.out", [x], x)
    assert made.verdict([x], [x.double().long()]) == (Verdict.STOCK, "aten::floor.out")
    assert made.verdict([x], [x[:1]]) == (Verdict.STOCK, "aten::floor.out")


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("aten::floor.out", [torch.tensor([2**53 + 1])], torch.empty(1, dtype=torch.int64)),
        ("aten::var.correction_out", [X, [1], 3, False], torch.empty(2)),
    ],
    ids=["floor", "var"],
)
def test_stocks_own_faults(name: str, arguments: Sequence[Any], result: Tensor) -> None:
    made = program(name, arguments, result)
    method = Runtime.get().load_program(made.data).load_method("forward")
    stock = load_stock(made.data).forward(made.inputs)
    assert made.verdict(method.execute(made.inputs), stock) == (Verdict.STOCK, name)


@pytest.mark.parametrize(
    ("arguments", "name", "why"),
    [
        ([X], "aten::exp.out", "can't be cast to the desired output type Long"),
        ([X, 1, None], "aten::no_such_kernel.out", "aten::no_such_kernel.out"),
    ],
    ids=["type", "name"],
)
def test_what_eager_does_not_compute_is_undecided(arguments: Sequence[Any], name: str, why: str) -> None:
    made = program(name, arguments, FP32.long())
    found, told = made.verdict([FP32.long()], [FP32.long() + 1])
    assert found is Verdict.UNDECIDED
    assert why in told


@pytest.fixture(scope="module")
def file() -> bytes:
    """A delegate, and a kernel that reads what it gives."""

    def forward(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        y = m.linear(x)
        return y, torch.cumsum(y, 1)

    model = Calling(forward, linear=nn.Linear(4, 3))
    edge = xir.to_edge(torch.export.export(model, (torch.randn(2, 4),)))
    return edge.to_backend(xir.XnnpackPartitioner()).to_executorch().buffer


def test_kernels_behind_delegates(file: bytes) -> None:
    y, sums = run_xir(file)
    assert judge(file, inputs_of(file), [y, sums], [y, sums]) == (Verdict.NEITHER, "")
    assert judge(file, inputs_of(file), [y, sums + 1], [y, sums]) == (Verdict.XIR, "aten::cumsum.out")
    found = judge(file, inputs_of(file), [y, sums], [y + 1, torch.cumsum(y + 1, 1)])
    assert found == (Verdict.UNDECIDED, "a delegate's results differ")


def test_outcomes(file: bytes, tmp_path: Path) -> None:
    path = tmp_path / "both.pte"
    path.write_bytes(file)
    right, near = ([plain(each) for each in run(file)] for run in (run_xir, run_stock))
    wrong = [right[0], plain(run_xir(file)[1] + 1)]

    def outcome(*results: Any, kernels: bool = True) -> str:
        return outcome_of(path, results, kernels=kernels)[0]  # pyright: ignore[reportArgumentType]

    assert outcome(right, near, near) == "equal"
    assert outcome(right, wrong, wrong) == Verdict.STOCK
    assert outcome(wrong, right, right) == Verdict.XIR
    assert outcome(right, wrong, wrong, kernels=False) == "different"
    assert outcome(right, right, wrong) == "not the same in stock twice"
    assert outcome("crash", None, None) == "crashed xir"
    assert outcome("no", None, None) == "refused by xir"
    assert outcome(right, "crash", "crash") == "crashed stock"
    assert outcome(right, "no", "no") == "refused by stock"
    assert {Verdict.XIR, Verdict.UNDECIDED, "different", "crashed xir"} == TO_MEND
    assert {*Verdict, "different", "equal"} == COMPARED


def test_files_run_in_a_process_of_their_own(file: bytes, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one.pte", "none.pte", "two.pte")]
    for path in files:
        path.write_bytes(file if path.stem != "none" else b"no program")
    first, refused, last = run_all("stock", files, FILLS[0])
    assert isinstance(first, list)
    assert isinstance(refused, str)
    assert first == last
