"""Python numbers: ints, floats and bools, small ones and beyond the range of types, in every place that takes one."""

from __future__ import annotations

import torch

from random_programs.builder import Builder

WHOLE = ("0", "1", "2", "3", "-1", "-3", "7", "255", "True", "False")
FRACTIONS = ("0.5", "0.1", "-0.25", "1.5", "1 / 3", "-0.0", "0.0", "1e-3", "3.0", "-1.0")
EXTREMES = (
    "70000", "70000.0", "-1e5", "65504.0", "1e9", "1e-6", "1e-9", "3e38", "1e39", "1e300", "inf", "-inf", "2**31",
    "10**12",
)  # fmt: skip
"""Beyond some type's range, or below its smallest steps."""

DIVISIONS = (
    "{x} // {s}", "{x} % {s}", "{s} // {x}", "{s} % {x}", "torch.fmod({x}, {s})", "torch.remainder({s}, {x})",
    "torch.div({x}, {s}, rounding_mode='floor')", "torch.div({x}, {s}, rounding_mode='trunc')",
)  # fmt: skip

ARGUMENTS = (
    "torch.add({x}, {y}, alpha={s})", "torch.sub({x}, {y}, alpha={t})", "torch.rsub({x}, {s}, alpha={t})",
    "{x}.clamp(min={s})", "{x}.clamp(max={s})", "{x}.clamp({t}, {s})", "torch.addcmul({x}, {x}, {y}, value={t})",
    "torch.lerp({x}, {y}, {t})", "torch.clamp({x}, max={t})", "torch.clamp({x}, {t})",
    "torch.addcdiv({x}, {y}, {x}.abs() + 1, value={t})",
)  # fmt: skip

ACTIVATIONS = (
    "F.leaky_relu({x}, {s})", "F.elu({x}, {p})", "F.elu({x}, alpha={s})", "F.celu({x}, {p})",
    "F.softplus({x}, {p}, {p})", "F.hardtanh({x}, -{p}, {p})", "F.softshrink({x}, {p})",
    "torch.logit({x}.sigmoid(), 1e-3)", "torch.nan_to_num({x}, {s}, {p})",
)  # fmt: skip

CHOICES = (
    "torch.where({x} > {t}, {x}, {s})", "torch.where({x} > {t}, {s}, {x})", "torch.where({x} >= {t}, {s}, {t})",
    "{x}.masked_fill({x} < {t}, {s})", "F.threshold({x}, {t}, {s})", "F.hardshrink({x}, 0.5)", "{x} > {s}",
    "{x} < {s}", "{x} >= {s}", "{x} <= {s}", "{x} == {s}", "{x} != {s}", "torch.full_like({x}, {s})",
    "F.pad({x}, (1, 2), value={s})", "{x}.new_full((2,), {s})",
)  # fmt: skip


def scalar(b: Builder, *, small: bool = False) -> str:
    """A number as text: mostly small, sometimes beyond some type's range."""
    if not small and b.flag(0.2):
        return b.one(EXTREMES)
    return b.one(WHOLE if b.flag(0.4) else FRACTIONS)


def scalar_operand(b: Builder) -> None:
    x, s, op = b.number(), scalar(b), b.one("+-*/")
    b.computes(f"{x} {op} {s}" if b.flag() else f"{s} {op} {x}")


def scalar_division(b: Builder) -> None:
    """Quotients that are rounded, and remainders; integers are not divided by 0."""
    x, s, form = b.number(), scalar(b), b.one(DIVISIONS)
    if not b.is_float(x):
        s = "3" if s in ("0", "False") else s
        if b.dtype(x) == torch.bool:
            form = "{x} // {s}"
        b.jumps(form.format(x=f"({x} | 1)", s=s))
        return
    b.jumps(form.format(x=x, s=s))


def scalar_power(b: Builder) -> None:
    x = b.number()
    if not b.is_float(x):
        form = b.one(["{x} ** {n}", "torch.pow({m}, {x} & 3)"])
        b.computes(form.format(x=x, n=b.one("0123"), m=b.one(["2", "3", "-1", "255"])))
        return
    exponent = b.one(["2", "3", "4", "0.5", "-1", "-2", "1.5", "0", "1", "2.0", "1e-3"])
    base = b.one(["2", "0.5", "3", "255", "1.0"])
    b.computes(
        b.one([f"{x} ** {exponent}", f"({x}.abs() + 0.5) ** {exponent}", f"torch.pow({base}, {x}.clamp(-3, 3))"])
    )


def scalar_argument(b: Builder) -> None:
    """Beside tensors, in ops that take both."""
    x = b.number()
    b.computes(b.one(ARGUMENTS).format(x=x, y=b.same_shape(x), s=scalar(b), t=scalar(b, small=True)))


def scalar_activation(b: Builder) -> None:
    b.computes(
        b.one(ACTIVATIONS).format(x=b.real(), s=scalar(b, small=True), p=b.one(["0.5", "1", "2.0", "0.01", "3"]))
    )


def scalar_choice(b: Builder) -> None:
    """Comparisons with a number, and choices by them."""
    b.jumps(b.one(CHOICES).format(x=b.number(), s=scalar(b), t=scalar(b, small=True)))
