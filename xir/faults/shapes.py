"""Makes the tensors of a program smaller: a size is another one wherever it stands, and what ops compute follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from xir.dialects import delegate, edge, xnnpack
from xir.evaluate.evaluator import Evaluator
from xir.evaluate.inputs import draw_inputs
from xir.faults.random_constants import ConstantOp, constants_of, elements_of, set_elements
from xir.ir.constants import dense_of_storage, element_type_of_constant, storage_array
from xir.ir.context import XirContext


def sizes_of(module: ModuleOp) -> list[int]:
    """The sizes above 1 of a module's arguments and constants, the largest first."""
    values = [value for op in module.body.ops if isinstance(op, FuncOp) for value in op.body.block.args]
    values += [op.results[0] for op in constants_of(module)]
    found = {size for value in values if isinstance(value.type, TensorType) for size in value.type.get_shape()}
    return sorted((size for size in found if size > 1), reverse=True)


def volume(module: ModuleOp) -> int:
    """How many elements the arguments and constants of a module have."""
    values = [value for op in module.body.ops if isinstance(op, FuncOp) for value in op.body.block.args]
    values += [op.results[0] for op in constants_of(module)]
    return sum(abs(int(np.prod(value.type.get_shape()))) for value in values if isinstance(value.type, TensorType))


def smaller_sizes(size: int) -> list[int]:
    """What to try in the place of a size, the smallest first."""
    return sorted({1, 2, 3, size // 4, size // 2} & set(range(1, size)))


@dataclass(frozen=True)
class Way:
    """A way to have another size in the place of one."""

    size: int
    other: int
    as_factor: bool
    """Whether sizes that are multiples become smaller as well."""
    in_attributes: bool
    """Whether numbers in attributes are sizes; dimensions are numbers too."""

    def __call__(self, size: int) -> int:
        """What becomes of a size."""
        if self.as_factor:
            return size // self.size * self.other if size > 0 and size % self.size == 0 else size
        return self.other if size == self.size else size


def ways(size: int, other: int) -> list[Way]:
    """All ways to have `other` in the place of `size`."""
    return [Way(size, other, *each) for each in ((True, True), (False, True), (True, False), (False, False))]


def resize(module: ModuleOp, ctx: XirContext, way: Way) -> bool:
    """Change the sizes of arguments and constants, and let results have the shapes that follow; False if nothing
    becomes smaller.

    DiagnosticError, or whatever else torch raises, if the ops do not run on such operands.
    """
    before = volume(module)
    for op in constants_of(module):
        _resize_constant(op, ctx, way)
    for op in module.walk():
        if isinstance(op, FuncOp):
            for argument in op.body.block.args:
                Rewriter.replace_value_with_new_type(argument, _resized(argument.type, way))
        elif isinstance(op, edge.EdgeOp | xnnpack.NodeOp) and way.in_attributes:
            for name, attribute in op.properties.items():
                op.properties[name] = _changed(attribute, way)
    for op in module.body.ops:
        if isinstance(op, FuncOp):
            _follow(op, ctx)
    return volume(module) < before


def _resize_constant(op: ConstantOp, ctx: XirContext, way: Way) -> None:
    """Keep the first elements along each dimension."""
    array, element = storage_array(elements_of(op), ctx, op), element_type_of_constant(elements_of(op))
    shape = [way(size) for size in array.shape]
    if shape == list(array.shape):
        return
    made = np.ascontiguousarray(array[tuple(slice(size) for size in shape)])
    set_elements(op, dense_of_storage(made, element, ctx, "smaller"))
    Rewriter.replace_value_with_new_type(op.results[0], _with_shape(op.results[0].type, shape))


def _resized(type: Attribute, way: Way) -> Attribute:
    if not isinstance(type, TensorType):
        return type
    return TensorType(type.element_type, [size if size == DYNAMIC_INDEX else way(size) for size in type.get_shape()])


def _with_shape(type: Attribute, shape: Sequence[int]) -> Attribute:
    assert isinstance(type, TensorType)
    sizes = [size if size == DYNAMIC_INDEX else new for size, new in zip(type.get_shape(), shape, strict=True)]
    return TensorType(type.element_type, sizes)


def _changed(attribute: Attribute, way: Way) -> Attribute:
    """An attribute with other sizes, where it is one, or a list of them."""
    match attribute:
        case IntegerAttr(type=IntegerType()) if attribute.value.data > 1:
            return IntegerAttr(way(attribute.value.data), attribute.type)
        case DenseArrayBase(elt_type=IntegerType() as element):
            values = cast("DenseArrayBase[IntegerType]", attribute).get_values()
            return DenseArrayBase.from_list(element, [way(value) if value > 1 else value for value in values])
        case ArrayAttr():
            return ArrayAttr([_changed(each, way) for each in attribute.data])
        case _:
            return attribute


def _follow(function: FuncOp, ctx: XirContext) -> None:
    """Give the values of a function the shapes that its ops compute."""
    shapes: dict[SSAValue, Sequence[int]] = {}

    def observe(value: SSAValue, computed: Any) -> None:
        if isinstance(value.type, TensorType):
            shapes[value] = computed.shape

    Evaluator(ctx, observe, checks_types=False).run(function, draw_inputs(function))
    for value, shape in shapes.items():
        Rewriter.replace_value_with_new_type(value, _with_shape(value.type, shape))
    _enter_graphs(function)
    last = function.body.block.last_op
    assert last is not None
    function.properties["function_type"] = FunctionType.from_lists(
        [argument.type for argument in function.body.block.args], [value.type for value in last.operands]
    )


def _enter_graphs(function: FuncOp) -> None:
    """Let the arguments of graphs have the shapes of the operands that they stand for."""
    for op in function.walk():
        if isinstance(op, delegate.GraphOp):
            for operand, argument in zip(op.operands, op.block.args, strict=True):
                if isinstance(operand.type, TensorType):
                    shape = operand.type.get_shape()
                    Rewriter.replace_value_with_new_type(argument, _with_shape(argument.type, shape))
