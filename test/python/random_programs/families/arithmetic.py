"""Functions of one value and of two, which are often one and the same."""

from __future__ import annotations

import torch

from random_programs.builder import Builder

DELEGATED = (
    "{x}.abs()", "-{x}", "{x}.square()", "{x}.sin()", "{x}.cos()", "{x}.tanh()", "{x}.sigmoid()", "F.relu({x})",
    "F.relu6({x})", "F.hardswish({x})", "F.hardsigmoid({x})", "F.selu({x})", "F.silu({x})", "F.mish({x})",
    "F.gelu({x})", "F.gelu({x}, approximate='tanh')", "torch.exp({x}.clamp(-4, 3))", "torch.log({x}.abs() + 0.5)",
    "torch.sqrt({x}.abs() + 0.25)", "torch.rsqrt({x}.abs() + 0.25)", "torch.reciprocal({x}.abs() + 0.5)",
    "F.logsigmoid({x})", "-F.softplus(-{x})", "1.5 - {x}", "{x} / 3", "torch.add({x}, 0.5, alpha=2)",
)  # fmt: skip
"""What XNNPACK computes of any number, and what no rounding of it moves far; `properties` draw from these as well."""

DELEGATED_BESIDES = (
    "torch.log1p({x}.abs())", "torch.expm1({x}.clamp(max=4))", "torch.erf({x})", "torch.exp2({x}.clamp(-4, 4))",
    "torch.log2({x}.abs() + 0.5)", "torch.log10({x}.abs() + 0.5)", "torch.sinh({x}.clamp(-4, 4))",
    "torch.cosh({x}.clamp(-4, 4))", "F.softsign({x})", "torch.rad2deg({x})", "{x}.clone()",
)  # fmt: skip
"""Of the same kind, but rarer, so that a draw of them takes none from the others."""

SMOOTH = (
    *DELEGATED, *DELEGATED_BESIDES, "torch.atan({x})", "torch.asinh({x})", "torch.sqrt({x}.abs())",
    "torch.log({x}.abs())", "torch.sinc({x})",
)  # fmt: skip

DELEGATED_STEPS = (
    "{x}.floor()", "{x}.ceil()", "{x}.trunc()", "{x}.round()", "{x}.sign()", "{x}.frac()",
    "torch.round({x}, decimals=1)",
)  # fmt: skip

STEPS = (
    *DELEGATED_STEPS, "torch.isnan({x})", "torch.signbit({x})", "torch.isfinite({x})", "{x} > 0", "torch.isinf({x})",
    "torch.heaviside({x}, {x})",
)  # fmt: skip

OF_TRUTH = ("~{x}", "torch.logical_not({x})", "{x} ^ {x}", "{x} & True")

WHOLE = (
    "{x}.abs()", "-{x}", "~{x}", "{x} * {x}", "{x}.sign()", "{x}.square()", "{x} << 1", "{x} >> 1", "{x} & 3",
    "{x} | 1", "{x} ^ 5", "F.relu({x})",
)  # fmt: skip

DELEGATED_PAIRS = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "torch.maximum({x}, {y})", "torch.minimum({x}, {y})",
    "{x} / ({y}.abs() + 0.5)", "({x} - {y}) ** 2", "torch.add({x}, {y}, alpha=2)", "torch.add({x}, {y}, alpha=-0.5)",
    "torch.sub({x}, {y}, alpha=0.5)", "torch.addcmul({x}, {x}, {y})", "torch.lerp({x}, {y}, 0.25)",
    "torch.hypot({x}, {y})", "torch.addcdiv({x}, {y}, {x}.abs() + 1)", "({x}.abs() + 0.5) ** {y}.clamp(-2, 2)",
    "torch.logaddexp({x}, {y})",
)  # fmt: skip

SMOOTH_PAIRS = (
    *DELEGATED_PAIRS, "{x} / {y}", "torch.fmax({x}, {y})", "torch.atan2({x}, {y})", "torch.xlogy({x}, {y}.abs() + 0.1)",
    "torch.copysign({x}, {y})",
)  # fmt: skip

STEPPING_PAIRS = (
    "{x} > {y}", "{x} <= {y}", "{x} == {y}", "{x} != {y}", "torch.where({x} > {y}, {x}, {y})",
    "torch.logical_and({x}, {y})", "torch.logical_xor({x}, {y})", "torch.where({x} > 0, {y}, 0.0)",
    "torch.where({y} > 0, {x}, 1)",
)  # fmt: skip

DIVISIONS = (
    "{x} // {y}", "{x} % {y}", "torch.fmod({x}, {y})", "torch.div({x}, {y}, rounding_mode='trunc')",
    "torch.div({x}, {y}, rounding_mode='floor')", "torch.remainder({x}, {y})",
)  # fmt: skip


def unary(b: Builder) -> None:
    x = b.number()
    if not b.is_float(x):
        b.moves(b.one(OF_TRUTH if b.dtype(x) == torch.bool else WHOLE).format(x=x))
    elif b.flag(0.85):
        b.computes(b.one(SMOOTH).format(x=x))
    else:
        b.jumps(b.one(STEPS).format(x=x))


def binary(b: Builder) -> None:
    """Of two values of one shape, mostly; of one twice; of one that is broadcast; of a value and a weight."""
    x = b.number()
    y = b.same_shape(x) if b.flag(0.8) else b.number()
    if not b.open_sizes and b.flag(0.15):
        sizes = [size if b.flag() else 1 for size in b.shape(x)][b.int(0, b.rank(x)) :]
        y = b.weight(*sizes, dtype=b.dtype(x) if b.is_float(x) else torch.float32)
    if b.flag(0.75):
        b.computes(b.one(SMOOTH_PAIRS).format(x=x, y=y))
    elif b.flag(0.6):
        b.jumps(b.one(STEPPING_PAIRS).format(x=x, y=y))
    elif b.is_float(x) or b.is_float(y):
        b.jumps(b.one(DIVISIONS).format(x=x, y=y))
    elif b.dtype(x) != torch.bool:
        b.jumps(b.one(DIVISIONS).format(x=x, y=f"({y} | 1)"))
