"""Models that keep state, in buffers and in inputs whose new values are outputs: eager's results in both runtimes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from emitter.sample_modules import emitted
from reference.modules import Calling
from reference.runtimes import agree, load_stock
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from xir.api import ExecutorchProgram, XnnpackPartitioner, to_edge
from xir.dialects import edge
from xir.emitter import read
from xir.importer import import_exported_program
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.printer import module_to_text
from xir.quantizer import quantize
from xir.runtime import Runtime, XirRuntimeError
from xir.runtime.program import BufferInfo, Method, Program

Inputs = tuple[Tensor, ...]


def attend(m: Any, x: Tensor, at: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """One head over a cache of keys and values, to which it writes."""
    q, k, v = m.qkv(x).chunk(3, -1)
    keys.index_copy_(1, at, k)
    values.index_copy_(1, at, v)
    mask = torch.where(torch.arange(keys.shape[1]) <= at[:, None], 0.0, -1e9)
    return nn.functional.scaled_dot_product_attention(q, keys, values, mask)


# Buffers


def counter() -> nn.Module:
    """How often it was called, counted from 5."""
    return Calling(lambda m, x: x * m.count.add_(1), count=torch.tensor([5.0, -5.0, 0.0]))


def attention() -> nn.Module:
    """Its caches are large enough that their zeros are not stored."""
    caches = {"k": torch.zeros(1, 256, 32), "v": torch.zeros(1, 256, 32)}
    return Calling(lambda m, x, at: attend(m, x, at, m.k, m.v), qkv=nn.Linear(32, 96), **caches)


def streaming() -> nn.Module:
    """A convolution that keeps the end of what it has seen."""

    def forward(m: Any, x: Tensor) -> Tensor:
        seen = torch.cat([m.past, x], -1)
        m.past.copy_(seen[..., -3:])
        return m.conv(seen)

    return Calling(forward, conv=nn.Conv1d(3, 5, 4), past=torch.ones(1, 3, 3))


def written() -> nn.Module:
    """A cache that is written by indexing: whole rows at positions, then a slice with known bounds."""

    def forward(m: Any, x: Tensor, at: Tensor) -> Tensor:
        m.k[:, :, at] = x
        m.k[:, :, 6:] = x
        return m.k.sum((0, 1))

    return Calling(forward, k=torch.zeros(1, 2, 8, 4))


def calls(*shapes: Sequence[int], positions: bool = False, count: int = 5) -> list[Inputs]:
    """Inputs of calls in a row; with `positions` the call's number comes last."""
    at = [(torch.tensor([number]),) if positions else () for number in range(count)]
    return [(*(torch.randn(*shape) for shape in shapes), *last) for last in at]


MODELS = {
    "counter": (counter, calls((3,)), 1),
    "attention": (attention, calls((1, 1, 32), positions=True), 2),
    "streaming": (streaming, calls((1, 3, 8)), 1),
    "written": (written, calls((1, 2, 1, 4), positions=True), None),
}
"""Name -> model, inputs, and delegates where that matters. Other ways to write are in `test_mutable_buffers.py`."""


def compiled(model: nn.Module, inputs: Inputs, *, delegated: bool) -> ExecutorchProgram:
    with torch.no_grad():
        program = to_edge(torch.export.export(model, inputs))
    return (program.to_backend(XnnpackPartitioner()) if delegated else program).to_executorch()


