"""Numbers, texts and None among what a program returns: those that it computes, and those that it always returns."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from reference.modules import Calling
from reference.runtimes import both, load_stock
from torch import Tensor, nn
from torch.export import Dim
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from xir.api import ExecutorchProgram, XnnpackPartitioner, to_edge
from xir.runtime import Runtime, XirRuntimeError


def returning(*numbers: Any) -> nn.Module:
    """A layer, and constants beside its result."""
    return Calling(lambda m, x: (numbers[0], m.layer(x), {"rest": numbers[1:]}), layer=nn.Linear(4, 3))


def optional() -> nn.Module:
    """Results as libraries return them: what was not asked for is None, but in its place."""

    def forward(m: Any, x: Tensor) -> Any:
        return {"hidden": None, "logits": m.layer(x), "rest": (None, 2, x.relu(), [None])}

    return Calling(forward, layer=nn.Linear(4, 3))


def compiled(model: nn.Module, x: Tensor, shapes: Any = None, *, delegate: bool) -> ExecutorchProgram:
    edge = to_edge(torch.export.export(model, (x,), dynamic_shapes=shapes))
    return (edge.to_backend(XnnpackPartitioner()) if delegate else edge).to_executorch()


@pytest.mark.parametrize("delegate", [True, False])
def test_constant_numbers(delegate: bool) -> None:
    """As stock ExecuTorch's export returns them: each in its place, and of its type."""
    numbers = (3, True, 0.5, -0.0, math.inf, 3, -(2**63), False, 1, 1.0, 0)
    model, x = returning(*numbers), torch.rand(2, 4)
    program = compiled(model, x, delegate=delegate)
    assert "aten::_local_scalar_dense" not in program.kernel_names
    with torch.no_grad():
        expected = tree_leaves(model(x))
    method = Runtime.get().load_program(program.buffer).load_method()
    for results in (run([x]) for run in both(program.buffer)):
        for found, wanted in zip(results, expected, strict=True):
            assert type(found) is type(wanted)
            if isinstance(wanted, Tensor):
                torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
            else:
                assert str(found) == str(wanted)  # -0.0 equals 0.0
    assert [info.kind for info in method.metadata.outputs[:4]] == ["int", "tensor", "bool", "double"]


def test_computed_numbers_beside_constant_ones() -> None:
    """A number that the program computes beside one that it has, equal to it at some sizes."""
    model = Calling(lambda m, x: (x.relu(), x.shape[0], 3))
    runs = both(compiled(model, torch.randn(4, 3), ({0: Dim("rows", min=2, max=8)},), delegate=True).buffer)
    for rows in (3, 8, 2):
        x = torch.randn(rows, 3)
        for results in (run([x]) for run in runs):
            assert results[1:] == [rows, 3]
            assert torch.equal(results[0], x.relu())


@pytest.mark.parametrize("open_rows", [True, False])
@pytest.mark.parametrize("delegate", [True, False])
def test_none(delegate: bool, open_rows: bool) -> None:
    """The leaves of eager's results, in both runtimes; so the tree that the file says fits them."""
    model, x = optional(), torch.randn(2, 4)
    file = compiled(model, x, ({0: Dim("rows", max=8)},) if open_rows else None, delegate=delegate).buffer
    method, stock = Runtime.get().load_program(file).load_method(), load_stock(file)
    with torch.no_grad():
        expected, spec = tree_flatten(model(x))
    for results in (method.execute([x]), stock.forward([x])):
        assert [type(each) for each in results] == [type(each) for each in expected]
        torch.testing.assert_close(tree_unflatten(results, spec), model(x), rtol=1e-5, atol=1e-6)
    assert [info.kind for info in method.metadata.outputs] == ["none", "tensor", "none", "int", "tensor", "none"]
    with pytest.raises(XirRuntimeError, match="output 0 is a none, not a tensor"):
        method.bind_output(0, torch.empty(3))


def test_constant_methods() -> None:
    answers: dict[str, Any] = {"get_max_seq_len": 64, "get_eos_ids": [1, 2], "use_kv_cache": True, "name": "tiny"}
    program = to_edge(torch.export.export(nn.ReLU(), (torch.ones(2),)), constant_methods=answers).to_executorch()
    loaded, stock = Runtime.get().load_program(program.buffer, threads=1), load_stock(program.buffer)
    assert loaded.method_names == ["forward", *answers]
    for name, answer in answers.items():
        values = answer if isinstance(answer, list) else [answer]
        assert loaded.load_method(name).execute([]) == values
        assert list(stock.run_method(name, ())) == values


@pytest.mark.parametrize(
    ("programs", "constants", "error"),
    [
        ({}, {}, "to_edge takes one program at least"),
        ({"a": 3}, {}, "to_edge takes an ExportedProgram or the path of a .pt2 file, not a int"),
        (3, {"forward": 1}, "there are two methods 'forward'"),
        (3, {"a": [None]}, "constant method 'a' answers numbers and texts, not a NoneType"),
    ],
)
def test_what_is_no_program_or_value(programs: Any, constants: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        to_edge(programs, constant_methods=constants)
