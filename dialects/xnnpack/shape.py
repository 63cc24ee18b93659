"""Nodes that move data."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, FloatAttr, IntegerAttr, UnitAttr, f16, f32, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from xir.dialects.xnnpack import boxes
from xir.dialects.xnnpack.base import (
    FLOATS,
    PLAIN,
    NodeOp,
    Shape,
    Tensor,
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
from xir.dialects.xnnpack.interfaces import AnyLayout, Movement, decide
from xir.dialects.xnnpack.quantization import expect_same_type
from xir.dialects.xnnpack.signatures import Form, same
from xir.dialects.xnnpack.wire import CountSlot, FlagsSlot, FloatSlot, Member, UIntSlot, UIntsSlot, ValueSlot, Wire, one
from xir.ir.shapes import merged

IN_OUT = (ValueSlot("input_id", "input"), ValueSlot("output_id", "output"), FlagsSlot({}))


class MoveOp(NodeOp):
    """One input, one output, elements unchanged."""

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = PLAIN
    QUANTIZED: ClassVar[tuple[Form, ...]] = same(2)

    input = operand_def(Tensor)
    output = result_def(Tensor)

    assembly_format = "$input attr-dict `:` type($input) `->` type($output)"

    def verify_quantized(self) -> None:
        expect_same_type(self.input, self.output)


@irdl_op_definition
class StaticTransposeOp(MoveOp):
    """Permute dimensions (`xnn_define_static_transpose`): dimension i of the output is `perm[i]` of the input.

    ```mlir
    %1 = xnnpack.static_transpose %0 {perm = array<i32: 0, 2, 3, 1>} : tensor<1x3x8x8xf32> -> tensor<1x8x8x3xf32>
    ```
    """

    name = "xnnpack.static_transpose"

    perm = prop_def(DenseArrayBase.constr(i32))

    traits = traits_def(
        TransposePatterns(),
        *decide(movement=Movement.PERMUTES, layout=None, elementwise=False, boxes=boxes.of_transpose),
    )

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticTranspose",
        one("XNNStaticTranspose", 5),
        (CountSlot("num_dims", "perm"), UIntsSlot("perm", "perm"), *IN_OUT),
    )

    def verify_node(self) -> None:
        shape, perm = shape_of(self.input), ints(self.perm)
        if sorted(perm) != list(range(len(shape))):
            raise VerifyException(f"perm {list(perm)} is not a permutation of the {len(shape)} dimensions")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        return (tuple(shapes[0][p] for p in ints(self.perm)),)


@irdl_op_definition
class StaticReshapeOp(MoveOp):
    """Give the elements another shape (`xnn_define_static_reshape`); one 0 in `new_shape` is inferred.

    ```mlir
    %1 = xnnpack.static_reshape %0 {new_shape = array<i32: 1, 12>} : tensor<1x3x4xf32> -> tensor<1x12xf32>
    ```
    """

    name = "xnnpack.static_reshape"

    new_shape = prop_def(DenseArrayBase.constr(i32))

    traits = traits_def(
        ReshapePatterns(),
        *decide(movement=Movement.PERMUTES, layout=None, elementwise=False, boxes=boxes.of_reshape),
    )

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticReshape",
        one("XNNStaticReshape", 20),
        (CountSlot("num_dims", "new_shape"), UIntsSlot("new_shape", "new_shape"), *IN_OUT),
    )

    def verify_node(self) -> None:
        expect_at_least(self.new_shape, 0, "new_shape")
        if ints(self.new_shape).count(0) > 1:
            raise VerifyException("new_shape can leave one dimension to be inferred, not more")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        before, new = shapes[0], ints(self.new_shape)
        if DYNAMIC_INDEX in before:
            return (tuple(DYNAMIC_INDEX if d == 0 else d for d in new),)
        known = prod(d for d in new if d)
        if (0 in new and prod(before) % known) or (0 not in new and prod(before) != known):
            raise VerifyException(f"{shape_text(before)} has {prod(before)} elements, new_shape is {list(new)}")
        return (tuple(prod(before) // known if d == 0 else d for d in new),)


@irdl_op_definition
class StaticSliceOp(MoveOp):
    """A box of the input (`xnn_define_static_slice`): `sizes` elements from `offsets` on, in each dimension.

    In a dynamic dimension the box ends where the input ends, if that is earlier; a size of 0 stands for the whole rest.

    ```mlir
    %1 = xnnpack.static_slice %0 {offsets = array<i32: 0, 1>, sizes = array<i32: 0, 2>}
         : tensor<?x4xf32> -> tensor<?x2xf32>
    ```
    """

    name = "xnnpack.static_slice"

    traits = traits_def(
        *decide(movement=Movement.TAKES, layout=AnyLayout(("offsets", "sizes")), elementwise=False, boxes=None)
    )

    offsets = prop_def(DenseArrayBase.constr(i32))
    sizes = prop_def(DenseArrayBase.constr(i32))

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticSlice",
        one("XNNStaticSlice", 35),
        (CountSlot("num_dims", "sizes"), UIntsSlot("offsets", "offsets"), UIntsSlot("sizes", "sizes"), *IN_OUT),
    )

    def verify_node(self) -> None:
        shape = shape_of(self.input)
        expect_length(self.offsets, len(shape), "offsets")
        expect_length(self.sizes, len(shape), "sizes")
        expect_at_least(self.offsets, 0, "offsets")
        expect_at_least(self.sizes, 0, "sizes")
        for axis, (dim, start, size) in enumerate(zip(shape, ints(self.offsets), ints(self.sizes), strict=True)):
            if dim == DYNAMIC_INDEX:
                continue
            if size == 0:
                raise VerifyException(
                    f"sizes can be 0, the whole rest, in dynamic dimensions only, not in dimension {axis}"
                )
            if start + size > dim:
                raise VerifyException(f"elements {start} to {start + size - 1} leave dimension {axis} of size {dim}")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        boxes = zip(shapes[0], ints(self.offsets), ints(self.sizes), strict=True)
        return (tuple(sliced_size(dim, start, size) for dim, start, size in boxes),)


def sliced_size(dim: int, start: int, size: int) -> int:
    """How many elements a slice takes of a dimension; `size` 0 is all from `start` on."""
    if dim == DYNAMIC_INDEX:
        return size or DYNAMIC_INDEX
    if start >= dim:
        raise VerifyException(f"elements from {start} on leave nothing of a dimension of size {dim}")
    return min(size or dim, dim - start)


@irdl_op_definition
class StaticConstantPadOp(MoveOp):
    """Surround the input with a constant (`xnn_define_static_constant_pad`)."""

    name = "xnnpack.static_constant_pad"

    traits = traits_def(
        *decide(
            movement=Movement.JOINS,
            layout=AnyLayout(("pre_paddings", "post_paddings")),
            elementwise=False,
            boxes=None,
        )
    )

    # Of an integer padding value XNNPACK makes nothing.
    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

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

    def verify_node(self) -> None:
        shape = shape_of(self.input)
        for what, attr in (("pre_paddings", self.pre_paddings), ("post_paddings", self.post_paddings)):
            expect_length(attr, len(shape), what)
            expect_at_least(attr, 0, what)

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        padded = zip(shapes[0], ints(self.pre_paddings), ints(self.post_paddings), strict=True)
        return (tuple(d if d == DYNAMIC_INDEX else d + before + after for d, before, after in padded),)


@irdl_op_definition
class StaticResizeBilinear2dOp(MoveOp):
    """Resize [N, H, W, C] by bilinear interpolation (`xnn_define_static_resize_bilinear_2d`)."""

    name = "xnnpack.static_resize_bilinear2d"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = (f32, f16)

    traits = traits_def(*decide(movement=None, layout=None, elementwise=False, boxes=None))

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

    def verify_node(self) -> None:
        expect_rank(self.input, 4, "input")
        height, width = self.new_height.value.data, self.new_width.value.data
        if min(height, width) < 1:
            raise VerifyException(f"the new size must be at least 1x1, it is {height}x{width}")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        batch, _, _, channels = shapes[0]
        return ((batch, self.new_height.value.data, self.new_width.value.data, channels),)


MOST_JOINED = 5
"""The tensors that one `xnnpack.concatenate` joins at most."""


@irdl_op_definition
class ConcatenateOp(NodeOp):
    """Join two to five tensors along `axis` (`xnn_define_concatenate2` to `…5`).

    ```mlir
    %2 = xnnpack.concatenate %0, %1 {axis = 1 : i32} : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    ```
    """

    name = "xnnpack.concatenate"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = PLAIN

    traits = traits_def(
        *decide(movement=Movement.JOINS, layout=AnyLayout(dimension="axis"), elementwise=False, boxes=None)
    )

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

    @property
    def member_key(self) -> int:
        return len(self.inputs)

    @classmethod
    def quantized_of(cls, key: str | int | None) -> tuple[Form, ...]:
        return same(cast(int, key) + 1)

    def verify_quantized(self) -> None:
        for value in self.inputs:
            expect_same_type(value, self.output)

    def verify_node(self) -> None:
        if len(self.inputs) not in self.WIRE.members:
            raise VerifyException(f"a node joins two to five tensors, not {len(self.inputs)}")
        first, axis = shape_of(self.inputs[0]), self.axis.value.data
        if not 0 <= axis < len(first):
            raise VerifyException(f"axis {axis} is not one of the {len(first)} dimensions")
        for value in self.inputs:
            if rank_of(value) != len(first):
                raise VerifyException("all inputs must have one rank")
            expect_shape(value, (*first[:axis], shape_of(value)[axis], *first[axis + 1 :]), "input")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        axis = self.axis.value.data
        sizes = [shape[axis] for shape in shapes]
        total = DYNAMIC_INDEX if DYNAMIC_INDEX in sizes else sum(sizes)
        others = [merged(column) for column in zip(*shapes, strict=True)]
        return ((*others[:axis], total, *others[axis + 1 :]),)
