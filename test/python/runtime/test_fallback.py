"""Operators without a portable kernel run through torch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import xir
from xir.runtime import Method, Runtime, XirRuntimeError
from xir.runtime.fallback import find_kernel, find_operator


class Function(torch.nn.Module):
    """A module out of a function."""

    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def load(function: Any, *inputs: torch.Tensor) -> Method:
    """A program of kernels only."""
    program = xir.to_edge(torch.export.export(Function(function), inputs)).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cumsum(x, 1),
        lambda x: torch.topk(x, 2, dim=-1),
        lambda x: (x > 0).to(torch.int64) + 3,
        lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
        lambda x: x.to(torch.bfloat16) * 2,
        lambda x: torch.stack([x, x.flip(0)], 1),
        lambda x: torch.argmax(x, 0),
    ],
)
def test_agrees_with_torch(function: Any):
    x = torch.randn(3, 5)
    expected = function(x)
    outputs = load(function, x).execute([x])
    for out, reference in zip(outputs, expected if isinstance(expected, tuple) else [expected], strict=True):
        assert out.dtype == reference.dtype
        torch.testing.assert_close(out, reference)


def test_portable_kernels_hand_over_other_dtypes():
    x = torch.randn(4, dtype=torch.float64)
    method = load(lambda x: x + x, x)
    assert method.metadata.kernel_names == ("aten::add.out",)
    for _ in range(2):
        torch.testing.assert_close(method.execute([x])[0], x + x)


def test_what_torch_raises_is_told_in_one_line():
    index = torch.tensor([0, 7])
    method = load(lambda x, i: torch.index_select(x, 0, i), torch.randn(8, 2), index)
    with pytest.raises(XirRuntimeError) as error:
        method.execute([torch.randn(8, 2), index + 5])
    assert "aten::index_select" in str(error.value)
    assert "Traceback" not in str(error.value)


def test_unknown_operators():
    assert find_kernel("aten::no_such_operator.out") is None
    assert find_kernel("nonsense") is None
    assert find_operator("aten::add.out") is torch.ops.aten.add.out


def test_a_program_opens_no_files():
    assert find_operator("aten::from_file") is None
    assert find_operator("aten::from_file.out") is None
