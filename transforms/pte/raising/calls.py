"""The edge op that a call of a kernel stands for: `lower-to-pte`'s table, read the other way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, OpResult, SSAValue, SSAValues
from xdsl.utils.exceptions import VerifyException

from xir.dialects import edge, pte
from xir.transforms.pte._kernel_calls import TENSOR_OPTIONS, kernel_arguments
from xir.transforms.pte.raising.arguments import argument_of
from xir.transforms.pte.raising.memory import PlaceContents
from xir.transforms.pte.raising.opaque import raise_opaque
from xir.transforms.pte.raising.open_sizes import check_bounded, is_open, number_type
from xir.transforms.pte.raising.refusal import NotRaisedError

COPIES = frozenset({"dim_order_ops::_to_dim_order_copy.out", "dim_order_ops::_clone_dim_order.out"})
"""ExecuTorch's copies into another order of memory and another type: (self, non_blocking, dim_order, out)."""
VIEW = "executorch_prim::et_view.default"
"""ExecuTorch's view: (self, sizes, out)."""
BATCH_NORM = "aten::_native_batch_norm_legit.no_stats_out"
"""What ExecuTorch makes of an instance norm: (input, weight, bias, training, momentum, eps, out, mean, rstd)."""
ASSIGN = "aten::copy_"
"""What buffers are written by: (self, source, non_blocking)."""

Add = Callable[[Operation], None]


def raise_call(call: pte.KernelCallOp, memory: PlaceContents, add: Add) -> None:
    """Add the op that computes what a kernel writes. NotRaisedError for a kernel that no edge op is known for, and for
    arguments that the op does not take."""
    kernel = call.kernel.data
    if kernel in COPIES:
        target = _tensor(call.args[-1], call)
        memory.compute(target, _converted(memory.read(_tensor(call.args[0], call), call), target, add, call), call)
    elif kernel == VIEW:
        target = _tensor(call.args[-1], call)
        sizes: tuple[edge.Size, ...] = target.shape
        if is_open(target):
            sizes = argument_of(edge.ViewOp.row.schema.values["size"], call.args[1], memory, call)
        view = edge.ViewOp(self=memory.read(_tensor(call.args[0], call), call), size=sizes)
        memory.sizes.complete(view, [target], call)
        _add(view, add, call)
        memory.compute(target, view.results[0], call)
    elif kernel == BATCH_NORM and len(call.args) > 8 and _is_instance_norm(call):
        _raise_batch_norm(call, memory, add)
    elif kernel == ASSIGN:
        target = _tensor(call.args[0], call)
        source = memory.read(_tensor(call.args[1], call), call)
        if source.type != target.tensor_type:  # a buffer's sizes are fixed
            raise NotRaisedError(call, "it copies a tensor of another type or shape")
        memory.compute(target, source, call)
    else:
        _raise_op(call, memory, add)


def _is_instance_norm(call: pte.KernelCallOp) -> bool:
    tensor = _tensor(call.args[0], call)
    return tensor.shape[:1] == (1,) and not is_open(tensor)


def _raise_batch_norm(call: pte.KernelCallOp, memory: PlaceContents, add: Add) -> None:
    """The norm of one sample by its own statistics is one of groups with a channel each."""
    values = dict(zip(("input", "weight", "bias", "eps"), (*call.args[:3], call.args[5]), strict=True))
    schema = edge.NativeGroupNormOp.row.schema
    by_name = {**schema.tensors, **schema.values}
    given = {name: argument_of(by_name[name], value, memory, call) for name, value in values.items()}
    _, channels, *rest = _tensor(call.args[0], call).shape
    norm = edge.NativeGroupNormOp(**given, N=1, C=channels, HxW=prod(rest), group=channels)
    _add(norm, add, call)
    result, *statistics = (_tensor(value, call) for value in call.args[6:9])
    memory.compute(result, norm.results[0], call)
    for tensor, value in zip(statistics, norm.results[1:], strict=True):
        view = edge.ViewOp(self=value, size=tensor.shape)
        _add(view, add, call)
        memory.compute(tensor, view.results[0], call)


