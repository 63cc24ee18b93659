"""Tensors that are known at compile time, quantised ones included, and the moves that rules make with them.

A weight of a quantised program is integers behind a dequantise op, or still floating point behind a quantise and a
dequantise op. Either way it is one tensor to a rule: its elements as they are stored, and the type that says what they
stand for, which the rule's transposes and reshapes carry along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, bf16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import Dequantize, Quantize
from xir.dialects.quant import UniformType, storage_limits
from xir.ir.constants import storage_array
from xir.ir.context import XirContext
from xir.ir.elements import stored, values_of
from xir.ir.nibbles import Unpacked
from xir.ir.tensor_types import element_type
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.quantization_parameters import integer_range, parameters
from xir.transforms.analysis.refusal import Refusal

i4 = IntegerType(4)

NOT_STATIC = Refusal(
    "its {what} is not a constant",
    "make it a parameter or buffer of the module",
    example=call("edge.conv2d", input=tensor(1, 3, 8, 8), weight=tensor(4, 3, 3, 3)),
)


@dataclass(frozen=True)
class StaticTensor:
    """The elements of a tensor as they are stored (`xir.ir.elements`), and their element type."""

    array: np.ndarray
    element: Attribute
    name: str
    """To derive the name of its rewritten form from."""

    @classmethod
    def of(cls, values: np.ndarray, element: Attribute, name: str) -> StaticTensor:
        """The tensor that holds `values`, rounded to a type that is not quantised."""
        return cls(stored(values, element), element, name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self.array.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.array.ndim

    def transpose(self, *perm: int) -> StaticTensor:
        """Permute the dimensions, as numpy does."""
        element = self.element
        if isinstance(element, UniformType) and not element.is_per_tensor:
            element = permuted(element, perm)
        return replace(self, array=self.array.transpose(perm), element=element)

    def reshape(self, *shape: int) -> StaticTensor:
        """Give the elements another shape, as numpy does; ValueError if no one dimension of it has the scales."""
        array, element = self.array.reshape(shape), self.element
        if isinstance(element, UniformType) and not element.is_per_tensor and array.shape != self.shape:
            element = reshaped(element, self.shape, array.shape)
        return replace(self, array=array, element=element)

    def narrowed(self) -> StaticTensor:
        """The tensor with 4-bit storage, if its integers fit."""
        element = self.element
        if not isinstance(element, UniformType) or element.storage_min.data < -8 or element.storage_max.data > 7:
            return self
        is_packed = isinstance(self.array, Unpacked) and self.array.packed is not None
        if not is_packed and self.array.size and not -8 <= self.array.min() <= self.array.max() <= 7:
            return self  # a dequantise op takes what is stored, whatever it says of its range
        return replace(self, element=stored_as(element, i4))

    def numbers(self) -> np.ndarray:
        """The numbers that the elements represent: bf16 widened to fp32, integers dequantised."""
        if isinstance(self.element, UniformType):
            return dequantized(self.array, self.element)
        return values_of(self.array, self.element)


def with_short_scales(element: UniformType) -> UniformType:
    """The type by block with scales rounded to bf16, as XNNPACK holds those of blocks."""
    scales = values_of(stored(element.scale_array(), bf16), bf16)
    blocks = blocks_of(element)
    return UniformType.blockwise(element.storage, f32, blocks, scales, element.zero_point_array(), range_of(element))


def stored_as(element: UniformType, storage: IntegerType) -> UniformType:
    """The type with another storage type, all of which may occur."""
    if storage == element.storage and range_of(element) == storage_limits(storage):
        return element
    scales, zero_points = element.scale_array(), element.zero_point_array()
    if element.is_per_tensor:
        return UniformType.per_tensor(storage, f32, element.scale, element.zero_point)
    if element.is_per_axis:
        return UniformType.per_axis(storage, f32, element.axis, scales, zero_points)
    return UniformType.blockwise(storage, f32, blocks_of(element), scales, zero_points)


def blocks_of(element: UniformType) -> dict[int, int]:
    """Dimension -> block size, of a type with scales by block."""
    pairs = zip(element.axes.get_values(), element.block_sizes.get_values(), strict=True)
    return {int(axis): int(size) for axis, size in pairs}


def permuted(element: UniformType, perm: Sequence[int]) -> UniformType:
    """The type of a transposed tensor with scales by axis or by block."""
    if element.is_per_axis:
        return with_axis(element, list(perm).index(element.axis))
    blocks = {list(perm).index(axis): size for axis, size in blocks_of(element).items()}
    scales, zero_points = element.scale_array().transpose(perm), element.zero_point_array().transpose(perm)
    return UniformType.blockwise(element.storage, f32, blocks, scales, zero_points, range_of(element))


Index = slice | np.ndarray
"""What is taken of a dimension: a stretch of it, or the indices that an array lists."""


def selected(element: UniformType, index: Sequence[Index], shape: Sequence[int]) -> UniformType:
    """The type of what `index` takes of each dimension of `shape`; ValueError where it cuts a block."""
    if element.is_per_tensor:
        return element
    scales, zero_points = element.scale_array(), element.zero_point_array()
    if element.is_per_axis:
        taken = index[element.axis] if element.axis < len(index) else slice(None)
        picked = scales[taken], zero_points[taken]
        return UniformType.per_axis(element.storage, f32, element.axis, *picked, range_of(element))
    blocks = blocks_of(element)
    of_blocks = tuple(block_index(each, blocks.get(axis, shape[axis]), shape[axis]) for axis, each in enumerate(index))
    picked = scales[of_blocks], zero_points[of_blocks]
    return UniformType.blockwise(element.storage, f32, blocks, *picked, range_of(element))


def block_index(index: Index, block: int, size: int) -> Index:
    """Which blocks of a dimension of `size` an index of its elements takes; ValueError if one of them in part."""
    if block == 1:
        return index
    start, stop, step = index.indices(size) if isinstance(index, slice) else (0, 0, 0)
    if step != 1 or start % block or (stop % block and stop != size):
        raise ValueError(f"an index cuts blocks of {block} elements")
    return slice(start // block, -(-stop // block))


def with_axis(element: UniformType, axis: int, copies: int = 1, repeats: int = 1) -> UniformType:
    """A type by axis along another axis, its scales laid out `copies` times, each `repeats` times in a row."""
    scales = np.tile(np.repeat(element.scale_array(), repeats), copies)
    zero_points = np.tile(np.repeat(element.zero_point_array(), repeats), copies)
    return UniformType.per_axis(element.storage, f32, axis, scales, zero_points, range_of(element))


def range_of(element: UniformType) -> tuple[int, int]:
    """The smallest and the largest integer that occurs."""
    return element.storage_min.data, element.storage_max.data


def reshaped(element: UniformType, before: Sequence[int], after: Sequence[int]) -> UniformType:
    """The type of a reshaped tensor with scales by axis, which may be merged with others; ValueError if it is cut."""
    if not element.is_per_axis:
        raise ValueError("a tensor with scales by block keeps its shape")
    outer, size, inner = prod(before[: element.axis]), before[element.axis], prod(before[element.axis + 1 :])
    for axis, merged in enumerate(after):
        # The new dimension steps through all of the old one if it starts no further in, and ends no further out.
        start, end = prod(after[:axis]), prod(after[axis + 1 :])
        if outer % start == 0 and inner % end == 0 and merged >= size:
            return with_axis(element, axis, outer // start, inner // end)
    raise ValueError(f"no dimension of {list(after)} holds dimension {element.axis} of {list(before)}")


def dequantized(array: np.ndarray, element: UniformType) -> np.ndarray:
    """fp32 numbers of stored integers: scale · (stored − zero point)."""
    scales, zero_points = spread(element, array.shape)
    return (array.astype(np.float32) - zero_points.astype(np.float32)) * scales.astype(np.float32)


def quantized(numbers: np.ndarray, element: UniformType, limits: tuple[int, int]) -> np.ndarray:
    """Integers for fp32 numbers, rounded to nearest even and clamped to `limits`: numbers / scale + zero point.

    The quotient is a product with the inverse in fp32, as `quantized_decomposed` defines it.
    """
    scales, zero_points = spread(element, numbers.shape)
    inverse = np.float32(1) / scales.astype(np.float32)
    whole = np.rint(numbers.astype(np.float32) * inverse) + zero_points
    dtype = np.dtype(f"{'i' if element.is_signed else 'u'}{max(element.storage.width.data, 8) // 8}")
    return np.clip(whole, *limits).astype(dtype)


def spread(element: UniformType, shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(scales, zero points), each in a form that broadcasts to a tensor of `shape`."""
    scales, zero_points = element.scale_array(), element.zero_point_array()
    if element.is_per_tensor:
        return scales.reshape(()), zero_points.reshape(())
    if element.is_per_axis:
        along = [-1 if axis == element.axis else 1 for axis in range(len(shape))]
        return scales.reshape(along), zero_points.reshape(along)
    blocks = blocks_of(element)
    for axis, size in enumerate(shape):
        scales = np.repeat(scales, blocks.get(axis, size), axis)
        zero_points = np.repeat(zero_points, blocks.get(axis, size), axis)
    inside = tuple(map(slice, shape))  # the last block of a dimension may be cut
    return scales[inside], zero_points[inside]


