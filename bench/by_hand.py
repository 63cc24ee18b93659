"""Networks written node by node against XNNPACK's C API, timed in turn with `.pte` files of the same networks.

They have what a network cannot do without: no conversions, no transposes (the image comes as XNNPACK has it), no
hardsigmoid, weights made up. A compiler whose program is about as fast has nothing left to gain by choosing among the
same nodes.

    python -m bench.by_hand --model_name mv2 --quantize mv2_xnnpack_q8.pte stock.pte
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import time
from collections.abc import Callable, Sequence
from ctypes import byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from xir.runtime import Runtime

IMAGE, CLASSES = (1, 224, 224, 3), 1000
WARM_UPS, ROUNDS, SETTLING, RUNS_PER_ROUND = 10, 60, 2, 6

# include/xnnpack.h at commit 92a7ad501b
FP32, QINT8, QCINT8, QCINT32 = 1, 3, 6, 7
ADD, MULTIPLY, MEAN = 0, 2, 2
HARDSWISH, SIGMOID = "hardswish", "sigmoid"
UNARY = {HARDSWISH: 11, SIGMOID: 16}
EXTERNAL_INPUT, EXTERNAL_OUTPUT, KEEP_DIMS, INVALID_ID = 1, 2, 0x40, 0xFFFFFFFF

NO_BOUNDS = (-np.inf, np.inf)
RELU, RELU6 = (0.0, np.inf), (0.0, 6.0)
PADDING = 64
"""Elements that XNNPACK may read behind a tensor."""

Shape = tuple[int, ...]


class ExternalValue(ctypes.Structure):
    """`xnn_external_value`"""

    _fields_ = [("id", c_uint32), ("data", c_void_p)]


def library() -> ctypes.CDLL:
    """The XNNPACK that the runtimes use."""
    found = find_spec("executorch")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("python -m bench.by_hand: error: the executorch wheel is not installed")
    return ctypes.CDLL(str(Path(found.submodule_search_locations[0]) / "lib" / "libexecutorch_backend_xnnpack.so"))


class Graph:
    """A subgraph in the making; values are ids, and activations are [N, H, W, C]."""

    def __init__(self, quantized: bool):
        self.xnnpack = library()
        self.quantized = quantized
        self.numbers = np.random.default_rng(0)
        self.kept: list[Any] = []
        self.shapes: dict[int, Shape] = {}
        self.handle = c_void_p()
        self.call("xnn_initialize", None)
        self.call("xnn_create_subgraph", c_uint32(2), c_uint32(0), byref(self.handle))
        self.image = self.activation(IMAGE, 0, EXTERNAL_INPUT)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; RuntimeError with XNNPACK's status."""
        if status := getattr(self.xnnpack, name)(*arguments):
            raise RuntimeError(f"{name}: status {status}")

    def activation(self, shape: Shape, external: int = INVALID_ID, flags: int = 0, data: c_void_p | None = None) -> int:
        """A value that a node computes, or with `data` an fp32 constant."""
        dims, made = (c_size_t * len(shape))(*shape), c_uint32()
        rest = (c_size_t(len(shape)), dims, data, c_uint32(external), c_uint32(flags), byref(made))
        if self.quantized:
            scale = c_float(0.05)
            self.call("xnn_define_quantized_tensor_value", self.handle, c_int(QINT8), c_int32(0), scale, *rest)
        else:
            self.call("xnn_define_tensor_value", self.handle, c_int(FP32), *rest)
        self.shapes[made.value] = shape
        return made.value

    def constant(self, shape: Shape, channel: int) -> int:
        """A filter, or with one dimension a bias, quantised by channel."""
        count = int(np.prod(shape)) + PADDING
        if not self.quantized:
            return self.activation(shape, data=self.keep((self.numbers.standard_normal(count) * 0.05).astype("f4")))
        is_bias = len(shape) == 1
        data = self.keep(self.numbers.integers(-127, 128, count).astype(np.int32 if is_bias else np.int8))
        scales = self.keep(np.full(shape[channel], 2e-4 if is_bias else 4e-3, np.float32))
        dims, made = (c_size_t * len(shape))(*shape), c_uint32()
        self.call(
            *("xnn_define_channelwise_quantized_tensor_value", self.handle, c_int(QCINT32 if is_bias else QCINT8)),
            *(scales, c_size_t(len(shape)), c_size_t(channel), dims, data, c_uint32(INVALID_ID), c_uint32(0)),
            byref(made),
        )
        return made.value

    def keep(self, array: np.ndarray) -> c_void_p:
        """The address of an array, which then lives as long as the graph."""
        self.kept.append(array)
        return array.ctypes.data_as(c_void_p)

    def window(self, value: int, kernel: int, stride: int, channels: int) -> tuple[int, list[c_uint32]]:
        """The result of a window with padding on all sides, and what the nodes say of it."""
        batch, height, width, _ = self.shapes[value]
        result = self.activation((batch, -(-height // stride), -(-width // stride), channels))
        return result, [c_uint32(n) for n in (*(kernel // 2,) * 4, kernel, kernel, stride, stride, 1, 1, 1)]

    def conv(
        self, value: int, channels: int, kernel: int = 1, stride: int = 1, bounds: Sequence[float] = NO_BOUNDS
    ) -> int:
        """A dense convolution."""
        inputs = self.shapes[value][3]
        result, window = self.window(value, kernel, stride, channels)
        weight, bias = self.constant((channels, kernel, kernel, inputs), 0), self.constant((channels,), 0)
        ids = [c_uint32(each) for each in (value, weight, bias, result, 0)]
        sizes = (c_size_t(inputs), c_size_t(channels), *map(c_float, bounds))
        self.call("xnn_define_convolution_2d", self.handle, *window, *sizes, *ids)
        return result

    def depthwise(self, value: int, kernel: int, stride: int, bounds: Sequence[float] = NO_BOUNDS) -> int:
        """A depthwise convolution."""
        channels = self.shapes[value][3]
        result, window = self.window(value, kernel, stride, channels)
        weight, bias = self.constant((1, kernel, kernel, channels), 3), self.constant((channels,), 0)
        ids = [c_uint32(each) for each in (value, weight, bias, result, 0)]
        sizes = (c_size_t(channels), *map(c_float, bounds))
        self.call("xnn_define_depthwise_convolution_2d", self.handle, *window, *sizes, *ids)
        return result

    def linear(self, value: int, channels: int, external: int = INVALID_ID, flags: int = 0) -> int:
        """A fully connected node."""
        result = self.activation((1, 1, 1, channels), external, flags)
        weight, bias = self.constant((channels, self.shapes[value][3]), 0), self.constant((channels,), 0)
        ids = [c_uint32(each) for each in (value, weight, bias, result, 0)]
        self.call("xnn_define_fully_connected", self.handle, *map(c_float, NO_BOUNDS), *ids)
        return result

    def binary(self, kind: int, lhs: int, rhs: int) -> int:
        """An elementwise node of two operands."""
        result = self.activation(self.shapes[lhs])
        ids = [c_uint32(each) for each in (lhs, rhs, result, 0)]
        self.call("xnn_define_binary", self.handle, c_int(kind), None, *ids)
        return result

    def unary(self, kind: str, value: int) -> int:
        """An elementwise node of one operand."""
        result = self.activation(self.shapes[value])
        ids = [c_uint32(each) for each in (value, result, 0)]
        self.call("xnn_define_unary", self.handle, c_int(UNARY[kind]), None, *ids)
        return result

    def silu(self, value: int) -> int:
        """x · sigmoid(x)"""
        return self.binary(MULTIPLY, value, self.unary(SIGMOID, value))

    def mean(self, value: int) -> int:
        """The mean over height and width."""
        result, axes = self.activation((1, 1, 1, self.shapes[value][3])), (c_int64 * 2)(1, 2)
        ids = [c_uint32(each) for each in (value, result, KEEP_DIMS)]
        self.call("xnn_define_static_reduce_v2", self.handle, c_int(MEAN), c_size_t(2), axes, *ids)
        return result

    def residual(self, value: int, result: int, stride: int) -> int:
        """`result`, with `value` added where the shapes allow it."""
        return self.binary(ADD, value, result) if stride == 1 and self.shapes[value] == self.shapes[result] else result

    def finish(self, value: int) -> Callable[[], None]:
        """The classifier, and a function that runs the graph once on one thread."""
        self.linear(value, CLASSES, 1, EXTERNAL_OUTPUT)
        runtime, dtype = c_void_p(), np.int8 if self.quantized else np.float32
        self.call("xnn_create_runtime_v4", self.handle, None, None, None, c_uint32(0), byref(runtime))
        self.call("xnn_reshape_runtime", runtime)
        image = self.keep(self.numbers.integers(-100, 100, int(np.prod(IMAGE)) + PADDING).astype(dtype))
        logits = self.keep(np.zeros(CLASSES + PADDING, dtype))
        externals = (ExternalValue * 2)(ExternalValue(0, image.value), ExternalValue(1, logits.value))
        self.call("xnn_setup_runtime_v2", runtime, c_size_t(2), externals)
        return lambda: self.call("xnn_invoke_runtime", runtime)


def mobilenet_v2(graph: Graph) -> int:
    """Table 2 of arXiv:1801.04381."""
    x = graph.conv(graph.image, 32, 3, 2, RELU6)
    for factor, channels, count, first in (
        *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
        *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
    ):
        for stride in (first, *(1,) * (count - 1)):
            y = x if factor == 1 else graph.conv(x, graph.shapes[x][3] * factor, bounds=RELU6)
            y = graph.conv(graph.depthwise(y, 3, stride, RELU6), channels)
            x = graph.residual(x, y, stride)
    return graph.mean(graph.conv(x, 1280, bounds=RELU6))


Bottleneck = tuple[int, int, int, bool, bool, int]
"""Kernel, expanded channels, channels, squeeze and excite, hardswish instead of relu, stride."""

SMALL: tuple[Bottleneck, ...] = (
    *((3, 16, 16, True, False, 2), (3, 72, 24, False, False, 2), (3, 88, 24, False, False, 1)),
    *((5, 96, 40, True, True, 2), (5, 240, 40, True, True, 1), (5, 240, 40, True, True, 1)),
    *((5, 120, 48, True, True, 1), (5, 144, 48, True, True, 1), (5, 288, 96, True, True, 2)),
    *((5, 576, 96, True, True, 1), (5, 576, 96, True, True, 1)),
)
LARGE: tuple[Bottleneck, ...] = (
    *((3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1)),
    *((5, 72, 40, True, False, 2), (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1)),
    *((3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1), (3, 184, 80, False, True, 1)),
    *((3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1)),
    *((5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1)),
)


def mobilenet_v3(graph: Graph, rows: tuple[Bottleneck, ...], features: int) -> int:
    """Tables 1 and 2 of arXiv:1905.02244, without hardsigmoids."""
    x = graph.unary(HARDSWISH, graph.conv(graph.image, 16, 3, 2))
    for kernel, expanded, channels, excite, hardswish, stride in rows:
        bounds = NO_BOUNDS if hardswish else RELU

        def activated(value: int, hardswish: bool = hardswish) -> int:
            return graph.unary(HARDSWISH, value) if hardswish else value

        y = x
        if expanded != graph.shapes[x][3]:
            y = activated(graph.conv(y, expanded, bounds=bounds))
        y = activated(graph.depthwise(y, kernel, stride, bounds))
        if excite:
            squeezed = graph.linear(graph.mean(y), (expanded // 4 + 7) // 8 * 8)
            y = graph.binary(MULTIPLY, y, graph.linear(squeezed, expanded))
        x = graph.residual(x, graph.conv(y, channels), stride)
    x = graph.mean(graph.unary(HARDSWISH, graph.conv(x, rows[-1][1])))
    return graph.unary(HARDSWISH, graph.linear(x, features))


def efficientnet_b0(graph: Graph) -> int:
    """Table 1 of arXiv:1905.11946."""
    x = graph.silu(graph.conv(graph.image, 32, 3, 2))
    for factor, kernel, first, channels, count in (
        *((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3)),
        *((6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)),
    ):
        for stride in (first, *(1,) * (count - 1)):
            inputs = graph.shapes[x][3]
            y = x if factor == 1 else graph.silu(graph.conv(x, inputs * factor))
            y = graph.silu(graph.depthwise(y, kernel, stride))
            squeezed = graph.silu(graph.linear(graph.mean(y), inputs // 4))
            gate = graph.unary(SIGMOID, graph.linear(squeezed, inputs * factor))
            x = graph.residual(x, graph.conv(graph.binary(MULTIPLY, y, gate), channels), stride)
    return graph.mean(graph.silu(graph.conv(x, 1280)))


NETWORKS: dict[str, Callable[[Graph], int]] = {
    "mv2": mobilenet_v2,
    "mv3": lambda graph: mobilenet_v3(graph, SMALL, 1024),
    "mv3_large": lambda graph: mobilenet_v3(graph, LARGE, 1280),
    "efficientnet_b0": efficientnet_b0,
}


def program(path: Path) -> Callable[[], None]:
    """A function that runs a file in xir's runtime, on one thread."""
    method = Runtime.get().load_program(path, threads=1).load_method()
    numbers = np.random.default_rng(0)
    inputs = [numbers.standard_normal(info.shape).astype(info.dtype) for info in method.metadata.inputs]

    def run() -> None:
        method.execute(inputs)

    return run


def timed(runs: Sequence[Callable[[], None]]) -> list[list[float]]:
    """The milliseconds of each, in alternating rounds."""
    for run in runs:
        for _ in range(WARM_UPS):
            run()
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(ROUNDS):
        order = range(len(runs)) if turn % 2 == 0 else reversed(range(len(runs)))
        for which in order:
            for _ in range(SETTLING):
                runs[which]()
            for _ in range(RUNS_PER_ROUND):
                start = time.perf_counter()
                runs[which]()
                times[which].append((time.perf_counter() - start) * 1e3)
    return times


def main() -> None:
    """Build, run and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.by_hand", description=__doc__)
    parser.add_argument("--model_name", choices=NETWORKS, default="mv2", help="the network (default: mv2)")
    parser.add_argument("--quantize", action="store_true", help="in int8 instead of fp32")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.pte", help="programs of the same network")
    arguments = parser.parse_args()
    graph = Graph(arguments.quantize)
    runs = [graph.finish(NETWORKS[arguments.model_name](graph)), *map(program, arguments.files)]
    times = timed(runs)
    last = times[-1]
    print("| program | median ms | min ms | median to the last one's | min to the last one's |\n|:--|--:|--:|--:|--:|")
    for name, each in zip(("by hand", *(path.name for path in arguments.files)), times, strict=True):
        median, least = statistics.median(each), min(each)
        ratios = f"{median / statistics.median(last):.3f} | {least / min(last):.3f}"
        print(f"| {name} | {median:.2f} | {least:.2f} | {ratios} |")


if __name__ == "__main__":
    main()
