"""The nodes of a composed convolution: what they cost, and the nodes themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseResourceAttr, IntegerAttr, StringAttr, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from xir.cost.profile import CostProfile
from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import Shape, shape_of, tensor_type, u32s
from xir.dialects.xnnpack.kinds import BinaryKind
from xir.ir.annotations import COMPOSED
from xir.ir.constants import make_dense, storage_array
from xir.ir.context import XirContext
from xir.ir.provenance import inherit
from xir.transforms.xnnpack import _node_costs
from xir.transforms.xnnpack._toom_cook import transforms
from xir.transforms.xnnpack._winograd import CHANNELS, HEIGHT, Convolution, Factor, Form, Nodes, Window, compose


def predicted(convolution: Convolution, form: Form, batch: int, is_bounded: bool, profile: CostProfile) -> float:
    """The nanoseconds of a convolution in a form, on `batch` images."""
    image = (batch, convolution.height.size, convolution.width.size, convolution.input_channels)
    costs = Costs(convolution, form, is_bounded, profile)
    if form.is_direct:
        costs.product(image, Factor(None, None), (convolution.height.output, convolution.width.output))
    else:
        compose(convolution, form, costs, image)
    return costs.total


@dataclass
class Costs(Nodes[Shape]):
    """Adds up what nodes take; a value is its shape."""

    convolution: Convolution
    form: Form
    is_bounded: bool
    profile: CostProfile
    total: float = 0.0

    def depthwise(self, value: Shape, taps: Sequence[Fraction], axis: int, window: Window) -> Shape:
        result = with_size(value, axis, window.output)
        self.total += _node_costs.depthwise(self.profile, len(taps), value, result)
        return result

    def product(self, value: Shape, factor: Factor, size: tuple[int, int]) -> Shape:
        taps = filter_size(self.convolution, factor)
        channels = self.convolution.output_channels
        result = (value[0], *size, channels)
        filter = (channels, *taps, self.convolution.input_channels)
        self.total += _node_costs.convolution(self.profile, value, filter, result)
        return result

    def binary(self, kind: Literal["add", "subtract"], lhs: Shape, rhs: Shape) -> Shape:
        self.total += _node_costs.elementwise(self.profile, 2, lhs)
        return lhs

    def scaled(self, value: Shape, factor: Fraction) -> Shape:
        if factor != 1:
            self.total += _node_costs.elementwise(self.profile, 1, value)
        return value

    def bounded(self, value: Shape) -> Shape:
        if self.is_bounded:
            self.total += _node_costs.elementwise(self.profile, 1, value)
        return value

    def joined(self, values: Sequence[Shape], axis: int) -> Shape:
        result = with_size(values[0], axis, sum(value[axis] for value in values))
        self.total += _node_costs.copy(self.profile, result)
        return result

    def image(self, value: Shape, computed: tuple[int, int], kept: tuple[int, int]) -> Shape:
        result = (value[0], *kept, self.convolution.output_channels)
        self.total += _node_costs.copy(self.profile, (value[0], *computed, self.convolution.output_channels))
        if kept != computed:
            self.total += _node_costs.copy(self.profile, result)
        return result


@dataclass
class Builder(Nodes[SSAValue]):
    """Builds the nodes that replace a convolution."""

    node: xnnpack.Conv2dOp
    convolution: Convolution
    form: Form
    ctx: XirContext
    ops: list[Operation] = field(default_factory=list[Operation])
    constants: dict[tuple[Shape, tuple[float, ...]], SSAValue] = field(
        default_factory=dict[tuple[Shape, tuple[float, ...]], SSAValue]
    )
    """Of the transforms: shape and different numbers -> the constant."""

    def __post_init__(self) -> None:
        assert isinstance(self.node.filter.owner, xnnpack.ConstantOp)
        self.filter = self.node.filter.owner
        self.filters, self.shares = self.transformed_filters()
        bias = None if self.node.bias is None else self.node.bias.owner
        self.bias = bias if isinstance(bias, xnnpack.ConstantOp) else None
        self.bounds = {name: self.node.properties[name] for name in ("output_min", "output_max")
                       if name in self.node.properties}  # fmt: skip

    def values(self, constant: xnnpack.ConstantOp) -> np.ndarray:
        """A constant's numbers, in fp64."""
        return storage_array(constant.elements, self.ctx, constant).astype(np.float64)

    def transformed_filters(self) -> tuple[np.ndarray, np.ndarray]:
        """The filters by row and column of the two G, [i, j, O, I], and the shares of the bias, [i, j], in fp64.

        Along a direct dimension the rows are the taps, and the bias has one share.
        """
        weights = self.values(self.filter)
        matrices: list[np.ndarray] = []
        shares: list[np.ndarray] = []
        for axis, outputs in ((self.convolution.height, self.form.height), (self.convolution.width, self.form.width)):
            found = transforms(outputs, axis.taps) if outputs > 1 else None
            matrices.append(np.eye(axis.taps) if found is None else found.filter_matrix())
            shares.append(np.ones(1) if found is None else found.bias())
        height, width = weights.shape[1:3]
        taps = weights.transpose(1, 2, 0, 3).reshape(height, -1)
        rows = (matrices[0] @ taps).reshape(len(matrices[0]), width, -1)
        filters = (matrices[1] @ rows).reshape(*(len(each) for each in matrices), weights.shape[0], weights.shape[3])
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
        made = kind.create(operands=operands, result_types=[tensor_type(f32, shape)], properties=dict(properties))
        inherit(made, self.node)
        made.attributes[COMPOSED] = StringAttr(f"conv2d as {self.form}")
        self.ops.append(made)
        return made.results[0]

    def constant(self, values: np.ndarray, name: str) -> SSAValue:
        """A constant that several nodes may share."""
        key = (values.shape, tuple(float(each) for each in values.reshape(-1, values.shape[-1])[:, 0]))
        if key not in self.constants:
            made = xnnpack.ConstantOp(make_dense(values.astype(np.float32), self.ctx, name))
            made.location = self.node.location
            self.ops.append(made)
            self.constants[key] = made.output
        return self.constants[key]

    def weights_like(self, constant: xnnpack.ConstantOp, values: np.ndarray, factor: Factor) -> SSAValue:
        """A constant in place of one of the convolution's, with a name of its own: the store compares what has one."""
        elements = constant.elements
        name = elements.resource_handle.data if isinstance(elements, DenseResourceAttr) else "constant"
        place = "_".join(str(each) for each in (factor.row, factor.column) if each is not None)
        array = np.ascontiguousarray(values, np.float32)
        made = xnnpack.ConstantOp(make_dense(array, self.ctx, f"{name}_{place}"))
        made.location = constant.location
        self.ops.append(made)
        return made.output

    def depthwise(self, value: SSAValue, taps: Sequence[Fraction], axis: int, window: Window) -> SSAValue:
        channels = shape_of(value)[CHANNELS]
        size = (len(taps), 1) if axis == HEIGHT else (1, len(taps))
        column = np.array([float(tap) for tap in taps]).reshape(1, *size, 1)
        before, after = window.before, window.after
        properties = {
            "padding": u32s((before, 0, after, 0) if axis == HEIGHT else (0, after, 0, before)),
            "stride": u32s((window.stride, 1) if axis == HEIGHT else (1, window.stride)),
            "dilation": u32s((window.dilation, 1) if axis == HEIGHT else (1, window.dilation)),
            "groups": IntegerAttr(channels, i32),
        }
        filter = self.constant(np.repeat(column, channels, axis=3), "winograd_taps")
        shape = with_size(shape_of(value), axis, window.output)
        return self.add(xnnpack.DepthwiseConv2dOp, [value, filter], shape, properties)

    def product(self, value: SSAValue, factor: Factor, size: tuple[int, int]) -> SSAValue:
        height, width = self.convolution.height, self.convolution.width
        rows = slice(None) if factor.row is None else slice(factor.row, factor.row + 1)
        columns = slice(None) if factor.column is None else slice(factor.column, factor.column + 1)
        top, bottom = (height.before, height.after) if factor.row is None else (0, 0)
        left, right = (width.before, width.after) if factor.column is None else (0, 0)
        filter = self.filters[rows, columns].transpose(2, 0, 1, 3)
        operands = [value, self.weights_like(self.filter, filter, factor)]
        share = self.shares[factor.row or 0, factor.column or 0]
        if self.bias is not None and share:
            operands.append(self.weights_like(self.bias, self.values(self.bias) * share, factor))
        shape = (shape_of(value)[0], *size, self.convolution.output_channels)
        return self.add(xnnpack.Conv2dOp, operands, shape, {"padding": u32s((top, right, bottom, left))})

    def binary(self, kind: Literal["add", "subtract", "multiply"], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.add(xnnpack.BinaryOp, [lhs, rhs], shape_of(lhs), {"kind": xnnpack.BinaryKindAttr(BinaryKind(kind))})

    def scaled(self, value: SSAValue, factor: Fraction) -> SSAValue:
        if factor == 1:
            return value
        return self.binary("multiply", value, self.constant(np.array([float(factor)]), "winograd_factor"))

    def bounded(self, value: SSAValue) -> SSAValue:
        return self.add(xnnpack.ClampOp, [value], shape_of(value), self.bounds) if self.bounds else value

    def joined(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        shape = with_size(shape_of(values[0]), axis, sum(shape_of(value)[axis] for value in values))
        return self.add(xnnpack.ConcatenateOp, values, shape, {"axis": IntegerAttr(axis, i32)})

    def image(self, value: SSAValue, computed: tuple[int, int], kept: tuple[int, int]) -> SSAValue:
        batch, channels = shape_of(value)[0], self.convolution.output_channels
        shape = (batch, *computed, channels)
        new_shape = u32s([0 if size == DYNAMIC_INDEX else size for size in shape])
        value = self.add(xnnpack.StaticReshapeOp, [value], shape, {"new_shape": new_shape})
        if kept == computed:
            return value
        sizes = (batch, *kept, channels)
        properties = {
            "offsets": u32s((0, 0, 0, 0)),
            "sizes": u32s([0 if size == DYNAMIC_INDEX else size for size in sizes]),
        }
        return self.add(xnnpack.StaticSliceOp, [value], sizes, properties)


def filter_size(convolution: Convolution, factor: Factor) -> tuple[int, int]:
    """The height and width of a product's filter."""
    return (
        convolution.height.taps if factor.row is None else 1,
        convolution.width.taps if factor.column is None else 1,
    )


def with_size(shape: Shape, axis: int, size: int) -> Shape:
    """A shape with another size along one dimension."""
    return (*shape[:axis], size, *shape[axis + 1 :])
