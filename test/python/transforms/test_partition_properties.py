"""Random programs of ops that XNNPACK computes and ops that it does not: the groups are as few as can be, and right."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from reference.cost import assert_linear
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from xir.dialects import edge, xnnpack
from xir.evaluate import run_module
from xir.ir.context import XirContext
from xir.ir.passes import PassManager, XirPass
from xir.ir.printer import module_to_text
from xir.transforms.xnnpack.legalizations import RULES
from xir.transforms.xnnpack.optimize.fuse_conv_relu import FuseConvReluPass
from xir.transforms.xnnpack.optimize.propagate_layout import PropagateLayoutPass
from xir.transforms.xnnpack.select.partition_xnnpack import PartitionXnnpackPass

VECTOR = TensorType(f32, [4])

DELEGATED = {"abs": 1, "relu": 1, "add.Tensor": 2, "maximum": 2}
OUTSIDE = {"cumsum": 1, "sign": 1, "atan2": 2}
NOTHING = {"clone": 1}
OPERATORS = DELEGATED | OUTSIDE | NOTHING
"""Operator -> number of operands."""

ONLY_THESE = {f"edge.{name}": RULES[f"edge.{name}"] for name in DELEGATED | NOTHING}
"""The rules of this test, so that a new rule does not change what stays outside."""


class Program:
    """A module that prints as text, for the counterexample of a failed test."""

    def __init__(self, module: ModuleOp):
        self.module = module

    @property
    def function(self) -> FuncOp:
        (function,) = self.module.body.ops
        assert isinstance(function, FuncOp)
        return function

    def __repr__(self) -> str:
        return module_to_text(self.module, XirContext())


def edge_op(name: str, operands: list[SSAValue]) -> edge.EdgeOp:
    """A call of an operator on vectors."""
    op_class = edge.OPS[f"edge.{name}"]
    arguments = dict(zip(op_class.row.schema.tensors, operands, strict=True))
    return op_class.build_from({**arguments, "dim": 0} if name == "cumsum" else arguments)


def program(arg_types: list[TensorType], body: Callable[[Block], list[SSAValue]]) -> Program:
    """A function whose body fills a block and gives the results."""
    block = Block(arg_types=arg_types)
    results = body(block)
    block.add_op(ReturnOp(*results))
    types = (arg_types, [value.type for value in results])
    return Program(ModuleOp([FuncOp("forward", types, Region(block))]))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    def body(block: Block) -> list[SSAValue]:
        values: list[SSAValue] = list(block.args)
        for name in draw(st.lists(st.sampled_from(sorted(OPERATORS)), min_size=1, max_size=16)):
            op = edge_op(name, [draw(st.sampled_from(values)) for _ in range(OPERATORS[name])])
            block.add_op(op)
            values += op.results
        return draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))

    return program([VECTOR, VECTOR], body)


def kind(op: Operation) -> dict[str, int]:
    return next(kinds for kinds in (DELEGATED, OUTSIDE, NOTHING) if op.name.removeprefix("edge.") in kinds)


def fewest_groups(function: FuncOp) -> int:
    """The most groups that the ops on one path fall into: neighbours may share one, but not across an op outside.

    No grouping has fewer, so a partition with as many has the fewest.
    """
    live: set[SSAValue] = set()
    for op in reversed(list(function.body.block.ops)):
        if isinstance(op, ReturnOp) or live & set(op.results):
            live |= set(op.operands)
    worst: dict[SSAValue, tuple[int, bool]] = dict.fromkeys(function.body.block.args, (0, True))
    most = 0
    for op in function.body.block.ops:
        if isinstance(op, ReturnOp) or op.results[0] not in live:
            continue
        # The worst path to here: the most groups, and of those one that has left the last of them.
        count, outside = max(worst[value] for value in op.operands)
        if kind(op) is DELEGATED:
            count, outside = count + outside, False
        elif kind(op) is OUTSIDE:
            outside = True
        worst[op.results[0]] = (count, outside)
        most = max(most, count)
    return most


def run(each: Program) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return run_module(each.module, XirContext(), [torch.randn(4, generator=generator) for _ in range(2)])


@settings(max_examples=examples(60), **DETERMINISTIC)
@given(programs())
def test_groups_are_fewest_and_values_stay(before: Program) -> None:
    after = Program(before.module.clone())
    with mock.patch.dict(RULES, ONLY_THESE, clear=True):
        PassManager(XirContext(), [PartitionXnnpackPass()]).run(after.module)

    ops = list(after.function.body.block.ops)
    assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == fewest_groups(before.function)
    assert all(kind(op) is OUTSIDE for op in ops if isinstance(op, edge.EdgeOp))
    for got, want in zip(run(after), run(before), strict=True):
        torch.testing.assert_close(got, want, rtol=0, atol=0)


def chain(length: int) -> Program:
    """A long program: runs of delegated ops, some of which transpose, between ops outside; many read far behind."""

    def body(block: Block) -> list[SSAValue]:
        values: list[SSAValue] = list(block.args)
        for i in range(length):
            last = {"self": values[-1]}
            if i % 50 == 49:
                op = edge.OPS["edge.cumsum"].build_from({**last, "dim": 0})
            elif i % 3 == 0:
                op = edge.OPS["edge.add.Tensor"].build_from({**last, "other": values[len(values) // 2]})
            elif i % 3 == 1:
                op = edge.OPS["edge._softmax"].build_from({**last, "dim": 0, "half_to_float": False})
            else:
                op = edge.OPS["edge.relu"].build_from(last)
            block.add_op(op)
            values += op.results
        return values[-1:]

    return program([TensorType(f32, [2, 2])], body)


@pytest.mark.parametrize("pass_", [PartitionXnnpackPass(), FuseConvReluPass(), PropagateLayoutPass()], ids=str)
def test_cost_is_linear(pass_: XirPass) -> None:
    def prepare(length: int) -> Callable[[], object]:
        ctx, built = XirContext(), chain(length).module
        if not isinstance(pass_, PartitionXnnpackPass):
            PartitionXnnpackPass().apply(ctx, built)
        return lambda: pass_.apply(ctx, built)

    assert_linear(prepare, 200, 1_600)
