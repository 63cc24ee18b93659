"""What XNNPACK's nodes do, in fp32: which kernel runs a node, and how much it multiplies and moves.

Sources, for which kernel runs what: `src/operators/*.c` and `src/configs/*.c` of XNNPACK at commit 92a7ad501b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, f32
from xdsl.ir import Operation, SSAValue

from xir.cost.work import Kernel, Work
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import NodeOp, element_type, ints, shape_of
from xir.dialects.xnnpack.interfaces import Elementwise, moves_data
from xir.ir.shapes import Shape
from xir.ir.walking import ops_in
from xir.transforms.analysis.cost import tensor_bytes

FLOAT_BYTES = 4

DEPTHWISE_TILES = (3, 4, 9, 25)
"""The numbers of taps that XNNPACK has depthwise kernels for, on every processor: `src/configs/dwconv-config.c`. One of
fewer taps runs on the next of them, with weights of zero."""

FUNCTIONS: dict[str, Kernel] = {
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "gelu": "gelu",
    "approxgelu": "gelu",
    "exp": "exp",
    "log": "log",
}
"""The elementwise operators that compute for longer than they load."""


def work_of(node: NodeOp) -> Work | None:
    """What a node of known sizes does; None for one that no profile knows, such as on integers."""
    values = (*node.operands, *node.results)
    if any(element_type(value) != f32 or DYNAMIC_INDEX in shape_of(value) for value in values):
        return None
    if (rule := _RULES.get(node.name)) is not None:
        return rule(node)
    if moves_data(node):
        return _moved(node)
    return _elementwise(node) if node.has_trait(Elementwise) else None


def weight_bytes(module: Operation) -> int:
    """Of all constants in a program's graphs."""
    return sum(tensor_bytes(op.output.type) or 0 for op in ops_in(module, xnnpack.ConstantOp))


# --- By shapes ---------------------------------------------------------------------------------------------------


