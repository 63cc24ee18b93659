"""Numbers of operators: what a program reads of its own constants is known when it is imported, sizes are operands, and
what it reads of other tensors stays arithmetic of tensors."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from reference.both_runtimes import delegates, lower
from reference.meeting import check
from reference.modules import Calling, Function
from reference.runtimes import agree
from torch import Tensor, nn
from torch.export import Dim

from bench.encoders import kernel_calls
from xir.api import XnnpackPartitioner, to_edge
from xir.importer.importer import import_exported_program
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError


def model_of(function: Callable[[Any, Tensor], Any]) -> Calling:
    """A function of this model, which has constants, and of a tensor."""
    sizes, scale = torch.tensor([3, 2, 5]), nn.Parameter(torch.tensor(0.5))
    return Calling(function, two=torch.tensor(2), sizes=sizes, count=torch.tensor(2), scale=scale)


def filled(x: Tensor) -> Tensor:
    """A mask that is written in place, and asked whether it is as it should be."""
    mask = torch.zeros(6)
    mask[:2] = 1
    torch._check(mask.sum().item() > 0)
    return x * mask


PROGRAMS: dict[str, Callable[[Any, Tensor], Any]] = {
    "factor": lambda m, x: x * m.two.item(),
    "fraction": lambda m, x: x + m.scale.item(),
    "shape": lambda m, x: x.reshape(m.two.item(), 3),
    "computed": lambda m, x: x.reshape((m.sizes[0] * m.two).item() // 2, -1),
    "shapes behind": lambda m, x: torch.relu(x.reshape(m.two.item(), 3)).sum(0),
    "slice": lambda m, x: x[: m.two.item()],
    "list": lambda m, x: x[m.sizes.tolist()[1] :],
    "copies": lambda m, x: torch.cat([x] * 2)[: m.sizes[2].item()],
    "of no input": lambda m, x: x * torch.full((6,), 3.0)[0].item(),
    "output": lambda m, x: (x * m.two.item(), m.two.item()),
    "computed output": lambda m, x: (x, m.two.item() * 3 + 1),
    "assertion": lambda m, x: filled(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_number_of_a_constant_is_read_at_import(name: str) -> None:
    check(model_of(PROGRAMS[name]), torch.tensor([1.0, -2.0, 3.0, 4.5, 0.25, -6.0]))


def test_what_is_written_is_not_known() -> None:
    def counted(m: Any, x: Tensor) -> Tensor:
        m.count.add_(1)
        return x[: m.count.item()]

    program = torch.export.export(model_of(counted), (torch.arange(6.0),))
    with pytest.raises(DiagnosticError, match="depends on the data"):
        import_exported_program(program, XirContext())


def sizes(x: Tensor) -> tuple[Tensor, ...]:
    """Sizes among the numbers of operators."""
    rows, columns = x.shape
    return (
        *(x * rows, x + columns, x - rows, torch.full((3,), rows), torch.arange(rows)),
        *(torch.arange(2, columns + 2), torch.arange(rows, dtype=torch.float32) * x[:, 0]),
    )


def test_sizes_are_numbers_of_operators() -> None:
    model, x = Function(sizes), torch.randn(3, 4)
    exported = torch.export.export(model, (x,), dynamic_shapes=(({0: Dim("rows", max=5), 1: Dim("columns", max=6)},),))
    for program in (to_edge(exported), to_edge(exported).to_backend(XnnpackPartitioner())):
        agree(program.to_executorch().buffer, model, ([torch.randn(size)] for size in ((3, 4), (5, 6), (2, 3))))


COMPUTED: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "product": lambda x, s: x * s.item(),
    "sum": lambda x, s: torch.add(x, s.item(), alpha=3),
    "difference": lambda x, s: x - s.item(),
    "difference to it": lambda x, s: s.item() - x,
    "quotient": lambda x, s: x / s.item(),
    "of a computed number": lambda x, s: x.relu() * (s.exp() * 2 + 1).item(),
    "of one element of three dimensions": lambda x, s: x * s.view(1, 1, 1).item(),
    "filled": lambda x, s: torch.full((3, 4), s.item(), dtype=x.dtype) + x,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_numbers_of_inputs_are_computed_with_in_a_delegate(dtype: torch.dtype) -> None:
    unit = torch.finfo(dtype).eps
    model = Function(lambda x, s: [function(x, s) for function in COMPUTED.values()])
    calls = [(torch.randn(3, 4).to(dtype), torch.tensor(number, dtype=dtype)) for number in (1.5, -0.37, 3.0)]
    lowered = lower(model, calls[0])
    assert delegates(lowered) == 1
    program = lowered.to_executorch()
    assert kernel_calls(program) == []
    agree(program.buffer, model, calls, rtol=4 * unit, atol=4 * unit)
