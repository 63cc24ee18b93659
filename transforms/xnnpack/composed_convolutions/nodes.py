"""The nodes of a composed convolution.

What they are depends on sizes alone, and a model has many convolutions of one size: a `Recipe` is written once for each
form of such a size, and every convolution is made by it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseResourceAttr, IntegerAttr, TensorType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import Shape, shape_of, tensor_type, u32s
from xir.ir.cloning import bare_op
from xir.ir.constants import DenseAttr, make_dense, reshaped_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.transforms.xnnpack.analysis.composed import composed_attributes
from xir.transforms.xnnpack.composed_convolutions.forms import (
    CHANNELS,
    HEIGHT,
    Convolution,
    Factor,
    Form,
    Nodes,
    Window,
    compose,
    with_size,
)
from xir.transforms.xnnpack.composed_convolutions.toom_cook import transforms

IMAGE = 0
"""The number of the value that a convolution reads."""


class Taps(NamedTuple):
    """A constant that several nodes may share: the same numbers for each of the last dimension."""

    shape: Shape
    numbers: tuple[Fraction, ...]
    name: str


class Weights(NamedTuple):
    """The constant of a product in place of one of the convolution's: its filter, or its bias."""

    factor: Factor
    shape: Shape
    is_bias: bool = False


class PlannedNode(NamedTuple):
    """A node of one result."""

    kind: type[xnnpack.NodeOp]
    operands: Sequence[int]
    """The numbers of values."""
    result_type: TensorType
    properties: Mapping[str, Attribute]
    key: Hashable
    """What it computes of its operands; None behind a product, where no other convolution computes the same."""


PlannedStep: TypeAlias = Taps | Weights | PlannedNode
"""What makes a value."""


@dataclass(frozen=True)
class Recipe:
    """The nodes of a form of a convolution, whatever its weights."""

    steps: Sequence[PlannedStep]
    """Each makes a value, of which the first has the number 1."""
    result: int
    """The number of the value that stands for that of the convolution."""


@dataclass(frozen=True)
class Size:
    """What a recipe depends on."""

    convolution: Convolution
    form: Form
    batch: int
    has_bias: bool
    bounds: tuple[tuple[str, Attribute], ...]
    """The properties that the result is bounded by."""


@dataclass
class Shared:
    """What the convolutions of a block have in common, so that `cse` need not look for it in thousands of nodes."""

    recipes: dict[Size, Recipe] = field(default_factory=dict[Size, Recipe])
    constants: dict[Taps, SSAValue] = field(default_factory=dict[Taps, SSAValue])
    """What transforms multiply by."""
    nodes: dict[Hashable, Operation] = field(default_factory=dict[Hashable, Operation])
    """Nodes by what they compute: those of two convolutions of one image may be the same."""

    def recipe(self, size: Size) -> Recipe:
        """The nodes of a size."""
        if size not in self.recipes:
            self.recipes[size] = recipe_of(size)
        return self.recipes[size]


def recipe_of(size: Size) -> Recipe:
    """Write down the nodes of a form."""
    of = size.convolution
    writer = Writer(size, [(size.batch, of.height.size, of.width.size, of.input_channels)])
    result = compose(of, size.form, writer, IMAGE)
    return Recipe(writer.steps, result)


