"""Models in their training form are warned of, and generated code is no place in a model."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch
from reference.modules import Calling
from torch import nn

from xir.importer import import_exported_program
from xir.importer.source import node_location
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError, Severity
from xir.ir.location import format_location


def warnings_of(model: nn.Module) -> list[str]:
    ctx = XirContext()
    # Some of what training computes is refused, as dropout is, behind the warning.
    with ctx.diagnostics.collect() as said, suppress(DiagnosticError):
        import_exported_program(torch.export.export(model, (torch.rand(2, 3, 4, 4),)), ctx)
    return [str(each) for each in said if each.severity is Severity.WARNING]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (nn.Sequential(nn.BatchNorm2d(3), nn.BatchNorm2d(3)), "batch norms take their statistics"),
        (Calling(lambda m, x: nn.functional.dropout(x, 0.5, m.training) + 1), "dropout"),
    ],
)
def test_a_model_in_training_is_warned_of_once(model: nn.Module, why: str) -> None:
    (warning,) = warnings_of(model.train())
    assert f"warning: the model is in its training form: {why}" in warning
    assert "call model.eval()" in warning
    assert not warnings_of(model.eval())


def test_code_that_torch_generates_is_no_place() -> None:
    graph = torch.fx.Graph()
    node = graph.placeholder("x")
    node.meta["stack_trace"] = (
        'File "model.py", line 8, in forward\n    y = torch.cond(...)\n'
        '  File "<eval_with_key>.24", line 9, in forward\n    cond = torch.ops.higher_order.cond(...)'
    )
    assert format_location(node_location(node)) == "model.py:8"
    node.meta["stack_trace"] = 'File "<eval_with_key>.24", line 9, in forward\n    ...'
    assert "eval_with_key" not in format_location(node_location(node))
