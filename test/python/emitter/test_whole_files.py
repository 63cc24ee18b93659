"""Whole files: written, read, written again, and damaged in every way."""

from __future__ import annotations

import io
import random
import re
import struct
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from emitter.sample_modules import CONVOLUTIONS, MIXED, QUANTIZED, SHARED, emitted, file_of, lowered, text_of
from xdsl.dialects.builtin import ModuleOp

from xir.emitter import FormatError, emit, read
from xir.emitter.codec import Tree, decode, encode
from xir.emitter.container import Segment, read_container, write_container
from xir.emitter.fbs import load_schema
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.parser import parse_module
from xir.ir.printer import module_to_text


def with_weights() -> XirContext:
    ctx = XirContext()
    generator = np.random.default_rng(0)
    for name, shape in (
        ("conv", (6, 3, 3, 4)),
        ("bias", (6,)),
        ("depthwise", (1, 3, 3, 6)),
        ("linear", (3, 24)),
        ("tied", (6, 4)),
    ):
        ctx.blobs.set(name, generator.standard_normal(shape, dtype=np.float32))
    return ctx


def sample(text: str) -> bytes:
    ctx = with_weights()
    return emitted(lowered(text, ctx), ctx)


FILES = {
    "mixed": sample(MIXED),
    "convolutions": sample(CONVOLUTIONS),
    "quantised": sample(QUANTIZED),
    "shared": sample(SHARED),
}


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_read_and_written_again_is_the_same(data: bytes):
    ctx = XirContext()
    assert emitted(read(data, ctx), ctx) == data
    assert file_of(text_of(data)) == data


def linear(resource: str, inputs: int, outputs: int) -> str:
    return f"""xnnpack.subgraph(%x) : (tensor<1x{inputs}xf32>) -> tensor<1x{outputs}xf32> {{
      ^bb0(%a: tensor<1x{inputs}xf32>):
        %w = xnnpack.constant dense_resource<{resource}> : tensor<{outputs}x{inputs}xf32>
        %y = xnnpack.fully_connected %a, %w
           : (tensor<1x{inputs}xf32>, tensor<{outputs}x{inputs}xf32>) -> tensor<1x{outputs}xf32>
        xnnpack.yield %y : tensor<1x{outputs}xf32>
      }}"""


def test_equal_constants_are_stored_once():
    ctx = XirContext()
    ctx.blobs.set("a", np.ones((64, 64), np.float32))
    ctx.blobs.set("b", np.ones((64, 64), np.float32))
    text = f"""
    func.func @forward(%x: tensor<1x64xf32>)
        -> (tensor<1x64xf32>, tensor<1x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {{
      %0 = {linear("a", 64, 64)}
      %1 = {linear("b", 64, 64)}
      %2 = edge.constant dense_resource<a> : tensor<64x64xf32>
      %3 = edge.constant dense_resource<b> : tensor<64x64xf32>
      func.return %0, %1, %2, %3 : tensor<1x64xf32>, tensor<1x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
    }}"""
    container = read_container(emitted(lowered(text, ctx), ctx))
    assert len(container.program["named_data"]) == 1
    assert container.program["constant_segment"]["offsets"] == [0, 0]
    # The constants, one delegate for both, the weights by name.
    assert [len(segment) for segment in container.segments][::2] == [64 * 64 * 4, 64 * 64 * 4]
    assert len(container.segments) == 3


class Counter:
    size = 0

    def write(self, data: object) -> None:
        self.size += len(memoryview(data))  # pyright: ignore[reportArgumentType]


