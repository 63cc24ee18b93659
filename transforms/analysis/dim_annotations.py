"""The annotations of dimensions on functions and ops.

`xir.max_shape`, `xir.max_shapes` and `xir.dim_names` are about dynamic ones, `xir.dim_order` is about their order in
memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xir.ir.annotations import DIM_NAMES, DIM_ORDER, MAX_SHAPE, MAX_SHAPES
from xir.ir.array_attributes import ints
from xir.ir.diagnostics import DiagnosticError
from xir.ir.location import Locatable
from xir.ir.shapes import Shape, same_shape
from xir.ir.tensor_types import size_problem


def largest_arguments(function: FuncOp) -> dict[SSAValue, Shape]:
    """The largest shape of each argument that has one."""
    return dict(stated_shapes(argument_attributes(function, MAX_SHAPE), MAX_SHAPE))


def largest_results(op: Operation) -> dict[SSAValue, Shape]:
    """The largest shape of each result, if the op has them."""
    return dict(stated_shapes(result_attributes(op, MAX_SHAPES), MAX_SHAPES))


def argument_names(function: FuncOp) -> Iterator[tuple[SSAValue, Sequence[str]]]:
    """The dynamic arguments of a function, with their dimensions' names as far as they have some."""
    return dynamic_names(argument_attributes(function, DIM_NAMES))


def result_names(op: Operation) -> Iterator[tuple[SSAValue, Sequence[str]]]:
    """The dynamic results of an op, with their dimensions' names as far as they have some."""
    return dynamic_names(result_attributes(op, DIM_NAMES))


def dim_orders(function: FuncOp) -> dict[SSAValue, tuple[int, ...]]:
    """For each argument that the caller passes with permuted dimensions, the permutation."""
    found: dict[SSAValue, tuple[int, ...]] = {}
    for argument, attribute in argument_attributes(function, DIM_ORDER):
        if not isinstance(attribute, DenseArrayBase):
            continue
        found[argument] = _order(attribute, argument.type, argument)
    return found


def result_orders(function: FuncOp) -> dict[int, tuple[int, ...]]:
    """For each result that the caller gets with permuted dimensions, by its number, the permutation."""
    found: dict[int, tuple[int, ...]] = {}
    if function.res_attrs is None:
        return found
    for index, (type, each) in enumerate(zip(function.function_type.outputs, function.res_attrs, strict=True)):
        attribute = each.data.get(DIM_ORDER)
        if isinstance(attribute, DenseArrayBase):
            found[index] = _order(attribute, type, function)
    return found


def _order(attribute: DenseArrayBase, type: Attribute, where: Locatable) -> tuple[int, ...]:
    order = ints(attribute)
    if not isinstance(type, TensorType) or sorted(order) != list(range(type.get_num_dims())):
        raise DiagnosticError(where, f"{DIM_ORDER} {list(order)} is no order of the dimensions of a {type}")
    return order


Annotated = Iterator[tuple[SSAValue, Attribute | None]]
"""Values with their annotations."""


def stated_shapes(annotated: Annotated, name: str) -> Iterator[tuple[SSAValue, Shape]]:
    """The shapes that are largest shapes; DiagnosticError for one that the value's type cannot have."""
    for value, attribute in annotated:
        if not isinstance(attribute, DenseArrayBase) or not isinstance(value.type, TensorType):
            continue
        shape, type = ints(attribute), value.type
        if min(shape, default=0) < 0 or not same_shape(shape, type.get_shape()):
            raise DiagnosticError(value, f"{name} {list(shape)} is not the largest shape of a {type}")
        if (problem := size_problem(shape)) is not None:
            raise DiagnosticError(value, f"{name}: {problem}")
        yield value, shape


def dynamic_names(annotated: Annotated) -> Iterator[tuple[SSAValue, Sequence[str]]]:
    """The values with dynamic dimensions, and the names of all of their dimensions, if they have some."""
    for value, attribute in annotated:
        if isinstance(value.type, TensorType) and not value.type.has_static_shape():
            given = attribute if isinstance(attribute, ArrayAttr) else ()
            yield value, [name.data for name in given if isinstance(name, StringAttr)]


def argument_attributes(function: FuncOp, name: str) -> Annotated:
    """Each argument of a function with one of its attributes."""
    attributes = function.arg_attrs
    for index, argument in enumerate(function.args):
        yield argument, None if attributes is None else attributes.data[index].data.get(name)


def result_attributes(op: Operation, name: str) -> Annotated:
    """Each result of an op with its entry in one of the op's attributes."""
    attribute = op.attributes.get(name)
    entries = attribute.data if isinstance(attribute, ArrayAttr) else ()
    for index, result in enumerate(op.results):
        yield result, entries[index] if index < len(entries) else None
