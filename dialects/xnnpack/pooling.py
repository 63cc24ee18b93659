"""Pooling nodes. Activations are [N, H, W, C]."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xir.dialects.xnnpack.base import (
    BoundedOp,
    NodeOp,
    Shape,
    Tensor,
    expect_at_least,
    expect_length,
    expect_rank,
    ints,
    rank_of,
    u32s,
    window_output,
)
from xir.dialects.xnnpack.interfaces import Movement, decide
from xir.dialects.xnnpack.quantization import expect_same_storage, expect_same_type, quantized_by_tensor
from xir.dialects.xnnpack.signatures import Form, same
from xir.dialects.xnnpack.wire import ConstSlot, FlagsSlot, Slot, UIntSlot, ValueSlot, Wire, one

KEEP_DIMS = FlagsSlot({"keep_dims": 0x40})

WINDOW_SLOTS: tuple[Slot, ...] = (
    *(UIntSlot(f"padding_{side}", "padding", i) for i, side in enumerate(("top", "right", "bottom", "left"))),
    UIntSlot("pooling_height", "kernel", 0),
    UIntSlot("pooling_width", "kernel", 1),
)
STRIDE_SLOTS: tuple[Slot, ...] = (UIntSlot("stride_height", "stride", 0), UIntSlot("stride_width", "stride", 1))
IN_OUT: tuple[Slot, ...] = (ValueSlot("input_id", "input"), ValueSlot("output_id", "output"), KEEP_DIMS)


class WindowOp(NodeOp, ABC):
    """What the windowed poolings share."""

    input = operand_def(Tensor)
    kernel = prop_def(DenseArrayBase.constr(i32))
    padding = prop_def(DenseArrayBase.constr(i32), default_value=u32s((0, 0, 0, 0)))
    """Around the input: top, right, bottom, left."""

    def verify_node(self) -> None:
        expect_rank(self.input, 4, "input")
        expect_length(self.kernel, 2, "kernel")
        expect_at_least(self.kernel, 1, "kernel")
        expect_length(self.padding, 4, "padding")
        expect_at_least(self.padding, 0, "padding")
        kernel_height, kernel_width = ints(self.kernel)
        # xnn_define_max_pooling_2d and xnn_define_average_pooling_2d refuse it.
        if kernel_height * kernel_width == 1:
            raise VerifyException("a window of 1x1 pools nothing; XNNPACK refuses it")

    def pooled_shape(self, shape: Shape, stride: tuple[int, ...], dilation: tuple[int, ...]) -> Shape:
        """The output's shape for an input of `shape`."""
        batch, height, width, channels = shape
        kernel_height, kernel_width = ints(self.kernel)
        top, right, bottom, left = ints(self.padding)
        return (
            batch,
            window_output(height, top, bottom, kernel_height, stride[0], dilation[0]),
            window_output(width, left, right, kernel_width, stride[1], dilation[1]),
            channels,
        )


@irdl_op_definition
class MaxPooling2dOp(WindowOp, BoundedOp):
    """The largest element of each window (`xnn_define_max_pooling_2d`); padding never wins.

    ```mlir
    %1 = xnnpack.max_pooling2d %0 {kernel = array<i32: 2, 2>, stride = array<i32: 2, 2>}
         : tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
    ```
    """

    name = "xnnpack.max_pooling2d"

    QUANTIZED: ClassVar[tuple[Form, ...]] = same(2)

    traits = traits_def(*decide(movement=Movement.PICKS, layout=None, elementwise=False, boxes=None))

    stride = prop_def(DenseArrayBase.constr(i32), default_value=u32s((1, 1)))
    dilation = prop_def(DenseArrayBase.constr(i32), default_value=u32s((1, 1)))
    keep_dims = opt_prop_def(UnitAttr)
    """A flag that ExecuTorch sets and XNNPACK ignores here; kept so that files read and write back unchanged."""
    output = result_def(Tensor)

    assembly_format = "$input attr-dict `:` type($input) `->` type($output)"

    WIRE: ClassVar[Wire] = Wire(
        "XNNPooling2D",
        one("XNNMaxPooling2d", 14),
        (
            *WINDOW_SLOTS,
            *STRIDE_SLOTS,
            UIntSlot("dilation_height", "dilation", 0),
            UIntSlot("dilation_width", "dilation", 1),
            *IN_OUT,
        ),
        bounds="optional",
    )

    def verify_quantized(self) -> None:
        expect_same_type(self.input, self.output)
        self.verify_bounds()

    def verify_node(self) -> None:
        super().verify_node()
        for what, attr in (("stride", self.stride), ("dilation", self.dilation)):
            expect_length(attr, 2, what)
            expect_at_least(attr, 1, what)

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        return (self.pooled_shape(shapes[0], ints(self.stride), ints(self.dilation)),)


