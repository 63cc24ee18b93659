"""`.pte` files between xir and stock ExecuTorch 1.5.1, both ways.

The other side is ExecuTorch's own: its runtime runs what xir writes, its reader reads it, and its compiler writes what
xir reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from emitter.sample_modules import MIXED, emitted, file_of, lowered, text_of
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from reference import stock
from reference.modules import Calling
from reference.runtimes import load_stock
from torch import Tensor, nn
from torch.nn import functional

from xir.emitter.codec import Tree, decode
from xir.emitter.container import read_container
from xir.emitter.fbs import load_schema
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.pipeline import parse_options
from xir.transforms.pte.lower_to_pte import LowerToPtePass
from xir.transforms.pte.plan_memory import PlanMemoryPass


def run_stock(data: bytes, *inputs: Tensor, method: str = "forward") -> list[Any]:
    """What stock ExecuTorch computes."""
    # The program does not keep the buffer alive.
    program = load_stock(data)
    return [out.clone() if isinstance(out, Tensor) else out for out in program.run_method(method, inputs)]


def rewritten(data: bytes) -> bytes:
    """The file after reading, printing, parsing and writing."""
    return file_of(text_of(data))


# What xir writes, stock ExecuTorch runs, as every test does that runs a file in both runtimes.


@pytest.mark.parametrize(
    "options",
    ["alloc-inputs=true", "alloc-inputs=false", "alloc-outputs=false", "alloc-inputs=false alloc-outputs=false"],
)
def test_memory_of_inputs_and_outputs(options: str):
    """Stock's Python runtime copies into planned inputs and allocates unplanned outputs itself."""
    ctx = XirContext()
    module = parse_module(ctx, MIXED)
    LowerToPtePass().apply(ctx, module)
    PlanMemoryPass.from_options(parse_options(options)).apply(ctx, module)
    x = torch.arange(6.0).reshape(2, 3)
    values = ((x + torch.tensor([1.0, 2.0, 3.0])) * torch.tensor([1.0, -2.0, 3.0])).clamp(max=5.0)
    expected = torch.cat([values, values])[1:3].abs()
    torch.testing.assert_close(run_stock(emitted(module, ctx), x), [expected, expected.mean(1)])


# What stock ExecuTorch's own reader sees in our files.


def test_stocks_reader_reads_our_file():
    ctx = XirContext()
    pte = deserialize_pte_binary(emitted(lowered(MIXED, ctx), ctx))
    plan = pte.program.execution_plan[0]
    assert [(op.name, op.overload) for op in plan.operators] == [("aten::add", "out"), ("aten::mean", "out")]
    assert plan.delegates[0].id == "XnnpackBackend"
    assert plan.non_const_buffer_sizes[0] == 0
    assert np.frombuffer(pte.program.constant_buffer[1].storage, np.float32).tolist() == [1.0, 2.0, 3.0]
    assert pte.named_data is not None
    (weights,) = pte.named_data.buffers
    assert isinstance(weights, bytes)
    assert np.frombuffer(weights, np.float32).tolist() == [1.0, -2.0, 3.0]


# What stock ExecuTorch writes, xir reads and writes again.


