"""Convolution nodes. Activations are [N, H, W, C]."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerAttr, f16, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xir.dialects.xnnpack.base import (
    HALF_WEIGHTED,
    Shape,
    WeightedOp,
    element_type,
    expect_at_least,
    expect_length,
    expect_rank,
    expect_shape,
    ints,
    same_dim,
    shape_of,
    shape_text,
    u32s,
    window_output,
)
from xir.dialects.xnnpack.interfaces import decide
from xir.dialects.xnnpack.quantization import is_quantized, verify_weighted
from xir.dialects.xnnpack.signatures import Filter, Form
from xir.dialects.xnnpack.wire import ConstSlot, DerivedSlot, FlagsSlot, Slot, UIntSlot, ValueSlot, Wire, one


def conv_slots(adjustment: tuple[Slot, Slot]) -> tuple[Slot, ...]:
    """The slots of the table that the convolutions share."""
    return (
        *(UIntSlot(f"padding_{side}", "padding", i) for i, side in enumerate(("top", "right", "bottom", "left"))),
        DerivedSlot("kernel_height", "kernel_height"),
        DerivedSlot("kernel_width", "kernel_width"),
        UIntSlot("subsampling_height", "stride", 0),
        UIntSlot("subsampling_width", "stride", 1),
        UIntSlot("dilation_height", "dilation", 0),
        UIntSlot("dilation_width", "dilation", 1),
        DerivedSlot("group_input_channels", "group_input_channels"),
        DerivedSlot("group_output_channels", "group_output_channels"),
        UIntSlot("groups", "groups"),
        *adjustment,
        ValueSlot("input1_id", "input"),
        ValueSlot("filter_id", "filter"),
        ValueSlot("bias_id", "bias"),
        ValueSlot("output_id", "output"),
        FlagsSlot({}),
    )


NO_ADJUSTMENT = (ConstSlot("adjustment_height", 0), ConstSlot("adjustment_width", 0))


class ConvolutionOp(WeightedOp, ABC):
    """What the three convolutions share."""

    MIXED: ClassVar[tuple[tuple[Attribute, ...], ...]] = HALF_WEIGHTED

    traits = traits_def(*decide(movement=None, layout=None, elementwise=False, boxes=None))

    padding = prop_def(DenseArrayBase.constr(i32), default_value=u32s((0, 0, 0, 0)))
    """Zeros around the input: top, right, bottom, left."""
    stride = prop_def(DenseArrayBase.constr(i32), default_value=u32s((1, 1)))
    dilation = prop_def(DenseArrayBase.constr(i32), default_value=u32s((1, 1)))
    groups = prop_def(IntegerAttr.constr(i32), default_value=IntegerAttr(1, i32))

    @property
    def kernel_height(self) -> int:
        return shape_of(self.filter)[1]

    @property
    def kernel_width(self) -> int:
        return shape_of(self.filter)[2]

    @property
    def group_input_channels(self) -> int:
        return shape_of(self.filter)[3]

    @property
    def group_output_channels(self) -> int:
        return shape_of(self.filter)[0] // self.groups.value.data

    FILTER: ClassVar[Filter | None] = Filter(axis=0, row_rank=3, widths=(8,), dynamic=("FP32", "FP16"))

    @classmethod
    def constants_of(cls, form: Form) -> frozenset[int]:
        return frozenset((1, 2))

    def verify_quantized(self) -> None:
        if not is_quantized(element_type(self.input)):
            raise VerifyException("XNNPACK convolves a floating-point input with a floating-point filter only")
        verify_weighted(self.input, self.filter, self.bias, self.output, self.FILTER)
        if is_quantized(element_type(self.output)):
            self.verify_bounds()

    def verify_node(self) -> None:
        expect_rank(self.input, 4, "input")
        expect_rank(self.filter, 4, "filter")
        expect_length(self.padding, 4, "padding")
        expect_at_least(self.padding, 0, "padding")
        for what, attr in (("stride", self.stride), ("dilation", self.dilation)):
            expect_length(attr, 2, what)
            expect_at_least(attr, 1, what)
        if self.groups.value.data < 1:
            raise VerifyException("groups must be at least 1")
        if DYNAMIC_INDEX in shape_of(self.filter) or 0 in shape_of(self.filter):
            shape = shape_text(shape_of(self.filter))
            raise VerifyException(f"filter must have a static, non-empty shape, it is {shape}")
        self.verify_channels()
        if self.bias is not None:
            expect_shape(self.bias, (self.output_channels,), "bias")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        batch, height, width, channels = shapes[0]
        if not same_dim(channels, self.input_channels):
            raise VerifyException(f"input has {channels} channels, filter and groups ask for {self.input_channels}")
        return ((batch, *self.output_size(height, width), self.output_channels),)

    @property
    def input_channels(self) -> int:
        return self.group_input_channels * self.groups.value.data

    @property
    def output_channels(self) -> int:
        return self.group_output_channels * self.groups.value.data

    def verify_channels(self) -> None:
        if shape_of(self.filter)[0] % self.groups.value.data:
            raise VerifyException(
                f"{shape_of(self.filter)[0]} output channels do not divide into {self.groups.value.data} groups"
            )
        given = shape_of(self.input)[3]
        if given != self.input_channels:
            asked = "open" if given == DYNAMIC_INDEX else given
            raise VerifyException(f"input has {asked} channels, filter and groups ask for {self.input_channels}")

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        top, right, bottom, left = ints(self.padding)
        stride, dilation = ints(self.stride), ints(self.dilation)
        return (
            window_output(height, top, bottom, self.kernel_height, stride[0], dilation[0]),
            window_output(width, left, right, self.kernel_width, stride[1], dilation[1]),
        )


@irdl_op_definition
class Conv2dOp(ConvolutionOp):
    """2-D convolution (`xnn_define_convolution_2d`); filter [O, kH, kW, I / groups], bias [O].

    ```mlir
    %1 = xnnpack.conv2d %0, %w, %b {padding = array<i32: 1, 1, 1, 1>, stride = array<i32: 2, 2>}
         : (tensor<1x8x8x3xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<1x4x4x16xf32>
    ```
    """

    name = "xnnpack.conv2d"

    WIRE: ClassVar[Wire] = Wire("XNNNodeConv", one("XNNConv2d", 7), conv_slots(NO_ADJUSTMENT), bounds="optional")

    @property
    def is_pointwise(self) -> bool:
        """Whether it is one matrix product for each pixel, of which XNNPACK makes a fully connected node."""
        return (
            self.groups.value.data == self.kernel_height == self.kernel_width == 1
            and ints(self.stride) == (1, 1)
            and not any(ints(self.padding))
            and self.group_input_channels + self.group_output_channels > 2
        )


@irdl_op_definition
class DepthwiseConv2dOp(ConvolutionOp):
    """Depthwise 2-D convolution (`xnn_define_depthwise_convolution_2d`); filter [1, kH, kW, O], bias [O].

    `groups` is the number of input channels; each makes O / groups consecutive output channels.

    ```mlir
    %1 = xnnpack.depthwise_conv2d %0, %w {groups = 8 : i32}
         : (tensor<1x8x8x8xf32>, tensor<1x3x3x8xf32>) -> tensor<1x6x6x8xf32>
    ```
    """

    name = "xnnpack.depthwise_conv2d"

    WIRE: ClassVar[Wire] = Wire(
        "XNNNodeConv", one("XNNDepthwiseConv2d", 13), conv_slots(NO_ADJUSTMENT), bounds="optional"
    )

    FILTER: ClassVar[Filter | None] = Filter(axis=3, row_rank=3, widths=(8,), dynamic=())

    @property
    def group_input_channels(self) -> int:
        return 1

    @property
    def group_output_channels(self) -> int:
        return shape_of(self.filter)[3] // self.groups.value.data

    def verify_channels(self) -> None:
        if shape_of(self.filter)[0] != 1:
            raise VerifyException(f"filter must be [1, kH, kW, O], its first dimension is {shape_of(self.filter)[0]}")
        groups = self.groups.value.data
        if shape_of(self.input)[3] != groups:
            raise VerifyException(f"groups must be the {shape_of(self.input)[3]} input channels, it is {groups}")
        if shape_of(self.filter)[3] % groups:
            raise VerifyException(f"{shape_of(self.filter)[3]} output channels do not divide into {groups} groups")


@irdl_op_definition
class Deconv2dOp(ConvolutionOp):
    """Transposed 2-D convolution (`xnn_define_deconvolution_2d`); filter [O, kH, kW, I / groups], bias [O].

    `padding` is cut from the output, `adjustment` (bottom, right) is added to it.
    """

    name = "xnnpack.deconv2d"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (f32,)
    MIXED: ClassVar[tuple[tuple[Attribute, ...], ...]] = tuple(form for form in HALF_WEIGHTED if form[:2] != (f16, f16))

    FILTER: ClassVar[Filter | None] = Filter(axis=0, row_rank=3, widths=(8,), dynamic=("FP32",))

    adjustment = prop_def(DenseArrayBase.constr(i32), default_value=u32s((0, 0)))

    WIRE: ClassVar[Wire] = Wire(
        "XNNNodeConv",
        one("XNNConvTranspose2d", 39),
        conv_slots((UIntSlot("adjustment_height", "adjustment", 0), UIntSlot("adjustment_width", "adjustment", 1))),
        bounds="optional",
    )

    def verify_node(self) -> None:
        expect_length(self.adjustment, 2, "adjustment")
        expect_at_least(self.adjustment, 0, "adjustment")
        expect_length(self.stride, 2, "stride")
        # XNNPACK refuses others: src/operators/deconvolution-nhwc.c.
        if any(size >= step for size, step in zip(ints(self.adjustment), ints(self.stride), strict=True)):
            raise VerifyException(
                f"adjustment {list(ints(self.adjustment))} must be below the stride {list(ints(self.stride))}"
            )
        super().verify_node()

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        top, right, bottom, left = ints(self.padding)
        adjustment, stride, dilation = ints(self.adjustment), ints(self.stride), ints(self.dilation)

        def size(n: int, cut: int, kernel: int, i: int) -> int:
            if n == DYNAMIC_INDEX:
                return DYNAMIC_INDEX
            return (n - 1) * stride[i] + dilation[i] * (kernel - 1) + 1 + adjustment[i] - cut

        return size(height, top + bottom, self.kernel_height, 0), size(width, left + right, self.kernel_width, 1)
