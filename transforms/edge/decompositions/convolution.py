"""Convolutions: all become `edge.convolution` of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import Convolution, output_padding_of
from xir.dialects.edge.types import shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition


@decomposition
def convolution(
    op: edge.Conv1dOp | edge.Conv2dOp | edge.ConvTranspose1dOp | edge.ConvTranspose2dInputOp, b: EdgeBuilder
) -> SSAValue:
    """`convolution(…)`"""
    return _convolution(op, b)


@decomposition
def unbatched(op: edge.ConvolutionOp, b: EdgeBuilder) -> SSAValue | None:
    """`convolution` of one sample: `squeeze(convolution(unsqueeze(input, 0), …), 0)`"""
    if len(shape_of(op.input)) == len(shape_of(op.weight)):
        return None
    return _convolution(op, b)


def _convolution(op: Convolution, b: EdgeBuilder) -> SSAValue:
    spatial = len(shape_of(op.weight)) - 2
    is_batch = len(shape_of(op.input)) == spatial + 2
    output_padding = output_padding_of(op)

    def spread(numbers: Sequence[edge.Size]) -> Sequence[edge.Size]:
        """One number for each spatial dimension, if only one is given."""
        return list(numbers) * spatial if len(numbers) == 1 else numbers

    result = b.call(
        edge.ConvolutionOp,
        input=op.input if is_batch else b.call(edge.UnsqueezeOp, self=op.input, dim=0),
        weight=op.weight,
        bias=op.bias,
        stride=spread(op.stride),
        padding=spread(op.padding),
        dilation=spread(op.dilation),
        transposed=output_padding is not None,
        output_padding=spread(output_padding or [0]),
        groups=op.groups,
    )
    return result if is_batch else b.call(edge.SqueezeDimsOp, self=result, dim=[0])
