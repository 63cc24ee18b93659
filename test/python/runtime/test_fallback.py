"""Operators without a portable kernel run through torch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from reference.aten_calls import CASES, UNSPECIFIED, Case, aten_call
from reference.modules import Function

import xir
from xir.dialects import edge
from xir.importer.dtypes import DTYPES
from xir.runtime import Method, Runtime, XirRuntimeError
from xir.runtime.convert import physical_from_torch
from xir.runtime.dtypes import torch_number
from xir.runtime.fallback import find_kernel, find_operator
from xir.transforms.pte._kernel_calls import kernel_arguments


def load(function: Any, *inputs: torch.Tensor) -> Method:
    """A program of kernels only."""
    program = xir.to_edge(torch.export.export(Function(function), inputs)).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


@pytest.mark.parametrize("function", [torch.linalg.svdvals, torch.linalg.matrix_rank, torch.linalg.cond])
def test_singular_values_are_computed_without_vectors(function: Any):
    """Which a matrix with infinities does not have: torch raises, but for its values alone."""
    for x in (torch.randn(5, 5), torch.randn(5, 5).index_fill(0, torch.tensor([1, 3]), -torch.inf)):
        torch.testing.assert_close(load(function, torch.zeros(5, 5)).execute([x])[0], function(x), equal_nan=True)


def test_singular_vectors_are_computed_where_they_are_read():
    x = torch.randn(4, 3)
    u, s, vh = load(lambda x: torch.linalg.svd(x, full_matrices=False), x).execute([x])
    torch.testing.assert_close(u @ torch.diag(s) @ vh, x)


def test_portable_kernels_hand_over_other_dtypes():
    """As of means, which they take of floats."""
    x = torch.randint(0, 9, (1, 1, 4, 4))
    method = load(lambda x: torch.nn.functional.avg_pool2d(x, 2), x)
    assert method.metadata.kernel_names == ("aten::avg_pool2d.out",)
    for _ in range(2):
        torch.testing.assert_close(method.execute([x])[0], torch.nn.functional.avg_pool2d(x, 2))


def test_what_torch_raises_is_told_in_one_line():
    index = torch.tensor([0, 7])
    method = load(lambda x, i: torch.index_select(x, 0, i), torch.randn(8, 2), index)
    with pytest.raises(XirRuntimeError) as error:
        method.execute([torch.randn(8, 2), index + 5])
    assert "aten::index_select" in str(error.value)
    assert "Traceback" not in str(error.value)


def test_a_list_of_results_may_be_resized():
    x = torch.rand(6, 2)
    method = load(lambda x: torch.histogramdd(x, [2, 3]), x)
    expected = torch.histogramdd(x, [2, 3])
    for out, reference in zip(method.execute([x]), [expected.hist, *expected.bin_edges], strict=True):
        torch.testing.assert_close(out, reference)


@pytest.mark.parametrize("function", [lambda x: torch.normal(x, 0.0), lambda x: torch.normal(2.0, x * 0)])
def test_results_have_the_operands_shape(function: Any):
    x = torch.rand(2, 3)
    torch.testing.assert_close(load(function, x).execute([x])[0], function(x))


def test_operators_without_results_run():
    method = load(torch.linalg.inv, torch.eye(3))
    x = torch.eye(3) * 2
    torch.testing.assert_close(method.execute([x])[0], torch.linalg.inv(x))
    with pytest.raises(XirRuntimeError, match="singular"):
        method.execute([torch.zeros(3, 3)])


def test_sparse_inputs_are_refused():
    method = load(lambda x: x + x, torch.eye(3))
    with pytest.raises(XirRuntimeError, match="make it dense"):
        method.execute([torch.eye(3).to_sparse()])


def test_operators_that_are_unknown_or_open_files():
    assert find_kernel("aten::no_such_operator.out") is None
    assert find_kernel("nonsense") is None
    assert find_operator("aten::add.out") is torch.ops.aten.add.out
    assert find_operator("aten::from_file") is None
    assert find_operator("aten::from_file.out") is None


FORMATS = {"contiguous_format": 0, "preserve_format": 1, "channels_last": 2}


def as_passed(value: Any) -> Any:
    """An argument as the C++ runtime passes it to a fallback."""
    match value:
        case torch.Tensor():
            order = tuple(range(value.ndim))
            return physical_from_torch(value, order), torch_number(value.dtype), order, True, value.nbytes
        case torch.dtype():
            return torch_number(value)
        case list() | tuple():
            return [as_passed(each) for each in value]
        case str() if value in FORMATS:
            return FORMATS[value]
        case _:
            return value


def call_arguments(op: edge.EdgeOp, values: dict[Any, Any]) -> list[Any]:
    """The arguments of an op's kernel, without its results."""
    arguments: list[Any] = []
    for name in kernel_arguments(op.schema, op.out_kernel):
        argument = op.schema.tensors.get(name)
        if argument is None:
            value = op.argument(name)
            arguments.append(DTYPES.get(value, value))
        elif argument.type.is_list:
            arguments.append([None if each is None else values[each] for each in op.argument(name)])
        else:
            tensor = op.argument(name)
            arguments.append(None if tensor is None else values[tensor])
    return arguments


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}-{i}") for name, cases in CASES.items() for i, case in enumerate(cases)],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_runs_every_op_of_the_edge_dialect(name: str, case: Case):
    call = aten_call(name, case)
    op, expected = call.op, call.expected
    kernel = find_kernel(op.out_kernel or op.schema.qualified_name)
    assert kernel is not None
    # What the memory of results holds before does not matter.
    places = [torch.zeros_like(each) if isinstance(each, torch.Tensor) else each for each in expected]
    is_list = op.schema.returns[0].type.is_list
    tensors = [place for place in places if isinstance(place, torch.Tensor)]
    out = [] if op.out_kernel is None else [tensors] if is_list else tensors
    returned = [places] if is_list or (out and len(places) > 1) else places
    arguments = as_passed([*call_arguments(op, call.values), *out, *returned])
    answered: list[Any] = [content for _, content in kernel(arguments)]
    if is_list:
        (answered,) = answered
    assert len(answered) == len(expected)
    for got, wanted in zip(answered, expected, strict=True):
        if not isinstance(wanted, torch.Tensor):
            assert got == wanted
            continue
        shape, array = got
        reference = physical_from_torch(wanted, range(wanted.ndim))
        assert shape == tuple(wanted.shape)
        assert array.dtype == reference.dtype
        if name not in UNSPECIFIED:
            torch.testing.assert_close(torch.from_numpy(array), torch.from_numpy(reference), equal_nan=True)
