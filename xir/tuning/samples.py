"""Nodes to measure: one shape each, repeated in a chain so that a node's time is a difference of two programs'."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from math import prod
from typing import Literal

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, f16, f32, i8, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xir.cost.work import Kernel, Work
from xir.dialects import xnnpack
from xir.dialects.quant import UniformType, storage_limits
from xir.dialects.xnnpack.base import Shape, element_type, tensor_type, u32s
from xir.dialects.xnnpack.kinds import UnaryKind
from xir.dialects.xnnpack.quantization import i4
from xir.emitter import emit
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.ir.parser import parse_module
from xir.ir.passes import PassManager
from xir.transforms.registry import passes_of
from xir.transforms.xnnpack.analysis.node_costs import (
    DYNAMIC_FORMS,
    HALF_FORMS,
    INTEGER_FORMS,
    is_copied,
    work_of,
)

Numbers = Literal["f32", "i8", "f16"]
"""What a sample computes with: fp32, 8-bit integers with a scale, or fp16."""

ELEMENTS: dict[Numbers, Attribute] = {"f32": f32, "i8": UniformType.per_tensor(i8, f32, 1 / 16, 3), "f16": f16}

WEIGHT_SCALE = 1 / 128
"""Of the integers that others are multiplied by."""

FORMS: dict[Numbers, Mapping[Kernel, Kernel]] = {"i8": INTEGER_FORMS, "f16": HALF_FORMS}
"""What runs a node on fp32 -> what runs it on other numbers."""

Function = Literal["sigmoid", "tanh", "gelu", "exp", "log"]

Weights = Literal["qc8w", "qc4w", "qb4w"]
"""Of products of numbers that are quantised at run time: 8 or 4 bits with a scale for each channel, or 4 bits with one
for each group. XNNPACK's names."""

DATATYPES: dict[Weights, str] = {"qc8w": "QCInt8", "qc4w": "QCInt4", "qb4w": "QBInt4"}
"""What the file calls them."""

GROUP = 32
"""Weights that have one scale."""


@dataclass(frozen=True)
class Sample(ABC):
    """A node, or a few, whose result has its operand's shape: an image [1, size, size, channels] mostly."""

    size: int
    channels: int
    numbers: Numbers = field(default="f32", kw_only=True)

    @property
    def shape(self) -> Shape:
        return (1, self.size, self.size, self.channels)

    @property
    def type(self) -> TensorType:
        """Of its operand and its result."""
        return tensor_type(ELEMENTS[self.numbers], self.shape)

    @property
    def given(self) -> TensorType:
        """Of the image that every sample of a chain is given."""
        return self.type

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """The kernel that is measured. What others of its nodes run has to be known by then."""

    def form(self, kernel: Kernel) -> Kernel:
        """The kernel that does on the sample's numbers what another one does on fp32."""
        return FORMS[self.numbers][kernel] if self.numbers in FORMS else kernel

    @abstractmethod
    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        """The nodes, the one with the result last, and their constants. `value` is what the sample before it made of
        `image`."""

    def weights(self, shape: Shape, axis: int | None, ctx: XirContext) -> xnnpack.ConstantOp:
        """Random numbers; if they are quantised, with a scale for each index of dimension `axis`, or one for all."""
        if self.numbers != "i8":
            return random_constant(shape, ctx, self.type.element_type)
        one = UniformType.per_tensor(i8, f32, WEIGHT_SCALE)
        each = one if axis is None else UniformType.per_axis(i8, f32, axis, [WEIGHT_SCALE] * shape[axis])
        return random_integers(shape, each, ctx)

    def works(self) -> list[Work]:
        """What its nodes do, in a chain."""
        return list(_works(self))


@cache
def _works(sample: Sample) -> tuple[Work, ...]:
    ctx, block = XirContext(), Block(arg_types=[sample.type, sample.given])
    value, image = block.args
    chain: list[list[Operation]] = []
    for _ in range(3):
        chain.append(list(sample.nodes(value, image, ctx)))
        block.add_ops(chain[-1])
        value = chain[-1][-1].results[0]
    # The one in the middle: whether a reshape copies depends on what it reads and on who reads it.
    nodes = [op for op in chain[1] if isinstance(op, xnnpack.NodeOp)]
    running = (op for op in nodes if not isinstance(op, xnnpack.StaticReshapeOp) or is_copied(op))
    return tuple(work for work in map(work_of, running) if work is not None)


