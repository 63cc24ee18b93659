"""Activations."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import rank_of
from xir.transforms.legalizations.elementwise import scaled
from xir.transforms.legalizations.rule import NodeBuilder, Quantized, RefusalError, operand, rule, static_name


@rule("edge.relu", quantized=Quantized.TABLE)
def relu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """max(self, 0)."""
    return b.clamp(operand(op, "self"), 0.0, None)


@rule("edge.hardtanh", quantized=Quantized.TABLE)
def hardtanh(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """clamp(self, min_val, max_val)."""
    return checked_clamp(b, operand(op, "self"), op.value("min_val"), op.value("max_val"))


@rule("edge.clamp", quantized=Quantized.TABLE)
def clamp(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """clamp(self, min, max), either bound absent."""
    return checked_clamp(b, operand(op, "self"), op.value("min"), op.value("max"))


def checked_clamp(b: NodeBuilder, value: SSAValue, low: float | None, high: float | None) -> SSAValue:
    """A clamp node; XNNPACK wants an interval with an interior."""
    low = -math.inf if low is None else float(low)
    high = math.inf if high is None else float(high)
    if not low < high:
        raise RefusalError(f"its bounds [{low:g}, {high:g}] leave no interval")
    return b.clamp(value, low, high)


@rule("edge.hardsigmoid", quantized=Quantized.TABLE)
def hardsigmoid(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """clamp(self + 3, 0, 6) / 6."""
    value = operand(op, "self")
    return scaled(b, b.binary("add", value, b.scalar(3.0, value), 0.0, 6.0), 1.0 / 6.0)


@rule("edge.silu", quantized=Quantized.TABLE)
def silu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self · sigmoid(self)."""
    value = operand(op, "self")
    return b.binary("multiply", value, b.unary("sigmoid", value))


@rule("edge.gelu", quantized=Quantized.TABLE)
def gelu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """GELU in both of PyTorch's forms, which differ by up to 4.7e-4."""
    value = operand(op, "self")
    if op.value("approximate") == "none":
        return b.unary("gelu", value)
    # 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), with x³ + … factored to x·(1 + 0.044715·x²).
    inner = b.binary("add", scaled(b, b.unary("square", value), 0.044715), b.scalar(1.0, value))
    argument = b.binary("multiply", scaled(b, value, math.sqrt(2.0 / math.pi)), inner)
    gate = b.binary("add", b.unary("tanh", argument), b.scalar(1.0, value))
    return b.binary("multiply", scaled(b, value, 0.5), gate)


@rule("edge.elu", quantized=Quantized.TABLE)
def elu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self where positive, else alpha·(e^self − 1)."""
    if op.value("scale") != 1 or op.value("input_scale") != 1:
        raise RefusalError("XNNPACK's elu has no scale and input_scale")
    alpha = FloatAttr(float(op.value("alpha")), f32)
    return b.node(xnnpack.EluOp, [operand(op, "self")], b.shape(operand(op, "self")), {"alpha": alpha})


@rule("edge.leaky_relu", quantized=Quantized.TABLE)
def leaky_relu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self where positive, else negative_slope·self."""
    value, slope = operand(op, "self"), FloatAttr(float(op.value("negative_slope")), f32)
    return b.node(xnnpack.LeakyReluOp, [value], b.shape(value), {"negative_slope": slope})


@rule("edge.prelu")
def prelu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self where positive, else weight·self; one weight for all, or one for each channel (dimension 1)."""
    value, weight = operand(op, "self"), operand(op, "weight")
    slope = b.weight(weight, "weight").reshape(-1)
    if slope.size > 1 and rank_of(value) > 1:
        slope = slope.reshape(-1, *(1,) * (rank_of(value) - 2))
    return b.binary("prelu", value, b.constant(slope, weight, static_name(weight)))


@rule("edge.softplus")
def softplus(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """log(1 + e^(beta·self)) / beta."""
    beta = float(op.value("beta"))
    return scaled(b, soft_positive(b, scaled(b, operand(op, "self"), beta)), 1.0 / beta)


def soft_positive(b: NodeBuilder, value: SSAValue) -> SSAValue:
    """log(1 + e^x) as max(x, 0) + log(1 + e^−|x|), whose exponential never overflows."""
    tail = b.unary("exp", b.unary("negate", b.unary("abs", value)))
    rest = b.unary("log", b.binary("add", tail, b.scalar(1.0, value)))
    return b.binary("add", b.clamp(value, 0.0, None), rest)


@rule("edge.mish")
def mish(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self · tanh(softplus(self))."""
    value = operand(op, "self")
    return b.binary("multiply", value, b.unary("tanh", soft_positive(b, value)))
