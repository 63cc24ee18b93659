"""Programs of edge ops between conversions, what both runtimes make of them, and draws of what they compute with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import torch
from numpy.typing import NDArray
from properties.integers import HIGH, LOW, Expected, Params, Weight, f32
from reference.runtimes import load_stock
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType, i8
from xdsl.dialects.builtin import f32 as f32_type
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from xir import runtime
from xir.api import EdgeProgram, XnnpackPartitioner
from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import element_type
from xir.ir.constants import make_dense
from xir.ir.context import XirContext


class Builder:
    """A function of edge ops, built from its inputs on."""

    def __init__(self) -> None:
        self.ctx = XirContext()
        self.block = Block()
        self.inputs: list[NDArray[Any]] = []

    def input(self, array: NDArray[Any]) -> SSAValue:
        """An argument, and what it is called with."""
        self.inputs.append(array)
        element = i8 if array.dtype == np.int8 else f32_type
        return self.block.insert_arg(TensorType(element, array.shape), len(self.block.args))

    def constant(self, array: NDArray[Any]) -> SSAValue:
        """A tensor known at compile time."""
        return self.add(edge.ConstantOp(make_dense(array, self.ctx, "constant")))

    def op(self, name: str, /, **args: Any) -> SSAValue:
        """The first result of `edge.<name>`."""
        return self.add(edge.OPS[f"edge.{name}"].build_from(args))

    def add(self, op: Any) -> SSAValue:
        """An op's first result."""
        self.block.add_op(op)
        return op.results[0]

    def quantize(self, value: SSAValue, params: Params) -> SSAValue:
        """Numbers as integers."""
        return self.op("quantized_decomposed.quantize_per_tensor", input=value, **arguments(params))

    def dequantize(self, value: SSAValue, params: Params) -> SSAValue:
        """Integers as numbers."""
        return self.op("quantized_decomposed.dequantize_per_tensor", input=value, **arguments(params))

    def activation(self, integers: NDArray[np.int8], params: Params) -> SSAValue:
        """An argument of integers, as numbers."""
        return self.dequantize(self.input(integers), params)

    def weight(self, weight: Weight, axis: int) -> SSAValue:
        """A filter's numbers; its scales are along `axis`, or one."""
        limits = {"quant_min": -127, "quant_max": 127, "dtype": i8}
        integers = self.constant(weight.integers)
        if weight.scales.size == 1:
            scale = {"scale": float(weight.scales.item()), "zero_point": 0}
            return self.op("quantized_decomposed.dequantize_per_tensor", input=integers, **scale, **limits)
        scales, zeros = self.constant(weight.scales), self.constant(np.zeros(weight.scales.size, np.int64))
        along = {"scales": scales, "zero_points": zeros, "axis": axis}
        return self.op("quantized_decomposed.dequantize_per_channel", input=integers, **along, **limits)

    def lowered(self, *results: SSAValue) -> EdgeProgram:
        """The function that returns `results`, delegated in one piece."""
        self.block.add_op(ReturnOp(*results))
        types = ([arg.type for arg in self.block.args], [value.type for value in results])
        module = ModuleOp([FuncOp("forward", types, Region(self.block))])
        # By processors' profiles small depthwise convolutions may compute in fp32.
        program = EdgeProgram(module, self.ctx).to_backend(XnnpackPartitioner(cpu="any"))
        ops = list(program.module.walk())
        assert not [op.name for op in ops if isinstance(op, edge.EdgeOp)]
        assert sum(isinstance(op, xnnpack.SubgraphOp) for op in ops) == 1
        return program

    def run(self, program: EdgeProgram) -> list[list[NDArray[Any]]]:
        """The results in xir's runtime and in stock ExecuTorch."""
        file = program.to_executorch().buffer
        tensors = [torch.from_numpy(array) for array in self.inputs]
        ours = runtime.Runtime.get().load_program(file).load_method("forward").execute(tensors)
        stock = load_stock(file).forward(tensors)
        return [[torch.as_tensor(each).numpy() for each in results] for results in (ours, stock)]

    def check(self, value: SSAValue, result: Params, expected: Expected) -> None:
        """Both runtimes compute the expected integers of a value, and no node computes in floating point."""
        program = self.lowered(self.quantize(value, result))
        assert not float_nodes(program)
        for (got,) in self.run(program):
            expected.check(got)

    def profile(self, program: EdgeProgram) -> list[str]:
        """The operators that XNNPACK made of the program, as xir's runtime ran them."""
        file = program.to_executorch().buffer
        method = runtime.Runtime.get().load_program(file).load_method("forward")
        method.execute([torch.from_numpy(array) for array in self.inputs], profile=True)
        return [event.name for event in method.profile().events if event.kind == "operator"]


def arguments(params: Params) -> dict[str, Any]:
    """Of an op that quantises or dequantises by tensor."""
    return {"scale": params.scale, "zero_point": params.zero_point, "quant_min": LOW, "quant_max": HIGH, "dtype": i8}


def float_nodes(program: EdgeProgram) -> list[xnnpack.NodeOp]:
    """The nodes that read or write floating-point numbers."""
    nodes = [op for op in program.module.walk() if isinstance(op, xnnpack.NodeOp)]
    return [op for op in nodes if any(is_float(value) for value in (*op.operands, *op.results))]


def is_float(value: SSAValue) -> bool:
    """Whether a value has floating-point elements."""
    return isinstance(element_type(value), Float32Type)


# Draws

ZERO_POINTS = st.one_of(st.sampled_from([LOW, -1, 0, 1, HIGH]), st.integers(LOW, HIGH))

POWERS_OF_TWO = st.integers(-24, 12).map(lambda e: 2.0**e)
ANY_SCALES = st.tuples(st.floats(1, 2), st.integers(-30, 16)).map(lambda pair: f32(pair[0] * 2.0 ** pair[1]))
SMALLEST, LARGEST = 2.0**-95, 2.0**100
"""Close to the ends of what fp32 holds: products of scales have to be normal numbers, too."""
SCALES = st.one_of(POWERS_OF_TWO, ANY_SCALES, st.sampled_from([SMALLEST, LARGEST, f32(1 / 255), f32(0.1)]))

PARAMS = st.builds(Params, SCALES, ZERO_POINTS)

RATIOS = st.one_of(
    st.integers(-9, 3).map(lambda e: 2.0**e),
    st.floats(2.0**-9, 8).map(f32),
)
"""What numbers are multiplied by to become integers; a power of two makes ties."""


def int8s(shape: Sequence[int]) -> st.SearchStrategy[NDArray[np.int8]]:
    """Integers of the whole range, or its ends alone."""

    def draw(seed: int, ends: bool) -> NDArray[np.int8]:
        generator = np.random.default_rng(seed)
        if ends:
            return generator.choice(np.array([LOW, HIGH], np.int8), tuple(shape))
        return generator.integers(LOW, HIGH + 1, tuple(shape)).astype(np.int8)

    return st.builds(draw, st.integers(0, 2**32 - 1), st.sampled_from([False, False, False, True]))
