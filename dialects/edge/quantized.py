"""Quantisation in the form that PyTorch's PT2E flow leaves it: explicit conversions around float ops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, TensorType, f32, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from .accessors import Size
from .base import row
from .types import element_of, known, shape_of, shape_text, tensor_type, ui8, wrap_dim

if TYPE_CHECKING:
    from . import ops

    Quantize = (
        ops.QuantizedDecomposedQuantizePerTensorOp
        | ops.QuantizedDecomposedQuantizePerTensorTensorOp
        | ops.QuantizedDecomposedQuantizePerChannelOp
        | ops.QuantizedDecomposedQuantizePerChannelGroupOp
        | ops.QuantizedDecomposedQuantizePerTokenOp
    )
    Dequantize = (
        ops.QuantizedDecomposedDequantizePerTensorOp
        | ops.QuantizedDecomposedDequantizePerTensorTensorOp
        | ops.QuantizedDecomposedDequantizePerChannelOp
    )
    EmbeddingByte = ops.QuantizedDecomposedEmbeddingByteOp | ops.QuantizedDecomposedEmbeddingByteDtypeOp
    Embedding4bit = ops.QuantizedDecomposedEmbedding4bitOp | ops.QuantizedDecomposedEmbedding4bitDtypeOp
    Embedding2bit = ops.QuantizedDecomposedEmbedding2bitOp | ops.QuantizedDecomposedEmbedding2bitDtypeOp
    Embedding = EmbeddingByte | Embedding4bit | Embedding2bit
    DequantizeTo = ops.QuantizedDecomposedDequantizePerChannelGroupOp | ops.QuantizedDecomposedDequantizePerTokenOp


def _check_channels(
    op: ops.QuantizedDecomposedQuantizePerChannelOp | ops.QuantizedDecomposedDequantizePerChannelOp,
) -> None:
    """Check that there is one scale for each channel of `axis`."""
    shape = shape_of(op.input)
    axis = wrap_dim(op.axis, len(shape))
    scales = shape_of(op.scales)
    if not shape:
        raise VerifyException("input is a scalar, which has no channels")
    if scales != (shape[axis],):
        raise VerifyException(f"scales have shape {shape_text(scales)}, expected {shape[axis]}")


def _quantize(op: Quantize) -> Sequence[Attribute]:
    return (tensor_type(op.dtype, shape_of(op.input)),)


def _quantize_per_channel(op: ops.QuantizedDecomposedQuantizePerChannelOp) -> Sequence[Attribute]:
    _check_channels(op)
    return _quantize(op)


def _dequantize(op: Dequantize) -> Sequence[Attribute]:
    return _dequantized(op.input, op.dtype, op.out_dtype or f32)


def _dequantize_per_channel(op: ops.QuantizedDecomposedDequantizePerChannelOp) -> Sequence[Attribute]:
    _check_channels(op)
    return _dequantize(op)


def _dequantize_to(op: DequantizeTo) -> Sequence[Attribute]:
    return _dequantized(op.input, op.dtype, op.output_dtype)


def _dequantized(value: SSAValue, dtype: Attribute, result: Attribute) -> Sequence[Attribute]:
    if element_of(value) != dtype:
        raise VerifyException(f"input has element type {element_of(value)}, dtype says {dtype}")
    return (tensor_type(result, shape_of(value)),)


def _block_counts(value: SSAValue | None, block: Sequence[Size]) -> list[int]:
    """How many blocks each dimension holds, open where the dimension is."""
    shape, block = shape_of(value), tuple(map(known, block))
    if len(block) != len(shape):
        raise VerifyException(f"block_size has {len(block)} elements for a tensor of rank {len(shape)}")
    counts: list[int] = []
    for axis, (size, each) in enumerate(zip(shape, block, strict=True)):
        if size == DYNAMIC_INDEX:
            counts.append(1 if each == size else DYNAMIC_INDEX)
            continue
        if each <= 0 or size % each:
            raise VerifyException(f"blocks of {each} do not divide the {size} indices of dimension {axis}")
        counts.append(size // each)
    return counts


def _check_blocks(name: str, shape: tuple[int, ...], blocks: list[int]) -> None:
    """One number a block, in any shape."""
    if DYNAMIC_INDEX not in (*shape, *blocks) and prod(shape) != prod(blocks):
        raise VerifyException(f"{name} has {prod(shape)} elements, expected {prod(blocks)}, one for each block")


def _check_integers(name: str, dtype: Attribute | None) -> None:
    if dtype is not None and not isinstance(dtype, IntegerType):
        raise VerifyException(f"{name} is {dtype}, expected an integer type")


def _choose(op: ops.TorchaoChooseQparamsAffineOp) -> Sequence[Attribute]:
    """torchao's choice of a scale and a zero point for each block; dimensions that are one block go without keepdim."""
    shape, block, counts = shape_of(op.input), tuple(map(known, op.block_size)), _block_counts(op.input, op.block_size)
    if not op.keepdim:
        counts = [count for size, each, count in zip(shape, block, counts, strict=True) if each == 1 or each != size]
    scale = op.scale_dtype or element_of(op.input)
    # Libraries differ in the type of zero points where none is asked for.
    made = op.results[1].type if len(op.results) == 2 else None
    zero_point = op.zero_point_dtype or (made.element_type if isinstance(made, TensorType) else i32)
    return tensor_type(scale, tuple(counts)), tensor_type(zero_point, tuple(counts))


