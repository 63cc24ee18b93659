"""The meaning of an edge module, by running it op by op through ATen.

This is the oracle that importer and passes are tested against, and a way to look at a module's intermediate values.
"""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue, TypeAttribute

from xir.dialects import edge
from xir.dialects.edge.kernels import registering_module
from xir.ir.constants import DenseAttr, storage_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError

from .dtypes import DTYPES, torch_view


def run_module(
    module: ModuleOp,
    ctx: XirContext,
    inputs: Sequence[Any],
    entry: str = "forward",
    buffers: dict[str, torch.Tensor] | None = None,
) -> list[Any]:
    """Run `func.func @entry` on torch tensors (and ints for sizes); the results, flat.

    `buffers` are what mutable buffers hold, by name, and afterwards what they have become; one that is not there holds
    its initial value.

    DiagnosticError at an op that is no edge op, or at which ATen fails.
    """
    buffers = {} if buffers is None else buffers
    updated: dict[str, torch.Tensor] = {}
    func = next(op for op in module.body.ops if isinstance(op, FuncOp) and op.sym_name.data == entry)
    results = _run_function(func, ctx, inputs, buffers, updated)
    buffers.update(updated)
    return results


def _run_function(
    func: FuncOp,
    ctx: XirContext,
    inputs: Sequence[Any],
    buffers: Mapping[str, torch.Tensor],
    updated: dict[str, torch.Tensor],
) -> list[Any]:
    values: dict[SSAValue, Any] = dict(zip(func.body.block.args, inputs, strict=True))
    for op in func.body.block.ops:
        if isinstance(op, ReturnOp):
            return [values[operand] for operand in op.operands]
        if isinstance(op, edge.UpdateBufferOp):
            updated[op.declared.buffer.data] = values[op.value]
            continue
        if isinstance(op, edge.MutableBufferOp) and op.buffer.data in buffers:
            values[op.result] = buffers[op.buffer.data]
            continue
        if isinstance(op, edge.ControlFlowOp):
            operands = [values[operand] for operand in op.operands]
            results = op.run(operands, lambda function, args: _run_function(function, ctx, args, {}, {}))
            values.update(zip(op.results, results, strict=True))
            continue
        values.update(zip(op.results, run_op(op, values, ctx), strict=True))
    raise AssertionError("a function ends with func.return")


def run_op(op: Operation, values: dict[SSAValue, Any], ctx: XirContext) -> Sequence[Any]:
    """Run one op on the `values` of its operands; its results."""
    if isinstance(op, edge.ConstantOp):
        return (constant_tensor(op.value, ctx, op),)
    if isinstance(op, edge.NoneOp):
        return (None,)
    if isinstance(op, edge.MutableBufferOp):
        return (constant_tensor(op.initial, ctx, op),)
    if not isinstance(op, edge.EdgeOp):
        raise DiagnosticError(op, f"'{op.name}' is no edge op, so ATen cannot run it")
    return called(op, arguments(op, values))


def arguments(op: edge.EdgeOp, values: Mapping[SSAValue, Any]) -> dict[str, Any]:
    """The arguments of an op's call, by the schema's names, as torch takes them."""
    args = {name: _value(op.argument(name), values) for name in op.schema.values}
    for name, argument in op.schema.tensors.items():
        if argument.type.is_list:
            args[name] = [None if v is None else values[v] for v in op.argument(name)]
        else:
            tensor = op.argument(name)
            args[name] = None if tensor is None else values[tensor]
    return {
        name: _restore(op.schema.values[name].type, v) if name in op.schema.values else v for name, v in args.items()
    }


STRIDED = ("edge.view", "edge._unsafe_view")
"""Run in ATen on operands of fitting strides alone."""


def called(op: edge.EdgeOp, args: dict[str, Any]) -> Sequence[Any]:
    """The results of an op's call. DiagnosticError at the op if ATen fails."""
    if (compute := edge.SIZE_OPERATORS.get(op.name) or edge.COMPARISONS.get(op.name)) is not None:
        return (compute(args["a"], args["b"]),)
    if op.name in STRIDED:  # the IR's tensors have no strides, so a view of a transposed one is no mistake
        args = {**args, "self": args["self"].contiguous()}
    try:
        result = aten_operator(op.schema)(**_named(op.schema, args))
    except (RuntimeError, TypeError, AttributeError, IndexError) as e:
        raise DiagnosticError(op, f"{op.schema.qualified_name}: {e}") from e
    if result is None:
        return ()
    return result if isinstance(result, list | tuple) else (result,)


def aten_operator(schema: edge.Schema) -> Any:
    """torch's operator of a schema. AttributeError if there is none."""
    if (module := registering_module(schema.qualified_name)) is not None:
        importlib.import_module(module)
    packet = getattr(getattr(torch.ops, schema.namespace), schema.name)
    return getattr(packet, schema.overload or "default")


def _named(schema: edge.Schema, args: dict[str, Any]) -> dict[str, Any]:
    """Arguments to pass by name; those at a None default are left to it."""
    defaults = {a.name: a.default for a in schema.arguments}
    return {name: value for name, value in args.items() if not (value is None and defaults[name] is None)}


def constant_tensor(elements: DenseAttr, ctx: XirContext, op: Operation) -> torch.Tensor:
    """The elements of a constant, or of what a buffer begins with."""
    type = elements.get_type()
    assert isinstance(type, TensorType)
    return torch_view(storage_array(elements, ctx, op), type.element_type, type.get_shape())


def _value(value: Any, values: Mapping[SSAValue, Any]) -> Any:
    match value:
        case SSAValue():
            return values[value]
        case tuple():
            return [_value(v, values) for v in value]
        case TypeAttribute():
            return DTYPES[value]
        case _:
            return value


def _restore(type: edge.ArgType, value: Any) -> Any:
    """Enumerators, which the IR names."""
    match type.base:
        case "MemoryFormat" | "Layout" if value is not None:
            return getattr(torch, value)
        case "Device" if value is not None:
            return torch.device(value)
        case _:
            return value
