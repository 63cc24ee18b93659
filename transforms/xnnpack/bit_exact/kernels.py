"""Which ops outside delegates have the same results on every processor."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerType, TensorType
from xdsl.ir import SSAValue

from xir.dialects import edge
from xir.dialects.edge.families import Dequantize, Quantize
from xir.transforms.xnnpack.bit_exact.nodes import Inexact

MOVES = frozenset(
    f"edge.{name}"
    for name in (
        "view", "_unsafe_view", "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "expand", "permute",
        "transpose.int", "t", "slice.Tensor", "select.int", "clone", "alias", "detach", "contiguous", "cat", "repeat",
        "lift_fresh_copy", "copy", "diagonal", "as_strided", "split.Tensor", "split_with_sizes", "unbind.int", "stack",
        "flip", "roll", "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
        "replication_pad1d", "replication_pad2d", "replication_pad3d", "select_scatter", "slice_scatter", "tril",
        "triu", "embedding", "gather", "index.Tensor", "index_select", "full", "full_like", "scalar_tensor",
        "pixel_shuffle", "pixel_unshuffle", "upsample_nearest2d", "upsample_nearest2d.vec", "where.self",
        "masked_fill.Scalar", "masked_fill.Tensor", "sym_size.int", "sym_numel", "_local_scalar_dense",
    )
)  # fmt: skip
"""Ops whose result has elements of their operands, or numbers that the program names."""

KERNEL = Inexact(
    "its kernel outside XNNPACK computes in floating point, with or without FMA, and by the system's functions",
    "quantise the model to static int8 (--quantize=static), or compute the op outside the model",
)


def inexact_kernel(op: edge.EdgeOp) -> Inexact | None:
    """Why the results of an op outside delegates differ from processor to processor; None if they are the same.

    Sums and products of integers are exact. A quantised number is one product of two fp32 numbers and one rounding.
    """
    if op.name in MOVES or isinstance(op, Quantize | Dequantize):
        return None
    return None if all(map(_is_integer, (*op.operands, *op.results))) else KERNEL


def _is_integer(value: SSAValue) -> bool:
    element = value.type.get_element_type() if isinstance(value.type, TensorType) else value.type
    return isinstance(element, IntegerType | IndexType)