def _affine(op: ops.TorchaoQuantizeAffineOp | ops.TorchaoDequantizeAffineOp) -> Sequence[Attribute]:
    """torchao's ops: a scale for each block of `block_size`, which has the input's rank."""
    blocks = _block_counts(op.input, op.block_size)
    _check_blocks("scale", shape_of(op.scale), blocks)
    if op.zero_point is not None:
        _check_blocks("zero_point", shape_of(op.zero_point), blocks)
    return (tensor_type(op.output_dtype, shape_of(op.input)),)


def _quantize_affine(op: ops.TorchaoQuantizeAffineOp) -> Sequence[Attribute]:
    _check_integers("output_dtype", op.output_dtype)
    return _affine(op)


def _dequantize_affine(op: ops.TorchaoDequantizeAffineOp) -> Sequence[Attribute]:
    _check_integers("input_dtype", op.input_dtype)
    return _affine(op)


def _embedding_byte(op: EmbeddingByte) -> Sequence[Attribute]:
    if element_of(op.weight) not in (i8, ui8):
        raise VerifyException(f"weight has elements of type {element_of(op.weight)}, expected i8 or ui8")
    return _looked_up(op, 1)


def _embedding_4bit(op: Embedding4bit) -> Sequence[Attribute]:
    return _looked_up_packed(op, 2)


def _embedding_2bit(op: Embedding2bit) -> Sequence[Attribute]:
    return _looked_up_packed(op, 4)


def _looked_up_packed(op: Embedding4bit | Embedding2bit, per_byte: int) -> Sequence[Attribute]:
    if element_of(op.weight) != ui8:
        raise VerifyException(f"a packed weight has elements of type ui8, got {element_of(op.weight)}")
    return _looked_up(op, per_byte)


def _looked_up(op: Embedding, per_byte: int) -> Sequence[Attribute]:
    """Rows of a weight [rows, bytes] with scales [rows] or [rows, groups], and as many zero points."""
    weight, scales = shape_of(op.weight), shape_of(op.weight_scales)
    if len(weight) != 2:
        raise VerifyException(f"weight has shape {shape_text(weight)}, expected [rows, bytes]")
    features = weight[1] * per_byte
    if len(scales) not in (1, 2) or scales[0] != weight[0] or features % prod(scales[1:]):
        raise VerifyException(f"scales have shape {shape_text(scales)} for {weight[0]} rows of {features} elements")
    if op.weight_zero_points is not None and shape_of(op.weight_zero_points) != scales:
        points = shape_text(shape_of(op.weight_zero_points))
        raise VerifyException(f"zero points have shape {points}, the scales {shape_text(scales)}")
    dtype = element_of(op.weight_scales) if "dtype" not in op.schema.values else op.argument("dtype")
    return (tensor_type(dtype or element_of(op.weight_scales), (*shape_of(op.indices), features)),)


_Q = "quantized_decomposed::"
_TABLE = (
    "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices"
)
_RANGE = "int quant_min, int quant_max, ScalarType dtype"

