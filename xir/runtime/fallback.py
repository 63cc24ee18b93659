"""Kernels that the C++ runtime lacks, run by torch's own ATen kernels.

A program names its kernels as torch names its operators (`aten::add.out`), and passes their arguments in the schema's
order, so the schema says everything: which arguments go by keyword, and which are written. Behind the schema's
arguments stand the results: what an operator without out variant returns, and the written ones once more.

A file is data, and torch's operators are not made for data of anybody's: some write where an index says, some read the
memory of others, some load files. So a file may call the operators that xir itself knows, which torch checks, and those
that the caller names (`Fallback`). Operators never see memory that they must not write to.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from xir.runtime import _native
from xir.runtime._native import XirRuntimeError
from xir.runtime.compiled_here import vouched_operators
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


class Fallback:
    """torch's kernels for one program, as the C++ runtime asks for them: by name, None for what it shall not have."""

    def __init__(self, allow_ops: Sequence[str], source: str | os.PathLike[str] | bytes | bytearray | memoryview):
        self._allowed = frozenset(allow_ops)
        self._vouched = vouched_operators(source)
        self.refused: dict[str, None] = {}
        """Names of operators that torch has and the program may not call, in the order in which it asked."""

    def __call__(self, name: str) -> Kernel | None:
        """torch's kernel for an operator such as `aten::add.out`; None where it has none or may not be called."""
        if is_known(name) or self._is_allowed(name):
            return find_kernel(name)
        self.refused[name] = None
        return None

    def _is_allowed(self, name: str) -> bool:
        operator = name.partition(".")[0]
        return name in self._vouched or not self._allowed.isdisjoint((name, operator, operator.partition("::")[0]))


def is_known(name: str) -> bool:
    """Whether xir itself emits calls of an operator, or has a kernel for it."""
    return name in DIM_ORDER_COPIES or name in edge_operators() or name in _native.portable_kernels()


def edge_operators() -> frozenset[str]:
    """The operators of the edge dialect's table, by their own names and by those of their out variants."""
    from xir.dialects import edge

    return _names_of(len(edge.OPS))


@cache
def _names_of(_: int) -> frozenset[str]:
    """The same; plugins may add to the table, so the names are kept by its length."""
    from xir.dialects import edge

    rows = [op.row for op in edge.OPS.values()]
    return frozenset(name for row in rows for name in (row.out, row.schema.qualified_name) if name is not None)


def find_kernel(name: str) -> Kernel | None:
    """torch's kernel for an operator, whichever it is; None where it has none or torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    if name in DIM_ORDER_COPIES:
        return copy_dim_order
    if (compute := size_operator(name)) is not None:
        return lambda arguments: [(2, compute(arguments[0], arguments[1]))]
    op = find_operator(name)
    return None if op is None else OperatorCall(op, is_known(name))


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


def to_torch(argument: KernelArgument, *, copy: bool = False) -> Any:
    """An argument as torch takes it. Tensors share the method's memory, or are copies of it."""
    match argument:
        case (array, int(number), tuple(dim_order), bool(), int()):
            if array.dtype == bool:
                # torch takes it that each is 0 or 1; what a file has there may be any byte.
                return torch_from_physical(np.asarray(array.view(np.uint8) != 0), number, dim_order)
            return torch_from_physical(array.copy() if copy else array, number, dim_order)
        case list(items):
            return [to_torch(item, copy=copy) for item in items]
        case _:
            return argument


def is_writable(argument: KernelArgument) -> bool:
    """Whether the memory of a tensor, or of all tensors of a list, may be written."""
    match argument:
        case (_, int(), tuple(), bool(writable), int()):
            return writable
        case list(items):
            return all(is_writable(item) for item in items)
        case _:
            return True


def dim_order_of(argument: KernelArgument) -> tuple[int, ...]:
    """The dimension order of a tensor argument."""
    return argument[2]


def capacity_of(argument: KernelArgument) -> int:
    """The bytes that a tensor argument's memory has."""
    return argument[4]


CHANGES_UNSAID = ("batch_norm", "instance_norm")
"""What is in the names of operators that write to their running statistics where their schemas do not say so."""


