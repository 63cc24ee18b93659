"""Numbers and None among what a program returns: those that it computes, and those that it always returns."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from reference.runtimes import both, load_stock
from torch import Tensor, nn
from torch.export import Dim
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from xir.api import XnnpackPartitioner, to_edge
from xir.runtime import Runtime, XirRuntimeError


class Returning(nn.Module):
    """A layer, and constants beside its result."""

    def __init__(self, *numbers: Any) -> None:
        super().__init__()
        self.layer, self.numbers = nn.Linear(4, 3), numbers

    def forward(self, x: Tensor) -> Any:
        return self.numbers[0], self.layer(x), {"rest": self.numbers[1:]}


@pytest.mark.parametrize("delegate", [True, False])
def test_constant_numbers(delegate: bool) -> None:
    """As stock ExecuTorch's export returns them: each in its place, and of its type."""
    torch.manual_seed(0)
    numbers = (3, True, 0.5, -0.0, math.inf, 3, -(2**63), False, 1, 1.0, 0)
    model, x = Returning(*numbers), torch.rand(2, 4)
    edge = to_edge(torch.export.export(model, (x,)))
    program = (edge.to_backend(XnnpackPartitioner()) if delegate else edge).to_executorch()
    assert "aten::_local_scalar_dense" not in program.kernel_names
    with torch.no_grad():
        expected = tree_leaves(model(x))
    file = program.buffer
    method, stock = Runtime.get().load_program(file).load_method(), load_stock(file)
    for results in (method.execute([x]), stock.forward([x])):
        for found, wanted in zip(results, expected, strict=True):
            assert type(found) is type(wanted)
            if isinstance(wanted, Tensor):
                torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
            else:
                assert str(found) == str(wanted)  # -0.0 equals 0.0
    assert [info.kind for info in method.metadata.outputs[:4]] == ["int", "tensor", "bool", "double"]


class Sized(nn.Module):
    """A number that the program computes beside one that it has, equal to it at some sizes."""

    def forward(self, x: Tensor) -> Any:
        return x.relu(), x.shape[0], 3


def test_computed_numbers_beside_constant_ones() -> None:
    shapes = ({0: Dim("rows", min=2, max=8)},)
    program = torch.export.export(Sized(), (torch.randn(4, 3),), dynamic_shapes=shapes)
    buffer = to_edge(program).to_backend(XnnpackPartitioner()).to_executorch().buffer
    runs = both(buffer)
    for rows in (3, 8, 2):
        x = torch.randn(rows, 3)
        for results in (run([x]) for run in runs):
            assert results[1:] == [rows, 3]
            assert torch.equal(results[0], x.relu())


class Optional(nn.Module):
    """Results as libraries return them: what was not asked for is None, but in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        return {"hidden": None, "logits": self.layer(x), "rest": (None, 2, x.relu(), [None])}


@pytest.mark.parametrize("open_rows", [True, False])
@pytest.mark.parametrize("delegate", [True, False])
def test_none(delegate: bool, open_rows: bool) -> None:
    """The leaves of eager's results, in both runtimes; so the tree that the file says fits them."""
    torch.manual_seed(0)
    model, x = Optional(), torch.randn(2, 4)
    shapes = ({0: Dim("rows", max=8)},) if open_rows else None
    edge = to_edge(torch.export.export(model, (x,), dynamic_shapes=shapes))
    program = (edge.to_backend(XnnpackPartitioner()) if delegate else edge).to_executorch()
    file = program.buffer
    method, stock = Runtime.get().load_program(file).load_method(), load_stock(file)
    with torch.no_grad():
        expected, spec = tree_flatten(model(x))
    for results in (method.execute([x]), stock.forward([x])):
        assert [None if each is None else type(each) for each in results] == [
            None if each is None else type(each) for each in expected
        ]
        torch.testing.assert_close(tree_unflatten(results, spec), model(x), rtol=1e-5, atol=1e-6)
    assert [info.kind for info in method.metadata.outputs] == ["none", "tensor", "none", "int", "tensor", "none"]


def test_none_is_bound_to_no_memory() -> None:
    program = to_edge(torch.export.export(Optional(), (torch.randn(2, 4),))).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method()
    with pytest.raises(XirRuntimeError, match="output 0 is a none, not a tensor"):
        method.bind_output(0, torch.empty(3))
