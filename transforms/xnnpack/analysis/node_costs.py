"""What XNNPACK's nodes do: which kernel runs a node, and how much it multiplies and moves.

Sources, for which kernel runs what: `src/operators/*.c` and `src/configs/*.c` of XNNPACK at commit 92a7ad501b.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from math import prod
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, f16, f32, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from xir.cost.work import FLOAT_KERNELS, HALF_KERNELS, Kernel, Work
from xir.dialects import xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import NodeOp, WeightedOp, element_type, ints, shape_of
from xir.dialects.xnnpack.interfaces import Elementwise, moves_data
from xir.dialects.xnnpack.signatures import datatype_of
from xir.ir.shapes import Shape
from xir.ir.walking import ops_in
from xir.transforms.analysis.cost import tensor_bytes

FLOAT_BYTES, HALF_BYTES = 4, 2

FIRST_CACHE = 32 << 10
"""The bytes of numbers that a core's first cache has: 32 KB on most processors, and 48 KB or 64 KB on some."""

PAD_RUN = 4
"""How many runs of other copies one of a padding takes as long as: 14 ns of 3.4 ns on Zen 3, for its call alone."""

BLOCK = 8
"""Transposes move squares of so many elements a side: `src/configs/transpose-config.c`."""

SHORT_ROWS, SHORT_COLUMNS = 200, 100
"""As long as how many elements one takes that is not full along the result's last dimension, as of 3 channels, or along
the operand's: on Zen 3 some 10 and 5 ns."""

DEPTHWISE_TILES = (3, 4, 9, 25)
"""The numbers of taps that XNNPACK has depthwise kernels for, on every processor: `src/configs/dwconv-config.c`. One of
fewer taps runs on the next of them, with weights of zero."""

INTEGER_DEPTHWISE_TILES = (3, 9, 25)
"""Some of these: those on 8-bit integers, with a scale for each channel."""

FUNCTIONS: dict[str, Kernel] = {
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "gelu": "gelu",
    "approxgelu": "gelu",
    "exp": "exp",
    "log": "log",
}
"""The elementwise operators that compute for longer than they load."""

INTEGER_FORMS: Mapping[Kernel, Kernel] = {
    "copy": "copy",
    "dwconv": "qs8_dwconv",
    "dwconv_strided": "qs8_dwconv_strided",
    "gemm": "qs8_gemm",
    "gemv": "qs8_gemv",
    "igemm": "qs8_igemm",
    "elementwise": "qs8_elementwise",
    "reduce": "qs8_reduce",
    "max_pool": "qs8_max_pool",
}
"""What runs a node on fp32 -> what runs it on 8-bit integers. Copies are the same, of a quarter of the bytes."""

HALF_FORMS: Mapping[Kernel, Kernel] = {
    "copy": "copy",
    **{kernel: form for kernel in FLOAT_KERNELS for form in HALF_KERNELS if form == f"f16_{kernel}"},
}
"""The same for fp16, of half of the bytes."""

DYNAMIC_FORMS: Mapping[tuple[str, Kernel], Kernel] = {
    ("QCInt8", "gemm"): "qc8w_gemm",
    ("QCInt8", "gemv"): "qc8w_gemv",
    ("QCInt8", "igemm"): "qc8w_igemm",
    ("QCInt4", "gemm"): "qc4w_gemm",
    ("QCInt4", "gemv"): "qc4w_gemv",
    ("QBInt4", "gemm"): "qb4w_gemm",
    ("QBInt4", "gemv"): "qb4w_gemv",
}
"""The datatype of weights (`XNNDatatype`), and what runs a product on fp32 -> what runs one by such weights, of numbers
that are quantised at run time, with a result in fp32."""


def work_of(node: NodeOp) -> Work | None:
    """What a node of known sizes does; None for one that no profile knows, such as in bf16."""
    values = (*node.operands, *node.results)
    if any(DYNAMIC_INDEX in shape_of(value) for value in values):
        return None
    if isinstance(node, xnnpack.ConvertOp):
        return _converted(node)
    if all(element_type(value) == f32 for value in values):
        return _on_floats(node)
    if is_half(node):
        return None if (work := _on_floats(node)) is None else on_halves(work)
    if isinstance(element_type(values[0]), xnnpack.DynamicType):
        return _dynamic(node)
    return _on_integers(node) if all(is_signed(value) for value in values) else None