class OperatorCall:
    """Calls of one operator, by one instruction of a program."""

    def __init__(self, op: OpOverload, known: bool):
        """`known` operators do not write to what their schemas do not say that they write to."""
        self.op = op
        self.schemas = schema_of(op).arguments
        self.copies_all = any(part in schema_of(op).name for part in CHANGES_UNSAID)
        self.copies_constants = not known
        self.measured: object = None

    def __call__(self, arguments: list[KernelArgument]) -> list[KernelResult]:
        """Call the operator, and return what it computed as (index of the argument, its new content).

        The results are computed into tensors of torch's own: a result's shape may differ from the last run's, and its
        memory may be in an order that the kernel would not keep.
        """
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        written: list[tuple[int, Any]] = []
        for index, (schema, argument) in enumerate(zip(self.schemas, arguments, strict=False)):
            writes = schema.alias_info is not None and schema.alias_info.is_write
            copy = self.copies_all or (writes and not schema.kwarg_only)
            copy = copy or (self.copies_constants and not is_writable(argument))
            value = to_torch(argument, copy=copy)
            if writes:
                value = fresh(value) if schema.kwarg_only else value
                written.append((index, value))
            if schema.kwarg_only:
                keywords[schema.name] = value
            else:
                positional.append(value)
        self.check_sizes(arguments, positional, keywords)
        answer = self.op(*positional, **keywords)
        return [(index, result(value, arguments[index])) for index, value in self.results(answer, written, arguments)]

    def results(
        self, answer: Any, written: list[tuple[int, Any]], arguments: list[KernelArgument]
    ) -> list[tuple[int, Any]]:
        """The results of a call and the arguments that they become."""
        if written or answer is None:
            return written
        results = answer if isinstance(answer, tuple | list) else (answer,)
        # A program passes either each result by itself, or the list that they make.
        is_list = isinstance(answer, list) and isinstance(arguments[len(self.schemas)], list)
        return list(enumerate([list(results)] if is_list else results, len(self.schemas)))

    def check_sizes(self, arguments: list[KernelArgument], positional: list[Any], keywords: dict[str, Any]) -> None:
        """XirRuntimeError where ATen's results would not fit the memory that the program has for them: before they are
        made, as far as their shapes follow from those of the operands.
        """
        if self.op.namespace != "aten":
            return
        signature = measure((positional, keywords))
        if signature == self.measured:
            return
        import torch

        def abstract(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return value.to("meta")
            return [abstract(each) for each in value] if isinstance(value, list) else value

        shadows = [abstract(value) for value in positional]
        named = {name: abstract(value) for name, value in keywords.items()}
        shadow_of = dict(zip((schema.name for schema in self.schemas if not schema.kwarg_only), shadows, strict=False))
        shadow_of |= named
        written = [
            (index, shadow_of[schema.name])
            for index, schema in enumerate(self.schemas)
            if schema.alias_info is not None and schema.alias_info.is_write and schema.name in shadow_of
        ]
        try:
            answer = self.op(*shadows, **named)
        except Exception:
            return  # the shape depends on numbers, or the call is wrong: the kernel says so
        # ATen's shapes without numbers may be larger than those with: no more than what is read is no attack, and what
        # is computed is held to its memory once more.
        read = sum(argument[0].nbytes for argument in arguments if isinstance(argument, tuple))
        for index, value in self.results(answer, written, arguments):
            if isinstance(value, torch.Tensor) and value.nbytes > max(read, capacity_of(arguments[index])):
                raise XirRuntimeError(
                    f"a result of shape {list(value.shape)} takes {value.nbytes} bytes, and its memory has "
                    f"{capacity_of(arguments[index])}"
                )
        self.measured = signature


def measure(value: Any) -> object:
    """What the sizes of a call's results depend on: shapes and types of tensors, and all else."""
    import torch

    match value:
        case torch.Tensor():
            return (tuple(value.shape), value.dtype)
        case list() | tuple():
            return tuple(measure(each) for each in value)
        case dict():
            return tuple((name, measure(each)) for name, each in value.items())
        case _:
            return (type(value), value)


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
