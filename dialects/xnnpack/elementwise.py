"""Elementwise nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations, product
from typing import ClassVar, cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, FloatAttr, f32, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import (
    FLOATS,
    PLAIN,
    BoundedOp,
    NodeOp,
    Shape,
    Tensor,
    broadcast,
    element_type,
    rank_of,
)
from xir.dialects.xnnpack.boxes import of_elementwise
from xir.dialects.xnnpack.canonicalization import ClampPatterns, ConvertPatterns
from xir.dialects.xnnpack.interfaces import AnyLayout, Movement, decide
from xir.dialects.xnnpack.kinds import BINARY, BOUNDED_BINARY, QUANTIZED_BINARY, UNARY, BinaryKind, Kind, UnaryKind
from xir.dialects.xnnpack.quantization import (
    PRODUCT,
    RESCALE,
    SUM,
    DynamicType,
    expect_product,
    expect_ratio,
    expect_same_storage,
    quantized_by_tensor,
)
from xir.dialects.xnnpack.signatures import BYTES, PLAIN_DATATYPES, Form, datatype_of, same
from xir.dialects.xnnpack.wire import FlagsSlot, FloatSlot, Member, ValueSlot, Wire, one

NO_FLAGS = FlagsSlot({})
UNARY_SLOTS = (ValueSlot("input_id", "input"), ValueSlot("output_id", "output"), NO_FLAGS)
BINARY_SLOTS = (
    ValueSlot("input1_id", "lhs"),
    ValueSlot("input2_id", "rhs"),
    ValueSlot("output_id", "output"),
    NO_FLAGS,
)


ELEMENT_TYPES: dict[str, tuple[Attribute, ...]] = {"float": FLOATS, "integer": (i32,), "number": PLAIN}
UNARY_ELEMENTS = {row.kind: ELEMENT_TYPES[row.elements] for row in UNARY}
BINARY_ELEMENTS = {row.kind: ELEMENT_TYPES[row.elements] for row in BINARY}


def members_of(rows: tuple[Kind, ...]) -> dict[str | int | None, Member]:
    """The union member of each kind."""
    return {row.kind: Member(row.member, row.tag) for row in rows}


@irdl_attr_definition
class UnaryKindAttr(EnumAttribute[UnaryKind], SpacedOpaqueSyntaxAttribute):
    """An operator of one operand."""

    name = "xnnpack.unary_kind"


@irdl_attr_definition
class BinaryKindAttr(EnumAttribute[BinaryKind], SpacedOpaqueSyntaxAttribute):
    """An operator of two operands."""

    name = "xnnpack.binary_kind"


@cache
def binary_kind(kind: str) -> BinaryKindAttr:
    """The attribute of an operator, the same object each time: it is compared often. ValueError for what is none."""
    return BinaryKindAttr(BinaryKind(kind))


class SameShapeOp(NodeOp):
    """One input, one output of the same shape."""

    input = operand_def(Tensor)
    output = result_def(Tensor)

    assembly_format = "$input attr-dict `:` type($input) `->` type($output)"

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        return (shapes[0],)


class TableOp(SameShapeOp):
    """A function of one number, which XNNPACK looks up in a table of 256 entries where input and output are 8-bit."""

    QUANTIZED: ClassVar[tuple[Form, ...]] = same(2)

    traits = traits_def(*decide(movement=None, layout=AnyLayout(), elementwise=True, boxes=of_elementwise))

    def verify_quantized(self) -> None:
        expect_same_storage(quantized_by_tensor(self.input, "input"), quantized_by_tensor(self.output, "result"))


@irdl_op_definition
class UnaryOp(TableOp):
    """Apply an elementwise operator to one tensor (`xnn_define_unary`).

    ```mlir
    %1 = xnnpack.unary abs %0 : tensor<2x3xf32> -> tensor<2x3xf32>
    ```
    """

    name = "xnnpack.unary"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

    kind = prop_def(UnaryKindAttr)

    assembly_format = "$kind $input attr-dict `:` type($input) `->` type($output)"

    WIRE: ClassVar[Wire] = Wire("XNNNode1x1", members_of(UNARY), UNARY_SLOTS)

    @property
    def member_key(self) -> str:
        return self.kind.data

    @classmethod
    def elements_of(cls, key: str | int | None) -> tuple[Attribute, ...]:
        return UNARY_ELEMENTS[cast(str, key)]

    @classmethod
    def quantized_of(cls, key: str | int | None) -> tuple[Form, ...]:
        # What has no meaning for numbers has none for quantised ones.
        return cls.QUANTIZED if f32 in cls.elements_of(key) else ()


@irdl_op_definition
class ClampOp(TableOp, BoundedOp):
    """Clamp each element to [output_min, output_max] (`xnn_define_unary` with `xnn_unary_clamp`).

    ```mlir
    %1 = xnnpack.clamp %0 {output_min = 0.0 : f32, output_max = 6.0 : f32} : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    name = "xnnpack.clamp"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

    traits = traits_def(ClampPatterns())

    WIRE: ClassVar[Wire] = Wire("XNNNode1x1", one("XNNClamp", 6), UNARY_SLOTS, bounds="required")


@irdl_op_definition
class EluOp(TableOp):
    """x where it is positive, else alpha·(e^x − 1) (`xnn_unary_elu`)."""

    name = "xnnpack.elu"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

    alpha = prop_def(FloatAttr.constr(f32))

    WIRE: ClassVar[Wire] = Wire("XNNELU", one("XNNELU", 29), (FloatSlot("alpha", "alpha"), *UNARY_SLOTS))

    def verify_node(self) -> None:
        super().verify_node()
        # XNNPACK refuses others: src/operators/unary-elementwise-nc.c.
        if not 0.0 < self.alpha.value.data < float("inf"):
            raise VerifyException(f"alpha must be finite and positive, it is {self.alpha.value.data}")


@irdl_op_definition
class LeakyReluOp(TableOp):
    """x where it is positive, else negative_slope·x (`xnn_unary_leaky_relu`)."""

    name = "xnnpack.leaky_relu"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

    negative_slope = prop_def(FloatAttr.constr(f32))

    WIRE: ClassVar[Wire] = Wire(
        "XNNLeakyReLU", one("XNNLeakyReLU", 25), (FloatSlot("negative_slope", "negative_slope"), *UNARY_SLOTS)
    )

    def verify_quantized(self) -> None:
        # No table here, but a kernel that multiplies by one of two factors in 1/256.
        super().verify_quantized()
        ratio = quantized_by_tensor(self.input, "input").scale / quantized_by_tensor(self.output, "result").scale
        expect_ratio(ratio, RESCALE, "input / output scale")
        expect_ratio(abs(ratio * self.negative_slope.value.data), RESCALE, "input / output scale · slope")


@irdl_op_definition
class ConvertOp(NodeOp):
    """Convert the elements to the result's type: quantise, dequantise, requantise or cast (`xnn_define_convert`).

    To i32 it rounds to the nearest, ties to even.
    """

    name = "xnnpack.convert"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = PLAIN
    MIXED: ClassVar[tuple[tuple[Attribute, ...], ...]] = tuple(permutations(PLAIN, 2))
    QUANTIZED: ClassVar[tuple[Form, ...]] = (
        *product(PLAIN_DATATYPES.values(), BYTES),
        *product(BYTES, (*PLAIN_DATATYPES.values(), *BYTES)),
        ("FP32", "QDInt8"),
        ("FP16", "QDInt8"),
    )

    traits = traits_def(
        ConvertPatterns(),
        *decide(movement=None, layout=AnyLayout(), elementwise=True, boxes=of_elementwise),
    )

    input = operand_def(Tensor)
    output = result_def(Tensor)

    assembly_format = "$input attr-dict `:` type($input) `->` type($output)"

    WIRE: ClassVar[Wire] = Wire("XNNNode1x1", one("XNNConvert", 18), UNARY_SLOTS)

    @property
    def widens(self) -> bool:
        """Whether it makes fp32 of a shorter type."""
        is_short = isinstance(element_type(self.input), Float16Type | BFloat16Type)
        return is_short and isinstance(element_type(self.output), Float32Type)

    @property
    def is_mistaken_as_output(self) -> bool:
        """Whether XNNPACK computes other nodes wrong if the graph yields the result.

        Behind a node without a kernel for halves XNNPACK keeps values in fp32, where a conversion to fp32 has nothing
        to do. It is elided: other nodes that read its operand are given the result, which is not marked as a value
        that was kept in fp32, so that their kernels take it for halves (`FallbackToFp32`,
        `src/subgraph/rewrites/cvt_to_fp32.cc`). Which nodes have no kernel depends on the processor.
        """
        if not self.widens or not isinstance(self.input.owner, NodeOp):
            return False
        return any(isinstance(use.operation, NodeOp) and use.operation is not self for use in self.input.uses)

    def verify_quantized(self) -> None:
        source, result = element_type(self.input), element_type(self.output)
        if isinstance(result, DynamicType):
            if not isinstance(source, Float32Type | Float16Type):
                raise VerifyException(f"only f32 and f16 are quantised at run time, not {source}")
            if result.row_rank.data > rank_of(self.input):
                raise VerifyException(f"a tensor of rank {rank_of(self.input)} has no rows of {result}")
            return
        if isinstance(result, UniformType):
            quantized_by_tensor(self.output, "result")
        if isinstance(source, UniformType) and isinstance(result, UniformType):
            expect_ratio(quantized_by_tensor(self.input, "input").scale / result.scale, RESCALE, "input / output scale")

    def verify_signature(self) -> None:
        # Weights, and rows quantised at run time, are converted back until `fold-qdq` has found the nodes that compute
        # on them. XNNPACK has no such conversion, so none is left in what is written.
        if datatype_of(element_type(self.input)) in (*BYTES, *PLAIN_DATATYPES.values()):
            self.signature()

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        return (shapes[0],)


@irdl_op_definition
class CopyOp(SameShapeOp):
    """Copy a tensor (`xnn_define_copy`): what a subgraph yields must be the result of a node."""

    name = "xnnpack.copy"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = PLAIN
    QUANTIZED: ClassVar[tuple[Form, ...]] = same(2)

    traits = traits_def(
        *decide(movement=Movement.PERMUTES, layout=AnyLayout(), elementwise=False, boxes=of_elementwise)
    )

    WIRE: ClassVar[Wire] = Wire("XNNNode1x1", one("XNNCopy", 46), UNARY_SLOTS)

    def verify_quantized(self) -> None:
        quantized_by_tensor(self.input, "input")

    def verify_node(self) -> None:
        super().verify_node()
        if element_type(self.input) != element_type(self.output):
            raise VerifyException("a copy does not change the element type")


@irdl_op_definition
class BinaryOp(BoundedOp):
    """Apply an elementwise operator to two tensors with NumPy's broadcasting (`xnn_define_binary`).

    ```mlir
    %2 = xnnpack.binary add %0, %1 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
    ```
    """

    name = "xnnpack.binary"

    ELEMENTS: ClassVar[tuple[Attribute, ...]] = FLOATS

    traits = traits_def(*decide(movement=None, layout=AnyLayout(), elementwise=True, boxes=of_elementwise))

    kind = prop_def(BinaryKindAttr)
    lhs = operand_def(Tensor)
    rhs = operand_def(Tensor)
    output = result_def(Tensor)

    assembly_format = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($output)"

    WIRE: ClassVar[Wire] = Wire("XNNNode2x1", members_of(BINARY), BINARY_SLOTS, bounds="optional")

    @property
    def member_key(self) -> str:
        return self.kind.data

    @classmethod
    def elements_of(cls, key: str | int | None) -> tuple[Attribute, ...]:
        return BINARY_ELEMENTS[cast(str, key)]

    @classmethod
    def quantized_of(cls, key: str | int | None) -> tuple[Form, ...]:
        return same(3) if key in QUANTIZED_BINARY else ()

    @classmethod
    def bounds_of(cls, key: str | int | None) -> str:
        return "optional" if key in BOUNDED_BINARY else "none"

    @property
    def can_clamp(self) -> bool:
        return self.kind.data in BOUNDED_BINARY

    def verify_quantized(self) -> None:
        lhs, rhs = quantized_by_tensor(self.lhs, "lhs"), quantized_by_tensor(self.rhs, "rhs")
        output, kind = quantized_by_tensor(self.output, "result"), self.kind.data
        expect_same_storage(lhs, rhs, output)
        if kind not in QUANTIZED_BINARY:
            raise VerifyException(f"XNNPACK has no kernel that computes '{kind}' on integers")
        if kind in ("add", "subtract"):
            expect_ratio(lhs.scale / output.scale, SUM, "lhs / output scale")
            expect_ratio(rhs.scale / output.scale, SUM, "rhs / output scale")
        else:
            expect_product(lhs, rhs, output, PRODUCT, "lhs · rhs")
        if kind == "prelu":
            expect_ratio(lhs.scale / output.scale, PRODUCT, "lhs / output scale")
        self.verify_bounds()

    def verify_node(self) -> None:
        if (self.output_min or self.output_max) and not self.can_clamp:
            raise VerifyException(f"'{self.kind.data}' does not clamp its output")
        if (self.output_min or self.output_max) and element_type(self.output) == i32:
            # It casts both bounds to integers, an absent one, which is infinite, too.
            raise VerifyException("XNNPACK does not clamp i32")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        lhs, rhs = shapes
        return (broadcast(lhs, rhs),)
