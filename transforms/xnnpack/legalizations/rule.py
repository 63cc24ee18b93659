"""What a legalisation rule is, and what it builds with.

A rule takes one edge op and returns the values that replace its results, having built xnnpack ops for them; or it
raises `RefusalError` and says why XNNPACK cannot compute the op. Rules build over the edge op's own operands, so the
types they see and return are the edge types: NCHW, with an explicit transpose on either side of a node that wants
NHWC. `propagate-layout` removes the transposes that meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FloatAttr,
    IntegerType,
    TensorType,
    UnitAttr,
    UnrealizedConversionCastOp,
    bf16,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, SSAValues
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, xnnpack
from xir.dialects.edge.scalars import is_kept
from xir.dialects.quant import UniformType, storage_limits
from xir.dialects.xnnpack.base import Shape, element_type, tensor_type, u32s
from xir.dialects.xnnpack.interfaces import moves_data
from xir.dialects.xnnpack.kinds import UnaryKind
from xir.ir.annotations import UNASKED
from xir.ir.constants import constant_array, dense_of_storage
from xir.ir.context import XirContext
from xir.ir.plugin_bugs import check_parameters
from xir.ir.symbolic_size import SymbolicSize, UndecidedSizeError, is_dynamic
from xir.ir.targets import TARGETS, Target
from xir.transforms.analysis.calls import Call, call, tensor
from xir.transforms.analysis.refusal import Refusal
from xir.transforms.analysis.static_tensor import (
    StaticTensor,
    static_array,
    static_name,
    static_operand,
    stored_as,
)
from xir.transforms.xnnpack.legalizations.donors import Donors
from xir.transforms.xnnpack.legalizations.reshaping import composed_reshape

OpT = TypeVar("OpT", bound=Operation)
EdgeOpT = TypeVar("EdgeOpT", bound=edge.EdgeOp)


class Quantized(Enum):
    """How an edge op takes part in static quantisation: which of its tensors have quantisation parameters of their own.

    Between dequantised operands and a quantised result, `fold-qdq` turns the op into nodes on integers in this way. The
    quantiser annotates accordingly. An op without an entry computes in floating point.
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


PARTLY_RIGHT_IN_FP16 = frozenset(
    {"approxgelu", "cosine", "exp", "gelu", "log", "reciprocal_square_root", "sigmoid", "sine", "square_root"}
)
"""Functions that XNNPACK's kernels on fp16 compute for some numbers only. Found with every finite number.

On every processor: both forms of GELU add 1 to a number near -1 in fp16, so they are off by a quarter at -3.25, and 0
from -3.5 on. The sigmoid is off by up to 5 units in the last place, and 0 where it should be less than 2^-14. The
square root of -0 is NaN, that of other negative numbers -0.

In native fp16 arithmetic (Armv8.2, AVX512-FP16), on an Arm processor: e^x is off by up to 5 units in the last place,
and infinite from 10.75 on (2^16 has no exponent in fp16); its kernel for processors without such arithmetic has no
result below 3e-5. log x is off by 34 units above 46,317, where x·√2 overflows, 1/√x by half of itself above 16,384,
where its square is too small to be kept. sin x and cos x are noise from about 800 on, where fp16 rounds to no multiple
of π/2 any more. Source: `src/f16-v{cos,exp,log,rsqrt,sin}/*.c.in` of XNNPACK at commit 92a7ad501b.
"""

BEYOND_FP16 = 65520.0
"""From here on fp16 has infinity."""
LEAST_NORMAL_FP16 = 2.0**-14

ONLY_IN_XIR = Refusal(
    "stock ExecuTorch has no node for it",
    'compile for target "xir"',
    example=call("edge.atan2", self=tensor(2, 3), other=tensor(2, 3)),
)
SPLITS_DYNAMIC = Refusal(
    "it splits or merges one of several dynamic dimensions; XNNPACK infers one size",
    example="""
func.func @forward(%x: tensor<?x?x4xf32>) -> tensor<?x?xf32> {
  %0 = edge.sym_size.int(%x) {dim = 1 : i64} : (tensor<?x?x4xf32>) -> i64
  %1 = edge.view(%x)[%0] {size = array<i64: -1, -9223372036854775808>} : (tensor<?x?x4xf32>, i64) -> tensor<?x?xf32>
  func.return %1 : tensor<?x?xf32>
}
""",
)
NO_SUCH_NUMBER = Refusal(
    "{number:g} is no {element}", example=call("edge.add.Scalar", self=tensor(4, element=i32), other=3, alpha=0.5)
)
DYNAMIC_PART = Refusal(
    "its {what} depends on a dynamic dimension", example=call("edge.flip", self=tensor("?", 4), dims=[0])
)

