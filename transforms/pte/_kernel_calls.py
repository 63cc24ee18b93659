"""The call of a kernel that an edge op becomes: its name, and its arguments as values of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

from xdsl.dialects.builtin import DenseArrayBase, f64, i1
from xdsl.ir import Attribute, Operation, SSAValue

from xir.dialects import edge, pte
from xir.dialects.edge import EdgeOp
from xir.dialects.edge.kernels import EXECUTORCH, executorch_kernels
from xir.ir.constants import constant_array
from xir.ir.diagnostics import DiagnosticError
from xir.transforms.analysis.missing_kernels import MissingKernel
from xir.transforms.pte._plan import Plan
from xir.transforms.pte._plan_values import PlanValues

_MEMORY_FORMATS = {"contiguous_format": 0, "preserve_format": 1, "channels_last": 2, "channels_last_3d": 3}
"""c10/core/MemoryFormat.h"""

TENSOR_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})
"""What a factory function takes to describe its result. Out variants lack all four: their out tensor says it."""


CUSTOM_KERNELS = ("llama::",)
"""Namespaces of kernels that ExecuTorch has in libraries of their own, which a file is linked with that has them."""


def call_kernel(op: EdgeOp, values: PlanValues) -> None:
    """Add the call of an op's kernel; nothing for a copy of an input that was made already."""
    if op.results and all(result in values for result in op.results):
        return
    if is_item(op):
        values[op.results[0]] = _item(op, values)
        return
    plan, diagnostics = values.plan, values.ctx.diagnostics
    arguments = [_argument(op, name, values) for name in kernel_arguments(op.schema, op.out_kernel)]
    results = values.fill(op.results)
    if isinstance(op, edge.OpaqueOp) and (overwritten := op.overwritten) is not None:
        _call_overwriting(op, op.out_kernel or "", values[overwritten], arguments, results, values)
        return
    if op.out_kernel is None:
        name = op.schema.qualified_name
        diagnostics.emit(
            MissingKernel.of(op, name, f"{name} has no out variant, so only xir's Python runtime can run it")
        )
        plan.call(pte.KernelCallOp(name, [*arguments, *results]), op)
        return
    if op in values.in_place.overwriting:
        assert op.in_place_kernel is not None
        plan.call(pte.KernelCallOp(op.in_place_kernel, [*arguments, *results]), op)
        return
    if op.out_kernel not in executorch_kernels() and not op.out_kernel.startswith(CUSTOM_KERNELS):
        said = f"{EXECUTORCH} has no kernel {op.out_kernel}, and its runtime refuses the file"
        diagnostics.emit(MissingKernel.of(op, op.out_kernel, said))
    out = _out_arguments(op, results, plan)
    plan.call(pte.KernelCallOp(op.out_kernel, [*arguments, *out, *_returned(op, results, plan)]), op)


def _call_overwriting(
    op: edge.OpaqueOp,
    kernel: str,
    overwritten: SSAValue,
    arguments: Sequence[SSAValue],
    results: Sequence[SSAValue],
    values: PlanValues,
) -> None:
    """Call a kernel that writes to one of its arguments: in the memory of a buffer, or of a copy where the buffer's old
    contents are read later."""
    first, *rest = results
    if first is not overwritten:
        values.plan.assign(overwritten, first, op)
        arguments = [first if value is overwritten else value for value in arguments]
    out = _out_arguments(op, rest, values.plan) if rest else []
    values.plan.call(pte.KernelCallOp(kernel, [*arguments, *out, *(rest or [first])]), op)


def kernel_arguments(schema: edge.Schema, out_kernel: str | None) -> list[str]:
    """The names of an operator's arguments that its kernel takes, in order. `out_kernel` is its out variant, if any."""
    names = [argument.name for argument in schema.arguments]
    if out_kernel is not None and TENSOR_OPTIONS.issubset(names):
        return [name for name in names if name not in TENSOR_OPTIONS]
    return names


def is_item(op: Operation) -> TypeGuard[edge.LocalScalarDenseOp]:
    """Whether an op reads the element of a constant."""
    return isinstance(op, edge.LocalScalarDenseOp) and isinstance(op.self.owner, edge.ConstantOp)


def _item(op: edge.LocalScalarDenseOp, values: PlanValues) -> SSAValue:
    """The element of a constant, such as a number that the program returns."""
    constant = op.self.owner
    assert isinstance(constant, edge.ConstantOp)
    number = constant_array(constant.value, values.ctx, constant).item()
    match op.result_types[0]:
        case t if t == i1:
            return values.plan.boolean(bool(number))
        case t if t == f64:
            return values.plan.double(float(number))
        case _:
            return values.plan.integer(int(number))


def _out_arguments(op: EdgeOp, results: Sequence[SSAValue], plan: Plan) -> list[SSAValue]:
    """The out tensors; a number that a kernel computes is only returned."""
    if op.schema.returns[0].type.is_list:
        return [plan.declare(pte.TensorListOp.make(results), op)]
    return [result for result in results if isinstance(result.type, pte.TensorType)]


def _returned(op: EdgeOp, results: Sequence[SSAValue], plan: Plan) -> list[SSAValue]:
    """What follows the arguments: the value that the kernel returns, a list if there are several."""
    if len(results) == 1 and not op.schema.returns[0].type.is_list:
        return list(results)
    return [plan.declare(pte.TensorListOp.make(results), op)]


def _argument(op: EdgeOp, name: str, values: PlanValues) -> SSAValue:
    argument, given = op.schema.tensors.get(name), op.argument(name)
    if argument is None:
        return _plain(op, name, given, values)
    if not argument.type.is_list:
        return values.plan.null() if given is None else values[given]
    present = [values[tensor] for tensor in given if tensor is not None]
    if not argument.type.optional_element:
        return values.plan.declare(pte.TensorListOp.make(present), op)
    flags = DenseArrayBase.from_list(i1, [tensor is not None for tensor in given])
    return values.plan.declare(pte.OptionalTensorListOp.make(present, present=flags), op)


def _plain(op: EdgeOp, name: str, value: Any, values: PlanValues) -> SSAValue:
    """The value of an argument that is no tensor."""
    kind, plan = op.schema.values[name].type, values.plan
    match value:
        case None:
            return plan.null()
        case SSAValue():
            return values[value]
        case tuple():
            return _plain_list(op, name, kind.base, value, values)
        case bool():
            return plan.boolean(value)
        case int():
            return plan.integer(value)
        case float():
            return plan.double(value)
        case str() if kind.base == "MemoryFormat":
            return plan.integer(_MEMORY_FORMATS[value])
        case str() if kind.base == "Layout":
            # Strided, the only one there is here.
            return plan.integer(0)
        case str():
            return plan.string(value)
        case Attribute():
            code = pte.scalar_code(value)
            if code is None:
                raise DiagnosticError(op, f"argument '{name}': a program has no number for the dtype {value}")
            return plan.integer(code)
        case _:
            raise DiagnosticError(op, f"argument '{name}' has no form in a program")


def _plain_list(op: EdgeOp, name: str, base: str, items: tuple[Any, ...], values: PlanValues) -> SSAValue:
    match base:
        case "float":
            return values.plan.doubles(items)
        case "bool":
            return values.plan.booleans(items)
        case "int" | "SymInt":
            return values.plan.integers(values[each] if isinstance(each, SSAValue) else each for each in items)
        case _:
            raise DiagnosticError(op, f"argument '{name}': a program has no lists of {base}")