def _raise_op(call: pte.KernelCallOp, memory: PlaceContents, add: Add) -> None:
    known = _ops_by_kernel(len(edge.OPS)).get(call.kernel.data)
    if known is None:
        raise_opaque(call, memory, add)
        return
    schema = known.row.schema
    is_out = call.kernel.data != schema.qualified_name and call.kernel.data != known.row.in_place
    names = kernel_arguments(schema, known.row.out if is_out else None)
    given, behind = call.args[: len(names)], call.args[len(names) :]
    if len(given) < len(names):
        raise NotRaisedError(call, f"{call.kernel.data} takes {len(names)} arguments")
    computes_number = schema.returns[0].type.base != "Tensor"
    results = [] if computes_number else _results(schema, behind, call)
    by_name = {**schema.tensors, **schema.values}
    arguments = {
        name: argument_of(by_name[name], value, memory, call) for name, value in zip(names, given, strict=True)
    }
    if TENSOR_OPTIONS.issubset(by_name):
        arguments["dtype"] = results[0].tensor_type.element_type
    try:
        op = known.build_from(arguments, [each.tensor_type for each in results], call.location)
    except ValueError as error:
        raise NotRaisedError(call, f"{error}") from None
    if computes_number:
        _raise_number(op, behind, memory, add, call)
        return
    memory.sizes.complete(op, results, call)
    _add(op, add, call)
    for tensor, result in zip(results, op.results, strict=True):
        memory.compute(tensor, result, call)


def _raise_number(
    op: edge.EdgeOp, behind: Sequence[SSAValue], memory: PlaceContents, add: Add, call: pte.KernelCallOp
) -> None:
    """A number that a kernel returns, such as a size."""
    if len(behind) != 1 or isinstance(behind[0].owner, pte.TensorOp):
        raise NotRaisedError(call, f"{call.kernel.data} returns something else than a number")
    op.results = SSAValues([OpResult(number_type(op), op, 0)])
    _add(op, add, call)
    memory.numbers[behind[0]] = op.results[0]


def _add(op: edge.EdgeOp, add: Add, call: pte.KernelCallOp) -> None:
    op.location = call.location
    try:
        op.verify()
    except VerifyException as error:
        op.erase()
        raise NotRaisedError(call, f"{call.kernel.data}: {error}") from None
    add(op)


def _converted(value: SSAValue, target: pte.TensorOp, add: Add, call: pte.KernelCallOp) -> SSAValue:
    """A value in the type of a tensor: its order of memory is no matter of a function."""
    assert isinstance(value.type, TensorType)
    if value.type.element_type == target.tensor_type.element_type:
        return value
    op = edge.ToCopyOp(self=value, dtype=target.tensor_type.element_type)
    _add(op, add, call)
    return op.results[0]


def _results(schema: edge.Schema, behind: Sequence[SSAValue], call: pte.KernelCallOp) -> list[pte.TensorOp]:
    """The tensors that a kernel writes, which stand behind its arguments, and are returned once more."""
    if schema.returns and schema.returns[0].type.is_list:
        items = behind[0].owner if behind else None
        written = list(items.items) if isinstance(items, pte.TensorListOp) else []
    else:
        written = list(behind[: len(schema.returns)])
    if not written or len(written) < len(schema.returns):
        raise NotRaisedError(call, f"{call.kernel.data} has no tensors for its results")
    return [_tensor(value, call) for value in written]


def _tensor(value: SSAValue, call: Operation) -> pte.TensorOp:
    if not isinstance(value.owner, pte.TensorOp):
        raise NotRaisedError(call, "it computes a number")
    return check_bounded(value.owner, call)


@cache
def _ops_by_kernel(count: int) -> dict[str, type[edge.EdgeOp]]:
    """Op classes by the kernels that compute them. `count` is that of the rows, which plugins add to."""
    found: dict[str, type[edge.EdgeOp]] = {}
    for op in edge.OPS.values():
        found[op.row.schema.qualified_name] = op
        for kernel in (op.row.out, op.row.in_place):
            if kernel is not None:
                found[kernel] = op
    return found
