"""What a plan's memory holds, against its bytes one by one; and how long raising takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from reference.cost import assert_linear
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, f32, i64
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Block, Operation, Region, SSAValue

from xir.dialects import edge, pte
from xir.ir.tensor_types import tensor_type
from xir.runtime.fallback import DIM_ORDER_COPIES
from xir.transforms.pte.raise_from_pte import raise_plan
from xir.transforms.pte.raising.calls import COPIES
from xir.transforms.pte.raising.memory import PlaceContents
from xir.transforms.pte.raising.open_sizes import OpenSizes
from xir.transforms.pte.raising.refusal import NotRaisedError

PLACES = st.tuples(st.integers(0, 6), st.integers(1, 4))
"""The first element of a tensor of fp32, and how many it has."""


def tensor(start: int, size: int) -> pte.TensorOp:
    """A tensor in the first arena."""
    return pte.TensorOp.make(tensor_type=tensor_type(f32, (size,)), allocation_info=pte.AllocationAttr(1, 4 * start))


def plan_of(values: list[pte.ValueOp], calls: list[pte.InstructionOp], inputs: list[SSAValue]) -> pte.ExecutionPlanOp:
    """A plan whose outputs are its inputs."""
    body = [*values, pte.ChainOp(calls), pte.SignatureOp(inputs, inputs)]
    return pte.ExecutionPlanOp.build(
        properties={
            "sym_name": StringAttr("forward"),
            "non_const_buffer_sizes": DenseArrayBase.from_list(i64, [0, 1 << 20]),
        },
        regions=[Region(Block(body))],
    )


@given(st.lists(st.tuples(st.booleans(), PLACES), max_size=25))
@settings(max_examples=examples(300), **DETERMINISTIC)
def test_a_tensor_holds_what_was_written_last_to_all_of_its_bytes(steps: list[tuple[bool, tuple[int, int]]]) -> None:
    made = [tensor(start, size) for _, (start, size) in steps]
    # With all bytes in use by a tensor nothing that is read first counts as state.
    plan = plan_of([*made, tensor(0, 12)], [], [])
    memory = PlaceContents(plan, OpenSizes(plan, frozenset()), lambda op: None)
    writers: list[tuple[int, int, SSAValue] | None] = [None] * 16
    for (writes, (start, size)), op in zip(steps, made, strict=True):
        covered = writers[start : start + size]
        if writes:
            value = AnyOp(result_types=[op.tensor_type]).results[0]
            memory.write(op, value)
            writers[start : start + size] = [(start, size, value)] * size
            continue
        try:
            found = memory.read(op, op)
        except NotRaisedError:
            found = None
        first = covered[0]
        is_whole = first is not None and first[:2] == (start, size) and covered == [first] * size
        assert (found is not None) == is_whole
        assert first is None or found in (None, first[2])


def chain(count: int) -> Callable[[], object]:
    """Raise a plan of so many kernels, each with tensors and numbers of its own, and one number that all take."""
    values: list[pte.ValueOp] = [tensor(0, 1), pte.IntOp.make(int_val=IntegerAttr(1, i64))]
    calls: list[pte.InstructionOp] = []
    for number in range(count):
        made = tensor(4 * (number + 1), 1)
        arguments = [values[0].value, values[0].value, values[1].value, made.value, made.value]
        calls.append(pte.KernelCallOp("aten::add.out", arguments))
        values.append(made)
    plan = plan_of(values, calls, [values[0].value])
    return lambda: raise_plan(plan)


def test_copies_are_those_that_the_runtime_knows() -> None:
    """The runtime loads without the compiler, so both have the names."""
    assert set(DIM_ORDER_COPIES) == COPIES


def test_raising_takes_linear_time() -> None:
    assert_linear(chain, 200, 1600)


def ordered(shape: Sequence[int], order: Sequence[int]) -> pte.TensorOp:
    """A tensor of fp32 at the beginning of the first arena, with its dimensions in an order of memory."""
    return pte.TensorOp.make(
        tensor_type=tensor_type(f32, tuple(shape)),
        allocation_info=pte.AllocationAttr(1, 0),
        dim_order=DenseArrayBase.from_list(i64, list(order)),
    )


def strided(memory: torch.Tensor, shape: Sequence[int], order: Sequence[int]) -> torch.Tensor:
    """What memory holds for a tensor of a shape whose dimensions lie in an order, the last one innermost."""
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim], step = step, step * shape[dim]
    return memory.as_strided(tuple(shape), strides)


def test_bytes_under_another_name_keep_their_order() -> None:
    first, second = ((2, 3, 4), (1, 2, 0)), ((4, 2, 3), (2, 0, 1))
    written, seen = ordered(*first), ordered(*second)
    added: list[Operation] = []
    plan = plan_of([written, seen], [], [])
    memory = PlaceContents(plan, OpenSizes(plan, frozenset()), added.append)
    value = AnyOp(result_types=[written.tensor_type]).results[0]
    memory.write(written, value)
    result = memory.read(seen, seen)
    held = torch.arange(24.0)
    numbers: dict[SSAValue, torch.Tensor] = {value: strided(held, *first)}
    for op in added:
        operand = numbers[op.operands[0]]
        numbers[op.results[0]] = (
            operand.permute(tuple(op.dims)) if isinstance(op, edge.PermuteOp) else operand.reshape(seen.memory_shape)
        )
    assert torch.equal(numbers[result], strided(held, *second))
