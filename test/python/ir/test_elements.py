"""What elements hold which values, for each pair of types, beside what PyTorch's conversions give."""

import numpy as np
import pytest
import torch

from xir.importer.dtypes import ELEMENT_TYPES, numpy_view
from xir.ir.elements import storage_dtype, stored, value_dtype, values_of

DTYPES = [dtype for dtype in ELEMENT_TYPES if not dtype.is_complex]

_NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, -3.5, 1e-3, 2049.0, 3e38, 1e39, 1e-45, float("inf"), -float("inf")]
_TIES = [float("nan"), 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-40, 1 + 2**-11 + 2**-40]
_LARGEST = [
    sign * (largest + step * part)
    for largest, step in ((65504, 32), (448, 32), (240, 16), (57344, 8192))
    for part in (0, 0.49, 0.5, 0.51, 1)
    for sign in (1, -1)
]
_LEAST = [
    least * part
    for least in (2.0**-24, 2.0**-9, 2.0**-10, 2.0**-16, 2.0**-17, 2.0**-133)
    for part in (0.49, 0.5, 0.51, 1, 1.5, 2.5, 3)
]
FLOATS = [*_NUMBERS, *_TIES, *_LARGEST, *_LEAST]
"""Signs of zero, ties, what lies behind a tie by less than float32 tells, and the ends of types."""
INTEGERS = [
    *(0, 1, -1, 3, 300, 2049, 65519, 65520, 2**24 + 1, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(sign * (2**bits + more) for bits in (7, 8, 15, 16, 31, 32) for more in (-1, 0, 1) for sign in (1, -1)),
]


def values_in(dtype: torch.dtype) -> torch.Tensor:
    """The values above in a type, and some random ones."""
    if not dtype.is_floating_point:
        return torch.tensor(INTEGERS).to(dtype)
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(500, dtype=torch.float64, generator=generator)
    scales = 2.0 ** torch.randint(-18, 18, (500,), generator=generator)
    return torch.cat([torch.tensor(FLOATS, dtype=torch.float64), drawn * scales]).to(dtype)


def fits(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Which floats an integer type has the whole part of: C++ leaves open what becomes of the others."""
    limits, whole = torch.iinfo(dtype), values.double().trunc()
    if dtype is torch.uint64:
        return (whole >= 0) & (whole < 2.0**63)  # whose upper half torch's conversion does not reach
    return (whole >= float(limits.min)) & (whole < float(limits.max) + 1)


@pytest.mark.parametrize("source", DTYPES, ids=str)
def test_elements_are_those_of_pytorch(source: torch.dtype) -> None:
    for target in DTYPES:
        given, element = values_in(source), ELEMENT_TYPES[target]
        if source.is_floating_point and not target.is_floating_point and target is not torch.bool:
            given = given[fits(given, target)]
        values = values_of(numpy_view(given), ELEMENT_TYPES[source])
        assert values.dtype == value_dtype(ELEMENT_TYPES[source])
        made, wanted = stored(values, element), numpy_view(given.to(target))
        assert made.dtype == storage_dtype(element)
        bits = np.dtype(f"u{made.itemsize}")
        # Which of its bits a NaN has is nobody's business.
        is_nan = np.isnan(values_of(made, element)) & np.isnan(values_of(wanted, element))
        expected = np.where(is_nan, 0, wanted.view(bits))
        np.testing.assert_array_equal(np.where(is_nan, 0, made.view(bits)), expected, f"to {target}")


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 128.0, -129.0])
def test_no_integer_is_made_of_what_is_none(number: float) -> None:
    with pytest.raises(ValueError, match=r"is no i8"):
        stored(np.array([0.0, number]), ELEMENT_TYPES[torch.int8])
