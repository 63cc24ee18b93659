"""The op class of each row of the tables, for type checkers. Written by scripts/generate_edge_ops.py."""

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from .accessors import Number, Size
from .base import EdgeOp

OPS: dict[str, type[EdgeOp]]

class AbsOp(EdgeOp):
    """Absolute value."""

    self: SSAValue

class AcosOp(EdgeOp):
    """Inverse cosine."""

    self: SSAValue

class AcoshOp(EdgeOp):
    """Inverse hyperbolic cosine."""

    self: SSAValue

class AsinOp(EdgeOp):
    """Inverse sine."""

    self: SSAValue

class AsinhOp(EdgeOp):
    """Inverse hyperbolic sine."""

    self: SSAValue

class AtanOp(EdgeOp):
    """Inverse tangent."""

    self: SSAValue

class AtanhOp(EdgeOp):
    """Inverse hyperbolic tangent."""

    self: SSAValue

class CeilOp(EdgeOp):
    """Round up."""

    self: SSAValue

class CosOp(EdgeOp):
    """Cosine."""

    self: SSAValue

class CoshOp(EdgeOp):
    """Hyperbolic cosine."""

    self: SSAValue

class ErfOp(EdgeOp):
    """Error function."""

    self: SSAValue

class ExpOp(EdgeOp):
    """e to the power of each element."""

    self: SSAValue

class Exp2Op(EdgeOp):
    """2 to the power of each element."""

    self: SSAValue

class Expm1Op(EdgeOp):
    """exp(x) - 1."""

    self: SSAValue

class FloorOp(EdgeOp):
    """Round down."""

    self: SSAValue

class LogOp(EdgeOp):
    """Natural logarithm."""

    self: SSAValue

class Log10Op(EdgeOp):
    """Decimal logarithm."""

    self: SSAValue

class Log1pOp(EdgeOp):
    """log(1 + x)."""

    self: SSAValue

class Log2Op(EdgeOp):
    """Binary logarithm."""

    self: SSAValue

class NegOp(EdgeOp):
    """Negation."""

    self: SSAValue

class ReciprocalOp(EdgeOp):
    """1 / x."""

    self: SSAValue

class RoundOp(EdgeOp):
    """Round, halves to even."""

    self: SSAValue

class RsqrtOp(EdgeOp):
    """1 / sqrt(x)."""

    self: SSAValue

class SignOp(EdgeOp):
    """-1, 0 or 1."""

    self: SSAValue

class SinOp(EdgeOp):
    """Sine."""

    self: SSAValue

class SinhOp(EdgeOp):
    """Hyperbolic sine."""

    self: SSAValue

class SqrtOp(EdgeOp):
    """Square root."""

    self: SSAValue

class SquareOp(EdgeOp):
    """x * x."""

    self: SSAValue

class TanOp(EdgeOp):
    """Tangent."""

    self: SSAValue

class TanhOp(EdgeOp):
    """Hyperbolic tangent."""

    self: SSAValue

class TruncOp(EdgeOp):
    """Round towards zero."""

    self: SSAValue

class LogicalNotOp(EdgeOp):
    """x == 0."""

    self: SSAValue

class BitwiseNotOp(EdgeOp):
    """Bitwise complement."""

    self: SSAValue

class IsinfOp(EdgeOp):
    """Whether x is an infinity."""

    self: SSAValue

class IsnanOp(EdgeOp):
    """Whether x is not a number."""

    self: SSAValue

class FillScalarOp(EdgeOp):
    """One value everywhere."""

    self: SSAValue
    value: Number

class PowTensorScalarOp(EdgeOp):
    """Power."""

    self: SSAValue
    exponent: Number

class ReluOp(EdgeOp):
    """max(x, 0)."""

    self: SSAValue

class SigmoidOp(EdgeOp):
    """1 / (1 + exp(-x))."""

    self: SSAValue

class HardtanhOp(EdgeOp):
    """x clamped to [min_val, max_val]; ReLU6 is one."""

    self: SSAValue
    min_val: Number = -1
    max_val: Number = 1

class HardswishOp(EdgeOp):
    """x * clamp(x + 3, 0, 6) / 6."""

    self: SSAValue

class HardsigmoidOp(EdgeOp):
    """clamp(x + 3, 0, 6) / 6."""

    self: SSAValue

class SiluOp(EdgeOp):
    """x * sigmoid(x)."""

    self: SSAValue

class MishOp(EdgeOp):
    """x * tanh(log(1 + exp(x)))."""

    self: SSAValue

class GeluOp(EdgeOp):
    """x times the normal distribution function, exact or by tanh."""

    self: SSAValue
    approximate: str = "none"

class EluOp(EdgeOp):
    """scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1)); SELU and CELU are two."""

    self: SSAValue
    alpha: Number = 1
    scale: Number = 1
    input_scale: Number = 1

class LeakyReluOp(EdgeOp):
    """x if x > 0 else negative_slope * x."""

    self: SSAValue
    negative_slope: Number = 0.01

class PreluOp(EdgeOp):
    """x if x > 0 else weight * x, one weight a channel (dim 1) or one for all."""

    self: SSAValue
    weight: SSAValue

