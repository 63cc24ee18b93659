"""Kernels that the C++ runtime lacks, run by torch's own ATen kernels.

A program names its kernels as torch names its operators (`aten::add.out`), and passes their arguments in the schema's
order, so the schema says everything: which arguments go by keyword, and which are written. Behind the schema's
arguments stand the results: what an operator without out variant returns, and the written ones once more.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from xir.runtime.convert import physical_from_torch, torch_from_physical

if TYPE_CHECKING:
    import torch
    from torch import FunctionSchema
    from torch._ops import OpOverload

    from xir.runtime._native import Kernel, KernelArgument, KernelResult, TensorResult

# ExecuTorch's own copies with a choice of memory layout, (self, non_blocking, dim_order, out); torch does not know
# them. The result's tensor says which dtype and layout is wanted.
DIM_ORDER_COPIES = ("dim_order_ops::_to_dim_order_copy.out", "dim_order_ops::_clone_dim_order.out")
DIM_ORDER_COPY_OUT = 3

SHAPED_BY_OUT = ("aten::normal.Tensor_float_out", "aten::normal.float_Tensor_out")
"""Out variants that take the shape of the result's tensor for the operand's before they resize it."""


def find_kernel(name: str) -> Kernel | None:
    """torch's kernel for an operator such as `aten::add.out`, None where it has none or torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    if name in DIM_ORDER_COPIES:
        return copy_dim_order
    if (compute := size_operator(name)) is not None:
        return lambda arguments: [(2, compute(arguments[0], arguments[1]))]
    op = find_operator(name)
    return None if op is None else lambda arguments: run(op, arguments)


def size_operator(name: str) -> Callable[[Any, Any], Any] | None:
    """What ExecuTorch's own arithmetic on sizes or comparison of them computes; None for another kernel's name."""
    from xir.dialects import edge

    name = f"edge.{name.replace('::', '.')}"
    return edge.SIZE_OPERATORS.get(name) or edge.COMPARISONS.get(name)


def find_operator(name: str) -> OpOverload | None:
    """The operator that a program calls `namespace::op.overload`.

    For an out variant that torch lacks, and one that fills a list and would not resize its tensors, it is the operator
    that it is a variant of. None for one that opens files: a program is data, and what it computes stays in memory.
    """
    from xir.dialects.edge.kernels import registering_module

    namespace, separator, qualified = name.partition("::")
    if not separator:
        return None
    if namespace == "quantized_decomposed":
        # This import registers the operators, without out variants.
        if (module := registering_module(name)) is not None:
            importlib.import_module(module)
        found = None
    else:
        found = torch_operator(namespace, qualified)
    if found is None and name in functional_names():
        namespace, _, qualified = functional_names()[name].partition("::")
        found = torch_operator(namespace, qualified)
    elif found is not None and (fills_list(found) or name in SHAPED_BY_OUT):
        found = functional_form(found)
    if found is None or any(argument.name == "filename" for argument in schema_of(found).arguments):
        return None
    return found


def fills_list(op: OpOverload) -> bool:
    """Whether an operator writes to the tensors of a list."""
    return any(argument.is_out and "List" in str(argument.type) for argument in schema_of(op).arguments)


def functional_form(op: OpOverload) -> OpOverload | None:
    """The operator that an out variant is a variant of: the overload that takes its other arguments."""
    outs = {argument.name for argument in schema_of(op).arguments if argument.is_out}
    wanted = [(name, type) for name, type in arguments_of(op) if name not in outs]
    forms = (getattr(op.overloadpacket, name) for name in op.overloadpacket.overloads())
    return next((form for form in forms if arguments_of(form) == wanted), None)


def arguments_of(op: OpOverload) -> list[tuple[str, str]]:
    """Name and type of each argument."""
    return [(argument.name, str(argument.type)) for argument in schema_of(op).arguments]


def torch_operator(namespace: str, qualified: str) -> OpOverload | None:
    """The operator `op.overload` of a namespace."""
    import torch

    op, _, overload = qualified.partition(".")
    packet = getattr(getattr(torch.ops, namespace), op, None)
    return getattr(packet, overload or "default", None)


@cache
def functional_names() -> dict[str, str]:
    """Name of an out variant -> name of the operator that it is a variant of."""
    from xir.dialects import edge

    return {op.row.out: op.row.schema.qualified_name for op in edge.OPS.values() if op.row.out is not None}


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
    """Call `op`, and return what it computed as (index of the argument, its new content).

    The results are computed into tensors of torch's own: a result's shape may differ from the last run's, and its
    memory may be in an order that the kernel would not keep.
    """
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    written: list[tuple[int, Any]] = []
    schemas = schema_of(op).arguments
    for index, (schema, argument) in enumerate(zip(schemas, arguments, strict=False)):
        value = to_torch(argument)
        if schema.alias_info is not None and schema.alias_info.is_write:
            value = fresh(value) if schema.kwarg_only else value.clone()
            written.append((index, value))
        if schema.kwarg_only:
            keywords[schema.name] = value
        else:
            positional.append(value)
    returned = op(*positional, **keywords)
    if not written and returned is not None:
        results = returned if isinstance(returned, tuple | list) else (returned,)
        # A program passes either each result by itself, or the list that they make.
        is_list = isinstance(returned, list) and isinstance(arguments[len(schemas)], list)
        written = list(enumerate([list(results)] if is_list else results, len(schemas)))
    return [(index, result(value, arguments[index])) for index, value in written]


def fresh(value: torch.Tensor) -> torch.Tensor:
    """An empty tensor for an operator to resize and fill."""
    import torch

    return torch.empty(0, dtype=value.dtype)


def copy_dim_order(arguments: list[KernelArgument]) -> list[KernelResult]:
    """The operand with the result's dtype and layout."""
    target = arguments[DIM_ORDER_COPY_OUT]
    copy = to_torch(arguments[0]).to(to_torch(target).dtype)
    return [(DIM_ORDER_COPY_OUT, result(copy, target))]


def result(value: Any, argument: KernelArgument) -> TensorResult | list[TensorResult] | int | float:
    """What the C++ runtime puts in the place of an argument."""
    import torch

    if isinstance(value, list):
        return [tensor_result(each, place) for each, place in zip(value, argument, strict=True)]
    return tensor_result(value, argument) if isinstance(value, torch.Tensor) else value


def tensor_result(tensor: torch.Tensor, argument: KernelArgument) -> TensorResult:
    """A tensor in the memory order of the argument whose content it becomes."""
    return tuple(tensor.shape), physical_from_torch(tensor, dim_order_of(argument))