ROWS = [
    row(f"{_Q}quantize_per_tensor(Tensor input, float scale, int zero_point, {_RANGE}) -> Tensor",
        "clamp(round(input / scale) + zero_point, quant_min, quant_max).",
        out=f"{_Q}quantize_per_tensor.out", infer=_quantize),
    row(f"{_Q}quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, {_RANGE}) -> Tensor",
        "quantize_per_tensor, the parameters computed.", out=f"{_Q}quantize_per_tensor.Tensor_out",
        infer=_quantize),
    row(f"{_Q}dequantize_per_tensor(Tensor input, float scale, int zero_point, {_RANGE}, *, "
        "ScalarType? out_dtype=None) -> Tensor", "(input - zero_point) * scale.",
        out=f"{_Q}dequantize_per_tensor.out", infer=_dequantize),
    row(f"{_Q}dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, {_RANGE}, *, "
        "ScalarType? out_dtype=None) -> Tensor", "dequantize_per_tensor, the parameters computed.",
        out=f"{_Q}dequantize_per_tensor.Tensor_out", infer=_dequantize),
    row(f"{_Q}quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, {_RANGE}) -> Tensor",
        "quantize_per_tensor with its own parameters for each channel of axis.",
        out=f"{_Q}quantize_per_channel.out", infer=_quantize_per_channel),
    row(f"{_Q}dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, {_RANGE}, *, "
        "ScalarType? out_dtype=None) -> Tensor", "(input - zero_points) * scales by channel of axis.",
        out=f"{_Q}dequantize_per_channel.out", infer=_dequantize_per_channel),
    row(f"{_Q}quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}, "
        "int group_size) -> Tensor", "quantise with parameters [channel, group] along the last dimension.",
        out=f"{_Q}quantize_per_channel_group.out", infer=_quantize),
    row(f"{_Q}dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, {_RANGE}, "
        "int group_size, ScalarType output_dtype) -> Tensor",
        "dequantise with parameters [channel, group] along the last dimension.",
        out=f"{_Q}dequantize_per_channel_group.out", infer=_dequantize_to),
    row(f"{_Q}quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}) -> Tensor",
        "quantise with parameters for each vector of the last dimension.", out=f"{_Q}quantize_per_token.out",
        infer=_quantize),
    row(f"{_Q}dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, {_RANGE}, "
        "ScalarType output_dtype) -> Tensor", "dequantise with parameters for each vector of the last dimension.",
        out=f"{_Q}dequantize_per_token.out", infer=_dequantize_to),
    row(f"{_Q}choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) "
        "-> (Tensor, Tensor)", "Scale and zero point for the input's range.", out=f"{_Q}choose_qparams.Tensor_out"),
    row(f"{_Q}choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, "
        "ScalarType dtype) -> (Tensor, Tensor)", "Scale, and a zero point in the middle, for the input's range.",
        out=f"{_Q}choose_qparams_symmetric.Tensor_out"),
    row(f"{_Q}choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
        "Scales and zero points for each vector of the last dimension.",
        out=f"{_Q}choose_qparams_per_token_asymmetric.out"),
    row(f"{_Q}embedding_byte({_TABLE}) -> Tensor",
        "(weight - zero_points) * scales of the rows at the indices; a scale for a row, or for each group of a row.",
        out=f"{_Q}embedding_byte.out", infer=_embedding_byte),
    row(f"{_Q}embedding_byte.dtype({_TABLE}, *, ScalarType? dtype=None) -> Tensor",
        "embedding_byte with a result of this type.", out=f"{_Q}embedding_byte.dtype_out", infer=_embedding_byte),
    row(f"{_Q}embedding_4bit({_TABLE}) -> Tensor",
        "embedding_byte of integers from -8 to 7, two to a byte, 8 added, the first in the high half.",
        out=f"{_Q}embedding_4bit.out", infer=_embedding_4bit),
    row(f"{_Q}embedding_4bit.dtype({_TABLE}, *, ScalarType? dtype=None) -> Tensor",
        "embedding_4bit with a result of this type.", out=f"{_Q}embedding_4bit.dtype_out", infer=_embedding_4bit),
    row(f"{_Q}embedding_2bit({_TABLE}) -> Tensor",
        "embedding_byte of integers from -2 to 1, four to a byte, 2 added, the first in the lowest bits.",
        out=f"{_Q}embedding_2bit.out", infer=_embedding_2bit),
    row(f"{_Q}embedding_2bit.dtype({_TABLE}, *, ScalarType? dtype=None) -> Tensor",
        "embedding_2bit with a result of this type.", out=f"{_Q}embedding_2bit.dtype_out", infer=_embedding_2bit),
    row("torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, "
        "Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, "
        "ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
        "Scales and zero points for the range of each block of block_size.", infer=_choose),
    row("torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
        "ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor",
        "clamp(round(input / scale) + zero_point, quant_min, quant_max), the parameters by block.",
        infer=_quantize_affine),
    row("torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
        "ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6) -> Tensor",
        "(input - zero_point) * scale, the parameters by block.", infer=_dequantize_affine),
]  # fmt: skip
