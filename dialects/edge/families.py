"""Op classes that rules and passes treat alike, as unions, and what their members call differently."""

from __future__ import annotations

from collections.abc import Sequence
from types import UnionType
from typing import get_args

from . import ops
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

CompareTensors = ops.EqTensorOp | ops.NeTensorOp | ops.LtTensorOp | ops.LeTensorOp | ops.GtTensorOp | ops.GeTensorOp

CompareWithNumber = ops.EqScalarOp | ops.NeScalarOp | ops.LtScalarOp | ops.LeScalarOp | ops.GtScalarOp | ops.GeScalarOp

Sum = ops.AddTensorOp | ops.AddScalarOp | ops.SubTensorOp | ops.SubScalarOp
"""Sums and differences, the second operand times `alpha`."""

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
