"""What a kernel call of a `.pte` file computes, by ATen, on other operands than the file has when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from xdsl.ir import SSAValue

from xir.dialects import pte
from xir.importer.dtypes import DTYPES
from xir.runtime.fallback import DIM_ORDER_COPIES, find_operator, schema_of


class NotCalledError(Exception):
    """ATen has no such operator, an argument is known at run time only, or the results are anything."""


def call_kernel(
    op: pte.KernelCallOp, tensors: Mapping[SSAValue, torch.Tensor], *, in_fp64: bool = False
) -> dict[SSAValue, torch.Tensor]:
    """The tensors that a call writes, from those that it reads; all are in the order of memory.

    They have the file's types, or `in_fp64` that in the place of each shorter type of numbers. NotCalledError where
    they cannot be told; RuntimeError if ATen fails.
    """
    type_of = partial(_dtype, in_fp64=in_fp64)
    if op.kernel.data in DIM_ORDER_COPIES:
        source, target = op.args[0], op.args[-1]
        copied = _argument(source, tensors, type_of).to(type_of(target))
        return {target: in_memory(copied, target)}
    operator = find_operator(op.kernel.data)
    if operator is None or torch.Tag.nondeterministic_seeded in operator.tags or "empty" in op.kernel.data:
        raise NotCalledError(op.kernel.data)
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    written: list[tuple[SSAValue, torch.Tensor]] = []
    schemas = schema_of(operator).arguments
    for schema, value in zip(schemas, op.args, strict=False):
        writes = schema.alias_info is not None and schema.alias_info.is_write
        if writes and not (schema.kwarg_only and isinstance(value.owner, pte.TensorOp)):
            raise NotCalledError(f"{op.kernel.data} writes in place")
        argument = torch.empty(0, dtype=type_of(value)) if writes else _argument(value, tensors, type_of)
        if writes:
            written.append((value, argument))
        if schema.kwarg_only:
            keywords[schema.name] = argument
        else:
            positional.append(argument)
    with torch.no_grad():
        returned = operator(*positional, **keywords)
    if not written:
        results = returned if isinstance(returned, tuple | list) else (returned,)
        written = list(zip(_results(op, len(results)), results, strict=True))
    return {value: in_memory(tensor, value) for value, tensor in written}


def _results(op: pte.KernelCallOp, count: int) -> list[SSAValue]:
    """The tensors that an operator's results become: the last ones, or those of a list behind all."""
    last = op.args[-1].owner
    found = list(last.items if isinstance(last, pte.TensorListOp) else op.args[len(op.args) - count :])
    if len(found) != count:
        raise NotCalledError(op.kernel.data)
    return found


def _argument(
    value: SSAValue, tensors: Mapping[SSAValue, torch.Tensor], type_of: Callable[[SSAValue], torch.dtype]
) -> Any:
    match value.owner:
        case pte.TensorOp() as op:
            if value not in tensors:
                raise NotCalledError("a tensor is not known")
            inverse = [op.order.index(axis) for axis in range(len(op.order))]
            return tensors[value].permute(inverse).to(type_of(value))
        case pte.NullOp():
            return None
        case pte.IntOp() as op if not _is_computed(value):
            return op.int_val.value.data
        case pte.DoubleOp() as op if not _is_computed(value):
            return op.double_val.value.data
        case pte.BoolOp() as op if not _is_computed(value):
            return bool(op.bool_val.value.data)
        case pte.StringOp() as op:
            return op.string_val.data
        case pte.DoubleListOp() | pte.BoolListOp() as op:
            return list(op.items.get_values())
        case pte.IntListOp() | pte.TensorListOp() as op:
            return [_argument(item, tensors, type_of) for item in op.items]
        case pte.OptionalTensorListOp() as op:
            items = iter(op.items)
            return [
                _argument(next(items), tensors, type_of) if present else None for present in op.present.get_values()
            ]
        case _:
            raise NotCalledError("an argument is known at run time only")


def _is_computed(value: SSAValue) -> bool:
    """Whether a kernel computes a number."""
    return any(
        isinstance(use.operation, pte.KernelCallOp) and use.index == len(use.operation.operands) - 1
        for use in value.uses
    )


def _dtype(value: SSAValue, in_fp64: bool) -> torch.dtype:
    assert isinstance(value.owner, pte.TensorOp)
    dtype = DTYPES[value.owner.tensor_type.element_type]
    return torch.float64 if in_fp64 and dtype.is_floating_point else dtype


def in_memory(tensor: torch.Tensor, value: SSAValue) -> torch.Tensor:
    """A tensor's elements in the order that they have in memory as this value of a plan."""
    assert isinstance(value.owner, pte.TensorOp)
    return tensor.permute(value.owner.order).contiguous()
