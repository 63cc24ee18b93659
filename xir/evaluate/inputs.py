"""Inputs to evaluate a function on: drawn ones, or those of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument

from xir.importer.dtypes import DTYPES
from xir.ir.annotations import DIM_ORDER, MAX_SHAPE
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import fixed_inputs

SPREAD = 2.0
"""The standard deviation of drawn numbers: some are beyond the bounds of what activations clamp to."""

FEW = 8
"""Integers of 16 bits and more are drawn from 0 to below this: most are indices, of whatever is large enough."""

SMALLER = 0.75
"""How much of the largest size of a dynamic dimension is drawn."""


def draw_inputs(function: FuncOp, seed: int = 0, few: int = FEW, part: float = SMALLER) -> list[Any]:
    """Random inputs of a function, the same for the same seed; integers that may be indices are below `few`.

    Numbers are normally distributed around 0 with a deviation of `SPREAD`, 8-bit integers are of the whole range.
    Dynamic dimensions are `part` of their largest, those with one largest size alike. DiagnosticError for an
    argument of a type that nothing is drawn for, or whose largest shape is not known.
    """
    generator = torch.Generator().manual_seed(seed)
    attributes = () if function.arg_attrs is None else function.arg_attrs.data
    fixed = fixed_inputs(function)
    return [
        fixed[index]
        if index in fixed
        else _drawn(argument, attributes[index].data if attributes else {}, generator, few, part)
        for index, argument in enumerate(function.body.block.args)
    ]


def _drawn(argument: BlockArgument, attributes: Any, generator: torch.Generator, few: int, part: float) -> Any:
    type = argument.type
    if not isinstance(type, TensorType):
        return 2
    shape = list(type.get_shape())
    if DYNAMIC_INDEX in shape:
        largest = attributes.get(MAX_SHAPE)
        if not isinstance(largest, DenseArrayBase):
            raise DiagnosticError(argument, f"a dynamic argument needs '{MAX_SHAPE}' for inputs to be drawn")
        bounds = cast("DenseArrayBase[IntegerType]", largest).get_values()
        shape = [
            size if size != DYNAMIC_INDEX else max(1, round(int(bound) * part))
            for size, bound in zip(shape, bounds, strict=True)
        ]
    return _numbers(type.element_type, shape, generator, argument, few)


def _numbers(
    element: Attribute, shape: Sequence[int], generator: torch.Generator, where: BlockArgument, few: int
) -> Any:
    dtype = DTYPES.get(element)
    if dtype is None:
        raise DiagnosticError(where, f"no inputs of type {element} are drawn: give them")
    if dtype.is_floating_point:
        return (torch.randn(list(shape), generator=generator) * SPREAD).to(dtype)
    if dtype == torch.bool:
        return torch.rand(list(shape), generator=generator) < 0.5
    limits = torch.iinfo(dtype)
    narrow = limits.bits <= 8
    low, high = (limits.min, limits.max + 1) if narrow else (0, few)
    return torch.randint(low, high, list(shape), generator=generator, dtype=dtype)


def load_inputs(paths: Sequence[str], function: FuncOp) -> list[Any]:
    """Inputs from `.npy` files, one for each argument, or from one `.npz` or `.pt` file with all of them.

    Those that the program was exported for may be left out, all of them.

    DiagnosticError if they do not fit the function's arguments; OSError or ValueError if a file cannot be read.
    """
    values = [value for path in paths for value in _loaded(Path(path))]
    arguments, fixed = function.body.block.args, fixed_inputs(function)
    if fixed and len(values) == len(arguments) - len(fixed):
        given = iter(values)
        values = [fixed[index] if index in fixed else next(given) for index in range(len(arguments))]
    if len(values) != len(arguments):
        raise DiagnosticError(function, f"{len(values)} inputs are given, the function takes {len(arguments)}")
    return [_fitting(value, argument) for value, argument in zip(values, arguments, strict=True)]


def _loaded(path: Path) -> list[Any]:
    if path.suffix == ".npy":
        return [torch.from_numpy(np.load(path))]
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return [torch.from_numpy(arrays[name]) for name in arrays.files]
    found = torch.load(path, weights_only=True)
    return list(found) if isinstance(found, list | tuple) else [found]


def _fitting(value: Any, argument: BlockArgument) -> Any:
    type = argument.type
    if not isinstance(type, TensorType) or not isinstance(value, torch.Tensor):
        return value
    shape, dtype = type.get_shape(), DTYPES.get(type.element_type)
    fits = len(shape) == value.ndim and all(a in (DYNAMIC_INDEX, b) for a, b in zip(shape, value.shape, strict=True))
    if not fits or value.dtype != dtype:
        kind = str(value.dtype).removeprefix("torch.")
        raise DiagnosticError(
            argument, f"input {argument.index} is {list(value.shape)} of {kind}, the function takes {type}"
        )
    return value


def dim_order_of(function: FuncOp, index: int) -> tuple[int, ...] | None:
    """Which dimension of the caller's tensor each of an argument is, if they are not the same."""
    return None if function.arg_attrs is None else _dim_order(function.arg_attrs.data[index].data)


def _dim_order(attributes: Mapping[str, Attribute]) -> tuple[int, ...] | None:
    order = attributes.get(DIM_ORDER)
    if not isinstance(order, DenseArrayBase):
        return None
    return tuple(int(i) for i in order.get_values()) if isinstance(order.elt_type, IntegerType) else None


def as_called(function: FuncOp, inputs: Sequence[Any]) -> list[Any]:
    """The inputs as a caller has them."""
    orders = [dim_order_of(function, index) for index in range(len(inputs))]
    return [
        value if order is None else value.permute(np.argsort(order).tolist())
        for value, order in zip(inputs, orders, strict=True)
    ]


def as_returned(function: FuncOp, results: Sequence[Any]) -> list[Any]:
    """A function's results as its caller has them."""
    if function.res_attrs is None:
        return list(results)
    orders = [_dim_order(each.data) for each in function.res_attrs]
    return [
        value if order is None else value.permute(np.argsort(order).tolist())
        for value, order in zip(results, orders, strict=True)
    ]


def as_stored(function: FuncOp, inputs: Sequence[Any]) -> list[Any]:
    """The inputs that a caller has, as the function's arguments."""
    orders = [dim_order_of(function, index) for index in range(len(inputs))]
    return [
        value if order is None else value.permute(order).contiguous()
        for value, order in zip(inputs, orders, strict=True)
    ]
