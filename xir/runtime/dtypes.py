"""Element types as the file numbers them (c10::ScalarType), in NumPy and in torch."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

NUMPY_DTYPES: dict[int, np.dtype[np.generic]] = {
    number: np.dtype(name)
    for number, name in {
        0: "uint8",
        1: "int8",
        2: "int16",
        3: "int32",
        4: "int64",
        5: "float16",
        6: "float32",
        7: "float64",
        11: "bool",
        27: "uint16",
        28: "uint32",
        29: "uint64",
    }.items()
}
"""Types that NumPy has too."""

NUMPY_NUMBERS = {dtype: number for number, dtype in NUMPY_DTYPES.items()}
"""The other way around."""

TORCH_NAMES: dict[int, str] = {number: dtype.name for number, dtype in NUMPY_DTYPES.items()} | {
    15: "bfloat16",
    23: "float8_e5m2",
    24: "float8_e4m3fn",
    25: "float8_e5m2fnuz",
    26: "float8_e4m3fnuz",
}
"""Attribute of the `torch` module for each number. The quantised types of old ExecuTorch files are not among them."""


@cache
def torch_dtype(number: int) -> torch.dtype:
    """torch's dtype of a number in the file. Raises KeyError for one that torch has no plain dtype for."""
    import torch

    return getattr(torch, TORCH_NAMES[number])


@cache
def torch_number(dtype: torch.dtype) -> int | None:
    """The file's number of a torch dtype, None where it has none."""
    name = str(dtype).removeprefix("torch.")
    return next((number for number, torch_name in TORCH_NAMES.items() if torch_name == name), None)


def is_torch_tensor(value: object) -> bool:
    """Whether `value` is a `torch.Tensor`, without importing torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
