"""Random numbers in the place of a program's constants, and of what its buffers hold at first: so that weights do not
leave with a reduced program, and what zeros and ones hide comes to light."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, ModuleOp
from xdsl.ir import SSAValue

from xir.dialects import edge, xnnpack
from xir.ir.constants import DenseAttr, dense_of_storage, element_type_of_constant, storage_array
from xir.ir.context import XirContext

ConstantOp = edge.ConstantOp | edge.MutableBufferOp | xnnpack.ConstantOp
"""An op whose elements are written in the program."""

LARGEST = 1e6
"""Floats of a larger magnitude are masks and the like, whose values mean something."""

OF_ZEROS = 0.1
"""The deviation of what replaces zeros."""

DIGITS = 3
"""How many digits random floats have, to be short where they are written out."""


def constants_of(module: ModuleOp) -> Iterator[ConstantOp]:
    """The constants of a module and its buffers, in program order."""
    return (op for op in module.walk() if isinstance(op, ConstantOp))


def elements_of(op: ConstantOp) -> DenseAttr:
    """The elements of a constant, or those that a buffer begins with."""
    return cast("DenseAttr", op.initial if isinstance(op, edge.MutableBufferOp) else op.value)


def set_elements(op: ConstantOp, elements: DenseAttr) -> None:
    """Give a constant or buffer other elements; its type stays."""
    op.properties["initial" if isinstance(op, edge.MutableBufferOp) else "value"] = elements


def randomise(op: ConstantOp, ctx: XirContext, seed: int, size: float | None = None) -> bool:
    """Give a constant random elements, as `random_like` does; False if they have to stay."""
    array, element = storage_array(elements_of(op), ctx, op), element_type_of_constant(elements_of(op))
    made = None if isinstance(element, BFloat16Type) else random_like(array, np.random.default_rng(seed), size)
    if made is None:
        return False
    set_elements(op, dense_of_storage(made.astype(array.dtype), element, ctx, "random"))
    return True


def vary(module: ModuleOp, ctx: XirContext) -> None:
    """Give all floats other values that a trained model may have: no factor of 1, no bias of 0. Parameters of
    quantisation stay, and so do integers and whole numbers, which may be positions."""
    for seed, op in enumerate(constants_of(module)):
        array = storage_array(elements_of(op), ctx, op)
        if array.dtype.kind == "f" and (is_splat(array) or not is_whole(array)) and not is_parameter(op.results[0]):
            randomise(op, ctx, seed)


def random_like(array: np.ndarray, generator: np.random.Generator, size: float | None = None) -> np.ndarray | None:
    """Random elements: floats of the quadratic mean `size`, or theirs, and of one sign if theirs is; integers of the
    same range.

    None for single elements, truth values, and floats that are not finite or very large.
    """
    if array.size < 2 or array.dtype.kind not in "fiu":
        return None
    low, high = array.min().item(), array.max().item()
    if array.dtype.kind != "f":
        return generator.integers(low, high, array.shape, endpoint=True)
    if not np.isfinite([low, high]).all() or max(abs(low), abs(high)) > LARGEST:
        return None
    if size is None:
        size = float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) or OF_ZEROS
    if low > 0 or high < 0:
        drawn = generator.uniform(0.5, 1.5, array.shape) * (size if low > 0 else -size)
    else:
        drawn = generator.normal(size=array.shape) * size
    return np.round(drawn, DIGITS - 1 - int(np.floor(np.log10(size))))


def is_splat(array: np.ndarray) -> bool:
    """Whether all elements are one number."""
    return bool((array == array.flat[0]).all()) if array.size else True


def is_whole(array: np.ndarray) -> bool:
    """Whether all elements are integers."""
    return bool((array == np.rint(array)).all())


def is_parameter(value: SSAValue) -> bool:
    """Whether a quantising or dequantising op takes a constant for something else than what it converts."""
    return any("quantize" in use.operation.name and use.index > 0 for use in value.uses)
