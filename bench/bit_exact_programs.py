"""Programs of one node each, for `bench.bit_exact`: nodes on fp32 numbers, and on integers with scales of two kinds.

With scales that are powers of two many results are ties between two integers, which is where roundings differ.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from xir.dialects.xnnpack.kinds import BINARY, REDUCE, UNARY

ROWS, COLUMNS = 7, 149
"""Odd sizes have kernels' remainders in them."""
IMAGE = (1, 11, 13, 37)
CHANNELS = 29

SCALES = {"odd": (0.017, 0.023, 0.021, 0.0031), "ties": (2.0**-6, 2.0**-5, 2.0**-4, 2.0**-8)}
"""Of a first operand, a second one, the result and a filter."""


@dataclass(frozen=True)
class Node:
    """A node in a program of its own."""

    name: str
    inputs: tuple[tuple[int, ...], ...]
    """Shapes; all are fp32."""
    output: tuple[int, ...]
    body: str
    """Ops from `%a0`, `%a1` to `%r`."""

    @property
    def text(self) -> str:
        """The program."""
        types = [tensor(shape, "f32") for shape in self.inputs]
        result = tensor(self.output, "f32")
        names = [f"%x{i}" for i in range(len(types))]
        arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
        inner = ", ".join(f"%a{i}: {type}" for i, type in enumerate(types))
        return f"""func.func @forward({arguments}) -> {result} {{
 %0 = xnnpack.subgraph({", ".join(names)}) {{target = "xir"}} : ({", ".join(types)}) -> {result} {{
 ^bb0({inner}):
{self.body}
  xnnpack.yield %r : {result}
 }}
 func.return %0 : {result}
}}"""

    def file(self) -> bytes:
        """The program as a `.pte` file."""
        from xir.emitter import emit
        from xir.ir.context import XirContext
        from xir.ir.parser import parse_module
        from xir.ir.passes import PassManager
        from xir.transforms.registry import passes_of

        ctx, stream = XirContext(), io.BytesIO()
        module = parse_module(ctx, self.text, self.name)
        PassManager(ctx, passes_of("lower-to-pte,plan-memory")).run(module)
        emit(module, ctx, stream)
        return stream.getvalue()