class SoftplusOp(EdgeOp):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold."""

    self: SSAValue
    beta: Number = 1
    threshold: Number = 20

class ClampOp(EdgeOp):
    """x within bounds, either of which may be absent."""

    self: SSAValue
    min: Number | None = None
    max: Number | None = None

class ClampTensorOp(EdgeOp):
    """x within bounds given by element."""

    self: SSAValue
    min: SSAValue | None = None
    max: SSAValue | None = None

class AddTensorOp(EdgeOp):
    """self + alpha * other."""

    self: SSAValue
    other: SSAValue
    alpha: Number = 1

class AddScalarOp(EdgeOp):
    """self + alpha * other."""

    self: SSAValue
    other: Number
    alpha: Number = 1

class SubTensorOp(EdgeOp):
    """self - alpha * other."""

    self: SSAValue
    other: SSAValue
    alpha: Number = 1

class SubScalarOp(EdgeOp):
    """self - alpha * other."""

    self: SSAValue
    other: Number
    alpha: Number = 1

class RsubScalarOp(EdgeOp):
    """other - alpha * self."""

    self: SSAValue
    other: Number
    alpha: Number = 1

class MulTensorOp(EdgeOp):
    """Product."""

    self: SSAValue
    other: SSAValue

class MulScalarOp(EdgeOp):
    """Product."""

    self: SSAValue
    other: Number

class DivTensorOp(EdgeOp):
    """Quotient."""

    self: SSAValue
    other: SSAValue

class DivScalarOp(EdgeOp):
    """Quotient."""

    self: SSAValue
    other: Number

class DivTensorModeOp(EdgeOp):
    """Quotient, rounded by "floor" or "trunc" or not at all."""

    self: SSAValue
    other: SSAValue
    rounding_mode: str | None

class DivScalarModeOp(EdgeOp):
    """Quotient, rounded by "floor" or "trunc" or not at all."""

    self: SSAValue
    other: Number
    rounding_mode: str | None

class PowTensorTensorOp(EdgeOp):
    """Power."""

    self: SSAValue
    exponent: SSAValue

class PowScalarOp(EdgeOp):
    """Power."""

    self: Number
    exponent: SSAValue

class MaximumOp(EdgeOp):
    """The larger one."""

    self: SSAValue
    other: SSAValue

class MinimumOp(EdgeOp):
    """The smaller one."""

    self: SSAValue
    other: SSAValue

class Atan2Op(EdgeOp):
    """The angle of the point (other, self)."""

    self: SSAValue
    other: SSAValue

class CopysignTensorOp(EdgeOp):
    """|self| with the sign of other."""

    self: SSAValue
    other: SSAValue

class FmodTensorOp(EdgeOp):
    """Remainder with the sign of self."""

    self: SSAValue
    other: SSAValue

class FmodScalarOp(EdgeOp):
    """Remainder with the sign of self."""

    self: SSAValue
    other: Number

class RemainderTensorOp(EdgeOp):
    """Remainder with the sign of other."""

    self: SSAValue
    other: SSAValue

class RemainderScalarOp(EdgeOp):
    """Remainder with the sign of other."""

    self: SSAValue
    other: Number

class BitwiseAndTensorOp(EdgeOp):
    """Bitwise and."""

    self: SSAValue
    other: SSAValue

class BitwiseOrTensorOp(EdgeOp):
    """Bitwise or."""

    self: SSAValue
    other: SSAValue

class BitwiseXorTensorOp(EdgeOp):
    """Bitwise exclusive or."""

    self: SSAValue
    other: SSAValue

class EqTensorOp(EdgeOp):
    """self == other."""

    self: SSAValue
    other: SSAValue

class NeTensorOp(EdgeOp):
    """self != other."""

    self: SSAValue
    other: SSAValue

class LtTensorOp(EdgeOp):
    """self < other."""

    self: SSAValue
    other: SSAValue

class LeTensorOp(EdgeOp):
    """self <= other."""

    self: SSAValue
    other: SSAValue

class GtTensorOp(EdgeOp):
    """self > other."""

    self: SSAValue
    other: SSAValue

class GeTensorOp(EdgeOp):
    """self >= other."""

    self: SSAValue
    other: SSAValue

class BitwiseAndScalarOp(EdgeOp):
    """Bitwise and."""

    self: SSAValue
    other: Number

class BitwiseOrScalarOp(EdgeOp):
    """Bitwise or."""

    self: SSAValue
    other: Number

class BitwiseXorScalarOp(EdgeOp):
    """Bitwise exclusive or."""

    self: SSAValue
    other: Number

class EqScalarOp(EdgeOp):
    """self == other."""

    self: SSAValue
    other: Number

class NeScalarOp(EdgeOp):
    """self != other."""

    self: SSAValue
    other: Number

class LtScalarOp(EdgeOp):
    """self < other."""

    self: SSAValue
    other: Number

class LeScalarOp(EdgeOp):
    """self <= other."""

    self: SSAValue
    other: Number

class GtScalarOp(EdgeOp):
    """self > other."""

    self: SSAValue
    other: Number

class GeScalarOp(EdgeOp):
    """self >= other."""

    self: SSAValue
    other: Number

class LogicalAndOp(EdgeOp):
    """Both are not zero."""

    self: SSAValue
    other: SSAValue

class LogicalOrOp(EdgeOp):
    """One of them is not zero."""

    self: SSAValue
    other: SSAValue

class LogicalXorOp(EdgeOp):
    """Exactly one of them is not zero."""

    self: SSAValue
    other: SSAValue

class WhereSelfOp(EdgeOp):
    """self where the condition holds, else other."""

    condition: SSAValue
    self: SSAValue
    other: SSAValue

class MaskedFillScalarOp(EdgeOp):
    """value where the mask holds, else self."""

    self: SSAValue
    mask: SSAValue
    value: Number

class MaskedFillTensorOp(EdgeOp):
    """value (a scalar tensor) where the mask holds, else self."""

    self: SSAValue
    mask: SSAValue
    value: SSAValue

class ConvolutionOp(EdgeOp):
    """Convolution of any number of spatial dimensions, also transposed."""

    input: SSAValue
    weight: SSAValue
    bias: SSAValue | None
    stride: Sequence[Size]
    padding: Sequence[Size]
    dilation: Sequence[Size]
    transposed: bool
    output_padding: Sequence[Size]
    groups: Size

class Conv1dOp(EdgeOp):
    """Convolution of NCL."""

    input: SSAValue
    weight: SSAValue
    bias: SSAValue | None = None
    stride: Sequence[Size] = (1,)
    padding: Sequence[Size] = (0,)
    dilation: Sequence[Size] = (1,)
    groups: Size = 1

class Conv2dOp(EdgeOp):
    """Convolution of NCHW."""

    input: SSAValue
    weight: SSAValue
    bias: SSAValue | None = None
    stride: Sequence[Size] = (1, 1)
    padding: Sequence[Size] = (0, 0)
    dilation: Sequence[Size] = (1, 1)
    groups: Size = 1

class ConvTranspose1dOp(EdgeOp):
    """Transposed convolution of NCL."""

    input: SSAValue
    weight: SSAValue
    bias: SSAValue | None = None
    stride: Sequence[Size] = (1,)
    padding: Sequence[Size] = (0,)
    output_padding: Sequence[Size] = (0,)
    groups: Size = 1
    dilation: Sequence[Size] = (1,)

class ConvTranspose2dInputOp(EdgeOp):
    """Transposed convolution of NCHW."""

    input: SSAValue
    weight: SSAValue
    bias: SSAValue | None = None
    stride: Sequence[Size] = (1, 1)
    padding: Sequence[Size] = (0, 0)
    output_padding: Sequence[Size] = (0, 0)
    groups: Size = 1
    dilation: Sequence[Size] = (1, 1)

class MmOp(EdgeOp):
    """Product of two matrices."""

    self: SSAValue
    mat2: SSAValue

class IntMmOp(EdgeOp):
    """Product of two matrices of 8-bit integers, in 32 bits."""

    self: SSAValue
    mat2: SSAValue

class AddmmOp(EdgeOp):
    """beta * self + alpha * mat1 @ mat2."""

    self: SSAValue
    mat1: SSAValue
    mat2: SSAValue
    beta: Number = 1
    alpha: Number = 1

class BmmOp(EdgeOp):
    """Products of matrices, one a batch."""

    self: SSAValue
    mat2: SSAValue

class BaddbmmOp(EdgeOp):
    """beta * self + alpha * batch1 @ batch2."""

    self: SSAValue
    batch1: SSAValue
    batch2: SSAValue
    beta: Number = 1
    alpha: Number = 1

class MatmulOp(EdgeOp):
    """Product of any ranks: leading dimensions broadcast, a vector is a row on the left, a column on the right."""

    self: SSAValue
    other: SSAValue

class LinearOp(EdgeOp):
    """input @ weight.T + bias, weight [out, in]."""

    input: SSAValue
    weight: SSAValue
    bias: SSAValue | None = None

class ScaledDotProductAttentionOp(EdgeOp):
    """softmax(query @ key.T * scale + mask) @ value; [..., length, features]."""

    query: SSAValue
    key: SSAValue
    value: SSAValue
    attn_mask: SSAValue | None = None
    dropout_p: float = 0.0
    is_causal: bool = False
    scale: float | None = None
    enable_gqa: bool = False

class XirAttendPrefixOp(EdgeOp):
    """Attention [batch, heads, length, features] to as many keys as the mask has columns; i8 is times its scales."""

    query: SSAValue
    key: SSAValue
    value: SSAValue
    attn_mask: SSAValue
    key_scales: SSAValue | None = None
    value_scales: SSAValue | None = None
    scale: float | None = None

class MeanOp(EdgeOp):
    """Mean of all elements."""

    self: SSAValue
    dtype: Attribute | None = None

class MeanDimOp(EdgeOp):
    """Mean over dimensions."""

    self: SSAValue
    dim: Sequence[int] | None
    keepdim: bool = False
    dtype: Attribute | None = None

class SumOp(EdgeOp):
    """Sum of all elements."""

    self: SSAValue
    dtype: Attribute | None = None

class SumDimIntListOp(EdgeOp):
    """Sum over dimensions."""

    self: SSAValue
    dim: Sequence[int] | None
    keepdim: bool = False
    dtype: Attribute | None = None

class ProdOp(EdgeOp):
    """Product of all elements."""

    self: SSAValue
    dtype: Attribute | None = None

class ProdDimIntOp(EdgeOp):
    """Product over one dimension."""

    self: SSAValue
    dim: int
    keepdim: bool = False
    dtype: Attribute | None = None

class LinalgVectorNormOp(EdgeOp):
    """(sum of |x|^ord)^(1/ord) over dimensions."""

    self: SSAValue
    ord: Number = 2
    dim: Sequence[int] | None = None
    keepdim: bool = False
    dtype: Attribute | None = None

class AmaxOp(EdgeOp):
    """Maximum over dimensions."""

    self: SSAValue
    dim: Sequence[int] = ()
    keepdim: bool = False

class AminOp(EdgeOp):
    """Minimum over dimensions."""

    self: SSAValue
    dim: Sequence[int] = ()
    keepdim: bool = False

class MaxOp(EdgeOp):
    """Maximum of all elements."""

    self: SSAValue

class MinOp(EdgeOp):
    """Minimum of all elements."""

    self: SSAValue

class MaxDimOp(EdgeOp):
    """Maximum over one dimension, and where it is."""

    self: SSAValue
    dim: int
    keepdim: bool = False

class MinDimOp(EdgeOp):
    """Minimum over one dimension, and where it is."""

    self: SSAValue
    dim: int
    keepdim: bool = False

class ArgmaxOp(EdgeOp):
    """Where the maximum is."""

    self: SSAValue
    dim: int | None = None
    keepdim: bool = False

class ArgminOp(EdgeOp):
    """Where the minimum is."""

    self: SSAValue
    dim: int | None = None
    keepdim: bool = False

class AnyOp(EdgeOp):
    """Whether an element is not zero."""

    self: SSAValue

class AnyDimOp(EdgeOp):
    """Whether an element along the dimension is not zero."""

    self: SSAValue
    dim: int
    keepdim: bool = False

class AnyDimsOp(EdgeOp):
    """Whether an element along the dimensions is not zero."""

    self: SSAValue
    dim: Sequence[int] | None = None
    keepdim: bool = False

class AllOp(EdgeOp):
    """Whether no element is zero."""

    self: SSAValue

class AllDimOp(EdgeOp):
    """Whether no element along the dimension is zero."""

    self: SSAValue
    dim: int
    keepdim: bool = False

class VarDimOp(EdgeOp):
    """Variance over dimensions."""

    self: SSAValue
    dim: Sequence[int] | None
    unbiased: bool = True
    keepdim: bool = False

class VarCorrectionOp(EdgeOp):
    """Variance over dimensions; the divisor is the count less the correction (1)."""

    self: SSAValue
    dim: Sequence[int] | None = None
    correction: Number | None = None
    keepdim: bool = False

class SoftmaxOp(EdgeOp):
    """Softmax along a dimension."""

    self: SSAValue
    dim: int
    half_to_float: bool

class LogSoftmaxOp(EdgeOp):
    """Logarithm of softmax along a dimension."""

    self: SSAValue
    dim: int
    half_to_float: bool

class CumsumOp(EdgeOp):
    """Running sum along a dimension."""

    self: SSAValue
    dim: int
    dtype: Attribute | None = None

class TopkOp(EdgeOp):
    """The k largest or smallest elements along a dimension."""

    self: SSAValue
    k: Size
    dim: int = -1
    largest: bool = True
    sorted: bool = True

class SortOp(EdgeOp):
    """Elements in order along a dimension."""

    self: SSAValue
    dim: int = -1
    descending: bool = False

class BatchNormOp(EdgeOp):
    """(input - running_mean) / sqrt(running_var + eps) * weight + bias, by channel (dim 1)."""

    input: SSAValue
    weight: SSAValue | None
    bias: SSAValue | None
    running_mean: SSAValue | None
    running_var: SSAValue | None
    training: bool
    momentum: float
    eps: float
    cudnn_enabled: bool

class NativeBatchNormLegitNoTrainingOp(EdgeOp):
    """batch_norm, with two empty results where training has its statistics."""

    input: SSAValue
    weight: SSAValue | None
    bias: SSAValue | None
    running_mean: SSAValue
    running_var: SSAValue
    momentum: float
    eps: float

class LayerNormOp(EdgeOp):
    """Zero mean and unit variance over the last dimensions, then weight and bias."""

    input: SSAValue
    normalized_shape: Sequence[Size]
    weight: SSAValue | None = None
    bias: SSAValue | None = None
    eps: float = 1e-05
    cudnn_enable: bool = True

class NativeLayerNormOp(EdgeOp):
    """layer_norm, mean and reciprocal deviation."""

    input: SSAValue
    normalized_shape: Sequence[Size]
    weight: SSAValue | None
    bias: SSAValue | None
    eps: float

class GroupNormOp(EdgeOp):
    """Zero mean and unit variance over each group of channels, then weight and bias by channel."""

    input: SSAValue
    num_groups: int
    weight: SSAValue | None = None
    bias: SSAValue | None = None
    eps: float = 1e-05
    cudnn_enabled: bool = True

class NativeGroupNormOp(EdgeOp):
    """group_norm, mean and reciprocal deviation."""

    input: SSAValue
    weight: SSAValue | None
    bias: SSAValue | None
    N: Size
    C: Size
    HxW: Size
    group: int
    eps: float

class InstanceNormOp(EdgeOp):
    """Zero mean and unit variance over each channel of each sample, then weight and bias by channel."""

    input: SSAValue
    weight: SSAValue | None
    bias: SSAValue | None
    running_mean: SSAValue | None
    running_var: SSAValue | None
    use_input_stats: bool
    momentum: float
    eps: float
    cudnn_enabled: bool

class RmsNormOp(EdgeOp):
    """Unit mean square over the last dimensions, then weight."""

    input: SSAValue
    normalized_shape: Sequence[Size]
    weight: SSAValue | None = None
    eps: float | None = None

class AvgPool1dOp(EdgeOp):
    """Mean of windows."""

    self: SSAValue
    kernel_size: Sequence[int]
    stride: Sequence[int] = ()
    padding: Sequence[int] = (0,)
    ceil_mode: bool = False
    count_include_pad: bool = True

class AvgPool2dOp(EdgeOp):
    """Mean of windows; no stride means the kernel's size."""

    self: SSAValue
    kernel_size: Sequence[int]
    stride: Sequence[int] = ()
    padding: Sequence[int] = (0, 0)
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