def convolution(image: Shape, filter: Shape, result: Shape, groups: int = 1, is_pointwise: bool | None = None) -> Work:
    """A convolution; `filter` is [O, kH, kW, I / groups]. One of 1x1 with stride or padding is not pointwise."""
    if is_pointwise is None:
        is_pointwise = filter[1:3] == (1, 1)
    batch, height, width, channels = result
    inner, moved, weights = prod(filter[1:]), _bytes(image, result), _bytes(filter)
    if is_pointwise:
        return _product(inner, batch * height * width, channels, moved, weights)
    # The rows that are computed at once are of one image.
    return Work("igemm", inner, height * width, channels // groups, batch * groups, moved, weights)


def _product(inner: int, rows: int, columns: int, traffic: int, weights: int) -> Work:
    """A product by known weights."""
    return Work("gemv" if rows == 1 else "gemm", inner, rows, columns, traffic=traffic, weights=weights)


def depthwise(taps: int, image: Shape, result: Shape, is_strided: bool) -> Work:
    """A depthwise convolution; a strided one has a stride along the width, so that neighbouring pixels share less."""
    tile = next((tile for tile in DEPTHWISE_TILES if tile >= taps), taps)
    kernel: Kernel = "dwconv_strided" if is_strided else "dwconv"
    return Work(kernel, tile, prod(result[:-1]), result[-1], traffic=_bytes(image, result))


def elementwise(operands: int, result: Shape) -> Work:
    """An arithmetic node whose operands have the result's shape."""
    return Work("elementwise", 1, traffic=_bytes(*[result] * (operands + 1)))


def copy(result: Shape, runs: int) -> Work:
    """A node that moves what becomes its result, by so many runs of neighbouring elements."""
    return Work("copy", runs, traffic=_bytes(result, result))


def joined(operands: Sequence[Shape], axis: int) -> Work:
    """A join of several tensors."""
    result = (*operands[0][:axis], sum(each[axis] for each in operands), *operands[0][axis + 1 :])
    return copy(result, len(operands) * prod(result[:axis]))


def sliced(image: Shape, result: Shape) -> Work:
    """A slice: its runs end with the last dimension that is cut."""
    cut = max((axis for axis, (old, new) in enumerate(zip(image, result, strict=True)) if old != new), default=0)
    return copy(result, prod(result[:cut]))


def padded(image: Shape, result: Shape) -> Work:
    """An image with zeros around it: its runs end with the last dimension that grows."""
    grown = max((axis for axis, (old, new) in enumerate(zip(image, result, strict=True)) if old != new), default=0)
    return Work("copy", prod(image[:grown]), traffic=_bytes(image, result))


def _bytes(*shapes: Shape) -> int:
    return FLOAT_BYTES * sum(map(prod, shapes))


# --- By node -----------------------------------------------------------------------------------------------------


def _convolution(node: xnnpack.Conv2dOp) -> Work:
    shapes = (shape_of(node.input), shape_of(node.filter), shape_of(node.output))
    return convolution(*shapes, node.groups.value.data, node.is_pointwise)


def _depthwise(node: xnnpack.DepthwiseConv2dOp) -> Work:
    taps, (_, stride) = node.kernel_height * node.kernel_width, ints(node.stride)
    return depthwise(taps, shape_of(node.input), shape_of(node.output), stride > 1)


def _deconvolution(node: xnnpack.Deconv2dOp) -> Work:
    image, filter, groups = shape_of(node.input), shape_of(node.filter), node.groups.value.data
    sizes = (prod(filter[1:]), prod(image[1:-1]), filter[0] // groups, image[0] * groups)
    return Work("igemm", *sizes, traffic=_traffic(node.input, node.output), weights=_bytes(filter))


def _fully_connected(node: xnnpack.FullyConnectedOp) -> Work:
    *outer, columns = shape_of(node.output)
    inner, rows = shape_of(node.input)[-1], prod(outer)
    moved, weights = _traffic(node.input, node.output), _traffic(node.filter)
    if isinstance(node.filter.owner, xnnpack.ConstantOp):
        return _product(inner, rows, columns, moved, weights)
    return Work("bmm", inner, rows, columns, traffic=moved, weights=weights)


def _batched(node: xnnpack.BatchMatrixMultiplyOp) -> Work:
    *outer, rows, columns = shape_of(node.output)
    sizes = (shape_of(node.lhs)[-1], rows, columns, prod(outer))
    return Work("bmm", *sizes, traffic=_traffic(node.lhs, node.output), weights=_traffic(node.rhs))


def _elementwise(node: NodeOp) -> Work:
    kind = node.member_key
    kernel = FUNCTIONS.get(kind, "elementwise") if isinstance(kind, str) else "elementwise"
    loops = _loops([shape_of(value) for value in node.operands], shape_of(node.results[0]))
    return Work(kernel, loops, traffic=_traffic(*node.operands, node.results[0]))


def _loops(operands: Sequence[Shape], result: Shape) -> int:
    """How often XNNPACK's innermost loop runs, over as many dimensions as the operands are broadcast alike in."""
    padded = [(1,) * (len(result) - len(shape)) + tuple(shape) for shape in operands]
    sizes = [(size, tuple(shape[axis] == size for shape in padded)) for axis, size in enumerate(result) if size > 1]
    alike = sizes[-1][1] if sizes else ()
    neighbours = takewhile(lambda each: each[1] == alike, reversed(sizes))
    return prod(size for size, _ in sizes) // prod(size for size, _ in neighbours)


def _moved(node: NodeOp) -> Work:
    """A node that moves by rows of the last dimension."""
    shape = shape_of(node.results[0])
    return Work("copy", prod(shape[:-1]), traffic=_traffic(*node.operands, *node.results))


def _joined(node: xnnpack.ConcatenateOp) -> Work:
    axis = node.axis.value.data
    shapes = [shape_of(value) for value in node.inputs]
    return joined(shapes, axis % len(shapes[0]))


def _sliced(node: xnnpack.StaticSliceOp) -> Work:
    return sliced(shape_of(node.input), shape_of(node.output))


def _padded(node: xnnpack.StaticConstantPadOp) -> Work:
    return padded(shape_of(node.input), shape_of(node.output))


def _transposed(node: xnnpack.StaticTransposeOp) -> Work:
    shape, perm = shape_of(node.output), ints(node.perm)
    kept = 1  # the elements that stay neighbours
    for axis in range(len(perm) - 1, -1, -1):
        if perm[axis] != axis:
            break
        kept *= shape[axis]
    kernel: Kernel = "transpose" if kept == 1 else "copy"
    return Work(kernel, prod(shape) // max(kept, 1), traffic=_traffic(node.input, node.output))


def _softmax(node: xnnpack.SoftmaxOp) -> Work:
    return Work("softmax", prod(shape_of(node.input)[:-1]), traffic=_traffic(node.input, node.output))


def _reduced(node: xnnpack.GlobalAveragePooling2dOp | xnnpack.StaticReduceOp) -> Work:
    return Work("reduce", prod(shape_of(node.input)[:-1]), traffic=_traffic(node.input, node.output))


def _pooled(kernel: Kernel) -> Callable[[xnnpack.MaxPooling2dOp | xnnpack.AveragePooling2dOp], Work]:
    def work(node: xnnpack.MaxPooling2dOp | xnnpack.AveragePooling2dOp) -> Work:
        windows = prod(shape_of(node.output)) * prod(ints(node.kernel))
        return Work(kernel, windows, traffic=_traffic(node.input, node.output))

    return work


def _resized(node: xnnpack.StaticResizeBilinear2dOp) -> Work:
    return Work("resize", prod(shape_of(node.output)), traffic=_traffic(node.input, node.output))


def _traffic(*values: SSAValue) -> int:
    return _bytes(*map(shape_of, values))


_RULES: dict[str, Callable[[Any], Work]] = {
    xnnpack.Conv2dOp.name: _convolution,
    xnnpack.DepthwiseConv2dOp.name: _depthwise,
    xnnpack.Deconv2dOp.name: _deconvolution,
    xnnpack.FullyConnectedOp.name: _fully_connected,
    xnnpack.BatchMatrixMultiplyOp.name: _batched,
    xnnpack.ConcatenateOp.name: _joined,
    xnnpack.StaticSliceOp.name: _sliced,
    xnnpack.StaticConstantPadOp.name: _padded,
    xnnpack.StaticTransposeOp.name: _transposed,
    xnnpack.SoftmaxOp.name: _softmax,
    xnnpack.GlobalAveragePooling2dOp.name: _reduced,
    xnnpack.StaticReduceOp.name: _reduced,
    xnnpack.MaxPooling2dOp.name: _pooled("max_pool"),
    xnnpack.AveragePooling2dOp.name: _pooled("average_pool"),
    xnnpack.StaticResizeBilinear2dOp.name: _resized,
}
"""What is no mere move or arithmetic by element, whose work its interfaces tell."""
