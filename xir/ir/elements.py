"""Elements of tensors: between values, as numpy computes with them, and the bits that store them.

One value is one storage element, also below eight bits (`i1` and `i4` take a byte each). numpy has neither bfloat16 nor
floats of eight bits: their values are float32, which holds them exactly, and their elements are unsigned integers.
What is a value and what are bits is never told from a dtype: `stored` takes values alone.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    Signedness,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute

Float8Type = Float8E4M3FNType | Float8E4M3FNUZType | Float8E5M2Type | Float8E5M2FNUZType

_FLOAT_DTYPES: dict[type[Attribute], np.dtype] = {
    Float8E4M3FNType: np.dtype("u1"),
    Float8E4M3FNUZType: np.dtype("u1"),
    Float8E5M2Type: np.dtype("u1"),
    Float8E5M2FNUZType: np.dtype("u1"),
    BFloat16Type: np.dtype("<u2"),
    Float16Type: np.dtype("<f2"),
    Float32Type: np.dtype("<f4"),
    Float64Type: np.dtype("<f8"),
}

_ELEMENT_TYPES: dict[str, Attribute] = {"f2": f16, "f4": f32, "f8": f64, "b1": IntegerType(1)}


def storage_dtype(element_type: Attribute) -> np.dtype:
    """The numpy dtype that stores one element: `uint16` for bf16, `bool` for i1, the next power of two for integers.

    Signless integers are signed in numpy. TypeError if numpy has nothing for the type.
    """
    if (dtype := _FLOAT_DTYPES.get(type(element_type))) is not None:
        return dtype
    if isinstance(element_type, IndexType):
        return np.dtype("<i8")
    if isinstance(element_type, IntegerType) and element_type.width.data <= 64:
        width = element_type.width.data
        if width == 1:
            return np.dtype(np.bool_)
        kind = "u" if element_type.signedness.data is Signedness.UNSIGNED else "i"
        return np.dtype(f"<{kind}{max(1, (1 << (width - 1).bit_length()) // 8)}")
    raise TypeError(f"no numpy type stores {element_type}")


def value_dtype(element_type: Attribute) -> np.dtype:
    """The numpy dtype of an element's value: that of its storage, but `float32` for bf16 and floats of eight bits."""
    return np.dtype("<f4") if has_bits_alone(element_type) else storage_dtype(element_type)


def has_bits_alone(element_type: Attribute) -> bool:
    """Whether numpy has no such floats, so that they are stored as unsigned integers."""
    return isinstance(element_type, BFloat16Type | Float8Type)


def element_type_of(dtype: np.dtype) -> Attribute:
    """The element type of a numpy dtype: `int8` is `i8`, `uint8` is `ui8`. TypeError if there is none."""
    code = f"{dtype.kind}{dtype.itemsize}"
    if (element_type := _ELEMENT_TYPES.get(code)) is not None:
        return element_type
    if dtype.kind == "i":
        return IntegerType(8 * dtype.itemsize)
    if dtype.kind == "u":
        return IntegerType(8 * dtype.itemsize, Signedness.UNSIGNED)
    raise TypeError(f"no element type for numpy's {dtype}")


class NotStoredError(ValueError):
    """A number that a type does not hold, and of which C++ leaves open what it becomes."""


def stored(values: np.ndarray, element_type: Attribute) -> np.ndarray:
    """The elements that hold `values` in `element_type`, of `storage_dtype`: what PyTorch's `values.to(dtype)` holds.

    Floats are rounded to nearest, ties to even, beyond the largest to what the type has there: infinity, or NaN in
    floats of eight bits without one. Integers wrap around, and every number but 0 is true. Nothing is copied where the
    values are the elements.

    NotStoredError for floats that are no integers of the type, such as infinities: C++ leaves open what they become.
    """
    dtype = storage_dtype(element_type)
    if has_bits_alone(element_type):
        # Floats of 64 bits are rounded twice, as c10's constructors do it.
        numbers = _as_floats(values, np.dtype(np.float32))
        return round_to_bfloat16(numbers) if isinstance(element_type, BFloat16Type) else _float8(numbers, element_type)
    if values.dtype == dtype:
        return values
    if values.dtype.kind in "iu" and dtype.kind in "iu" and values.dtype.itemsize == dtype.itemsize:
        return values.view(dtype)
    if dtype.kind == "f":
        return _as_floats(_as_floats(values, np.dtype(np.float32)) if dtype.itemsize == 2 else values, dtype)
    if values.dtype.kind == "f" and dtype.kind in "iu":
        limits, whole = np.iinfo(dtype), np.trunc(values.astype(np.float64))
        fits = (whole >= float(limits.min)) & (whole < float(limits.max) + 1)
        if not fits.all():
            raise NotStoredError(f"{values[~fits][0]} is no {element_type}")
    return values.astype(dtype)


def _as_floats(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(dtype, copy=False)


def values_of(elements: np.ndarray, element_type: Attribute) -> np.ndarray:
    """The values of stored elements, of `value_dtype`; a copy where they are not the elements."""
    if isinstance(element_type, BFloat16Type):
        return (np.asarray(elements).astype(np.uint32) << 16).view(np.float32)
    if isinstance(element_type, Float8Type):
        return _float8_values(element_type)[elements]
    return elements


def round_to_bfloat16(array: np.ndarray) -> np.ndarray:
    """bf16 bit patterns (`uint16`) of float32 values, rounded to nearest, ties to even; NaNs stay NaNs."""
    bits = np.asarray(array, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | np.uint32(0x0040)
    return np.where(np.isnan(array), quiet_nan, rounded).astype(np.uint16)


@cache
def _float8_values(element_type: Float8Type) -> np.ndarray:
    """The value of each of 256 bit patterns."""
    return np.array(element_type.unpack(bytes(range(256)), 256), np.float32)


def _float8(numbers: np.ndarray, element_type: Attribute) -> np.ndarray:
    """The bit patterns of float32 values. Those of positive numbers are in the order of the numbers.

    Source of what is beyond the largest: c10/util/Float8_*.h, where e4m3fn has the largest number for it.
    """
    assert isinstance(element_type, Float8Type)
    values = _float8_values(element_type)
    finite = values[:128][np.isfinite(values[:128])].astype(np.float64)
    nan_is_minus_zero = bool(np.isnan(values[0x80]))
    nan = 0x80 if nan_is_minus_zero else 0x7F
    beyond = nan
    if isinstance(element_type, Float8E5M2Type | Float8E4M3FNType):
        beyond = len(finite) - isinstance(element_type, Float8E4M3FNType)
    # Halfway to the next number, which for the largest would be one step further.
    halfway = (finite + np.append(finite[1:], 2 * finite[-1] - finite[-2])) / 2
    magnitude = np.abs(numbers).astype(np.float64)
    code = np.searchsorted(halfway, magnitude, side="left")
    code += (halfway[np.minimum(code, len(finite) - 1)] == magnitude) & (code % 2 == 1)
    code = np.where(np.isnan(numbers), nan, np.where(code >= len(finite), beyond, code))
    has_sign = np.signbit(numbers) & ~(nan_is_minus_zero & (code == 0))
    return (code | has_sign.astype(np.int64) << 7).astype(np.uint8)
