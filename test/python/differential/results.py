"""What a program gave in a runtime, and when two such results are one."""

from __future__ import annotations

from typing import Any

import torch

Output = tuple[str, tuple[int, ...], bytes]
"""A result as dtype, shape and bytes."""

Result = list[Output] | str
"""The outputs; or why there are none."""

ROUNDED = {torch.float64: 1e-10, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
"""By how much two results may differ, as a share of the largest: a few roundings of the type."""


def plain(value: Any) -> Output:
    """An output of a runtime."""
    if not isinstance(value, torch.Tensor):
        return type(value).__name__, (), repr(value).encode()
    if value.is_floating_point():
        # A NaN's sign and payload are unspecified.
        value = torch.where(value.isnan(), torch.tensor(float("nan"), dtype=value.dtype), value)
    data = value.contiguous().view(-1).view(torch.uint8) if value.numel() else torch.empty(0, dtype=torch.uint8)
    return str(value.dtype), tuple(value.shape), data.numpy().tobytes()


def tensor_of(output: Output) -> torch.Tensor:
    """The tensor that an output is."""
    dtype, shape, data = output
    typed = getattr(torch, dtype.removeprefix("torch."))
    return torch.frombuffer(bytearray(data), dtype=typed).reshape(shape) if data else torch.empty(shape, dtype=typed)


def near(one: Output, other: Output) -> bool:
    """Whether outputs of kernels, of which each runtime has its own, are one: numbers may differ by what is rounded."""
    if one == other or one[:2] != other[:2] or not one[0].startswith("torch."):
        return one == other
    share = ROUNDED.get((numbers := tensor_of(one)).dtype)
    return share is not None and close(numbers, tensor_of(other), share)


def close(one: torch.Tensor, other: torch.Tensor, share: float) -> bool:
    """Whether two tensors of one shape differ by that share of the largest number at most, or of 1."""
    a, b = one.double(), other.double()
    usual = a.isfinite() & b.isfinite()
    largest = b[usual].abs().max().item() if usual.any() else 0.0
    return bool((((a - b).abs() <= share * max(largest, 1.0)) | (a == b) | (a.isnan() & b.isnan())).all())
