"""Models with mutable buffers: calls in a row give eager's results, in xir's runtime and in stock ExecuTorch."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from reference.runtimes import agree
from torch import Tensor, nn

from xir.api import ExecutorchProgram, XnnpackPartitioner, to_edge
from xir.dialects import edge
from xir.emitter import emit, read
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.printer import module_to_text
from xir.quantizer import quantize
from xir.runtime import Runtime, XirRuntimeError
from xir.runtime.program import BufferInfo, Method, Program

Inputs = tuple[Tensor, ...]


class Counter(nn.Module):
    """How often it was called, counted from 5."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor([5.0, -5.0, 0.0]))

    def forward(self, x: Tensor) -> Tensor:
        self.get_buffer("count").add_(1)
        return x * self.get_buffer("count")


class Attention(nn.Module):
    """One head over a cache of keys and values, large enough that its zeros are not stored."""

    def __init__(self, window: int = 256, width: int = 32):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.register_buffer("k", torch.zeros(1, window, width))
        self.register_buffer("v", torch.zeros(1, window, width))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        keys = self.get_buffer("k").index_copy_(1, at, k)
        values = self.get_buffer("v").index_copy_(1, at, v)
        mask = torch.where(torch.arange(keys.shape[1]) <= at[:, None], 0.0, -1e9)
        return nn.functional.scaled_dot_product_attention(q, keys, values, mask)


class Streaming(nn.Module):
    """A convolution that keeps the end of what it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 5, 4)
        self.register_buffer("past", torch.ones(1, 3, 3))

    def forward(self, x: Tensor) -> Tensor:
        seen = torch.cat([self.get_buffer("past"), x], -1)
        self.get_buffer("past").copy_(seen[..., -3:])
        return self.conv(seen)


class Slices(nn.Module):
    """What is written through views, and an old value that is returned."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.randn(4, 6))
        self.register_buffer("other", torch.randn(4, 6))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        kept, other = self.get_buffer("kept"), self.get_buffer("other")
        kept[1:3, :4] = x
        kept[3] += 1
        old = other.clone()
        other.copy_(kept + 1)
        return kept * 2, old


class Written(nn.Module):
    """A cache that is written by indexing: whole rows at positions, then a slice with known bounds."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 2, 8, 4))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        k = self.get_buffer("k")
        k[:, :, at] = x
        k[:, :, 6:] = x
        return k.sum((0, 1))


def calls(*shapes: Sequence[int], positions: bool = False, count: int = 5) -> list[Inputs]:
    """Inputs of calls in a row; with `positions` the call's number comes last."""
    at = [(torch.tensor([number]),) if positions else () for number in range(count)]
    return [(*(torch.randn(*shape) for shape in shapes), *last) for last in at]


MODELS = {
    "counter": (Counter, calls((3,)), 1),
    "attention": (Attention, calls((1, 1, 32), positions=True), 2),
    "streaming": (Streaming, calls((1, 3, 8)), 1),
    "slices": (Slices, calls((2, 4)), None),
    "written": (Written, calls((1, 2, 1, 4), positions=True), None),
    "training": (lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)).train(), calls((2, 3, 5, 5)), None),
}
"""Name -> model, inputs, and delegates where that matters."""


def compiled(model: nn.Module, inputs: Inputs, *, delegated: bool) -> ExecutorchProgram:
    with torch.no_grad():
        program = to_edge(torch.export.export(model, inputs))
    return (program.to_backend(XnnpackPartitioner()) if delegated else program).to_executorch()