class AvgPool3dOp(EdgeOp):
    """Mean of windows."""

    self: SSAValue
    kernel_size: Sequence[int]
    stride: Sequence[int] = ()
    padding: Sequence[int] = (0, 0, 0)
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

class MaxPool1dOp(EdgeOp):
    """Maximum of windows."""

    self: SSAValue
    kernel_size: Sequence[int]
    stride: Sequence[int] = ()
    padding: Sequence[int] = (0,)
    dilation: Sequence[int] = (1,)
    ceil_mode: bool = False

class MaxPool2dOp(EdgeOp):
    """Maximum of windows; no stride means the kernel's size."""

    self: SSAValue
    kernel_size: Sequence[int]
    stride: Sequence[int] = ()
    padding: Sequence[int] = (0, 0)
    dilation: Sequence[int] = (1, 1)
    ceil_mode: bool = False

class MaxPool2dWithIndicesOp(EdgeOp):
    """Maximum of windows, and where it is."""

    self: SSAValue
    kernel_size: Sequence[int]
    stride: Sequence[int] = ()
    padding: Sequence[int] = (0, 0)
    dilation: Sequence[int] = (1, 1)
    ceil_mode: bool = False

class MaxPool3dWithIndicesOp(EdgeOp):
    """Maximum of windows, and where it is."""

    self: SSAValue
    kernel_size: Sequence[int]
    stride: Sequence[int] = ()
    padding: Sequence[int] = (0, 0, 0)
    dilation: Sequence[int] = (1, 1, 1)
    ceil_mode: bool = False

