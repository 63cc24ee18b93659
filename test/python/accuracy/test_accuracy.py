"""Composed operators are as near to fp64 as eager is, in every form and type, whatever the size of their numbers.

Each form has its own way: nodes for stock ExecuTorch, those of xir's runtime, kernels without a delegate. What an op
takes for an absent argument, and in which type it computes, is the same in all; what differs shows here.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from reference.dozens import dozens

from accuracy.measure import DTYPES, FORMS, distances, loaded, lowered
from accuracy.operators import OPERATORS

ALLOWED = {"f16": 4, "bf16": 4, "f32": 16, "f64": 512}
"""How many units (`Distance`) a form may be off, by type.

Halves round once or twice more than eager. XNNPACK holds its fp32 functions to some units in the last place, and adds
in another order. In fp64 eager is what results are held to, and has an error of its own that norms of nearly equal
numbers magnify.
"""

NOT_IN_HALVES = frozenset(
    "avg_pool3d bicubic_antialias bilinear_antialias cdist cdist_1 local_response_norm pdist".split()
)
"""What eager itself has for fp32 and fp64 alone."""

BEYOND: dict[str, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    **dict.fromkeys(
        ("sigmoid", "silu", "glu", "bce", "bce_with_logits"),
        (("f32", "bf16"), ("limit",), "XNNPACK's sigmoid is NaN for most numbers below -2^96"),
    ),
    "tan": (("f32",), ("30", "limit"), "near a zero of the cosine, which XNNPACK has within 2^-23 of 1"),
    **dict.fromkeys(
        ("batch_norm_of_batch", "batch_norm_of_batch_affine"),
        (("f32",), ("1e-3",), "equal numbers differ from their mean by its rounding, which a small variance magnifies"),
    ),
    "tanhshrink": (("f64",), ("1e-3",), "the difference of nearly equal numbers, which eager rounds as well"),
}
"""Operator -> types, sizes of numbers, and why its form is further off there. docs/rationale/lowering.md names them."""

QUICK = frozenset(
    """
    attention_masked avg_pool2d_large batch_norm_of_batch bicubic_size cosh cosine hardswish hypot layer_norm log1p
    logsumexp mean_long norm_long rms_norm round_decimals softplus_beta var weight_norm
    """.split()
)


def names(dtype: str, is_quick: bool) -> list[str]:
    """The operators that eager has in a type."""
    in_halves = dtype in ("f16", "bf16")
    return [name for name in OPERATORS if (name in QUICK) == is_quick and not (in_halves and name in NOT_IN_HALVES)]


CASES = [
    pytest.param(*group.values, dtype, id=f"{group.id}-{dtype}", marks=() if is_quick else pytest.mark.exhaustive)
    for dtype in DTYPES
    for is_quick in (True, False)
    for group in dozens(names(dtype, is_quick), str)
]


@pytest.mark.parametrize(("together", "dtype"), CASES)
@pytest.mark.filterwarnings("ignore")
def test_as_near_as_eager(together: Sequence[str], dtype: str) -> None:
    operators, element = {name: OPERATORS[name] for name in together}, DTYPES[dtype]
    program = lowered(operators.values(), element)
    # XNNPACK has no fp64.
    for form in FORMS if dtype != "f64" else ("kernels",):
        for name, found in distances(operators, element, loaded(program, form)):
            types, sizes, _ = BEYOND.get(name, ((), (), ""))
            is_known = dtype in types and found.size in sizes and (form != "kernels" or dtype == "f64")
            assert is_known or found.times <= ALLOWED[dtype], f"{name}, {form}: {found}"
