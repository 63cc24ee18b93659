"""Every row of the edge dialect against ATen: result types as inferred, and values through the interpreter.

Arguments are what type checkers are told; `dialects/samples/typed_arguments.py` has what these find wrong.
"""

import types
import typing
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from reference.aten_calls import CASES, UNSPECIFIED, Case, aten_call

from xir.dialects import edge
from xir.dialects.edge.accessors import annotation
from xir.importer.interpreter import aten_operator, run_op
from xir.ir.context import XirContext
from xir.transforms.pte._kernel_calls import kernel_arguments


def is_a(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says."""
    if isinstance(hint, types.UnionType):
        return any(is_a(value, each) for each in typing.get_args(hint))
    if typing.get_origin(hint) is Sequence:
        return isinstance(value, Sequence) and all(is_a(each, typing.get_args(hint)[0]) for each in value)
    return isinstance(value, hint) and not (isinstance(value, bool) and hint is int)


def test_every_row_has_a_case() -> None:
    assert {f"edge.{name}" for name in CASES} == set(edge.OPS)


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}-{i}") for name, c in CASES.items() for i, case in enumerate(c)],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_types_and_values_are_atens(name: str, case: Case) -> None:
    call = aten_call(name, case)
    call.op.verify_()
    arguments = {argument.name: getattr(call.op, argument.name) for argument in call.op.schema.arguments}
    for argument in call.op.schema.arguments:
        assert is_a(arguments[argument.name], annotation(argument.type)), argument
    assert type(call.op).build_from(arguments, call.op.result_types).properties == call.op.properties
    if call.inferred:
        assert list(call.op.infer_result_types()) == [result.type for result in call.op.results]

    actual = run_op(call.op, call.values, XirContext())
    if name in UNSPECIFIED:
        return
    for wanted, got in zip(call.expected, actual, strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("name", sorted(name for name in edge.OPS if "executorch_prim" not in name))
def test_row_states_torchs_schema(name: str) -> None:
    """The schema and the kernel of a row are facts of torch."""
    schema = edge.OPS[name].row.schema
    actual = edge.parse_schema(str(aten_operator(schema)._schema))
    plain = [(a.name, a.type, a.default, a.kwarg_only) for a in schema.arguments]
    assert [(a.name, a.type, a.default, a.kwarg_only) for a in actual.arguments] == plain
    assert [r.type for r in actual.returns] == [r.type for r in schema.returns]

    kernel = edge.OPS[name].row.out
    if kernel is None or schema.namespace != "aten" or kernel == schema.qualified_name:
        return
    base, _, overload = kernel.removeprefix("aten::").partition(".")
    out = edge.parse_schema(str(getattr(getattr(torch.ops.aten, base), overload or "default")._schema))
    inputs = {a.name: a.type for a in out.arguments if not a.mutated}
    options = {"dtype", "layout", "device", "pin_memory"} if "pin_memory" in schema.values else set()
    assert inputs == {a.name: a.type for a in schema.arguments if a.name not in options}
    assert kernel_arguments(schema, kernel) == list(inputs)
    # As many out tensors as results; a number is only returned.
    assert len(out.arguments) - len(inputs) == sum(each.type.is_tensor for each in schema.returns)
