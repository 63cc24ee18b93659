"""Element-wise ops: operands broadcast, element types promote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from .base import EdgeOp, row
from .types import broadcast, element_of, result_element, same_dim, shape_of, shape_text, tensor_type, to_float

if TYPE_CHECKING:
    from . import ops


def _operands(op: EdgeOp) -> list[SSAValue]:
    return list(op.tensor_operands)


def _scalars(op: EdgeOp, names: Sequence[str]) -> list[object]:
    return [op.argument(name) for name in names]


def _elementwise(
    element: Callable[[Attribute], Attribute] = lambda promoted: promoted, scalars: Sequence[str] = ()
) -> Callable[[EdgeOp], Sequence[Attribute]]:
    """All operands broadcast; the result's element type follows from the promoted one of operands and `scalars`."""

    def infer(op: EdgeOp) -> Sequence[Attribute]:
        operands = _operands(op)
        promoted = result_element(operands, _scalars(op, scalars))
        return (tensor_type(element(promoted), broadcast(*map(shape_of, operands))),)

    return infer


def same(op: EdgeOp) -> Sequence[Attribute]:
    """The first operand's type."""
    return (op.operands[0].type,)


def _same_float(op: EdgeOp) -> Sequence[Attribute]:
    value = op.operands[0]
    return (tensor_type(to_float(element_of(value)), shape_of(value)),)


def _same_bool(op: EdgeOp) -> Sequence[Attribute]:
    return (tensor_type(i1, shape_of(op.operands[0])),)


def _where(op: EdgeOp) -> Sequence[Attribute]:
    condition, a, b = op.operands
    if element_of(condition) != i1:
        raise VerifyException(f"condition has element type {element_of(condition)}, expected i1")
    return (tensor_type(result_element((a, b)), broadcast(*map(shape_of, op.operands))),)


def _masked_fill(op: EdgeOp) -> Sequence[Attribute]:
    value, mask = op.operands[:2]
    if element_of(mask) != i1:
        raise VerifyException(f"mask has element type {element_of(mask)}, expected i1")
    return (tensor_type(element_of(value), broadcast(shape_of(value), shape_of(mask))),)


def _prelu(op: ops.PreluOp) -> Sequence[Attribute]:
    shape, weight = shape_of(op.self), shape_of(op.weight)
    channels = shape[1] if len(shape) > 1 else 1
    if len(weight) > 1 or (weight and weight[0] != 1 and not same_dim(weight[0], channels)):
        raise VerifyException(f"weight has shape {shape_text(weight)}, expected 1 or {channels} values")
    return same(op)


def _integers(promoted: Attribute) -> Attribute:
    if not isinstance(promoted, IntegerType):
        raise VerifyException(f"operands have element type {promoted}, expected integers or booleans")
    return promoted


_promote = _elementwise()
_float = _elementwise(to_float)
_compare = _elementwise(lambda _: i1)
_promote_integers = _elementwise(_integers)
_promote_other = _elementwise(scalars=("other",))
_promote_other_integer = _elementwise(_integers, ("other",))
_float_other = _elementwise(to_float, ("other",))


def _div_mode(op: ops.DivTensorModeOp | ops.DivScalarModeOp) -> Sequence[Attribute]:
    """Rounded division keeps integers; plain division does not."""
    if "other" in op.schema.values:
        return (_float_other if op.rounding_mode is None else _promote_other)(op)
    return (_float if op.rounding_mode is None else _promote)(op)


