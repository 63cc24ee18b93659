"""Nodes that move data."""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, FloatAttr, IntegerAttr, UnitAttr, f32, i32
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from xir.dialects.xnnpack.base import (
    NodeOp,
    Tensor,
    element_type,
    expect_at_least,
    expect_length,
    expect_rank,
    expect_shape,
    ints,
    rank_of,
    shape_of,
    shape_text,
)
from xir.dialects.xnnpack.canonicalization import ReshapePatterns, TransposePatterns
from xir.dialects.xnnpack.wire import CountSlot, FlagsSlot, FloatSlot, Member, UIntSlot, UIntsSlot, ValueSlot, Wire, one

IN_OUT = (ValueSlot("input_id", "input"), ValueSlot("output_id", "output"), FlagsSlot({}))


class MoveOp(NodeOp):
    """One input, one output, elements unchanged."""

    input = operand_def(Tensor)
    output = result_def(Tensor)

    assembly_format = "$input attr-dict `:` type($input) `->` type($output)"

    def verify_node(self) -> None:
        if element_type(self.input) != element_type(self.output):
            raise VerifyException("input and result must have one element type")
        self.verify_move()

    def verify_move(self) -> None:
        """Check the result's shape."""


@irdl_op_definition
class StaticTransposeOp(MoveOp):
    """Permute dimensions (`xnn_define_static_transpose`): dimension i of the output is `perm[i]` of the input.

    ```mlir
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
    ```
    """

    name = "xnnpack.static_transpose"

    perm = prop_def(DenseArrayBase.constr(i32))

    traits = traits_def(Pure(), TransposePatterns())

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticTranspose",
        one("XNNStaticTranspose", 5),
        (CountSlot("num_dims", "perm"), UIntsSlot("perm", "perm"), *IN_OUT),
    )

    def verify_move(self) -> None:
        shape, perm = shape_of(self.input), ints(self.perm)
        if sorted(perm) != list(range(len(shape))):
            raise VerifyException(f"perm {list(perm)} is not a permutation of the {len(shape)} dimensions")
        expect_shape(self.output, [shape[p] for p in perm])


@irdl_op_definition
class StaticReshapeOp(MoveOp):
    """Give the elements another shape (`xnn_define_static_reshape`); one 0 in `new_shape` is inferred.

    ```mlir
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 1, 12>} : tensor<1x3x4xf32> -> tensor<1x12xf32>
    ```
    """

    name = "xnnpack.static_reshape"

    new_shape = prop_def(DenseArrayBase.constr(i32))

    traits = traits_def(Pure(), ReshapePatterns())

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticReshape",
        one("XNNStaticReshape", 20),
        (CountSlot("num_dims", "new_shape"), UIntsSlot("new_shape", "new_shape"), *IN_OUT),
    )

    def verify_move(self) -> None:
        expect_at_least(self.new_shape, 0, "new_shape")
        before, new = shape_of(self.input), ints(self.new_shape)
        if new.count(0) > 1:
            raise VerifyException("new_shape can leave one dimension to be inferred, not more")
        if DYNAMIC_INDEX in before:
            expect_shape(self.output, [DYNAMIC_INDEX if d == 0 else d for d in new])
            return
        known = prod(d for d in new if d)
        if (0 in new and prod(before) % known) or (0 not in new and prod(before) != known):
            raise VerifyException(f"{shape_text(before)} has {prod(before)} elements, new_shape is {list(new)}")
        expect_shape(self.output, [prod(before) // known if d == 0 else d for d in new])


@irdl_op_definition
class StaticSliceOp(MoveOp):
    """A box of the input (`xnn_define_static_slice`): `sizes` elements from `offsets` on, in each dimension."""

    name = "xnnpack.static_slice"

    offsets = prop_def(DenseArrayBase.constr(i32))
    sizes = prop_def(DenseArrayBase.constr(i32))

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticSlice",
        one("XNNStaticSlice", 35),
        (CountSlot("num_dims", "sizes"), UIntsSlot("offsets", "offsets"), UIntsSlot("sizes", "sizes"), *IN_OUT),
    )

    def verify_move(self) -> None:
        shape = shape_of(self.input)
        expect_length(self.offsets, len(shape), "offsets")
        expect_length(self.sizes, len(shape), "sizes")
        expect_at_least(self.offsets, 0, "offsets")
        expect_at_least(self.sizes, 1, "sizes")
        for axis, (dim, start, size) in enumerate(zip(shape, ints(self.offsets), ints(self.sizes), strict=True)):
            if dim != DYNAMIC_INDEX and start + size > dim:
                raise VerifyException(f"elements {start} to {start + size - 1} leave dimension {axis} of size {dim}")
        expect_shape(self.output, ints(self.sizes))


@irdl_op_definition
class StaticConstantPadOp(MoveOp):
    """Surround the input with a constant (`xnn_define_static_constant_pad`)."""

    name = "xnnpack.static_constant_pad"

    pre_paddings = prop_def(DenseArrayBase.constr(i32))
    post_paddings = prop_def(DenseArrayBase.constr(i32))
    padding_value = prop_def(FloatAttr.constr(f32), default_value=FloatAttr(0.0, f32))

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticConstantPad",
        one("XNNStaticConstantPad", 10),
        (
            UIntsSlot("pre_paddings", "pre_paddings"),
            UIntsSlot("post_paddings", "post_paddings"),
            FloatSlot("padding_value", "padding_value"),
            *IN_OUT,
        ),
    )

    def verify_move(self) -> None:
        shape = shape_of(self.input)
        for what, attr in (("pre_paddings", self.pre_paddings), ("post_paddings", self.post_paddings)):
            expect_length(attr, len(shape), what)
            expect_at_least(attr, 0, what)
        padded = zip(shape, ints(self.pre_paddings), ints(self.post_paddings), strict=True)
        expect_shape(self.output, [d if d == DYNAMIC_INDEX else d + before + after for d, before, after in padded])


