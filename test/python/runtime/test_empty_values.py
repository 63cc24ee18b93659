"""Delegates at shapes at which values are empty, of which XNNPACK takes none, compute the others as eager does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from reference.modules import Function
from torch import Tensor
from torch.nn import functional
from torch.utils._pytree import tree_leaves

import xir
from xir.dialects import xnnpack
from xir.runtime import Method, Runtime, XirRuntimeError

WEIGHT = torch.linspace(-1, 1, 12).reshape(4, 3)


def loaded(function: Callable[[Tensor], object], shape: tuple[int, ...]) -> Method:
    """The function in a delegate, with the first dimension open up to 9."""
    program = torch.export.export(
        Function(function), (torch.randn(shape),), dynamic_shapes=(({0: torch.export.Dim.AUTO},),)
    )
    edge = xir.to_edge(program, max_size=9).to_backend(xir.XnnpackPartitioner())
    assert any(isinstance(op, xnnpack.SubgraphOp) for op in edge.module.walk())
    return Runtime.get().load_program(edge.to_executorch().buffer).load_method()


FUNCTIONS: dict[str, Callable[[Tensor], object]] = {
    "of an empty batch": lambda x: (functional.linear(x, WEIGHT).relu(), x @ WEIGHT.T, x.softmax(-1), x * 2),
    "a slice": lambda x: x[2:],
    "a slice beside others": lambda x: (x[2:].relu(), x.tanh(), x[1:] * 2),
    "a slice of a slice": lambda x: x[1:][1:].abs(),
    "with steps": lambda x: x[1::2].abs(),
    "joined": lambda x: torch.cat([x[2:].relu(), x, x[1:]]),
    "joined where one is left": lambda x: torch.cat([x[2:] * 2, x]),
    "moved": lambda x: (x[2:].T.relu(), x[1:].reshape(-1).relu(), x[2:].unsqueeze(0) + x.mean()),
    "broadcast": lambda x: x[2:] * x[:1] + x.sum(),
    "products": lambda x: (x[2:] @ x.T, x @ x[2:].T),
    "before an end": lambda x: (x[:-2].relu(), x[1:-1], functional.pad(x, (0, 0, -1, -1)) * 2),
    "softmax": lambda x: x[2:].softmax(1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_rest_is_eagers(name: str) -> None:
    function = FUNCTIONS[name]
    method = loaded(function, (5, 3))
    sizes = {"of an empty batch": (4, 2, 1, 4, 0, 2, 9, 0, 3), "before an end": (4, 2, 9, 3)}
    for rows in sizes.get(name, (4, 2, 1, 4, 2, 9, 3)):
        x = torch.randn(rows, 3)
        for got, wanted in zip(method.execute([x]), tree_leaves(function(x)), strict=True):
            torch.testing.assert_close(torch.as_tensor(got), wanted)


def test_an_image_of_an_empty_batch() -> None:
    weight = torch.randn(2, 3, 2, 2)

    def function(x: Tensor) -> Tensor:
        return functional.max_pool2d(functional.conv2d(x, weight, padding=1).relu(), 2).mean((2, 3))

    method = loaded(function, (2, 3, 4, 4))
    for batch in (2, 0, 3, 0):
        x = torch.randn(batch, 3, 4, 4)
        torch.testing.assert_close(torch.as_tensor(method.execute([x])[0]), function(x))


def test_elements_of_none_are_refused() -> None:
    method = loaded(lambda x: x[2:].sum(0), (5, 3))
    with pytest.raises(XirRuntimeError, match="which is empty at these shapes"):
        method.execute([torch.randn(2, 3)])
    (result,) = method.execute([torch.ones(3, 3)])
    assert torch.as_tensor(result).tolist() == [1, 1, 1]