def estimated_work_of(node: NodeOp) -> Work | None:
    """The same also of a node that no profile knows, such as a transposition of integers or a product in bf16: what it
    does on fp32, of its own bytes. None for what has no form on fp32."""
    values = (*node.operands, *node.results)
    if (work := work_of(node)) is not None or any(DYNAMIC_INDEX in shape_of(value) for value in values):
        return work
    if (work := _on_floats(node)) is None:
        return None
    floats = FLOAT_BYTES * sum(prod(shape_of(value)) for value in values)
    share = sum(tensor_bytes(value.type) or 0 for value in values) / max(floats, 1)
    sizes = (work.traffic, work.weights, work.row_bytes, work.column_bytes)
    traffic, weights, row, column = (int(share * size) for size in sizes)
    return replace(work, traffic=traffic, weights=weights, row_bytes=row, column_bytes=column)


def _on_floats(node: NodeOp) -> Work | None:
    if (rule := _RULES.get(node.name)) is not None:
        return rule(node)
    if moves_data(node):
        return _moved(node)
    return _elementwise(node) if node.has_trait(Elementwise) else None


def _on_integers(node: NodeOp) -> Work | None:
    if isinstance(node, xnnpack.UnaryOp):
        return looked_up(shape_of(node.output))
    work = _on_floats(node)
    return None if work is None else on_integers(work)


def is_copied(node: xnnpack.StaticReshapeOp) -> bool:
    """Whether a reshape moves anything: its result lies where its operand does if only one node reads each of them.

    Source: `optimize_tensor_allocation_for_in_place_operations` in `src/runtime.c`.
    """
    (readers, users) = ([use.operation for use in value.uses] for value in (node.output, node.input))
    inside = isinstance(node.input.owner, NodeOp) and all(isinstance(reader, NodeOp) for reader in readers)
    return not inside or len(readers) != 1 or len(users) != 1


def is_half(node: NodeOp) -> bool:
    """Whether a node computes in fp16; its weights and bias may be stored in fp32."""
    computed = [value for value in node.operands if not isinstance(value.owner, xnnpack.ConstantOp)]
    stored = {element_type(value) for value in node.operands}
    return stored <= {f16, f32} and all(element_type(value) == f16 for value in (*computed, *node.results))


def is_signed(value: SSAValue) -> bool:
    """Whether a value has signed integers of 8 bits with known scales, or of 32, as biases have."""
    element = element_type(value)
    return isinstance(element, UniformType) and element.storage in (i8, i32)


def weight_bytes(module: Operation) -> int:
    """Of all constants in a program's graphs."""
    return sum(tensor_bytes(op.output.type) or 0 for op in ops_in(module, xnnpack.ConstantOp))


@dataclass
class Stored:
    """A constant of a program's graphs; equal ones are stored once."""

    bytes: int
    readers: int = 0
    """How many nodes read it."""


StoredConstants = Mapping[Attribute, Stored]
"""Constants by their values."""


def stored_constants(module: Operation) -> dict[Attribute, Stored]:
    """The constants of a program's graphs, by their values."""
    found: dict[Attribute, Stored] = {}
    for op in ops_in(module, xnnpack.ConstantOp):
        constant = found.setdefault(op.value, Stored(tensor_bytes(op.output.type) or 0))
        constant.readers += sum(1 for _ in op.output.uses)
    return found


def on_integers(work: Work) -> Work | None:
    """What the same node does on 8-bit integers, of what it does on fp32; None for one that no profile knows."""
    if work.kernel in ("dwconv", "dwconv_strided"):
        work = replace(work, inner=_tile(work.inner, INTEGER_DEPTHWISE_TILES))
    return _in_bytes(work, INTEGER_FORMS.get(work.kernel), 1)


def on_halves(work: Work) -> Work | None:
    """What the same node does on fp16, of what it does on fp32; None for one that no profile knows."""
    return _in_bytes(work, HALF_FORMS.get(work.kernel), HALF_BYTES)