class AdaptiveAvgPool1dOp(EdgeOp):
    """Mean of as many windows as the output has elements."""

    self: SSAValue
    output_size: Sequence[int]

class AdaptiveAvgPool2dOp(EdgeOp):
    """Mean of as many windows as the output has elements."""

    self: SSAValue
    output_size: Sequence[Size]

class InternalAdaptiveAvgPool2dOp(EdgeOp):
    """adaptive_avg_pool2d after decomposition."""

    self: SSAValue
    output_size: Sequence[Size]

class AdaptiveAvgPool3dOp(EdgeOp):
    """adaptive_avg_pool3d after decomposition."""

    self: SSAValue
    output_size: Sequence[Size]

class AdaptiveMaxPool2dOp(EdgeOp):
    """Maximum of as many windows as the output has elements, and where it is."""

    self: SSAValue
    output_size: Sequence[int]

class UpsampleBilinear2dOp(EdgeOp):
    """Bilinear interpolation."""

    self: SSAValue
    output_size: Sequence[Size]
    align_corners: bool
    scales_h: float | None = None
    scales_w: float | None = None

class UpsampleBilinear2dVecOp(EdgeOp):
    """Bilinear interpolation to a size or by factors."""

    input: SSAValue
    output_size: Sequence[Size] | None
    align_corners: bool
    scale_factors: Sequence[float] | None