@pytest.mark.parametrize("delegated", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_calls_in_a_row(name: str, delegated: bool) -> None:
    make, rows, delegates = MODELS[name]
    model = make()
    program = compiled(model, rows[0], delegated=delegated)
    agree(program.buffer, model, rows, rtol=1e-4, atol=1e-5)
    method = Runtime.get().load_program(program.buffer, threads=1).load_method()
    if delegated and delegates is not None:
        assert method.metadata.num_delegates == delegates
    if name == "written" or (delegated and name == "attention"):
        assert "aten::index_put_" in program.kernel_names
        assert {"aten::copy_", "aten::index_put.out", "aten::slice_scatter.out"}.isdisjoint(program.kernel_names)
    if delegated and name == "attention":
        assert program.kernel_names.count("aten::index_put_") == 1, "of both caches"
        weights = sum(value.nbytes for value in model.parameters())
        assert len(program.buffer) < weights + model.get_buffer("k").nbytes, "zeros are not stored"


def test_files_are_read_as_they_were_written() -> None:
    program = compiled(counter(), (torch.ones(3),), delegated=False)
    ctx = XirContext()
    module = read(program.buffer, ctx)
    text = module_to_text(module)
    assert '"count", 0, 0, 0, 0' in text
    assert "planned <2, 0> data dense" in text
    assert emitted(module, ctx) == program.buffer


def test_quantizing_leaves_buffers_as_they_were() -> None:
    """Calibration runs the model, which writes to its cache."""
    model, rows = attention(), MODELS["attention"][1]
    with torch.no_grad():
        program = to_edge(quantize(torch.export.export(model, rows[0]), rows[0], rows))
    (k, v) = (op for op in program.module.walk() if isinstance(op, edge.MutableBufferOp))
    assert not any(storage_array(op.initial, program.ctx).any() for op in (k, v))
    assert not model.get_buffer("k").any()
    file = program.to_backend(XnnpackPartitioner()).to_executorch().buffer
    method = Runtime.get().load_program(file, threads=1).load_method()
    for inputs in rows:
        with torch.no_grad():
            expected = model(*inputs)
        torch.testing.assert_close(method.execute(inputs)[0], expected, rtol=0.1, atol=0.05)


# State through the API


@pytest.fixture(scope="module")
def counting() -> Program:
    return Runtime.get().load_program(compiled(counter(), (torch.ones(3),), delegated=True).buffer, threads=1)


def run(method: Method) -> list[float]:
    return method.execute([torch.ones(3)])[0].tolist()


def test_state_is_read_written_and_reset(counting: Program) -> None:
    method, other = counting.load_method(), counting.load_method()
    assert counting.metadata().buffers == (BufferInfo("count", "float32", (3,), (0,)),)
    assert [run(method), run(method), run(other)] == [[6, -4, 1], [7, -3, 2], [6, -4, 1]]
    assert method.state.state_dict()["count"].tolist() == [7, -3, 2]
    other.state.load_state_dict(method.state.state_dict())
    assert [run(method), run(other)] == [[8, -2, 3], [8, -2, 3]], "goes on where the other was"
    for values in (torch.zeros(3), np.zeros(3, np.float32)):
        method.state.load_state_dict({"count": values})
        assert run(method) == [1, 1, 1]
    method.state.reset()
    assert run(method) == [6, -4, 1]


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


# Inputs that are written to


def caches_of_the_caller() -> nn.Module:
    return Calling(attend, qkv=nn.Linear(8, 24))


def under_its_name(m: Any, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    y.mul_(2).add_(x)
    return {"read behind": y * 3, "not changed": x + 1}


def through_a_view(m: Any, x: Tensor, y: Tensor) -> Tensor:
    y[1, 1:] = x[0, 1:]
    return y.relu()


def returned(m: Any, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    y.add_(x)
    return y, x


def both(m: Any, x: Tensor, y: Tensor) -> Tensor:
    old = y.clone()
    y.copy_(x)
    x.copy_(old)
    return x - y


def converted(m: Any, x: Tensor, y: Tensor) -> Tensor:
    y.copy_(x.double() * 2)
    x[1].add_(1)
    return x + y


def nothing_else(m: Any, x: Tensor, y: Tensor) -> None:
    y.copy_(x.exp())


TWO = ((2, 3), (2, 3))
CHANGING: dict[str, tuple[Callable[[], nn.Module], Inputs, tuple[int, ...]]] = {
    "attention": (
        caches_of_the_caller,
        (torch.randn(1, 1, 8), torch.tensor([5]), torch.randn(1, 16, 8), torch.randn(1, 16, 8)),
        (2, 3),
    ),
    **{
        function.__name__: (lambda function=function: Calling(function), calls(*TWO)[0], changed)
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
"""Name -> model, inputs, and which of these it changes."""


@pytest.mark.parametrize("decomposed", [False, True], ids=["as exported", "functional"])
@pytest.mark.parametrize("name", CHANGING)
def test_new_values_are_outputs(name: str, decomposed: bool) -> None:
    """The second and later calls take what the ones before gave, as a caller with a cache does."""
    make, inputs, changed = CHANGING[name]
    model = make()
    with torch.no_grad():
        program = torch.export.export(model, tuple(each.clone() for each in inputs))
        program = program.run_decompositions({}) if decomposed else program
    edge_program = to_edge(program, return_changed_inputs=True)
    file = edge_program.to_backend(XnnpackPartitioner()).to_executorch().buffer
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
        for results in (found, stock.forward(given)):
            torch.testing.assert_close(list(results), expected, rtol=1e-5, atol=1e-6)
        assert all(map(torch.equal, given, before)), "the caller's memory is the caller's"
        for index, value in zip(changed, found[len(found) - len(changed) :], strict=True):
            given[index] = value.clone()


def test_how_outputs_are_nested() -> None:
    program = torch.export.export(Calling(under_its_name), calls(*TWO)[0])
    (function,) = import_exported_program(program, XirContext(), return_changed_inputs=True).body.ops
    assert str(function.attributes["xir.out_spec"]) == ("\"T2#2#1(D2#1#1('read behind':$,'not changed':$),T1#1($))\"")


def test_what_changes_no_input_is_as_without() -> None:
    program = torch.export.export(nn.ReLU(), (torch.ones(2),))
    texts = {
        str(import_exported_program(program, XirContext(), return_changed_inputs=allowed)) for allowed in (False, True)
    }
    assert len(texts) == 1
