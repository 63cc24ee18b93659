"""Convolutions: all become `edge.convolution` of a batch."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import shape_of
from xir.transforms.edge.decompositions.rule import EdgeBuilder, decomposition


@decomposition("edge.conv1d", "edge.conv2d", "edge.conv_transpose1d", "edge.conv_transpose2d.input")
def convolution(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue:
    """`convolution(…)`"""
    return _convolution(op, b, transposed="output_padding" in op.schema.values)


@decomposition("edge.convolution")
def unbatched(op: edge.EdgeOp, b: EdgeBuilder) -> SSAValue | None:
    """`convolution` of one sample: `squeeze(convolution(unsqueeze(input, 0), …), 0)`"""
    if len(shape_of(op.required("input"))) == len(shape_of(op.required("weight"))):
        return None
    return _convolution(op, b, transposed=op.value("transposed"))


def _convolution(op: edge.EdgeOp, b: EdgeBuilder, transposed: bool) -> SSAValue:
    value, weight = op.required("input"), op.required("weight")
    spatial = len(shape_of(weight)) - 2
    is_batch = len(shape_of(value)) == spatial + 2

    def spread(name: str) -> list[Any]:
        """One number for each spatial dimension, if only one is given."""
        numbers = list(op.value(name)) if name in op.schema.values else [0]
        return numbers * spatial if len(numbers) == 1 else numbers

    result = b.call(
        "convolution",
        input=value if is_batch else b.call("unsqueeze", self=value, dim=0),
        weight=weight,
        bias=op.tensor("bias"),
        transposed=transposed,
        groups=op.value("groups"),
        **{name: spread(name) for name in ("stride", "padding", "dilation", "output_padding")},
    )
    return result if is_batch else b.call("squeeze.dims", self=result, dim=[0])
