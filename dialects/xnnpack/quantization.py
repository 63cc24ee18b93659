"""Quantised element types, and which of them XNNPACK computes a node on.

An activation is quantised by tensor, in 8 bits, with parameters known at compile time (`!quant.uniform<i8:f32, s:z>`)
or found at run time for each row (`!xnnpack.qd<i8, n>`). A weight is quantised by tensor, by output channel, or by
blocks of input channels, in 8 or 4 bits. Each op class says in `verify_quantized` which types go together; the limits
are those that XNNPACK's kernels are written for. Source: `src/subgraph/*.c`, `src/operators/*.c` and
`src/microparams-init.c` at commit 92a7ad501b.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import Float16Type, Float32Type, IntAttr, IntegerType, Signedness, TensorType, i8
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xir.dialects.quant import UniformType

if TYPE_CHECKING:
    from xir.dialects.xnnpack.signatures import Filter

u8 = IntegerType(8, Signedness.UNSIGNED)
i4 = IntegerType(4)

BLOCK_MULTIPLE = 32
"""A block of input channels that share a scale is a multiple of this (`fully-connected.c`)."""

REQUANTIZATION = (2.0**-32, 2.0**8)
"""Where input · filter / output scale of a convolution or matrix product has to be: [low, high)."""
SUM = (2.0**-10, 2.0**8)
"""Where input / output scale of an addition or subtraction has to be: [low, high)."""
PRODUCT = (2.0**-16, 2.0**8)
"""Where lhs · rhs / output scale of a multiplication has to be: [low, high)."""
RESCALE = (2.0**-8, 2.0**7)
"""Where input / output scale of a conversion between integers, and of a leaky relu, has to be: [low, high)."""


@irdl_attr_definition
class DynamicType(ParametrizedAttribute, TypeAttribute):
    """A number quantised at run time, with a scale and zero point for each row that XNNPACK finds when it converts.

    `!xnnpack.qd<i8, 1>`: a row is the last dimension (what a fully connected node reads); 3 for a convolution's image.
    """

    name = "xnnpack.qd"

    storage: IntegerType
    row_rank: IntAttr
    """How many of the last dimensions are one row (`num_nonbatch_dims`)."""

    @staticmethod
    def of(row_rank: int) -> DynamicType:
        """The type whose rows are the last `row_rank` dimensions."""
        return DynamicType(i8, IntAttr(row_rank))

    def verify(self) -> None:
        if self.storage != i8:
            raise VerifyException(f"XNNPACK quantises to i8 at run time, not to {self.storage}")
        if self.row_rank.data < 1:
            raise VerifyException("a row has at least one dimension")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pos = parser.pos
            storage = parser.parse_type()
            if not isinstance(storage, IntegerType):
                parser.raise_error("expected an integer type", pos)
            parser.parse_punctuation(",")
            return storage, IntAttr(parser.parse_integer(allow_boolean=False, allow_negative=False))

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.storage)
            printer.print_string(f", {self.row_rank.data}")


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.element_type


def is_quantized(element: Attribute) -> bool:
    """Whether an element type is one of the quantised ones."""
    return isinstance(element, UniformType | DynamicType)


def quantized_by_tensor(value: SSAValue, what: str) -> UniformType:
    """The type of an activation with one scale in 8 bits; VerifyException, naming it as `what`, if it has another."""
    element = element_of(value)
    if not isinstance(element, UniformType) or not element.is_per_tensor or element.storage not in (i8, u8):
        raise VerifyException(f"{what} must be quantised by tensor in 8 bits, it is {element}")
    expect_normal(element)
    return element


def expect_normal(element: UniformType) -> None:
    """Raise unless XNNPACK takes the scales, which it holds in fp32."""
    scales = element.scale_array()
    if not np.all(scales >= np.finfo(np.float32).smallest_normal):
        raise VerifyException(f"the scale {scales.min():g} is too small; XNNPACK takes normal fp32 numbers")


def expect_same_storage(*elements: UniformType) -> None:
    """Raise if signed and unsigned integers mix."""
    if len({element.storage for element in elements}) > 1:
        raise VerifyException("operands and result must all be signed or all be unsigned")


def expect_same_type(a: SSAValue, b: SSAValue) -> None:
    """Raise unless both are quantised by tensor with one scale and zero point."""
    if quantized_by_tensor(a, "input") != quantized_by_tensor(b, "result"):
        raise VerifyException("input and result must have one scale and zero point")


def expect_ratio(ratio: float | np.ndarray, limits: tuple[float, float], what: str) -> None:
    """Raise unless all of `ratio` is in the half-open interval `limits`."""
    low, high = float(np.min(ratio)), float(np.max(ratio))
    if not (limits[0] <= low and high < limits[1]):
        worst = low if low < limits[0] else high
        raise VerifyException(f"{what} is {worst:g}, XNNPACK computes from {limits[0]:g} to {limits[1]:g}")


def expect_product(
    lhs: UniformType, rhs: UniformType, result: UniformType, limits: tuple[float, float], what: str
) -> None:
    """Raise unless a product's scales, computed in fp32 as XNNPACK does, are in `limits` of the result's."""
    product = np.float32(lhs.scale) * rhs.scale_array().astype(np.float32)
    if not np.all(product >= np.finfo(np.float32).smallest_normal):
        raise VerifyException(f"{what} scale is {product.min():g}, which fp32 does not hold with all bits")
    expect_ratio(product / np.float32(result.scale), limits, f"{what} / output scale")


def stored_bounds(bounds: tuple[float, float], element: UniformType) -> tuple[int, int]:
    """The integers that XNNPACK clamps to for float bounds (`xnn_qs8_quantize`)."""
    low, high = element.storage_min.data, element.storage_max.data
    scale, zero_point = np.float32(element.scale), np.float32(element.zero_point)
    numbers = np.array(bounds, np.float32) / scale + zero_point
    first, second = np.rint(np.clip(numbers, low, high)).astype(int).tolist()
    return first, second


def expect_interval(bounds: tuple[float, float], element: UniformType) -> None:
    """Raise unless integers are left between the output's bounds."""
    low, high = stored_bounds(bounds, element)
    if not low < high:
        raise VerifyException(f"its bounds [{bounds[0]:g}, {bounds[1]:g}] leave no interval of {element}")