UNARY = [
    row("aten::abs(Tensor self) -> Tensor", "Absolute value.", out="abs.out", infer=same),
    row("aten::acos(Tensor self) -> Tensor", "Inverse cosine.", out="acos.out", infer=_same_float),
    row("aten::acosh(Tensor self) -> Tensor", "Inverse hyperbolic cosine.", out="acosh.out", infer=_same_float),
    row("aten::asin(Tensor self) -> Tensor", "Inverse sine.", out="asin.out", infer=_same_float),
    row("aten::asinh(Tensor self) -> Tensor", "Inverse hyperbolic sine.", out="asinh.out", infer=_same_float),
    row("aten::atan(Tensor self) -> Tensor", "Inverse tangent.", out="atan.out", infer=_same_float),
    row("aten::atanh(Tensor self) -> Tensor", "Inverse hyperbolic tangent.", out="atanh.out", infer=_same_float),
    row("aten::ceil(Tensor self) -> Tensor", "Round up.", out="ceil.out", infer=same),
    row("aten::cos(Tensor self) -> Tensor", "Cosine.", out="cos.out", infer=_same_float),
    row("aten::cosh(Tensor self) -> Tensor", "Hyperbolic cosine.", out="cosh.out", infer=_same_float),
    row("aten::erf(Tensor self) -> Tensor", "Error function.", out="erf.out", infer=_same_float),
    row("aten::exp(Tensor self) -> Tensor", "e to the power of each element.", out="exp.out", infer=_same_float),
    row("aten::exp2(Tensor self) -> Tensor", "2 to the power of each element.", out="exp2.out", infer=_same_float),
    row("aten::expm1(Tensor self) -> Tensor", "exp(x) - 1.", out="expm1.out", infer=_same_float),
    row("aten::floor(Tensor self) -> Tensor", "Round down.", out="floor.out", infer=same),
    row("aten::log(Tensor self) -> Tensor", "Natural logarithm.", out="log.out", infer=_same_float),
    row("aten::log10(Tensor self) -> Tensor", "Decimal logarithm.", out="log10.out", infer=_same_float),
    row("aten::log1p(Tensor self) -> Tensor", "log(1 + x).", out="log1p.out", infer=_same_float),
    row("aten::log2(Tensor self) -> Tensor", "Binary logarithm.", out="log2.out", infer=_same_float),
    row("aten::neg(Tensor self) -> Tensor", "Negation.", out="neg.out", infer=same),
    row("aten::reciprocal(Tensor self) -> Tensor", "1 / x.", out="reciprocal.out", infer=_same_float),
    row("aten::round(Tensor self) -> Tensor", "Round, halves to even.", out="round.out", infer=same),
    row("aten::rsqrt(Tensor self) -> Tensor", "1 / sqrt(x).", out="rsqrt.out", infer=_same_float),
    row("aten::sign(Tensor self) -> Tensor", "-1, 0 or 1.", out="sign.out", infer=same),
    row("aten::sin(Tensor self) -> Tensor", "Sine.", out="sin.out", infer=_same_float),
    row("aten::sinh(Tensor self) -> Tensor", "Hyperbolic sine.", out="sinh.out", infer=_same_float),
    row("aten::sqrt(Tensor self) -> Tensor", "Square root.", out="sqrt.out", infer=_same_float),
    row("aten::square(Tensor self) -> Tensor", "x * x.", out="square.out", infer=same),
    row("aten::tan(Tensor self) -> Tensor", "Tangent.", out="tan.out", infer=_same_float),
    row("aten::tanh(Tensor self) -> Tensor", "Hyperbolic tangent.", out="tanh.out", infer=_same_float),
    row("aten::trunc(Tensor self) -> Tensor", "Round towards zero.", out="trunc.out", infer=same),
    row("aten::logical_not(Tensor self) -> Tensor", "x == 0.", out="logical_not.out", infer=_same_bool),
    row("aten::bitwise_not(Tensor self) -> Tensor", "Bitwise complement.", out="bitwise_not.out", infer=same),
    row("aten::isinf(Tensor self) -> Tensor", "Whether x is an infinity.", out="isinf.out", infer=_same_bool),
    row("aten::isnan(Tensor self) -> Tensor", "Whether x is not a number.", out="isnan.out", infer=_same_bool),
    row("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", "One value everywhere.",
        out="fill.Scalar_out", infer=same),
    row("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", "Power.",
        out="pow.Tensor_Scalar_out", infer=_elementwise(scalars=("exponent",))),
]  # fmt: skip

ACTIVATIONS = [
    row("aten::relu(Tensor self) -> Tensor", "max(x, 0).", out="relu.out", infer=same),
    row("aten::sigmoid(Tensor self) -> Tensor", "1 / (1 + exp(-x)).", out="sigmoid.out", infer=_same_float),
    row("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
        "x clamped to [min_val, max_val]; ReLU6 is one.", out="hardtanh.out", infer=same),
    row("aten::hardswish(Tensor self) -> Tensor", "x * clamp(x + 3, 0, 6) / 6.", out="hardswish.out", infer=same),
    row("aten::hardsigmoid(Tensor self) -> Tensor", "clamp(x + 3, 0, 6) / 6.", out="hardsigmoid.out", infer=same),
    row("aten::silu(Tensor self) -> Tensor", "x * sigmoid(x).", out="silu.out", infer=same),
    row("aten::mish(Tensor self) -> Tensor", "x * tanh(log(1 + exp(x))).", out="mish.out", infer=same),
    row('aten::gelu(Tensor self, *, str approximate="none") -> Tensor',
        "x times the normal distribution function, exact or by tanh.", out="gelu.out", infer=same),
    row("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
        "scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1)); SELU and CELU are two.",
        out="elu.out", infer=same),
    row("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
        "x if x > 0 else negative_slope * x.", out="leaky_relu.out", infer=same),
    row("aten::prelu(Tensor self, Tensor weight) -> Tensor",
        "x if x > 0 else weight * x, one weight a channel (dim 1) or one for all.", infer=_prelu),
    row("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
        "log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold.", out="softplus.out", infer=same),
    row("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
        "x within bounds, either of which may be absent.", out="clamp.out", infer=_elementwise(scalars=("min", "max"))),
    row("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
        "x within bounds given by element.", out="clamp.Tensor_out", infer=_promote),
]  # fmt: skip

