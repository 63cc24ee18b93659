"""Running the program that a module becomes, and finding in it what computes something else than the module says."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from xdsl.dialects.builtin import BFloat16Type, DenseArrayBase, Float16Type, FunctionType, ModuleOp, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from xir.dialects import edge, pte, xnnpack
from xir.dialects.quant import UniformType
from xir.dialects.xnnpack import DynamicType
from xir.dialects.xnnpack.subgraph import outside_type
from xir.evaluate.comparison import FLIPPED, KERNELS, RUN_TIME_RANGES, largest_difference
from xir.evaluate.evaluator import Evaluator, widened
from xir.evaluate.trace import CALLS, updates_of
from xir.importer.dtypes import DTYPES
from xir.ir.context import XirContext
from xir.ir.functions import methods_of
from xir.ir.passes import XirPass
from xir.transforms.pte.plan_memory import ALIGNMENT, ARENA, BUFFERS, OVER_READ

FLIPPED_STEPS = 0.1
"""How many integers of a quantised result may be a step away: those next to a tie, and more where kernels look values
up or compute functions to 8 bits. A zero point that is off by one moves all of them."""

HALF_KERNEL = 2e-2
"""What one kernel in fp16 or bf16 leaves, of the largest magnitude of its result: sums of thousands in fp16."""


def run_program(
    module: ModuleOp, ctx: XirContext, inputs: Mapping[str, Sequence[Any]], written: Mapping[str, Sequence[str]]
) -> dict[str, list[Any]]:
    """What each method computes on its inputs, by XNNPACK: its outputs, and what the buffers hold that it has written;
    of a method that writes any, of `CALLS` calls.

    XirRuntimeError if a method does not run; what the emitter raises if there is no file to be made of the program.
    """
    from xir.runtime import Runtime

    data = file_of(module, ctx)
    computed: dict[str, list[Any]] = {}
    for name, values in inputs.items():
        method = Runtime.get().load_program(data).load_method(name)
        computed[name] = []
        for _ in range(CALLS if written[name] else 1):
            computed[name] += method.execute(values)
            computed[name] += map(method.state.state_dict().__getitem__, written[name])
    return computed


def file_of(module: ModuleOp, ctx: XirContext) -> bytes:
    """The bytes of the file that a program of calls becomes. Where memory is not planned, tensors share none."""
    from xir.emitter import emit

    planned = module.clone()
    place_apart(planned)
    stream = io.BytesIO()
    emit(planned, ctx, stream)
    return stream.getvalue()


def place_apart(module: ModuleOp) -> None:
    """Give each tensor of a plan that has no arenas yet memory of its own, and a buffer the same in each plan."""
    buffers: dict[str, int] = {}
    extents = {ARENA: 0, BUFFERS: 0}
    plans = unplanned(module)
    for op in (op for plan in plans for op in plan.values if isinstance(op, pte.TensorOp)):
        if op.data is not None and op.buffer is None:
            continue
        arena = ARENA if op.buffer is None else BUFFERS
        offset = extents[arena] if op.buffer is None else buffers.setdefault(op.buffer, extents[arena])
        if offset == extents[arena]:
            extents[arena] += -(-op.nbytes // ALIGNMENT) * ALIGNMENT
        op.allocation_info = pte.AllocationAttr(arena, offset)
    sizes = [0, extents[ARENA] + OVER_READ, *([extents[BUFFERS] + OVER_READ] if buffers else [])]
    for plan in plans:
        plan.non_const_buffer_sizes = DenseArrayBase.from_list(i64, sizes)


def plans_of(module: ModuleOp) -> list[pte.ExecutionPlanOp]:
    """The plans of all programs."""
    return [plan for program in module.body.ops if isinstance(program, pte.ProgramOp) for plan in program.plans]


def unplanned(module: ModuleOp) -> list[pte.ExecutionPlanOp]:
    """The plans whose memory nobody has planned."""
    return [plan for plan in plans_of(module) if plan.non_const_buffer_sizes is None]


def overwriting(plan: pte.ExecutionPlanOp) -> Operation | None:
    """The first instruction that names a tensor in the bytes of another one that was named before and will be again.

    None if there is none, and for plans with jumps: their text is not the order of execution.
    """
    instructions = [op for chain in plan.chains for op in chain.instructions]
    if any(isinstance(op, pte.JumpFalseOp) for op in instructions):
        return None
    places: list[Operation] = [plan, *instructions, plan]
    steps: list[list[SSAValue]] = [
        list(plan.signature.inputs),
        *(list(_named(op.operands)) for op in instructions),
        list(plan.signature.outputs),
    ]
    last = {value: number for number, step in enumerate(steps) for value in step}
    alive: dict[pte.TensorOp, tuple[int, int, int]] = {}
    for number, step in enumerate(steps):
        for value in step:
            op = value.owner
            if not isinstance(op, pte.TensorOp) or op in alive or op.buffer is not None or op.allocation_info is None:
                continue
            arena, start = op.allocation_info.memory_id.data, op.allocation_info.offset.data
            end = start + op.nbytes
            if any(arena == other and start < stop and begin < end for other, begin, stop in alive.values()):
                return places[number]
            if start < end:
                alive[op] = arena, start, end
        alive = {op: place for op, place in alive.items() if last[op.value] > number}
    return None


def _named(operands: Sequence[SSAValue]) -> Iterator[SSAValue]:
    for value in operands:
        yield value
        if isinstance(value.owner, pte.TensorListOp | pte.OptionalTensorListOp):
            yield from value.owner.items


@dataclass(frozen=True)
class NodeByNode:
    """A program whose ops were compared one by one, each on the operands that it had."""

    wrong: Operation | None
    """The first op whose kernel computes something else than the op means; None if there is none."""
    outputs: dict[str, list[Any]]
    """What each method computed."""


def node_by_node(
    module: ModuleOp,
    ctx: XirContext,
    lowering: XirPass,
    given: tuple[Mapping[str, Sequence[Any]], Mapping[str, Sequence[Any]]],
) -> NodeByNode | None:
    """Compare each op of a module's functions with what it computes in the program that `lowering` makes of them.

    `given` are the inputs as the functions take them, and as a caller of the program has them. All values are made
    outputs, those of delegates too, and each op is evaluated on the operands that its kernel had: what is compared are
    the roundings of one op (`is_close`). None if that program does not run.
    """
    stored, called = given
    watched = module.clone()
    ctx = ctx.clone()
    functions = methods_of(watched)
    ops = {function.sym_name.data: watch(function) for function in functions}
    computed: dict[str, list[Any]] = {}
    wrong: list[Operation] = []
    try:
        lowered = watched.clone()
        lowering.apply(ctx, lowered)
        updates = {function.sym_name.data: updates_of(function) for function in functions}
        written = {name: [op.declared.buffer.data for op in each] for name, each in updates.items()}
        outputs = run_program(lowered, ctx, called, written)
        for function in functions:
            name = function.sym_name.data
            calls = CALLS if written[name] else 1
            size = len(outputs[name]) // calls
            count = size - len(ops[name]) - len(written[name])
            computed[name] = []
            state: dict[str, Any] = {}
            for call in range(calls):
                found = outputs[name][call * size : (call + 1) * size]
                held = found[count + len(ops[name]) :]
                computed[name] += [*found[:count], *held]
                wrong += _wrong_ops(
                    ctx, function, stored[name], state, dict(zip(ops[name], found[count:], strict=False))
                )
                for op, value in zip(updates[name], held, strict=True):
                    difference = largest_difference([state[op.declared.buffer.data]], [value])
                    if difference is not None and difference.error > KERNELS:
                        wrong.append(op)
                    state[op.declared.buffer.data] = widened(value)
    except Exception:
        # What is wrong may have broken this program as well.
        return None
    return NodeByNode(wrong[0] if wrong else None, computed)


def _wrong_ops(
    ctx: XirContext, function: FuncOp, inputs: Sequence[Any], state: dict[str, Any], found: Mapping[Operation, Any]
) -> list[Operation]:
    """The ops of a function that compute something else than was `found`, each on what its operands were."""
    wrong: list[Operation] = []

    def correct(value: SSAValue, expected: Any) -> Any:
        op = value.owner
        if not isinstance(op, Operation) or op not in found:
            return expected
        if not is_close(found[op], expected, value):
            wrong.append(op)
        return widened(found[op])

    Evaluator(ctx, correct=correct).run(function, inputs, state)
    return wrong


def is_close(actual: torch.Tensor, expected: torch.Tensor, value: SSAValue) -> bool:
    """Whether a kernel computed what an op means, on the same operands.

    Integers of a quantised type are at most one step apart, and few of them are: the kernel rounds a product with a
    scale in fp32. Numbers are apart by the roundings of the kernel's type and the error of its functions, or, where
    an operand is quantised at run time, by some of its elements being a step away.
    """
    assert isinstance(value.owner, Operation)
    types = [each.type for each in (value, *value.owner.operands)]
    elements = [type.element_type for type in types if isinstance(type, TensorType)]
    if isinstance(elements[0], UniformType):
        steps = (actual.to(torch.int64) - expected.to(torch.int64)).abs()
        return not steps.numel() or (int(steps.max()) <= 1 and float(steps.double().mean()) <= FLIPPED_STEPS)
    if any(isinstance(element, DynamicType) for element in elements):
        allowed = RUN_TIME_RANGES
    else:
        allowed = (
            HALF_KERNEL if any(isinstance(element, Float16Type | BFloat16Type) for element in elements) else KERNELS
        )
    found = largest_difference([expected], [actual])
    return found is None or found.error <= (FLIPPED if found.counted else allowed)


def watch(function: FuncOp) -> list[Operation]:
    """Let a function return all that its ops compute, behind its results; the ops, in program order."""
    block = function.body.block
    last = block.last_op
    assert isinstance(last, ReturnOp)
    ops: list[Operation] = []
    values: list[SSAValue] = []
    for op in list(block.ops):
        if isinstance(op, xnnpack.SubgraphOp):
            nodes, results = _watch_graph(op)
            ops += nodes
            values += results
        elif isinstance(op, edge.EdgeOp) and len(op.results) == 1 and may_leave(op.results[0]):
            ops.append(op)
            values.append(op.results[0])
    last.operands = [*last.operands, *values]
    function.properties["function_type"] = FunctionType.from_lists(
        [argument.type for argument in block.args], [value.type for value in last.operands]
    )
    for name in ("xir.in_spec", "xir.out_spec"):
        function.attributes.pop(name, None)
    return ops


def _watch_graph(op: xnnpack.SubgraphOp) -> tuple[list[Operation], list[SSAValue]]:
    """Let a graph yield what its nodes compute; the nodes, and the graph's results that hold it."""
    yielded = list(op.yield_op.operands)
    nodes = [
        node
        for node in op.body.block.ops
        if isinstance(node, xnnpack.NodeOp) and len(node.results) == 1 and may_leave(node.results[0])
    ]
    added = [node.results[0] for node in nodes if node.results[0] not in yielded]
    made = with_results(op, [*yielded, *added])
    places = {value: number for number, value in enumerate([*yielded, *added])}
    return list(nodes), [made.results[places[node.results[0]]] for node in nodes]


def with_results(op: xnnpack.SubgraphOp, values: Sequence[SSAValue]) -> xnnpack.SubgraphOp:
    """Let a graph yield other values, of which the first replace its results. The new op stands in its place."""
    op.yield_op.operands = list(values)
    made = xnnpack.SubgraphOp.create(
        operands=list(op.operands),
        result_types=[outside_type(value.type) for value in values],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        regions=[op.detach_region(0)],
    )
    made.location = op.location
    block = op.parent
    assert block is not None
    block.insert_op_before(made, op)
    for old, new in zip(op.results, made.results, strict=False):
        new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
    return made


def may_leave(value: SSAValue) -> bool:
    """Whether a value may be an output, for which it must be a tensor of an ordinary type."""
    type = outside_type(value.type)
    return isinstance(type, TensorType) and type.element_type in DTYPES
