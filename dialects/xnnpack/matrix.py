"""Matrix nodes and softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr, bf16, f32, i8
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xir.dialects.xnnpack import boxes
from xir.dialects.xnnpack.base import (
    HALF_WEIGHTED,
    NodeOp,
    Shape,
    Tensor,
    WeightedOp,
    broadcast,
    element_type,
    expect_rank,
    expect_shape,
    rank_of,
    same_dim,
    shape_of,
)
from xir.dialects.xnnpack.canonicalization import BatchMatrixMultiplyPatterns
from xir.dialects.xnnpack.elementwise import UNARY_SLOTS, SameShapeOp
from xir.dialects.xnnpack.interfaces import decide
from xir.dialects.xnnpack.quantization import (
    REQUANTIZATION,
    expect_product,
    is_quantized,
    quantized_by_tensor,
    verify_weighted,
)
from xir.dialects.xnnpack.signatures import Filter, Form, same
from xir.dialects.xnnpack.wire import FlagsSlot, ValueSlot, Wire, one


@irdl_op_definition
class FullyConnectedOp(WeightedOp):
    """Matrix product with a filter over the last dimension (`xnn_define_fully_connected`).

    input [..., I], filter [O, I] (or [I, O] with `transpose_weights`), bias [O], output [..., O].

    ```mlir
    %1 = xnnpack.fully_connected %0, %w, %b : (tensor<1x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<1x8xf32>
    ```
    """

    name = "xnnpack.fully_connected"

    MIXED: ClassVar[tuple[tuple[Attribute, ...], ...]] = (
        *HALF_WEIGHTED,
        (bf16, bf16, f32),
        (bf16, bf16, f32, f32),
        # Files of ExecuTorch have these, whose loader adds a conversion to the node (`defineFullyConnectedNode`).
        (bf16, bf16, bf16),
        (bf16, bf16, f32, bf16),
    )
    FILTER: ClassVar[Filter | None] = Filter(
        axis=0, row_rank=1, widths=(4, 8), dynamic=("FP32", "FP16"), whole_bytes=True
    )

    traits = traits_def(*decide(movement=None, layout=None, elementwise=False, boxes=boxes.of_fully_connected))

    transpose_weights = opt_prop_def(UnitAttr)

    @property
    def channel_axis(self) -> int:
        return 0 if self.transpose_weights is None else 1

    WIRE: ClassVar[Wire] = Wire(
        "XNNFullyConnected",
        one("XNNFullyConnected", 2),
        (
            ValueSlot("input1_id", "input"),
            ValueSlot("filter_id", "filter"),
            ValueSlot("bias_id", "bias"),
            ValueSlot("output_id", "output"),
            FlagsSlot({"transpose_weights": 1}),
        ),
        bounds="optional",
    )

    @classmethod
    def constants_of(cls, form: Form) -> frozenset[int]:
        # XNNPACK has operators for filters computed at run time where all is of one of these types.
        floats = {name for name in form if name is not None}
        return frozenset() if floats in ({"FP32"}, {"FP16"}) else frozenset((1, 2))

    def verify_quantized(self) -> None:
        if self.transpose_weights is not None:
            raise VerifyException("a quantised filter is [O, I]; XNNPACK transposes floating-point ones only")
        verify_weighted(self.input, self.filter, self.bias, self.output, self.FILTER)
        if is_quantized(element_type(self.output)):
            self.verify_bounds()

    def verify_node(self) -> None:
        expect_rank(self.filter, 2, "filter")
        if rank_of(self.input) < 1:
            raise VerifyException("input must have at least one dimension")
        out_features, in_features = shape_of(self.filter)
        if self.transpose_weights is not None:
            out_features, in_features = in_features, out_features
        if not same_dim(shape_of(self.input)[-1], in_features):
            raise VerifyException(f"input has {shape_of(self.input)[-1]} features, the filter takes {in_features}")
        if self.bias is not None:
            expect_shape(self.bias, (out_features,), "bias")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        out_features, in_features = shapes[1] if self.transpose_weights is None else reversed(shapes[1])
        if not same_dim(shapes[0][-1], in_features):
            raise VerifyException(f"input has {shapes[0][-1]} features, the filter takes {in_features}")
        return ((*shapes[0][:-1], out_features),)


@irdl_op_definition
class BatchMatrixMultiplyOp(NodeOp):
    """Matrix product of the last two dimensions, the others broadcast (`xnn_define_batch_matrix_multiply`).

    lhs [..., M, K], rhs [..., K, N] (or [..., N, K] with `transpose_b`), output [..., M, N].
    """

    name = "xnnpack.batch_matrix_multiply"

    MIXED: ClassVar[tuple[tuple[Attribute, ...], ...]] = ((bf16, bf16, f32),)
    QUANTIZED: ClassVar[tuple[Form, ...]] = same(3, ["QInt8"])

    lhs = operand_def(Tensor)
    rhs = operand_def(Tensor)
    output = result_def(Tensor)

    transpose_b = opt_prop_def(UnitAttr)

    traits = traits_def(
        BatchMatrixMultiplyPatterns(),
        *decide(movement=None, layout=None, elementwise=False, boxes=boxes.of_matrices),
    )

    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    WIRE: ClassVar[Wire] = Wire(
        "XNNNode2x1",
        one("XNNBatchMatrixMultiply", 37),
        (
            ValueSlot("input1_id", "lhs"),
            ValueSlot("input2_id", "rhs"),
            ValueSlot("output_id", "output"),
            FlagsSlot({"transpose_b": 1}),
        ),
    )

    def verify_quantized(self) -> None:
        lhs, rhs = quantized_by_tensor(self.lhs, "lhs"), quantized_by_tensor(self.rhs, "rhs")
        output = quantized_by_tensor(self.output, "result")
        if any(each.storage != i8 for each in (lhs, rhs, output)):
            raise VerifyException("XNNPACK multiplies batches of signed integers only")
        if rhs.zero_point:
            raise VerifyException(f"the zero point of rhs must be 0, it is {rhs.zero_point}")
        expect_product(lhs, rhs, output, REQUANTIZATION, "lhs · rhs")

    def verify_node(self) -> None:
        if min(rank_of(self.lhs), rank_of(self.rhs)) < 2:
            raise VerifyException("both operands must have at least two dimensions")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        lhs, rhs = shapes
        inner, columns = rhs[-2:] if self.transpose_b is None else (rhs[-1], rhs[-2])
        if not same_dim(lhs[-1], inner):
            raise VerifyException(f"lhs has {lhs[-1]} columns, rhs takes {inner}")
        return ((*broadcast(lhs[:-2], rhs[:-2]), lhs[-2], columns),)


@irdl_op_definition
class SoftmaxOp(SameShapeOp):
    """Softmax over the last dimension (`xnn_define_softmax`)."""

    name = "xnnpack.softmax"

    traits = traits_def(*decide(movement=None, layout=None, elementwise=False, boxes=boxes.of_softmax))

    WIRE: ClassVar[Wire] = Wire("XNNNode1x1", one("XNNSoftmax", 3), UNARY_SLOTS)

    def verify_node(self) -> None:
        super().verify_node()
        if rank_of(self.input) < 1:
            raise VerifyException("softmax needs at least one dimension")
