"""Op classes that rules and passes treat alike, as unions, and what their members call differently."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import get_args

from . import elementwise, ops
from .accessors import Size

BatchNorm = ops.BatchNormOp | ops.NativeBatchNormLegitNoTrainingOp

Convolution = ops.ConvolutionOp | ops.Conv1dOp | ops.Conv2dOp | ops.ConvTranspose1dOp | ops.ConvTranspose2dInputOp

Quantize = (
    ops.QuantizedDecomposedQuantizePerTensorOp
    | ops.QuantizedDecomposedQuantizePerTensorTensorOp
    | ops.QuantizedDecomposedQuantizePerChannelOp
    | ops.QuantizedDecomposedQuantizePerChannelGroupOp
    | ops.QuantizedDecomposedQuantizePerTokenOp
    | ops.TorchaoQuantizeAffineOp
)
"""Ops that round numbers to integers: their first operand is the numbers."""

Dequantize = (
    ops.QuantizedDecomposedDequantizePerTensorOp
    | ops.QuantizedDecomposedDequantizePerTensorTensorOp
    | ops.QuantizedDecomposedDequantizePerChannelOp
    | ops.QuantizedDecomposedDequantizePerChannelGroupOp
    | ops.QuantizedDecomposedDequantizePerTokenOp
    | ops.TorchaoDequantizeAffineOp
)
"""Ops that turn integers into numbers: their first operand is the integers."""

ChooseQparams = (
    ops.QuantizedDecomposedChooseQparamsTensorOp
    | ops.QuantizedDecomposedChooseQparamsSymmetricTensorOp
    | ops.QuantizedDecomposedChooseQparamsPerTokenAsymmetricOp
    | ops.TorchaoChooseQparamsAffineOp
)
"""Ops that compute a scale and a zero point for the range of a tensor, or for each row of it."""


Reordering = ops.UnsqueezeOp | ops.PermuteOp | ops.TransposeIntOp | ops.CloneOp
"""Ops whose result has the operand's dimensions in some order, and perhaps a new one of size 1."""

Reshape = ops.ViewOp | ops.UnsafeViewOp | ops.UnsqueezeOp | ops.SqueezeOp | ops.SqueezeDimOp | ops.SqueezeDimsOp
"""Ops whose result has the operand's elements, in the same order, in another shape."""

Reduction = ops.MeanDimOp | ops.SumDimIntListOp | ops.AmaxOp | ops.AminOp
"""Ops that make one element of all those along some dimensions, all of them if none is given."""

AlongOneDim = ops.SoftmaxOp | ops.LogSoftmaxOp | ops.SliceTensorOp | ops.SelectIntOp
"""Ops that do to each run of elements along one dimension what they do to the others."""

RowByRow = ops.LinearOp | ops.LayerNormOp | ops.RmsNormOp
"""Ops that compute with each run of elements along the innermost dimensions of `input` as with the others."""

ELEMENTWISE = {row.op_name for row in elementwise.ROWS} - {ops.PreluOp.name} | {ops.CloneOp.name, ops.ToCopyOp.name}
"""The names of ops whose operands broadcast, and each element of whose result follows from the same ones of these. The
second operand of `prelu` is of channels."""

CompareTensors = ops.EqTensorOp | ops.NeTensorOp | ops.LtTensorOp | ops.LeTensorOp | ops.GtTensorOp | ops.GeTensorOp

CompareWithNumber = ops.EqScalarOp | ops.NeScalarOp | ops.LtScalarOp | ops.LeScalarOp | ops.GtScalarOp | ops.GeScalarOp

Sum = ops.AddTensorOp | ops.AddScalarOp | ops.SubTensorOp | ops.SubScalarOp
"""Sums and differences, the second operand times `alpha`."""

GROUPED_PRODUCTS = frozenset({"transformers::grouped_mm_fallback", "aten::_grouped_mm"})
"""Operators without a row that multiply the rows up to each offset, from the one before, by a matrix: (rows [S, K],
matrices [E, K, N], offsets [E])."""

SizeArithmetic = (
    ops.ExecutorchPrimAddScalarOp
    | ops.ExecutorchPrimSubScalarOp
    | ops.ExecutorchPrimMulScalarOp
    | ops.ExecutorchPrimFloordivScalarOp
    | ops.ExecutorchPrimModScalarOp
    | ops.ExecutorchPrimSymMaxScalarOp
    | ops.ExecutorchPrimSymMinScalarOp
)
"""Ops on two sizes."""


def names_of(family: UnionType) -> frozenset[str]:
    """The names of the ops of a union."""
    return frozenset(op_class.name for op_class in get_args(family))


def output_padding_of(op: Convolution) -> Sequence[Size] | None:
    """What a transposed convolution adds to the end of its result; None for one that is not transposed."""
    if isinstance(op, ops.Conv1dOp | ops.Conv2dOp):
        return None
    return None if isinstance(op, ops.ConvolutionOp) and not op.transposed else op.output_padding
