"""`lower-to-pte`: from functions to the program that a `.pte` file holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from xir.backend.registry import backend_named
from xir.dialects import edge, pte
from xir.dialects.delegate import GraphOp
from xir.dialects.edge import EdgeOp
from xir.ir.annotations import IN_SPEC, OUT_SPEC
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError
from xir.ir.functions import methods_of
from xir.ir.numerics import Numerics
from xir.ir.passes import XirPass
from xir.ir.tensor_types import dynamic_among
from xir.ir.walking import only_block
from xir.transforms.analysis.dim_annotations import dim_orders, result_orders
from xir.transforms.pte._buffers import InPlace, find_in_place, find_in_place_of_loop
from xir.transforms.pte._kernel_calls import call_kernel, is_item
from xir.transforms.pte._plan import Plan
from xir.transforms.pte._plan_inputs import declare_inputs, input_sizes
from xir.transforms.pte._plan_outputs import copy_reordered, give_reordered, reordered_results
from xir.transforms.pte._plan_values import PlanValues


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
        """One plan for each public function, in the module's order, in which programs keep theirs; the functions are
        gone afterwards."""
        methods = methods_of(op)
        programs = [other for other in op.body.ops if isinstance(other, pte.ProgramOp)]
        if not methods and not programs:
            raise DiagnosticError(op, "there is no function to lower")
        for other in op.body.ops:
            if not isinstance(other, FuncOp | pte.ProgramOp):
                raise DiagnosticError(other, f"'{other.name}' has no place in a program")
        plans = {method: execution_plan(method, ctx) for method in methods}
        properties = dict(programs[0].properties) if programs else {}
        program = pte.ProgramOp.build(properties=properties, regions=[Region(Block())])
        for other in list(op.body.ops):
            if isinstance(other, pte.ProgramOp):
                for part in list(other.body.ops):
                    part.detach()
                    program.body.block.add_op(part)
            elif isinstance(other, FuncOp) and other in plans:
                program.body.block.add_op(plans[other])
            other.detach()
            other.erase()
        op.body.block.add_op(program)


def execution_plan(func: FuncOp, ctx: XirContext) -> pte.ExecutionPlanOp:
    """The plan of one function, whose ops it takes apart."""
    if func.is_declaration:
        raise DiagnosticError(func, "a function needs a body to become a plan")
    only_block(func)
    plan, orders = Plan(), dim_orders(func)
    values = PlanValues(func, ctx, plan, find_in_place(func))
    inputs = declare_inputs(values, orders)
    values.reordered.update(reordered_results(func))
    lowering = _FunctionLowering(values)
    end = lowering.instructions()
    given = result_orders(func)
    outputs = [lowering.output(value, end, given.get(number)) for number, value in enumerate(end.arguments)]
    lowering.write_buffers()
    body = [*plan.delegates, *plan.declarations, pte.ChainOp(plan.calls), pte.SignatureOp(inputs, outputs)]
    return pte.ExecutionPlanOp.build(
        properties={
            "input_sizes": input_sizes(func, orders),
            "sym_name": func.sym_name,
            "encoded_inp_str": _tree_text(func, IN_SPEC, f"T2#{len(inputs)}#0({_tuple(len(inputs))},D0())"),
            "encoded_out_str": _tree_text(func, OUT_SPEC, _tuple(len(outputs))),
        },
        regions=[Region(Block(body))],
    )


class _FunctionLowering:
    """Lowers the ops of one function, of a method or of a branch or loop in it, into a plan."""

    def __init__(self, values: PlanValues):
        self.values = values
        self.plan = values.plan
        self.updates: list[edge.UpdateBufferOp] = []

    def instructions(self) -> ReturnOp:
        """Lower the function's ops, but for the last one, which says what it gives."""
        for op in self.values.func.body.block.ops:
            match op:
                case ReturnOp():
                    return op
                case edge.MutableBufferOp():
                    self.values.keep(op)
                case edge.UpdateBufferOp():
                    self.updates.append(op)
                case edge.ConstantOp():
                    if op.result.first_use is None or not all(is_item(use.operation) for use in op.result.uses):
                        self.values.store(op)
                case edge.NoneOp():
                    self.values[op.result] = self.plan.null()
                case GraphOp():
                    self.delegate(op)
                case EdgeOp() if op.results and op.results[0] in self.values.reordered:
                    copy_reordered(op, self.values)
                case EdgeOp():
                    call_kernel(op, self.values)
                case edge.CondOp():
                    self.branches(op)
                case edge.WhileLoopOp():
                    self.loop(op)
                case _:
                    raise DiagnosticError(op, f"'{op.name}' has no form in a program")
        raise DiagnosticError(self.values.func, "a function ends with func.return")

    def delegate(self, op: GraphOp) -> None:
        values = self.values
        backend = backend_named(op.BACKEND)
        inputs = [values.given.get(value) or values[value] for value in op.operands]
        outputs = values.fill(op.results)
        block = Block(arg_types=[values.bounded(value) for value in op.operands])
        types = [values.bounded(value) for value in op.results]
        backend.bound(op, {value: values.bounded(value) for value in dynamic_among(op.values)})
        inner = type(op).create(
            operands=block.args,
            result_types=types,
            properties=dict(op.properties),
            regions=[op.detach_region(0)],
        )
        inner.location = op.location
        block.add_ops([inner, pte.YieldOp(inner.results)])
        name = f"{values.func.sym_name.data}_{len(self.plan.delegates)}"
        delegate = pte.DelegateOp(name, backend.id_of(op), body=Region(block))
        delegate.location = op.location
        self.plan.delegates.append(delegate)
        self.plan.call(pte.DelegateCallOp(name, [*inputs, *outputs]), op)

    # Ends.

    def output(self, value: SSAValue, op: ReturnOp, order: tuple[int, ...] | None) -> SSAValue:
        """What the caller gets: not the memory of a buffer, which the next call changes. `order` is that of the
        dimensions in memory, if the caller sees another one."""
        result = self.values[value]
        if order is not None:
            return result if value in self.values.reordered else give_reordered(value, order, self.values, op)
        is_buffer = isinstance(result.owner, pte.TensorOp) and result.owner.buffer is not None
        return self.values.copied(value, op) if is_buffer else result

    def write_buffers(self) -> None:
        """Copy what is not in its buffer's memory there, at the end: all else has been read."""
        values = self.values
        written = {update.buffer for update in self.updates}
        waiting = [op for op in self.updates if values[op.value] is not values[op.buffer]]
        # Another buffer's old value goes aside, as that one may be written first.
        sources = [values.copied(op.value, op) if op.value in written else values[op.value] for op in waiting]
        for op, source in zip(waiting, sources, strict=True):
            buffer, no = values[op.buffer], self.plan.boolean(False)
            self.plan.call(pte.KernelCallOp("aten::copy_", [buffer, source, no, buffer]), op)

    def give(self, results: Sequence[SSAValue]) -> None:
        """Lower a branch, which computes into the results what it computes, and copies what it only hands on."""
        end = self.values.func.body.block.last_op
        assert isinstance(end, ReturnOp)
        for value, result in zip(end.arguments, results, strict=True):
            self.values.destinations.setdefault(value, result)
        self.instructions()
        for value, result in zip(end.arguments, results, strict=True):
            if self.values[value] is not result:
                self.plan.assign(self.values[value], result, end)

    def carry(self, carried: Sequence[SSAValue]) -> None:
        """Lower a body, and hand on to the next step what is not in its place yet."""
        values, end = self.values, self.instructions()
        pairs = [(value, to) for value, to in zip(end.arguments, carried, strict=True) if values[value] is not to]
        written = {to for _, to in pairs}
        # What another of them overwrites goes aside first.
        sources = [values.copied(value, end) if values[value] in written else values[value] for value, _ in pairs]
        for source, (_, to) in zip(sources, pairs, strict=True):
            self.plan.assign(source, to, end)

    # Branches and loops.

    def branches(self, op: edge.CondOp) -> None:
        """A condition, the one branch, and behind it the other."""
        results = self.values.fill(op.res)
        arguments = [self.values[value] for value in op.args]
        to_else = self.plan.jump(self.values[op.condition], op)
        self.inside(op.function(op.then_function), arguments).give(results)
        to_end = self.plan.jump(self.plan.boolean(False), op)
        self.plan.land(to_else)
        self.inside(op.function(op.else_function), arguments).give(results)
        self.plan.land(to_end)

    def loop(self, op: edge.WhileLoopOp) -> None:
        """The condition, the body, and a jump back."""
        carried = self.values.fill(op.res)
        for first, value in zip(op.carried, carried, strict=True):
            self.plan.assign(self.values[first], value, op)
        arguments = [*carried, *(self.values[value] for value in op.args)]
        start = len(self.plan.calls)
        condition = self.inside(op.function(op.condition_function), arguments)
        holds = condition.values[condition.instructions().arguments[0]]
        to_end = self.plan.jump(holds, op)
        step = op.function(op.body_function)
        self.inside(step, arguments, find_in_place_of_loop(step)).carry(carried)
        self.plan.land(self.plan.jump(self.plan.boolean(False), op), start)
        self.plan.land(to_end)

    def inside(
        self, function: FuncOp, arguments: Sequence[SSAValue], in_place: InPlace | None = None
    ) -> _FunctionLowering:
        """What lowers a function of a branch or loop into this plan."""
        inner = PlanValues(function, self.values.ctx, self.plan, in_place or find_in_place(function))
        inner.update(zip(function.body.block.args, arguments, strict=True))
        return _FunctionLowering(inner)


def _tree_text(func: FuncOp, name: str, default: str) -> StringAttr:
    """How inputs or outputs nest: as the importer says, else flat."""
    attr = func.attributes.get(name)
    return attr if isinstance(attr, StringAttr) else StringAttr(default)


def _tuple(count: int) -> str:
    """A tuple of `count` leaves in ExecuTorch's pytree notation."""
    return f"T{count}{'#1' * count}({','.join('$' * count)})"