@dataclass(frozen=True)
class ConvolutionSample(Sample):
    """A convolution of as many output channels as input channels; of one tap, a product of matrices."""

    taps: tuple[int, int]

    @property
    def kernel(self) -> Kernel:
        return self.form("igemm" if self.taps != (1, 1) else "gemm" if self.size > 1 else "gemv")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield (filter := self.weights((self.channels, *self.taps, self.channels), 0, ctx))
        yield convolution(xnnpack.Conv2dOp, value, filter, self.taps, 1)


@dataclass(frozen=True)
class DepthwiseSample(Sample):
    """A depthwise convolution."""

    taps: tuple[int, int]

    @property
    def kernel(self) -> Kernel:
        return self.form("dwconv")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield (filter := self.weights((1, *self.taps, self.channels), 3, ctx))
        yield convolution(xnnpack.DepthwiseConv2dOp, value, filter, self.taps, self.channels)


@dataclass(frozen=True)
class PhasesSample(Sample):
    """Depthwise convolutions with strides, as many as there are phases, and their results joined.

    So the result is as large as the image, whose height and width are multiples of the strides.
    """

    taps: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int] = (1, 1)

    @property
    def kernel(self) -> Kernel:
        return self.form("dwconv_strided" if self.stride[1] > 1 else "dwconv")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        height, width = (self.size // stride for stride in self.stride)
        bottom, right = (
            max((taps - 1) * dilation + 1 - stride, 0)
            for taps, stride, dilation in zip(self.taps, self.stride, self.dilation, strict=True)
        )
        properties = {
            "padding": u32s((0, right, bottom, 0)),
            "stride": u32s(self.stride),
            "dilation": u32s(self.dilation),
            "groups": IntegerAttr(self.channels, i32),
        }
        phases: list[SSAValue] = []
        for _ in range(prod(self.stride)):
            yield (filter := self.weights((1, *self.taps, self.channels), 3, ctx))
            made = xnnpack.DepthwiseConv2dOp.create(
                operands=[value, filter.output],
                result_types=[tensor_type(self.type.element_type, (1, height, width, self.channels))],
                properties=properties,
            )
            yield made
            phases.append(made.output)
        joined = tensor_type(self.type.element_type, (1, len(phases) * height, width, self.channels))
        yield (
            made := xnnpack.ConcatenateOp.create(
                operands=phases, result_types=[joined], properties={"axis": IntegerAttr(1, i32)}
            )
        )
        yield reshaped(made.output, self.shape)


@dataclass(frozen=True)
class AttentionSample(Sample):
    """The two products of attention, without its softmax, of so many heads and `size` tokens."""

    heads: int

    @property
    def shape(self) -> Shape:
        return (1, self.heads, self.size, self.channels)

    @property
    def kernel(self) -> Kernel:
        return self.form("bmm")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        kind = xnnpack.BatchMatrixMultiplyOp
        scores = tensor_type(self.type.element_type, (1, self.heads, self.size, self.size))
        properties = {"transpose_b": UnitAttr()}
        yield (made := kind.create(operands=[value, image], result_types=[scores], properties=properties))
        yield kind.create(operands=[made.output, image], result_types=[value.type])


@dataclass(frozen=True)
class AdditionSample(Sample):
    """A sum of two images."""

    @property
    def kernel(self) -> Kernel:
        return self.form("elementwise")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield arithmetic("add", value, image)


@dataclass(frozen=True)
class ByRowSample(Sample):
    """Products of each row, of `channels` numbers, by a number of its own."""

    @property
    def kernel(self) -> Kernel:
        return self.form("elementwise")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield (factors := self.weights((*self.shape[:3], 1), None, ctx))
        yield arithmetic("multiply", value, factors.output)


@dataclass(frozen=True)
class FunctionSample(Sample):
    """A function of each number."""

    kind: Function

    @property
    def kernel(self) -> Kernel:
        return self.form(self.kind)

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield function(self.kind, value)


@dataclass(frozen=True)
class TableSample(Sample):
    """A function of each 8-bit integer, looked up in 256 entries, and once more: those in a row would be one table."""

    @property
    def kernel(self) -> Kernel:
        return "qs8_table"

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        flat = (self.size**2, self.channels)
        yield (first := function("gelu", value))
        yield (moved := reshaped(first.results[0], flat))
        yield (second := function("gelu", moved.output))
        yield reshaped(second.results[0], self.shape)


@dataclass(frozen=True)
class SwapSample(Sample):
    """The two halves of the channels, cut apart and joined the other way round."""

    @property
    def kernel(self) -> Kernel:
        return "copy"

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        half = self.channels // 2
        halves = [sliced(value, (0, 0, 0, start), (*self.shape[:3], half)) for start in (half, 0)]
        yield from halves
        yield xnnpack.ConcatenateOp.create(
            operands=[each.output for each in halves],
            result_types=[value.type],
            properties={"axis": IntegerAttr(3, i32)},
        )


@dataclass(frozen=True)
class TranspositionSample(Sample):
    """The channels before the pixels, and those numbers as an image again; or the other way round, of `planes`."""

    planes: bool = False

    @property
    def kernel(self) -> Kernel:
        return self.form("transpose")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        planes = (1, self.channels, self.size, self.size)
        if self.planes:
            yield (before := reshaped(value, planes))
            yield transposed(before.output, (0, 2, 3, 1), self.shape)
            return
        yield (made := transposed(value, (0, 3, 1, 2), planes))
        yield reshaped(made.output, self.shape)


@dataclass(frozen=True)
class ConversionSample(Sample):
    """A conversion of fp32 to other numbers, and back.

    Reshapes stand between, since XNNPACK would make a table of conversions to integers in a row.
    """

    between: Numbers = "i8"

    @property
    def kernel(self) -> Kernel:
        return "qs8_convert" if self.between == "i8" else "f16_convert"

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        flat = (self.size**2, self.channels)
        yield (there := conversion(value, tensor_type(ELEMENTS[self.between], self.shape)))
        yield (moved := reshaped(there.results[0], flat))
        yield (back := conversion(moved.output, tensor_type(f32, flat)))
        yield reshaped(back.results[0], self.shape)


@dataclass(frozen=True)
class DynamicProductSample(Sample):
    """A product, or a convolution of more taps, of the image as it was quantised at run time, added to what came
    before: the conversion itself runs once in a chain."""

    bits: Weights
    taps: tuple[int, int] = (1, 1)

    @property
    def kernel(self) -> Kernel:
        product: Kernel = "igemm" if self.taps != (1, 1) else "gemm" if self.size > 1 else "gemv"
        return DYNAMIC_FORMS[DATATYPES[self.bits], product]

    @property
    def given(self) -> TensorType:
        return tensor_type(xnnpack.DynamicType.of(1 if self.taps == (1, 1) else 3), self.shape)

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        if self.taps == (1, 1):
            yield (filter := dynamic_weights((self.channels, self.channels), self.bits, ctx))
            yield (made := product(image, filter, self.type))
        else:
            yield (filter := dynamic_weights((self.channels, *self.taps, self.channels), self.bits, ctx))
            yield (made := convolution(xnnpack.Conv2dOp, image, filter, self.taps, 1, self.type))
        yield arithmetic("add", value, made.results[0])


@dataclass(frozen=True)
class DynamicConversionSample(Sample):
    """A conversion to integers with a scale for each row, their product with one column, and the sum with that."""

    @property
    def kernel(self) -> Kernel:
        return "qd8_convert"

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield (rows := conversion(value, tensor_type(xnnpack.DynamicType.of(1), self.shape)))
        yield (filter := dynamic_weights((1, self.channels), "qc8w", ctx))
        yield (made := product(rows.results[0], filter, tensor_type(f32, (*self.shape[:-1], 1))))
        yield arithmetic("add", value, made.output)


@dataclass(frozen=True)
class SoftmaxSample(Sample):
    """The softmax of rows of `channels` numbers."""

    @property
    def kernel(self) -> Kernel:
        return self.form("softmax")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        yield xnnpack.SoftmaxOp.create(operands=[value], result_types=[value.type])


@dataclass(frozen=True)
class MeanSample(Sample):
    """The mean of each channel, and the image less that."""

    @property
    def kernel(self) -> Kernel:
        return self.form("reduce")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        means = tensor_type(self.type.element_type, (1, 1, 1, self.channels))
        properties = {"keep_dims": UnitAttr()}
        made = xnnpack.GlobalAveragePooling2dOp.create(operands=[value], result_types=[means], properties=properties)
        yield made
        yield arithmetic("subtract", value, made.output)


@dataclass(frozen=True)
class PoolingSample(Sample):
    """A pooling over windows of 3x3."""

    pooled: Literal["max_pool", "average_pool"]

    @property
    def kernel(self) -> Kernel:
        return self.form(self.pooled)

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        kind = xnnpack.MaxPooling2dOp if self.pooled == "max_pool" else xnnpack.AveragePooling2dOp
        properties = {"kernel": u32s((3, 3)), "padding": u32s((1, 1, 1, 1)), "stride": u32s((1, 1))}
        yield kind.create(operands=[value], result_types=[value.type], properties=properties)


@dataclass(frozen=True)
class EnlargementSample(Sample):
    """An image of twice the height and width, and a quarter of it."""

    @property
    def kernel(self) -> Kernel:
        return self.form("resize")

    def nodes(self, value: SSAValue, image: SSAValue, ctx: XirContext) -> Iterator[Operation]:
        size = IntegerAttr(2 * self.size, i32)
        large = tensor_type(self.type.element_type, (1, 2 * self.size, 2 * self.size, self.channels))
        properties = {"new_height": size, "new_width": size}
        made = xnnpack.StaticResizeBilinear2dOp.create(operands=[value], result_types=[large], properties=properties)
        yield made
        yield sliced(made.output, (0, 0, 0, 0), self.shape)


def conversion(value: SSAValue, result: TensorType) -> Operation:
    """A conversion to another type."""
    return xnnpack.ConvertOp.create(operands=[value], result_types=[result])


def function(kind: str, value: SSAValue) -> Operation:
    """A function of each number."""
    properties = {"kind": xnnpack.UnaryKindAttr(UnaryKind(kind))}
    return xnnpack.UnaryOp.create(operands=[value], result_types=[value.type], properties=properties)


def arithmetic(kind: str, lhs: SSAValue, rhs: SSAValue) -> Operation:
    """A node of two operands, whose result is as large as the first."""
    properties = {"kind": xnnpack.binary_kind(kind)}
    return xnnpack.BinaryOp.create(operands=[lhs, rhs], result_types=[lhs.type], properties=properties)


def reshaped(value: SSAValue, shape: Shape) -> xnnpack.StaticReshapeOp:
    """A tensor with other dimensions."""
    result = tensor_type(element_type(value), shape)
    return xnnpack.StaticReshapeOp.create(
        operands=[value], result_types=[result], properties={"new_shape": u32s(shape)}
    )


def transposed(value: SSAValue, perm: Shape, shape: Shape) -> xnnpack.StaticTransposeOp:
    """A tensor whose dimensions are in another order."""
    result = tensor_type(element_type(value), shape)
    return xnnpack.StaticTransposeOp.create(operands=[value], result_types=[result], properties={"perm": u32s(perm)})


def sliced(value: SSAValue, offsets: Shape, sizes: Shape) -> xnnpack.StaticSliceOp:
    """A part of a tensor."""
    properties = {"offsets": u32s(offsets), "sizes": u32s(sizes)}
    result = tensor_type(element_type(value), sizes)
    return xnnpack.StaticSliceOp.create(operands=[value], result_types=[result], properties=properties)


def convolution(
    op: type[xnnpack.Conv2dOp | xnnpack.DepthwiseConv2dOp],
    value: SSAValue,
    filter: xnnpack.ConstantOp,
    taps: tuple[int, int],
    groups: int,
    result: TensorType | None = None,
) -> Operation:
    """A convolution that keeps the shape, and the type if there is no other."""
    height, width = taps
    padding = u32s((height // 2, (width - 1) // 2, (height - 1) // 2, width // 2))
    properties = {"padding": padding, "groups": IntegerAttr(groups, i32)}
    return op.create(operands=[value, filter.output], result_types=[result or value.type], properties=properties)


def product(value: SSAValue, filter: xnnpack.ConstantOp, result: TensorType) -> xnnpack.FullyConnectedOp:
    """A product with a matrix of weights."""
    return xnnpack.FullyConnectedOp.create(operands=[value, filter.output], result_types=[result])


def dynamic_weights(shape: Shape, bits: Weights, ctx: XirContext) -> xnnpack.ConstantOp:
    """Weights of products of numbers that are quantised at run time; the first dimension is that of the channels."""
    if bits == "qb4w":
        scales = np.full((shape[0], shape[1] // GROUP), WEIGHT_SCALE)
        return random_integers(shape, UniformType.blockwise(i4, f32, {0: 1, 1: GROUP}, scales), ctx)
    storage = i8 if bits == "qc8w" else i4
    return random_integers(shape, UniformType.per_axis(storage, f32, 0, [WEIGHT_SCALE] * shape[0]), ctx)


def random_constant(shape: Shape, ctx: XirContext, element: Attribute = f32) -> xnnpack.ConstantOp:
    """Weights; equal ones would be packed once."""
    values = np.random.default_rng().random(shape, np.float32)
    values -= np.float32(0.5)
    values *= np.float32(np.sqrt(12 / np.prod(shape[1:])))  # of variance 1, and as many as a row has
    return xnnpack.ConstantOp(make_dense(values, ctx, "weights", element))


def random_integers(shape: Shape, element: UniformType, ctx: XirContext) -> xnnpack.ConstantOp:
    """Weights in 8 or 4 bits."""
    values = np.random.default_rng().integers(*storage_limits(element.storage), shape, np.int8, endpoint=True)
    stored = make_dense(values, ctx, "weights", element.storage)
    return xnnpack.ConstantOp(stored, tensor_type(element, shape))


def repeated(nodes: Sequence[Operation], before: SSAValue, value: SSAValue) -> list[Operation]:
    """The same nodes of another value, by the same constants."""
    mapper = {before: value}
    return [node.clone(value_mapper=mapper) for node in nodes if not isinstance(node, xnnpack.ConstantOp)]


def program(sample: Sample, count: int, shares_weights: bool = False) -> bytes:
    """A `.pte` file of `count` such samples, one behind the other, on an image; all with the same weights if asked."""
    ctx = XirContext()
    image = f"tensor<{'x'.join(map(str, sample.shape))}xf32>"
    module = parse_module(
        ctx,
        f"""
        func.func @forward(%x: {image}) -> {image}
            attributes {{xir.in_spec = "T2#1#0(T1#1($),D0())", xir.out_spec = "$"}} {{
          %y = xnnpack.subgraph(%x) : ({image}) -> {image} {{
          ^bb0(%a: {image}):
            %b = xnnpack.unary abs %a : {image} -> {image}
            xnnpack.yield %b : {image}
          }}
          func.return %y : {image}
        }}""",
    )
    (subgraph,) = (op for op in module.walk() if isinstance(op, xnnpack.SubgraphOp))
    block, (value,), given = subgraph.block, subgraph.yield_op.values, subgraph.block.args[0]

    def add(*ops: Operation) -> SSAValue:
        block.insert_ops_before(ops, subgraph.yield_op)
        return ops[-1].results[0]

    if sample.numbers != "f32":
        value = add(conversion(value, sample.type))
    if sample.given.element_type != f32:
        # A conversion of its own: XNNPACK would make a table of what is computed from one alone.
        given = add(conversion(given, sample.given))
    first, before = list(sample.nodes(value, given, ctx)), value
    value = add(*first)
    for _ in range(count - 1):
        value = add(*(repeated(first, before, value) if shares_weights else sample.nodes(value, given, ctx)))
    if sample.numbers != "f32":
        value = add(conversion(value, tensor_type(f32, sample.shape)))
    subgraph.yield_op.operands = [value]
    PassManager(ctx, passes_of("emit")).run(module)
    file = BytesIO()
    emit(module, ctx, file)
    return file.getvalue()
