"""Functions to prove something of: a subgraph that is written node by node, as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod

import numpy as np


@dataclass(frozen=True)
class Value:
    """A value of a subgraph."""

    name: str
    shape: tuple[int, ...]
    element: str

    @property
    def type(self) -> str:
        """As the IR writes it."""
        return f"tensor<{'x'.join(map(str, [*self.shape, self.element]))}>"

    @property
    def outside(self) -> str:
        """The type as a function has it: what is quantised goes in and out as integers."""
        found = re.match(r"!quant\.uniform<(u?)(i?\d+)", self.element)
        stored = self.element if found is None else f"{found[1]}i{found[2].lstrip('i')}"
        return f"tensor<{'x'.join(map(str, [*self.shape, stored]))}>"


def array(values: Sequence[int]) -> str:
    """An array attribute."""
    return f"array<i32: {', '.join(map(str, values))}>"


def nested(numbers: np.ndarray) -> str:
    """The elements of a dense attribute."""
    return str(numbers.tolist())


def dense(numbers: np.ndarray) -> str:
    """A dense attribute of the bytes of numbers, which may be infinite."""
    return f'dense<"0x{np.ascontiguousarray(numbers).tobytes().hex().upper()}">'


def forward(text: str) -> str:
    """A function of the arguments in the first line, which returns what its last op computes."""
    takes, _, body = text.strip().partition("\n")
    (*_, name), type = re.findall(r"^  (%\w+) = ", body, re.MULTILINE), body.rsplit(" -> ", 1)[1]
    return f"func.func @forward{takes} -> {type} {{\n{body}\n  func.return {name} : {type}\n}}\n"


@dataclass
class Graph:
    """Nodes between inputs and the values that the subgraph yields."""

    inputs: list[Value] = field(default_factory=list[Value])
    lines: list[str] = field(default_factory=list[str])
    numbers: count[int] = field(default_factory=count)
    weights: count[int] = field(default_factory=lambda: count(1))
    """The numbers of weights that no constant has yet."""

    def input(self, *shape: int, element: str = "f32") -> Value:
        """A further input."""
        self.inputs.append(Value(f"%x{len(self.inputs)}", shape, element))
        return self.inputs[-1]

    def node(self, text: str, operands: Sequence[Value], shape: Sequence[int], element: str = "") -> Value:
        """A node with one result; `text` has its name, and its attributes behind {}, where the operands stand."""
        result = Value(f"%v{next(self.numbers)}", tuple(shape), element or operands[0].element)
        name, _, attributes = text.partition("{}")
        types = ", ".join(each.type for each in operands)
        names = ", ".join(each.name for each in operands)
        if len(operands) > 1 and not name.startswith("binary"):
            types = f"({types})"
        self.lines.append(f"{result.name} = xnnpack.{name}{names}{attributes} : {types} -> {result.type}")
        return result

    def transpose(self, value: Value, perm: Sequence[int]) -> Value:
        return self.node(f"static_transpose {{}} {{perm = {array(perm)}}}", [value], [value.shape[i] for i in perm])

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        return self.node(f"static_reshape {{}} {{new_shape = {array(shape)}}}", [value], shape)

    def slice(self, value: Value, box: Sequence[tuple[int, int]]) -> Value:
        """`box`: (offset, size) of each dimension."""
        offsets, sizes = zip(*box, strict=True)
        text = f"static_slice {{}} {{offsets = {array(offsets)}, sizes = {array(sizes)}}}"
        return self.node(text, [value], sizes)

    def pad(self, value: Value, amounts: Sequence[tuple[int, int]], number: float = 0.0) -> Value:
        """`amounts`: (before, after) of each dimension."""
        before, after = zip(*amounts, strict=True)
        shape = [size + sum(pair) for size, pair in zip(value.shape, amounts, strict=True)]
        paddings = f"pre_paddings = {array(before)}, post_paddings = {array(after)}"
        return self.node(f"static_constant_pad {{}} {{{paddings}, padding_value = {number!r} : f32}}", [value], shape)

    def concatenate(self, values: Sequence[Value], axis: int) -> Value:
        shape = list(values[0].shape)
        shape[axis] = sum(each.shape[axis] for each in values)
        return self.node(f"concatenate {{}} {{axis = {axis} : i32}}", values, shape)

    def unary(self, kind: str, value: Value) -> Value:
        return self.node(f"unary {kind} {{}}", [value], value.shape)

    def binary(self, kind: str, left: Value, right: Value, element: str = "") -> Value:
        return self.node(f"binary {kind} {{}}", [left, right], np.broadcast_shapes(left.shape, right.shape), element)

    def clamp(self, value: Value, low: float | None, high: float | None, element: str = "") -> Value:
        bounds = [
            f"{name} = {bound!r} : f32"
            for name, bound in (("output_min", low), ("output_max", high))
            if bound is not None
        ]
        return self.node(f"clamp {{}} {{{', '.join(bounds)}}}", [value], value.shape, element)

    def convert(self, value: Value, element: str, *, is_asked: bool = True) -> Value:
        """A conversion of the program's, or of the compiler's own."""
        return self.node("convert {}" + (" {xir.unasked}" * (not is_asked)), [value], value.shape, element)

    def constant(self, *shape: int, element: str = "f32") -> Value:
        """Weights: elements that are numbered, so that they stand for any."""
        numbers = np.array([next(self.weights) for _ in range(prod(shape))]).reshape(shape)
        return self.number(numbers if element != "f32" else numbers.astype(np.float32), element)

    def number(self, numbers: np.ndarray, element: str = "f32") -> Value:
        """A constant of these numbers; of a quantised type of these integers."""
        value = Value(f"%c{next(self.numbers)}", numbers.shape, element)
        typed = value.outside if value.outside == value.type else f"{value.outside} -> {value.type}"
        self.lines.append(f"{value.name} = xnnpack.constant dense<{nested(numbers)}> : {typed}")
        return value

    def fully_connected(self, value: Value, filter: Value, *bias: Value, transposed: bool = False) -> Value:
        text = "fully_connected {}" + (" {transpose_weights}" if transposed else "")
        return self.node(text, [value, filter, *bias], [*value.shape[:-1], filter.shape[1 if transposed else 0]])

    def matrix_multiply(self, left: Value, right: Value, *, transposed: bool = False) -> Value:
        text = "batch_matrix_multiply {}" + (" {transpose_b}" if transposed else "")
        outer = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        return self.node(text, [left, right], [*outer, left.shape[-2], right.shape[-2 if transposed else -1]])

    def convolution(
        self,
        value: Value,
        filter: Value,
        padding: Sequence[int],
        stride: Sequence[int],
        element: str = "",
        *bias: Value,
    ) -> Value:
        """`padding`: top, right, bottom, left."""
        top, right, bottom, left = padding
        _, *image, _ = value.shape
        channels, *kernel, _ = filter.shape
        sizes = zip(image, kernel, stride, (top + bottom, left + right), strict=True)
        shape = [value.shape[0], *((size + around - taps) // step + 1 for size, taps, step, around in sizes), channels]
        text = f"conv2d {{}} {{padding = {array(padding)}, stride = {array(stride)}}}"
        return self.node(text, [value, filter, *bias], shape, element)

    def depthwise(
        self, value: Value, filter: Value, padding: int = 0, element: str = "", *bias: Value, bounds: str = ""
    ) -> Value:
        """With equal padding on all sides, and one filter for each channel."""
        _, *image, channels = value.shape
        sizes = [size + 2 * padding - taps + 1 for size, taps in zip(image, filter.shape[1:3], strict=True)]
        around = f"padding = {array([padding] * 4)}"
        text = f"depthwise_conv2d {{}} {{groups = {channels} : i32, {around}{bounds}}}"
        return self.node(text, [value, filter, *bias], (value.shape[0], *sizes, channels), element)

    def global_average(self, value: Value, element: str = "", *, keep_dims: bool = True, bounds: str = "") -> Value:
        attributes = ", ".join(filter(None, ("keep_dims" if keep_dims else "", bounds)))
        shape = (value.shape[0], *((1, 1) if keep_dims else ()), value.shape[-1])
        return self.node(f"global_average_pooling2d {{}} {{{attributes}}}", [value], shape, element)

    def text(self, *yields: Value) -> str:
        """The function, which returns what the subgraph yields."""
        given = ", ".join(f"{each.name}_: {each.outside}" for each in self.inputs)
        takes = ", ".join(each.outside for each in self.inputs)
        gives = ", ".join(each.outside for each in yields)
        inside = ", ".join(f"{each.name}: {each.type}" for each in self.inputs)
        body = "\n    ".join(self.lines)
        results = ", ".join(f"%r#{number}" for number in range(len(yields)))
        return f"""
func.func @forward({given}) -> ({gives}) {{
  %r:{len(yields)} = xnnpack.subgraph({", ".join(f"{each.name}_" for each in self.inputs)}) : ({takes}) -> ({gives}) {{
  ^bb0({inside}):
    {body}
    xnnpack.yield {", ".join(each.name for each in yields)} : {", ".join(each.type for each in yields)}
  }}
  func.return {results} : {gives}
}}
"""
