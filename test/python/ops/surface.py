"""PyTorch programs of one operator or a few, taken all the way: export, compile, both runtimes, against eager."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import reference.dozens
import torch
from reference.dozens import check_together
from reference.modules import Function
from reference.runtimes import load_stock
from torch import nn
from torch.utils._pytree import tree_leaves

from xir import runtime
from xir.api import EdgeProgram, XnnpackPartitioner, to_edge
from xir.dialects import edge, xnnpack

TOLERANCE = 1e-5
"""Of the largest magnitude of a result."""

Model = Callable[..., Any]


def r(*shape: int) -> torch.Tensor:
    """Numbers of both signs."""
    return torch.randn(shape)


def p(*shape: int) -> torch.Tensor:
    """Positive numbers, away from zero."""
    return torch.rand(shape) + 0.5


def mask(*shape: int) -> torch.Tensor:
    """Booleans, both kinds in every row long enough."""
    return torch.rand(shape) > 0.4


Case = tuple[Model, tuple[torch.Tensor, ...]]
Cases = Sequence[tuple[str, Case]]


def case(name: str, model: Model, *inputs: torch.Tensor) -> tuple[str, Case]:
    """A model, a module or a function, with what to run it on."""
    return name, (model, inputs)


def name_of(named: tuple[str, Case]) -> str:
    return named[0]


def dozens(*cases: tuple[str, Case]) -> list[Any]:
    """Parameters of a dozen cases each, for `assert_each_whole`."""
    return reference.dozens.dozens(cases, name_of)


def trained(model: nn.Module) -> nn.Module:
    """A model in inference, with parameters and statistics that are not the identity's."""
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.modules.batchnorm._NormBase) and module.running_mean is not None:
                assert module.running_var is not None
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 1.5)
        for name, parameter in model.named_parameters():
            if "norm" in name or parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape) * 0.2)
    return model.eval()


class Beside(nn.Module):
    """Several cases, each with inputs of its own, and the results of all."""

    def __init__(self, cases: Iterable[Case]):
        super().__init__()
        models, inputs = zip(*cases, strict=True)
        self.models = nn.ModuleList(each if isinstance(each, nn.Module) else Function(each) for each in models)
        self.counts = [len(each) for each in inputs]

    def forward(self, *inputs: torch.Tensor) -> list[Any]:
        given = iter(inputs)
        return [model(*islice(given, count)) for model, count in zip(self.models, self.counts, strict=True)]


def beside(cases: Iterable[tuple[str, Case]]) -> Case:
    """Cases as one."""
    found = [case for _, case in cases]
    return Beside(found), tuple(x for _, inputs in found for x in inputs)


def compiled(model: Model, inputs: tuple[torch.Tensor, ...]) -> EdgeProgram:
    """The model, exported and delegated as far as possible."""
    module = model if isinstance(model, nn.Module) else Function(model)
    return to_edge(torch.export.export(module.eval(), inputs)).to_backend(XnnpackPartitioner())


def taken(x: torch.Tensor) -> torch.Tensor:
    """An input in the memory order that a program exported with it takes: an image's own, torch's for all others."""
    is_image = x.ndim == 4 and x.is_contiguous(memory_format=torch.channels_last)
    return x if is_image else x.contiguous()


def assert_computes(
    program: EdgeProgram, model: Model, inputs: tuple[torch.Tensor, ...], *, stock: bool = True
) -> None:
    """The program's file gives eager's numbers in xir's runtime and, if `stock`, in ExecuTorch's."""
    with torch.no_grad():
        expected = tree_leaves(model(*inputs))
    file = program.to_executorch().buffer
    method = runtime.Runtime.get().load_program(file).load_method("forward")
    assert_close(method.execute(list(inputs)), expected)
    if stock:
        assert_close(load_stock(file).forward([taken(x) for x in inputs]), expected)


def assert_whole(model: Model, inputs: tuple[torch.Tensor, ...]) -> None:
    """All of a model is in one delegate, or nothing is left to compute, and both runtimes give eager's numbers."""
    program = compiled(model, inputs)
    ops = list(program.module.walk())
    left = [op for op in ops if isinstance(op, edge.EdgeOp) and not isinstance(op, edge.ConstantOp)]
    assert not left, [f"{op.name}: {op.attributes.get('xir.reason')}" for op in left]
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) <= 1
    assert_computes(program, model, inputs)


def assert_each_whole(cases: Cases) -> None:
    """`assert_whole` of each case, in one program of all."""
    check_together(lambda some: assert_whole(*beside(some)), cases, name_of)


def together(*models: Model) -> Model:
    """Models of the same inputs as one, which is checked in the time of one."""
    return lambda *inputs: tuple(model(*inputs) for model in models)


def assert_close(actual: Any, expected: list[torch.Tensor]) -> None:
    """Equal shapes, types and non-finite elements, and values within the tolerance."""
    assert len(actual) == len(expected)
    for got, want in zip(actual, expected, strict=True):
        value = torch.as_tensor(got)
        assert (value.dtype, tuple(value.shape)) == (want.dtype, tuple(want.shape))
        finite = want[want.isfinite()]
        largest = finite.abs().max().item() if finite.numel() else 0.0
        torch.testing.assert_close(value, want, rtol=0, atol=TOLERANCE * max(largest, 1e-6), equal_nan=True)