class UpsampleNearest2dOp(EdgeOp):
    """Nearest neighbour."""

    self: SSAValue
    output_size: Sequence[Size]
    scales_h: float | None = None
    scales_w: float | None = None

class UpsampleNearest2dVecOp(EdgeOp):
    """Nearest neighbour, to a size or by factors."""

    input: SSAValue
    output_size: Sequence[Size] | None
    scale_factors: Sequence[float] | None

class PixelShuffleOp(EdgeOp):
    """Channels to blocks of space."""

    self: SSAValue
    upscale_factor: int

class PixelUnshuffleOp(EdgeOp):
    """Blocks of space to channels."""

    self: SSAValue
    downscale_factor: int

class GridSampler2dOp(EdgeOp):
    """Samples of the input at the grid's points (in [-1, 1])."""

    input: SSAValue
    grid: SSAValue
    interpolation_mode: int
    padding_mode: int
    align_corners: bool

class CloneOp(EdgeOp):
    """The same value."""

    self: SSAValue
    memory_format: str | None = None

class AliasOp(EdgeOp):
    """The same value."""

    self: SSAValue

class DetachOp(EdgeOp):
    """The same value."""

    self: SSAValue

class ContiguousOp(EdgeOp):
    """The same value."""

    self: SSAValue
    memory_format: str = "contiguous_format"

class LiftFreshCopyOp(EdgeOp):
    """The same value."""

    self: SSAValue

class DropoutOp(EdgeOp):
    """The same value, since programs are compiled for inference (train = false)."""

    input: SSAValue
    p: float
    train: bool

class CopyOp(EdgeOp):
    """src, expanded and converted to the type of self."""

    self: SSAValue
    src: SSAValue
    non_blocking: bool = False

class ToCopyOp(EdgeOp):
    """The value converted to another element type."""

    self: SSAValue
    dtype: Attribute | None = None
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None
    non_blocking: bool = False
    memory_format: str | None = None

class ViewOp(EdgeOp):
    """The elements, in order, in another shape."""

    self: SSAValue
    size: Sequence[Size]

class UnsafeViewOp(EdgeOp):
    """view of a value that has no other users."""

    self: SSAValue
    size: Sequence[Size]

class SqueezeOp(EdgeOp):
    """Drops dimensions of size 1."""

    self: SSAValue