NCHW_TO_NHWC = (0, 2, 3, 1)
NHWC_TO_NCHW = (0, 3, 1, 2)


class NodeBuilder:
    """Collects the ops that a rule builds, each with the location of the op it comes from."""

    def __init__(self, ctx: XirContext, target: Target, op: edge.EdgeOp, donors: Donors):
        self.ctx = ctx
        self.target = target
        self.has_xir_nodes = TARGETS[target].xir_nodes
        """Whether the target's runtime has nodes that stock ExecuTorch lacks."""
        self.op = op
        """The op whose rule builds: one of the program, or a part of it (`expansion.py`)."""
        self.place = op
        """The op of the program, before which the nodes are to be."""
        self.location = op.location
        self.donors = donors
        self.sizes = donors.sizes
        self.ops: list[Operation] = []

    def shape(self, value: SSAValue) -> Shape:
        """The shape of a value, a `SymbolicSize` for each dynamic dimension."""
        return self.sizes.known(value)

    def integer(self, value: edge.Size) -> int:
        """A size among the arguments; one that the program computes as `SymbolicSize`."""
        return self.sizes.number(value) if isinstance(value, SSAValue) else value

    def integers(self, values: Sequence[edge.Size]) -> tuple[int, ...]:
        """Sizes among the arguments, as `integer` has them."""
        return tuple(self.integer(value) for value in values)

    def promoted(self, value: SSAValue) -> SSAValue:
        """An operand in the result's element type, in which ATen computes an elementwise op.

        ATen rounds a number without dimensions that is wider than the halves beside it.
        """
        return self.convert(value, element_type(self.op.results[0]), asked=True)

    def meeting(self, value: SSAValue) -> SSAValue:
        """An operand as ATen computes with it: promoted, or in fp32 where it is kept as a number beside halves."""
        if not is_kept(self.op, value):
            return self.promoted(value)
        if isinstance(value.owner, edge.ConstantOp):
            return self.scalar(float(self.numbers(value, "operand").item()), self.op.results[0])
        return self.convert(value, f32)

    def insert(self, op: OpT) -> OpT:
        """Add `op` behind the ops built so far; RefusalError if the target's runtime has no such node."""
        if not self.has_xir_nodes and isinstance(op, xnnpack.NodeOp) and op.member().is_xir_only:
            op.erase()
            raise ONLY_IN_XIR()
        op.location = self.location
        self.ops.append(op)
        return op

    def node(
        self,
        op_class: type[xnnpack.NodeOp],
        operands: Sequence[SSAValue],
        properties: dict[str, Attribute] | None = None,
        *,
        element: Attribute | None = None,
        shape: Sequence[int] | None = None,
    ) -> SSAValue:
        """Build a node with one result, whose shape it infers; an absent bias is left out.

        `shape` says more than the node can infer, as that of a reshape whose size of 0 stands for a known one. The
        result has the element type `element`, by default that of the first operand that is no constant.

        Where XNNPACK has no kernel for a 16-bit floating-point type, the node computes in fp32 between conversions.
        For bf16 XNNPACK would do the same by itself, at each node anew; `propagate-converts` removes those that meet.
        """
        if element is None:
            computed = (value for value in operands if not isinstance(value.owner, xnnpack.ConstantOp))
            element = element_type(next(computed, operands[0]))
        op = op_class.create(operands=operands, properties=properties or {})
        try:
            found = tuple(shape) if shape is not None else op.result_shapes([self.shape(each) for each in operands])[0]
            sizes = [DYNAMIC_INDEX if is_dynamic(size) else size for size in found]
            op.results = SSAValues([OpResult(tensor_type(element, sizes), op, 0)])
        except (VerifyException, UndecidedSizeError):
            op.erase()
            raise
        if computes_in_fp32(op, element):
            op.erase()
            wide = self.node(op_class, [self.convert(value, f32) for value in operands], properties, shape=shape)
            return self.convert(wide, element)
        self.insert(op)
        if DYNAMIC_INDEX in sizes and DYNAMIC_INDEX not in found:
            self.sizes.state(op.results[0], found)
        return op.results[0]

    def convert(self, value: SSAValue, element: Attribute, *, asked: bool = False) -> SSAValue:
        """`value` with the elements converted to type `element`, at compile time if it is static.

        `asked` says that the program asks for the conversion: its rounding stays, while that of others may be left out.
        """
        if element_type(value) == element:
            return value
        if isinstance(value.owner, edge.ConstantOp):
            return self.static(StaticTensor.of(self.numbers(value, "operand"), element, static_name(value)))
        if isinstance(value.owner, xnnpack.ConstantOp):
            return self.static(StaticTensor.of(constant_array(value.owner.value, self.ctx), element, "constant"))
        result = self.node(xnnpack.ConvertOp, [value], element=element)
        if not asked and element in (f16, bf16) and isinstance(result.owner, xnnpack.ConvertOp):
            result.owner.attributes[UNASKED] = UnitAttr()
        return result

    def transpose(self, value: SSAValue, perm: Sequence[int]) -> SSAValue:
        """Permute dimensions; nothing is built for the identity."""
        if list(perm) == list(range(len(perm))):
            return value
        return self.node(xnnpack.StaticTransposeOp, [value], {"perm": u32s(perm)})

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Give the elements another `shape`; nothing is built when it is the shape already.

        XNNPACK infers one dynamic dimension of the result; where there are more, other nodes do it, if they can.
        """
        if tuple(shape) == self.shape(value):
            return value
        new_shape = [0 if isinstance(size, SymbolicSize) else size for size in shape]
        if new_shape.count(0) > 1:
            if (composed := composed_reshape(self, value, tuple(shape))) is None:
                raise SPLITS_DYNAMIC()
            return composed
        return self.node(xnnpack.StaticReshapeOp, [value], {"new_shape": u32s(new_shape)}, shape=shape)

    def unary(self, kind: str, value: SSAValue) -> SSAValue:
        """Apply an elementwise operator."""
        return self.node(xnnpack.UnaryOp, [value], {"kind": xnnpack.UnaryKindAttr(UnaryKind(kind))})

    def binary(
        self, kind: str, lhs: SSAValue, rhs: SSAValue, low: float | None = None, high: float | None = None
    ) -> SSAValue:
        """Apply an elementwise operator to two broadcast operands; its output is clamped to [low, high]."""
        properties = {"kind": xnnpack.binary_kind(kind), **bounds(low, high)}
        return self.node(xnnpack.BinaryOp, [lhs, rhs], properties)

    def clamp(self, value: SSAValue, low: float | None, high: float | None) -> SSAValue:
        """Clamp to [low, high], an absent bound being infinite."""
        return self.node(xnnpack.ClampOp, [value], bounds(low, high))

    def constant(self, array: np.ndarray, like: SSAValue, name: str) -> SSAValue:
        """A static tensor to compute with beside `like`: of its element type, to which numbers are rounded, or fp32.

        Beside a bf16 value numbers are not rounded, since such a node computes in fp32. It does beside an fp16 value,
        too, where a number would become an infinity. `array` may be a strided view: its bytes are laid out when the
        file is written.
        """
        element = element_type(like)
        if element == bf16 or (element == f16 and overflows_fp16(array)):
            element = f32
        return self.static(StaticTensor.of(array, element, name))

    def scalar(self, value: float, like: SSAValue) -> SSAValue:
        """A static number to compute with beside `like`, which broadcasts to any shape and adds no dimension.

        ATen keeps a number beside halves in fp32. Of fp16 it becomes where that rounds it no more than it rounds the
        result: neither to an infinity nor to a denormal number. RefusalError for what is no integer beside integers.
        """
        element = element_type(like)
        if isinstance(element, IntegerType):
            if not math.isfinite(value) or value != int(value) or not has_number(element, int(value)):
                raise NO_SUCH_NUMBER(number=value, element=element)
            return self.constant(np.array(int(value)), like, "scalar")
        number = np.array(value, np.float64)
        if element == f16 and not is_as_exact_in_fp16(value):
            return self.static(StaticTensor.of(number, f32, "scalar"))
        return self.constant(number, like, "scalar")

    def weight(self, value: SSAValue, what: str, *, to_short: bool = False) -> StaticTensor:
        """A static operand, to move its elements, quantised or not; RefusalError if it is computed at run time.

        With `to_short` it may be dequantised to fp16 or bf16.
        """
        return static_operand(value, what, self.ctx, to_short=to_short)

    def static(self, tensor: StaticTensor) -> SSAValue:
        """A static tensor in floating point; a quantised one is dequantised by a node, for `fold-qdq` to fold away."""
        element = tensor.element
        if not isinstance(element, UniformType):
            elements = dense_of_storage(tensor.array, element, self.ctx, tensor.name)
            return self.insert(xnnpack.ConstantOp(elements)).output
        integers = dense_of_storage(tensor.array, element.storage, self.ctx, tensor.name)
        result = TensorType(stored_as(element, element.storage), tensor.shape)
        return self.dequantize(self.insert(xnnpack.ConstantOp(integers, result)).output)

    def bias(self, value: SSAValue) -> SSAValue:
        """A static bias in floating point; RefusalError if it is computed at run time."""
        tensor = self.weight(value, "bias")
        if isinstance(tensor.element, UniformType):
            tensor = StaticTensor.of(tensor.numbers(), f32, tensor.name)
        return self.static(tensor)

    def dequantize(self, value: SSAValue) -> SSAValue:
        """What quantised numbers are in fp32; of constants also, for `fold-qdq` to fold away."""
        return self.node(xnnpack.ConvertOp, [value], element=f32)

    def quantize(self, value: SSAValue, element: Attribute) -> SSAValue:
        """`value` rounded to integers of a quantised type."""
        return self.node(xnnpack.ConvertOp, [value], element=element)

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """`value` with integers read as quantised numbers, or the other way; `partition-xnnpack` resolves it."""
        assert isinstance(value.type, TensorType)
        result = TensorType(element, value.type.get_shape())
        cast = self.insert(UnrealizedConversionCastOp.create(operands=[value], result_types=[result])).results[0]
        if not result.has_static_shape():
            self.sizes.state(cast, self.shape(value))
        return cast

    def numbers(self, value: SSAValue, what: str) -> np.ndarray:
        """The elements of a static operand to compute with; RefusalError if it is computed at run time."""
        return static_array(value, what, self.ctx)


def computes_in_fp32(op: xnnpack.NodeOp, element: Attribute) -> bool:
    """Whether a node whose result has the 16-bit type `element` is built in fp32, between conversions."""
    if not op.accepts(op.element_types()):
        return element in (f16, bf16)
    if element == f16 and isinstance(op, xnnpack.UnaryOp):
        return op.kind.data in PARTLY_RIGHT_IN_FP16
    if element == f16 and isinstance(op, xnnpack.AveragePooling2dOp):
        # Its sums are rounded to fp16 after each element, and infinite where there are many (`src/f16-avgpool`).
        return True
    return element == bf16 and not moves_data(op) and not isinstance(op, xnnpack.ConvertOp)


def overflows_fp16(array: np.ndarray) -> bool:
    """Whether one of some numbers would become an infinity in fp16."""
    return array.dtype != np.float16 and bool((np.isfinite(array) & (np.abs(array) >= BEYOND_FP16)).any())


def is_as_exact_in_fp16(value: float) -> bool:
    """Whether rounding a number to fp16 changes it by no more than half a unit in its last place, as of a result."""
    if not math.isfinite(value) or LEAST_NORMAL_FP16 <= abs(value) < BEYOND_FP16:
        return True
    return abs(value) < BEYOND_FP16 and float(np.float16(value)) == value


def in_fp32(value: float) -> float:
    """A number rounded to fp32: to an infinity, if it is beyond the largest number."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def fp32(value: float) -> FloatAttr:
    """A number as a property of a node, rounded to fp32."""
    return FloatAttr(in_fp32(value), f32)


