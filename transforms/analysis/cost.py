"""What an op costs by its shapes: multiplications and bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType
from xdsl.ir import Attribute, Operation

from xir.dialects.quant import UniformType

Shape = tuple[int, ...]


def multiply_adds(op: Operation) -> int | None:
    """The multiply-accumulates of convolutions and products of matrices, without padding's share taken off.

    None for other ops, and where a size is not known.
    """
    name = op.name.split(".")[1] if "." in op.name else op.name
    rule = _RULES.get(name)
    shapes = [_shape(value.type) for value in op.operands]
    result = _shape(op.results[0].type) if op.results else None
    if rule is None or result is None or len(shapes) < 2 or any(shape is None for shape in shapes[:2]):
        return None
    try:
        return rule([shape or () for shape in shapes], result)
    except (IndexError, ZeroDivisionError):
        # No op that verifies has such shapes, but what a failed pass left may.
        return None


def _convolution(operands: Sequence[Shape], result: Shape) -> int:
    # The filter's first dimension is the output channels, in ATen's order and in XNNPACK's.
    return math.prod(result) * math.prod(operands[1][1:])


def _depthwise(operands: Sequence[Shape], result: Shape) -> int:
    return math.prod(result) * math.prod(operands[1][1:3])


def _deconvolution(operands: Sequence[Shape], result: Shape) -> int:
    image, filter = operands[:2]
    return math.prod(image) // image[-1] * math.prod(filter)


def _transposed_convolution(operands: Sequence[Shape], result: Shape) -> int:
    return math.prod(operands[0]) * math.prod(operands[1][1:])


def _product(operands: Sequence[Shape], result: Shape) -> int:
    return math.prod(result) * operands[0][-1]


def _product_on_bias(operands: Sequence[Shape], result: Shape) -> int:
    return math.prod(result) * operands[1][-1]


def _attention(operands: Sequence[Shape], result: Shape) -> int:
    query, key = operands[:2]
    return math.prod(query) * key[-2] + math.prod(result) * key[-2]


_RULES: dict[str, Callable[[Sequence[Shape], Shape], int]] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolution"), _convolution),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), _transposed_convolution),
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "matmul", "linear"), _product),
    **dict.fromkeys(("fully_connected", "batch_matrix_multiply"), _product),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _product_on_bias),
    "depthwise_conv2d": _depthwise,
    "deconv2d": _deconvolution,
    "scaled_dot_product_attention": _attention,
}
"""The op's name without dialect and overload -> the count, of the operands' shapes and the first result's."""


def bytes_moved(op: Operation) -> int | None:
    """The bytes of all operands, constants among them, and results; None where a size is not known."""
    sizes = [tensor_bytes(value.type) for value in (*op.operands, *op.results)]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _shape(type: Attribute) -> Shape | None:
    """The sizes of a tensor, if all are known."""
    if not isinstance(type, TensorType):
        return None
    shape = type.get_shape()
    return None if any(size < 0 for size in shape) else shape


def tensor_bytes(type: Attribute) -> int | None:
    """A tensor's bytes; elements of less than a byte are packed."""
    shape = _shape(type)
    if shape is None or not isinstance(type, TensorType):
        return None
    element = type.get_element_type()
    if isinstance(element, UniformType):
        element = element.storage
    if isinstance(element, IntegerType | AnyFloat):
        return (math.prod(shape) * element.bitwidth + 7) // 8
    return None
