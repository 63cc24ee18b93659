"""Buffers that a model writes to, as `edge.mutable_buffer`s: calls one after the other, against eager's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import agree
from torch import Tensor, nn

from xir.api import XnnpackPartitioner, to_edge
from xir.dialects import edge
from xir.importer import import_exported_program
from xir.importer.interpreter import run_module
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.ir.printer import module_to_text
from xir.ir.verifier import verify


def keeping(kept: Tensor, step: Callable[[Tensor, Tensor], Tensor]) -> Calling:
    """A model that keeps a `kept` tensor, and what it does with it."""
    return Calling(lambda m, x: step(m.kept, x), kept=kept)


def in_place(kept: Tensor, x: Tensor) -> Tensor:
    kept.add_(x)
    return kept * 2


def index_copy(kept: Tensor, x: Tensor) -> Tensor:
    kept.index_copy_(0, torch.tensor([1]), x[None].to(kept.dtype))
    return kept * x


def index_put(kept: Tensor, x: Tensor) -> Tensor:
    kept[torch.tensor([2, 0])] = x.to(kept.dtype)
    return kept * x


def through_a_view(kept: Tensor, x: Tensor) -> Tensor:
    kept[1].add_(x)
    return x + 1


def through_a_slice(kept: Tensor, x: Tensor) -> Tensor:
    kept[1:, 2:] = x[2:]
    return kept * 2


def copied(kept: Tensor, x: Tensor) -> Tensor:
    seen = torch.cat([kept, x[None]])
    kept.copy_(seen[-3:])
    return seen.sum(0)


def copied_from_another_dtype(kept: Tensor, x: Tensor) -> Tensor:
    kept.copy_(x.double())
    return kept + 1


def row_copied_from_another_dtype(kept: Tensor, x: Tensor) -> Tensor:
    kept[1].copy_(x.double())
    return kept + 1


def twice(kept: Tensor, x: Tensor) -> Tensor:
    kept.mul_(0.5)
    before = kept + 1
    kept.add_(x)
    return before * kept


def view_read_later(kept: Tensor, x: Tensor) -> Tensor:
    row = kept[0]
    kept.add_(x)
    return row * 2


def returned(kept: Tensor, x: Tensor) -> Tensor:
    kept.add_(x)
    return kept


def old_value_returned(kept: Tensor, x: Tensor) -> Tensor:
    old = kept.clone()
    kept.add_(x)
    return old


def check(model: nn.Module, *inputs: Tensor, count: int = 3) -> list[str]:
    """Calls of the imported text, with its buffers, and of its files in both runtimes are eager's; the names of the
    mutable buffers."""
    ctx, exported = XirContext(), torch.export.export(model, inputs)
    text = module_to_text(import_exported_program(exported, ctx))
    module = parse_module(ctx, text)
    verify(module)
    assert module_to_text(module) == text
    calls = [[torch.randn_like(value) for value in inputs] for _ in range(count)]
    for program in (to_edge(exported), to_edge(exported).to_backend(XnnpackPartitioner())):
        agree(program.to_executorch().buffer, copy.deepcopy(model), calls, rtol=1e-4, atol=1e-5)
    buffers: dict[str, Tensor] = {}
    for given in calls:
        with torch.no_grad():
            expected = model(*given)
        (found,) = run_module(module, ctx, given, buffers=buffers)
        torch.testing.assert_close(found, expected)
    eager = dict(model.named_buffers())
    for name, value in buffers.items():
        torch.testing.assert_close(value, eager[name])
    return [op.buffer.data for op in module.walk() if isinstance(op, edge.MutableBufferOp)]


STEPS = (
    *(in_place, index_copy, index_put, through_a_view, through_a_slice, copied, copied_from_another_dtype),
    *(row_copied_from_another_dtype, twice, view_read_later, returned, old_value_returned),
)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_calls_in_a_row(step: Callable[[Tensor, Tensor], Tensor]) -> None:
    assert check(keeping(torch.randn(3, 4), step), torch.randn(4)) == ["kept"]


@pytest.mark.parametrize("step", [index_copy, index_put])
def test_positions_do_not_widen_what_is_written(
    step: Callable[[Tensor, Tensor], Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """64-bit positions of 8-bit elements: the program need not be traced again."""
    monkeypatch.setattr("xir.importer.importer.functionalize", lambda program: pytest.fail("traced again"))
    kept = torch.randint(-100, 100, (3, 4), dtype=torch.int8)
    assert check(keeping(kept, step), torch.randn(4)) == ["kept"]


NORM = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, momentum=0.3))
BY_HAND = Calling(
    lambda m, x: nn.functional.batch_norm(x, m.mean, m.var, training=True), mean=torch.zeros(3), var=torch.ones(3)
)


@pytest.mark.parametrize(
    ("model", "shape", "names"),
    [
        (NORM, (2, 3, 5, 5), {"1.running_mean", "1.running_var", "1.num_batches_tracked"}),
        (BY_HAND, (4, 3), {"mean", "var"}),
    ],
)
def test_training_updates_running_statistics(model: nn.Module, shape: tuple[int, ...], names: set[str]) -> None:
    """A schema does not tell that a batch norm in training writes to them."""
    assert set(check(model.train(), torch.randn(shape))) == names


def test_buffers_that_trade_values() -> None:
    def trade(m: Any, x: Tensor) -> Tensor:
        old = m.a.clone()
        m.a.copy_(m.b)
        m.b.copy_(old)
        return old + x

    assert check(Calling(trade, a=torch.randn(2), b=torch.randn(2)), torch.randn(2)) == ["a", "b"]


def test_what_no_call_changes_is_a_constant() -> None:
    assert check(keeping(torch.randn(3), lambda kept, x: kept + x), torch.randn(3)) == []


def test_running_the_model_does_not_change_what_was_imported() -> None:
    model, ctx = keeping(torch.zeros(3), in_place), XirContext()
    module = import_exported_program(torch.export.export(model, (torch.ones(3),)), ctx)
    model(torch.ones(3))
    assert run_module(module, ctx, [torch.ones(3)])[0].tolist() == [2, 2, 2]


def shared(m: Any, x: Tensor) -> Tensor:
    m.whole.add_(x)
    return m.part * 2


def converted(m: Any, x: Tensor) -> Tensor:
    """torch's functionalisation, which the write through a view asks for, drops the conversion of the copy."""
    m.a.copy_(x.double())
    m.b[1].add_(1)
    return x + 1


