"""The nodes of a composed convolution: what they cost, and the nodes themselves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from math import prod
from typing import Literal, NamedTuple

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseResourceAttr, IntegerAttr, TensorType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from xir.cost.profile import CostProfile
from xir.cost.work import Work
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import Shape, shape_of, tensor_type, u32s
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.transforms.xnnpack import _node_costs
from xir.transforms.xnnpack._composed import composed_attributes
from xir.transforms.xnnpack._liveness import Step, alive_bytes
from xir.transforms.xnnpack._node_costs import FLOAT_BYTES
from xir.transforms.xnnpack._toom_cook import transforms
from xir.transforms.xnnpack._winograd import (
    CHANNELS,
    HEIGHT,
    WIDTH,
    Convolution,
    Factor,
    Form,
    Nodes,
    Window,
    compose,
    with_size,
)


@dataclass
class Shared:
    """What the convolutions of a block have in common, so that `cse` need not look for it in thousands of nodes."""

    constants: dict[tuple[Shape, tuple[Fraction, ...]], SSAValue] = field(
        default_factory=dict[tuple[Shape, tuple[Fraction, ...]], SSAValue]
    )
    """What transforms multiply by: shape and the numbers of one channel -> the constant."""
    nodes: dict[Hashable, Operation] = field(default_factory=dict[Hashable, Operation])
    """Nodes by what they compute: those of two convolutions of one image may be the same."""


IN_CACHE = 1 << 18
"""The bytes of transformed filters, in fp64, that are made at a time: what a core's own cache holds with ease."""


@lru_cache(maxsize=4096)
def predicted(convolution: Convolution, form: Form, batch: int, is_bounded: bool, profile: CostProfile) -> float:
    """The nanoseconds of a convolution in a form, on `batch` images."""
    moved, nanoseconds = 0, 0.0
    touched: dict[Memory, int] = {}
    """The bytes that had been moved when it was last read or written."""
    computed: dict[int, float] = {}
    """What nodes take beside moving data, by their work: dozens have the same."""
    for node in counted(convolution, form, batch, is_bounded):
        work = node.work
        if id(work) not in computed:
            computed[id(work)] = profile.computed(work)
        since = moved - min(touched.get(memory, 0) for memory in node.reads)
        nanoseconds += computed[id(work)] + profile.moved(work, since)
        moved += work.traffic + work.weights
        touched |= dict.fromkeys((*node.reads, *node.writes), moved)
    return nanoseconds


@lru_cache(maxsize=4096)
def needed(convolution: Convolution, form: Form, batch: int, is_bounded: bool, keeps_image: bool) -> int:
    """The most bytes of tensors that a convolution in a form needs at once, with its image and its result."""
    nodes = counted(convolution, form, batch, is_bounded)
    (image,) = nodes[0].reads
    return max(alive_bytes(nodes, {image: len(nodes) if keeps_image else 0}, lambda memory: memory.bytes))


def counted(convolution: Convolution, form: Form, batch: int, is_bounded: bool) -> list[CountedNode]:
    """The nodes of a form, in the order that they run in; those of the direct one are the convolution."""
    shape = (batch, convolution.height.size, convolution.width.size, convolution.input_channels)
    nodes = Counter(convolution, is_bounded)
    compose(convolution, form, nodes, Tensor(shape, Memory(FLOAT_BYTES * prod(shape))))
    return nodes.nodes


@dataclass(frozen=True, eq=False)
class Memory:
    """Where a tensor is; one that is reshaped stays where it was."""

    bytes: int


class Tensor(NamedTuple):
    """A value that is counted."""

    shape: Shape
    memory: Memory


@dataclass(frozen=True, kw_only=True)
class CountedNode(Step[Memory]):
    """What a node does, and the memory that it does it in."""

    work: Work