@dataclass
class Writer(Nodes[int]):
    """Writes a recipe. Values are numbers."""

    size: Size
    shapes: list[Shape]
    """Of each value."""
    steps: list[PlannedStep] = field(default_factory=list[PlannedStep])
    known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Constants and nodes that are there already."""
    behind_products: set[int] = field(default_factory=set[int])

    def __post_init__(self) -> None:
        self.shares = filter_transforms(self.size.convolution, self.size.form).shares
        self.bounds = dict(self.size.bounds)

    def write(self, step: PlannedStep, shape: Shape) -> int:
        """The number of the value that a step makes."""
        self.steps.append(step)
        self.shapes.append(shape)
        return len(self.steps)

    def taps(self, shape: Shape, numbers: Sequence[Fraction], name: str) -> int:
        """A constant that nodes share."""
        step = Taps(shape, tuple(numbers), name)
        if step not in self.known:
            self.known[step] = self.write(step, shape)
        return self.known[step]

    def add(
        self,
        kind: type[xnnpack.NodeOp],
        operands: Sequence[int],
        shape: Shape,
        properties: Mapping[str, Attribute],
    ) -> int:
        """A node of one result."""
        key = (kind, self.size.form, shape, *properties, *map(id, properties.values()))
        known = self.known.get((key, *operands))
        if known is not None:
            return known
        is_behind = kind is xnnpack.Conv2dOp or not self.behind_products.isdisjoint(operands)
        # With what properties are by default.
        properties = kind.create(properties=properties).properties
        step = PlannedNode(kind, operands, _type(shape), properties, None if is_behind else key)
        made = self.known[key, *operands] = self.write(step, shape)
        if is_behind:
            self.behind_products.add(made)
        return made

    def shape(self, value: int) -> Shape:
        return self.shapes[value]

    def depthwise(self, value: int, taps: Sequence[Fraction], axis: int, window: Window) -> int:
        channels = self.shape(value)[CHANNELS]
        size = (len(taps), 1) if axis == HEIGHT else (1, len(taps))
        before, after = window.before, window.after
        properties = {
            "padding": u32s((before, 0, after, 0) if axis == HEIGHT else (0, after, 0, before)),
            "stride": u32s((window.stride, 1) if axis == HEIGHT else (1, window.stride)),
            "dilation": u32s((window.dilation, 1) if axis == HEIGHT else (1, window.dilation)),
            "groups": _i32(channels),
        }
        filter = self.taps((1, *size, channels), taps, "winograd_taps")
        shape = with_size(self.shape(value), axis, window.output)
        return self.add(xnnpack.DepthwiseConv2dOp, [value, filter], shape, properties)

    def product(self, value: int, factor: Factor, is_result: bool = False) -> int:
        height, width = factor.height, factor.width
        batch, *_, inner = self.shape(value)
        channels = factor.groups * self.size.convolution.output_channels
        filter = (channels, *factor.taps, inner // factor.groups)
        operands = [value, self.write(Weights(factor, filter), filter)]
        part, _ = factor.part or (0, 1)
        if self.size.has_bias and self.shares[factor.rows or (0,), factor.column or 0].any() and part == 0:
            operands.append(self.write(Weights(factor, (channels,), is_bias=True), (channels,)))
        properties: dict[str, Attribute] = {"padding": u32s((height.before, width.after, height.after, width.before))}
        if factor.groups > 1:
            properties["groups"] = _i32(factor.groups)
        if is_result:
            properties |= self.bounds
        return self.add(xnnpack.Conv2dOp, operands, (batch, height.output, width.output, channels), properties)

    def binary(self, kind: Literal["add", "subtract", "multiply"], lhs: int, rhs: int) -> int:
        return self.add(xnnpack.BinaryOp, [lhs, rhs], self.shape(lhs), {"kind": xnnpack.binary_kind(kind)})

    def scaled(self, value: int, factor: Fraction) -> int:
        if factor == 1:
            return value
        return self.binary("multiply", value, self.taps((1,), [factor], "winograd_factor"))

    def bounded(self, value: int) -> int:
        return self.add(xnnpack.ClampOp, [value], self.shape(value), self.bounds) if self.bounds else value

    def concatenated(self, values: Sequence[int], axis: int) -> int:
        shape = with_size(self.shape(values[0]), axis, sum(self.shape(value)[axis] for value in values))
        return self.add(xnnpack.ConcatenateOp, values, shape, {"axis": _i32(axis)})

    def reshaped(self, value: int, shape: Shape, is_copied: bool = False) -> int:
        """The same elements in another shape, whose batch stays open if it was."""
        return self.add(xnnpack.StaticReshapeOp, [value], shape, {"new_shape": u32s(zero_if_open(shape))})

    def sliced(self, value: int, offsets: Shape, sizes: Shape) -> int:
        properties = {"offsets": u32s(offsets), "sizes": u32s(zero_if_open(sizes))}
        return self.add(xnnpack.StaticSliceOp, [value], sizes, properties)

    def padded(self, value: int, before: Shape, after: Shape) -> int:
        sizes = zip(self.shape(value), before, after, strict=True)
        shape = tuple(size if size == DYNAMIC_INDEX else size + sum(ends) for size, *ends in sizes)
        properties = {"pre_paddings": u32s(before), "post_paddings": u32s(after)}
        return self.add(xnnpack.StaticConstantPadOp, [value], shape, properties)


IN_CACHE = 1 << 18
"""The bytes of transformed filters, in fp64, that are made at a time: what a core's own cache holds with ease."""


class FilterTransforms(NamedTuple):
    """How the filters and the bias of a form are made."""

    matrices: Sequence[np.ndarray]
    """G along the height and the width, [points, taps]."""
    shares: np.ndarray
    """Of the bias, [i, j]."""