def _in_bytes(work: Work, kernel: Kernel | None, number: int) -> Work | None:
    """The same by another kernel, on numbers of so many bytes each; None without such a kernel."""
    if kernel is None:
        return None
    sizes = (work.traffic, work.weights, work.row_bytes, work.column_bytes)
    traffic, weights, row, column = (number * size // FLOAT_BYTES for size in sizes)
    reread = _reread(work, number) if work.kernel in ("dwconv", "dwconv_strided") else work.reread
    work = replace(work, kernel=kernel, traffic=traffic, weights=weights, reread=reread)
    return replace(work, row_bytes=row, column_bytes=column)


by_shape = lru_cache(maxsize=1 << 14)
"""Forms of convolutions ask for the same work again and again."""

# --- By shapes ---------------------------------------------------------------------------------------------------


@by_shape
def convolution(image: Shape, filter: Shape, result: Shape, groups: int = 1, is_pointwise: bool | None = None) -> Work:
    """A convolution; `filter` is [O, kH, kW, I / groups]. One of 1x1 with stride or padding is not pointwise."""
    if is_pointwise is None:
        is_pointwise = filter[1:3] == (1, 1)
    batch, height, width, channels = result
    inner, moved, weights = prod(filter[1:]), _bytes(image, result), _bytes(filter)
    if is_pointwise:
        return _product(inner, batch * height * width, channels, moved, weights)
    # The rows that are computed at once are of one image. XNNPACK takes each for one of the image's rows, whole.
    sizes = (inner, height * width, channels // groups, batch * groups)
    bytes = {"row_bytes": _bytes(image[2:]), "column_bytes": FLOAT_BYTES * inner}
    return Work("igemm", *sizes, moved, weights, **bytes)


def _product(inner: int, rows: int, columns: int, traffic: int, weights: int) -> Work:
    """A product by known weights."""
    each = FLOAT_BYTES * inner
    kernel: Kernel = "gemv" if rows == 1 else "gemm"
    return Work(kernel, inner, rows, columns, traffic=traffic, weights=weights, row_bytes=each, column_bytes=each)


@by_shape
def depthwise(taps: int, image: Shape, result: Shape, is_strided: bool) -> Work:
    """A depthwise convolution; a strided one has a stride along the width, so that neighbouring pixels share less."""
    kernel: Kernel = "dwconv_strided" if is_strided else "dwconv"
    work = Work(kernel, _tile(taps, DEPTHWISE_TILES), prod(result[:-1]), result[-1], traffic=_bytes(image, result))
    return replace(work, reread=_reread(work, FLOAT_BYTES))


def _reread(work: Work, number: int) -> int:
    """The bytes of filter and window for all pixels of a depthwise convolution, on numbers of so many bytes."""
    each = 2 * work.inner * work.columns * number
    return work.rows * each if each > FIRST_CACHE else 0


def _tile(taps: int, tiles: Sequence[int]) -> int:
    return next((tile for tile in tiles if tile >= taps), taps)


def converted(shape: Shape) -> Work:
    """A conversion of 8-bit integers to fp32, or back."""
    return Work("qs8_convert", traffic=(1 + FLOAT_BYTES) * prod(shape))


def converted_halves(shape: Shape) -> Work:
    """A conversion of fp16 to fp32, or back."""
    return Work("f16_convert", traffic=(HALF_BYTES + FLOAT_BYTES) * prod(shape))


def looked_up(shape: Shape) -> Work:
    """A function of 8-bit integers, which XNNPACK looks up in a table."""
    return Work("qs8_table", traffic=2 * prod(shape))


@by_shape
def elementwise(operands: int, result: Shape) -> Work:
    """An arithmetic node whose operands have the result's shape."""
    return Work("elementwise", 1, traffic=_bytes(*[result] * (operands + 1)))


@by_shape
def copy(result: Shape, runs: int) -> Work:
    """A node that moves what becomes its result, by so many runs of neighbouring elements."""
    return Work("copy", runs, traffic=_bytes(result, result))


@by_shape
def joined(operands: tuple[Shape, ...], axis: int) -> Work:
    """A join of several tensors."""
    result = (*operands[0][:axis], sum(each[axis] for each in operands), *operands[0][axis + 1 :])
    return copy(result, len(operands) * prod(result[:axis]))


@by_shape
def sliced(image: Shape, result: Shape) -> Work:
    """A slice: its runs end with the last dimension that is cut."""
    cut = max((axis for axis, (old, new) in enumerate(zip(image, result, strict=True)) if old != new), default=0)
    return copy(result, prod(result[:cut]))


@by_shape
def padded(image: Shape, result: Shape) -> Work:
    """An image with zeros around it.

    XNNPACK joins neighbouring dimensions only if it pads neither of them (`src/operators/constant-pad-nd.c`): where the
    width of [N, H, W, C] grows, each pixel is a run.
    """
    grown = max((axis for axis, (old, new) in enumerate(zip(image, result, strict=True)) if old != new), default=0)
    ends = min(grown + 1, len(result) - 1)
    return Work("copy", PAD_RUN * prod(result[:ends]), traffic=_bytes(image, result))


def _bytes(*shapes: Shape) -> int:
    return FLOAT_BYTES * sum(map(prod, shapes))


# --- By node -----------------------------------------------------------------------------------------------------


def _convolution(node: xnnpack.Conv2dOp) -> Work:
    shapes = (shape_of(node.input), shape_of(node.filter), shape_of(node.output))
    return convolution(*shapes, node.groups.value.data, node.is_pointwise)


def _depthwise(node: xnnpack.DepthwiseConv2dOp) -> Work:
    taps, (_, stride) = node.kernel_height * node.kernel_width, ints(node.stride)
    return depthwise(taps, shape_of(node.input), shape_of(node.output), stride > 1)


def _converted(node: xnnpack.ConvertOp) -> Work | None:
    """Between fp32 and integers or halves; other types have kernels of their own."""
    types = (element_type(node.input), element_type(node.output))
    if f32 not in types:
        return None
    if f16 in types:
        return converted_halves(shape_of(node.input))
    if isinstance(types[1], xnnpack.DynamicType):
        rows = prod(shape_of(node.input)[: -types[1].row_rank.data])
        return Work("qd8_convert", rows, traffic=(1 + FLOAT_BYTES) * prod(shape_of(node.input)))
    return converted(shape_of(node.input)) if any(map(is_signed, (node.input, node.output))) else None


def _dynamic(node: NodeOp) -> Work | None:
    """A product of numbers that are quantised at run time; its result is of fp32."""
    if not isinstance(node, WeightedOp) or element_type(node.output) != f32:
        return None
    work, datatype = _on_floats(node), datatype_of(element_type(node.filter))
    kernel = None if work is None or datatype is None else DYNAMIC_FORMS.get((datatype, work.kernel))
    if work is None or kernel is None:
        return None
    traffic = prod(shape_of(node.input)) + FLOAT_BYTES * prod(shape_of(node.output))
    weights = tensor_bytes(node.filter.type) or 0
    row, column = work.row_bytes // FLOAT_BYTES, work.column_bytes * weights // max(work.weights, 1)
    return replace(work, kernel=kernel, traffic=traffic, weights=weights, row_bytes=row, column_bytes=column)


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
    neighbors = takewhile(lambda each: each[1] == alike, reversed(sizes))
    return prod(size for size, _ in sizes) // prod(size for size, _ in neighbors)


def _moved(node: NodeOp) -> Work:
    """A node that moves by rows of the last dimension."""
    shape = shape_of(node.results[0])
    return Work("copy", prod(shape[:-1]), traffic=_traffic(*node.operands, *node.results))


def _joined(node: xnnpack.ConcatenateOp) -> Work:
    axis = node.axis.value.data
    shapes = tuple(shape_of(value) for value in node.inputs)
    return joined(shapes, axis % len(shapes[0]))


def _sliced(node: xnnpack.StaticSliceOp) -> Work:
    return sliced(shape_of(node.input), shape_of(node.output))


def _padded(node: xnnpack.StaticConstantPadOp) -> Work:
    return padded(shape_of(node.input), shape_of(node.output))


def _transposed(node: xnnpack.StaticTransposeOp) -> Work:
    shape, perm = shape_of(node.output), ints(node.perm)
    traffic = _traffic(node.input, node.output)
    kept = 1  # the elements that stay neighbours
    for axis in range(len(perm) - 1, -1, -1):
        if perm[axis] != axis:
            break
        kept *= shape[axis]
    if kept > 1:
        return Work("copy", prod(shape) // kept, traffic=traffic)
    rows, columns = shape[perm.index(len(perm) - 1)], shape[-1]
    whole, full = -(-rows // BLOCK), (rows // BLOCK) * (columns // BLOCK)
    short = whole * (columns % BLOCK > 0)
    elements = full * BLOCK**2 + short * SHORT_ROWS + (whole * -(-columns // BLOCK) - full - short) * SHORT_COLUMNS
    return Work("transpose", elements * (prod(shape) // max(rows * columns, 1)), traffic=traffic)


def _reshaped(node: xnnpack.StaticReshapeOp) -> Work:
    return copy(shape_of(node.output), 1)


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
    xnnpack.StaticReshapeOp.name: _reshaped,
    xnnpack.SoftmaxOp.name: _softmax,
    xnnpack.GlobalAveragePooling2dOp.name: _reduced,
    xnnpack.StaticReduceOp.name: _reduced,
    xnnpack.MaxPooling2dOp.name: _pooled("max_pool"),
    xnnpack.AveragePooling2dOp.name: _pooled("average_pool"),
    xnnpack.StaticResizeBilinear2dOp.name: _resized,
}
"""What is no mere move or arithmetic by element, whose work its interfaces tell."""