def two_of_one_value(m: Any, x: Tensor, *, is_cloned: bool = False) -> Tensor:
    """Two buffers become one value, once through a view; a copy of it is another one."""
    m.a[1] += x
    m.b.copy_(m.a.clone() if is_cloned else m.a)
    return m.b + 1


MEMORY, PAIR = torch.zeros(4), {"a": torch.zeros(2, 3), "b": torch.zeros(2, 3)}


@pytest.mark.parametrize(
    ("model", "size", "message"),
    [
        (Calling(shared, whole=MEMORY, part=MEMORY[:2]), 4, "'whole' is written to and shares its memory with 'part'"),
        (Calling(converted, a=torch.zeros(3), b=torch.zeros(3)), 3, "to 'a' became a tensor<3xf64> in torch"),
        (Calling(two_of_one_value, **PAIR), 3, r"cannot take side effects out of this program: .*a\.clone\(\)"),
    ],
)
def test_what_is_refused(model: nn.Module, size: int, message: str) -> None:
    with pytest.raises(DiagnosticError, match=message):
        import_exported_program(torch.export.export(model, (torch.ones(size),)), XirContext())


def test_what_the_message_says_does_help() -> None:
    cloned = partial(two_of_one_value, is_cloned=True)
    assert check(Calling(lambda m, x: cloned(m, x), **PAIR), torch.ones(3)) == ["a", "b"]
