"""Batch norms in inference as a scale and a shift."""

from __future__ import annotations

import numpy as np

from xir.dialects import edge
from xir.dialects.edge.families import BatchNorm
from xir.ir.context import XirContext
from xir.transforms.analysis.calls import call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import static_array

SAVED_STATISTICS_USED = Refusal("its saved statistics are used")
"""Met by `fold-batch-norm` alone, which reports nothing: in inference the saved statistics are empty, and no rule is
asked for an op whose result has no elements."""
NO_RUNNING_STATISTICS = Refusal(
    "it keeps no running statistics",
    example=call("edge.batch_norm", input=tensor(2, 4, 8), training=False, momentum=0.1, eps=1e-5, cudnn_enabled=True),
)


def batch_norm_affine(op: BatchNorm | edge.InstanceNormOp, ctx: XirContext) -> tuple[np.ndarray, np.ndarray]:
    """(scale, shift), fp32 by channel, of a batch norm in inference; computed in double.

    RefusalError if its statistics are used or missing, or its parameters are not static.
    """
    if any(result.first_use is not None for result in op.results[1:]):
        raise SAVED_STATISTICS_USED()
    mean, variance, weight, bias = (
        None if value is None else static_array(value, what, ctx).astype(np.float64)
        for value, what in (
            (op.running_mean, "running_mean"),
            (op.running_var, "running_var"),
            (op.weight, "weight"),
            (op.bias, "bias"),
        )
    )
    if mean is None or variance is None:
        raise NO_RUNNING_STATISTICS()
    scale = 1.0 / np.sqrt(variance + op.eps)
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    if bias is not None:
        shift = shift + bias
    return scale.astype(np.float32), shift.astype(np.float32)