class SqueezeDimOp(EdgeOp):
    """Drops one dimension, if its size is 1."""

    self: SSAValue
    dim: int

class SqueezeDimsOp(EdgeOp):
    """Drops those of the dimensions whose size is 1."""

    self: SSAValue
    dim: Sequence[int]

class UnsqueezeOp(EdgeOp):
    """Inserts a dimension of size 1."""

    self: SSAValue
    dim: int

class PermuteOp(EdgeOp):
    """Dimension i of the result is dims[i] of the operand."""

    self: SSAValue
    dims: Sequence[int]

class TransposeIntOp(EdgeOp):
    """Swaps two dimensions."""

    self: SSAValue
    dim0: int
    dim1: int

class TOp(EdgeOp):
    """Transposes a matrix."""

    self: SSAValue

class ExpandOp(EdgeOp):
    """Repeats dimensions of size 1; -1 keeps one."""

    self: SSAValue
    size: Sequence[Size]
    implicit: bool = False

class SliceTensorOp(EdgeOp):
    """self[start:end:step] of one dimension."""

    self: SSAValue
    dim: int = 0
    start: Size | None = None
    end: Size | None = None
    step: Size = 1

class SelectIntOp(EdgeOp):
    """self[index] of one dimension."""

    self: SSAValue
    dim: int
    index: Size

class DiagonalOp(EdgeOp):
    """The diagonal of two dimensions, as the last one."""

    self: SSAValue
    offset: int = 0
    dim1: int = 0
    dim2: int = 1

class AsStridedOp(EdgeOp):
    """Elements by strides over the operand's contiguous elements."""

    self: SSAValue
    size: Sequence[Size]
    stride: Sequence[Size]
    storage_offset: Size | None = None

class SplitTensorOp(EdgeOp):
    """Pieces of one size; the last may be smaller."""

    self: SSAValue
    split_size: Size
    dim: int = 0

class SplitWithSizesOp(EdgeOp):
    """Pieces of given sizes."""

    self: SSAValue
    split_sizes: Sequence[Size]
    dim: int = 0

class UnbindIntOp(EdgeOp):
    """self[i] for every i of one dimension."""

    self: SSAValue
    dim: int = 0

class RepeatOp(EdgeOp):
    """Tiles the operand."""

    self: SSAValue
    repeats: Sequence[Size]

class CatOp(EdgeOp):
    """Joins tensors along a dimension."""

    tensors: Sequence[SSAValue]
    dim: int = 0

class StackOp(EdgeOp):
    """Joins tensors along a new dimension."""

    tensors: Sequence[SSAValue]
    dim: int = 0

class FlipOp(EdgeOp):
    """Reverses dimensions."""

    self: SSAValue
    dims: Sequence[int]

class RollOp(EdgeOp):
    """Rotates along dimensions."""

    self: SSAValue
    shifts: Sequence[Size]
    dims: Sequence[int] = ()

class ConstantPadNdOp(EdgeOp):
    """Adds a border of one value; negative sizes cut. Pairs (before, after), the last dimension's first."""

    self: SSAValue
    pad: Sequence[Size]
    value: Number = 0

class ReflectionPad1dOp(EdgeOp):
    """Adds a border that mirrors the inside."""

    self: SSAValue
    padding: Sequence[Size]

class ReflectionPad2dOp(EdgeOp):
    """Adds a border that mirrors the inside."""

    self: SSAValue
    padding: Sequence[Size]

class ReflectionPad3dOp(EdgeOp):
    """Adds a border that mirrors the inside."""

    self: SSAValue
    padding: Sequence[Size]

class ReplicationPad1dOp(EdgeOp):
    """Adds a border of copies of the edge."""

    self: SSAValue
    padding: Sequence[Size]

class ReplicationPad2dOp(EdgeOp):
    """Adds a border of copies of the edge."""

    self: SSAValue
    padding: Sequence[Size]

class ReplicationPad3dOp(EdgeOp):
    """Adds a border of copies of the edge."""

    self: SSAValue
    padding: Sequence[Size]

class SelectScatterOp(EdgeOp):
    """self with self[index] of one dimension replaced."""

    self: SSAValue
    src: SSAValue
    dim: int
    index: Size

class SliceScatterOp(EdgeOp):
    """self with self[start:end:step] of one dimension replaced."""

    self: SSAValue
    src: SSAValue
    dim: int = 0
    start: Size | None = None
    end: Size | None = None
    step: Size = 1

class TrilOp(EdgeOp):
    """Zero above the diagonal."""

    self: SSAValue
    diagonal: Size = 0

class TriuOp(EdgeOp):
    """Zero below the diagonal."""

    self: SSAValue
    diagonal: Size = 0

class EmbeddingOp(EdgeOp):
    """Rows of weight."""

    weight: SSAValue
    indices: SSAValue
    padding_idx: Size = -1
    scale_grad_by_freq: bool = False
    sparse: bool = False

class GatherOp(EdgeOp):
    """Elements whose position along a dimension the index gives."""

    self: SSAValue
    dim: int
    index: SSAValue
    sparse_grad: bool = False

class IndexTensorOp(EdgeOp):
    """self[indices]; an index that is none stands for the whole dimension."""

    self: SSAValue
    indices: Sequence[SSAValue | None]

class IndexSelectOp(EdgeOp):
    """Slices of one dimension."""

    self: SSAValue
    dim: int
    index: SSAValue