@irdl_op_definition
class AveragePooling2dOp(WindowOp, BoundedOp):
    """The mean of each window (`xnn_define_average_pooling_2d`); padding does not count as elements."""

    name = "xnnpack.average_pooling2d"

    traits = traits_def(*decide(movement=None, layout=None, elementwise=False, boxes=None))

    stride = prop_def(DenseArrayBase.constr(i32), default_value=u32s((1, 1)))
    keep_dims = opt_prop_def(UnitAttr)
    """A flag that ExecuTorch sets and XNNPACK ignores here; kept so that files read and write back unchanged."""
    output = result_def(Tensor)

    assembly_format = "$input attr-dict `:` type($input) `->` type($output)"

    WIRE: ClassVar[Wire] = Wire(
        "XNNPooling2D",
        one("XNNAvgPooling2d", 11),
        (*WINDOW_SLOTS, *STRIDE_SLOTS, ConstSlot("dilation_height", 0), ConstSlot("dilation_width", 0), *IN_OUT),
        bounds="optional",
    )

    def verify_node(self) -> None:
        super().verify_node()
        expect_length(self.stride, 2, "stride")
        expect_at_least(self.stride, 1, "stride")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        return (self.pooled_shape(shapes[0], ints(self.stride), (1, 1)),)


@irdl_op_definition
class ArgMaxPooling2dOp(WindowOp):
    """The largest element of each window and its index in the window (`xnn_define_argmax_pooling_2d`).

    The stride is the window's size; indices are 32-bit.
    """

    name = "xnnpack.argmax_pooling2d"

    traits = traits_def(*decide(movement=None, layout=None, elementwise=False, boxes=None))

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = ()
    MIXED: ClassVar[tuple[tuple[Attribute, ...], ...]] = ((f32, f32, i32),)

    output = result_def(Tensor)
    indices = result_def(Tensor)

    assembly_format = "$input attr-dict `:` functional-type(operands, results)"

    WIRE: ClassVar[Wire] = Wire(
        "XNNArgMaxPooling2d",
        one("XNNArgMaxPooling2d", 21),
        (
            *WINDOW_SLOTS,
            ValueSlot("input_id", "input"),
            ValueSlot("output_value_id", "output"),
            ValueSlot("output_index_id", "indices"),
            FlagsSlot({}),
        ),
    )

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        shape = self.pooled_shape(shapes[0], ints(self.kernel), (1, 1))
        return shape, shape


@irdl_op_definition
class GlobalAveragePooling2dOp(BoundedOp):
    """The mean over the third- and second-innermost dimensions (`xnn_define_global_average_pooling_2d`).

    [..., H, W, C] becomes [..., C], or [..., 1, 1, C] with `keep_dims`.
    """

    name = "xnnpack.global_average_pooling2d"

    QUANTIZED: ClassVar[tuple[Form, ...]] = same(2)

    traits = traits_def(*decide(movement=None, layout=None, elementwise=False, boxes=None))

    input = operand_def(Tensor)
    output = result_def(Tensor)
    keep_dims = opt_prop_def(UnitAttr)

    assembly_format = "$input attr-dict `:` type($input) `->` type($output)"

    WIRE: ClassVar[Wire] = Wire("XNNNode1x1", one("XNNGlobalAvgPooling2d", 19), IN_OUT, bounds="optional")

    def verify_quantized(self) -> None:
        expect_same_storage(quantized_by_tensor(self.input, "input"), quantized_by_tensor(self.output, "result"))
        self.verify_bounds()

    def verify_node(self) -> None:
        if rank_of(self.input) < 3:
            raise VerifyException("input must have at least three dimensions")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        *batch, _, _, channels = shapes[0]
        middle = () if self.keep_dims is None else (1, 1)
        return ((*batch, *middle, channels),)
