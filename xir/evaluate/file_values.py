"""What the values of a `.pte` file are when it runs, those within delegates too, by the kernels themselves.

All values become outputs of a copy of the file, which is planned anew, written, and run. Nothing is fused away then:
XNNPACK keeps what is an output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from xir.dialects import pte, xnnpack
from xir.dialects.xnnpack.subgraph import outside_type
from xir.evaluate.execution import file_of
from xir.evaluate.kernels import may_leave, with_results
from xir.ir.context import XirContext
from xir.ir.diagnostics import DiagnosticError

RunFile = Callable[[bytes, str, Sequence[Any], Sequence[int]], Sequence[torch.Tensor]]
"""Runs a method of a file on inputs elsewhere, and gives those of its outputs that are named by their numbers."""


@dataclass(frozen=True)
class PlanStep:
    """One op of a plan in the order of execution: a node of a delegate, or an instruction."""

    op: Operation
    operands: tuple[SSAValue, ...]
    """The values that it reads, as `FileValues.tensors` knows them."""
    results: tuple[SSAValue, ...]


@dataclass(frozen=True)
class FileValues:
    """One execution of a plan."""

    steps: list[PlanStep]
    tensors: dict[SSAValue, torch.Tensor]
    """Each value's elements in the order of memory: what the runtime computed, and constants. Quantised ones are
    integers. Missing are values that cannot be outputs, such as rows that are quantised at run time."""
    types: dict[SSAValue, TensorType]
    """What they are in the file."""
    outputs: list[SSAValue]
    """The tensors that the plan gives, in their order."""
    places: dict[SSAValue, SSAValue]
    """By a value within a delegate, the plan's tensor that holds it."""


def plan_of(module: ModuleOp, name: str) -> pte.ExecutionPlanOp:
    """A method. DiagnosticError if the file has none of that name, or one that jumps: it is read in its order."""
    plans = [plan for op in module.body.ops if isinstance(op, pte.ProgramOp) for plan in op.plans]
    found = next((plan for plan in plans if plan.sym_name.data == name), None)
    if found is None:
        known = ", ".join(plan.sym_name.data for plan in plans) or "none"
        raise DiagnosticError(module, f"the file has no method '{name}'; it has: {known}")
    for chain in found.chains:
        for op in chain.instructions:
            if isinstance(op, pte.JumpFalseOp):
                raise DiagnosticError(op, "the method jumps: the values of branches and loops are not followed")
    return found


def values_of_file(
    module: ModuleOp,
    ctx: XirContext,
    name: str,
    inputs: Sequence[Any],
    run: RunFile | None = None,
    **how: Any,
) -> FileValues:
    """Run a method of a file, which was read, on inputs as a caller gives them, and keep all its values: by `run`, or
    here, where `how` are options of `load_program`.

    The module is changed. DiagnosticError as `plan_of`'s; XirRuntimeError if the file does not run.
    """
    plan = plan_of(module, name)
    watched = _Watch(plan)
    _plan_anew(module)
    file, outputs = file_of(module, ctx), plan.signature.outputs
    if run is None:
        results = _run_here(file, name, inputs, **how)
    else:
        wanted = [index for index, value in enumerate(outputs) if isinstance(value.owner, pte.TensorOp)]
        found = dict(zip(wanted, run(file, name, inputs, wanted), strict=True))
        results = [found.get(index) for index in range(len(outputs))]
    given = dict(zip(plan.signature.inputs, inputs, strict=True))
    computed = dict(zip(outputs, results, strict=True))
    return watched.values(given | computed)


def _run_here(file: bytes, name: str, inputs: Sequence[Any], **how: Any) -> Sequence[Any]:
    from xir.runtime import Runtime

    method = Runtime.get().load_program(file, **how).load_method(name)
    return method.execute(inputs)


def _plan_anew(module: ModuleOp) -> None:
    """Forget where tensors are: no two of them may share memory now."""
    for program in module.body.ops:
        if not isinstance(program, pte.ProgramOp):
            continue
        for plan in program.plans:
            plan.non_const_buffer_sizes = None
            plan.non_const_buffer_device = None
            for op in plan.values:
                if isinstance(op, pte.TensorOp) and op.data is None and op.buffer is None:
                    op.allocation_info = None


