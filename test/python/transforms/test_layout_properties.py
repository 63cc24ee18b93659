"""Random subgraphs full of transposes: the passes keep their values, and transposes cost no more than before."""

from __future__ import annotations

from math import prod

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.examples import DETERMINISTIC, examples
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, TensorType, f32, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from xir.dialects import xnnpack
from xir.dialects.xnnpack.base import ints, rank_of, shape_of, u32s
from xir.dialects.xnnpack.kinds import BinaryKind, UnaryKind
from xir.evaluate import run_module
from xir.ir.constants import make_dense
from xir.ir.context import XirContext
from xir.ir.passes import PassManager
from xir.ir.printer import module_to_text
from xir.transforms.registry import passes_of
from xir.transforms.xnnpack.optimize._layout_islands import transpose_cost

SUBGRAPH_PASSES = "split-fully-connected,bubble-up-slice,fuse-conv-relu,propagate-layout,fold-affine,fold-width-stride"
"""What the `delegate` pipeline runs on subgraphs."""

DIMENSIONS = st.integers(1, 4)
SHAPES = st.integers(2, 4).flatmap(lambda rank: st.lists(DIMENSIONS, min_size=rank, max_size=rank))


class Program:
    """A module that prints as text, for the counterexample of a failed test."""

    def __init__(self, module: ModuleOp, ctx: XirContext):
        self.module = module
        self.ctx = ctx

    def __repr__(self) -> str:
        return module_to_text(self.module, self.ctx)


