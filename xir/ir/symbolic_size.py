"""Symbolic sizes: what the compiler knows of a dimension whose size is only known at run time.

A `SymbolicSize` is a polynomial with integer coefficients. Its variables are symbols, as `torch.export` names them, and
calls of functions that are no polynomials: quotients, remainders, the larger and the smaller of two sizes. Terms are
kept sorted and without zeros: sizes that are the same polynomial are equal, and what cancels out is a number.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from xdsl.dialects.builtin import DYNAMIC_INDEX


class UndecidedSizeError(Exception):
    """A decision at compile time depends on a size that is only known at run time."""


@dataclass(frozen=True, order=True)
class Variable:
    """A symbol, or a call of a function of sizes; equal to any other with the same text."""

    text: str


@dataclass(frozen=True, order=True)
class SizeFunction(Variable):
    """`floordiv`, `mod`, `max` or `min` of two sizes."""

    function: str
    a: int
    b: int


Monomial = tuple[Variable, ...]
"""A product of variables, sorted; empty for a constant."""

Terms = tuple[tuple[Monomial, int], ...]
"""Monomials with coefficients other than 0, the leading one first."""


class SymbolicSize(int):
    """The size of a dynamic dimension. As an int it is DYNAMIC_INDEX, which types have there.

    It is taken to be larger than any number that a program states. What would need its true value raises
    UndecidedSizeError: division with a remainder, conversion to float, which of two is larger.
    """

    terms: Terms

    def __new__(cls, terms: Terms) -> Self:
        """A size by its terms; `symbol` and arithmetic make them."""
        size = super().__new__(cls, DYNAMIC_INDEX)
        size.terms = terms
        return size

    # Equality is that of the terms; a size never equals a number, DYNAMIC_INDEX included.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymbolicSize) and self.terms == other.terms

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.terms)

    def __add__(self, other: int) -> int:
        return from_terms((*self.terms, *terms_of(other)))

    def __neg__(self) -> int:
        return self * -1

    def __sub__(self, other: int) -> int:
        return self + -other

    def __rsub__(self, other: int) -> int:
        return -self + other

    def __mul__(self, other: int) -> int:
        if not isinstance(other, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UndecidedSizeError  # it is scaled by a float, to be rounded
        return from_terms((multiplied(a, b), x * y) for a, x in self.terms for b, y in terms_of(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> int:
        if (quotient := exact_quotient(self, other)) is None:
            raise UndecidedSizeError
        return quotient

    def __mod__(self, other: int) -> int:
        if exact_quotient(self, other) is None:
            raise UndecidedSizeError
        return 0

    def parts(self) -> tuple[Literal["add", "multiply", "floordiv"], int, int] | None:
        """Two sizes that this one is the sum, product or quotient of; None if it is a symbol or another call."""
        (monomial, factor), *rest = self.terms
        if rest:
            return "add", SymbolicSize(((monomial, factor),)), from_terms(rest)
        if factor != 1:
            return "multiply", SymbolicSize(((monomial, 1),)), factor
        if len(monomial) > 1:
            return "multiply", SymbolicSize(((monomial[:1], 1),)), SymbolicSize(((monomial[1:], 1),))
        quotients = [each for each in monomial if isinstance(each, SizeFunction) and each.function == "floordiv"]
        return ("floordiv", quotients[0].a, quotients[0].b) if quotients else None

    def minus(self, other: int) -> int:
        """The sign of the difference to a number, to compare them; that to another symbolic size has to be known."""
        difference = self - other
        if not isinstance(difference, SymbolicSize):
            return difference
        if isinstance(other, SymbolicSize):
            raise UndecidedSizeError
        return difference.terms[0][1]

    def __lt__(self, other: int) -> bool:
        return self.minus(other) < 0

    def __le__(self, other: int) -> bool:
        return self.minus(other) <= 0

    def __gt__(self, other: int) -> bool:
        return self.minus(other) > 0

    def __ge__(self, other: int) -> bool:
        return self.minus(other) >= 0

    def unknown(self, *_: object) -> Any:
        """What cannot be computed."""
        raise UndecidedSizeError

    __truediv__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __pow__ = __rpow__ = __float__ = unknown

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        return " + ".join(term_text(monomial, factor) for monomial, factor in self.terms)

    __repr__ = __str__

    def __format__(self, format_spec: str) -> str:
        return str(self)


def symbol(name: str) -> SymbolicSize:
    """The size that has this name."""
    return SymbolicSize((((Variable(name),), 1),))


def is_dynamic(size: int) -> bool:
    """Whether a size is only known at run time: it is symbolic, or a type's DYNAMIC_INDEX."""
    return isinstance(size, SymbolicSize) or size == DYNAMIC_INDEX


