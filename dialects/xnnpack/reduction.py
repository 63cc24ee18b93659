"""Reductions over any axes, which stock ExecuTorch has no node for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i32
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from xir.dialects.xnnpack.base import NodeOp, Shape, Tensor, ints, rank_of
from xir.dialects.xnnpack.elementwise import members_of
from xir.dialects.xnnpack.interfaces import decide
from xir.dialects.xnnpack.kinds import REDUCE, ReduceKind
from xir.dialects.xnnpack.wire import CountSlot, FlagsSlot, UIntsSlot, ValueSlot, Wire


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """What a reduction makes of the elements that it sees."""

    name = "xnnpack.reduce_kind"


@irdl_op_definition
class StaticReduceOp(NodeOp):
    """Reduce over `axes`, in ascending order (`xnn_define_static_reduce`); `keep_dims` leaves them with size 1.

    ```mlir
    %1 = xnnpack.static_reduce mean %0 {axes = array<i32: 1, 2>} : tensor<2x3x4x5xf32> -> tensor<2x5xf32>
    ```
    """

    name = "xnnpack.static_reduce"

    traits = traits_def(*decide(movement=None, layout=None, elementwise=False, boxes=None))

    kind = prop_def(ReduceKindAttr)
    input = operand_def(Tensor)
    output = result_def(Tensor)
    axes = prop_def(DenseArrayBase.constr(i32))
    keep_dims = opt_prop_def(UnitAttr)

    assembly_format = "$kind $input attr-dict `:` type($input) `->` type($output)"

    WIRE: ClassVar[Wire] = Wire(
        "XNNStaticReduce",
        members_of(REDUCE),
        (
            CountSlot("num_reduction_axes", "axes"),
            UIntsSlot("reduction_axes", "axes"),
            ValueSlot("input_id", "input"),
            ValueSlot("output_id", "output"),
            FlagsSlot({"keep_dims": 0x40}),
        ),
    )

    @property
    def member_key(self) -> str:
        return self.kind.data

    def verify_node(self) -> None:
        axes, rank = ints(self.axes), rank_of(self.input)
        if not axes or list(axes) != sorted(set(axes)) or axes[0] < 0 or axes[-1] >= rank:
            raise VerifyException(f"axes {list(axes)} are not some of the {rank} dimensions in ascending order")

    def result_shapes(self, shapes: Sequence[Shape]) -> Sequence[Shape]:
        axes, shape = ints(self.axes), shapes[0]
        if self.keep_dims is not None:
            return (tuple(1 if axis in axes else size for axis, size in enumerate(shape)),)
        return (tuple(size for axis, size in enumerate(shape) if axis not in axes),)
