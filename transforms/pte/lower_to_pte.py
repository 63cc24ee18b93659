"""`lower-to-pte`: from functions to the program that a `.pte` file holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any, ClassVar, TypeGuard, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NoneType,
    StringAttr,
    TensorType,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xir.backend.registry import backend_named
from xir.dialects import edge, pte
from xir.dialects.delegate import GraphOp
from xir.dialects.edge import EdgeOp
from xir.dialects.edge.kernels import EXECUTORCH, executorch_kernels
from xir.ir.annotations import DIM_NAMES, IN_SPEC, MIN_SHAPE, OUT_SPEC
from xir.ir.array_attributes import ints
from xir.ir.constants import constant_array, storage_array
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import Fixed, fixed_inputs, methods_of
from xir.ir.location import Locatable
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.tensor_types import dynamic_among, size_problem
from xir.ir.walking import only_block
from xir.transforms.analysis.dim_annotations import argument_attributes, dim_orders, dynamic_names
from xir.transforms.analysis.missing_kernels import MissingKernel
from xir.transforms.analysis.sizes import SymbolicSizes, UnknownSizeError
from xir.transforms.pte._buffers import InPlace, find_in_place, find_in_place_of_loop
from xir.transforms.pte.memory.placing import LARGEST_ARENA

_MEMORY_FORMATS = {"contiguous_format": 0, "preserve_format": 1, "channels_last": 2, "channels_last_3d": 3}
"""c10/core/MemoryFormat.h"""

_TENSOR_OPTIONS = frozenset({"dtype", "layout", "device", "pin_memory"})
"""What a factory function takes to describe its result. Out variants lack all four: their out tensor says it."""


STORED_ZEROS = 4096
"""Bytes up to which a buffer of zeros is stored. Beyond, as for caches, the arena's own zeros are what it begins with:
ExecuTorch's `Module` and its Python bindings hand in zeroed memory, and so does xir's runtime."""


@dataclass(frozen=True)
class LowerToPtePass(XirPass):
    """Turn each function into an execution plan: declare values, and turn ops into calls.

    A backend's graph, such as `xnnpack.subgraph`, becomes a delegate and a call of it. An edge op becomes a call of its
    out variant, under ExecuTorch's name. An op without one is called under its own name with its results after the
    arguments, which only xir's Python runtime supports. A remark reports such calls and kernels that ExecuTorch lacks;
    `decompose-for-kernels` leaves few of them. `plan-memory` plans the memory.

    A mutable buffer is a tensor with a name. It is updated in place when safe, otherwise copied back at the end.

    The functions of branches and loops become parts of the plan between jumps. Both branches of `edge.cond` compute
    into the memory of its results. `edge.while_loop` has memory for the values that it carries, which the body updates
    in place when safe, as for buffers.

    Before:
    ```mlir
    func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = edge.abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32>
    }
    ```
    After:
    ```mlir
    pte.program {
      pte.execution_plan @forward {
        %0 = pte.tensor tensor<4xf32>
        %1 = pte.tensor tensor<4xf32>
        pte.chain {
          pte.kernel_call "aten::abs.out" (%0, %1, %1)
        }
        pte.signature inputs (%0) outputs (%1)
      }
    }
    ```
    """

    numerics: ClassVar[Numerics] = Numerics.KERNELS

    def apply(self, ctx: XirContext, op: ModuleOp) -> None:
        """One plan for each public function, in order; the functions are gone afterwards."""
        methods = methods_of(op)
        if not methods:
            raise DiagnosticError(op, "there is no function to lower")
        for other in op.body.ops:
            if not isinstance(other, FuncOp):
                raise DiagnosticError(other, f"'{other.name}' has no place in a program")
        plans = [_PlanBuilder(method, ctx).build() for method in methods]
        for function in list(op.body.ops):
            function.detach()
            function.erase()
        op.body.block.add_op(pte.ProgramOp.build(regions=[Region(Block(plans))]))


@dataclass
class _PlanBuilder:
    """Lowers one function. Values are declared in the order of their first use, equal scalars once."""

    func: FuncOp
    ctx: XirContext
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    given: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The inputs that memory has in another order than the caller: what delegates take."""
    scalars: dict[object, SSAValue] = field(default_factory=dict[object, SSAValue])
    declarations: list[pte.ValueOp] = field(default_factory=list[pte.ValueOp])
    delegates: list[pte.DelegateOp] = field(default_factory=list[pte.DelegateOp])
    calls: list[pte.InstructionOp] = field(default_factory=list[pte.InstructionOp])
    updates: list[edge.UpdateBufferOp] = field(default_factory=list[edge.UpdateBufferOp])
    destinations: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Where values that a branch gives are computed, if they are."""

    @cached_property
    def in_place(self) -> InPlace:
        """What is computed in the memory of mutable buffers."""
        return find_in_place(self.func)

    @cached_property
    def fixed(self) -> Mapping[int, Fixed]:
        """The inputs that the program was exported for, by index."""
        return fixed_inputs(self.func)

    @cached_property
    def dim_orders(self) -> dict[SSAValue, tuple[int, ...]]:
        """The inputs that memory has in another order than the caller."""
        return dim_orders(self.func)

    @cached_property
    def sizes(self) -> SymbolicSizes:
        """How large dynamic dimensions get."""
        return self.ctx.analyses.get(SymbolicSizes, self.func)

    def build(self) -> pte.ExecutionPlanOp:
        func = self.func
        if func.is_declaration:
            raise DiagnosticError(func, "a function needs a body to become a plan")
        block = only_block(func)
        inputs = [self.input(argument, index) for index, argument in enumerate(block.args)]
        end = self.instructions()
        outputs = [self.output(value, end) for value in end.arguments]
        self.write_buffers()
        chain = pte.ChainOp(self.calls)
        return pte.ExecutionPlanOp.build(
            properties={
                "input_sizes": input_sizes(func, self.dim_orders),
                "sym_name": func.sym_name,
                "encoded_inp_str": self.tree_text(IN_SPEC, f"T2#{len(inputs)}#0({_tuple(len(inputs))},D0())"),
                "encoded_out_str": self.tree_text(OUT_SPEC, _tuple(len(outputs))),
            },
            regions=[Region(Block([*self.delegates, *self.declarations, chain, pte.SignatureOp(inputs, outputs)]))],
        )

    def instructions(self) -> ReturnOp:
        """Lower the function's ops, but for the last one, which says what it gives."""
        for op in self.func.body.block.ops:
            match op:
                case ReturnOp():
                    return op
                case edge.MutableBufferOp():
                    self.buffer(op)
                case edge.UpdateBufferOp():
                    self.updates.append(op)
                case edge.ConstantOp():
                    self.constant(op)
                case edge.NoneOp():
                    self.values[op.result] = self.null()
                case GraphOp():
                    self.delegate(op)
                case EdgeOp():
                    self.kernel(op)
                case edge.CondOp():
                    self.branches(op)
                case edge.WhileLoopOp():
                    self.loop(op)
                case _:
                    raise DiagnosticError(op, f"'{op.name}' has no form in a program")
        raise DiagnosticError(self.func, "a function ends with func.return")

    def tree_text(self, name: str, default: str) -> StringAttr:
        """How inputs or outputs nest: as the importer says, else flat."""
        attr = self.func.attributes.get(name)
        return attr if isinstance(attr, StringAttr) else StringAttr(default)

    def declare(self, op: pte.ValueOp, where: Locatable) -> SSAValue:
        if isinstance(where, Operation):
            op.location = where.location
        self.declarations.append(op)
        return op.value

    def scalar(self, key: object, make: Callable[[], pte.ValueOp]) -> SSAValue:
        """A value that never changes, declared once for each `key`."""
        if key not in self.scalars:
            self.scalars[key] = self.declare(make(), None)
        return self.scalars[key]

    # Values of the function.

    def input(self, argument: SSAValue, index: int) -> SSAValue:
        if index in self.fixed:
            return self.fixed_input(argument, self.fixed[index])
        order = self.dim_orders.get(argument)
        if order is None:
            self.values[argument] = self.variable(argument)
            return self.values[argument]
        return self.reordered(argument, order)

    def fixed_input(self, argument: SSAValue, value: Fixed) -> SSAValue:
        """An input that the caller has to give as it was when the program was exported."""
        match value:
            case None:
                made, type = pte.NullOp.make(), NoneType()
            case bool():
                made, type = pte.BoolOp.make(bool_val=IntegerAttr.from_bool(value)), i1
            case int():
                made, type = pte.IntOp.make(int_val=IntegerAttr(value, i64)), i64
            case float():
                made, type = pte.DoubleOp.make(double_val=FloatAttr(value, f64)), f64
            case str():
                made, type = pte.StringOp.make(string_val=StringAttr(value)), NoneType()
        if argument.type != type:
            raise DiagnosticError(argument, f"an argument of type {argument.type} is fixed at {value!r}: {type}")
        self.values[argument] = self.declare(made, argument.owner)
        return self.values[argument]

    def reordered(self, argument: SSAValue, order: tuple[int, ...]) -> SSAValue:
        """An input whose dimensions memory has in another order than the caller.

        Delegates take its memory as it is. Kernels get a copy in the caller's order, which is what the permutation that
        the importer writes behind such an input stands for; another op that reads it gets that copy permuted.
        """
        restoring = tuple(order.index(dim) for dim in range(len(order)))
        memory = self.bounded(argument)
        seen = TensorType(memory.element_type, [memory.get_shape()[axis] for axis in restoring])
        given = self.tensor(argument, seen, dim_order=DenseArrayBase.from_list(i64, order))
        self.given[argument] = given
        readers = [use.operation for use in argument.uses if not isinstance(use.operation, GraphOp)]
        restores = [
            op for op in readers if op.name == "edge.permute" and cast("EdgeOp", op).argument("dims") == restoring
        ]
        if readers:
            copy, axes = self.tensor(argument, seen), self.integers(range(len(order)))
            no = self.boolean(False)
            self.calls.append(pte.KernelCallOp("dim_order_ops::_to_dim_order_copy.out", [given, no, axes, copy, copy]))
            self.values.update((op.results[0], copy) for op in restores)
            if len(restores) < len(readers):
                moved, axes = self.tensor(argument, memory), self.integers(order)
                self.calls.append(pte.KernelCallOp("aten::permute_copy.out", [copy, axes, moved, moved]))
                self.values[argument] = moved
        return given

    def output(self, value: SSAValue, op: ReturnOp) -> SSAValue:
        """What the caller gets: not the memory of a buffer, which the next call changes."""
        result = self.values[value]
        return self.copy(value, op) if self.is_buffer(result) else result

    def variable(self, value: SSAValue) -> SSAValue:
        """A value that an instruction or the caller fills in."""
        type = value.type
        if (home := self.in_place.homes.get(value)) is not None:
            return self.values[home]
        if (destination := self.destinations.get(value)) is not None:
            return destination
        if isinstance(type, TensorType):
            return self.tensor(value, self.bounded(value))
        if type == i64:
            return self.declare(pte.IntOp.make(int_val=IntegerAttr(0, i64)), value.owner)
        if type == f64:
            return self.declare(pte.DoubleOp.make(double_val=FloatAttr(0.0, f64)), value.owner)
        if type == i1:
            return self.declare(pte.BoolOp.make(bool_val=IntegerAttr.from_bool(False)), value.owner)
        raise DiagnosticError(value, f"a value of type {type} has no form in a program")

    def tensor(self, value: SSAValue, bounded: TensorType, **properties: Attribute) -> SSAValue:
        """A tensor of a type without unknown sizes, for `value` or a permutation of it."""
        self.check_element_type(bounded, value)
        assert isinstance(value.type, TensorType)
        if not value.type.has_static_shape():
            # TensorShapeDynamism.DynamicBound
            properties["shape_dynamism"] = IntegerAttr(1, i32)
        return self.declare(pte.TensorOp.make(tensor_type=bounded, **properties), value.owner)

    def bounded(self, value: SSAValue) -> TensorType:
        """The type of a tensor at its largest."""
        type = value.type
        assert isinstance(type, TensorType)
        try:
            shape = self.sizes.bounds(value)
        except UnknownSizeError:
            message = f"{type} has no upper bound for its dynamic dimensions, so it has no memory"
            raise DiagnosticError(value, message) from None
        if (problem := size_problem(tuple(shape))) is not None:
            raise DiagnosticError(value, f"at its largest shape, {list(shape)}: {problem}")
        return TensorType(type.element_type, shape)

    @staticmethod
    def check_element_type(type: TensorType, where: Locatable) -> None:
        if pte.scalar_code(type.element_type) is None:
            raise DiagnosticError(where, f"a program cannot hold elements of type {type.element_type}")

    def constant(self, op: edge.ConstantOp) -> None:
        if op.result.first_use is not None and all(is_item(use.operation) for use in op.result.uses):
            return
        value = op.value
        assert isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr)
        type = value.get_type()
        assert isinstance(type, TensorType)
        self.check_element_type(type, op)
        self.values[op.result] = self.declare(pte.TensorOp.make(tensor_type=type, data=value), op)

    # Mutable buffers.

    def buffer(self, op: edge.MutableBufferOp) -> None:
        initial = op.initial
        type = initial.get_type()
        assert isinstance(type, TensorType)
        self.check_element_type(type, op)
        name = pte.ExtraTensorInfoAttr(op.buffer, *[IntAttr(0)] * 4)
        tensor = pte.TensorOp.make(tensor_type=type, data=initial, extra_tensor_info=name)
        if tensor.nbytes > LARGEST_ARENA:
            raise DiagnosticError(op, f"the buffer takes more memory than {LARGEST_ARENA} bytes, the most of an arena")
        if tensor.nbytes > STORED_ZEROS and _is_zero(storage_array(initial, self.ctx, op)):
            tensor.data = None
        self.values[op.result] = self.declare(tensor, op)

    @staticmethod
    def is_buffer(value: SSAValue) -> bool:
        return isinstance(value.owner, pte.TensorOp) and value.owner.buffer is not None

    def copy(self, value: SSAValue, op: Operation) -> SSAValue:
        """What a value is now, in memory of its own."""
        copy = self.tensor(value, self.bounded(value))
        self.call(pte.KernelCallOp("aten::clone.out", [self.values[value], self.null(), copy, copy]), op)
        return copy

    def write_buffers(self) -> None:
        """Copy what is not in its buffer's memory there, at the end: all else has been read."""
        written = {update.buffer for update in self.updates}
        waiting = [op for op in self.updates if self.values[op.value] is not self.values[op.buffer]]
        # Another buffer's old value goes aside, as that one may be written first.
        sources = [self.copy(op.value, op) if op.value in written else self.values[op.value] for op in waiting]
        for op, source in zip(waiting, sources, strict=True):
            buffer, no = self.values[op.buffer], self.boolean(False)
            self.call(pte.KernelCallOp("aten::copy_", [buffer, source, no, buffer]), op)

    # Branches and loops.

    def branches(self, op: edge.CondOp) -> None:
        """A condition, the one branch, and behind it the other."""
        results = [self.variable(result) for result in op.res]
        self.values.update(zip(op.res, results, strict=True))
        arguments = [self.values[value] for value in op.args]
        to_else = self.jump(self.values[op.condition], op)
        self.inside(op.function(op.then_function), arguments).give(results)
        to_end = self.jump(self.boolean(False), op)
        self.land(to_else)
        self.inside(op.function(op.else_function), arguments).give(results)
        self.land(to_end)

    def loop(self, op: edge.WhileLoopOp) -> None:
        """The condition, the body, and a jump back."""
        carried = [self.variable(result) for result in op.res]
        self.values.update(zip(op.res, carried, strict=True))
        for first, value in zip(op.carried, carried, strict=True):
            self.assign(self.values[first], value, op)
        arguments = [*carried, *(self.values[value] for value in op.args)]
        start = len(self.calls)
        condition = self.inside(op.function(op.condition_function), arguments)
        holds = condition.values[condition.instructions().arguments[0]]
        to_end = self.jump(holds, op)
        body = self.inside(op.function(op.body_function), arguments)
        body.in_place = find_in_place_of_loop(body.func)
        body.carry(carried)
        self.land(self.jump(self.boolean(False), op), start)
        self.land(to_end)

    def inside(self, function: FuncOp, arguments: Sequence[SSAValue]) -> _PlanBuilder:
        """What lowers a function of a branch or loop into this plan."""
        inner = _PlanBuilder(
            function,
            self.ctx,
            scalars=self.scalars,
            declarations=self.declarations,
            delegates=self.delegates,
            calls=self.calls,
        )
        inner.values.update(zip(function.body.block.args, arguments, strict=True))
        return inner

    def give(self, results: Sequence[SSAValue]) -> None:
        """Lower a branch, which computes into the results what it computes, and copies what it only hands on."""
        end = self.func.body.block.last_op
        assert isinstance(end, ReturnOp)
        for value, result in zip(end.arguments, results, strict=True):
            self.destinations.setdefault(value, result)
        self.instructions()
        for value, result in zip(end.arguments, results, strict=True):
            if self.values[value] is not result:
                self.assign(self.values[value], result, end)

    def carry(self, carried: Sequence[SSAValue]) -> None:
        """Lower a body, and hand on to the next step what is not in its place yet."""
        end = self.instructions()
        pairs = [(value, to) for value, to in zip(end.arguments, carried, strict=True) if self.values[value] is not to]
        written = {to for _, to in pairs}
        # What another of them overwrites goes aside first.
        sources = [self.copy(value, end) if self.values[value] in written else self.values[value] for value, _ in pairs]
        for source, (_, to) in zip(sources, pairs, strict=True):
            self.assign(source, to, end)

    def assign(self, value: SSAValue, to: SSAValue, op: Operation) -> None:
        """Make one value of the plan what another is."""
        if isinstance(to.type, pte.TensorType):
            self.call(pte.KernelCallOp("aten::clone.out", [value, self.null(), to, to]), op)
        else:
            self.call(pte.MoveOp.build(operands=[value, to]), op)

    def jump(self, condition: SSAValue, op: Operation) -> pte.JumpFalseOp:
        """A jump if a condition is false; `land` says where to."""
        jump = pte.JumpFalseOp.build(operands=[condition], properties={"destination_instruction": IntegerAttr(0, i32)})
        self.call(jump, op)
        return jump

    def land(self, jump: pte.JumpFalseOp, destination: int | None = None) -> None:
        """Let a jump lead to an instruction; None: the next one."""
        destination = len(self.calls) if destination is None else destination
        jump.destination_instruction = IntegerAttr(destination, i32)

    # Delegates.

    def delegate(self, op: GraphOp) -> None:
        backend = backend_named(op.BACKEND)
        inputs = [self.given.get(value) or self.values[value] for value in op.operands]
        outputs = [self.variable(result) for result in op.results]
        self.values.update(zip(op.results, outputs, strict=True))
        block = Block(arg_types=[self.bounded(value) for value in op.operands])
        types = [self.bounded(value) for value in op.results]
        backend.bound(op, {value: self.bounded(value) for value in dynamic_among(op.values)})
        inner = type(op).create(
            operands=block.args,
            result_types=types,
            properties=dict(op.properties),
            regions=[op.detach_region(0)],
        )
        inner.location = op.location
        block.add_ops([inner, pte.YieldOp(inner.results)])
        name = f"{self.func.sym_name.data}_{len(self.delegates)}"
        delegate = pte.DelegateOp(name, backend.id_of(op), body=Region(block))
        delegate.location = op.location
        self.delegates.append(delegate)
        self.call(pte.DelegateCallOp(name, [*inputs, *outputs]), op)

    def call(self, call: pte.InstructionOp, op: Operation) -> None:
        call.location = op.location
        self.calls.append(call)

    # Kernels.

    def kernel(self, op: EdgeOp) -> None:
        if op.results and all(result in self.values for result in op.results):
            return  # a copy of an input that was made already
        if is_item(op):
            self.values[op.results[0]] = self.item(op)
            return
        arguments = [self.argument(op, name) for name in kernel_arguments(op.schema, op.out_kernel)]
        results = [self.variable(result) for result in op.results]
        self.values.update(zip(op.results, results, strict=True))
        if op.out_kernel is None:
            name = op.schema.qualified_name
            self.ctx.diagnostics.emit(
                MissingKernel.of(op, name, f"{name} has no out variant, so only xir's Python runtime can run it")
            )
            self.call(pte.KernelCallOp(name, [*arguments, *results]), op)
            return
        if op in self.in_place.overwriting:
            assert op.in_place_kernel is not None
            self.call(pte.KernelCallOp(op.in_place_kernel, [*arguments, *results]), op)
            return
        if op.out_kernel not in executorch_kernels():
            said = f"{EXECUTORCH} has no kernel {op.out_kernel}, and its runtime refuses the file"
            self.ctx.diagnostics.emit(MissingKernel.of(op, op.out_kernel, said))
        out = self.out_arguments(op, results)
        self.call(pte.KernelCallOp(op.out_kernel, [*arguments, *out, *self.returned(op, results)]), op)

    def item(self, op: edge.LocalScalarDenseOp) -> SSAValue:
        """The element of a constant, such as a number that the program returns."""
        constant = op.self.owner
        assert isinstance(constant, edge.ConstantOp)
        number = constant_array(constant.value, self.ctx, constant).item()
        match op.result_types[0]:
            case t if t == i1:
                return self.boolean(bool(number))
            case t if t == f64:
                return self.double(float(number))
            case _:
                return self.integer(int(number))

    def out_arguments(self, op: EdgeOp, results: Sequence[SSAValue]) -> list[SSAValue]:
        """The out tensors; a number that a kernel computes is only returned."""
        if op.schema.returns[0].type.is_list:
            return [self.declare(pte.TensorListOp.make(results), op)]
        return [result for result in results if isinstance(result.type, pte.TensorType)]

    def returned(self, op: EdgeOp, results: Sequence[SSAValue]) -> list[SSAValue]:
        """What follows the arguments: the value that the kernel returns, a list if there are several."""
        if len(results) == 1 and not op.schema.returns[0].type.is_list:
            return list(results)
        return [self.declare(pte.TensorListOp.make(results), op)]

    def argument(self, op: EdgeOp, name: str) -> SSAValue:
        argument = op.schema.tensors.get(name)
        if argument is None:
            return self.plain(op, name, op.argument(name))
        if not argument.type.is_list:
            tensor = op.argument(name)
            return self.null() if tensor is None else self.values[tensor]
        tensors = op.argument(name)
        present = [self.values[tensor] for tensor in tensors if tensor is not None]
        if not argument.type.optional_element:
            return self.declare(pte.TensorListOp.make(present), op)
        flags = DenseArrayBase.from_list(i1, [tensor is not None for tensor in tensors])
        return self.declare(pte.OptionalTensorListOp.make(present, present=flags), op)

    def null(self) -> SSAValue:
        return self.scalar(None, pte.NullOp.make)

    def plain(self, op: EdgeOp, name: str, value: Any) -> SSAValue:
        """The value of an argument that is no tensor."""
        kind = op.schema.values[name].type
        match value:
            case None:
                return self.null()
            case SSAValue():
                return self.values[value]
            case tuple():
                return self.plain_list(op, name, kind.base, value)
            case bool():
                return self.boolean(value)
            case int():
                return self.integer(value)
            case float():
                return self.double(value)
            case str() if kind.base == "MemoryFormat":
                return self.integer(_MEMORY_FORMATS[value])
            case str() if kind.base == "Layout":
                # Strided, the only one there is here.
                return self.integer(0)
            case str():
                return self.scalar((str, value), lambda: pte.StringOp.make(string_val=StringAttr(value)))
            case Attribute():
                code = pte.scalar_code(value)
                if code is None:
                    raise DiagnosticError(op, f"argument '{name}': a program has no number for the dtype {value}")
                return self.integer(code)
            case _:
                raise DiagnosticError(op, f"argument '{name}' has no form in a program")

    def boolean(self, value: bool) -> SSAValue:
        return self.scalar(value, lambda: pte.BoolOp.make(bool_val=IntegerAttr.from_bool(value)))

    def integer(self, value: int) -> SSAValue:
        # Not under the number itself: True equals 1.
        return self.scalar((int, value), lambda: pte.IntOp.make(int_val=IntegerAttr(value, i64)))

    def double(self, value: float) -> SSAValue:
        # Through its text, because -0.0 equals 0.0 and nan does not equal itself.
        return self.scalar((float, repr(value)), lambda: pte.DoubleOp.make(double_val=FloatAttr(value, f64)))

    def plain_list(self, op: EdgeOp, name: str, base: str, values: tuple[Any, ...]) -> SSAValue:
        if base == "float":
            doubles = DenseArrayBase.from_list(f64, values)
            return self.scalar((base, tuple(map(repr, values))), lambda: pte.DoubleListOp.make(items=doubles))
        if base == "bool":
            bools = DenseArrayBase.from_list(i1, values)
            return self.scalar((base, values), lambda: pte.BoolListOp.make(items=bools))
        if base not in ("int", "SymInt"):
            raise DiagnosticError(op, f"argument '{name}': a program has no lists of {base}")
        return self.integers(values)

    def integers(self, values: Iterable[int | SSAValue]) -> SSAValue:
        """A list of numbers, some of which may be computed."""
        items = tuple(self.values[v] if isinstance(v, SSAValue) else self.integer(v) for v in values)
        return self.scalar(("int", *items), lambda: pte.IntListOp.make(items))


