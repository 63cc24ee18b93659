"""`crop-padding`: what is cut off the end of a convolution's result is not padded for in the first place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from xir.dialects import edge
from xir.dialects.edge.types import shape_of, wrap_dim
from xir.ir.analyses import ValueAnalysis
from xir.ir.context import XirContext
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.remarks import passed
from xir.ir.rewriting import erase_dead_ops, may_try
from xir.ir.symbolic_size import SymbolicSize
from xir.ir.walking import functions_in, only_block, ops_in
from xir.transforms.analysis.sizes import SymbolicSizes
from xir.transforms.edge._float_masks import MaskBuilder

Padded = edge.ConvolutionOp | edge.Conv1dOp | edge.Conv2dOp


@dataclass(frozen=True)
class CropPaddingPass(XirPass):
    """Reduce a convolution's padding instead of cutting off the end of its result along an open dimension.

    XNNPACK has no slice that counts from the end of a dimension whose size it infers. `conv(x)[..., :-1]`, as in causal
    convolutions, in those of even width and in Mamba's, is a convolution with less padding on that side: the padding
    becomes an op of its own, and the convolution's padding in that dimension is 0.

    Before:
    ```mlir
    %0 = edge.conv1d(%x, %w, none) {padding = array<i64: 2>}
         : (tensor<1x4x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x?xf32>
    %1 = edge.slice.Tensor(%0) {dim = 2 : i64, start = 0 : i64, end = -2 : i64}
         : (tensor<1x4x?xf32>) -> tensor<1x4x?xf32>
    ```
    After:
    ```mlir
    %0 = edge.constant_pad_nd(%x) {pad = array<i64: 2, 0>} : (tensor<1x4x?xf32>) -> tensor<1x4x?xf32>
    %1 = edge.conv1d(%0, %w, none) : (tensor<1x4x?xf32>, tensor<4x4x3xf32>) -> tensor<1x4x?xf32>
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.SAME
    proved: ClassVar[str] = (
        "convolutions of vectors and images with paddings up to 3 and strides up to 2, at two open sizes"
    )
    preserves: ClassVar = (ValueAnalysis,)

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """Rewrite every function with slices."""
        for function in functions_in(op):
            slices = list(ops_in(function, edge.SliceTensorOp))
            if slices:
                Cropping(only_block(function), ctx.analyses.get(SymbolicSizes, function)).run(slices)


class Cropping:
    """Rewrites one block."""

    def __init__(self, block: Block, sizes: SymbolicSizes):
        self.block = block
        self.sizes = sizes

    def run(self, slices: list[edge.SliceTensorOp]) -> None:
        """Rewrite each slice behind a convolution that nothing else reads."""
        for op in slices:
            conv = op.self.owner
            if not isinstance(conv, Padded) or len(list(conv.results[0].uses)) > 1:
                continue
            border = self.border(op, conv)
            if border is None or not may_try(op, "crop"):
                continue
            passed(op, "crop", f"pads {conv.operator_name} by less")
            self.crop(op, conv, *border)
        erase_dead_ops(self.block)

    def border(self, op: edge.SliceTensorOp, conv: Padded) -> tuple[int, int, int] | None:
        """The axis of space that a slice shortens, and by how much to pad it in front and behind; None for others."""
        whole, kept = self.sizes.known(conv.results[0]), self.sizes.known(op.results[0])
        dim = wrap_dim(op.dim, len(whole))
        axis = dim - 2
        is_from_start = op.argument("start") in (None, 0) and op.argument("step") == 1
        is_batch = len(whole) == len(shape_of(conv.weight))
        if axis < 0 or not is_batch or not is_from_start or not isinstance(whole[dim], SymbolicSize):
            return None
        if isinstance(conv, edge.ConvolutionOp) and conv.transposed:
            return None
        padding, stride = (values[axis if len(values) > 1 else 0] for values in (conv.padding, conv.stride))
        dropped = whole[dim] - kept[dim]
        if (
            isinstance(dropped, SymbolicSize)
            or dropped < 1
            or isinstance(padding, SSAValue)
            or isinstance(stride, SSAValue)
        ):
            return None
        behind = padding - dropped * stride
        return (axis, padding, behind) if behind >= 0 else None

    def crop(self, op: edge.SliceTensorOp, conv: Padded, axis: int, front: int, behind: int) -> None:
        """Pad an axis before the convolution, which then has no padding there."""
        space = len(shape_of(conv.results[0])) - 2
        pad = [0] * (2 * (space - axis - 1)) + [front, behind]
        padding = list(conv.padding) if len(conv.padding) > 1 else [conv.padding[0]] * space
        padding[axis] = 0
        build = MaskBuilder(self.block, conv)
        rows = build.call(edge.ConstantPadNdOp(self=conv.input, pad=pad, value=0.0))
        arguments = {name: conv.argument(name) for name in (*conv.schema.tensors, *conv.schema.values)}
        made = conv.build_from(arguments | {"input": rows, "padding": padding})
        result = build.call(made, shape_of(op.results[0]))
        result.name_hint = op.results[0].name_hint
        op.results[0].replace_all_uses_with(result)