class IndexPutOp(EdgeOp):
    """self with self[indices] replaced, or added to."""

    self: SSAValue
    indices: Sequence[SSAValue | None]
    values: SSAValue
    accumulate: bool = False

class ScatterSrcOp(EdgeOp):
    """self with the elements at the index replaced."""

    self: SSAValue
    dim: int
    index: SSAValue
    src: SSAValue

class ScatterValueOp(EdgeOp):
    """self with the elements at the index replaced by one value."""

    self: SSAValue
    dim: int
    index: SSAValue
    value: Number

class ScatterAddOp(EdgeOp):
    """self with src added at the index."""

    self: SSAValue
    dim: int
    index: SSAValue
    src: SSAValue

class ScatterReduceTwoOp(EdgeOp):
    """self combined with src at the index."""

    self: SSAValue
    dim: int
    index: SSAValue
    src: SSAValue
    reduce: str
    include_self: bool = True

class MaskedScatterOp(EdgeOp):
    """self with the masked elements taken from source in order."""

    self: SSAValue
    mask: SSAValue
    source: SSAValue

class NonzeroOp(EdgeOp):
    """Positions of the elements that are not zero, [count, rank]."""

    self: SSAValue

class ArangeStartStepOp(EdgeOp):
    """start, start + step, ... before end."""

    start: Number
    end: Number
    step: Number = 1
    dtype: Attribute | None = None
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None

class FullOp(EdgeOp):
    """One value everywhere."""

    size: Sequence[Size]
    fill_value: Number
    dtype: Attribute | None = None
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None

class FullLikeOp(EdgeOp):
    """One value everywhere, in the shape of another tensor."""

    self: SSAValue
    fill_value: Number
    dtype: Attribute | None = None
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None
    memory_format: str | None = None

class EmptyMemoryFormatOp(EdgeOp):
    """A tensor of unspecified values."""

    size: Sequence[Size]
    dtype: Attribute | None = None
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None
    memory_format: str | None = None

class ScalarTensorOp(EdgeOp):
    """A number as tensor without dimensions."""

    s: Number
    dtype: Attribute | None = None
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None

class RandOp(EdgeOp):
    """Random values of [0, 1)."""

    size: Sequence[Size]
    dtype: Attribute | None = None
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None

class RandnOp(EdgeOp):
    """Normally distributed random values."""

    size: Sequence[Size]
    dtype: Attribute | None = None
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None

class RandpermOp(EdgeOp):
    """A random order of 0 to n - 1."""

    n: Size
    dtype: Attribute | None = ...
    layout: str | None = None
    device: str | None = None
    pin_memory: bool | None = None

class SymSizeIntOp(EdgeOp):
    """A dimension's size as number."""

    self: SSAValue
    dim: int

class SymNumelOp(EdgeOp):
    """The element count as number."""

    self: SSAValue

class ExecutorchPrimAddScalarOp(EdgeOp):
    """a + b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimSubScalarOp(EdgeOp):
    """a - b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimMulScalarOp(EdgeOp):
    """a * b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimFloordivScalarOp(EdgeOp):
    """a // b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimModScalarOp(EdgeOp):
    """a % b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimSymMaxScalarOp(EdgeOp):
    """The larger of two sizes."""

    a: Size
    b: Size

class ExecutorchPrimSymMinScalarOp(EdgeOp):
    """The smaller of two sizes."""

    a: Size
    b: Size

class ExecutorchPrimEqScalarOp(EdgeOp):
    """Whether a == b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimGeScalarOp(EdgeOp):
    """Whether a >= b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimGtScalarOp(EdgeOp):
    """Whether a > b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimLeScalarOp(EdgeOp):
    """Whether a <= b, of sizes."""

    a: Size
    b: Size

class ExecutorchPrimLtScalarOp(EdgeOp):
    """Whether a < b, of sizes."""

    a: Size
    b: Size

class LocalScalarDenseOp(EdgeOp):
    """The one element as number."""

    self: SSAValue

class QuantizedDecomposedQuantizePerTensorOp(EdgeOp):
    """clamp(round(input / scale) + zero_point, quant_min, quant_max)."""

    input: SSAValue
    scale: float
    zero_point: int
    quant_min: int
    quant_max: int
    dtype: Attribute

class QuantizedDecomposedQuantizePerTensorTensorOp(EdgeOp):
    """quantize_per_tensor, the parameters computed."""

    input: SSAValue
    scale: SSAValue
    zero_point: SSAValue
    quant_min: int
    quant_max: int
    dtype: Attribute

class QuantizedDecomposedDequantizePerTensorOp(EdgeOp):
    """(input - zero_point) * scale."""

    input: SSAValue
    scale: float
    zero_point: int
    quant_min: int
    quant_max: int
    dtype: Attribute
    out_dtype: Attribute | None = None

class QuantizedDecomposedDequantizePerTensorTensorOp(EdgeOp):
    """dequantize_per_tensor, the parameters computed."""

    input: SSAValue
    scale: SSAValue
    zero_point: SSAValue
    quant_min: int
    quant_max: int
    dtype: Attribute
    out_dtype: Attribute | None = None

class QuantizedDecomposedQuantizePerChannelOp(EdgeOp):
    """quantize_per_tensor with its own parameters for each channel of axis."""

    input: SSAValue
    scales: SSAValue
    zero_points: SSAValue
    axis: int
    quant_min: int
    quant_max: int
    dtype: Attribute

