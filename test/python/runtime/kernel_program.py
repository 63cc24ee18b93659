"""Programs of kernel calls, built without importer or compiler, and the reference that torch's own kernels are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import torch
from emitter.sample_modules import emitted
from xdsl.dialects import builtin
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp, StringAttr, TensorType, f64, i1, i64
from xdsl.ir import Block, Region, SSAValue

from xir.dialects import pte
from xir.dialects.edge.kernels import registering_module
from xir.ir.context import XirContext
from xir.runtime import Runtime
from xir.transforms.pte.plan_memory import PlanMemoryPass

# Registers quantized_decomposed.
import_module("torch.ao.quantization.fx._decomposed")

ELEMENTS = {
    torch.float32: builtin.f32,
    torch.float64: builtin.f64,
    torch.float16: builtin.f16,
    torch.bfloat16: builtin.bf16,
    torch.int64: builtin.i64,
    torch.int32: builtin.i32,
    torch.int16: builtin.IntegerType(16),
    torch.int8: builtin.i8,
    torch.uint8: builtin.IntegerType(8, builtin.Signedness.UNSIGNED),
    torch.bool: builtin.i1,
}


@dataclass
class KernelProgram:
    """One method that calls kernels. Every tensor argument is an input, every result an output."""

    inputs: list[SSAValue] = field(default_factory=list[SSAValue])
    given: list[torch.Tensor] = field(default_factory=list[torch.Tensor])
    outputs: list[SSAValue] = field(default_factory=list[SSAValue])
    declarations: list[pte.ValueOp] = field(default_factory=list[pte.ValueOp])
    calls: list[pte.InstructionOp] = field(default_factory=list[pte.InstructionOp])

    def call(self, name: str, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """Call a kernel with Python values; `results` are tensors of the results' shapes and dtypes, or lists."""
        values = [self.value(argument) for argument in arguments]
        out = [self.result(result) for result in results]
        self.calls.append(pte.KernelCallOp(name, [*values, *out]))

    def declare(self, op: pte.ValueOp) -> SSAValue:
        self.declarations.append(op)
        return op.value

    def tensor(self, tensor: torch.Tensor) -> SSAValue:
        return self.declare(pte.TensorOp.make(tensor_type=TensorType(ELEMENTS[tensor.dtype], tensor.shape)))

    def result(self, result: Any) -> SSAValue:
        if isinstance(result, torch.Tensor):
            self.outputs.append(self.tensor(result))
            return self.outputs[-1]
        return self.declare(pte.TensorListOp.make([self.result(each) for each in result]))

    def value(self, argument: Any) -> SSAValue:
        match argument:
            case None:
                return self.declare(pte.NullOp.make())
            case torch.Tensor():
                self.inputs.append(self.tensor(argument))
                self.given.append(argument)
                return self.inputs[-1]
            case bool():
                return self.declare(pte.BoolOp.make(bool_val=IntegerAttr.from_bool(argument)))
            case int():
                return self.declare(pte.IntOp.make(int_val=IntegerAttr(argument, i64)))
            case float():
                return self.declare(pte.DoubleOp.make(double_val=FloatAttr(argument, f64)))
            case str():
                return self.declare(pte.StringOp.make(string_val=StringAttr(argument)))
            case torch.dtype():
                return self.value(pte.scalar_code(ELEMENTS[argument]))
            case _:
                return self.list_value(argument)

    def list_value(self, items: Sequence[Any]) -> SSAValue:
        if any(isinstance(item, torch.Tensor) for item in items):
            if all(isinstance(item, torch.Tensor) for item in items):
                return self.declare(pte.TensorListOp.make([self.value(item) for item in items]))
            present = DenseArrayBase.from_list(i1, [item is not None for item in items])
            there = [self.value(item) for item in items if item is not None]
            return self.declare(pte.OptionalTensorListOp.make(there, present=present))
        if items and all(isinstance(item, float) for item in items):
            return self.declare(pte.DoubleListOp.make(items=DenseArrayBase.from_list(f64, items)))
        return self.declare(pte.IntListOp.make([self.value(item) for item in items]))

    def file(self) -> bytes:
        """The bytes of a file whose method `forward` this is."""
        plan = pte.ExecutionPlanOp.build(
            properties={
                "sym_name": StringAttr("forward"),
                "encoded_inp_str": StringAttr(""),
                "encoded_out_str": StringAttr(""),
            },
            regions=[
                Region(Block([*self.declarations, pte.ChainOp(self.calls), pte.SignatureOp(self.inputs, self.outputs)]))
            ],
        )
        module = ModuleOp([pte.ProgramOp.build(regions=[Region(Block([plan]))])])
        ctx = XirContext()
        PlanMemoryPass().apply(ctx, module)
        return emitted(module, ctx)

    def run(self) -> list[torch.Tensor]:
        """Emit, load and execute."""
        return Runtime.get().load_program(self.file()).load_method("forward").execute(self.given)


def out_variant(name: str) -> Any:
    """torch's kernel of a name such as `aten::add.out`."""
    namespace, _, qualified = name.partition("::")
    packet, _, overload = qualified.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")


def reference(name: str, arguments: Sequence[Any], dtypes: Sequence[torch.dtype] | None = None) -> list[Any]:
    """What torch's out variant writes for these arguments: tensors, or lists of them.

    `dtypes` are those of the results, by default the first tensor's.
    """
    if name.startswith("quantized_decomposed::"):
        return quantized_reference(name, arguments)
    if name.startswith("dim_order_ops::"):
        # ExecuTorch's own: a copy in the memory order and dtype of the result.
        return [arguments[0].to((dtypes or [arguments[0].dtype])[0])]
    if name.startswith("xir::"):
        # xir's own, without an out variant.
        registering = registering_module(name)
        assert registering is not None
        import_module(registering)
        *tensors, scale = arguments
        return [out_variant(name.removesuffix(".out"))(*tensors, scale=scale)]
    op = out_variant(name)
    outs = [argument for argument in op._schema.arguments if argument.is_out]
    if isinstance(outs[0].type, torch.ListType):
        base, _, overload = name.partition(".")
        return [list(out_variant(f"{base}.{overload.removesuffix('out').removesuffix('_')}")(*arguments))]
    if dtypes is None:
        first = next(a for a in flatten(arguments) if isinstance(a, torch.Tensor))
        dtypes = [first.dtype] * len(outs)
    given = {out.name: torch.empty(0, dtype=dtype) for out, dtype in zip(outs, dtypes, strict=True)}
    taken = [argument for argument in op._schema.arguments if not argument.is_out]
    keywords = {a.name: value for a, value in zip(taken, arguments, strict=True) if a.kwarg_only}
    op(*[value for a, value in zip(taken, arguments, strict=True) if not a.kwarg_only], **keywords, **given)
    return list(given.values())


def quantized_reference(name: str, arguments: Sequence[Any]) -> list[torch.Tensor]:
    """torch has no out variants of these, only what they are variants of."""
    base, _, overload = name.partition(".")
    if base.startswith("quantized_decomposed::embedding_"):
        registering = registering_module(base)
        assert registering is not None
        import_module(registering)
    overload = {"Tensor_out": ".tensor", "dtype_out": ".dtype"}.get(overload, "")
    kernel = out_variant(base + overload)
    named = {a.name: value for a, value in zip(kernel._schema.arguments, arguments, strict=True)}
    result = kernel(**named)
    return list(result) if isinstance(result, tuple) else [result]


def flatten(values: Sequence[Any]) -> list[Any]:
    """The values with those in lists."""
    return [e for v in values for e in (flatten(v) if isinstance(v, list | tuple) else [v])]