class _Watch:
    """A plan whose values are outputs."""

    def __init__(self, plan: pte.ExecutionPlanOp):
        self.plan = plan
        self.outputs = [value for value in plan.signature.outputs if isinstance(value.owner, pte.TensorOp)]
        self.places: dict[SSAValue, SSAValue] = {}
        """By a value within a delegate, the plan's tensor that holds it."""
        self.steps: list[PlanStep] = []
        self._known = set[SSAValue](plan.signature.inputs)
        """What is there already: an instruction computes the tensors that it is the first to name."""
        delegates = {delegate.sym_name.data: delegate for delegate in plan.delegates}
        watched = set[pte.DelegateOp]()
        for chain in plan.chains:
            for op in chain.instructions:
                delegate = delegates[op.delegate.root_reference.data] if isinstance(op, pte.DelegateCallOp) else None
                graph = None if delegate is None or delegate in watched else delegate.graph
                if isinstance(op, pte.DelegateCallOp) and isinstance(graph, xnnpack.SubgraphOp):
                    assert delegate is not None
                    watched.add(delegate)
                    self._watch_delegate(delegate, graph, op)
                else:
                    self._watch_instruction(op)
        signature = plan.signature
        outputs = dict.fromkeys(signature.outputs)
        for place in (self.places.get(value, value) for step in self.steps for value in step.results):
            tensor = place.owner
            if isinstance(tensor, pte.TensorOp) and tensor.buffer is None and place not in signature.inputs:
                outputs[place] = None
        plan.body.block.insert_op_before(pte.SignatureOp(list(signature.inputs), list(outputs)), signature)
        signature.detach()
        signature.erase()
        plan.properties.pop("encoded_out_str", None)

    def _watch_instruction(self, op: Operation) -> None:
        named = tensors_of(op)
        results = [tensor.value for tensor in named if tensor.value not in self._known and tensor.data is None]
        operands = [tensor.value for tensor in named if tensor.value not in results]
        self._known.update(results)
        self.steps.append(PlanStep(op, tuple(operands), tuple(results)))

    def _watch_delegate(self, delegate: pte.DelegateOp, graph: xnnpack.SubgraphOp, call: pte.DelegateCallOp) -> None:
        """Let a delegate give all that its nodes compute, to tensors that the plan gets for it."""
        block, count = graph.body.block, len(graph.operands)
        yielded = list(graph.yield_op.operands)
        nodes = [op for op in block.ops if isinstance(op, xnnpack.NodeOp)]
        added = [result for node in nodes for result in node.results if result not in yielded and may_leave(result)]
        tensors = [pte.TensorOp.make(tensor_type=outside_type(value.type)) for value in added]
        self.places |= dict(zip(block.args, call.args[:count], strict=True))
        self.places |= dict(zip(yielded, call.args[count:], strict=True))
        self.places |= dict(zip(added, (op.value for op in tensors), strict=True))
        for op in tensors:
            self.plan.body.block.insert_op_before(op, next(iter(self.plan.chains)))
        call.operands = [*call.operands, *(op.value for op in tensors)]
        made = with_results(graph, [*yielded, *added])
        end = made.next_op
        assert isinstance(end, pte.YieldOp)
        end.operands = list(made.results)
        delegate.properties.pop("value_ids", None)
        self._known.update(tensor.value for tensor in tensors_of(call))
        self.steps += [PlanStep(node, tuple(node.operands), tuple(node.results)) for node in nodes]

    def values(self, computed: dict[SSAValue, Any]) -> FileValues:
        """The execution, given what the plan's inputs and outputs are."""
        tensors: dict[SSAValue, torch.Tensor] = {}
        types: dict[SSAValue, TensorType] = {}
        for value, found in computed.items():
            if isinstance(op := value.owner, pte.TensorOp) and isinstance(found, torch.Tensor):
                tensors[value] = found.permute(op.order).contiguous()
                types[value] = TensorType(op.tensor_type.element_type, tensors[value].shape)
        for value, place in self.places.items():
            if place in tensors and isinstance(value.type, TensorType):
                tensors[value] = tensors[place]
                types[value] = value.type
        return FileValues(self.steps, tensors, types, self.outputs, self.places)


def tensors_of(op: Operation) -> list[pte.TensorOp]:
    """The tensors that an instruction names, those in lists too."""
    named: list[Any] = []
    for value in op.operands:
        owner = value.owner
        named += owner.items if isinstance(owner, pte.TensorListOp | pte.OptionalTensorListOp) else [value]
    return [owner for value in dict.fromkeys(named) if isinstance(owner := value.owner, pte.TensorOp)]