def vision() -> nn.Module:
    """Two delegates with kernels between them, and several outputs."""

    def forward(m: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        z = functional.max_pool2d(torch.relu(m.norm(m.conv(x))), 2).mean([2, 3])
        return m.linear(z), torch.cumsum(z, 1)

    return Calling(forward, conv=nn.Conv2d(3, 8, 3, padding=1), norm=nn.BatchNorm2d(8), linear=nn.Linear(8, 5)).eval()


def tables() -> nn.Module:
    """Constants, lists of tensors, optional ones, several results of a kernel, concatenation in a delegate."""

    def forward(m: Any, i: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a = m.embedding(i)
        b = a[:, i]
        return torch.cat([a * m.scale, a], 0).clamp(min=0.5), torch.topk(b, 2)[1], torch.split(a, [1, 2], 0)[1]

    return Calling(forward, embedding=nn.Embedding(10, 4), scale=nn.Parameter(torch.randn(4))).eval()


def state() -> nn.Module:
    """A buffer that changes and starts from a value in the file."""
    return Calling(lambda m, x: m.total.add_(x) * 2, total=torch.tensor([1.0, 2.0, 3.0]))


CONSTANT_METHODS = {"number": 3, "name": "abc", "ratio": 2.5, "flag": True}

OPTIONS: dict[str, dict[str, Any]] = {
    "portable": {"delegates": False, "emit_stacktrace": True},
    "state": {
        "delegates": False,
        "passes": [InitializedMutableBufferPass(["total"])],
        "emit_mutable_buffer_names": True,
    },
    "dynamic": {"constant_methods": CONSTANT_METHODS},
    "inline": {"extract_delegate_segments": False},
    "aligned": {"segment_alignment": 4096},
}


def stock_file(name: str) -> tuple[bytes, tuple[Tensor, ...]]:
    """A file that stock ExecuTorch writes, and inputs for it."""
    torch.manual_seed(0)
    shapes = None
    match name:
        case "state":
            model, x = state(), torch.ones(3)
        case "tables":
            model, x = tables(), torch.tensor([1, 2, 3])
        case "dynamic":
            model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Softmax(-1)), torch.randn(2, 4)
            shapes = ({0: torch.export.Dim("batch", max=6)},)
        case _:
            model, x = vision(), torch.randn(1, 3, 8, 8)
    export = stock.quantized if name == "quantised" else torch.export.export
    program = export(model, (x,), dynamic_shapes=shapes)
    return stock.compiled(program, **OPTIONS.get(name, {})).buffer, (x,)


def comparable(data: bytes) -> tuple[Tree, list[Any]]:
    """A file as plain data. A delegate's FlatBuffer may be packed differently, so its segment is a tree and the places
    of the segments are left out."""
    container = read_container(data)
    program = container.program
    segments: list[Any] = list(container.segments)
    for plan in program["execution_plan"]:
        for delegate in plan["delegates"]:
            processed = delegate["processed"]
            if processed["location"] == 1:
                segments[processed["index"]] = graph_tree(container.segments[processed["index"]])
    for entry in program["backend_delegate_data"]:
        entry["data"] = graph_tree(entry["data"])
    return {**program, "segments": len(program["segments"])}, segments


def graph_tree(blob: memoryview) -> Tree:
    start, size = (int.from_bytes(blob[at : at + 4], "little") for at in (10, 14))
    assert bytes(blob[4:8]) == b"XH00"
    assert not any(blob[22:30]), "the blob has constants of its own"
    return decode(load_schema("xnnpack"), blob[start : start + size])


def first_plan(program: Tree) -> Tree:
    return program["execution_plan"][0]


SHOWS: dict[str, Callable[[Tree], object]] = {
    "vision": lambda p: len(first_plan(p)["delegates"]) == 2 and p["named_data"],
    "portable": lambda p: first_plan(p)["chains"][0]["stacktrace"] and not first_plan(p)["delegates"],
    "tables": lambda p: {"TensorList", "OptionalTensorList"} <= {v["val"].member for v in first_plan(p)["values"]},
    "dynamic": lambda p: (
        len(p["execution_plan"]) == 5 and first_plan(p)["values"][0]["val"].value["shape_dynamism"] == 1
    ),
    "state": lambda p: p["mutable_data_segments"],
    "inline": lambda p: p["backend_delegate_data"],
    "quantised": lambda p: any("scale_" in entry["key"] for entry in p["named_data"]),
    "aligned": lambda p: p["segments"][1]["offset"] == 4096,
}
"""By the name of a file: what in it the test is about."""


# ExecuTorch warns before it runs the pass that the state gets its initial value from.
@pytest.mark.filterwarnings("ignore:Mutation on a buffer in the model")
@pytest.mark.parametrize("name", SHOWS)
def test_stocks_files_are_written_again_field_by_field(name: str):
    original, inputs = stock_file(name)
    assert SHOWS[name](read_container(original).program), "the case no longer shows what it is there for"
    ours = rewritten(original)
    assert comparable(ours) == comparable(original)
    # Ours is a fixed point, byte for byte.
    assert rewritten(ours) == ours
    for a, b in zip(run_stock(ours, *inputs), run_stock(original, *inputs), strict=True):
        assert torch.equal(a, b)
    if name == "dynamic":
        for method, expected in CONSTANT_METHODS.items():
            assert run_stock(ours, method=method) == [expected]
    if name == "aligned":
        assert read_container(ours).segment_base % 4096 == 0