@dataclass
class Counter(Nodes[Tensor]):
    """Counts what nodes do instead of building them."""

    convolution: Convolution
    is_bounded: bool
    nodes: list[CountedNode] = field(default_factory=list[CountedNode])
    copies: dict[tuple[Tensor, Shape], Tensor] = field(default_factory=dict[tuple[Tensor, Shape], Tensor])
    """Tensors and shapes -> what reshapes make of them: those of several taps are one."""

    def add(self, work: Work, operands: Sequence[Tensor], result: Shape) -> Tensor:
        """Count a node."""
        made = Memory(FLOAT_BYTES * prod(result))
        self.nodes.append(CountedNode(tuple(operand.memory for operand in operands), (made,), work=work))
        return Tensor(result, made)

    def shape(self, value: Tensor) -> Shape:
        return value.shape

    def depthwise(self, value: Tensor, taps: Sequence[Fraction], axis: int, window: Window) -> Tensor:
        result = with_size(value.shape, axis, window.output)
        is_strided = axis == WIDTH and window.stride > 1
        return self.add(_node_costs.depthwise(len(taps), value.shape, result, is_strided), [value], result)

    def product(self, value: Tensor, factor: Factor, is_result: bool = False) -> Tensor:
        batch, *_, inner = value.shape
        channels = factor.groups * self.convolution.output_channels
        result = (batch, factor.height.output, factor.width.output, channels)
        filter = (channels, *factor.taps, inner // factor.groups)
        work = _node_costs.convolution(value.shape, filter, result, factor.groups, factor.is_plain)
        return self.add(work, [value], result)

    def binary(self, kind: Literal["add", "subtract"], lhs: Tensor, rhs: Tensor) -> Tensor:
        return self.add(_node_costs.elementwise(2, lhs.shape), [lhs, rhs], lhs.shape)

    def scaled(self, value: Tensor, factor: Fraction) -> Tensor:
        return value if factor == 1 else self.add(_node_costs.elementwise(1, value.shape), [value], value.shape)

    def bounded(self, value: Tensor) -> Tensor:
        if not self.is_bounded:
            return value
        return self.add(_node_costs.elementwise(1, value.shape), [value], value.shape)

    def concatenated(self, values: Sequence[Tensor], axis: int) -> Tensor:
        shapes = tuple(value.shape for value in values)
        result = with_size(shapes[0], axis, sum(shape[axis] for shape in shapes))
        return self.add(_node_costs.joined(shapes, axis), values, result)

    def reshaped(self, value: Tensor, shape: Shape, is_copied: bool = False) -> Tensor:
        if not is_copied:
            return Tensor(shape, value.memory)
        key = (value, shape)
        if key not in self.copies:
            self.copies[key] = self.add(_node_costs.copy(shape, 1), [value], shape)
        return self.copies[key]

    def sliced(self, value: Tensor, offsets: Shape, sizes: Shape) -> Tensor:
        return self.add(_node_costs.sliced(value.shape, sizes), [value], sizes)

    def padded(self, value: Tensor, before: Shape, after: Shape) -> Tensor:
        result = tuple(map(sum, zip(before, value.shape, after, strict=True)))
        return self.add(_node_costs.padded(value.shape, result), [value], result)


@dataclass
class Builder(Nodes[SSAValue]):
    """Builds the nodes that replace a convolution."""

    node: xnnpack.Conv2dOp
    convolution: Convolution
    form: Form
    ctx: XirContext
    shared: Shared
    """That of earlier convolutions in the block, which this one adds to."""
    ops: list[Operation] = field(default_factory=list[Operation])

    def __post_init__(self) -> None:
        assert isinstance(self.node.filter.owner, xnnpack.ConstantOp)
        self.filter = self.node.filter.owner
        self.filters, self.shares = self.transformed_filters()
        bias = None if self.node.bias is None else self.node.bias.owner
        self.bias = bias if isinstance(bias, xnnpack.ConstantOp) else None
        self.bounds = {name: self.node.properties[name] for name in ("output_min", "output_max")
                       if name in self.node.properties}  # fmt: skip
        self.marks = composed_attributes(self.node, f"conv2d as {self.form}")

    def transformed_filters(self) -> tuple[np.ndarray, np.ndarray]:
        """The filters by column and row of the two G, [j, i, O, kH, kW, I], and the shares of the bias, [i, j].

        Each filter is in one piece, as the products want them. A direct dimension has one row, which keeps its taps,
        and one share; others are left with one tap. All is computed in fp64, and the filters are rounded once.
        """
        weights = storage_array(self.filter.elements, self.ctx, self.filter)
        matrices: list[np.ndarray] = []
        shares: list[np.ndarray] = []
        for axis, outputs in ((self.convolution.height, self.form.height), (self.convolution.width, self.form.width)):
            matrix, share = filter_transform(outputs, axis.taps)
            matrices.append(matrix)
            shares.append(share)
        if self.form.height == self.form.width == 1:
            return weights[None, None], np.outer(*shares)
        channels, height, width, inner = weights.shape
        both = np.kron(*reversed(matrices))
        # By column, tap of a row, row, tap of a column: of the points and taps along a dimension one has the size 1.
        points = [
            len(shares[1]),
            len(matrices[1]) // len(shares[1]),
            len(shares[0]),
            len(matrices[0]) // len(shares[0]),
        ]
        filters = np.empty((points[0], points[2], channels, points[3], points[1], inner), np.float32)
        step = max(IN_CACHE // (8 * len(both) * inner), 1)
        for first in range(0, channels, step):
            part = weights[first : first + step].transpose(0, 2, 1, 3).astype(np.float64, order="C")
            # A product for each channel, which OpenBLAS, that numpy comes with, keeps on one thread: threads that share
            # a little more wait longer than they compute.
            product = both @ part.reshape(-1, width * height, inner)
            filters[:, :, first : first + step] = product.reshape(-1, *points, inner).transpose(1, 3, 0, 4, 2, 5)
        return filters, np.outer(*shares)

    def build(self) -> SSAValue:
        """All nodes; the result stands for that of the convolution."""
        return compose(self.convolution, self.form, self, self.node.input)

    def add(
        self,
        kind: type[xnnpack.NodeOp],
        operands: Sequence[SSAValue],
        shape: Shape,
        properties: Mapping[str, Attribute],
    ) -> SSAValue:
        """A node of one result."""
        key = (kind, self.form, shape, *map(id, operands), *properties, *map(id, properties.values()))
        if (known := self.shared.nodes.get(key)) is not None:
            inherit(known, known, self.node)
            return known.results[0]
        made = self.shared.nodes[key] = kind.create(
            operands=operands,
            result_types=[_type(shape)],
            properties=properties,
            attributes=self.marks,
            location=self.node.location,
        )
        self.ops.append(made)
        return made.results[0]

    def constant(self, shape: Shape, values: Sequence[Fraction], name: str) -> SSAValue:
        """A constant that several nodes may share: the same values for each of the last dimension."""
        key = (shape, tuple(values))
        constants = self.shared.constants
        if key not in constants:
            numbers = np.array(values, np.float32).reshape(*shape[:-1], 1)
            constants[key] = self.stored(np.repeat(numbers, shape[-1], axis=-1), name, self.node)
        return constants[key]

    def stored(self, values: np.ndarray, name: str, origin: Operation) -> SSAValue:
        """A constant of its own."""
        elements = make_dense(values, self.ctx, name)
        made = xnnpack.ConstantOp.create(
            properties={"value": elements}, result_types=[elements.get_type()], location=origin.location
        )
        self.ops.append(made)
        return made.output

    def weights_like(self, constant: xnnpack.ConstantOp, values: np.ndarray, factor: Factor) -> SSAValue:
        """A constant in place of one of the convolution's, with a name of its own: the store compares what has one."""
        elements = constant.elements
        name = elements.resource_handle.data if isinstance(elements, DenseResourceAttr) else "constant"
        row = f"_row{factor.rows[0]}" if factor.rows else ""
        column = "" if factor.column is None else f"_column{factor.column}"
        part = "" if factor.part is None else f"_part{factor.part[0]}"
        return self.stored(np.ascontiguousarray(values, np.float32), f"{name}{row}{column}{part}", constant)

    def depthwise(self, value: SSAValue, taps: Sequence[Fraction], axis: int, window: Window) -> SSAValue:
        channels = shape_of(value)[CHANNELS]
        size = (len(taps), 1) if axis == HEIGHT else (1, len(taps))
        before, after = window.before, window.after
        properties = {
            "padding": u32s((before, 0, after, 0) if axis == HEIGHT else (0, after, 0, before)),
            "stride": u32s((window.stride, 1) if axis == HEIGHT else (1, window.stride)),
            "dilation": u32s((window.dilation, 1) if axis == HEIGHT else (1, window.dilation)),
            "groups": _i32(channels),
        }
        filter = self.constant((1, *size, channels), taps, "winograd_taps")
        shape = with_size(shape_of(value), axis, window.output)
        return self.add(xnnpack.DepthwiseConv2dOp, [value, filter], shape, properties)

    def shape(self, value: SSAValue) -> Shape:
        return shape_of(value)

    def product(self, value: SSAValue, factor: Factor, is_result: bool = False) -> SSAValue:
        height, width = factor.height, factor.width
        batch, *_, inner = shape_of(value)
        channels = factor.groups * self.convolution.output_channels
        rows = slice(factor.rows[0], factor.rows[-1] + 1) if factor.rows else slice(1)
        part, parts = factor.part or (0, 1)
        filter = self.filters[factor.column or 0, rows].reshape(channels, parts, -1)[:, part]
        filter = filter.reshape(channels, *factor.taps, inner // factor.groups)
        operands = [value, self.weights_like(self.filter, filter, factor)]
        shares = self.shares[factor.rows or (0,), factor.column or 0]
        if self.bias is not None and shares.any() and part == 0:
            values = storage_array(self.bias.elements, self.ctx, self.bias).astype(np.float64)
            operands.append(self.weights_like(self.bias, np.outer(shares, values).reshape(-1), factor))
        properties: dict[str, Attribute] = {"padding": u32s((height.before, width.after, height.after, width.before))}
        if factor.groups > 1:
            properties["groups"] = _i32(factor.groups)
        if is_result:
            properties |= self.bounds
        return self.add(xnnpack.Conv2dOp, operands, (batch, height.output, width.output, channels), properties)

    def binary(self, kind: Literal["add", "subtract", "multiply"], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.add(xnnpack.BinaryOp, [lhs, rhs], shape_of(lhs), {"kind": xnnpack.binary_kind(kind)})

    def scaled(self, value: SSAValue, factor: Fraction) -> SSAValue:
        if factor == 1:
            return value
        return self.binary("multiply", value, self.constant((1,), [factor], "winograd_factor"))

    def bounded(self, value: SSAValue) -> SSAValue:
        return self.add(xnnpack.ClampOp, [value], shape_of(value), self.bounds) if self.bounds else value

    def concatenated(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        shape = with_size(shape_of(values[0]), axis, sum(shape_of(value)[axis] for value in values))
        return self.add(xnnpack.ConcatenateOp, values, shape, {"axis": _i32(axis)})

    def reshaped(self, value: SSAValue, shape: Shape, is_copied: bool = False) -> SSAValue:
        """The same elements in another shape, whose batch stays open if it was."""
        return self.add(xnnpack.StaticReshapeOp, [value], shape, {"new_shape": u32s(zero_if_open(shape))})

    def sliced(self, value: SSAValue, offsets: Shape, sizes: Shape) -> SSAValue:
        properties = {"offsets": u32s(offsets), "sizes": u32s(zero_if_open(sizes))}
        return self.add(xnnpack.StaticSliceOp, [value], sizes, properties)

    def padded(self, value: SSAValue, before: Shape, after: Shape) -> SSAValue:
        sizes = zip(shape_of(value), before, after, strict=True)
        shape = tuple(size if size == DYNAMIC_INDEX else size + sum(ends) for size, *ends in sizes)
        properties = {"pre_paddings": u32s(before), "post_paddings": u32s(after)}
        return self.add(xnnpack.StaticConstantPadOp, [value], shape, properties)


@cache
def filter_transform(outputs: int, taps: int) -> tuple[np.ndarray, np.ndarray]:
    """G along one dimension, [points, taps], and the share of the bias at each point; those of a direct one."""
    found = transforms(outputs, taps) if outputs > 1 else None
    return (np.eye(taps), np.ones(1)) if found is None else (found.filter_matrix(), found.bias())


@cache
def _type(shape: Shape) -> TensorType:
    """The type of an image or a filter: nodes have few."""
    return tensor_type(f32, shape)


@cache
def _i32(value: int) -> IntegerAttr:
    """A number as a property: a convolution has some in each of dozens of nodes."""
    return IntegerAttr(value, i32)


def zero_if_open(shape: Shape) -> Shape:
    """The shape as nodes have it, where a size that is open is 0."""
    return tuple(0 if size == DYNAMIC_INDEX else size for size in shape)
