"""How an operator of complex tensors becomes operators of their parts, and the table of rules for it."""

# pyright: reportPrivateUsage=false
# torch's module of complex tensors begins with an underscore.

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch._subclasses.complex_tensor import ComplexTensor
from torch.utils import _pytree as pytree
from xdsl.ir import SSAValue

from ..aliasing import Operator

aten = torch.ops.aten


class ComplexValue(NamedTuple):
    """A complex tensor in the IR."""

    real: SSAValue
    imag: SSAValue


def is_complex(value: Any) -> bool:
    """Whether an fx value is a tensor of complex numbers, or has one among several."""
    if isinstance(value, list | tuple):
        return any(map(is_complex, value))
    return isinstance(value, torch.Tensor) and value.is_complex()


def has_rule(target: Operator) -> bool:
    """Whether an operator has a rule of its own here, which goes before what torch makes of it."""
    return target in RULES


def in_parts(target: Operator) -> Callable[..., Any]:
    """What an operator computes of complex tensors, as a function of tensors and `ComplexTensor`s."""
    rule = RULES.get(target)
    if rule is not None:
        return rule
    names = [argument.name for argument in target._schema.arguments]

    def call(*args: Any, **kwargs: Any) -> Any:
        found = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        complex_ones = [leaf for leaf in found if isinstance(leaf, ComplexTensor)]
        real = max((leaf.re.dtype for leaf in complex_ones), key=lambda dtype: dtype.itemsize, default=None)

        def operand(name: str, value: Any) -> Any:
            """A tensor of whole numbers as promotion has it; of real ones as complex where no operand else is."""
            if name in _CHOOSING or not isinstance(value, torch.Tensor) or isinstance(value, ComplexTensor):
                return value
            numbers = value if value.is_floating_point() else value.to(real or torch.get_default_dtype())
            # A complex number makes complex tensors of real ones: x * 1j.
            return numbers if complex_ones else ComplexTensor(numbers, torch.zeros_like(numbers))

        def operands(name: str, value: Any) -> Any:
            return [operand(name, each) for each in value] if isinstance(value, list | tuple) else operand(name, value)

        given = [operands(name, value) for name, value in zip(names, args, strict=False)]
        return target(*given, **{name: operands(name, value) for name, value in kwargs.items()})

    return call


_CHOOSING = frozenset(("condition", "index", "indices", "mask", "repeats"))
"""Operands that say where and not what."""


RULES: dict[Operator, Callable[..., Any]] = {}


def computes(*operators: Operator) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule: a function of the operator's arguments, complex tensors among them as `ComplexTensor`s."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(operators, function))
        return function

    return register


@computes(aten.view_as_complex.default)
def _view_as_complex(self: torch.Tensor) -> Any:
    return ComplexTensor(aten.select.int(self, -1, 0), aten.select.int(self, -1, 1))


@computes(aten.complex.default)
def of_parts(real: torch.Tensor, imag: torch.Tensor) -> Any:
    """Two real tensors as one."""
    return ComplexTensor(*torch.broadcast_tensors(real, imag))


@computes(aten.lift_fresh_copy.default, aten.lift_fresh.default)
def _itself(self: Any) -> Any:
    return self


@computes(aten.polar.default)
def _polar(abs: torch.Tensor, angle: torch.Tensor) -> Any:
    return of_parts(abs * angle.cos(), abs * angle.sin())


def halves(value: Any) -> tuple[Any, Any]:
    """Real and imaginary part, of tensors and numbers."""
    if isinstance(value, ComplexTensor):
        return value.re, value.im
    if isinstance(value, torch.Tensor):
        return value, torch.zeros_like(value)
    return complex(value).real, complex(value).imag