def peak(action: Callable[[], object]) -> int:
    """The most bytes that are allocated meanwhile."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_large_model_needs_no_second_copy():
    """Writing and reading 32 MB of weights allocates a small part of that."""
    ctx, sink = XirContext(), Counter()
    weights = np.ones((1024, 8192), np.float32)
    ctx.blobs.set("w", weights)
    text = f"""
    func.func @forward(%x: tensor<1x8192xf32>) -> (tensor<1x1024xf32>, tensor<1024x8192xf32>) {{
      %0 = {linear("w", 8192, 1024)}
      %1 = edge.constant dense_resource<w> : tensor<1024x8192xf32>
      func.return %0, %1 : tensor<1x1024xf32>, tensor<1024x8192xf32>
    }}"""
    module = lowered(text, ctx)
    assert peak(lambda: emit(module, ctx, sink)) < weights.nbytes // 16
    # The kernel's constant and the delegate's weight have equal bytes.
    assert weights.nbytes < sink.size < weights.nbytes + 4096
    data = emitted(module, ctx)
    assert peak(lambda: read(data, XirContext())) < weights.nbytes // 16


def test_what_cannot_be_written():
    ctx = XirContext()
    with pytest.raises(DiagnosticError, match=r"a file holds one pte\.program, the module has 0; lower it with"):
        emitted(ModuleOp([]), ctx)
    with pytest.raises(DiagnosticError, match='resource "conv" has no data here'):
        emitted(lowered(CONVOLUTIONS, ctx), ctx)
    ctx = with_weights()
    ctx.blobs.set("bias", np.ones(5, np.float32))
    with pytest.raises(DiagnosticError, match="the constant has 20 bytes, its type needs 24"):
        emitted(lowered(CONVOLUTIONS, ctx), ctx)
    dynamic = """
    pte.program {
      pte.execution_plan @forward arenas [0] {
        pte.delegate @graph "XnnpackBackend" {
        ^bb0(%0: tensor<?xf32>):
          %1 = xnnpack.subgraph(%0) : (tensor<?xf32>) -> tensor<?xf32> {
          ^bb0(%2: tensor<?xf32>):
            %3 = xnnpack.unary abs %2 : tensor<?xf32> -> tensor<?xf32>
            xnnpack.yield %3 : tensor<?xf32>
          }
          pte.yield %1 : tensor<?xf32>
        }
        pte.signature inputs () outputs ()
      }
    }"""
    with pytest.raises(DiagnosticError, match=r"tensor<\?xf32> has no upper bound to write for its dynamic dimension"):
        emitted(parse_module(ctx, dynamic), ctx)


# Damage. Whatever the bytes are, reading ends in a module or in a FormatError.


def read_or_refuse(data: bytes) -> bool:
    ctx = XirContext()
    try:
        module = read(data, ctx)
    except FormatError:
        return False
    # What was read can be printed and written.
    module_to_text(module)
    emitted(module, ctx)
    return True


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_truncations(data: bytes):
    sizes = range(0, len(data), max(1, len(data) // 200))
    assert not any(read_or_refuse(data[:size]) for size in sizes)


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_flipped_bits(data: bytes):
    generator = random.Random(0)
    outcomes: list[bool] = []
    for _ in range(200):
        damaged = bytearray(data)
        for _ in range(generator.randint(1, 3)):
            damaged[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        outcomes.append(read_or_refuse(bytes(damaged)))
    # Both happen: the damage is neither always fatal nor always in the weights.
    assert 15 < sum(outcomes) < 185


def changed(data: bytes, change: Callable[[Tree, list[bytes]], None]) -> bytes:
    """The file with its program or its segments changed."""
    container = read_container(data)
    segments = [bytes(segment) for segment in container.segments]
    change(container.program, segments)
    sink = io.BytesIO()
    write_container(sink, container.program, [Segment.of(segment) for segment in segments])
    return sink.getvalue()


def plan(program: Tree) -> Tree:
    return program["execution_plan"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, s: plan(p).pop("name"), "a plan has no name"),
        (lambda p, s: plan(p)["inputs"].append(99), "there is no value 99 in Program.execution_plan[0].inputs"),
        (lambda p, s: plan(p)["outputs"].append(-1), "there is no value -1 in Program.execution_plan[0].outputs"),
        (lambda p, s: plan(p)["operators"].clear(), "there is no operator 0"),
        (lambda p, s: plan(p)["operators"][0].update(name="a.b"), "the operator's name 'a.b' has a dot"),
        (lambda p, s: plan(p)["delegates"].clear(), "there is no delegate 0"),
        (lambda p, s: plan(p)["delegates"][0].pop("id"), "a delegate needs an id and its bytes"),
        (lambda p, s: plan(p)["delegates"][0]["processed"].update(index=9), "there is no segment 9"),
        (lambda p, s: plan(p)["delegates"][0]["processed"].update(location=0), "there is no inline delegate 1"),
        (lambda p, s: plan(p)["values"][0].clear(), "a value has no contents"),
        (lambda p, s: plan(p)["values"][0]["val"].value.update(scalar_type=99), "the scalar type 99 is not known"),
        (
            lambda p, s: plan(p)["values"][0]["val"].value.update(sizes=[-1, 3]),
            "the sizes [-1, 3] are not all positive",
        ),
        (lambda p, s: plan(p)["values"][0]["val"].value.update(dim_order=b"\0"), "dim_order [0] is not a permutation"),
        (
            lambda p, s: plan(p)["values"][0]["val"].value["allocation_info"].update(memory_id=0),
            "memory ids count from 1",
        ),
        (lambda p, s: plan(p)["values"][0]["val"].value["allocation_info"].update(memory_id=7), "planned in arena 7"),
        (lambda p, s: plan(p)["values"][1]["val"].value.update(data_buffer_idx=9), "there is no constant 9"),
        (lambda p, s: plan(p)["chains"][0]["instructions"][0].clear(), "an instruction has no contents"),
        (lambda p, s: plan(p).update(non_const_buffer_sizes=[]), "the first arena stands for the constants"),
        (lambda p, s: p.update(named_data=[]), "there is no named data"),
        (lambda p, s: p["named_data"].append(p["named_data"][0]), "named data needs a key of its own"),
        (
            lambda p, s: p["constant_segment"].update(offsets=[0, 1 << 60]),
            "constant 1 needs 12 bytes at 1152921504606846976",
        ),
        (lambda p, s: s.__setitem__(1, b""), "0 bytes are too few for a FlatBuffer"),
        (lambda p, s: s.__setitem__(1, s[1][:14] + b"\xff\xff\xff\xff" + s[1][18:]), "leaves its"),
        (lambda p, s: s.__setitem__(1, s[1][:8] + b"\1\0" + s[1][10:]), "a delegate's header of 1 bytes is too short"),
        (lambda p, s: s.__setitem__(1, s[1][:22] + b"\xff" * 8 + s[1][30:]), "constant data at"),
    ],
)
def test_unsound_programs(change: Callable[[Tree, list[bytes]], None], message: str):
    with pytest.raises(FormatError, match=re.escape(message)):
        read(changed(FILES["mixed"], change), XirContext())


def graph_of(data: bytes) -> Tree:
    """The graph of the first delegate, in segment 1."""
    segment = bytes(read_container(data).segments[1])
    return decode(load_schema("xnnpack"), segment[32:])


def with_graph(change: Callable[[Tree], object], data: bytes = FILES["mixed"]) -> bytes:
    """The file with another graph, as a bare FlatBuffer."""
    graph = graph_of(data)
    change(graph)
    blob = encode(load_schema("xnnpack"), graph)
    return changed(data, lambda _, segments: segments.__setitem__(1, blob))


def value(graph: Tree, index: int) -> Tree:
    return graph["xvalues"][index]["xvalue_union"].value


def node(graph: Tree, index: int) -> Tree:
    return graph["xnodes"][index]["xnode_union"].value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: value(g, 0).update(num_dims=3), "num_dims is 3, there are 2 dims"),
        (lambda g: value(g, 0).update(dims=[1 << 31, 1]), "the shape [2147483648, 1] is too large"),
        (lambda g: value(g, 0).update(datatype=0), "values of datatype Invalid without quantisation"),
        (lambda g: value(g, 0).update(datatype=77), "values of datatype 77 without quantisation"),
        (lambda g: value(g, 1).update(id_out=0), "the id 0 is taken"),
        (lambda g: value(g, 0).update(external_id=3), "the external ids do not count from 0"),
        (lambda g: value(g, 0).update(flags=3), "inputs must come before outputs, and no value can be both"),
        (lambda g: value(g, 0).update(constant_buffer_idx=1), "an input cannot be a constant"),
        (lambda g: value(g, 1).update(constant_buffer_idx=5), "there is no constant 5"),
        (lambda g: value(g, 1).update(dims=[4]), "the constant has 12 bytes, its type needs 16"),
        (lambda g: g["xvalues"][0].clear(), "a value has no contents"),
        (lambda g: g["xnodes"][0].clear(), "a node has no contents"),
        (lambda g: g["xnodes"].reverse(), "is used before a node computes it"),
        (lambda g: g["xnodes"].append(g["xnodes"][0]), "is computed twice"),
        (lambda g: node(g, 0).update(input1_id=99), "there is no value 99"),
        (lambda g: node(g, 0).update(output_id=99), "there is no value 99"),
        (lambda g: node(g, 0).update(input2_id=0xFFFFFFFF), "the operand rhs is absent"),
        (lambda g: node(g, 0).update(flags=64), "the flags 0x40 are not known here"),
        (lambda g: node(g, 1).update(axis=7), "the node is not sound: axis 7"),
        (lambda g: node(g, 1).update(axis=1 << 31), "axis is 2147483648, which is too large"),
        (lambda g: node(g, 1).update(input2_id=0xFFFFFFFF), "the node is not sound"),
        (lambda g: g["xnodes"][1].update(xnode_union=g["xnodes"][1]["xnode_union"]._replace(member="XNNConcatenate3")),
         "the node's operands do not fit its kind"),
        (lambda g: node(g, 1).update(input4_id=0), "input4_id follows an operand that is absent"),
        (lambda g: node(g, 2).update(num_dims=1), "num_dims is 1, the node implies 2"),
        (lambda g: g["xnodes"][1].update(output_min_max={"output_min": 0.0, "output_max": 1.0}), "output bounds"),
        (lambda g: g["xnodes"][0].update(output_min_max={"output_min": 2.0, "output_max": 1.0}), "must be less than"),
        (lambda g: g["xnodes"].__setitem__(3, {"xnode_union": g["xnodes"][3]["xnode_union"]._replace(
            member="XNNScaledDotProductAttention", value={})}), "for which there is no op"),
        (lambda g: g["constant_data"][1].update(named_key="lost"), 'no named data "lost"'),
        (lambda g: g["constant_data"].__setitem__(1, {"offset": 64, "size": 12}), "beyond the delegate's constant"),
    ],
)  # fmt: skip
def test_unsound_graphs(change: Callable[[Tree], object], message: str):
    with pytest.raises(FormatError, match=re.escape(message)):
        read(with_graph(change), XirContext())


def params(graph: Tree, index: int) -> Tree:
    return value(graph, index)["quant_params"].value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: value(g, 1).pop("tensor_value"), "a quantised value has no tensor"),
        (lambda g: value(g, 1).pop("quant_params"), "values of datatype QInt8 with no parameters are not read"),
        (lambda g: value(g, 1)["tensor_value"].update(datatype=9), "values of datatype QDInt8 with PerTensorQuant"),
        (lambda g: value(g, 2)["tensor_value"].update(datatype=3), "values of datatype QInt8 with PerChannelQuant"),
        (lambda g: params(g, 1).update(scale=-1.0), "a scale is a positive number"),
        (lambda g: params(g, 1).update(zero_point=300), "a zero point of the storage type is in -128:127"),
        (lambda g: params(g, 2).update(channel_dim=2), "the channel dimension 2 is none of the 2 dimensions"),
        (lambda g: params(g, 2).update(channel_dim=1), "3 scales for the 4 indices of dimension 1"),
        (lambda g: params(g, 2).update(num_scales=4), "4 scales need 16 bytes, there are 12"),
        (lambda g: params(g, 2).update(scale_buffer_idx=99), "there is no constant 99"),
        (lambda g: params(g, 2).update(scale_buffer_idx=0), "0 scales and 0 zero points"),
    ],
)
def test_unsound_quantization(change: Callable[[Tree], object], message: str):
    with pytest.raises(FormatError, match=re.escape(message)):
        read(with_graph(change, FILES["quantised"]), XirContext())


def test_scales_in_the_graph():
    """Older files have per-channel scales beside the value; written again, they are data by name."""

    def inline(graph: Tree) -> None:
        params(graph, 2).update(scale_buffer_idx=0, scale=[0.25, 0.5, 0.125], num_scales=0)

    ctx = XirContext()
    assert emitted(read(with_graph(inline, FILES["quantised"]), ctx), ctx) == FILES["quantised"]


def test_older_homes_of_constants():
    """Behind the blob's header, in the graph, and in the program; written again, they are where 1.5 has them."""
    reference = FILES["mixed"]
    weights = np.array([1.0, -2.0, 3.0], np.float32).tobytes()

    def behind_the_header(program: Tree, segments: list[bytes]) -> None:
        graph = graph_of(reference)
        graph["constant_data"][1] = {"offset": 16, "size": 12}
        content = encode(load_schema("xnnpack"), graph)
        constants = 32 + len(content)
        header = struct.pack("<I4sHIIIQ", 0, b"XH00", 30, 32, len(content), constants, 28)
        segments[1] = header.ljust(32, b"\0") + content + bytes(16) + weights
        program["named_data"] = []

    def in_the_graph(program: Tree, segments: list[bytes]) -> None:
        graph = graph_of(reference)
        graph["constant_data"] = []
        graph["constant_buffer"] = [{"storage": b""}, {"storage": weights}]
        segments[1] = encode(load_schema("xnnpack"), graph)
        program["named_data"] = []

    def in_the_program(program: Tree, segments: list[bytes]) -> None:
        program["constant_buffer"] = [{"storage": b""}, {"storage": segments[0]}]
        del program["constant_segment"]

    for change in (behind_the_header, in_the_graph, in_the_program):
        ctx = XirContext()
        assert emitted(read(changed(reference, change), ctx), ctx) == reference
