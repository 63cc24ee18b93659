"""Control flow: what runs depends on data. The parts that may run are private functions of the module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import FlatSymbolRefAttr, LocationAttr, SymbolRefAttr, TensorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException


class _CallsFunctions(SymbolUserOpInterface):
    """Verifies the functions that an op names: that they are there, and take and give what the op says."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, ControlFlowOp)
        for name, inputs, outputs in op.callees():
            function = SymbolTable.lookup_symbol(op, name)
            if not isinstance(function, FuncOp):
                raise VerifyException(f"there is no function {name}")
            if function.is_declaration or len(function.body.blocks) != 1:
                raise VerifyException(f"{name} needs a body of one block")
            if enclosing_function(op) in _called_by(function):
                raise VerifyException(f"{name} calls itself")
            _check_types(name, "takes", function.function_type.inputs.data, inputs)
            if outputs is None:
                _check_condition(name, function.function_type.outputs.data)
            else:
                _check_types(name, "gives", function.function_type.outputs.data, outputs)


def _called_by(function: FuncOp) -> list[FuncOp]:
    """A function and all that it runs."""
    found = [function]
    for each in found:
        for op in each.walk():
            if isinstance(op, ControlFlowOp):
                callees = (SymbolTable.lookup_symbol(op, name) for name, _, _ in op.callees())
                found += [callee for callee in callees if isinstance(callee, FuncOp) and callee not in found]
    return found


def _check_types(name: SymbolRefAttr, verb: str, found: Sequence[Attribute], expected: Sequence[Attribute]) -> None:
    if tuple(found) != tuple(expected):
        lists = ("(" + ", ".join(map(str, types)) + ")" for types in (found, expected))
        raise VerifyException("{} {} {}, expected {}".format(name, verb, *lists))


def _check_condition(name: SymbolRefAttr, outputs: Sequence[Attribute]) -> None:
    if len(outputs) != 1 or not is_condition(outputs[0]):
        raise VerifyException(f"{name} gives {', '.join(map(str, outputs)) or 'nothing'}, expected one truth value")


def is_condition(type: Attribute) -> bool:
    """Whether a value of this type says yes or no: i1, or a tensor of one such element."""
    if not isinstance(type, TensorType):
        return type == i1
    return type.element_type == i1 and all(size == 1 for size in type.get_shape())


def enclosing_function(op: Operation) -> FuncOp | None:
    """The function that an op stands in."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent


class ControlFlowOp(IRDLOperation, ABC):
    """An op that runs functions of its module."""

    @abstractmethod
    def callees(self) -> Iterator[tuple[SymbolRefAttr, Sequence[Attribute], Sequence[Attribute] | None]]:
        """Each function's name, and the types that it has to take and to give; None: one truth value."""

    @abstractmethod
    def run(self, operands: Sequence[Any], call: Callable[[FuncOp, Sequence[Any]], Sequence[Any]]) -> Sequence[Any]:
        """The results for values of the operands; `call` runs a function. A truth value is whatever bool() takes."""

    def function(self, name: SymbolRefAttr) -> FuncOp:
        """One of the functions of a verified op."""
        function = SymbolTable.lookup_symbol(self, name)
        assert isinstance(function, FuncOp)
        return function


@irdl_op_definition
class CondOp(ControlFlowOp):
    """torch's `cond`: one of two functions of the same operands.

        %1 = edge.cond %p then @positive else @negative(%x) : tensor<i1>, (tensor<4xf32>) -> tensor<4xf32>

    Only the one that is chosen runs.
    """

    name = "edge.cond"

    condition = operand_def()
    args = var_operand_def()
    then_function = prop_def(FlatSymbolRefAttr)
    else_function = prop_def(FlatSymbolRefAttr)
    res = var_result_def()

    traits = traits_def(_CallsFunctions(), HasParent(FuncOp))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$condition `then` $then_function `else` $else_function `(` $args `)` attr-dict "
        "`:` type($condition) `,` functional-type($args, $res)"
    )

    def __init__(
        self,
        condition: SSAValue,
        then_function: str,
        else_function: str,
        args: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        location: LocationAttr | None = None,
    ):
        names = {"then_function": SymbolRefAttr(then_function), "else_function": SymbolRefAttr(else_function)}
        super().__init__(operands=[condition, args], properties=names, result_types=[result_types])
        if location is not None:
            self.location = location

    def callees(self) -> Iterator[tuple[SymbolRefAttr, Sequence[Attribute], Sequence[Attribute] | None]]:
        inputs, outputs = [value.type for value in self.args], self.res.types
        yield self.then_function, inputs, outputs
        yield self.else_function, inputs, outputs

    def run(self, operands: Sequence[Any], call: Callable[[FuncOp, Sequence[Any]], Sequence[Any]]) -> Sequence[Any]:
        condition, *args = operands
        return call(self.function(self.then_function if condition else self.else_function), args)

    def verify_(self) -> None:
        if not is_condition(self.condition.type):
            raise VerifyException(f"the condition is a {self.condition.type}, expected i1 or a tensor of one i1")


@irdl_op_definition
class WhileLoopOp(ControlFlowOp):
    """torch's `while_loop`: the results of the body are the operands of the next step, as long as the condition holds.

        %i, %y = edge.while_loop while @goes_on do @step(%0, %x) with(%n)
                   : (tensor<i64>, tensor<4xf32>), (tensor<i64>) -> (tensor<i64>, tensor<4xf32>)

    Both functions take the carried operands and, behind `with`, those that are the same in each step. The results are
    the carried values when the condition first fails: the first ones where it never holds.
    """

    name = "edge.while_loop"

    carried = var_operand_def()
    args = var_operand_def()
    condition_function = prop_def(FlatSymbolRefAttr)
    body_function = prop_def(FlatSymbolRefAttr)
    res = var_result_def()

    traits = traits_def(_CallsFunctions(), HasParent(FuncOp))
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "`while` $condition_function `do` $body_function `(` $carried `)` `with` `(` $args `)` attr-dict "
        "`:` `(` type($carried) `)` `,` functional-type($args, $res)"
    )

    def __init__(
        self,
        condition_function: str,
        body_function: str,
        carried: Sequence[SSAValue],
        args: Sequence[SSAValue],
        location: LocationAttr | None = None,
    ):
        super().__init__(
            operands=[carried, args],
            properties={
                "condition_function": SymbolRefAttr(condition_function),
                "body_function": SymbolRefAttr(body_function),
            },
            result_types=[[value.type for value in carried]],
        )
        if location is not None:
            self.location = location

    def callees(self) -> Iterator[tuple[SymbolRefAttr, Sequence[Attribute], Sequence[Attribute] | None]]:
        carried = [value.type for value in self.carried]
        inputs = [*carried, *(value.type for value in self.args)]
        yield self.condition_function, inputs, None
        yield self.body_function, inputs, carried

    def run(self, operands: Sequence[Any], call: Callable[[FuncOp, Sequence[Any]], Sequence[Any]]) -> Sequence[Any]:
        carried, args = operands[: len(self.carried)], operands[len(self.carried) :]
        condition, body = self.function(self.condition_function), self.function(self.body_function)
        while call(condition, [*carried, *args])[0]:
            carried = call(body, [*carried, *args])
        return carried

    def verify_(self) -> None:
        if [value.type for value in self.carried] != list(self.res.types):
            raise VerifyException("the results have the types of what the loop carries")
        if any(not isinstance(value.type, TensorType) for value in self.carried):
            raise VerifyException("a loop carries tensors: make a number a tensor without dimensions")