def is_static(value: SSAValue) -> bool:
    """Whether a value is known at compile time: a constant, quantised or dequantised or not."""
    owner = value.owner
    while isinstance(owner, Quantize | Dequantize):
        if any(not isinstance(each.owner, edge.ConstantOp) for each in owner.operands[1:]):
            return False
        owner = owner.operands[0].owner
    return isinstance(owner, edge.ConstantOp)


def static_tensor(value: SSAValue, ctx: XirContext, *, to_short: bool = False) -> StaticTensor | None:
    """The tensor that a value is at compile time; None if it is computed at run time.

    With `to_short` also one that is dequantised to fp16 or bf16: its type stands for fp32 numbers all the same.
    """
    owner = value.owner
    if isinstance(owner, edge.ConstantOp):
        array = storage_array(owner.value, ctx, owner)
        return StaticTensor(array, element_type(value), owner.resource or "constant")
    if not isinstance(owner, Dequantize) or (element_type(value) != f32 and not to_short):
        return None
    integers, element = static_integers(owner.operands[0], ctx), parameters(owner, ctx)
    if integers is None or element is None:
        return None
    return replace(integers, element=element)


def static_integers(value: SSAValue, ctx: XirContext) -> StaticTensor | None:
    """The integers that a value is at compile time: a constant, or the quantised form of one."""
    owner = value.owner
    if not isinstance(owner, Quantize):
        return static_tensor(value, ctx)
    tensor, element = static_tensor(owner.operands[0], ctx), parameters(owner, ctx)
    if tensor is None or element is None:
        return None
    return replace(tensor, array=quantized(tensor.numbers(), element, integer_range(owner)), element=element.storage)


def static_operand(value: SSAValue, what: str, ctx: XirContext, *, to_short: bool = False) -> StaticTensor:
    """The tensor that a value is, as `static_tensor`; RefusalError, naming it as `what`, if computed at run time."""
    tensor = static_tensor(value, ctx, to_short=to_short)
    if tensor is None:
        refused = NOT_STATIC(what=what)
        if isinstance(value.owner, Operation):
            refused.hint = None  # what the program computes cannot be a parameter
        raise refused
    return tensor


def static_array(value: SSAValue, what: str, ctx: XirContext) -> np.ndarray:
    """The numbers of a static value, bf16 widened; RefusalError, naming it as `what`, if computed at run time."""
    return static_operand(value, what, ctx).numbers()


def static_name(value: SSAValue) -> str:
    """The name of a static value, to derive the names of its rewritten forms from."""
    return (isinstance(value.owner, edge.ConstantOp) and value.owner.resource) or "constant"
