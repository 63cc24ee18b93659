"""Which datatypes a node computes on together, and which of its operands are constants.

Each op class states its forms: `ELEMENTS` and `MIXED` without quantised numbers, `QUANTIZED` with them. From them come
the last word of the op's verifier and the table that the runtime's verifier walks (`node_signatures.inc`), so that what
may be built and what is let through to XNNPACK are one set. XNNPACK itself takes some of this on trust: of types that
its `validate_datatypes` functions let through, its operators come to `XNN_UNREACHABLE` or a null pointer where an
operand is computed at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, i8, i32
from xdsl.ir import Attribute

from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.quantization import DynamicType, i4, u8

Form = tuple[str | None, ...]
"""A member of `XNNDatatype` for each operand, None for an optional one that is absent, then for each result."""

PLAIN_DATATYPES: dict[Attribute, str] = {f32: "FP32", f16: "FP16", bf16: "BF16", i32: "Int32"}
PER_TENSOR_DATATYPES: dict[IntegerType, str] = {i8: "QInt8", u8: "QUInt8", i32: "QInt32"}
PER_CHANNEL_DATATYPES: dict[IntegerType, str] = {i8: "QCInt8", i4: "QCInt4", i32: "QCInt32"}

BYTES = ("QInt8", "QUInt8")
"""What an activation with one scale is stored as."""


@dataclass(frozen=True)
class Signature:
    """Datatypes that a node computes on together; `constants` are the positions of operands that must be constants."""

    operands: Form
    results: Form
    constants: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Filter:
    """How the second operand of a matrix or convolution node is quantised.

    `axis` is its dimension of output channels, along which scales are; `widths` the bits that signed integers may have.
    Of an input quantised at run time the last `row_rank` dimensions have one scale, and the result is one of `dynamic`.
    With `whole_bytes` rows in 4 bits have an even number of elements: XNNPACK rounds the input channels up to bytes and
    divides the input by them to count rows (src/operators/fully-connected-nc.c, src/subgraph/fully-connected.c), so it
    would leave the last rows out.
    """

    axis: int
    row_rank: int
    widths: tuple[int, ...]
    dynamic: tuple[str, ...]
    whole_bytes: bool = False

    def forms(self) -> Iterator[Form]:
        """Input, filter, bias and result, where one of them is quantised."""
        by_channel = tuple(PER_CHANNEL_DATATYPES[IntegerType(width)] for width in self.widths)
        blockwise = ("QBInt4",) if 4 in self.widths else ()
        for filter, bias, result in product((*by_channel, *blockwise), (None, "FP32"), self.dynamic):
            yield "QDInt8", filter, bias, result
        if 4 in self.widths:
            yield from (("FP32", filter, None, "FP32") for filter in by_channel)
        for filter, bias in product(by_channel, (None, "QCInt32")):
            yield "QInt8", filter, bias, "QInt8"
        for each, bias in product(BYTES, (None, "QInt32")):
            yield each, each, bias, each


def same(count: int, datatypes: Iterable[str] = BYTES) -> tuple[Form, ...]:
    """Forms of `count` operands and results that are all of one datatype."""
    return tuple((each,) * count for each in datatypes)


def datatype_of(element: Attribute) -> str | None:
    """The member of `XNNDatatype` for an element type, None if there is none."""
    if isinstance(element, DynamicType):
        return "QDInt8"
    if not isinstance(element, UniformType):
        return PLAIN_DATATYPES.get(element)
    if element.expressed != f32:
        return None
    if element.is_blockwise:
        return "QBInt4" if group_size(element) is not None else None
    if element.is_per_tensor:
        return PER_TENSOR_DATATYPES.get(element.storage)
    return PER_CHANNEL_DATATYPES.get(element.storage) if not element.zero_point_array().any() else None


def group_size(type: UniformType) -> int | None:
    """How many elements of a row share a scale; None if that is not how the blocks of a type are."""
    blocks = dict(zip(type.axes.get_values(), type.block_sizes.get_values(), strict=True))
    if type.storage != i4 or type.zero_point_array().any() or blocks.keys() != {0, 1} or blocks[0] != 1:
        return None
    return int(blocks[1])