BINARY = [
    row("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "self + alpha * other.",
        out="add.out", infer=_promote),
    row("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "self + alpha * other.",
        out="add.Scalar_out", infer=_promote_other),
    row("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "self - alpha * other.",
        out="sub.out", infer=_promote),
    row("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "self - alpha * other.",
        out="sub.Scalar_out", infer=_promote_other),
    row("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "other - alpha * self.",
        out="rsub.Scalar_out", infer=_promote_other),
    row("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", "Product.", out="mul.out", infer=_promote),
    row("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", "Product.", out="mul.Scalar_out",
        infer=_promote_other),
    row("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", "Quotient.", out="div.out", infer=_float),
    row("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", "Quotient.", out="div.Scalar_out",
        infer=_float_other),
    row("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
        'Quotient, rounded by "floor" or "trunc" or not at all.', out="div.out_mode", infer=_div_mode),
    row("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
        'Quotient, rounded by "floor" or "trunc" or not at all.', out="div.Scalar_mode_out", infer=_div_mode),
    row("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", "Power.",
        out="pow.Tensor_Tensor_out", infer=_promote),
    row("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", "Power.", out="pow.Scalar_out",
        infer=_elementwise(scalars=("self",))),
    row("aten::maximum(Tensor self, Tensor other) -> Tensor", "The larger one.", out="maximum.out", infer=_promote),
    row("aten::minimum(Tensor self, Tensor other) -> Tensor", "The smaller one.", out="minimum.out", infer=_promote),
    row("aten::atan2(Tensor self, Tensor other) -> Tensor", "The angle of the point (other, self).",
        out="atan2.out", infer=_float),
    row("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", "|self| with the sign of other.", infer=_float),
    row("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", "Remainder with the sign of self.",
        out="fmod.Tensor_out", infer=_promote),
    row("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", "Remainder with the sign of self.",
        out="fmod.Scalar_out", infer=_promote_other),
    row("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", "Remainder with the sign of other.",
        out="remainder.Tensor_out", infer=_promote),
    row("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", "Remainder with the sign of other.",
        out="remainder.Scalar_out", infer=_promote_other),
]  # fmt: skip

LOGIC = [
    *(
        row(f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor", doc, out=f"{name}.Tensor_out", infer=tensor)
        for name, doc, tensor in (
            ("bitwise_and", "Bitwise and.", _promote_integers),
            ("bitwise_or", "Bitwise or.", _promote_integers),
            ("bitwise_xor", "Bitwise exclusive or.", _promote_integers),
            ("eq", "self == other.", _compare),
            ("ne", "self != other.", _compare),
            ("lt", "self < other.", _compare),
            ("le", "self <= other.", _compare),
            ("gt", "self > other.", _compare),
            ("ge", "self >= other.", _compare),
        )
    ),
    *(
        row(f"aten::{name}.Scalar(Tensor self, Scalar other) -> Tensor", doc, out=f"{name}.Scalar_out", infer=scalar)
        for name, doc, scalar in (
            ("bitwise_and", "Bitwise and.", _promote_other_integer),
            ("bitwise_or", "Bitwise or.", _promote_other_integer),
            ("bitwise_xor", "Bitwise exclusive or.", _promote_other_integer),
            ("eq", "self == other.", _compare),
            ("ne", "self != other.", _compare),
            ("lt", "self < other.", _compare),
            ("le", "self <= other.", _compare),
            ("gt", "self > other.", _compare),
            ("ge", "self >= other.", _compare),
        )
    ),
    row("aten::logical_and(Tensor self, Tensor other) -> Tensor", "Both are not zero.",
        out="logical_and.out", infer=_compare),
    row("aten::logical_or(Tensor self, Tensor other) -> Tensor", "One of them is not zero.",
        out="logical_or.out", infer=_compare),
    row("aten::logical_xor(Tensor self, Tensor other) -> Tensor", "Exactly one of them is not zero.",
        out="logical_xor.out", infer=_compare),
    row("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
        "self where the condition holds, else other.", out="where.self_out", infer=_where),
    row("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
        "value where the mask holds, else self.", out="masked_fill.Scalar_out", infer=_masked_fill),
    row("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
        "value (a scalar tensor) where the mask holds, else self.", out="masked_fill.Tensor_out", infer=_masked_fill),
]  # fmt: skip

ROWS = [*UNARY, *ACTIVATIONS, *BINARY, *LOGIC]