class QuantizedDecomposedDequantizePerChannelOp(EdgeOp):
    """(input - zero_points) * scales by channel of axis."""

    input: SSAValue
    scales: SSAValue
    zero_points: SSAValue | None
    axis: int
    quant_min: int
    quant_max: int
    dtype: Attribute
    out_dtype: Attribute | None = None

class QuantizedDecomposedQuantizePerChannelGroupOp(EdgeOp):
    """quantise with parameters [channel, group] along the last dimension."""

    input: SSAValue
    scales: SSAValue
    zero_points: SSAValue
    quant_min: int
    quant_max: int
    dtype: Attribute
    group_size: int

class QuantizedDecomposedDequantizePerChannelGroupOp(EdgeOp):
    """dequantise with parameters [channel, group] along the last dimension."""

    input: SSAValue
    scales: SSAValue
    zero_points: SSAValue | None
    quant_min: int
    quant_max: int
    dtype: Attribute
    group_size: int
    output_dtype: Attribute

class QuantizedDecomposedQuantizePerTokenOp(EdgeOp):
    """quantise with parameters for each vector of the last dimension."""

    input: SSAValue
    scales: SSAValue
    zero_points: SSAValue
    quant_min: int
    quant_max: int
    dtype: Attribute

class QuantizedDecomposedDequantizePerTokenOp(EdgeOp):
    """dequantise with parameters for each vector of the last dimension."""

    input: SSAValue
    scales: SSAValue
    zero_points: SSAValue
    quant_min: int
    quant_max: int
    dtype: Attribute
    output_dtype: Attribute

class QuantizedDecomposedChooseQparamsTensorOp(EdgeOp):
    """Scale and zero point for the input's range."""

    input: SSAValue
    quant_min: int
    quant_max: int
    eps: float
    dtype: Attribute

class QuantizedDecomposedChooseQparamsSymmetricTensorOp(EdgeOp):
    """Scale, and a zero point in the middle, for the input's range."""

    input: SSAValue
    quant_min: int
    quant_max: int
    eps: float
    dtype: Attribute

class QuantizedDecomposedChooseQparamsPerTokenAsymmetricOp(EdgeOp):
    """Scales and zero points for each vector of the last dimension."""

    input: SSAValue
    dtype: Attribute

class QuantizedDecomposedEmbeddingByteOp(EdgeOp):
    """(weight - zero_points) * scales of the rows at the indices; a scale for a row, or for each group of a row."""

    weight: SSAValue
    weight_scales: SSAValue
    weight_zero_points: SSAValue | None
    weight_quant_min: int
    weight_quant_max: int
    indices: SSAValue

class QuantizedDecomposedEmbeddingByteDtypeOp(EdgeOp):
    """embedding_byte with a result of this type."""

    weight: SSAValue
    weight_scales: SSAValue
    weight_zero_points: SSAValue | None
    weight_quant_min: int
    weight_quant_max: int
    indices: SSAValue
    dtype: Attribute | None = None

class QuantizedDecomposedEmbedding4bitOp(EdgeOp):
    """embedding_byte of integers from -8 to 7, two to a byte, 8 added, the first in the high half."""

    weight: SSAValue
    weight_scales: SSAValue
    weight_zero_points: SSAValue | None
    weight_quant_min: int
    weight_quant_max: int
    indices: SSAValue

class QuantizedDecomposedEmbedding4bitDtypeOp(EdgeOp):
    """embedding_4bit with a result of this type."""

    weight: SSAValue
    weight_scales: SSAValue
    weight_zero_points: SSAValue | None
    weight_quant_min: int
    weight_quant_max: int
    indices: SSAValue
    dtype: Attribute | None = None

class QuantizedDecomposedEmbedding2bitOp(EdgeOp):
    """embedding_byte of integers from -2 to 1, four to a byte, 2 added, the first in the lowest bits."""

    weight: SSAValue
    weight_scales: SSAValue
    weight_zero_points: SSAValue | None
    weight_quant_min: int
    weight_quant_max: int
    indices: SSAValue

class QuantizedDecomposedEmbedding2bitDtypeOp(EdgeOp):
    """embedding_2bit with a result of this type."""

    weight: SSAValue
    weight_scales: SSAValue
    weight_zero_points: SSAValue | None
    weight_quant_min: int
    weight_quant_max: int
    indices: SSAValue
    dtype: Attribute | None = None

class TorchaoChooseQparamsAffineOp(EdgeOp):
    """Scales and zero points for the range of each block of block_size."""

    input: SSAValue | None
    mapping_type: str
    block_size: Sequence[Size]
    target_dtype: Attribute
    quant_min: Number | None = None
    quant_max: Number | None = None
    eps: float | None = None
    scale_dtype: Attribute | None = None
    zero_point_dtype: Attribute | None = None
    keepdim: bool = False

class TorchaoQuantizeAffineOp(EdgeOp):
    """clamp(round(input / scale) + zero_point, quant_min, quant_max), the parameters by block."""

    input: SSAValue
    block_size: Sequence[Size]
    scale: SSAValue
    zero_point: SSAValue | None
    output_dtype: Attribute
    quant_min: Number | None = None
    quant_max: Number | None = None

class TorchaoDequantizeAffineOp(EdgeOp):
    """(input - zero_point) * scale, the parameters by block."""

    input: SSAValue
    block_size: Sequence[Size]
    scale: SSAValue
    zero_point: SSAValue | None
    input_dtype: Attribute
    quant_min: Number | None = None
    quant_max: Number | None = None
    output_dtype: Attribute = ...
