"""The op that holds the nodes, and what stands in it beside nodes."""

from __future__ import annotations

from functools import cache
from typing import ClassVar, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    lazy_traits_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from xir.dialects.delegate import GraphOp
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack.base import NodeOp, Tensor
from xir.ir.constants import parse_dense
from xir.ir.targets import TARGETS
from xir.ir.traits import DistinctOperands, Isolated, VerifiedByTypes
from xir.ir.walking import ops_in


@irdl_op_definition
class SubgraphOp(GraphOp):
    """One XNNPACK subgraph: the part of a program that one delegate runs.

    The block's arguments are the subgraph's external inputs, the yielded values its external outputs, both in order.
    A quantised one is a tensor of plain integers outside, of its storage type.

    ```mlir
    %1 = xnnpack.subgraph(%0) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %b = xnnpack.unary abs %a : tensor<4xf32> -> tensor<4xf32>
      xnnpack.yield %b : tensor<4xf32>
    }
    ```
    """

    name = "xnnpack.subgraph"
    BACKEND: ClassVar[str] = "xnnpack"

    inputs = var_operand_def(Tensor)
    outputs = var_result_def(Tensor)
    body = region_def("single_block")
    target = prop_def(StringAttr, default_value=StringAttr("executorch"))

    traits = traits_def(Isolated(), Pure())

    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body"

    @property
    def yield_op(self) -> YieldOp:
        return cast(YieldOp, self.body.block.last_op)

    def verify_(self) -> None:
        if self.target.data not in TARGETS:
            raise VerifyException(f"unknown target '{self.target.data}', expected one of {', '.join(TARGETS)}")
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("the body must end with xnnpack.yield")
        arg_types = [arg.type for arg in self.body.block.args]
        if list(map(outside_type, arg_types)) != list(self.inputs.types):
            raise VerifyException("the block's arguments must have the types of the operands")
        if list(map(outside_type, self.yield_op.values.types)) != list(self.outputs.types):
            raise VerifyException("the yielded values must have the types of the results")
        has_xir_nodes = TARGETS[self.target.data].xir_nodes
        for op in ops_in(self, Operation):
            kind = type(op)
            if not belongs_in_graphs(kind):
                raise VerifyException(f"'{op.name}' is not an XNNPACK node")
            if not has_xir_nodes and may_be_xir_only(kind) and isinstance(op, NodeOp) and op.member().is_xir_only:
                raise VerifyException(f"stock ExecuTorch has no node for '{op.name}'; use target \"xir\"")


@cache
def belongs_in_graphs(kind: type[Operation]) -> bool:
    """Whether ops of a class may stand in a subgraph."""
    return issubclass(kind, NodeOp | ConstantOp | YieldOp)


@cache
def may_be_xir_only(kind: type[Operation]) -> bool:
    """Whether some node of a class is one that stock ExecuTorch does not have."""
    return issubclass(kind, NodeOp) and any(member.is_xir_only for member in kind.WIRE.members.values())


def outside_type(type: Attribute) -> Attribute:
    """What a tensor of a subgraph's type is outside of it: a quantised one is a tensor of its integers."""
    if not isinstance(type, TensorType) or not isinstance(element := type.element_type, UniformType):
        return type
    return TensorType(element.storage, type.get_shape())


@irdl_op_definition
class YieldOp(IRDLOperation):
    """End a subgraph and name its outputs: each the result of a node, none of them twice."""

    name = "xnnpack.yield"

    values = var_operand_def(Tensor)

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(SubgraphOp), DistinctOperands()))

    assembly_format = "($values^ `:` type($values))? attr-dict"

    def verify_(self) -> None:
        if len(set(self.values)) != len(self.values):
            raise VerifyException("a value can be one output only; copy it with xnnpack.copy")
        for value in self.values:
            if not isinstance(value.owner, NodeOp):
                raise VerifyException("an output must be the result of a node; copy it with xnnpack.copy")


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A static tensor: a weight, a bias, a scalar.

    The elements are stored as `value`'s type says; a quantised tensor adds its own type behind an arrow. The text form
    is written by hand because that second type appears only where it differs.

    ```mlir
    %0 = xnnpack.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %1 = xnnpack.constant dense_resource<features.0.weight> : tensor<16x3x3x3xf32>
    ```
    """

    name = "xnnpack.constant"

    value = prop_def(AnyAttr())
    output = result_def(Tensor)

    traits = traits_def(Pure(), ConstantLike(), VerifiedByTypes())

    def __init__(self, value: DenseIntOrFPElementsAttr | DenseResourceAttr, output_type: TensorType | None = None):
        super().__init__(properties={"value": value}, result_types=[output_type or value.get_type()])

    @property
    def elements(self) -> DenseIntOrFPElementsAttr | DenseResourceAttr:
        return cast("DenseIntOrFPElementsAttr | DenseResourceAttr", self.value)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = parse_dense(parser)
        output_type = parser.parse_type() if parser.parse_optional_punctuation("->") else value.get_type()
        op = cls.create(properties={"value": value}, result_types=[output_type])
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)
        if self.output.type != self.elements.get_type():
            printer.print_string(" -> ")
            printer.print_attribute(self.output.type)

    def verify_(self) -> None:
        value, output = self.value, self.output.type
        assert isinstance(output, TensorType)
        if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
            raise VerifyException("value must be a dense or dense_resource attribute")
        stored = value.get_type()
        if not isinstance(stored, TensorType) or stored.get_shape() != output.get_shape():
            raise VerifyException("value and result must have one shape")
        if not output.has_static_shape():
            raise VerifyException("a constant has a static shape")
        if isinstance(output.element_type, UniformType):
            output.element_type.verify_shape(output.get_shape())
        elif stored.element_type != output.element_type:
            raise VerifyException(f"elements of type {output.element_type} cannot be stored as {stored.element_type}")