@dataclass
class ConvolutionBuilder:
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
        bias = None if self.node.bias is None else self.node.bias.owner
        self.bias = bias if isinstance(bias, xnnpack.ConstantOp) else None
        self.marks = composed_attributes(self.node, f"conv2d as {self.form}")

    def build(self) -> SSAValue:
        """All nodes; the result stands for that of the convolution."""
        bounds = tuple((name, self.node.properties[name]) for name in ("output_min", "output_max")
                       if name in self.node.properties)  # fmt: skip
        batch = shape_of(self.node.input)[0]
        recipe = self.shared.recipe(Size(self.convolution, self.form, batch, self.bias is not None, bounds))
        filters, biases = self.filters(), self.biases()
        values = [self.node.input]
        for step in recipe.steps:
            if type(step) is PlannedNode:
                value = self.made(step, [values[operand] for operand in step.operands])
            elif type(step) is Taps:
                value = self.constant(step)
            else:
                assert isinstance(step, Weights)
                value = self.weights(step, biases if step.is_bias else filters)
            values.append(value)
        return values[recipe.result]

    def made(self, step: PlannedNode, operands: Sequence[SSAValue]) -> SSAValue:
        """A node, or the one that computes the same already."""
        key = None if step.key is None else (step.key, *map(id, operands))
        if key is not None and (known := self.shared.nodes.get(key)) is not None:
            inherit(known, known, self.node)
            return known.results[0]
        made = bare_op(step.kind, [step.result_type], step.properties, self.marks, self.node.location)
        made.operands = operands
        if key is not None:
            self.shared.nodes[key] = made
        self.ops.append(made)
        return made.results[0]

    def constant(self, step: Taps) -> SSAValue:
        """What transforms multiply by."""
        constants = self.shared.constants
        if step not in constants:
            numbers = np.array(step.numbers, np.float32).reshape(*step.shape[:-1], 1)
            constants[step] = self.stored(np.repeat(numbers, step.shape[-1], axis=-1), step.name, self.node)
        return constants[step]

    def filters(self) -> np.ndarray:
        """The filters by column and row of the two G, [j, i, O, kH, kW, I].

        Each filter is in one piece, as the products want them. A direct dimension has one row, which keeps its taps;
        others are left with one tap. All is computed in fp64, and the filters are rounded once.
        """
        weights = storage_array(self.filter.elements, self.ctx, self.filter)
        if self.form.height == self.form.width == 1:
            return weights[None, None]
        matrices, shares = filter_transforms(self.convolution, self.form)
        channels, height, width, inner = weights.shape
        both = np.kron(*reversed(matrices))
        rows, columns = shares.shape
        # By column, tap of a row, row, tap of a column: of the points and taps along a dimension one has the size 1.
        points = [columns, len(matrices[1]) // columns, rows, len(matrices[0]) // rows]
        filters = np.empty((columns, rows, channels, points[3], points[1], inner), np.float32)
        step = max(IN_CACHE // (8 * len(both) * inner), 1)
        for first in range(0, channels, step):
            part = weights[first : first + step].transpose(0, 2, 1, 3).astype(np.float64, order="C")
            # A product for each channel, which OpenBLAS, that numpy comes with, keeps on one thread: threads that share
            # a little more wait longer than they compute.
            product = both @ part.reshape(-1, width * height, inner)
            filters[:, :, first : first + step] = product.reshape(-1, *points, inner).transpose(1, 3, 0, 4, 2, 5)
        return filters

    def biases(self) -> np.ndarray | None:
        """What of the bias each product adds, by column and row of the two G, [j, i, O]; None without one."""
        if self.bias is None:
            return None
        values = storage_array(self.bias.elements, self.ctx, self.bias).astype(np.float64)
        shares = filter_transforms(self.convolution, self.form).shares
        return np.multiply.outer(shares.T, values).astype(np.float32)

    def weights(self, step: Weights, values: np.ndarray | None) -> SSAValue:
        """A product's constant, of all that were transformed.

        It has a name of its own, since the store compares what has the same.
        """
        factor, shape, is_bias = step
        constant = self.bias if is_bias else self.filter
        assert constant is not None
        assert values is not None
        if self.form.is_im2col and factor.part is None:
            return self.constant_of(reshaped_dense(constant.elements, shape), constant)
        rows = slice(factor.rows[0], factor.rows[-1] + 1) if factor.rows else slice(1)
        part, parts = factor.part or (0, 1)
        of_rows = values[factor.column or 0, rows].reshape(shape[0], 1 if is_bias else parts, -1)
        return self.stored(of_rows[:, part].reshape(shape), name_in_place_of(constant, factor), constant)

    def stored(self, values: np.ndarray, name: str, origin: Operation) -> SSAValue:
        """A constant of its own."""
        return self.constant_of(make_dense(values, self.ctx, name), origin)

    def constant_of(self, elements: DenseAttr, origin: Operation) -> SSAValue:
        """A constant with these elements."""
        made = bare_op(xnnpack.ConstantOp, [elements.type], {"value": elements}, {}, origin.location)
        self.ops.append(made)
        return made.output


def name_in_place_of(constant: xnnpack.ConstantOp, factor: Factor) -> str:
    """What a product's constant in place of one of the convolution's is called."""
    elements = constant.elements
    name = elements.resource_handle.data if isinstance(elements, DenseResourceAttr) else "constant"
    row = f"_row{factor.rows[0]}" if factor.rows else ""
    column = "" if factor.column is None else f"_column{factor.column}"
    part = "" if factor.part is None else f"_part{factor.part[0]}"
    return f"{name}{row}{column}{part}"


def filter_transforms(convolution: Convolution, form: Form) -> FilterTransforms:
    """How the filters and the bias of a form are made."""
    (height, of_rows), (width, of_columns) = (
        filter_transform(outputs, axis.taps)
        for axis, outputs in ((convolution.height, form.height), (convolution.width, form.width))
    )
    return FilterTransforms((height, width), np.outer(of_rows, of_columns))


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