def has_number(element: Attribute, value: int) -> bool:
    """Whether a whole number is one of an element type's; what is no integer type rounds it."""
    if not isinstance(element, IntegerType):
        return True
    low, high = storage_limits(element)
    return low <= value <= high


Replacement = SSAValue | Sequence[SSAValue] | None
"""What replaces the results of an op; None of an override: this call is what its decomposition says."""

Rule = Callable[[Any, NodeBuilder], Replacement]
"""A rule as the registry has it, which no longer says of which op class it is."""


@dataclass(frozen=True)
class RuleInfo:
    """How one edge op becomes nodes, and what its rule says of itself; `rule` explains the parts."""

    build: Rule
    quantized: Quantized | None = None
    """How the op takes part in static quantisation; None: it stays in floating point."""
    symbolic: bool = False
    """Whether it takes sizes among the arguments that only the run time knows."""
    empty: bool = False
    """Whether it takes tensors without elements."""
    refuses: tuple[Refusal, ...] = ()
    """The reasons for which it refuses a call, but those that any node may have."""
    samples: list[Call] = field(default_factory=list[Call])
    """Calls that it takes; `samples.py` adds those of xir's own rules."""
    overrides: str | None = None
    """Why the op has a rule of its own, if it has a decomposition, which is its meaning for kernels."""
    remainder: bool = False
    """Whether it takes the calls that the op's decomposition leaves."""
    replaces: bool = False
    """Whether it has taken another's place: of two that want to, neither should win by its order."""