def terms_of(size: int) -> Terms:
    """A size as a polynomial."""
    if isinstance(size, SymbolicSize):
        return size.terms
    return (((), size),) if size else ()


def from_terms(terms: Iterable[tuple[Monomial, int]]) -> int:
    """The sum of terms; a number if it is constant."""
    sums: dict[Monomial, int] = {}
    for monomial, factor in terms:
        sums[monomial] = sums.get(monomial, 0) + factor
    kept = tuple((m, sums[m]) for m in sorted(sums, key=monomial_order, reverse=True) if sums[m])
    if not kept:
        return 0
    return kept[0][1] if not kept[0][0] else SymbolicSize(kept)


def monomial_order(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    """Graded: products of more variables first. Multiplying both keeps the order of two monomials."""
    return len(monomial), tuple(variable.text for variable in monomial)


def size_order(size: int) -> list[tuple[tuple[int, tuple[str, ...]], int]]:
    """A total order of sizes, which multiplying keeps: numbers by value, then symbolic ones by their terms."""
    return [(monomial_order(monomial), factor) for monomial, factor in terms_of(size)]


def multiplied(a: Monomial, b: Monomial) -> Monomial:
    """The product of two products of variables."""
    return tuple(sorted((*a, *b), key=lambda variable: variable.text))


def exact_quotient(a: int, b: int) -> int | None:
    """a / b if the division is exact for all values of the symbols, else None."""
    divisor = terms_of(b)
    if not divisor:
        return None
    quotient, rest = 0, a
    while terms := terms_of(rest):
        monomial, factor = terms[0]
        left = without(monomial, divisor[0][0])
        if left is None or factor % divisor[0][1]:
            return None
        step = from_terms([(left, factor // divisor[0][1])])
        quotient, rest = quotient + step, rest - step * b
    return quotient


def without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    """A product of variables divided by another; None if it is no multiple of it."""
    left = list(monomial)
    for variable in divisor:
        if variable not in left:
            return None
        left.remove(variable)
    return tuple(left)


def term_text(monomial: Monomial, factor: int) -> str:
    """A term as an expression."""
    parts = [variable.text for variable in monomial]
    return "*".join(parts if factor == 1 and parts else [str(factor), *parts])


def call(function: str, a: int, b: int) -> SymbolicSize:
    """A function of sizes that is no polynomial."""
    return SymbolicSize((((SizeFunction(f"{function}({a}, {b})", function, a, b),), 1),))


def floor_div(a: int, b: int) -> int:
    """⌊a / b⌋."""
    if not isinstance(a, SymbolicSize) and not isinstance(b, SymbolicSize):
        return a // b
    if b == 0:
        raise ZeroDivisionError
    if (exact := exact_quotient(a, b)) is not None:
        return exact
    if isinstance(b, SymbolicSize) or b < 0:
        return call("floordiv", a, b)
    # ⌊(b·x + y) / b⌋ = x + ⌊y / b⌋, of numbers too: what is left of one is not below 0.
    whole = [(monomial, factor // b) for monomial, factor in terms_of(a) if not monomial or factor % b == 0]
    rest = from_terms((monomial, factor if monomial else factor % b) for monomial, factor in terms_of(a) if factor % b)
    if isinstance(rest, SymbolicSize) and rest.terms[0][1] < 0:
        # ⌊−x / b⌋ = −⌊(x + b − 1) / b⌋: quotients of sizes are not below 0.
        return from_terms(whole) - floor_div(b - 1 - rest, b)
    return from_terms(whole) + (quotient_of_rest(rest, b) if isinstance(rest, SymbolicSize) else rest // b)


def quotient_of_rest(a: SymbolicSize, b: int) -> int:
    """⌊a / b⌋, where b divides nothing of a: one quotient of two, as ⌊(⌊x / d⌋ + y) / b⌋ = ⌊(x + d·y) / (d·b)⌋."""
    (monomial, factor), *others = a.terms
    if len(monomial) == 1 and factor == 1 and not any(other for other, _ in others):
        inner = monomial[0]
        if isinstance(inner, SizeFunction) and inner.function == "floordiv" and not is_dynamic(inner.b) and inner.b > 0:
            return floor_div(inner.a + inner.b * sum(number for _, number in others), inner.b * b)
    return call("floordiv", a, b)


def modulo(a: int, b: int) -> int:
    """a − b·⌊a / b⌋."""
    if not isinstance(a, SymbolicSize) and not isinstance(b, SymbolicSize):
        return a % b
    if b == 0:
        raise ZeroDivisionError
    return call("mod", a, b) if exact_quotient(a, b) is None else 0


def largest(a: int, b: int) -> int:
    """The larger of two sizes."""
    return chosen("max", a, b, lambda: a >= b)


def smallest(a: int, b: int) -> int:
    """The smaller of two sizes."""
    return chosen("min", a, b, lambda: a <= b)


def chosen(function: str, a: int, b: int, takes_first: Callable[[], bool]) -> int:
    """The size that is known to be the larger (or smaller) one, else a call with its operands in order."""
    if isinstance(a, SymbolicSize) != isinstance(b, SymbolicSize):
        # A size counts as larger than any number when a rule is chosen, but that does not decide what a size is.
        return call(function, *sorted((a, b), key=size_order))
    try:
        return a if takes_first() else b
    except UndecidedSizeError:
        return call(function, *sorted((a, b), key=size_order))


def upper_bound(size: int, limits: Mapping[int, int]) -> int | None:
    """The largest value that a size can have; None if it has no limit.

    `limits` are the upper bounds of sizes, symbols among them; no variable is negative.

    What is subtracted may be 0, but for quotients of a term that is there at least as often: p·x − q·(x // d) with
    p ≥ q does not fall when x grows, so that it is largest where x is.
    """
    if not isinstance(size, SymbolicSize):
        return size
    if size in limits:
        return limits[size]
    total = 0
    largest_of: dict[Monomial, int] = {}
    left: dict[Monomial, int] = {}
    for monomial, factor in size.terms:
        if factor < 0 and monomial:
            continue
        bounds = [variable_bound(variable, limits) for variable in monomial]
        known = [bound for bound in bounds if bound is not None]
        if len(known) < len(bounds):
            return None
        left[monomial], largest_of[monomial] = factor, math.prod(known)
        total += factor * largest_of[monomial]
    for monomial, factor in size.terms:
        found = quotient_by_number(monomial) if factor < 0 else None
        if found is not None and left.get(found[0], 0) >= -factor:
            left[found[0]] += factor
            total += factor * (largest_of[found[0]] // found[1])
    return total


def subtracts(size: int) -> bool:
    """Whether something that varies is subtracted in a size, which `upper_bound` may take to be 0."""
    return isinstance(size, SymbolicSize) and any(factor < 0 and monomial for monomial, factor in size.terms)


def bound_of_symbol(size: int, bound: int) -> tuple[SymbolicSize, int] | None:
    """A symbol and its upper bound, as they follow from that of p·symbol + q with p > 0; None for another size."""
    terms = terms_of(size)
    constant = sum(factor for monomial, factor in terms if not monomial)
    variable = [(monomial, factor) for monomial, factor in terms if monomial]
    if (
        len(variable) != 1
        or len(variable[0][0]) != 1
        or variable[0][1] < 1
        or isinstance(variable[0][0][0], SizeFunction)
    ):
        return None
    monomial, factor = variable[0]
    return SymbolicSize(((monomial, 1),)), (bound - constant) // factor


def quotient_by_number(monomial: Monomial) -> tuple[Monomial, int] | None:
    """The x and d of a monomial that is x // d, x a monomial itself and d a positive number."""
    if len(monomial) != 1 or not isinstance(quotient := monomial[0], SizeFunction) or quotient.function != "floordiv":
        return None
    dividend = terms_of(quotient.a)
    if isinstance(quotient.b, SymbolicSize) or quotient.b < 1 or len(dividend) != 1 or dividend[0][1] != 1:
        return None
    return dividend[0][0], quotient.b


def lower_bound(size: int, limits: Mapping[int, int]) -> int:
    """A lower bound of a size, assuming that symbols are at least 1; `limits` as for `upper_bound`."""
    if not isinstance(size, SymbolicSize):
        return size
    total = 0
    for monomial, factor in size.terms:
        for variable in monomial:
            bound = variable_bound(variable, limits) if factor < 0 else least_value(variable, limits)
            if bound is None:
                return 0
            factor *= bound
        total += factor
    return max(total, 0)


def least_value(variable: Variable, limits: Mapping[int, int]) -> int:
    """A lower bound of a symbol, which is assumed to be at least 1, or of a call."""
    if not isinstance(variable, SizeFunction):
        return 1
    a, b = lower_bound(variable.a, limits), lower_bound(variable.b, limits)
    match variable.function:
        case "floordiv":
            return 0 if isinstance(variable.b, SymbolicSize) else a // variable.b
        case "mod":
            return 0
        case "max":
            return max(a, b)
        case _:
            return min(a, b)


def variable_bound(variable: Variable, limits: Mapping[int, int]) -> int | None:
    """The largest value of a symbol or a call."""
    if not isinstance(variable, SizeFunction):
        return limits.get(symbol(variable.text))
    a, b = upper_bound(variable.a, limits), upper_bound(variable.b, limits)
    match variable.function:
        case "floordiv":
            return a if a is None or isinstance(variable.b, SymbolicSize) else a // variable.b
        case "mod":
            return None if b is None else b - 1
        case "max":
            return None if a is None or b is None else max(a, b)
        case _:
            return min((bound for bound in (a, b) if bound is not None), default=None)


FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "Max": largest,
    "Min": smallest,
    "Mod": modulo,
    "PythonMod": modulo,
    "FloorDiv": floor_div,
    "CleanDiv": floor_div,
}
"""The functions in the sizes of `torch.export` (`torch/utils/_sympy/functions.py`), and sympy's own."""

OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: floor_div,
    ast.Mod: modulo,
}


def parse_size(text: str) -> SymbolicSize:
    """The size that an expression of `torch.export` stands for, such as `2*s0 + 1` or `Max(s0, s1)//2`.

    What is no such expression is a name like any other.
    """
    try:
        size = evaluated(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, ZeroDivisionError):
        return symbol(text)
    return size if isinstance(size, SymbolicSize) else symbol(text)


def evaluated(node: ast.expr) -> int:
    """The size of an expression's syntax tree; ValueError for syntax that sizes do not have."""
    match node:
        case ast.Name(id=name):
            return symbol(name)
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluated(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))) if 0 < power <= 4:
            size = base = evaluated(left)
            for _ in range(power - 1):
                size *= base
            return size
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](evaluated(left), evaluated(right))
        case ast.Call(func=ast.Name(id=name), args=[a, b], keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](evaluated(a), evaluated(b))
        case _:
            raise ValueError(f"{ast.unparse(node)} is no size")