@pytest.mark.parametrize("delegated", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_calls_in_a_row(name: str, delegated: bool) -> None:
    make, rows, delegates = MODELS[name]
    torch.manual_seed(0)
    model = make()
    file = compiled(model, rows[0], delegated=delegated).buffer
    agree(file, model, rows, rtol=1e-4, atol=1e-5)
    if delegated and delegates is not None:
        method = Runtime.get().load_program(file, threads=1).load_method()
        assert method.metadata.num_delegates == delegates


def test_caches_are_written_in_place_and_zeros_are_not_stored() -> None:
    model = Attention()
    program = compiled(model, MODELS["attention"][1][0], delegated=True)
    assert program.kernel_names.count("aten::index_put_") == 1
    assert "aten::copy_" not in program.kernel_names
    assert "aten::index_put.out" not in program.kernel_names
    weights = sum(value.nbytes for value in model.parameters())
    assert len(program.buffer) < weights + model.get_buffer("k").nbytes


def test_writes_by_indexing_are_in_place() -> None:
    model, inputs = Written(), MODELS["written"][1][0]
    for delegated in (True, False):
        kernels = compiled(model, inputs, delegated=delegated).kernel_names
        assert "aten::index_put_" in kernels
        assert {"aten::copy_", "aten::index_put.out", "aten::slice_scatter.out"}.isdisjoint(kernels)


def test_instances_have_buffers_of_their_own() -> None:
    file = compiled(Counter(), (torch.ones(3),), delegated=True).buffer
    program = Runtime.get().load_program(file, threads=1)
    first, second = program.load_method(), program.load_method()
    x = torch.ones(3)
    assert [first.execute([x])[0].tolist() for _ in range(2)] == [[6, -4, 1], [7, -3, 2]]
    assert second.execute([x])[0].tolist() == [6, -4, 1]


def test_files_are_read_as_they_were_written() -> None:
    program = compiled(Counter(), (torch.ones(3),), delegated=False)
    ctx, again = XirContext(), io.BytesIO()
    module = read(program.buffer, ctx)
    text = module_to_text(module)
    assert '"count", 0, 0, 0, 0' in text
    assert "planned <2, 0> data dense" in text
    emit(module, ctx, again)
    assert again.getvalue() == program.buffer


# State through the API


@pytest.fixture
def counting() -> Program:
    return Runtime.get().load_program(compiled(Counter(), (torch.ones(3),), delegated=True).buffer, threads=1)


def run(method: Method) -> list[float]:
    return method.execute([torch.ones(3)])[0].tolist()


def test_state_is_read_written_and_reset(counting: Program) -> None:
    method = counting.load_method()
    assert counting.metadata().buffers == (BufferInfo("count", "float32", (3,), (0,)),)
    assert run(method) == [6, -4, 1]
    assert method.state.state_dict()["count"].tolist() == [6, -4, 1]
    method.state.load_state_dict({"count": torch.zeros(3)})
    assert run(method) == [1, 1, 1]
    method.state.load_state_dict({"count": np.full(3, 8, np.float32)})
    method.state.reset()
    assert run(method) == [6, -4, 1]


def test_state_of_one_instance_goes_on_in_another(counting: Program) -> None:
    first, second = counting.load_method(), counting.load_method()
    run(first)
    second.state.load_state_dict(first.state.state_dict())
    run(first)
    assert run(second) == [7, -3, 2]


def test_instances_share_a_state(counting: Program) -> None:
    state = counting.new_state()
    first, second = counting.load_method(state=state), counting.load_method(state=state)
    assert [run(first), run(second), run(first)] == [[6, -4, 1], [7, -3, 2], [8, -2, 3]]
    assert run(counting.load_method(state=first.state)) == [9, -1, 4]
    assert run(counting.load_method()) == [6, -4, 1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"other": torch.zeros(3)}, "there is no buffer 'other'; there are: count"),
        ({"count": torch.zeros(4)}, r"buffer 'count' has shape \[3\], and \[4\] was given"),
        ({"count": torch.zeros(3, dtype=torch.int32)}, "buffer 'count' is float32, and int32 was given"),
        ({"count": [1, 2, 3]}, "buffer 'count' is a tensor, and a list was given"),
    ],
)
def test_what_does_not_fit_changes_nothing(counting: Program, values: dict[str, Any], message: str) -> None:
    method = counting.load_method()
    with pytest.raises(XirRuntimeError, match=message):
        method.state.load_state_dict(values)
    assert run(method) == [6, -4, 1]


def test_the_state_of_another_program_is_refused(counting: Program) -> None:
    other = Runtime.get().load_program(compiled(Counter(), (torch.ones(3),), delegated=False).buffer, threads=1)
    with pytest.raises(XirRuntimeError, match="the state is not this program's"):
        counting.load_method(state=other.new_state())


def test_quantizing_leaves_buffers_as_they_were() -> None:
    """Calibration runs the model, which writes to its cache."""
    model, rows = Attention(), MODELS["attention"][1]
    with torch.no_grad():
        program = to_edge(quantize(torch.export.export(model, rows[0]), rows[0], rows))
    (k, v) = (op for op in program.module.walk() if isinstance(op, edge.MutableBufferOp))
    assert not any(storage_array(op.initial, program.ctx).any() for op in (k, v))
    assert not model.get_buffer("k").any()
    method = (
        Runtime.get()
        .load_program(program.to_backend(XnnpackPartitioner()).to_executorch().buffer, threads=1)
        .load_method()
    )
    for inputs in rows:
        with torch.no_grad():
            expected = model(*inputs)
        torch.testing.assert_close(method.execute(inputs)[0], expected, rtol=0.1, atol=0.05)
