"""Kernels that the C++ runtime lacks, run by torch's own ATen kernels.

A program names its kernels as torch names its operators (`aten::add.out`), and passes their arguments in the schema's
order, so the schema says everything: which arguments go by keyword, and which are written.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from xir.runtime.convert import physical_from_torch, torch_from_physical

if TYPE_CHECKING:
    import torch
    from torch import FunctionSchema
    from torch._ops import OpOverload

    from xir.runtime._native import Kernel, KernelArgument, KernelResult

# ExecuTorch's own copies with a choice of memory layout, (self, non_blocking, dim_order, out); torch does not know
# them. The result's tensor says which dtype and layout is wanted.
DIM_ORDER_COPIES = ("dim_order_ops::_to_dim_order_copy.out", "dim_order_ops::_clone_dim_order.out")
DIM_ORDER_COPY_OUT = 3


def find_kernel(name: str) -> Kernel | None:
    """torch's kernel for an operator such as `aten::add.out`, None where it has none or torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    if name in DIM_ORDER_COPIES:
        return copy_dim_order
    op = find_operator(name)
    return None if op is None else lambda arguments: run(op, arguments)


def find_operator(name: str) -> OpOverload | None:
    """The operator that a program calls `namespace::op.overload`.

    None for one that opens files: a program is data, and what it computes stays in memory.
    """
    import torch

    namespace, separator, qualified = name.partition("::")
    op, _, overload = qualified.partition(".")
    if not separator:
        return None
    packet = getattr(getattr(torch.ops, namespace), op, None)
    found = getattr(packet, overload or "default", None)
    if found is None or any(argument.name == "filename" for argument in schema_of(found).arguments):
        return None
    return found


def schema_of(op: OpOverload) -> FunctionSchema:
    """An operator's schema."""
    return op._schema  # pyright: ignore[reportPrivateUsage]


def to_torch(argument: KernelArgument) -> Any:
    """An argument as torch takes it; tensors share the method's memory."""
    match argument:
        case (array, int(number), tuple(dim_order), bool()):
            return torch_from_physical(array, number, dim_order)
        case list(items):
            return [to_torch(item) for item in items]
        case _:
            return argument


def dim_order_of(argument: KernelArgument) -> tuple[int, ...]:
    """The dimension order of a tensor argument."""
    return argument[2]


def run(op: OpOverload, arguments: list[KernelArgument]) -> list[KernelResult]:
    """Call `op`, and answer what it wrote as (index, shape, elements in memory order).

    The results are computed into tensors of torch's own: a result's shape may differ from the last run's, and its
    memory may be in an order that the kernel would not keep.
    """
    import torch

    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    written: list[tuple[int, torch.Tensor]] = []
    # Behind the schema's arguments ExecuTorch repeats the results.
    for index, (schema, argument) in enumerate(zip(schema_of(op).arguments, arguments, strict=False)):
        value = to_torch(argument)
        if schema.alias_info is not None and schema.alias_info.is_write:
            value = torch.empty(0, dtype=value.dtype) if schema.kwarg_only else value.clone()
            written.append((index, value))
        if schema.kwarg_only:
            keywords[schema.name] = value
        else:
            positional.append(value)
    returned = op(*positional, **keywords)
    if not written:
        # An operator without out variant: its results are behind the arguments.
        first = len(schema_of(op).arguments)
        results = returned if isinstance(returned, tuple) else (returned,)
        written = list(enumerate(results, first))
    return [result(index, tensor, arguments[index]) for index, tensor in written]


def copy_dim_order(arguments: list[KernelArgument]) -> list[KernelResult]:
    """The operand with the result's dtype and layout."""
    target = arguments[DIM_ORDER_COPY_OUT]
    return [result(DIM_ORDER_COPY_OUT, to_torch(arguments[0]).to(to_torch(target).dtype), target)]


def result(index: int, tensor: torch.Tensor, argument: KernelArgument) -> KernelResult:
    """What the C++ runtime copies into argument `index`."""
    return index, tuple(tensor.shape), physical_from_torch(tensor, dim_order_of(argument))
