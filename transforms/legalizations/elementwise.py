"""Elementwise ops. The ops that mean exactly one node come from the table in `dialects/xnnpack/kinds.py`."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import shape_of
from xir.dialects.xnnpack.kinds import BINARY, UNARY
from xir.transforms.legalizations.rule import NodeBuilder, RefusalError, Rule, operand, rule


def unary_rule(kind: str) -> Rule:
    """The rule of an op that is one unary node."""
    return lambda op, b: b.unary(kind, op.operands[0])


def binary_rule(kind: str) -> Rule:
    """The rule of an op that is one binary node."""
    return lambda op, b: b.binary(kind, op.operands[0], op.operands[1])


for row in UNARY:
    rule(*row.edge)(unary_rule(row.kind))
for row in BINARY:
    rule(*row.edge)(binary_rule(row.kind))


def scaled(b: NodeBuilder, value: SSAValue, factor: float) -> SSAValue:
    """`value` times a number."""
    return value if factor == 1 else b.binary("multiply", value, b.scalar(float(factor)))


@rule("edge.add.Tensor", "edge.sub.Tensor")
def add(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self ± alpha·other."""
    kind = "add" if op.name == "edge.add.Tensor" else "subtract"
    return b.binary(kind, operand(op, "self"), scaled(b, operand(op, "other"), op.value("alpha")))


@rule("edge.add.Scalar", "edge.sub.Scalar")
def add_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self ± alpha·other, `other` a number."""
    kind = "add" if op.name == "edge.add.Scalar" else "subtract"
    return b.binary(kind, operand(op, "self"), b.scalar(float(op.value("other")) * float(op.value("alpha"))))


@rule("edge.mul.Scalar")
def mul_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self · other."""
    return b.binary("multiply", operand(op, "self"), b.scalar(float(op.value("other"))))


@rule("edge.div.Scalar")
def div_scalar(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self / other, as a true division: multiplying by the inverse would round twice."""
    return b.binary("divide", operand(op, "self"), b.scalar(float(op.value("other"))))


@rule("edge.relu")
def relu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """max(self, 0)."""
    return b.clamp(operand(op, "self"), 0.0, None)


@rule("edge.hardtanh")
def hardtanh(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """clamp(self, min_val, max_val)."""
    return checked_clamp(b, operand(op, "self"), op.value("min_val"), op.value("max_val"))


@rule("edge.clamp")
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


@rule("edge.hardsigmoid")
def hardsigmoid(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """clamp(self + 3, 0, 6) / 6."""
    return b.binary("divide", b.binary("add", operand(op, "self"), b.scalar(3.0), 0.0, 6.0), b.scalar(6.0))


@rule("edge.silu")
def silu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """self · sigmoid(self)."""
    value = operand(op, "self")
    return b.binary("multiply", value, b.unary("sigmoid", value))


@rule("edge.gelu")
def gelu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """GELU in both of PyTorch's forms, which differ by up to 4.7e-4."""
    value = operand(op, "self")
    if op.value("approximate") == "none":
        return b.unary("gelu", value)
    # 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))), with x³ + … factored to x·(1 + 0.044715·x²).
    inner = b.binary("add", scaled(b, b.unary("square", value), 0.044715), b.scalar(1.0))
    argument = b.binary("multiply", scaled(b, value, math.sqrt(2.0 / math.pi)), inner)
    gate = b.binary("add", b.unary("tanh", argument), b.scalar(1.0))
    return b.binary("multiply", scaled(b, value, 0.5), gate)


@rule("edge.elu")
def elu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self where positive, else alpha·(e^self − 1)."""
    if op.value("scale") != 1 or op.value("input_scale") != 1:
        raise RefusalError("XNNPACK's elu has no scale and input_scale")
    alpha = FloatAttr(float(op.value("alpha")), f32)
    return b.node(xnnpack.EluOp, [operand(op, "self")], shape_of(operand(op, "self")), {"alpha": alpha})


@rule("edge.leaky_relu")
def leaky_relu(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Self where positive, else negative_slope·self."""
    value, slope = operand(op, "self"), FloatAttr(float(op.value("negative_slope")), f32)
    return b.node(xnnpack.LeakyReluOp, [value], shape_of(value), {"negative_slope": slope})


@rule("edge.dropout")
def dropout(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Nothing: a program for inference drops nothing out."""
    if op.value("train"):
        raise RefusalError("it drops elements at random", "export the module in eval() mode")
    return op.operands[0]


@rule("edge.clone", "edge.contiguous", "edge.alias", "edge.detach")
def same(op: edge.EdgeOp, b: NodeBuilder) -> SSAValue:
    """Nothing: values have no identity here, and layout is the compiler's business."""
    return op.operands[0]