def verify_weighted(
    value: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    output: SSAValue,
    filter: Filter | None,
) -> None:
    """Check the element types of a convolution or fully connected node, whose weight is such a `filter`."""
    assert filter is not None
    activation, kernel = element_of(value), element_of(weight)
    if isinstance(activation, DynamicType):
        verify_filter(kernel, weight, filter)
        expect_by_channel(kernel, "an input quantised at run time")
        given = activation.row_rank.data
        if given != filter.row_rank:
            raise VerifyException(
                f"the input is quantised over {given} dimensions, the node reads rows of {filter.row_rank}"
            )
        expect_float_sum(bias, output)
        return
    if not isinstance(activation, UniformType):
        verify_filter(kernel, weight, filter)
        expect_by_channel(kernel, "a floating-point input")
        if isinstance(kernel, UniformType) and kernel.is_blockwise:
            raise VerifyException("a filter quantised by block wants an input quantised at run time")
        if bias is not None:
            raise VerifyException("XNNPACK scales the bias of a floating-point input like the filter: add it behind")
        if not isinstance(activation, Float32Type) or element_of(output) != activation:
            raise VerifyException(f"a filter in integers wants f32 as input and result, got {activation}")
        return
    source, result = quantized_by_tensor(value, "input"), quantized_by_tensor(output, "result")
    expect_same_storage(source, result)
    if not isinstance(kernel, UniformType):
        raise VerifyException(f"the filter of a quantised input must be quantised, it is {kernel}")
    if source.storage == u8:
        quantized_by_tensor(weight, "filter")
        expect_same_storage(source, kernel)
    else:
        verify_filter(kernel, weight, filter)
        if kernel.is_blockwise:
            raise VerifyException("a filter quantised by block wants an input quantised at run time")
        if kernel.storage == i4:
            expect_by_channel(kernel, "4 bits")
    expect_product(source, kernel, result, REQUANTIZATION, "input · filter")
    if bias is not None:
        stored = element_of(bias)
        if not isinstance(stored, UniformType) or stored.storage.width.data != 32 or stored.zero_point_array().any():
            raise VerifyException(f"the bias of a quantised input must be 32-bit integers, it is {stored}")
        if stored.is_per_tensor != kernel.is_per_tensor:
            raise VerifyException("filter and bias must both be quantised by tensor or both by channel")


def expect_by_channel(kernel: Attribute, what: str) -> None:
    """Raise if a filter has one scale for all channels, which XNNPACK does not take with `what`."""
    if isinstance(kernel, UniformType) and kernel.is_per_tensor:
        raise VerifyException(f"the filter of {what} must be quantised by channel")


def expect_float_sum(bias: SSAValue | None, output: SSAValue) -> None:
    """Raise unless bias and output are floating point, as they are where the input's scale is not known."""
    if bias is not None and not isinstance(element_of(bias), Float32Type):
        raise VerifyException(
            f"the bias of an input that is not quantised by tensor must be f32, it is {element_of(bias)}"
        )
    if not isinstance(element_of(output), Float32Type | Float16Type):
        raise VerifyException(f"the result of an input that is not quantised by tensor is {element_of(output)}")


def verify_filter(kernel: Attribute, weight: SSAValue, filter: Filter) -> None:
    """Check a filter of signed integers, symmetric, its scales along the output channels."""
    axis, widths = filter.axis, filter.widths
    if not isinstance(kernel, UniformType) or not kernel.is_signed or kernel.storage.width.data not in widths:
        raise VerifyException(f"the filter must be quantised in {' or '.join(map(str, widths))} bits, it is {kernel}")
    expect_normal(kernel)
    if kernel.zero_point_array().any():
        raise VerifyException("the filter's zero points must be 0")
    assert isinstance(weight.type, TensorType)
    if filter.whole_bytes and kernel.storage == i4 and weight.type.get_shape()[-1] % 2:
        raise VerifyException("a filter in 4 bits wants an even number of input channels, XNNPACK miscounts rows else")
    if kernel.is_per_axis and kernel.axis != axis:
        raise VerifyException(f"the filter's scales are along dimension {kernel.axis}, its output channels are {axis}")
    if kernel.is_blockwise:
        blocks = dict(zip(kernel.axes.get_values(), kernel.block_sizes.get_values(), strict=True))
        if kernel.storage != i4 or blocks.keys() != {0, 1} or blocks[0] != 1:
            raise VerifyException("blocks are of 4-bit input channels in one row of the filter")
        if blocks[1] % BLOCK_MULTIPLE or weight.type.get_shape()[1] % blocks[1]:
            raise VerifyException(
                f"blocks of {blocks[1]} do not divide {weight.type.get_shape()[1]} input channels "
                f"into multiples of {BLOCK_MULTIPLE}"
            )
