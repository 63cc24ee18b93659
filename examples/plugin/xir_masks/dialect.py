"""The `masks` dialect: elementwise operations on integers and bools, which one delegate runs as loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    TensorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Data, Dialect, Region, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from xir.plugin import GraphOp, InfersShapes, broadcast, parse_dense
from xir_masks.operation import ARITHMETIC, COMPARISONS, Operation, arity

ELEMENTS = (i1, i32, i64, f32)
Tensor = base(TensorType)


@irdl_attr_definition
class OperationAttr(Data[Operation], SpacedOpaqueSyntaxAttribute):
    """The name of an operation, written without quotes."""

    name = "masks.operation"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Operation:
        pos = parser.pos
        word = parser.parse_identifier()
        if word not in list(Operation) or word == Operation.RESHAPE:
            parser.raise_error(f"unknown operation '{word}'", pos)
        return Operation(word)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


@irdl_op_definition
class MasksGraphOp(GraphOp):
    """What one delegate computes. The block's arguments are its inputs, the yielded values its results.

    ```mlir
    %1 = masks.graph(%0) : (tensor<4xi64>) -> tensor<4xi1> {
    ^bb0(%a: tensor<4xi64>):
      %b = masks.constant dense<0> : tensor<i64>
      %c = masks.compute greater(%a, %b) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
      masks.yield %c : tensor<4xi1>
    }
    ```
    """

    BACKEND: ClassVar[str] = "masks"

    name = "masks.graph"

    inputs = var_operand_def(Tensor)
    outputs = var_result_def(Tensor)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body"

    def __init__(self, inputs: Sequence[SSAValue], outputs: Sequence[Attribute], body: Region):
        super().__init__(operands=[inputs], result_types=[outputs], regions=[body])

    def verify_(self) -> None:
        if not isinstance(self.block.last_op, YieldOp):
            raise VerifyException("the body must end with masks.yield")
        if list(self.block.arg_types) != list(self.inputs.types):
            raise VerifyException("the block's arguments must have the types of the operands")
        if [value.type for value in self.block_outputs] != list(self.outputs.types):
            raise VerifyException("the yielded values must have the types of the results")
        for op in self.block.ops:
            if not isinstance(op, ConstantOp | ComputeOp | ReshapeOp | YieldOp):
                raise VerifyException(f"'{op.name}' is no op of masks")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """End a graph and name its results: values that are computed, none of them twice."""

    name = "masks.yield"

    values = var_operand_def(Tensor)

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(MasksGraphOp)))
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])

    def verify_(self) -> None:
        if len(set(self.values)) != len(self.values):
            raise VerifyException("a value can be one result only")
        if not all(isinstance(value.owner, ComputeOp | ReshapeOp) for value in self.values):
            raise VerifyException("a result must be computed")


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A tensor or number that is known.

    ```mlir
    %0 = masks.constant dense<[1, 2]> : tensor<2xi64>
    ```
    """

    name = "masks.constant"

    value = prop_def(base(DenseIntOrFPElementsAttr) | base(DenseResourceAttr))
    output = result_def(Tensor)

    traits = traits_def(Pure())

    def __init__(self, value: DenseIntOrFPElementsAttr | DenseResourceAttr):
        super().__init__(properties={"value": value}, result_types=[value.get_type()])

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        op = cls(parse_dense(parser))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def verify_(self) -> None:
        if self.value.get_type() != self.output.type:
            raise VerifyException("value and result must have one type")
        expect_element(self.output.type)