RULES: dict[str, RuleInfo] = {}
"""Edge op name -> what is known of its rule."""


def rule(
    *,
    quantized: Quantized | None = None,
    symbolic: bool = False,
    empty: bool = False,
    refuses: Sequence[Refusal] = (),
    samples: Sequence[Call] = (),
    overrides: str | None = None,
    remainder: bool = False,
    replaces: bool = False,
) -> Callable[[Callable[[EdgeOpT, NodeBuilder], Replacement]], Callable[[EdgeOpT, NodeBuilder], Replacement]]:
    """Register a rule for the op classes that the annotation of its first parameter names, one or a union, as in
    `def relu(op: edge.ReluOp, b: NodeBuilder) -> SSAValue`, and say how they take part in static quantisation.

    `symbolic` says that it also takes sizes among the arguments that only the run time knows, and `empty` that it takes
    operands without elements, of which XNNPACK knows nothing.

    `refuses` are the reasons for which the rule and the functions that it calls refuse a call, and `samples` calls that
    it takes, which together meet every kind of node that the op may become; xir's own are in `samples.py`.

    `overrides` is the reason why a composite has a rule beside its decomposition; it returns None for calls of which
    there is nothing better to build. With `remainder` it takes only calls that the decomposition leaves.

    With `replaces` it takes the place of the rule that there is, and of all that was said of that: `quantized` too.
    """

    def register(
        function: Callable[[EdgeOpT, NodeBuilder], Replacement],
    ) -> Callable[[EdgeOpT, NodeBuilder], Replacement]:
        check_parameters(function, "op", "b")
        for name in [op_class.name for op_class in edge.op_classes(function)]:
            own = [sample for sample in samples if sample.name == name]
            info = RuleInfo(function, quantized, symbolic, empty, tuple(refuses), own, overrides, remainder, replaces)
            register_rule(name, info)
        return function

    return register


def register_rule(name: str, info: RuleInfo) -> None:
    """Register the rule of the edge op of this name. ValueError if its place is taken, or it is to take another's."""
    if name not in edge.OPS:
        raise ValueError(f"{name} is not an edge op")
    known = RULES.get(name)
    if not info.replaces and known is not None:
        raise ValueError(f"{name} has a rule already; @rule(replaces=True) takes its place")
    if info.replaces and known is None:
        raise ValueError(f"{name} has no rule that another could replace")
    if known is not None and known.replaces:
        raise ValueError(f"the rule of {name} has been replaced already")
    RULES[name] = info


def bounds(low: float | None, high: float | None) -> dict[str, Attribute]:
    """The properties of an output clamped to [low, high]; an absent or infinite bound adds none."""
    properties: dict[str, Attribute] = {}
    if low is not None and low != float("-inf"):
        properties["output_min"] = fp32(low)
    if high is not None and high != float("inf"):
        properties["output_max"] = fp32(high)
    return properties


def fixed(size: int, what: str) -> int:
    """A size that has to be known at compile time; RefusalError, naming it as `what`, if it is a dynamic one."""
    if isinstance(size, SymbolicSize):
        raise DYNAMIC_PART(what=what)
    return size