def tensor(shape: tuple[int, ...], element: str) -> str:
    """A tensor type."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def nodes() -> Iterator[Node]:
    """All of them."""
    yield from _elementwise()
    yield from _layers_in_float()
    for kind in SCALES:
        for storage in ("i8", "u8"):
            yield from _Quantized(storage, kind).nodes()


def _elementwise() -> Iterator[Node]:
    rows = (ROWS, COLUMNS)
    f = tensor(rows, "f32")
    for row in UNARY:
        if row.elements != "integer":
            yield Node(f"fp32 {row.kind}", (rows,), rows, f"  %r = xnnpack.unary {row.kind} %a0 : {f} -> {f}")
    for row in BINARY:
        if row.elements != "integer":
            body = f"  %r = xnnpack.binary {row.kind} %a0, %a1 : {f}, {f} -> {f}"
            yield Node(f"fp32 {row.kind}", (rows, rows), rows, body)
    for name, op in {
        "clamp": "clamp %a0 {output_min = 0.0 : f32}",
        "leaky_relu": "leaky_relu %a0 {negative_slope = 0.1 : f32}",
        "elu": "elu %a0 {alpha = 1.3 : f32}",
        "softmax": "softmax %a0",
    }.items():
        yield Node(f"fp32 {name}", (rows,), rows, f"  %r = xnnpack.{op} : {f} -> {f}")
    for row in REDUCE:
        for axis, size in enumerate((COLUMNS, ROWS)):
            body = f"  %r = xnnpack.static_reduce {row.kind} %a0 {{axes = array<i32: {axis}>}} : {f} -> "
            yield Node(f"fp32 {row.kind} of axis {axis}", (rows,), (size,), body + tensor((size,), "f32"))


def _layers_in_float() -> Iterator[Node]:
    image = tensor(IMAGE, "f32")
    for name, op, shape in (
        ("average_pooling2d", "average_pooling2d %a0 {kernel = array<i32: 3, 3>}", (1, 9, 11, 37)),
        ("max_pooling2d", "max_pooling2d %a0 {kernel = array<i32: 3, 3>}", (1, 9, 11, 37)),
        ("global_average_pooling2d", "global_average_pooling2d %a0", (1, 37)),
        ("resize", "static_resize_bilinear2d %a0 {new_height = 17 : i32, new_width = 19 : i32}", (1, 17, 19, 37)),
    ):
        yield Node(f"fp32 {name}", (IMAGE,), shape, f"  %r = xnnpack.{op} : {image} -> {tensor(shape, 'f32')}")
    for name, op, source, filter, attributes, shape in LAYERS:
        weights = np.random.default_rng(1).uniform(-1, 1, filter).astype(np.float32)
        types = [tensor(source, "f32"), tensor(filter, "f32")]
        body = f"""  %w = xnnpack.constant {dense(weights)} : {types[1]}
  %r = xnnpack.{op} %a0, %w {attributes} : ({", ".join(types)}) -> {tensor(shape, "f32")}"""
        yield Node(f"fp32 {name}", (source,), shape, body)
    left, right, product = (3, 11, 13), (3, 13, 17), (3, 11, 17)
    types = f"({tensor(left, 'f32')}, {tensor(right, 'f32')}) -> {tensor(product, 'f32')}"
    yield Node(
        "fp32 batch_matrix_multiply", (left, right), product, f"  %r = xnnpack.batch_matrix_multiply %a0, %a1 : {types}"
    )


DEPTHWISE = f"{{groups = {IMAGE[-1]} : i32}}"
LAYERS = (
    ("fully_connected", "fully_connected", (ROWS, COLUMNS), (53, COLUMNS), "", (ROWS, 53)),
    ("conv2d 3x3", "conv2d", IMAGE, (CHANNELS, 3, 3, 37), "", (1, 9, 11, CHANNELS)),
    ("conv2d 1x1", "conv2d", IMAGE, (CHANNELS, 1, 1, 37), "", (1, 11, 13, CHANNELS)),
    ("depthwise_conv2d 3x3", "depthwise_conv2d", IMAGE, (1, 3, 3, 37), DEPTHWISE, (1, 9, 11, 37)),
    ("depthwise_conv2d 5x5", "depthwise_conv2d", IMAGE, (1, 5, 5, 37), DEPTHWISE, (1, 7, 9, 37)),
    ("depthwise_conv2d 7x7", "depthwise_conv2d", IMAGE, (1, 7, 7, 37), DEPTHWISE, (1, 5, 7, 37)),
    ("deconv2d 3x3", "deconv2d", IMAGE, (CHANNELS, 3, 3, 37), "", (1, 13, 15, CHANNELS)),
)
"""Name, op, shapes of input and filter, attributes, shape of the result."""


class _Quantized:
    """Nodes on 8-bit integers, between conversions."""

    def __init__(self, storage: str, kind: str):
        self.storage = storage
        self.kind = kind
        self.zero = -3 if storage == "i8" else 120
        self.scales = SCALES[kind]

    def nodes(self) -> Iterator[Node]:
        """Elementwise ones, those of images, and layers."""
        yield from self._rows()
        yield from self._images()
        for layer in LAYERS:
            yield self._layer(*layer, by_channel=False)
            if self.storage == "i8":
                yield self._layer(*layer, by_channel=True)

    def _rows(self) -> Iterator[Node]:
        rows = (ROWS, COLUMNS)
        first, second, result = (self._type(rows, i) for i in range(3))
        yield self._node("requantise", (rows,), rows, f"convert %q0 : {first} -> {result}", result)
        for row in UNARY:
            if row.elements != "integer":
                yield self._node(row.kind, (rows,), rows, f"unary {row.kind} %q0 : {first} -> {result}", result)
        for kind in ("add", "subtract", "multiply", "prelu"):
            body = f"binary {kind} %q0, %q1 : {first}, {second} -> {result}"
            yield self._node(kind, (rows, rows), rows, body, result)
        body = f"leaky_relu %q0 {{negative_slope = 0.25 : f32}} : {first} -> {result}"
        yield self._node("leaky_relu", (rows,), rows, body, result)
        yield self._node("elu", (rows,), rows, f"elu %q0 {{alpha = 1.3 : f32}} : {first} -> {result}", result)
        body = f"clamp %q0 {{output_min = -0.5 : f32, output_max = 0.7 : f32}} : {first} -> {first}"
        yield self._node("clamp", (rows,), rows, body, first)

    def _images(self) -> Iterator[Node]:
        image = self._type(IMAGE, 0)
        for name, op, shape in (
            ("max_pooling2d", "max_pooling2d %q0 {kernel = array<i32: 3, 3>}", (1, 9, 11, 37)),
            ("global_average_pooling2d", "global_average_pooling2d %q0", (1, 37)),
            ("resize", "static_resize_bilinear2d %q0 {new_height = 17 : i32, new_width = 19 : i32}", (1, 17, 19, 37)),
        ):
            yield self._node(name, (IMAGE,), shape, f"{op} : {image} -> {self._type(shape, 0)}", self._type(shape, 0))

    def _layer(
        self, name: str, op: str, source: tuple[int, ...], filter: tuple[int, ...], attributes: str,
        shape: tuple[int, ...], *, by_channel: bool,
    ) -> Node:  # fmt: skip
        random = np.random.default_rng(2)
        integers = random.integers(1, 128, filter).astype(np.int8)
        scale, axis = self.scales[3], 3 if op == "depthwise_conv2d" else 0
        element = f"!quant.uniform<{self.storage}:f32, {scale}:{0 if self.storage == 'i8' else 64}>"
        if by_channel:
            factors = 2.0 ** random.integers(-1, 2, filter[axis])
            element = f"!quant.uniform<i8:f32:{axis}, {{{', '.join(str(scale * f) for f in factors)}}}>"
        type, result = tensor(filter, element), self._type(shape, 2, 0.5 if op == "depthwise_conv2d" else 1.0)
        constant = f"  %w = xnnpack.constant {dense(integers)} : {tensor(filter, 'i8')} -> {type}\n"
        body = f"{op} %q0, %w {attributes} : ({self._type(source, 0)}, {type}) -> {result}"
        own = f"{name} by channel" if by_channel else name
        return self._node(own, (source,), shape, body, result, constant)

    def _type(self, shape: tuple[int, ...], position: int, factor: float = 1.0) -> str:
        scale = self.scales[position] * factor
        return tensor(shape, f"!quant.uniform<{self.storage}:f32, {scale}:{self.zero + position}>")

    def _node(
        self, name: str, inputs: tuple[tuple[int, ...], ...], output: tuple[int, ...], body: str, result: str,
        constant: str = "",
    ) -> Node:  # fmt: skip
        before = "".join(
            f"  %q{i} = xnnpack.convert %a{i} : {tensor(shape, 'f32')} -> {self._type(shape, i)}\n"
            for i, shape in enumerate(inputs)
        )
        after = f"  %r = xnnpack.convert %y : {result} -> {tensor(output, 'f32')}"
        text = f"{before}{constant}  %y = xnnpack.{body}\n{after}"
        return Node(f"{self.storage} {name}, {self.kind} scales", inputs, output, text)


def dense(array: np.ndarray) -> str:
    """The elements as an attribute."""
    return f'dense<"0x{array.tobytes().hex().upper()}">'