@irdl_op_definition
class StaticResizeBilinear2dOp(MoveOp):
    """Resize [N, H, W, C] by bilinear interpolation (`xnn_define_static_resize_bilinear_2d`)."""

    name = "xnnpack.static_resize_bilinear2d"

    new_height = prop_def(IntegerAttr.constr(i32))
    new_width = prop_def(IntegerAttr.constr(i32))
    align_corners = opt_prop_def(UnitAttr)

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticResizeBilinear2D",
        one("XNNStaticResizeBilinear2D", 9),
        (
            UIntSlot("new_height", "new_height"),
            UIntSlot("new_width", "new_width"),
            ValueSlot("input_id", "input"),
            ValueSlot("output_id", "output"),
            FlagsSlot({"align_corners": 8}),
        ),
    )

    def verify_move(self) -> None:
        expect_rank(self.input, 4, "input")
        height, width = self.new_height.value.data, self.new_width.value.data
        if min(height, width) < 1:
            raise VerifyException(f"the new size must be at least 1x1, it is {height}x{width}")
        batch, _, _, channels = shape_of(self.input)
        expect_shape(self.output, (batch, height, width, channels))


@irdl_op_definition
class ConcatenateOp(NodeOp):
    """Join two to five tensors along `axis` (`xnn_define_concatenate2` to `…5`).

    ```mlir
    %2 = xnnpack.concatenate %0, %1 {axis = 1 : i32} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    ```
    """

    name = "xnnpack.concatenate"

    inputs = var_operand_def(Tensor)
    output = result_def(Tensor)
    axis = prop_def(IntegerAttr.constr(i32))

    assembly_format = "$inputs attr-dict `:` functional-type($inputs, $output)"

    WIRE: ClassVar[Wire] = Wire(
        "XNNCat",
        {
            2: Member("XNNConcatenate2", 32),
            3: Member("XNNConcatenate3", 33),
            4: Member("XNNConcatenate4", 34),
            5: Member("XNNConcatenate5", 38),
        },
        (
            UIntSlot("axis", "axis"),
            *(ValueSlot(f"input{i + 1}_id", "inputs", i) for i in range(4)),
            ValueSlot("output_id", "output"),
            FlagsSlot({}),
            ValueSlot("input5_id", "inputs", 4),
        ),
    )

    def member(self) -> Member:
        return self.WIRE.members[len(self.inputs)]

    def verify_node(self) -> None:
        if len(self.inputs) not in self.WIRE.members:
            raise VerifyException(f"a node joins two to five tensors, not {len(self.inputs)}")
        first, axis = shape_of(self.inputs[0]), self.axis.value.data
        if not 0 <= axis < len(first):
            raise VerifyException(f"axis {axis} is not one of the {len(first)} dimensions")
        total = 0
        for value in self.inputs:
            if rank_of(value) != len(first):
                raise VerifyException("all inputs must have one rank")
            if element_type(value) != element_type(self.output):
                raise VerifyException("inputs and result must have one element type")
            size = shape_of(value)[axis]
            total = DYNAMIC_INDEX if DYNAMIC_INDEX in (size, total) else total + size
            expect_shape(value, (*first[:axis], size, *first[axis + 1 :]), "input")
        expect_shape(self.output, (*first[:axis], total, *first[axis + 1 :]))