def input_sizes(
    function: FuncOp, dim_orders: Mapping[SSAValue, Sequence[int]]
) -> ArrayAttr[ArrayAttr[StringAttr]] | None:
    """Which sizes of a function's inputs are open, as `pte.execution_plan` says it; None where all are fixed."""
    names = dict(dynamic_names(argument_attributes(function, DIM_NAMES)))
    least = dict(argument_attributes(function, MIN_SHAPE))
    if not names:
        return None
    inputs: list[ArrayAttr[StringAttr]] = []
    for argument in function.args:
        texts: list[str] = []
        if argument in names:
            assert isinstance(argument.type, TensorType)
            shape, given = argument.type.get_shape(), least[argument]
            smallest = ints(given) if isinstance(given, DenseArrayBase) else (0,) * len(shape)
            for size, name, limit in zip_longest(shape, names[argument], smallest[: len(shape)], fillvalue=None):
                text = "" if size != DYNAMIC_INDEX else name or "?"
                texts.append(f"{text}>={limit}" if text and limit else text)
            # The type is that of the memory, and the caller's order another.
            order = dim_orders.get(argument, range(len(texts)))
            texts = [texts[order.index(dim)] for dim in range(len(texts))]
        inputs.append(ArrayAttr(map(StringAttr, texts)))
    return ArrayAttr(inputs)


def kernel_arguments(schema: edge.Schema, out_kernel: str | None) -> list[str]:
    """The names of an operator's arguments that its kernel takes, in order. `out_kernel` is its out variant, if any."""
    names = [argument.name for argument in schema.arguments]
    if out_kernel is not None and _TENSOR_OPTIONS.issubset(names):
        return [name for name in names if name not in _TENSOR_OPTIONS]
    return names


def is_item(op: Operation) -> TypeGuard[edge.LocalScalarDenseOp]:
    """Whether an op reads the element of a constant."""
    return isinstance(op, edge.LocalScalarDenseOp) and isinstance(op.self.owner, edge.ConstantOp)


def _is_zero(array: np.ndarray) -> bool:
    """Whether all bytes are 0, which those of -0.0 are not."""
    if not any(array.strides):  # a splat, of however many elements
        array = array[(0,) * array.ndim]
    return not array.any() and not (array.dtype.kind == "f" and np.signbit(array).any())


def _tuple(count: int) -> str:
    """A tuple of `count` leaves in ExecuTorch's pytree notation."""
    return f"T{count}{'#1' * count}({','.join('$' * count)})"
