"""The `delegate` dialect: regions for a backend before they are legalised, and the base of all backends' graphs.

`form-delegates` moves the ops that a backend accepts into a `delegate.region`. The backend's legalisation replaces the
region by an op of its own dialect, a `GraphOp`, which becomes a delegate in the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from xir.ir.traits import HoldsGraph


class GraphOp(IRDLOperation, ABC):
    """Base of the ops that backends make of regions: a part of the program that one delegate runs.

    It is isolated from above and has one block. The operands are the block's arguments, in order, and the results are
    what the block's terminator names.
    """

    traits = traits_def(HoldsGraph())

    BACKEND: ClassVar[str]
    """The name of the backend that the op belongs to (`xir.backend.registry`)."""

    @property
    def block(self) -> Block:
        """What the delegate runs."""
        return self.regions[0].block

    @property
    def values(self) -> Sequence[SSAValue]:
        """All values in the block: its arguments, then the results of its ops in order."""
        block = self.block
        return (*block.args, *(result for op in block.ops for result in op.results))

    @property
    def block_outputs(self) -> Sequence[SSAValue]:
        """The values in the block that the results are."""
        last = self.block.last_op
        assert last is not None
        return last.operands


class InfersShapes(IRDLOperation, ABC):
    """Base of ops in graphs that follow sizes: so `lower-to-pte` knows how large a result with dynamic sizes can be."""

    @abstractmethod
    def result_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
        """The results' shapes for operands of the given shapes, whose sizes need not be those in the types.

        Operands whose shapes do not fit together raise VerifyException.
        """


@irdl_op_definition
class RegionOp(IRDLOperation):
    """Edge ops that one backend computes together. They read values from outside directly.

    So a backend's rules see what ops read: whether a value is a constant, and which ops produced it.

    ```mlir
    %1 = delegate.region "xnnpack" : tensor<4xf32> {
      %2 = edge.abs(%0) : (tensor<4xf32>) -> tensor<4xf32>
      delegate.yield %2 : tensor<4xf32>
    }
    ```
    """

    name = "delegate.region"

    backend = prop_def(StringAttr)
    outputs = var_result_def(AnyAttr())
    body = region_def("single_block")

    traits = traits_def(Pure())

    assembly_format = "$backend (`:` type($outputs)^)? attr-dict-with-keyword $body"

    def __init__(self, backend: str, result_types: Sequence[Attribute], body: Region):
        super().__init__(properties={"backend": StringAttr(backend)}, result_types=[result_types], regions=[body])

    @property
    def yield_op(self) -> YieldOp:
        """The terminator."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        block = self.body.block
        if block.args:
            raise VerifyException("a region reads values from outside directly, its block has no arguments")
        if not isinstance(block.last_op, YieldOp):
            raise VerifyException("a region must end with delegate.yield")
        if list(self.yield_op.values.types) != list(self.outputs.types):
            raise VerifyException("the yielded values must have the types of the results")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """End a region and name its results."""

    name = "delegate.yield"

    values = var_operand_def(AnyAttr())

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(RegionOp)))

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])


Delegate = Dialect("delegate", [RegionOp, YieldOp])