class Builder:
    """Draws one subgraph, node by node; `values` are those that a next node may read."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.ctx = XirContext()
        self.block = Block()
        self.values: list[SSAValue] = []
        for shape in draw(st.lists(SHAPES, min_size=1, max_size=2)):
            self.values.append(self.block.insert_arg(TensorType(f32, shape), len(self.block.args)))

    def any_value(self) -> SSAValue:
        # The newest values are likelier, so that chains get long.
        recent = self.values[-4:]
        return self.draw(st.sampled_from([*self.values, *recent, *recent]))

    def node(
        self, op_class: type[xnnpack.NodeOp], operands: list[SSAValue], shape: list[int], **properties: Attribute
    ) -> SSAValue:
        op = op_class.create(operands=operands, result_types=[TensorType(f32, shape)], properties=properties)
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def constant(self, shape: list[int]) -> SSAValue:
        numbers = torch.arange(1, prod(shape) + 1, dtype=torch.float32).reshape(shape)
        op = xnnpack.ConstantOp(make_dense((numbers / prod(shape)).numpy(), self.ctx, "constant"))
        self.block.add_op(op)
        return op.output

    def transpose(self) -> None:
        value = self.any_value()
        perm = self.draw(st.permutations(range(rank_of(value))))
        shape = shape_of(value)
        self.node(xnnpack.StaticTransposeOp, [value], [shape[axis] for axis in perm], perm=u32s(perm))

    def transpose_back(self) -> None:
        """The inverse of the transpose before, behind a node or not: what lowering leaves around each node."""
        transposes = [op for op in self.block.ops if isinstance(op, xnnpack.StaticTransposeOp)]
        value = self.any_value()
        fitting = [op for op in transposes if rank_of(op.output) == rank_of(value)]
        if fitting:
            perm = ints(self.draw(st.sampled_from(fitting)).perm)
            inverse = sorted(range(len(perm)), key=lambda axis: perm[axis])
            shape = shape_of(value)
            self.node(xnnpack.StaticTransposeOp, [value], [shape[axis] for axis in inverse], perm=u32s(inverse))

    def unary(self) -> None:
        value = self.any_value()
        kind = self.draw(st.sampled_from(["abs", "hardswish", "negate", "sigmoid"]))
        self.node(xnnpack.UnaryOp, [value], list(shape_of(value)), kind=xnnpack.UnaryKindAttr(UnaryKind(kind)))

    def clamp(self) -> None:
        value = self.any_value()
        low = self.draw(st.sampled_from([-1.0, 0.0, 0.25]))
        bounds = {"output_min": FloatAttr(low, f32), "output_max": FloatAttr(low + 0.5, f32)}
        self.node(xnnpack.ClampOp, [value], list(shape_of(value)), **bounds)

    def binary(self) -> None:
        value = self.any_value()
        shape = list(shape_of(value))
        same = [v for v in self.values if shape_of(v) == tuple(shape)]
        other = self.draw(st.sampled_from([*same, None, None]))
        if other is None:
            # A constant that broadcasts, possibly of lower rank.
            kept = self.draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
            start = self.draw(st.integers(0, len(shape)))
            spread = [size if keep else 1 for size, keep in zip(shape, kept, strict=True)]
            other = self.constant(spread[start:])
        kind = self.draw(st.sampled_from(["add", "maximum", "subtract"]))
        operands = self.draw(st.permutations([value, other]))
        self.node(xnnpack.BinaryOp, operands, shape, kind=xnnpack.BinaryKindAttr(BinaryKind(kind)))

    def slice(self) -> None:
        value = self.any_value()
        sizes = [self.draw(st.integers(1, size)) for size in shape_of(value)]
        offsets = [self.draw(st.integers(0, d - s)) for d, s in zip(shape_of(value), sizes, strict=True)]
        self.node(xnnpack.StaticSliceOp, [value], sizes, offsets=u32s(offsets), sizes=u32s(sizes))

    def pad(self) -> None:
        value = self.any_value()
        before, after = ([self.draw(st.integers(0, 1)) for _ in shape_of(value)] for _ in range(2))
        shape = [p + d + q for p, d, q in zip(before, shape_of(value), after, strict=True)]
        if prod(shape) <= 4**4:
            paddings = {"pre_paddings": u32s(before), "post_paddings": u32s(after)}
            self.node(xnnpack.StaticConstantPadOp, [value], shape, **paddings, padding_value=FloatAttr(0.5, f32))

    def concatenate(self) -> None:
        value = self.any_value()
        axis = self.draw(st.integers(0, rank_of(value) - 1))
        rest = [size for i, size in enumerate(shape_of(value)) if i != axis]
        fitting = [
            v
            for v in self.values
            if rank_of(v) == rank_of(value) and [size for i, size in enumerate(shape_of(v)) if i != axis] == rest
        ]
        inputs = [value, *self.draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=2))]
        shape = list(shape_of(value))
        shape[axis] = sum(shape_of(v)[axis] for v in inputs)
        if prod(shape) <= 4**4:
            self.node(xnnpack.ConcatenateOp, inputs, shape, axis=IntegerAttr(axis, i32))

    def softmax(self) -> None:
        """A node that is bound to its layout."""
        value = self.any_value()
        self.node(xnnpack.SoftmaxOp, [value], list(shape_of(value)))

    def reshape(self) -> None:
        value = self.any_value()
        shape = [*shape_of(value)[:-2], prod(shape_of(value)[-2:])]
        self.node(xnnpack.StaticReshapeOp, [value], shape, new_shape=u32s(shape))

    def finish(self) -> Program:
        """The subgraph with some of its nodes as outputs, in a function."""
        results = [value for value in self.values if value not in self.block.args]
        outputs = self.draw(st.lists(st.sampled_from(results), min_size=1, max_size=4, unique=True))
        self.block.add_op(xnnpack.YieldOp.create(operands=outputs))
        types = ([arg.type for arg in self.block.args], [value.type for value in outputs])
        outer = Block(arg_types=types[0])
        subgraph = xnnpack.SubgraphOp.create(
            operands=list(outer.args), result_types=types[1], regions=[Region(self.block)]
        )
        outer.add_ops([subgraph, ReturnOp(*subgraph.results)])
        return Program(ModuleOp([FuncOp("forward", types, Region(outer))]), self.ctx)


@st.composite
def subgraphs(draw: st.DrawFn) -> Program:
    builder = Builder(draw)
    steps = [
        *(builder.transpose, builder.transpose, builder.transpose_back, builder.transpose_back),
        *(builder.unary, builder.unary, builder.binary, builder.binary, builder.clamp),
        *(builder.slice, builder.pad, builder.concatenate, builder.softmax, builder.reshape),
    ]
    builder.unary()
    for _ in range(draw(st.integers(1, 12))):
        draw(st.sampled_from(steps))()
    return builder.finish()


def cost(module: ModuleOp) -> int:
    """What the pass takes all transposes of a module to cost."""
    return sum(
        transpose_cost(shape_of(op.input), ints(op.perm), f32)
        for op in module.walk()
        if isinstance(op, xnnpack.StaticTransposeOp)
    )


def run(program: Program) -> list[torch.Tensor]:
    function = program.module.body.block.first_op
    assert isinstance(function, FuncOp)
    generator = torch.Generator().manual_seed(7)
    inputs = [torch.randn(shape_of(arg), generator=generator) for arg in function.body.block.args]
    return run_module(program.module, program.ctx, inputs)


def check(program: Program, pipeline: str) -> Program:
    """What a pipeline makes of the program; it verifies, and computes the same."""
    after = Program(program.module.clone(), program.ctx)
    PassManager(program.ctx, passes_of(pipeline)).run(after.module)
    for got, want in zip(run(after), run(program), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)
    return after


@settings(max_examples=examples(50), **DETERMINISTIC)
@given(subgraphs())
def test_propagate_layout_keeps_values_and_costs_no_more(program: Program) -> None:
    once = check(program, "propagate-layout")
    assert cost(once.module) <= cost(program.module)
    twice = check(once, "propagate-layout")
    assert cost(twice.module) <= cost(once.module)


@pytest.mark.parametrize("pipeline", ["canonicalize", "fuse-conv-relu", "cse", f"{SUBGRAPH_PASSES},cleanup"])
def test_the_passes_keep_values(pipeline: str) -> None:
    @settings(max_examples=examples(20), **DETERMINISTIC)
    @given(subgraphs())
    def keeps_values(program: Program) -> None:
        check(program, pipeline)

    keeps_values()
