"""Models that write to their inputs: the new values are outputs, in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from reference.runtimes import load_stock
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from xir.api import XnnpackPartitioner, to_edge
from xir.importer import import_exported_program
from xir.ir.context import XirContext
from xir.runtime import Runtime

Inputs = tuple[Tensor, ...]


class Attention(nn.Module):
    """One head over a cache that the caller keeps; x [1, 1, 8], at int64 [1], k and v [1, 16, 8]."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Tensor, at: Tensor, k: Tensor, v: Tensor) -> Tensor:
        query, key, value = self.qkv(x).chunk(3, -1)
        k.index_copy_(1, at, key)
        v.index_copy_(1, at, value)
        mask = torch.where(torch.arange(16) <= at[:, None], 0.0, -1e9)
        return nn.functional.scaled_dot_product_attention(query, k, v, mask)


class Calling(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., object]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> object:
        return self.function(*inputs)


def under_its_name(x: Tensor, y: Tensor) -> dict[str, Tensor]:
    y.mul_(2).add_(x)
    return {"read behind": y * 3, "not changed": x + 1}


def through_a_view(x: Tensor, y: Tensor) -> Tensor:
    y[1, 1:] = x[0, 1:]
    return y.relu()


def returned(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    y.add_(x)
    return y, x


def both(x: Tensor, y: Tensor) -> Tensor:
    old = y.clone()
    y.copy_(x)
    x.copy_(old)
    return x - y


def converted(x: Tensor, y: Tensor) -> Tensor:
    y.copy_(x.double() * 2)
    x[1].add_(1)
    return x + y


def nothing_else(x: Tensor, y: Tensor) -> None:
    y.copy_(x.exp())


def two() -> Inputs:
    return torch.randn(2, 3), torch.randn(2, 3)


def step() -> Inputs:
    return torch.randn(1, 1, 8), torch.tensor([5]), torch.randn(1, 16, 8), torch.randn(1, 16, 8)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Inputs], tuple[int, ...]]] = {
    "attention": (Attention, step, (2, 3)),
    **{
        function.__name__: (lambda function=function: Calling(function), two, changed)
        for function, changed in (
            (under_its_name, (1,)),
            (through_a_view, (1,)),
            (returned, (1,)),
            (both, (0, 1)),
            (converted, (0, 1)),
            (nothing_else, (1,)),
        )
    },
}
"""Name -> model, what makes its inputs, and which of these it changes."""


@pytest.mark.parametrize("decomposed", [False, True], ids=["as exported", "functional"])
@pytest.mark.parametrize("name", MODELS)
def test_new_values_are_outputs(name: str, decomposed: bool) -> None:
    """The second and later calls take what the ones before gave, as a caller with a cache does."""
    make, draw, changed = MODELS[name]
    torch.manual_seed(0)
    model, inputs = make(), draw()
    with torch.no_grad():
        program = torch.export.export(model, tuple(each.clone() for each in inputs))
        program = program.run_decompositions({}) if decomposed else program
    edge = to_edge(program, return_changed_inputs=True)
    file = edge.to_backend(XnnpackPartitioner()).to_executorch().buffer
    method = Runtime.get().load_program(file, threads=1).load_method()
    stock = load_stock(file)
    given = list(inputs)
    for _ in range(3):
        eager = [each.clone() for each in given]
        with torch.no_grad():
            leaves = pytree.tree_leaves(model(*eager))
        expected = [*leaves, *(eager[index] for index in changed)]
        before = [each.clone() for each in given]
        found = method.execute(given)
        for run in (found, stock.forward(given)):
            for one, other in zip(run, expected, strict=True):
                if other is None:
                    assert one is None
                else:
                    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
        for one, other in zip(given, before, strict=True):
            assert torch.equal(one, other), "the caller's memory is the caller's"
        for index, value in zip(changed, found[len(found) - len(changed) :], strict=True):
            given[index] = value.clone()


def test_how_outputs_are_nested() -> None:
    program = torch.export.export(Calling(under_its_name), two())
    (function,) = import_exported_program(program, XirContext(), return_changed_inputs=True).body.ops
    assert str(function.attributes["xir.out_spec"]) == ("\"T2#2#1(D2#1#1('read behind':$,'not changed':$),T1#1($))\"")


def test_what_changes_no_input_is_as_without() -> None:
    program = torch.export.export(nn.ReLU(), (torch.ones(2),))
    texts = {
        str(import_exported_program(program, XirContext(), return_changed_inputs=allowed)) for allowed in (False, True)
    }
    assert len(texts) == 1
