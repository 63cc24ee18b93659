"""Whether an edge op is the call that its schema describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, Float64Type, IntegerType, TensorType, f64, i1, i64
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from xir.ir.plugin_bugs import WrongResultError

from .attributes import to_python
from .properties import PRESENT_SUFFIX, SEGMENTS
from .schema import REQUIRED, Argument, Schema

if TYPE_CHECKING:
    from .base import EdgeOp


def verify_call(op: EdgeOp) -> None:
    """Check properties, operands and results against the schema, then against what the row infers."""
    schema = op.schema
    _verify_properties(op, schema)
    _verify_operands(op, schema)
    _verify_results(op, schema)
    if op.row.infer is not None:
        inferred = op.row.infer(op)
        if not _are_types(inferred):
            raise WrongResultError(op.row.infer, f"has to return the type of each result, and returned {inferred!r}")
        _verify_inferred(op, inferred)


def _are_types(inferred: object) -> bool:
    """Whether what a row's function returned, which may be a plugin's, is what it has to return."""
    return isinstance(inferred, Sequence) and all(t is None or isinstance(t, Attribute) for t in inferred)


def _verify_properties(op: EdgeOp, schema: Schema) -> None:
    for name, argument in schema.values.items():
        attribute = op.properties.get(name)
        if attribute is None:
            if argument.default is REQUIRED and not argument.type.optional:
                raise VerifyException(f"needs argument '{name}' ({argument.type})")
            continue
        try:
            value = to_python(argument.type, attribute)
        except VerifyException as e:
            raise VerifyException(f"argument '{name}': {e}") from None
        length = argument.type.length
        if length and length > 1 and len(value) != length and not (len(value) == 0 and argument.default == ()):
            raise VerifyException(f"argument '{name}': expected {length} values, got {len(value)}")
    unknown = op.properties.keys() - schema.values.keys() - op.OWN_PROPERTIES
    if not unknown:
        return
    allowed = {SEGMENTS} | {t + PRESENT_SUFFIX for t, a in schema.tensors.items() if a.type.optional_element}
    for name in unknown - allowed:
        raise VerifyException(f"has no argument '{name}'")


def _verify_operands(op: EdgeOp, schema: Schema) -> None:
    sizes = op.segment_sizes()
    symbols = op.symbol_count(schema.symbolic)
    fits = len(sizes) == len(schema.tensors) and sum(sizes) + symbols == len(op.operands)
    if not fits or not all(map(_takes, schema.tensors.values(), sizes)):
        expected = ", ".join(f"{a.type} {a.name}" for a in schema.tensors.values())
        raise VerifyException(
            f"has {len(op.operands)} operands, which do not fit ({expected})"
            + (f" and {symbols} run-time sizes" if symbols else "")
        )
    for argument, size in zip(schema.tensors.values(), sizes, strict=True):
        if argument.type.optional_element:
            _verify_present(op, argument.name + PRESENT_SUFFIX, size)
    tensor_count = len(op.operands) - symbols
    for index, operand in enumerate(op.operands[:tensor_count]):
        if not isinstance(operand.type, TensorType):
            raise VerifyException(f"operand #{index} has type {operand.type}, expected a tensor")
    if symbols:
        _verify_symbols(op, schema, tensor_count)


def _verify_symbols(op: EdgeOp, schema: Schema, tensor_count: int) -> None:
    numbers = [argument for argument in schema.symbolic for _ in range(op.symbol_count((argument,)))]
    for index, (argument, operand) in enumerate(zip(numbers, op.symbols, strict=True), tensor_count):
        if argument.type.base == "Scalar" and operand.type not in (i64, f64, i1):
            raise VerifyException(f"operand #{index} has type {operand.type}, expected i64, f64 or i1, a number")
        if argument.type.base != "Scalar" and operand.type != i64:
            raise VerifyException(f"operand #{index} has type {operand.type}, expected i64, a size")


def _verify_present(op: EdgeOp, name: str, size: int) -> None:
    present = op.properties.get(name)
    if present is None:
        return
    if not (
        isinstance(present, DenseArrayBase) and present.elt_type == i1 and sum(map(bool, present.get_values())) == size
    ):
        raise VerifyException(f"{name} does not fit its operands")


def _verify_results(op: EdgeOp, schema: Schema) -> None:
    returns = schema.returns
    if len(returns) == 1 and returns[0].type.is_list:
        kinds = [returns[0].type.base] * len(op.results)
    elif len(returns) == len(op.results):
        kinds = [r.type.base for r in returns]
    else:
        raise VerifyException(f"has {len(op.results)} results, its schema {len(returns)}")
    for index, (kind, result) in enumerate(zip(kinds, op.results, strict=True)):
        if not _fits(kind, result.type):
            raise VerifyException(f"result #{index} has type {result.type}, expected a {kind}")


def _verify_inferred(op: EdgeOp, expected: Sequence[Attribute | None]) -> None:
    if len(expected) != len(op.results):
        raise VerifyException(f"has {len(op.results)} results, expected {len(expected)}")
    for index, (wanted, result) in enumerate(zip(expected, op.results, strict=True)):
        if wanted is not None and wanted != result.type and not _compatible(wanted, result.type):
            raise VerifyException(f"result #{index} has type {result.type}, expected {wanted}")


def _takes(argument: Argument, size: int) -> bool:
    """Whether an argument may have so many operands."""
    return size >= 0 and (argument.type.is_list or size == 1 or (size == 0 and argument.type.optional))


def _fits(kind: str, type: Attribute) -> bool:
    match kind:
        case "Tensor":
            return isinstance(type, TensorType)
        case "int" | "SymInt":
            return type == i64
        case "float":
            return type == f64
        case "bool":
            return type == i1
        case _:
            return isinstance(type, IntegerType | Float64Type)


def _compatible(expected: Attribute, actual: Attribute) -> bool:
    """Equal up to dimensions that one of the two leaves open."""
    return (
        isinstance(expected, TensorType)
        and isinstance(actual, TensorType)
        and expected.element_type == actual.element_type
        and expected.get_num_dims() == actual.get_num_dims()
        and all(a == b or a < 0 or b < 0 for a, b in zip(expected.get_shape(), actual.get_shape(), strict=True))
    )
