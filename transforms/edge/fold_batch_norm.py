"""Batch normalisation becomes part of the weights before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f16, f32
from xdsl.ir import Attribute, SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import BatchNorm, Convolution, output_padding_of
from xir.dialects.edge.types import element_of, shape_of
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.ir.location import fused_location
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import missed
from xir.ir.rewriting import may_rewrite
from xir.ir.walking import ops_in
from xir.transforms.analysis.batch_norm import batch_norm_affine
from xir.transforms.analysis.refusal import RefusalError
from xir.transforms.analysis.static_tensor import static_array, static_name

Weighted = Convolution | edge.LinearOp
"""Ops whose output channels are dimension 0 of the weight (1 where transposed)."""


FOLDED: tuple[Attribute, ...] = (f32, f16)
"""The element types whose weights are folded. bf16 has too few bits for weights to be rounded twice; XNNPACK computes
it in fp32, where `fold-affine` folds what the norm became."""

LARGEST_F16 = 65504.0
"""The largest number of fp16."""


@dataclass(frozen=True)
class FoldBatchNormPass(XirPass):
    """Fold a batch norm (in inference) into the weight and bias of the convolution or linear op before it.

    The op must have no other user, and weights and statistics must be constants.

    Before:
    ```mlir
    %1 = edge.conv2d(%x, %w, none) : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
    %2 = edge.batch_norm(%1, %gamma, %beta, %mean, %var) {...} : (...) -> tensor<1x4x8x8xf32>
    ```
    After, with w' = w·gamma / √(var + eps) by output channel, and b' = beta − mean·gamma / √(var + eps):
    ```mlir
    %2 = edge.conv2d(%x, %w', %b')
         : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.ROUNDED
    proved: ClassVar[str] = (
        "convolutions, grouped ones and linear ops with and without a bias, where roots and products are "
        "fractions that fp32 has"
    )

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Fold every batch norm that can be, in program order, so that chains fold too."""
        candidate: BatchNorm
        for candidate in list(ops_in(op, BatchNorm, graphs=False)):
            try:
                fold(candidate, ctx)
            except RefusalError as refusal:
                missed(candidate, "fold", "batch norm computed at each run", refusal.reason, refusal.hint)


NOTHING_BEFORE = "what it normalises comes of no convolution or linear op"
OTHER_USERS = "what it normalises has other users"
OTHER_CHANNELS = "its channels are not those that the op before it makes"
OTHER_TYPE = "weights in this type are not folded"
TOO_LARGE = "the folded weights would be larger than fp16 holds"


def fold(norm: BatchNorm, ctx: XirContext) -> None:
    """Fold one batch norm. RefusalError says why it cannot be."""
    value = norm.input
    producer = value.owner
    if not isinstance(producer, Weighted):
        raise RefusalError(NOTHING_BEFORE)
    if not value.has_one_use():
        raise RefusalError(OTHER_USERS)
    # The norm's channels are dimension 1. So are the producer's if it has a batch dimension and, for linear, no other.
    if len(shape_of(value)) != len(shape_of(producer.weight)):
        raise RefusalError(OTHER_CHANNELS)
    if element_of(value) not in FOLDED:
        raise RefusalError(OTHER_TYPE)
    scale, shift = batch_norm_affine(norm, ctx)
    weight, bias = producer.weight, producer.bias
    new_weight = scaled_weight(producer, static_array(weight, "weight", ctx), scale)
    new_bias = shift if bias is None else shift + static_array(bias, "bias", ctx) * scale
    if element_of(value) == f16 and max(np.abs(new_weight).max(), np.abs(new_bias).max()) > LARGEST_F16:
        raise RefusalError(TOO_LARGE)

    if not may_rewrite(norm, "fold"):
        return
    arguments: dict[str, object] = {name: producer.argument(name) for name in producer.schema.values}
    arguments["input"] = producer.input
    arguments["weight"] = constant(new_weight, weight, static_name(weight), ctx, norm)
    arguments["bias"] = constant(new_bias, weight, static_name(weight if bias is None else bias), ctx, norm)
    folded = type(producer).build_from(
        arguments, [producer.results[0].type], fused_location(producer.location, norm.location)
    )
    block = norm.parent
    assert block is not None
    block.insert_op_before(folded, norm)
    folded.results[0].name_hint = norm.results[0].name_hint
    norm.results[0].replace_all_uses_with(folded.results[0])
    for dead in (norm, producer):
        dead.detach()
        dead.erase()


def scaled_weight(op: Weighted, weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """`weight` with each output channel multiplied by its element of `scale`."""
    if isinstance(op, edge.LinearOp) or output_padding_of(op) is None:
        return weight * scale.reshape(-1, *(1,) * (weight.ndim - 1))
    # Transposed: [I, O / groups, ...], a group's inputs and outputs in blocks along both dimensions.
    groups = op.groups
    assert isinstance(groups, int), "verified"
    grouped = weight.reshape(groups, weight.shape[0] // groups, *weight.shape[1:])
    by_group = scale.reshape(groups, 1, -1, *(1,) * (weight.ndim - 2))
    return (grouped * by_group).reshape(weight.shape)


def constant(array: np.ndarray, like: SSAValue, name: str, ctx: XirContext, before: edge.EdgeOp) -> SSAValue:
    """A constant op in front of `before`, with the element type of `like`."""
    op = edge.ConstantOp(make_dense(array, ctx, name, element_of(like)), before.location)
    block = before.parent
    assert block is not None
    block.insert_op_before(op, before)
    return op.result
