"""What a legalisation rule is, and what it builds with.

A rule takes one edge op and returns the values that replace its results, having built xnnpack ops for them; or it
raises `RefusalError` and says why XNNPACK cannot compute the op. Rules build over the edge op's own operands, so the
types they see and return are the edge types: NCHW, with an explicit transpose on either side of a node that wants
NHWC. `propagate-layout` removes the transposes that meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, LocationAttr, TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import edge, xnnpack
from xir.dialects.xnnpack.base import FLOAT_TYPES, broadcast, element_type, shape_of, u32s
from xir.ir.constants import constant_array, make_dense, storage_array
from xir.ir.context import XirContext

OpT = TypeVar("OpT", bound=Operation)


class Quantized(Enum):
    """How an edge op takes part in static quantisation: which of its tensors have quantisation parameters of their own.

    What is said here is what `fold-qdq` makes of the op between dequantised operands and a quantised result: nodes on
    integers. A quantizer annotates by it, so that both agree; an op without an entry computes in floating point.
    """

    WEIGHTED = "weighted"
    """Input and result: by tensor. Constant weight: by output channel or by tensor, symmetric. Bias: int32 with the
    scale input · weight."""
    OPERANDS = "operands"
    """Each operand and the result: by tensor."""
    MATRICES = "matrices"
    """As OPERANDS, the second operand symmetric (zero point 0)."""
    TABLE = "table"
    """One operand and the result: by tensor. XNNPACK computes any function as a look-up in 256 entries."""
    MOVES = "moves"
    """The result has the parameters of the operands, which all have the same."""


NCHW_TO_NHWC = (0, 2, 3, 1)
NHWC_TO_NCHW = (0, 3, 1, 2)


class RefusalError(Exception):
    """XNNPACK cannot compute the op. `reason` completes "not delegated: …"; `hint` is the change that would help."""

    def __init__(self, reason: str, hint: str | None = None):
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


class NodeBuilder:
    """Collects the ops that a rule builds, each with the location of the op it comes from."""

    def __init__(self, ctx: XirContext, target: str, location: LocationAttr):
        self.ctx = ctx
        self.target = target
        self.location = location
        self.ops: list[Operation] = []

    def insert(self, op: OpT) -> OpT:
        """Add `op` behind the ops built so far; RefusalError if the target's runtime has no such node."""
        if self.target == "executorch" and isinstance(op, xnnpack.NodeOp) and op.member().is_xir_only:
            raise RefusalError("stock ExecuTorch has no node for it", 'compile for target "xir"')
        op.location = self.location
        self.ops.append(op)
        return op

    def node(
        self,
        op_class: type[xnnpack.NodeOp],
        operands: Sequence[SSAValue],
        shape: Sequence[int],
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Build a node with one result of `shape` and the first operand's element type; an absent bias is left out."""
        result = TensorType(element_type(operands[0]), shape)
        return self.insert(
            op_class.create(operands=operands, result_types=[result], properties=properties or {})
        ).results[0]

    def transpose(self, value: SSAValue, perm: Sequence[int]) -> SSAValue:
        """Permute dimensions; nothing is built for the identity."""
        if list(perm) == list(range(len(perm))):
            return value
        shape = shape_of(value)
        return self.node(xnnpack.StaticTransposeOp, [value], [shape[p] for p in perm], {"perm": u32s(perm)})

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Give the elements a static `shape`; nothing is built when it is the shape already."""
        if tuple(shape) == shape_of(value):
            return value
        return self.node(xnnpack.StaticReshapeOp, [value], shape, {"new_shape": u32s(shape)})

    def unary(self, kind: str, value: SSAValue) -> SSAValue:
        """Apply an elementwise operator."""
        return self.node(xnnpack.UnaryOp, [value], shape_of(value), {"kind": xnnpack.UnaryKindAttr(kind)})

    def binary(
        self, kind: str, lhs: SSAValue, rhs: SSAValue, low: float | None = None, high: float | None = None
    ) -> SSAValue:
        """Apply an elementwise operator to two broadcast operands; its output is clamped to [low, high]."""
        shape = broadcast(shape_of(lhs), shape_of(rhs))
        properties = {"kind": xnnpack.BinaryKindAttr(kind), **bounds(low, high)}
        return self.node(xnnpack.BinaryOp, [lhs, rhs], shape, properties)

    def clamp(self, value: SSAValue, low: float | None, high: float | None) -> SSAValue:
        """Clamp to [low, high], an absent bound being infinite."""
        return self.node(xnnpack.ClampOp, [value], shape_of(value), bounds(low, high))

    def constant(self, array: np.ndarray, like: SSAValue, name: str) -> SSAValue:
        """A static tensor with the element type of `like`, to which numbers of another type are rounded.

        `array` may be a strided view: its bytes are laid out when the file is written.
        """
        return self.insert(xnnpack.ConstantOp(make_dense(array, self.ctx, name, element_type(like)))).output

    def scalar(self, value: float, like: SSAValue) -> SSAValue:
        """A static number with the element type of `like`, which broadcasts to any shape and adds no dimension."""
        if not isinstance(element_type(like), FLOAT_TYPES) and value != int(value):
            raise RefusalError(f"{value:g} is no {element_type(like)}")
        return self.constant(np.array(value, dtype=np.float64), like, "scalar")

    def weight(self, value: SSAValue, what: str) -> np.ndarray:
        """The elements of a static operand as they are stored: to move them, bf16 being bit patterns here.

        RefusalError if it is computed at run time.
        """
        constant = static_owner(value, what)
        return storage_array(constant.value, self.ctx, constant)

    def numbers(self, value: SSAValue, what: str) -> np.ndarray:
        """The elements of a static operand to compute with; RefusalError if it is computed at run time."""
        return static_array(value, what, self.ctx)


def static_owner(value: SSAValue, what: str) -> edge.ConstantOp:
    """The constant that a value is; RefusalError, naming it as `what`, if it is computed at run time."""
    if not isinstance(value.owner, edge.ConstantOp):
        raise RefusalError(f"its {what} is not a constant", "make it a parameter or buffer of the module")
    return value.owner


def static_array(value: SSAValue, what: str, ctx: XirContext) -> np.ndarray:
    """The numbers of a static value, bf16 widened; RefusalError, naming it as `what`, if computed at run time."""
    constant = static_owner(value, what)
    return constant_array(constant.value, ctx, constant)


def static_name(value: SSAValue) -> str:
    """The name of a static value, to derive the names of its rewritten forms from."""
    return (isinstance(value.owner, edge.ConstantOp) and value.owner.resource) or "constant"


Rule = Callable[[edge.EdgeOp, NodeBuilder], SSAValue | Sequence[SSAValue]]

RULES: dict[str, Rule] = {}
"""Edge op name -> its rule."""


QUANTIZED: dict[str, Quantized] = {}
"""Edge op name -> how it takes part in static quantisation; ops that stay in floating point have no entry."""


def rule(*names: str, quantized: Quantized | None = None) -> Callable[[Rule], Rule]:
    """Register a rule for the edge ops of these names, and how they take part in static quantisation."""

    def register(function: Rule) -> Rule:
        for name in names:
            if name in RULES or name not in edge.OPS:
                raise ValueError(f"{name} is not an edge op, or has a rule already")
            RULES[name] = function
            if quantized is not None:
                QUANTIZED[name] = quantized
        return function

    return register


def operand(op: edge.EdgeOp, name: str) -> SSAValue:
    """A tensor argument that the schema requires."""
    return op.required(name)


def bounds(low: float | None, high: float | None) -> dict[str, Attribute]:
    """The properties of an output clamped to [low, high]; an absent or infinite bound adds none."""
    properties: dict[str, Attribute] = {}
    if low is not None and low != float("-inf"):
        properties["output_min"] = FloatAttr(low, f32)
    if high is not None and high != float("inf"):
        properties["output_max"] = FloatAttr(high, f32)
    return properties


def static_shape(value: SSAValue, what: str) -> tuple[int, ...]:
    """The shape of `value`; RefusalError if a dimension is dynamic."""
    shape = shape_of(value)
    if DYNAMIC_INDEX in shape:
        raise RefusalError(f"its {what} has a dynamic dimension")
    return shape
