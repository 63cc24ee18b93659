"""Arithmetic on shapes that all dialects share. A size is a number, a `SymbolicSize`, or DYNAMIC_INDEX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

from xir.ir.symbolic_size import SymbolicSize, floor_div, is_dynamic, largest

LARGEST_SIZE = 2**31 - 1
"""A file stores the size of a dimension in 32 bits (ExecuTorch, schema/program.fbs: Tensor.sizes)."""

Shape = tuple[int, ...]
"""Sizes of dimensions; DYNAMIC_INDEX for one that is only known at run time."""


def same_dim(a: int, b: int) -> bool:
    """Whether two dimensions can be equal at run time."""
    return a == b or is_dynamic(a) or is_dynamic(b)


def same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes can be equal at run time."""
    return len(a) == len(b) and all(same_dim(x, y) for x, y in zip(a, b, strict=True))


def shape_text(shape: Sequence[int]) -> str:
    """A shape as types print it: `1x3x?`."""
    return "x".join("?" if is_dynamic(size) else str(size) for size in shape) or "scalar"


def broadcast(*shapes: Sequence[int]) -> Shape:
    """The common shape by NumPy's rules, dimensions aligned from the right; VerifyException when there is none.

    A static size says what a dynamic one is. Of two symbolic sizes either may be 1, so the result is the larger.
    """
    rank = max(map(len, shapes), default=0)
    result: Shape = ()
    for position in range(-rank, 0):
        size = 1
        for shape in shapes:
            other = shape[position] if len(shape) >= -position else 1
            if other == 1 or other == size:
                continue
            if isinstance(size, SymbolicSize) and isinstance(other, SymbolicSize):
                size = largest(size, other)
            elif size == 1 or is_dynamic(size):
                size = other
            elif not is_dynamic(other):
                raise VerifyException("shapes " + " and ".join(map(shape_text, shapes)) + " do not broadcast")
        result += (size,)
    return result


def merged(sizes: Sequence[int]) -> int:
    """The most that is known of equal dimensions: a static size if there is one, else a symbolic one, else nothing."""
    return next(
        (size for size in sizes if not is_dynamic(size)), next((s for s in sizes if s != DYNAMIC_INDEX), sizes[0])
    )


def sliced_size(size: int, start: int, end: int, step: int) -> int:
    """Element count of `range(size)[start:end:step]`, for a positive step."""
    if not any(isinstance(each, SymbolicSize) for each in (size, start, end)):
        return len(range(size)[start:end:step])
    count = placed(end, size) - placed(start, size)
    return 0 if count <= 0 else floor_div(count + step - 1, step)


def placed(index: int, size: int) -> int:
    """The index of a slice's border from the start of a dimension; below 0 it counts from the end."""
    if not isinstance(index, SymbolicSize) and index > LARGEST_SIZE:
        return size
    return min(max(index + size if index < 0 else index, 0), size)


def window_output(size: int, before: int, after: int, kernel: int, stride: int, dilation: int) -> int:
    """How many windows fit: floor((size + padding - dilation·(kernel - 1) - 1) / stride) + 1."""
    if size == DYNAMIC_INDEX:
        return DYNAMIC_INDEX
    span = dilation * (kernel - 1) + 1
    room = size + before + after - span
    if room < 0:
        raise VerifyException(f"a window of {span} does not fit into {size} with padding {before} and {after}")
    return floor_div(room, stride) + 1