@irdl_op_definition
class ComputeOp(InfersShapes):
    """One operation, element by element. Operands broadcast; but for `cast` and `select` they have one element type.

    ```mlir
    %2 = masks.compute add(%0, %1) : (tensor<4x1xi64>, tensor<3xi64>) -> tensor<4x3xi64>
    ```
    """

    name = "masks.compute"

    operation = prop_def(OperationAttr)
    inputs = var_operand_def(Tensor)
    output = result_def(Tensor)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$operation `(` $inputs `)` attr-dict `:` functional-type($inputs, $output)"

    def __init__(self, operation: Operation, inputs: Sequence[SSAValue], output: Attribute):
        super().__init__(operands=[inputs], properties={"operation": OperationAttr(operation)}, result_types=[output])

    def verify_(self) -> None:
        operation = self.operation.data
        if len(self.inputs) != arity(operation):
            raise VerifyException(f"'{operation}' has {arity(operation)} operands, found {len(self.inputs)}")
        output = expect_element(self.output.type)
        elements = [expect_element(value.type).element_type for value in self.inputs]
        if not takes(operation, elements, output.element_type):
            listed = ", ".join(str(element) for element in elements)
            raise VerifyException(f"'{operation}' of {listed} does not give {output.element_type}")
        shape = broadcast(*(expect_element(value.type).get_shape() for value in self.inputs))
        if operation is Operation.BROADCAST:
            if not output.has_static_shape():
                raise VerifyException("'broadcast' needs a static shape")
            shape = broadcast(shape, output.get_shape())
        if shape != output.get_shape():
            raise VerifyException(f"the result has shape {list(shape)}")

    def result_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
        return [broadcast(*shapes)]


@irdl_op_definition
class ReshapeOp(InfersShapes):
    """The same elements; some dimensions of size 1 are dropped, and others inserted, counted in the result.

    ```mlir
    %1 = masks.reshape %0 {drop = array<i64: 0>, insert = array<i64: 2>} : tensor<1x4x3xi1> -> tensor<4x3x1xi1>
    ```
    """

    name = "masks.reshape"

    input = operand_def(Tensor)
    drop = prop_def(DenseArrayBase)
    insert = prop_def(DenseArrayBase)
    output = result_def(Tensor)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$input attr-dict `:` type($input) `->` type($output)"

    def __init__(self, input: SSAValue, drop: Sequence[int], insert: Sequence[int]):
        source = expect_element(input.type)
        properties = {"drop": DenseArrayBase.from_list(i64, drop), "insert": DenseArrayBase.from_list(i64, insert)}
        shape = reshaped(source.get_shape(), drop, insert)
        super().__init__(operands=[input], properties=properties, result_types=[TensorType(source.element_type, shape)])

    def verify_(self) -> None:
        source = expect_element(self.input.type)
        drop, insert = self.dimensions
        shape = reshaped(source.get_shape(), drop, insert)
        if TensorType(source.element_type, shape) != self.output.type:
            raise VerifyException(f"the result has shape {list(shape)}")

    def result_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
        return [reshaped(shapes[0], *self.dimensions)]

    @property
    def dimensions(self) -> tuple[list[int], list[int]]:
        """The dimensions that are dropped, and those that are inserted."""
        return list(map(int, self.drop.get_values())), list(map(int, self.insert.get_values()))


def expect_element(type: Attribute) -> TensorType:
    """The type, if it is one that the operations know."""
    if not isinstance(type, TensorType) or type.element_type not in ELEMENTS:
        raise VerifyException(f"{type} is no tensor of {', '.join(map(str, ELEMENTS))}")
    return type


def takes(operation: Operation, elements: Sequence[Attribute], output: Attribute) -> bool:
    """Whether an operation on tensors of these elements gives one of `output`."""
    if operation is Operation.SELECT:
        return list(elements) == [i1, output, output]
    if operation is Operation.CAST:
        return elements[0] != f32
    if operation is Operation.BROADCAST:
        return elements[0] == output
    if f32 in elements or len(set(elements)) != 1:
        return False
    if operation in COMPARISONS:
        return output == i1
    return output == elements[0] and not (operation in ARITHMETIC and output == i1)


def reshaped(shape: Sequence[int], drop: Sequence[int], insert: Sequence[int]) -> tuple[int, ...]:
    """`shape` without some dimensions of size 1, and with others, counted in the result."""
    if any(not 0 <= dim < len(shape) or shape[dim] != 1 for dim in drop):
        raise VerifyException("only dimensions of size 1 can be dropped")
    result = [size for dim, size in enumerate(shape) if dim not in drop]
    for dim in sorted(insert):
        if not 0 <= dim <= len(result):
            raise VerifyException(f"dimension {dim} cannot be inserted")
        result.insert(dim, 1)
    return tuple(result)


Masks = Dialect("masks", [MasksGraphOp, YieldOp, ConstantOp, ComputeOp, ReshapeOp], [OperationAttr])
