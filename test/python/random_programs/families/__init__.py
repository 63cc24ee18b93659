"""What lines are drawn from: each family adds one to a few lines of its kind, in any form, of any type."""

from __future__ import annotations

from collections.abc import Callable

from random_programs.builder import Builder
from random_programs.families.arithmetic import binary, unary
from random_programs.families.complex_numbers import complex_numbers
from random_programs.families.constants import constant_joined, constant_operand, constant_product
from random_programs.families.conversions import conversion, round_trip
from random_programs.families.images import image
from random_programs.families.movement import joined, movement
from random_programs.families.products import attention, product, transposed_product
from random_programs.families.reductions import normalization, reduction
from random_programs.families.scalars import (
    scalar_activation,
    scalar_argument,
    scalar_choice,
    scalar_division,
    scalar_operand,
    scalar_power,
)
from random_programs.families.written import written

Family = Callable[[Builder], None]

FAMILIES: dict[Family, float] = {
    scalar_operand: 2, scalar_division: 1, scalar_power: 0.7, scalar_argument: 1.2, scalar_activation: 0.7,
    scalar_choice: 1, constant_operand: 2, constant_joined: 0.7, constant_product: 0.7, unary: 2, binary: 3,
    conversion: 1.5, round_trip: 1.2, product: 1.5, transposed_product: 1.2, attention: 0.4, movement: 3, joined: 0.8,
    reduction: 1.5, normalization: 1, image: 1, complex_numbers: 0.25, written: 1.5,
}  # fmt: skip
"""How often each is drawn, beside the others."""

SMOOTH: tuple[Family, ...] = (
    scalar_operand, scalar_activation, constant_operand, constant_product, unary, binary, product, transposed_product,
    attention, movement, joined, reduction, normalization, image,
)  # fmt: skip
"""What quantised programs are drawn from: where integers are a step off, results that jump say nothing."""
