"""Tensors of rank 0 have dimensions 0 and -1 for ATen: every op that takes a dimension, in both runtimes."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from reference.meeting import forms, problem
from reference.modules import Calling
from reference.runtimes import load_stock
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from xir.dialects import edge
from xir.runtime import Runtime

aten = torch.ops.aten
ZERO = torch.zeros((), dtype=torch.int64)
ONE_INDEX = torch.zeros(1, dtype=torch.int64)

CALLS: dict[str, Callable[[Tensor, int], Any]] = {
    "sum.dim_IntList": lambda x, dim: (aten.sum.dim_IntList(x, [dim]), aten.sum.dim_IntList(x, [dim], True)),
    "prod.dim_int": lambda x, dim: (aten.prod.dim_int(x, dim), aten.prod.dim_int(x, dim, True)),
    "amax": lambda x, dim: (aten.amax(x, [dim]), aten.amax(x, [dim], True)),
    "amin": lambda x, dim: (aten.amin(x, [dim]), aten.amin(x, [dim], True)),
    "max.dim": aten.max.dim,
    "min.dim": aten.min.dim,
    "argmax": aten.argmax,
    "argmin": aten.argmin,
    "any.dim": aten.any.dim,
    "any.dims": lambda x, dim: aten.any.dims(x, [dim]),
    "all.dim": aten.all.dim,
    "cumsum": aten.cumsum,
    "topk": lambda x, dim: aten.topk(x, 1, dim),
    "sort": aten.sort,
    "squeeze.dim": lambda x, dim: aten.squeeze.dim(x, dim) + x,
    "squeeze.dims": lambda x, dim: aten.squeeze.dims(x, [dim]) + x,
    "unsqueeze": lambda x, dim: aten.unsqueeze(x, dim) + x,
    "permute": lambda x, dim: aten.permute(x, []) + x,
    "transpose.int": lambda x, dim: aten.transpose.int(x, dim, -1 - dim) + x,
    "stack": lambda x, dim: aten.stack([x, x], dim),
    "flip": lambda x, dim: aten.flip(x, [dim]),
    "gather": lambda x, dim: (aten.gather(x, dim, ZERO), aten.gather(x, dim, ONE_INDEX)),
    "index_select": lambda x, dim: aten.index_select(x, dim, ONE_INDEX),
    "scatter.src": lambda x, dim: aten.scatter.src(x, dim, ZERO, x + x),
    "scatter.value": lambda x, dim: aten.scatter.value(x, dim, ZERO, 2),
    "scatter_add": lambda x, dim: aten.scatter_add(x, dim, ZERO, x),
    "scatter_reduce.two": lambda x, dim: aten.scatter_reduce.two(x, dim, ZERO, x + x, "amax"),
}
FLOATS: dict[str, Callable[[Tensor, int], Any]] = {
    "mean.dim": lambda x, dim: (aten.mean.dim(x, [dim]), aten.mean.dim(x, [dim], True)),
    "linalg_vector_norm": lambda x, dim: [
        aten.linalg_vector_norm(x, order, [dim], keep) for order in (0, 1, 2, 3, torch.inf) for keep in (False, True)
    ],
    "var.dim": lambda x, dim: aten.var.dim(x, [dim], False),
    "var.correction": lambda x, dim: aten.var.correction(x, [dim], correction=0),
    "_softmax": lambda x, dim: aten._softmax(x, dim, False),
    "_log_softmax": lambda x, dim: aten._log_softmax(x, dim, False),
}
REFUSED: dict[str, Callable[[Tensor], Any]] = {
    "slice.Tensor": lambda x: aten.slice.Tensor(x, 0, 0, 1),
    "select.int": lambda x: aten.select.int(x, 0, 0),
    "split.Tensor": lambda x: aten.split.Tensor(x, 1, 0),
    "split_with_sizes": lambda x: aten.split_with_sizes(x, [1], 0),
    "unbind.int": lambda x: aten.unbind.int(x, 0),
    "cat": lambda x: aten.cat([x, x], 0),
    "roll": lambda x: aten.roll(x, [1], [0]),
    "select_scatter": lambda x: aten.select_scatter(x, x, 0, 0),
    "slice_scatter": lambda x: aten.slice_scatter(x, x, 0, 0, 1),
    "sym_size.int": lambda x: aten.sym_size.int(x, 0),
}
"""What ATen itself refuses for such tensors."""

FP32_IN_STOCK = {"_log_softmax"}
"""What stock ExecuTorch has no kernel in fp64 for, whatever the rank."""


def calls(call: Callable[[Tensor, int], Any], inputs: list[Tensor]) -> nn.Module:
    """A call along both dimensions of each input, and of constants of the inputs' types."""
    constants = {f"constant{number}": x + 1 for number, x in enumerate(inputs)}

    def forward(m: nn.Module, *inputs: Tensor) -> list[Any]:
        return [call(x, dim) for x in (*inputs, *map(m.get_buffer, constants)) for dim in (0, -1)]

    return Calling(forward, **constants)


@pytest.mark.parametrize("name", [*CALLS, *FLOATS])
def test_agrees_with_eager(name: str) -> None:
    inputs = [torch.tensor(-1.5)]
    if name not in FP32_IN_STOCK:
        inputs.append(torch.tensor(2.5, dtype=torch.float64))
    if name in CALLS:
        inputs.append(torch.tensor(3))
    model = calls(CALLS.get(name) or FLOATS[name], inputs)
    wanted = tree_leaves(model(*inputs))
    results = dict[str, list[Any]]()
    for form, program in forms(torch.export.export(model, tuple(inputs))).items():
        made = program.to_executorch()
        file = made.buffer
        results[form] = Runtime.get().load_program(file).load_method("forward").execute(inputs)
        # What has no kernel there does not load; the program does not keep the memory of its outputs alive.
        if not made.missing_kernels:
            stock = load_stock(file)
            results[f"{form} in stock"] = [each.clone() for each in stock.forward(inputs)]
    problems = {
        form: [text for each, expected in zip(outputs, wanted, strict=True) if (text := problem(each, expected, 4))]
        for form, outputs in results.items()
    }
    assert not any(problems.values()), problems


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_by_aten(name: str) -> None:
    with pytest.raises((RuntimeError, IndexError)):
        REFUSED[name](torch.tensor(1.5))


def test_every_op_with_a_dimension_is_called() -> None:
    of_dimensions = {"dim", "dims", "dim0"}
    named = {name.removeprefix("edge.") for name, op in edge.OPS.items() if of_dimensions & set(op.row.schema.values)}
    assert named == CALLS.keys() | FLOATS.keys() | REFUSED.keys()
